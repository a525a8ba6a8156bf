package cache_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
)

// A cache that begins with the state of another one reads nothing, shares its objects, and continues from
// there.
func TestInitialState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		first := start(t, s, cache.Options{})
		first.create("/pods/default/a", "app=web")
		first.create("/pods/default/b", "app=web")
		synctest.Wait()
		state, stored := first.c.Snapshot(), s.Snapshot()
		first.update("/pods/default/a", "app=other") // not in the snapshot

		read := 0
		opts := cache.Options{Initial: state, Metrics: cache.Metrics{Listed: func(n int) { read += n }}}
		fork := start(t, memory.NewFromSnapshot(stored, memory.Options{}), opts)
		require.Equal(t, []string{"/pods/default/a", "/pods/default/b"}, keys(fork.c.Snapshot(), "", ""))
		for o := range state.Range("", "") {
			same, ok := fork.c.Snapshot().Get(o.Key)
			require.True(t, ok)
			require.Same(t, o, same)
		}
		w := fork.watch(cache.WatchOptions{From: state.Revision()})
		fork.update("/pods/default/b", "app=db")
		fork.create("/pods/default/c", "app=db")
		require.Equal(t, []string{
			"MODIFIED /pods/default/b 4 app=db was 3",
			"ADDED /pods/default/c 5 app=db",
		}, w.take())
		require.Zero(t, read)
		kept, _ := state.Get("/pods/default/b")
		require.Equal(t, "app=web", string(kept.Value))
	})
}

// If the store has forgotten what followed the state, the cache lists it.
func TestInitialStateThatIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		first := start(t, s, cache.Options{})
		first.create("/pods/default/a", "app=web")
		synctest.Wait()
		state := first.c.Snapshot()
		first.update("/pods/default/a", "app=db")
		first.create("/pods/default/b", "app=db")
		later := start(t, memory.NewFromSnapshot(s.Snapshot(), memory.Options{}), cache.Options{Initial: state})
		require.Equal(t, []string{"/pods/default/a", "/pods/default/b"}, keys(later.c.Snapshot(), "", ""))
		o, _ := later.c.Snapshot().Get("/pods/default/a")
		require.Equal(t, "app=db", string(o.Value))
	})
}
