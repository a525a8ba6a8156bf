package managedfields_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// randomSet makes a set of paths over few names, so that sets overlap, and the same as a map of their texts.
func randomSet(r *rand.Rand) (*managedfields.Set, map[string]bool) {
	s, model := &managedfields.Set{}, map[string]bool{}
	for range r.IntN(12) {
		var p managedfields.Path
		for range 1 + r.IntN(3) {
			switch r.IntN(4) {
			case 0:
				p = append(p, managedfields.Key(map[string]any{"name": string(rune('a' + r.IntN(3))), "port": int64(r.IntN(20) * 50)}))
			case 1:
				p = append(p, managedfields.Value([]any{"x\"<y>", int64(7), true, 1.5}[r.IntN(4)]))
			default:
				p = append(p, managedfields.Field(string(rune('a'+r.IntN(4)))))
			}
		}
		s.Insert(p)
		model[p.String()] = true
	}
	return s, model
}

func texts(s *managedfields.Set) map[string]bool {
	out := map[string]bool{}
	s.Each(func(p managedfields.Path) { out[p.String()] = true })
	return out
}

// Set operations agree with operations on maps of path texts, and every set survives its wire form.
func TestSetsAgreeWithMaps(t *testing.T) {
	for _, seed := range seeds.Of(t, 2000) {
		r := seeds.Rand(seed)
		a, ma := randomSet(r)
		b, mb := randomSet(r)
		filter := func(m map[string]bool, keep func(string) bool) map[string]bool {
			out := map[string]bool{}
			for k := range m {
				if keep(k) {
					out[k] = true
				}
			}
			return out
		}
		union := maps.Clone(ma)
		maps.Copy(union, mb)
		below := func(k string) bool {
			for p := range mb {
				if k == p || strings.HasPrefix(k, p+".") || strings.HasPrefix(k, p+"[") {
					return true
				}
			}
			return false
		}
		require.Equal(t, ma, texts(a), "seed %d", seed)
		require.Equal(t, union, texts(a.Union(b)), "seed %d", seed)
		require.Equal(t, filter(ma, func(k string) bool { return !mb[k] }), texts(a.Difference(b)), "seed %d", seed)
		require.Equal(t, filter(ma, func(k string) bool { return mb[k] }), texts(a.Intersection(b)), "seed %d", seed)
		require.Equal(t, filter(ma, func(k string) bool { return !below(k) }), texts(a.Without(b)), "seed %d", seed)
		require.Equal(t, maps.Equal(ma, mb), a.Equal(b), "seed %d", seed)
		require.Equal(t, len(ma), a.Len(), "seed %d", seed)
		back, err := managedfields.ParseSet(a.AppendJSON(nil))
		require.NoError(t, err, "seed %d", seed)
		require.True(t, a.Equal(back), "seed %d: %s", seed, a.AppendJSON(nil))
		require.Equal(t, string(a.AppendJSON(nil)), string(back.AppendJSON(nil)), "seed %d", seed)
	}
}

// The model: an object is a flat set of leaves, each with a value and the managers that own it.
type model struct {
	values map[string]int64
	owners map[string]map[string]bool // by manager and operation, as "Apply one"
}

var leaves = []string{"spec.a", "spec.b", "spec.in.c", "spec.in.d", "status.e", "status.f"}

func (m *model) object() *metav1.Unstructured {
	u := &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "u"}, Fields: map[string]any{}}
	for leaf, v := range m.values {
		u.SetNested(v, strings.Split(leaf, ".")...)
	}
	return u
}

func (m *model) lose(leaf string, but string) {
	for by, set := range m.owners {
		if by != but {
			delete(set, leaf)
		}
	}
}

func (m *model) own(by, leaf string) {
	if m.owners[by] == nil {
		m.owners[by] = map[string]bool{}
	}
	m.owners[by][leaf] = true
}

func (m *model) update(by string, values map[string]int64) {
	for _, leaf := range leaves {
		before, was := m.values[leaf]
		after, is := values[leaf]
		switch {
		case was && !is:
			m.lose(leaf, "")
		case is && (!was || before != after):
			m.lose(leaf, "")
			m.own(by, leaf)
		}
	}
	m.values = values
}

func (m *model) apply(by string, values map[string]int64, force bool) (conflicts []string) {
	for leaf, v := range values {
		if before, was := m.values[leaf]; was && before == v {
			continue
		}
		for other, set := range m.owners {
			if other != by && set[leaf] {
				conflicts = append(conflicts, other+" "+leaf)
			}
		}
	}
	if len(conflicts) > 0 && !force {
		return conflicts
	}
	former := m.owners[by]
	m.owners[by] = map[string]bool{}
	for leaf, v := range values {
		if before, was := m.values[leaf]; !was || before != v {
			m.lose(leaf, by)
		}
		m.values[leaf] = v
		m.own(by, leaf)
	}
	for leaf := range former {
		owned := false
		for _, set := range m.owners {
			owned = owned || set[leaf]
		}
		if !owned {
			delete(m.values, leaf)
		}
	}
	return nil
}

func (m *model) text() string {
	var lines []string
	for by, set := range m.owners {
		if len(set) > 0 {
			lines = append(lines, by+": "+strings.Join(slices.Sorted(maps.Keys(set)), " "))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func entriesText(t *testing.T, obj metav1.Object) string {
	var lines []string
	for _, e := range metav1.MetaOf(obj).ManagedFields {
		s, err := managedfields.ParseSet(e.FieldsV1.Raw)
		require.NoError(t, err)
		var paths []string
		s.Each(func(p managedfields.Path) { paths = append(paths, strings.TrimPrefix(p.String(), ".")) })
		slices.Sort(paths)
		lines = append(lines, string(e.Operation)+" "+e.Manager+": "+strings.Join(paths, " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func modelType(t *testing.T) *managedfields.Type {
	member := func(name string, typ *managedfields.Type) managedfields.Member {
		return managedfields.Member{Name: name, Type: typ}
	}
	a := managedfields.Atomic
	in := managedfields.StructOf([]managedfields.Member{member("c", a), member("d", a)}, nil)
	typ, err := managedfields.ObjectOf([]managedfields.Member{
		member("spec", managedfields.StructOf([]managedfields.Member{member("a", a), member("b", a), member("in", in)}, nil)),
		member("status", managedfields.StructOf([]managedfields.Member{member("e", a), member("f", a)}, nil)),
	}, nil)
	require.NoError(t, err)
	return typ
}

// dropStructures removes the owned structures, which the model does not represent.
func dropStructures(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		by, paths, _ := strings.Cut(line, ": ")
		kept := slices.DeleteFunc(strings.Fields(paths), func(p string) bool { return !slices.Contains(leaves, p) })
		if len(kept) > 0 {
			lines = append(lines, by+": "+strings.Join(kept, " "))
		}
	}
	return strings.Join(lines, "\n")
}

// Random histories of updates and applies by three managers give the values, owners and conflicts that the
// model gives.
func TestHistoriesAgreeWithModel(t *testing.T) {
	typ := modelType(t)
	for _, seed := range seeds.Of(t, 1500) {
		r := seeds.Rand(seed)
		m := &model{values: map[string]int64{}, owners: map[string]map[string]bool{}}
		first := m.object()
		require.NoError(t, typ.Update(nil, first, managedfields.Write{Manager: "one", APIVersion: "a/v1"}))
		var live metav1.Object = first
		for n := range 12 {
			values := map[string]int64{}
			for _, leaf := range leaves {
				if r.IntN(2) == 0 {
					values[leaf] = int64(r.IntN(2))
				}
			}
			manager := []string{"one", "two", "three"}[r.IntN(3)]
			w := managedfields.Write{Manager: manager, APIVersion: "a/v1"}
			at := fmt.Sprintf("seed %d, step %d", seed, n)
			before := codec.DeepCopy(live.(*metav1.Unstructured))
			if r.IntN(3) == 0 && len(metav1.MetaOf(live).ManagedFields) > 0 {
				m.update("Update "+manager, values)
				obj := m.object()
				require.NoError(t, typ.Update(live, obj, w))
				require.True(t, codec.Equal(before, live), "%s: live was changed", at)
				live = obj
			} else {
				if len(metav1.MetaOf(live).ManagedFields) == 0 {
					for leaf := range m.values {
						m.own("Update "+managedfields.BeforeFirstApply, leaf)
					}
				}
				force := r.IntN(2) == 0
				config := map[string]any{"apiVersion": "a/v1", "kind": "X", "metadata": map[string]any{"name": "x"}}
				for leaf, v := range (&model{values: values}).object().Fields {
					config[leaf] = v
				}
				want := m.apply("Apply "+manager, values, force)
				merged, changed, err := typ.Apply(live, config, w, force)
				require.True(t, codec.Equal(before, live), "%s: live was changed", at)
				if len(want) > 0 {
					var conflict *managedfields.ConflictError
					require.True(t, errors.As(err, &conflict), at)
					var got []string
					for _, c := range conflict.Conflicts {
						if leaf := strings.TrimPrefix(c.Path.String(), "."); slices.Contains(leaves, leaf) {
							got = append(got, string(c.Operation)+" "+c.Manager+" "+leaf)
						}
					}
					require.ElementsMatch(t, want, got, at)
					continue
				}
				require.NoError(t, err, at)
				require.Equal(t, changed, merged != live, at)
				live = merged
			}
			require.Equal(t, m.text(), dropStructures(entriesText(t, live)), at)
			for _, leaf := range leaves {
				got, ok := live.(*metav1.Unstructured).Nested(strings.Split(leaf, ".")...)
				want, there := m.values[leaf]
				require.Equal(t, there, ok, "%s: %s", at, leaf)
				if ok {
					require.Equal(t, want, got, "%s: %s", at, leaf)
				}
			}
		}
	}
}

func TestOldUpdatersAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typ := modelType(t)
		live := &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "u", Labels: map[string]string{}}}
		live.Labels["l0"] = "v"
		require.NoError(t, typ.Update(nil, live, managedfields.Write{Manager: "m0", APIVersion: "a/v1"}))
		for i := 1; i < 13; i++ {
			time.Sleep(time.Minute)
			obj := codec.DeepCopy(live)
			obj.Labels[fmt.Sprintf("l%d", i)] = "v"
			require.NoError(t, typ.Update(live, obj, managedfields.Write{Manager: fmt.Sprintf("m%d", i), APIVersion: "a/v1"}))
			live = obj
			require.LessOrEqual(t, len(live.ManagedFields), 10)
		}
		first := live.ManagedFields[0]
		require.Equal(t, managedfields.AncientChanges, first.Manager)
		require.Equal(t, `{"f:metadata":{"f:labels":{".":{},"f:l0":{},"f:l1":{},"f:l2":{},"f:l3":{}}}}`, string(first.FieldsV1.Raw))
		require.Equal(t, "m12", live.ManagedFields[9].Manager)
	})
}

func TestClearingAndFirstApply(t *testing.T) {
	typ := modelType(t)
	live := &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "u"}, Fields: map[string]any{"spec": map[string]any{"a": int64(1)}}}
	require.NoError(t, typ.Update(nil, live, managedfields.Write{Manager: "one", APIVersion: "a/v1"}))
	require.Len(t, live.ManagedFields, 1)

	// A client that does not send managed fields does not delete them.
	obj := codec.DeepCopy(live)
	obj.ManagedFields = nil
	require.NoError(t, typ.Update(live, obj, managedfields.Write{Manager: "two", APIVersion: "a/v1"}))
	require.Equal(t, live.ManagedFields, obj.ManagedFields)

	// One empty entry clears them, and the object stays untracked.
	obj.ManagedFields = []metav1.ManagedFieldsEntry{{}}
	require.NoError(t, typ.Update(live, obj, managedfields.Write{Manager: "two", APIVersion: "a/v1"}))
	require.Empty(t, obj.ManagedFields)
	next := codec.DeepCopy(obj)
	next.SetNested(int64(2), "spec", "a")
	require.NoError(t, typ.Update(obj, next, managedfields.Write{Manager: "two", APIVersion: "a/v1"}))
	require.Empty(t, next.ManagedFields)

	config := map[string]any{"spec": map[string]any{"a": int64(3)}}
	_, _, err := typ.Apply(next, config, managedfields.Write{Manager: "three", APIVersion: "a/v1"}, false)
	var conflict *managedfields.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, managedfields.BeforeFirstApply, conflict.Conflicts[0].Manager)
	require.ErrorContains(t, err, `conflict with "before-first-apply" using a/v1`)
	merged, changed, err := typ.Apply(next, config, managedfields.Write{Manager: "three", APIVersion: "a/v1"}, true)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, "Apply three: spec.a\nUpdate before-first-apply: spec", entriesText(t, merged))
}

func TestResetFieldsHaveNoOwner(t *testing.T) {
	typ := modelType(t)
	reset := managedfields.NewSet(managedfields.FieldPath("status"))
	u := &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Fields: map[string]any{
		"spec": map[string]any{"a": int64(1)}, "status": map[string]any{"e": int64(1)},
	}}
	require.NoError(t, typ.Update(nil, u, managedfields.Write{Manager: "one", APIVersion: "a/v1", Reset: reset}))
	require.Equal(t, "Update one: spec spec.a", entriesText(t, u))
}

func TestBadPatches(t *testing.T) {
	typ := modelType(t)
	live := &metav1.Unstructured{}
	for _, config := range []map[string]any{
		{"spec": "text"},
		{"metadata": map[string]any{"managedFields": []any{map[string]any{}}}},
		{"metadata": map[string]any{"finalizers": []any{"a", "a"}}},
		{"metadata": map[string]any{"ownerReferences": []any{"a"}}},
		{"metadata": map[string]any{"unknown": "a"}},
	} {
		_, _, err := typ.Apply(live, config, managedfields.Write{Manager: "one", APIVersion: "a/v1"}, false)
		var bad *managedfields.PatchError
		require.ErrorAs(t, err, &bad, "%v", config)
	}
}

func FuzzParseSet(f *testing.F) {
	f.Add([]byte(`{"f:a":{".":{},"k:{\"b\":1}":{}},"v:\"x\"":{},"i:3":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := managedfields.ParseSet(data)
		if err != nil {
			return
		}
		wire := s.AppendJSON(nil)
		back, err := managedfields.ParseSet(wire)
		require.NoError(t, err, "%s", wire)
		require.True(t, s.Equal(back), "%s", wire)
	})
}

func ExampleType_Apply() {
	typ, _ := managedfields.ObjectOf([]managedfields.Member{{Name: "spec", Type: managedfields.Deduced}}, nil)
	live := &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Name: "site"}}
	write := func(manager string, replicas int64) error {
		config := map[string]any{"spec": map[string]any{"replicas": replicas}}
		merged, _, err := typ.Apply(live, config, managedfields.Write{Manager: manager, APIVersion: "example.com/v1"}, false)
		if err == nil {
			live = merged.(*metav1.Unstructured)
		}
		return err
	}
	fmt.Println(write("alice", 2))
	fmt.Println(write("bob", 3))
	fmt.Println(string(live.ManagedFields[0].FieldsV1.Raw))
	// Output:
	// <nil>
	// Apply failed with 1 conflict: conflict with "alice": .spec.replicas
	// {"f:spec":{"f:replicas":{}}}
}

// A null where the Go type has an unset field is no change, and no conflict with another manager who wrote it
// too.
func TestNullInTypedApply(t *testing.T) {
	typ, err := managedfields.ForType(reflect.TypeFor[appsv1.Deployment]())
	require.NoError(t, err)
	config := func() map[string]any {
		return map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"creationTimestamp": nil}}}}
	}
	var live metav1.Object = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	for _, manager := range []string{"one", "two"} {
		live, _, err = typ.Apply(live, config(), managedfields.Write{Manager: manager, APIVersion: "apps/v1"}, false)
		require.NoError(t, err)
	}
	require.Len(t, metav1.MetaOf(live).ManagedFields, 2)
}

// An object of many entries costs in proportion to them: quadratic work on 60,000 would not end within the
// time limit of the tests.
func TestBigObjects(t *testing.T) {
	member := managedfields.Member{Name: "list", Type: managedfields.SetOf()}
	typ, err := managedfields.ObjectOf([]managedfields.Member{member, {Name: "map", Type: managedfields.MapOf(managedfields.Atomic)}}, nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	list, entries := []any{}, map[string]any{}
	for _, n := range r.Perm(30_000) {
		list = append(list, int64(n))
		entries[strconv.Itoa(n)] = true
	}
	u := &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Fields: map[string]any{"list": list, "map": entries}}
	require.NoError(t, typ.Update(nil, u, managedfields.Write{Manager: "one", APIVersion: "a/v1"}))
	u.UID = "u"
	config := map[string]any{"list": list[:15_000], "map": map[string]any{"new": true}}
	merged, changed, err := typ.Apply(u, config, managedfields.Write{Manager: "two", APIVersion: "a/v1"}, true)
	require.NoError(t, err)
	require.True(t, changed)
	require.Len(t, merged.(*metav1.Unstructured).Fields["list"], 30_000)
}

// A value of the wrong type is an error that says where.
func TestWrongTypeInApply(t *testing.T) {
	typ, err := managedfields.ForType(reflect.TypeFor[appsv1.Deployment]())
	require.NoError(t, err)
	config := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"hostNetwork": "yes"}}}}
	_, _, err = typ.Apply(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, config, managedfields.Write{Manager: "one", APIVersion: "apps/v1"}, false)
	var bad *managedfields.PatchError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, ".spec.template.spec.hostNetwork", bad.Path.String())

	// In an item that stays in its place, too.
	apply := func(live metav1.Object, item map[string]any) (metav1.Object, error) {
		inside := map[string]any{"containers": []any{map[string]any{"name": "a"}, item}}
		config := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": inside}}}
		merged, _, err := typ.Apply(live, config, managedfields.Write{Manager: "one", APIVersion: "apps/v1"}, false)
		return merged, err
	}
	live, err := apply(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "u"}}, map[string]any{"name": "b", "image": "i", "tty": true})
	require.NoError(t, err)
	before := codec.DeepCopy(live.(*appsv1.Deployment))
	_, err = apply(live, map[string]any{"name": "b", "stdin": "yes"})
	require.ErrorAs(t, err, &bad)
	require.Equal(t, `.spec.template.spec.containers[name="b"].stdin`, bad.Path.String())
	require.Equal(t, before, live)
	after, err := apply(live, map[string]any{"name": "b", "image": "j"})
	require.NoError(t, err)
	require.Equal(t, []corev1.Container{{Name: "a"}, {Name: "b", Image: "j"}}, after.(*appsv1.Deployment).Spec.Template.Spec.Containers)
	require.Equal(t, before, live)
}
