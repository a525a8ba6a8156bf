package registry_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

var kindOfThings = sync.OnceValue(func() *scheme.Info {
	kinds := scheme.New()
	if err := api.AddToScheme(kinds); err != nil {
		panic(err)
	}
	info, err := scheme.InfoFor[*corev1.ConfigMap](kinds)
	if err != nil {
		panic(err)
	}
	return info
})

// things is the n-th resource at a version.
func things(n, version int) *registry.Definition {
	info := *kindOfThings()
	info.GVK = schema.GroupVersionKind{Group: "example.com", Version: fmt.Sprintf("v%d", version), Kind: fmt.Sprintf("Thing%d", n)}
	info.GVR = schema.GroupVersionResource{Group: "example.com", Version: info.GVK.Version, Resource: fmt.Sprintf("things%d", n)}
	d := registry.Define(&info)
	return &d
}

// Tables of random additions, replacements and removals have the resources that a map has; a table that was
// there before does not change.
func TestTables(t *testing.T) {
	for _, seed := range seeds.Of(t, 50) {
		rng := seeds.Rand(seed)
		r, err := registry.New(memory.New(memory.Options{}), registry.Options{})
		require.NoError(t, err)
		want := map[schema.GroupVersionResource]*registry.Definition{}
		for range 30 {
			old, before := r.Table(), maps.Clone(want)
			change(t, rng, r, want)
			require.Equal(t, old.Generation()+1, r.Table().Generation(), "seed %d", seed)
			same(t, seed, before, old)
			same(t, seed, want, r.Table())
		}
	}
}

func change(t *testing.T, rng *rand.Rand, r *registry.Registry, want map[schema.GroupVersionResource]*registry.Definition) {
	if rng.IntN(3) == 0 {
		var gone []schema.GroupVersionResource
		keys := slices.Collect(maps.Keys(want))
		slices.SortFunc(keys, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
		for _, gvr := range keys { // so that the seed decides
			if rng.IntN(4) == 0 {
				gone = append(gone, gvr)
			}
		}
		r.Remove(gone...)
		for _, gvr := range gone {
			delete(want, gvr)
		}
		return
	}
	var added []*registry.Definition
	for range rng.IntN(6) {
		added = append(added, things(rng.IntN(6), rng.IntN(2)))
	}
	resources, err := r.Add(added...)
	require.NoError(t, err)
	require.Len(t, resources, len(added))
	for i, d := range added {
		require.Same(t, d, resources[i].Definition())
		want[d.Info.GVR] = d
	}
}

func same(t *testing.T, seed uint64, want map[schema.GroupVersionResource]*registry.Definition, got *registry.Table) {
	t.Helper()
	require.Equal(t, len(want), got.Len(), "seed %d", seed)
	for gvr, d := range want {
		require.Same(t, d, got.Resource(gvr).Definition(), "seed %d: %v", seed, gvr)
	}
	for row, res := range got.All() {
		gvr := res.Info().GVR
		require.Contains(t, want, gvr, "seed %d", seed)
		at, ok := got.Row(gvr)
		require.True(t, ok)
		require.Equal(t, row, at, "seed %d: %v", seed, gvr)
	}
	_, ok := got.Row(schema.GroupVersionResource{Resource: "absent"})
	require.False(t, ok)
	require.Nil(t, got.Resource(schema.GroupVersionResource{Resource: "absent"}))
}

// Registries that begin with other resources after each other do not mix them up.
func TestTablesOfSeveralRegistries(t *testing.T) {
	all := []*registry.Definition{things(0, 1), things(1, 1), things(2, 1), things(2, 2)}
	for _, defs := range [][]*registry.Definition{all, all[:2], all, {all[1], all[0]}, all, nil, {all[0], all[0]}} {
		r, err := registry.New(memory.New(memory.Options{}), registry.Options{})
		require.NoError(t, err)
		_, err = r.Add(defs...)
		require.NoError(t, err)
		want := map[schema.GroupVersionResource]*registry.Definition{}
		for _, d := range defs {
			want[d.Info.GVR] = d
		}
		same(t, 0, want, r.Table())
		rows := slices.Collect(maps.Keys(maps.Collect(r.Table().All())))
		require.Len(t, rows, len(want))
	}
}
