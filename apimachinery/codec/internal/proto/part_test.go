package proto_test

import (
	"encoding/base64"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// Of every kind, whole or damaged at random, a part reads what the whole decoder reads, or fails with the
// same error.
func TestPartAgreesWithTheWhole(t *testing.T) {
	golden := codectest.Golden(t)
	broken, sound := 0, 0
	for _, seed := range seeds.Of(t, 20000) {
		rnd := seeds.Stream(seed, 1)
		g := golden[rnd.IntN(len(golden))]
		data, err := base64.StdEncoding.DecodeString(g.Base64)
		require.NoError(t, err)
		apiVersion, kind, body, err := codec.DecodeEnvelope(data)
		require.NoError(t, err)
		want, ok := codectest.NewObject(t, apiVersion, kind).(metav1.Object)
		if !ok || reflect.TypeOf(want).Elem().Kind() != reflect.Struct {
			continue
		}
		paths := []string{"metadata.uid", "metadata.labels"}
		if _, ok := want.(*corev1.Pod); ok {
			paths = append(paths, "spec.nodeName", "spec.hostNetwork", "status.podIPs", "spec.securityContext.runAsUser")
		}
		part, err := codec.PartOf(reflect.TypeOf(want).Elem(), paths...)
		require.NoError(t, err)
		body = slices.Clone(body)
		for range rnd.IntN(4) {
			switch i := rnd.IntN(len(body)); rnd.IntN(4) {
			case 0:
				body = slices.Delete(body, i, min(len(body), i+1+rnd.IntN(3)))
			case 1:
				body = slices.Insert(body, i, byte(rnd.IntN(256)))
			default:
				body[i] ^= 1 << rnd.IntN(8)
			}
			if len(body) == 0 {
				body = []byte{0}
			}
		}
		got := codectest.NewObject(t, apiVersion, kind).(metav1.Object)
		wantErr := codec.UnmarshalProto(body, want)
		err = part.UnmarshalProto(body, got)
		require.Equal(t, wantErr, err, "seed %d: %s", seed, kind)
		if err != nil {
			broken++
			require.Zero(t, reflect.ValueOf(got).Elem().Interface(), "seed %d", seed)
			continue
		}
		sound++
		require.Equal(t, metav1.MetaOf(want).UID, metav1.MetaOf(got).UID, "seed %d: %s", seed, kind)
		require.Equal(t, metav1.MetaOf(want).Labels, metav1.MetaOf(got).Labels, "seed %d: %s", seed, kind)
		require.Empty(t, metav1.MetaOf(got).Name, "not asked for")
		if pod, ok := want.(*corev1.Pod); ok {
			short := got.(*corev1.Pod)
			require.Equal(t, pod.Spec.NodeName, short.Spec.NodeName)
			require.Equal(t, pod.Spec.HostNetwork, short.Spec.HostNetwork)
			require.Equal(t, pod.Status.PodIPs, short.Status.PodIPs)
			require.Equal(t, pod.Spec.SecurityContext == nil, short.Spec.SecurityContext == nil)
			if pod.Spec.SecurityContext != nil {
				require.Equal(t, pod.Spec.SecurityContext.RunAsUser, short.Spec.SecurityContext.RunAsUser)
			}
			require.Empty(t, short.Spec.Containers)
		}
	}
	require.Positive(t, broken)
	require.Positive(t, sound)
}

func TestPartPaths(t *testing.T) {
	pod := reflect.TypeFor[corev1.Pod]()
	for _, bad := range []string{"", "nodeName", "spec.nope", "metadata.labels.app", "spec.containers.image", "spec.nodeName.x", "metadata.creationTimestamp.x"} {
		_, err := codec.PartOf(pod, bad)
		require.Error(t, err, bad)
	}
	_, err := codec.PartOf(reflect.TypeFor[metav1.Unstructured]())
	require.ErrorIs(t, err, codec.ErrNoProto)

	_, whole := codectest.Pod(t)
	some := &corev1.Pod{}
	data, err := codec.MarshalEnvelope("v1", "Pod", whole)
	require.NoError(t, err)
	part, err := codec.PartOf(pod, "spec.nodeName", "spec", "spec.schedulerName") // the whole of spec
	require.NoError(t, err)
	require.NoError(t, part.UnmarshalEnvelope(data, some))
	require.True(t, codec.Equal(whole.Spec, some.Spec))
	require.Empty(t, some.Name)
	require.Error(t, part.UnmarshalEnvelope(data[1:], some))
	require.Error(t, part.UnmarshalEnvelope(data, &corev1.Secret{}))
	require.Error(t, part.UnmarshalEnvelope(data, *some))
}

// Reading what selectors need of a pod, and all of it.
func BenchmarkPart(b *testing.B) {
	_, pod := codectest.Pod(b)
	data, err := codec.MarshalProto(pod)
	require.NoError(b, err)
	part, err := codec.PartOf(reflect.TypeFor[corev1.Pod](), "metadata.uid", "metadata.labels", "spec.nodeName", "status.phase")
	require.NoError(b, err)
	b.Run("part", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			*pod = corev1.Pod{}
			_ = part.UnmarshalProto(data, pod)
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			*pod = corev1.Pod{}
			_ = codec.UnmarshalProto(data, pod)
		}
	})
}
