package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	upappsv1 "k8s.io/api/apps/v1"
	upcorev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// directed turns a partial object into a patch with directives in random places, as a careful author could
// write it by hand: items are deleted, replaced, kept or ordered.
func directed(r *rand.Rand, m map[string]any, keys map[string]string, key string) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(m)) { // equal seeds draw in the same order
		switch value := m[name].(type) {
		case map[string]any:
			part := directed(r, value, keys, "")
			if name == "strategy" && r.IntN(2) == 0 {
				kept := []any{}
				for _, k := range slices.Sorted(maps.Keys(value)) {
					kept = append(kept, k)
				}
				part["$retainKeys"] = kept
			}
			if name != "metadata" && name != "spec" && name != "template" && r.IntN(8) == 0 {
				part["$patch"] = "replace"
			}
			out[name] = part
		case []any:
			out[name] = directedList(r, out, name, value, keys)
			if out[name] == nil {
				delete(out, name)
			}
		default:
			if out[name] = value; name != key && r.IntN(10) == 0 {
				out[name] = nil
			}
		}
	}
	return out
}

// directedList is the list of a patch; the orders and deletions that go with it are put beside it.
func directedList(r *rand.Rand, beside map[string]any, name string, list []any, keys map[string]string) any {
	key, merged := keys[name]
	if !merged {
		return list
	}
	var out, order []any
	for _, item := range list {
		if key == "" {
			out, order = append(out, item), append(order, item)
			continue
		}
		m := item.(map[string]any)
		if r.IntN(5) == 0 {
			out = append(out, map[string]any{key: m[key], "$patch": "delete"})
			continue
		}
		out, order = append(out, directed(r, m, keys, key)), append(order, map[string]any{key: m[key]})
	}
	if key != "" && r.IntN(10) == 0 {
		out = append(out, map[string]any{"$patch": "replace"})
	}
	if len(order) > 0 && r.IntN(3) == 0 {
		beside["$setElementOrder/"+name] = order
	}
	if key == "" && len(list) > 0 && r.IntN(2) == 0 {
		beside["$deleteFromPrimitiveList/"+name] = list[:1+r.IntN(len(list))]
		return nil
	}
	return out
}

// mergedLists are the lists that merge in the kinds below, and their keys; those of values have none.
var mergedLists = map[string]string{
	"containers": "name", "initContainers": "name", "env": "name", "ports": "containerPort", "volumes": "name", "volumeMounts": "mountPath", "hostAliases": "ip", "imagePullSecrets": "name", "topologySpreadConstraints": "topologyKey",
	"finalizers": "", "conditions": "type",
}

func randomClaim(r *rand.Rand) map[string]any {
	s := map[string]any{}
	set(r, s, "accessModes", []any{"ReadWriteOnce"}, []any{"ReadWriteOnce", "ReadOnlyMany"})
	set(r, s, "resources", map[string]any{"requests": map[string]any{"storage": "1Gi"}}, map[string]any{"requests": map[string]any{"storage": "2Gi"}, "limits": map[string]any{"storage": "3Gi"}})
	set(r, s, "storageClassName", "fast", "slow")
	set(r, s, "selector", map[string]any{"matchLabels": map[string]any{"a": "b"}}, map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Exists"}}})
	set(r, s, "dataSource", map[string]any{"kind": "PersistentVolumeClaim", "name": "x"})
	out := map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": randomMeta(r), "spec": s}
	set(r, out, "status", map[string]any{"phase": "Bound", "conditions": []any{map[string]any{"type": "Resizing", "status": "True"}}}, map[string]any{"conditions": []any{map[string]any{"type": "FileSystemResizePending", "status": "False"}, map[string]any{"type": "Resizing", "status": "False"}}})
	return out
}

// distinctPorts is a Service of which no two ports have one number, which is what they are merged by.
func distinctPorts(r *rand.Rand) map[string]any {
	out := randomService(r)
	if ports, ok := out["spec"].(map[string]any)["ports"].([]any); ok && len(ports) > 1 {
		ports[0].(map[string]any)["port"] = int64(443)
	}
	return out
}

// patched are the kinds that patches are compared on.
var patched = []struct {
	name         string
	random       func(*rand.Rand) map[string]any
	theirs, ours reflect.Type
	servicePorts bool
}{
	{"Pod", randomPod, reflect.TypeFor[upcorev1.Pod](), reflect.TypeFor[corev1.Pod](), false},
	{"Deployment", randomDeployment, reflect.TypeFor[upappsv1.Deployment](), reflect.TypeFor[appsv1.Deployment](), false},
	{"Service", distinctPorts, reflect.TypeFor[upcorev1.Service](), reflect.TypeFor[corev1.Service](), true},
	{"PersistentVolumeClaim", randomClaim, reflect.TypeFor[upcorev1.PersistentVolumeClaim](), reflect.TypeFor[corev1.PersistentVolumeClaim](), false},
}

// Patches with directives give the same result as upstream's, and are refused where upstream refuses them.
func TestPatchesWithDirectivesAgree(t *testing.T) {
	for _, kind := range patched {
		t.Run(kind.name, func(t *testing.T) {
			keys := mergedLists
			if kind.servicePorts {
				keys = map[string]string{"ports": "port", "finalizers": ""}
			}
			compared := 0
			for _, seed := range seeds.Of(t, 2_000) {
				r := seeds.Rand(seed)
				doc := jsonText(t, kind.random(r))
				change := jsonText(t, directed(r, kind.random(r), keys, ""))
				at := fmt.Sprintf("seed %d:\n%s\n%s", seed, doc, change)
				theirs := reflect.New(kind.theirs).Elem().Interface()
				u, uerr := strategicpatch.StrategicMergePatch(doc, change, theirs)
				o, oerr := patch.Strategic(doc, change, kind.ours)
				if strings.Contains(fmt.Sprint(uerr), "empty") || strings.Contains(fmt.Sprint(uerr), "delete patch type with no merge key") {
					continue
				}
				require.Equal(t, uerr == nil, oerr == nil, "%s\nupstream: %v\nours: %v", at, uerr, oerr)
				if uerr != nil {
					continue
				}
				require.NotContains(t, string(o), `"$`, at)
				if strings.Contains(string(u), `"$`) || strings.Contains(string(u), ":null") {
					continue // upstream copies directives into what the document lacks
				}
				compared++
				want, have := reflect.New(kind.theirs).Interface(), reflect.New(kind.theirs).Interface()
				require.NoError(t, json.Unmarshal(u, want), at)
				require.NoError(t, json.Unmarshal(o, have), at)
				require.True(t, equality.Semantic.DeepEqual(want, have), "%s\nupstream: %s\nours:     %s", at, u, o)
			}
			t.Logf("%d compared", compared)
		})
	}
}

// Patches that either side computes, from two objects or from three, give the same result.
func TestMadePatchesAgree(t *testing.T) {
	for _, kind := range patched {
		t.Run(kind.name, func(t *testing.T) {
			theirs := reflect.New(kind.theirs).Elem().Interface()
			lookup, err := strategicpatch.NewPatchMetaFromStruct(theirs)
			require.NoError(t, err)
			for _, seed := range seeds.Of(t, 1_000) {
				r := seeds.Rand(seed)
				original, modified, current := jsonText(t, kind.random(r)), jsonText(t, kind.random(r)), jsonText(t, kind.random(r))
				at := fmt.Sprintf("seed %d:\n%s\n%s\n%s", seed, original, modified, current)
				u, uerr := strategicpatch.CreateThreeWayMergePatch(original, modified, current, lookup, true)
				o, oerr := patch.CreateThreeWayStrategic(original, modified, current, kind.ours)
				require.NoError(t, uerr, at)
				require.NoError(t, oerr, at)
				agree := func(doc, theirPatch, ourPatch []byte) {
					t.Helper()
					want, have := reflect.New(kind.theirs).Interface(), reflect.New(kind.theirs).Interface()
					result, err := strategicpatch.StrategicMergePatch(doc, theirPatch, theirs)
					if err != nil || strings.Contains(string(result), `"$`) {
						return
					}
					require.NoError(t, json.Unmarshal(result, want), at)
					result, err = patch.Strategic(doc, ourPatch, kind.ours)
					require.NoError(t, err, at)
					require.NoError(t, json.Unmarshal(result, have), at)
					require.True(t, equality.Semantic.DeepEqual(want, have), "%s\nupstream's patch: %s\nour patch: %s", at, theirPatch, ourPatch)
				}
				agree(current, u, o)
				u, uerr = strategicpatch.CreateTwoWayMergePatch(original, modified, theirs)
				o, oerr = patch.CreateTwoWayStrategic(original, modified, kind.ours)
				require.NoError(t, uerr, at)
				require.NoError(t, oerr, at)
				agree(original, u, o)
				agree(current, u, o)
			}
		})
	}
}
