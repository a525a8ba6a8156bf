package registry_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// A stored object whose damage lies in what no selector looks at is known to be damaged all the same.
func TestDamageBesideTheAttributesIsFound(t *testing.T) {
	s := memory.New(memory.Options{})
	r := startOver(t, s)
	pods := r.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	good := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "good", Namespace: "default", UID: "u", Labels: map[string]string{"a": "b"}}}
	good.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("123m")}}}}
	value, err := codec.MarshalEnvelope("v1", "Pod", good)
	require.NoError(t, err)
	for name, change := range map[string]func([]byte) []byte{
		"good":     func(b []byte) []byte { return b },
		"quantity": func(b []byte) []byte { return bytes.Replace(b, []byte("123m"), []byte("12?m"), 1) },
		"cut":      func(b []byte) []byte { return b[:len(b)-20] },
	} {
		_, err = s.Create(t.Context(), pods.Key(key(name)), change(slices.Clone(value)), store.WriteOptions{})
		require.NoError(t, err)
	}
	snap, err := pods.Snapshot(t.Context(), registry.Freshness{})
	require.NoError(t, err)
	for o := range snap.Range("", "") {
		_, err := pods.Decode(t.Context(), o)
		require.Equal(t, err != nil, o.Err != nil, o.Name)
		require.Equal(t, o.Name == "good", o.Err == nil, o.Name)
		if o.Name == "good" {
			require.Equal(t, "u", o.Attrs.UID)
			require.Equal(t, map[string]string{"a": "b"}, o.Attrs.Labels)
		}
	}
	require.Equal(t, 3, snap.Len())
}
