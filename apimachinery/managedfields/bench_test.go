package managedfields_test

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func benchPod(b *testing.B) *corev1.Pod {
	data, err := os.ReadFile("testdata/pod.json")
	require.NoError(b, err)
	pod := &corev1.Pod{}
	require.NoError(b, codec.Unmarshal(data, pod))
	pod.ManagedFields = nil
	pod.UID = "u"
	return pod
}

func podType(b *testing.B) *managedfields.Type {
	typ, err := managedfields.ForType(reflect.TypeFor[corev1.Pod]())
	require.NoError(b, err)
	return typ
}

// A label is changed in a stored pod: protobuf in, tracked, protobuf out.
func BenchmarkUpdatePod(b *testing.B) {
	typ, pod := podType(b), benchPod(b)
	require.NoError(b, typ.Update(nil, pod, managedfields.Write{Manager: "maker", APIVersion: "v1"}))
	stored, err := codec.MarshalProto(pod)
	require.NoError(b, err)
	body, err := codec.Marshal(pod)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		live, obj := &corev1.Pod{}, &corev1.Pod{}
		if codec.UnmarshalProto(stored, live) != nil || codec.Unmarshal(body, obj) != nil {
			b.Fatal("decode")
		}
		obj.Labels = map[string]string{"other": "label"}
		if err := typ.Update(live, obj, managedfields.Write{Manager: "changer", APIVersion: "v1"}); err != nil {
			b.Fatal(err)
		}
		if _, err := codec.MarshalProto(obj); err != nil {
			b.Fatal(err)
		}
	}
}

// Only the tracking of the same.
func BenchmarkTrackPod(b *testing.B) {
	typ, live := podType(b), benchPod(b)
	require.NoError(b, typ.Update(nil, live, managedfields.Write{Manager: "maker", APIVersion: "v1"}))
	obj := codec.DeepCopy(live)
	obj.Labels = map[string]string{"other": "label"}
	b.ReportAllocs()
	for b.Loop() {
		if err := typ.Update(live, obj, managedfields.Write{Manager: "changer", APIVersion: "v1"}); err != nil {
			b.Fatal(err)
		}
		obj.ManagedFields = nil
	}
}

// One of the hundred endpoints of a slice changes: a list that is owned as a whole.
func BenchmarkTrackSlice(b *testing.B) {
	typ, err := managedfields.ForType(reflect.TypeFor[discoveryv1.EndpointSlice]())
	require.NoError(b, err)
	live := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "u"}, AddressType: discoveryv1.AddressTypeIPv4}
	for i := range 100 {
		live.Endpoints = append(live.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprint("10.0.0.", i)},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: fmt.Sprint("web-", i)}})
	}
	require.NoError(b, typ.Update(nil, live, managedfields.Write{Manager: "maker", APIVersion: "v1"}))
	obj := codec.DeepCopy(live)
	obj.Endpoints[50].Conditions.Ready = new(false)
	fields := obj.ManagedFields
	b.ReportAllocs()
	for b.Loop() {
		obj.ManagedFields = fields
		if err := typ.Update(live, obj, managedfields.Write{Manager: "maker", APIVersion: "v1"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreatePod(b *testing.B) {
	typ, pod := podType(b), benchPod(b)
	b.ReportAllocs()
	for b.Loop() {
		pod.ManagedFields = nil
		if err := typ.Update(nil, pod, managedfields.Write{Manager: "maker", APIVersion: "v1"}); err != nil {
			b.Fatal(err)
		}
	}
}

func applyConfig(b *testing.B, pod *corev1.Pod) []byte {
	c := codec.DeepCopy(pod)
	c.ObjectMeta = metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels}
	c.Status = corev1.PodStatus{}
	c.APIVersion, c.Kind = "v1", "Pod"
	config, err := codec.Marshal(c)
	require.NoError(b, err)
	return config
}

// benchApply applies a configuration that is changed by edit to a Pod to which it was applied before:
// protobuf in, tracked, protobuf out.
func benchApply(b *testing.B, change bool, edit func(m map[string]any)) {
	typ, pod := podType(b), benchPod(b)
	config := applyConfig(b, pod)
	parse := func() map[string]any {
		var m map[string]any
		if err := codec.Unmarshal(config, &m); err != nil {
			b.Fatal(err)
		}
		return m
	}
	w := managedfields.Write{Manager: "applier", APIVersion: "v1"}
	merged, changed, err := typ.Apply(pod, parse(), w, true)
	require.NoError(b, err)
	require.True(b, changed)
	stored, err := codec.MarshalProto(merged)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		live := &corev1.Pod{}
		if err := codec.UnmarshalProto(stored, live); err != nil {
			b.Fatal(err)
		}
		m := parse()
		edit(m)
		out, changed, err := typ.Apply(live, m, w, false)
		if err != nil || changed != change {
			b.Fatal(err, changed)
		}
		if _, err := codec.MarshalProto(out); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyPodNothing(b *testing.B) { benchApply(b, false, func(map[string]any) {}) }

func BenchmarkApplyPodChange(b *testing.B) {
	benchApply(b, true, func(m map[string]any) {
		m["metadata"].(map[string]any)["labels"] = map[string]any{"other": "label"}
	})
}

// A field of the Pod itself is not applied any more.
func BenchmarkApplyPodRemoveField(b *testing.B) {
	benchApply(b, true, func(m map[string]any) { delete(m["spec"].(map[string]any), "nodeName") })
}

// A field of one of its containers is not applied any more.
func BenchmarkApplyPodRemoveInContainer(b *testing.B) {
	benchApply(b, true, func(m map[string]any) {
		delete(m["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any), "imagePullPolicy")
	})
}
