package cache_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// Reads of the store, consistent reads and initial events are counted; the duration of a wait and a read of
// the store in place of the cache are reported.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events, progress, listed, lists, initial, fresh, fellBack, waits atomic.Int64
		var waited atomic.Int64
		var hold atomic.Bool // blocks the watch of the store
		release := make(chan struct{})
		mem := memory.New(memory.Options{})
		for _, k := range []string{"/pods/a/x", "/pods/a/y", "/pods/b/z"} {
			_, err := mem.Create(t.Context(), k, []byte("u"), none)
			require.NoError(t, err)
		}
		s := storetest.NewFaulty(mem, storetest.Hooks{Batch: func(ctx context.Context, _ string, _ store.Batch) error {
			if hold.Load() {
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			return nil
		}})
		f := start(t, s, cache.Options{Backfill: -1, CheckEvery: -1, Metrics: cache.Metrics{
			Events:   func(n int) { events.Add(int64(n)) },
			Progress: func() { progress.Add(1) },
			Listed:   func(n int) { lists.Add(1); listed.Add(int64(n)) },
			Initial:  func(n int) { initial.Add(int64(n)) },
			Waited:   func(d time.Duration) { waits.Add(1); waited.Add(int64(d)) },
			Consistent: func(fallback bool, err error) {
				require.NoError(t, err)
				if fallback {
					fellBack.Add(1)
				} else {
					fresh.Add(1)
				}
			},
		}})
		require.Equal(t, []int64{1, 3}, []int64{lists.Load(), listed.Load()}, "filled by one list of three objects")

		first := f.create("/pods/a/w", "u")
		synctest.Wait()
		require.EqualValues(t, 1, events.Load())
		w := f.watch(cache.WatchOptions{From: first - 1})
		require.Len(t, w.take(), 1)
		require.EqualValues(t, 1, initial.Load(), "the change after From")
		f.watch(cache.WatchOptions{})
		f.watch(cache.WatchOptions{Prefix: "/pods/a/", InitialEvents: true})
		synctest.Wait()
		require.EqualValues(t, 4, initial.Load(), "and three objects of a namespace; nothing where a watch begins now")
		f.create("/other/x", "u")
		before := progress.Load()
		_, err := f.c.Consistent(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		require.Greater(t, progress.Load(), before, "a revision without an event of the prefix")
		require.Equal(t, []int64{1, 0}, []int64{fresh.Load(), fellBack.Load()})

		waits.Store(0)
		waited.Store(0)
		hold.Store(true)
		f.create("/pods/a/v", "u")
		time.AfterFunc(time.Second, func() { hold.Store(false); close(release) })
		_, err = f.c.Consistent(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int64{2, 0}, []int64{fresh.Load(), fellBack.Load()})
		require.EqualValues(t, 1, waits.Load())
		require.Equal(t, time.Second, time.Duration(waited.Load()))

		release = make(chan struct{})
		hold.Store(true)
		f.create("/pods/a/u", "u")
		snap, err := f.c.Consistent(t.Context())
		require.NoError(t, err)
		require.Equal(t, 6, snap.Len())
		require.False(t, snap.Cached())
		require.True(t, f.c.Snapshot().Cached())
		require.Equal(t, []int64{2, 1}, []int64{fresh.Load(), fellBack.Load()}, "the watch hung, and the store was read")
		require.Equal(t, []int64{2, 4}, []int64{lists.Load(), listed.Load()}, "for the one object that had changed")
		hold.Store(false)
		close(release)
	})
}
