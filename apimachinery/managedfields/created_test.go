package managedfields

import (
	"math/rand"
	"reflect"
	"testing"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// filler fills objects with few distinct strings, so that list keys repeat now and then. Lists are nil or
// hold something: null and [] differ in JSON only.
func filler(seed uint64) *fuzz.Fuzzer {
	return fuzz.New().RandSource(rand.NewSource(int64(seed))).NilChance(0.4).NumElements(1, 3).MaxDepth(12).Funcs(
		func(s *string, c fuzz.Continue) { *s = []string{"", "a", "b", `q"<`, "e/f"}[c.Intn(5)] },
		func(q *resource.Quantity, c fuzz.Continue) {
			*q = resource.MustParse([]string{"0", "1", "500m", "2Gi"}[c.Intn(4)])
		},
		func(v *intstr.IntOrString, c fuzz.Continue) { *v = intstr.FromInt32(int32(c.Intn(3))) },
		func(v *metav1.RawExtension, c fuzz.Continue) { v.Raw = []byte(`{"a":[1]}`) },
		func(v *metav1.FieldsV1, c fuzz.Continue) { v.Raw = []byte(`{}`) },
		func(v *apiextensionsv1.JSON, c fuzz.Continue) { v.Raw = []byte(`{"b":1}`) },
		func(v *any, c fuzz.Continue) { *v = map[string]any{"a": int64(c.Intn(2))} },
	)
}

// For two objects of one kind, random or nearly equal, the comparison in memory finds the same fields as the
// comparison of their JSON forms.
func TestMemoryAgreesWithJSON(t *testing.T) {
	kinds := api.Scheme().All()
	for _, seed := range seeds.Of(t, 300) {
		info := kinds[seed%uint64(len(kinds))]
		typ, err := ForType(info.Type)
		require.NoError(t, err)
		fill := filler(seed)
		obj, other := reflect.New(info.Type).Interface().(metav1.Object), reflect.New(info.Type).Interface().(metav1.Object)
		fill.Fuzz(obj)
		fill.Fuzz(other)
		for _, o := range []metav1.Object{obj, other} {
			metav1.MetaOf(o).ManagedFields = nil
		}
		want := typ.byJSON(t, blank(obj), obj)
		wire, ok, err := typ.createdFields(obj, nil)
		require.NoError(t, err, "seed %d", seed)
		require.True(t, ok)
		set, err := ParseSet(wire)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want.taken.String(), set.String(), "seed %d: %v", seed, info.Type)
		require.Equal(t, string(want.taken.AppendJSON(nil)), string(wire), "seed %d: %v", seed, info.Type)

		for _, right := range []metav1.Object{other, near(info.Type, fill, obj)} {
			got, err := typ.compareObjects(obj, right)
			require.NoError(t, err)
			want := typ.byJSON(t, obj, right)
			require.Equal(t, want.taken.String(), got.taken.String(), "seed %d: %v", seed, info.Type)
			require.Equal(t, want.removed.String(), got.removed.String(), "seed %d: %v", seed, info.Type)
		}
	}
}

// byJSON compares two objects through their JSON forms alone.
func (t *Type) byJSON(tb testing.TB, l, r metav1.Object) *changes {
	lv, err := root(l)
	require.NoError(tb, err)
	rv, err := root(r)
	require.NoError(tb, err)
	c := &comparer{path: make(Path, 0, 16)}
	c.walk(t, lv, rv)
	return &c.changes
}

// near returns an object like obj with a few fields changed, deep ones too.
func near(of reflect.Type, fill *fuzz.Fuzzer, obj metav1.Object) metav1.Object {
	out := reflect.New(of)
	codec.DeepCopyInto(out.Interface(), obj)
	r := rand.New(rand.NewSource(int64(len(metav1.MetaOf(obj).UID))))
	for range 3 {
		change(r, fill, out.Elem())
	}
	o := out.Interface().(metav1.Object)
	metav1.MetaOf(o).ManagedFields = nil
	return o
}

// change refills one value somewhere in v.
func change(r *rand.Rand, fill *fuzz.Fuzzer, v reflect.Value) {
	plan, err := codec.PlanOf(v.Type())
	switch {
	case err != nil || r.Intn(8) == 0:
	case v.Kind() == reflect.Struct && plan.Kind == codec.Struct && v.NumField() > 0:
		change(r, fill, v.Field(r.Intn(v.NumField())))
		return
	case v.Kind() == reflect.Pointer && !v.IsNil():
		change(r, fill, v.Elem())
		return
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() != reflect.Uint8:
		change(r, fill, v.Index(r.Intn(v.Len())))
		return
	}
	if v.CanSet() {
		fill.Fuzz(v.Addr().Interface())
	}
}
