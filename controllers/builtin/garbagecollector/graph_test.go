package garbagecollector

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

var kindOfTests = &client.Resource{GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
	GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespaced: true}

func see(g *graph, name string, owners ...string) []types.UID {
	m := &metav1.ObjectMeta{Name: name, UID: types.UID(name)}
	for _, o := range owners {
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o, UID: types.UID(o)})
	}
	return g.observe(identity{kindOfTests, types.NamespacedName{Namespace: "default", Name: name}}, m)
}

// What is deleted leaves nothing behind, and what is known of an owner that is gone is kept as long as an
// object refers to it.
func TestTheGraphKeepsNothingOfWhatIsGone(t *testing.T) {
	g := newGraph()
	for i := range 1000 {
		o := fmt.Sprint("owner", i)
		require.Empty(t, see(g, o))
		require.Empty(t, see(g, fmt.Sprint("child", i), o), "its owner lives: nothing is to be done")
	}
	for i := range 1000 {
		require.Equal(t, []types.UID{types.UID(fmt.Sprint("child", i))}, g.remove(types.UID(fmt.Sprint("owner", i))))
	}
	require.Len(t, g.nodes, 2000)
	require.Equal(t, absent, g.owner("default", &metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner7", UID: "owner7"}))
	require.Equal(t, unknown, g.owner("other", &metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner7", UID: "owner7"}))
	for i := range 1000 {
		g.remove(types.UID(fmt.Sprint("child", i)))
	}
	require.Empty(t, g.nodes)
	see(g, "self", "self")
	g.remove("self")
	require.Empty(t, g.nodes)
}

// A deletion costs the same however many have gone before.
func BenchmarkDeletions(b *testing.B) {
	g := newGraph()
	for i := range 100_000 {
		see(g, fmt.Sprint("pod", i), fmt.Sprint("set", i/10))
	}
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprint("pod", i)
	}
	for i := 0; b.Loop(); i++ {
		name := names[i%1000]
		g.remove(types.UID(name))
		see(g, name, "set1")
	}
}
