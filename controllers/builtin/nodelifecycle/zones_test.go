package nodelifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func defaults() *Options {
	opts := &Options{}
	opts.setDefaults()
	return opts
}

// zoneOf returns a zone with a number of nodes that are ready and of others that are not.
func zoneOf(z *zones, name string, ready, bad int) *zone {
	for i := range ready + bad {
		z.note(name, fmt.Sprint(name, "-", i), i < ready)
	}
	return z.byName[name]
}

// How many nodes a second get a taint depends on how much of a zone is not ready.
func TestRateOfZones(t *testing.T) {
	for _, c := range []struct {
		ready, bad int
		want       float64
		why        string
	}{
		{10, 0, 0.1, "a zone that is well"},
		{9, 1, 0.1, "a node that fails"},
		{1, 2, 0.1, "two nodes may be most of a small zone"},
		{3, 3, 0.1, "half of a zone"},
		{2, 3, 0, "most of a small zone"},
		{22, 28, 0, "most of 50 nodes"},
		{22, 29, 0.01, "most of 51 nodes"},
		{45, 55, 0.01, "exactly the threshold"},
		{46, 54, 0.1, "just below it"},
		{0, 3, 0.1, "all of a zone"},
		{0, 100, 0.1, "all of a large zone"},
	} {
		require.Equal(t, c.want, zoneOf(&zones{}, "a", c.ready, c.bad).rate(defaults()), c.why)
	}
}

func TestZonesAllow(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	z, opts := &zones{}, defaults()
	zoneOf(z, "a", 8, 2)
	zoneOf(z, "b", 8, 2)
	allow := func(zone, node string, ready, evicted, early bool, after time.Duration) bool {
		return z.allow(zone, node, ready, evicted, early, opts, now.Add(after))
	}
	require.False(t, allow("a", "a-0", true, false, false, 0), "a node that is ready")
	require.False(t, allow("a", "a-8", false, false, true, 0), "its state is too new")
	require.True(t, allow("a", "a-8", false, false, false, 0))
	require.False(t, allow("a", "a-9", false, false, false, 9*time.Second), "one in ten seconds")
	require.True(t, allow("b", "b-8", false, false, false, 9*time.Second), "each zone has its own rate")
	require.True(t, allow("a", "a-8", false, true, false, 9*time.Second), "one that has the taint costs nothing")
	require.True(t, allow("a", "a-9", false, false, false, 10*time.Second))

	z.forget("a-9")
	require.Len(t, z.byName["a"].ready, 9)
	z.note("b", "a-8", false) // it has moved
	require.Len(t, z.byName["a"].ready, 8)
	require.Len(t, z.byName["b"].ready, 11)

	// No node is ready: that is more likely a fault of the network, so even those that have the taint lose
	// it.
	for name, zn := range z.byName {
		for node := range zn.ready {
			z.note(name, node, false)
		}
	}
	require.False(t, allow("b", "b-8", false, true, false, time.Minute))
	require.False(t, allow("a", "a-0", true, false, false, 2*time.Minute), "nodes come back")
	require.False(t, allow("b", "b-8", false, false, false, 2*time.Minute+opts.GracePeriod), "the others may follow")
	require.True(t, allow("b", "b-8", false, false, false, 2*time.Minute+opts.GracePeriod+time.Second))
}
