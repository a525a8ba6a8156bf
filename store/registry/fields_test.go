package registry_test

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// The members that a kind says its field selectors look at are all they look at.
func TestFieldPathsAreAllThatFieldsReads(t *testing.T) {
	kinds := scheme.New()
	require.NoError(t, api.AddToScheme(kinds))
	defs, err := start(t).Builtins(kinds)
	require.NoError(t, err)
	read := func(d *registry.Definition, obj metav1.Object) map[string]string {
		out := map[string]string{}
		d.Strategy.Fields(obj, func(name, value string) { out[name] = value })
		return out
	}
	selectable := 0
	for i := range defs {
		d := &defs[i]
		info := d.Stored
		if info == nil {
			info = d.Info
		}
		if d.Facts.JSON || d.Strategy.Fields == nil {
			continue
		}
		selectable++
		part, err := codec.PartOf(info.Type, d.Strategy.FieldPaths...)
		require.NoError(t, err, info.GVK)
		for _, seed := range seeds.Of(t, 100) {
			whole, some := info.New(), info.New()
			fuzz.New().RandSource(rand.NewSource(int64(seed))).NilChance(0.2).NumElements(0, 2).MaxDepth(8).Funcs(
				func(q *resource.Quantity, c fuzz.Continue) { *q = resource.MustParse("1") },
				func(v *metav1.RawExtension, c fuzz.Continue) { v.Raw = []byte(`{}`) },
				func(v *metav1.FieldsV1, c fuzz.Continue) { v.Raw = []byte(`{}`) },
				func(v *apiextensionsv1.JSON, c fuzz.Continue) { v.Raw = []byte(`{}`) },
				func(v *string, c fuzz.Continue) { *v = []string{"", "a", "b"}[c.Intn(3)] },
			).Fuzz(whole)
			data, err := codec.MarshalProto(whole)
			require.NoError(t, err)
			require.NoError(t, part.UnmarshalProto(data, some))
			require.Equal(t, read(d, whole), read(d, some), "seed %d: %v", seed, info.GVK)
		}
	}
	require.GreaterOrEqual(t, selectable, 10)
}

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
		_, err := pods.Decode(o)
		require.Equal(t, err != nil, o.Err != nil, o.Name)
		require.Equal(t, o.Name == "good", o.Err == nil, o.Name)
		if o.Name == "good" {
			require.Equal(t, "u", o.Attrs.UID)
			require.Equal(t, map[string]string{"a": "b"}, o.Attrs.Labels)
		}
	}
	require.Equal(t, 3, snap.Len())
}
