package crd_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/crd"
	"github.com/keelson-dev/keelson/store/registry"
)

// TestClaimsFollowChanges: the number of decoded definitions depends on how many have changed, not on how
// many exist.
func TestClaimsFollowChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		const n = 40
		for i := range n {
			c.do("POST", definitions, named(i, fmt.Sprintf("thing%ds", i), "", fmt.Sprintf("Thing%d", i)), 201)
		}
		time.Sleep(time.Second)
		follower := crd.NewFollower()
		res := c.Registry().Resource(crd.Resource)
		update := func() (changed, decoded int) {
			snap, err := res.Snapshot(t.Context(), registry.Freshness{})
			require.NoError(t, err)
			return follower.Update(t.Context(), snap, res.Decode)
		}
		decoded := func() int {
			_, needed := update()
			return needed
		}
		require.Equal(t, n, decoded())
		require.Zero(t, decoded())
		c.do("PATCH", definitions+"/thing7s.a.test", `{metadata: {labels: {a: b}}}`, 200, "Content-Type", "application/merge-patch+json")
		require.Equal(t, 1, decoded())
		c.do("DELETE", definitions+"/thing9s.a.test", nil, 200)
		time.Sleep(time.Second)
		require.Zero(t, decoded(), "what is gone is not decoded")

		write := func(name string) {
			obj, err := c.Access().Update(t.Context(), crd.Resource, types.NamespacedName{Name: name}, func(obj metav1.Object) error {
				obj.SetLabels(map[string]string{"after": obj.GetResourceVersion()})
				return nil
			}, registry.Write{})
			require.NoError(t, err)
			follower.Wrote(obj)
		}
		write("thing8s.a.test")
		changed, needed := update()
		require.Equal(t, 1, changed)
		require.Zero(t, needed, "an own write is not decoded")
		write("thing8s.a.test")
		c.do("PATCH", definitions+"/thing8s.a.test", `{metadata: {labels: {a: c}}}`, 200, "Content-Type", "application/merge-patch+json")
		require.Equal(t, 1, decoded(), "another write after the own one is decoded")
	})
}

// named is a definition with these names in group a.test.
func named(i int, plural, short, kind string) tree {
	names := tree{"plural": plural, "kind": kind}
	if short != "" {
		names["shortNames"] = []any{short}
	}
	return tree{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": tree{"name": plural + ".a.test", "labels": tree{"i": fmt.Sprint(i)}},
		"spec": tree{"group": "a.test", "scope": "Cluster", "names": names, "versions": []any{tree{"name": "v1", "served": true, "storage": true,
			"schema": tree{"openAPIV3Schema": tree{"type": "object"}}}}},
	}
}

// TestNamesOfAGroup creates, renames and deletes definitions that request each other's names. When all are
// settled, no name of a group belongs to two, and a definition without an accepted name waits for one that
// another has.
func TestNamesOfAGroup(t *testing.T) {
	for _, seed := range seeds.Of(t, 60) {
		synctest.Test(t, func(t *testing.T) {
			rng := seeds.Rand(seed)
			c := start(t, apiserver.Options{})
			shorts, kinds := []string{"", "x", "y", "z"}, []string{"A", "B", "C", "D"}
			plurals := []string{"as", "bs", "cs", "ds", "x"}
			for range 25 {
				plural := plurals[rng.IntN(len(plurals))]
				d := named(0, plural, shorts[rng.IntN(len(shorts))], kinds[rng.IntN(len(kinds))])
				switch rng.IntN(4) {
				case 0:
					c.any("DELETE", definitions+"/"+plural+".a.test", nil)
				case 1:
					c.any("PATCH", definitions+"/"+plural+".a.test", tree{"spec": tree{"names": d["spec"].(tree)["names"]}})
				default:
					c.any("POST", definitions, d)
				}
				if rng.IntN(2) == 0 {
					time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
				}
			}
			time.Sleep(time.Minute)
			list, _ := at(c.do("GET", definitions, nil, 200), "items").([]any)
			given := map[string]any{} // to whom
			for _, d := range list {
				for _, name := range namesOf(at(d, "status", "acceptedNames")) {
					require.Nil(t, given[name], "seed %d: %s belongs to %v and to %v", seed, name, given[name], at(d, "metadata", "name"))
					given[name] = at(d, "metadata", "name")
				}
			}
			for _, d := range list {
				wanted, has := namesOf(at(d, "spec", "names")), namesOf(at(d, "status", "acceptedNames"))
				waits := conditionOf(d.(tree), "NamesAccepted")[0] != "True"
				blocked := slices.ContainsFunc(wanted, func(name string) bool { return given[name] != nil && !slices.Contains(has, name) })
				require.Equal(t, blocked, waits, "seed %d: %v wants %v and has %v of %v", seed, at(d, "metadata", "name"), wanted, has, given)
			}
		})
	}
}

// any sends a request; any response except a server error is accepted.
func (c *client) any(method, path string, body any) {
	c.t.Helper()
	kind := "application/json"
	if method == "PATCH" {
		kind = "application/merge-patch+json"
	}
	require.Less(c.t, c.try(method, path, body, "Content-Type", kind).Code, 500)
}

// namesOf are the different names in a field of names, kinds apart from resources.
func namesOf(v any) []string {
	var out []string
	for _, member := range []string{"plural", "singular"} {
		if s, _ := at(v, member).(string); s != "" {
			out = append(out, s)
		}
	}
	list, _ := at(v, "shortNames").([]any)
	for _, s := range list {
		out = append(out, s.(string))
	}
	for _, member := range []string{"kind", "listKind"} {
		if s, _ := at(v, member).(string); s != "" {
			out = append(out, "kind "+s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
