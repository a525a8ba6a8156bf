package interop

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	k8scorev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// The Pod of the codec benchmarks, tracked, with a label changed; and as an applied configuration.
func benchedPods(b *testing.B) (pod, changed, config []byte) {
	text, err := os.ReadFile("testdata/pod.json")
	require.NoError(b, err)
	p := &corev1.Pod{}
	require.NoError(b, codec.Unmarshal(text, p))
	p.ManagedFields, p.UID = nil, "u"
	typ, err := managedfields.ForType(reflect.TypeFor[corev1.Pod]())
	require.NoError(b, err)
	require.NoError(b, typ.Update(nil, p, managedfields.Write{Manager: "maker", APIVersion: "v1"}))
	pod, err = codec.Marshal(p)
	require.NoError(b, err)
	p.Annotations = map[string]string{"changed": "yes"}
	changed, err = codec.Marshal(p)
	require.NoError(b, err)
	c := &corev1.Pod{Spec: p.Spec}
	c.APIVersion, c.Kind, c.Name, c.Namespace, c.Labels = "v1", "Pod", p.Name, p.Namespace, map[string]string{"applied": "yes"}
	config, err = codec.Marshal(c)
	require.NoError(b, err)
	return pod, changed, config
}

// The cost of an update without storage: both bodies decoded, the fields tracked, the result encoded.
func BenchmarkTrackedUpdate(b *testing.B) {
	pod, changed, _ := benchedPods(b)
	b.Run("keelson", func(b *testing.B) {
		typ, err := managedfields.ForType(reflect.TypeFor[corev1.Pod]())
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			live, obj := &corev1.Pod{}, &corev1.Pod{}
			if codec.Unmarshal(pod, live) != nil || codec.Unmarshal(changed, obj) != nil {
				b.Fatal("decode")
			}
			if err := typ.Update(live, obj, managedfields.Write{Manager: "changer", APIVersion: "v1"}); err != nil {
				b.Fatal(err)
			}
			if _, err := codec.Marshal(obj); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("upstream", func(b *testing.B) {
		field := fieldManager(b, converter(b), k8scorev1.SchemeGroupVersion.WithKind("Pod"), "")
		b.ReportAllocs()
		for b.Loop() {
			live, obj := &k8scorev1.Pod{}, &k8scorev1.Pod{}
			if json.Unmarshal(pod, live) != nil || json.Unmarshal(changed, obj) != nil {
				b.Fatal("decode")
			}
			out, err := field.Update(live, obj, "changer")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(out); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// For comparison: structured-merge-diff only comparing the two Pods, with the reflection over the structs
// that each request needs ("typed") and without ("alone").
func BenchmarkCompare(b *testing.B) {
	pod, changed, _ := benchedPods(b)
	types := converter(b)
	decode := func(text []byte) *k8scorev1.Pod {
		obj := &k8scorev1.Pod{}
		require.NoError(b, json.Unmarshal(text, obj))
		obj.APIVersion, obj.Kind, obj.ManagedFields = "v1", "Pod", nil
		return obj
	}
	live, obj := decode(pod), decode(changed)
	value := func(obj *k8scorev1.Pod) *typed.TypedValue {
		v, err := types.ObjectToTyped(obj)
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	compare := func(l, r *typed.TypedValue) error {
		_, err := l.Compare(r)
		return err
	}
	l, r := value(live), value(obj)
	loop(b, "upstream/alone", func() error { return compare(l, r) })
	loop(b, "upstream/typed", func() error { return compare(value(live), value(obj)) })
	typ, err := managedfields.ForType(reflect.TypeFor[corev1.Pod]())
	require.NoError(b, err)
	ours, theirs := &corev1.Pod{}, &corev1.Pod{}
	require.NoError(b, codec.Unmarshal(pod, ours))
	require.NoError(b, codec.Unmarshal(changed, theirs))
	fields := theirs.ManagedFields
	loop(b, "keelson", func() error {
		theirs.ManagedFields = fields
		return typ.Update(ours, theirs, managedfields.Write{Manager: "changer", APIVersion: "v1"})
	})
}

// The cost of an apply without storage: object and configuration decoded, merged and tracked, the result
// encoded.
func BenchmarkApply(b *testing.B) {
	pod, _, config := benchedPods(b)
	b.Run("keelson", func(b *testing.B) {
		typ, err := managedfields.ForType(reflect.TypeFor[corev1.Pod]())
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			live := &corev1.Pod{}
			var c map[string]any
			if codec.Unmarshal(pod, live) != nil || codec.Unmarshal(config, &c) != nil {
				b.Fatal("decode")
			}
			var out metav1.Object
			out, _, err := typ.Apply(live, c, managedfields.Write{Manager: "applier", APIVersion: "v1"}, true)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := codec.Marshal(out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("upstream", func(b *testing.B) {
		field := fieldManager(b, converter(b), k8scorev1.SchemeGroupVersion.WithKind("Pod"), "")
		b.ReportAllocs()
		for b.Loop() {
			live := &k8scorev1.Pod{}
			c := &unstructured.Unstructured{}
			if json.Unmarshal(pod, live) != nil || c.UnmarshalJSON(config) != nil {
				b.Fatal("decode")
			}
			out, err := field.Apply(live, c, "applier", true)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
