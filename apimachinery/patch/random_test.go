package patch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/patch"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

type m = map[string]any

// document is a random object without duplicate keys in its lists.
func document(r *rand.Rand) m {
	maybe := func(in m, key string, value func() any) {
		if r.IntN(3) > 0 {
			in[key] = value()
		}
	}
	some := func(n int, f func(i int) any) []any {
		out := []any{}
		for _, i := range r.Perm(n)[:r.IntN(n+1)] {
			out = append(out, f(i))
		}
		return out
	}
	labels := func() any {
		out := m{}
		for _, key := range []string{"a", "b", "c"} {
			maybe(out, key, func() any { return fmt.Sprint(r.IntN(3)) })
		}
		return out
	}
	spec := m{}
	maybe(spec, "containers", func() any {
		return some(4, func(i int) any {
			c := m{"name": fmt.Sprint("c", i)}
			maybe(c, "image", func() any { return fmt.Sprint(r.IntN(3)) })
			maybe(c, "env", labels)
			maybe(c, "ports", func() any {
				return some(4, func(i int) any {
					p := m{"port": i}
					maybe(p, "name", func() any { return fmt.Sprint(r.IntN(2)) })
					return p
				})
			})
			return c
		})
	})
	maybe(spec, "strategy", func() any {
		if r.IntN(2) == 0 {
			return m{"type": "Recreate"}
		}
		return m{"type": "Rolling", "rolling": m{"max": r.IntN(3)}}
	})
	maybe(spec, "volumes", func() any {
		return some(3, func(i int) any { return m{"name": fmt.Sprint("v", i), []string{"empty", "host"}[r.IntN(2)]: m{}} })
	})
	maybe(spec, "whole", func() any { return m{"data": m{"x": r.IntN(2)}} })
	maybe(spec, "args", func() any { return some(3, func(i int) any { return fmt.Sprint(i) }) })
	maybe(spec, "replicas", func() any { return r.IntN(3) })
	out := m{"spec": spec}
	maybe(out, "labels", labels)
	maybe(out, "finalizers", func() any { return some(4, func(i int) any { return string(rune('a' + i)) }) })
	return out
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

func TestCreatedPatchesLeadToWhatWasModified(t *testing.T) {
	for _, seed := range seeds.Of(t, 3000) {
		r := seeds.Rand(seed)
		from, to := encoded(t, document(r)), encoded(t, document(r))
		changes, err := patch.CreateTwoWayStrategic(from, to, objectType)
		require.NoError(t, err, "seed %d", seed)
		got, err := patch.Strategic(from, changes, objectType)
		require.NoError(t, err, "seed %d: %s", seed, changes)
		require.JSONEq(t, string(to), string(got), "seed %d: from %s with %s", seed, from, changes)

		changes, err = patch.CreateMerge(from, to)
		require.NoError(t, err)
		got, err = patch.Merge(from, changes)
		require.NoError(t, err)
		require.JSONEq(t, string(to), string(got), "seed %d: from %s with %s", seed, from, changes)

		same, err := patch.CreateTwoWayStrategic(to, to, objectType)
		require.NoError(t, err)
		require.Equal(t, "{}", string(same), "seed %d", seed)
	}
}

// jsonValue is any JSON value, nulls and nested ones included.
func jsonValue(r *rand.Rand, depth int) any {
	switch k := r.IntN(7); {
	case k == 0:
		return nil
	case k == 1:
		return []any{"x", 1.5, true, int64(1) << 60, `<"é`}[r.IntN(5)]
	case k == 2 && depth > 0:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, jsonValue(r, depth-1))
		}
		return list
	case k > 2 && depth > 0:
		return jsonObject(r, depth-1)
	}
	return r.IntN(3)
}

func jsonObject(r *rand.Rand, depth int) m {
	out := m{}
	for range r.IntN(4) {
		out[string(rune('a'+r.IntN(4)))] = jsonValue(r, depth)
	}
	return out
}

// Merge patches do what the library's do, nulls in new objects included.
func TestMergeAgreesWithJSONPatch(t *testing.T) {
	for _, seed := range seeds.Of(t, 3000) {
		r := seeds.Rand(seed)
		doc, changes := encoded(t, jsonObject(r, 3)), encoded(t, jsonObject(r, 3))
		want, err := jsonpatch.MergePatch(doc, changes)
		require.NoError(t, err, "seed %d", seed)
		got, err := patch.Merge(doc, changes)
		require.NoError(t, err, "seed %d", seed)
		require.JSONEq(t, string(want), string(got), "seed %d: %s with %s", seed, doc, changes)
	}
}

func TestThreeWayPatchesSetDeleteAndKeep(t *testing.T) {
	for _, seed := range seeds.Of(t, 3000) {
		r := seeds.Rand(seed)
		original, modified, current := document(r), document(r), document(r)
		changes, err := patch.CreateThreeWayStrategic(encoded(t, original), encoded(t, modified), encoded(t, current), objectType)
		require.NoError(t, err, "seed %d", seed)
		data, err := patch.Strategic(encoded(t, current), changes, objectType)
		require.NoError(t, err, "seed %d: %s", seed, changes)
		var got any
		require.NoError(t, json.Unmarshal(data, &got))
		checkThreeWay(t, fmt.Sprintf("seed %d: %s", seed, changes), plain(t, original), plain(t, modified), plain(t, current), got)

		// Applying the same configuration again changes nothing.
		again, err := patch.CreateThreeWayStrategic(encoded(t, modified), encoded(t, modified), data, objectType)
		require.NoError(t, err)
		twice, err := patch.Strategic(data, again, objectType)
		require.NoError(t, err)
		require.JSONEq(t, string(data), string(twice), "seed %d", seed)
	}
}

// plain gives a value the Go types of decoded JSON.
func plain(t *testing.T, v any) (out any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(encoded(t, v), &out))
	return out
}

// checkThreeWay checks the definition of a three-way merge for one value: what modified has is set, what only
// original has is deleted, what only current has is kept. Lists are compared as maps by merge key, or as
// sets.
func checkThreeWay(t *testing.T, place string, original, modified, current, got any) {
	t.Helper()
	wanted, ok := byKey(modified)
	if !ok {
		require.Equal(t, modified, got, place)
		return
	}
	have, ok := byKey(got)
	require.True(t, ok, place)
	before, _ := byKey(original)
	live, _ := byKey(current)
	for key, value := range wanted {
		at := place + "/" + key
		require.Contains(t, have, key, at)
		if key == "whole" || key == "args" {
			require.Equal(t, value, have[key], at)
			continue
		}
		checkThreeWay(t, at, before[key], value, live[key], have[key])
	}
	_, retained := wanted["type"]
	for key := range have {
		_, isWanted := wanted[key]
		_, wasBefore := before[key]
		_, isLive := live[key]
		if !isWanted && !retained {
			require.True(t, isLive && !wasBefore, "%s/%s should be gone", place, key)
		}
	}
	for key := range live {
		_, isWanted := wanted[key]
		_, wasBefore := before[key]
		if _, volume := live["host"]; volume || retained {
			continue // $retainKeys
		}
		if _, volume := live["empty"]; !volume && !isWanted && !wasBefore {
			require.Contains(t, have, key, "%s should have been kept", place)
		}
	}
}

func byKey(v any) (m, bool) {
	switch v := v.(type) {
	case m:
		return v, true
	case []any:
		out := m{}
		for _, element := range v {
			switch element := element.(type) {
			case m:
				if name, ok := element["name"].(string); ok && element["port"] == nil {
					out[name] = element
				} else {
					out[fmt.Sprint(element["port"])] = element
				}
			default:
				out[fmt.Sprint(element)] = element
			}
		}
		return out, true
	}
	return m{}, false
}

func FuzzStrategic(f *testing.F) {
	f.Add([]byte(`{"spec":{"containers":[{"name":"a"}]}}`), []byte(`{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a","$patch":"delete"}]}}`))
	f.Add([]byte(`{"finalizers":["a",1,2.5]}`), []byte(`{"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":[true]}`))
	f.Add([]byte(`{"spec":{"volumes":[{"name":"v","empty":{}}]}}`), []byte(`{"spec":{"volumes":[{"$retainKeys":["name"],"name":"v"}]}}`))
	f.Fuzz(func(t *testing.T, doc, changes []byte) {
		out, err := patch.Strategic(doc, changes, objectType)
		if err == nil && !json.Valid(out) {
			t.Fatalf("not JSON: %q", out)
		}
		if diff, err := patch.CreateTwoWayStrategic(doc, changes, objectType); err == nil {
			_, _ = patch.Strategic(doc, diff, objectType)
		}
		_, _ = patch.CreateThreeWayStrategic(doc, changes, out, objectType)
		_, _ = patch.CreateThreeWayMerge(doc, changes, out)
	})
}

// Reading a document lazily must make no difference.
func FuzzLazyDocument(f *testing.F) {
	f.Add([]byte(` { "a" : { "b" : [ 1 , "x]\\"}" ] , "\u0063" : null } , "d" : -1.5e3 } `), []byte(`{"a":{"c":1},"d":{"e":[1]}}`))
	f.Add([]byte(`{"finalizers":["a"],"labels":"x","spec":{"containers":[{"name":"a"}]}}`), []byte(`{"$deleteFromPrimitiveList/finalizers":["a"],"labels":{"x":"y"},"spec":{"containers":[{"name":"a","image":"x"}]}}`))
	f.Fuzz(func(t *testing.T, doc, changes []byte) {
		lazy, lazyErr := patch.Strategic(doc, changes, objectType)
		var target, decoded m
		if json.Unmarshal(doc, &target) != nil || json.Unmarshal(changes, &decoded) != nil || target == nil || decoded == nil {
			if lazyErr == nil {
				t.Fatalf("%q with %q gives %q", doc, changes, lazy)
			}
			return
		}
		whole, err := patch.StrategicMap(target, decoded, objectType)
		if (err == nil) != (lazyErr == nil) {
			t.Fatalf("%q with %q: %v, lazily %v", doc, changes, err, lazyErr)
		}
		if err != nil {
			return
		}
		var got any
		if err := json.Unmarshal(lazy, &got); err != nil {
			t.Fatalf("%q with %q gives %q: %v", doc, changes, lazy, err)
		}
		if !reflect.DeepEqual(got, any(whole)) {
			t.Fatalf("%q with %q: %v, lazily %v", doc, changes, whole, got)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":2}]}`), []byte(`[{"op":"copy","from":"/a/1","path":"/a/-"},{"op":"test","path":"/a/0","value":1},{"op":"move","from":"/a","path":"/c"}]`))
	f.Add([]byte(`[1]`), []byte(`[{"op":"add","path":"/-1","value":null},{"op":"remove","path":""}]`))
	f.Fuzz(func(t *testing.T, doc, changes []byte) {
		out, err := patch.JSON(doc, changes)
		if err == nil && !json.Valid(out) {
			t.Fatalf("not JSON: %q", out)
		}
	})
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":null,"c":[null]}}`))
	f.Fuzz(func(t *testing.T, from, to []byte) {
		if out, err := patch.Merge(from, to); err == nil && !json.Valid(out) {
			t.Fatalf("not JSON: %q", out)
		}
		diff, err := patch.CreateMerge(from, to)
		if err != nil {
			return
		}
		out, err := patch.Merge(from, diff)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		_ = json.Unmarshal(to, &want)
		_ = json.Unmarshal(out, &got)
		if !reflect.DeepEqual(withoutNulls(want), withoutNulls(got)) {
			t.Fatalf("from %s to %s: %s gives %s", from, to, diff, out)
		}
	})
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case m:
		for key, value := range v {
			if value == nil {
				delete(v, key)
			} else {
				withoutNulls(value)
			}
		}
	case []any:
		for _, value := range v {
			withoutNulls(value)
		}
	}
	return v
}
