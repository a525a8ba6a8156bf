package events

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// No name of an object is used twice, and those of one object do not depend on the events of others.
func TestNames(t *testing.T) {
	for _, seed := range seeds.Of(t, 50) {
		var all names
		used := map[string]map[int64]bool{"a": {}, "b": {}, "c": {}}
		now := int64(1)
		for rng := seeds.Rand(seed); len(used["a"]) < 100; {
			now += int64(rng.IntN(3)) // often none
			object := []string{"a", "b", "c"}[rng.IntN(3)]
			at := all.next(object, now)
			require.False(t, used[object][at], "seed %d: %s at %d", seed, object, at)
			require.GreaterOrEqual(t, at, now)
			used[object][at] = true
			require.LessOrEqual(t, len(all.last), 3)
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		var with, without names
		now = 1
		for range 100 {
			now += int64(rng.IntN(3) / 2 * 1000)
			for range rng.IntN(3) {
				with.next("other", now)
			}
			require.Equal(t, without.next("x", now), with.next("x", now), "seed %d", seed)
		}
	}
}
