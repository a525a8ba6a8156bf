package cache_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// checked is a cache that is compared with its store, whose outcomes are counted.
func checked(t *testing.T, s store.Store, opts cache.Options) (f *fixture, outcomes chan cache.Check) {
	outcomes = make(chan cache.Check, 1000)
	opts.Metrics.Checked = func(c cache.Check) { outcomes <- c }
	return start(t, s, opts), outcomes
}

// losing is a memory store whose watches lose the events of one key while lose is set.
func losing(key string) (s store.Store, lose *atomic.Bool) {
	lose = new(atomic.Bool)
	return storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{
		Drop: func(_ string, e store.Event) bool { return lose.Load() && e.KV.Key == key },
	}), lose
}

func TestLostEventIsFoundAndRepaired(t *testing.T) {
	for name, lost := range map[string]func(f *fixture){
		"creation": func(f *fixture) { f.create("/pods/a/lost", "u") },
		"update":   func(f *fixture) { f.update("/pods/a/known", "v") },
		"deletion": func(f *fixture) { f.delete("/pods/a/known") },
		"last": func(f *fixture) {
			f.create("/pods/z/lost", "u")
			f.delete("/pods/z/lost")
			f.create("/pods/z/lost", "w")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lose atomic.Bool
				f, outcomes := checked(t, storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{
					Drop: func(string, store.Event) bool { return lose.Load() },
				}), cache.Options{})
				f.create("/pods/a/known", "u")
				f.create("/pods/b/other", "u")
				require.Equal(t, cache.CheckSucceeded, <-outcomes)

				watch := f.watch(cache.WatchOptions{})
				synctest.Wait()
				lose.Store(true)
				lost(f)
				synctest.Wait()
				lose.Store(false)
				f.create("/pods/c/later", "u")
				want, err := f.s.List(f.t.Context(), "/pods/", store.ListOptions{})
				require.NoError(t, err)
				require.NotEqual(t, want.Items, contents(f.c.Snapshot()), "the cache is wrong and no check has run")

				began := time.Now()
				require.Equal(t, cache.CheckFailed, <-outcomes)
				require.LessOrEqual(t, time.Since(began), 8*time.Minute)
				// No time passes here, so the cache has not been filled again; but reads are correct.
				require.True(t, f.c.Inconsistent())
				require.NotEqual(t, want.Items, contents(f.c.Snapshot()))
				snap, err := f.c.Consistent(f.t.Context())
				require.NoError(t, err)
				require.Equal(t, want.Items, contents(snap))
				snap, err = f.c.AtLeast(f.t.Context(), want.Revision)
				require.NoError(t, err)
				require.Equal(t, want.Items, contents(snap))
				snap, err = f.c.At(f.t.Context(), want.Revision)
				require.NoError(t, err)
				require.Equal(t, want.Items, contents(snap))

				time.Sleep(time.Second)
				require.False(t, f.c.Inconsistent())
				require.Equal(t, want.Items, contents(f.c.Snapshot()))
				<-watch.done
				var expired *store.ExpiredError
				require.ErrorAs(t, watch.err, &expired, "the watch has missed something")
				require.Equal(t, cache.CheckSucceeded, <-outcomes)
			})
		})
	}
}

// A client whose connection was cut while the cache was wrong must not continue as if it had seen everything.
func TestWatchFromSuspectRevisionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, lose := losing("/pods/a/lost")
		f, outcomes := checked(t, s, cache.Options{})
		verified := f.create("/pods/a/x", "u")
		require.Equal(t, cache.CheckSucceeded, <-outcomes)
		lose.Store(true)
		lost := f.create("/pods/a/lost", "u")
		between := f.create("/pods/a/y", "u")
		last := f.create("/pods/a/z", "u")
		require.Equal(t, cache.CheckFailed, <-outcomes)
		lose.Store(false)
		time.Sleep(time.Second)

		for _, from := range []int64{lost, between} {
			w := f.watch(cache.WatchOptions{From: from})
			<-w.done
			var expired *store.ExpiredError
			require.ErrorAs(t, w.err, &expired, "from %d", from)
		}
		w := f.watch(cache.WatchOptions{From: verified})
		require.Equal(t, []string{
			fmt.Sprintf("ADDED /pods/a/lost %d u", lost), fmt.Sprintf("ADDED /pods/a/y %d u", between), fmt.Sprintf("ADDED /pods/a/z %d u", last),
		}, w.take(), "the state of its client was correct, and the store has the rest")
		next := f.watch(cache.WatchOptions{From: last})
		later := f.create("/pods/a/later", "u")
		want := []string{fmt.Sprintf("ADDED /pods/a/later %d u", later)}
		require.Equal(t, want, next.take())
		require.Equal(t, want, w.take())
		w.stop()
		next.stop()
		<-w.done
		<-next.done
	})
}

func TestCheckOfAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		s := storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{
			Before: func(_ context.Context, r storetest.Request) error {
				if away.Load() && r.Op == "list" {
					return &store.UnavailableError{Op: r.Op, Err: storetest.ErrInjected}
				}
				return nil
			},
		})
		f, outcomes := checked(t, s, cache.Options{})
		watch := f.watch(cache.WatchOptions{})
		synctest.Wait()
		away.Store(true)
		require.Equal(t, cache.CheckError, <-outcomes)
		require.Equal(t, cache.CheckError, <-outcomes)
		away.Store(false)
		require.Equal(t, cache.CheckSucceeded, <-outcomes)
		rev := f.create("/pods/a/x", "u")
		require.Equal(t, []string{fmt.Sprintf("ADDED /pods/a/x %d u", rev)}, watch.take(), "nothing has ended the watch")
		watch.stop()
		<-watch.done
	})
}

// A cache of keys that never change is at an old revision, which the store has compacted.
func TestCheckOfAQuietCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		f, outcomes := checked(t, s, cache.Options{})
		f.create("/pods/a/x", "u")
		for range 5 {
			time.Sleep(time.Minute)
			last := f.create(fmt.Sprintf("/other/%d", time.Now().Unix()), "u")
			require.NoError(t, s.Compact(f.t.Context(), last))
			require.Equal(t, cache.CheckSucceeded, <-outcomes)
		}
	})
}

// restored returns a cache of ten objects whose store has then been replaced by a backup with one of them,
// the backup, and the last revision before.
func restored(t *testing.T) (f *fixture, backup *memory.Store, last int64, outcomes chan cache.Check) {
	s := storetest.NewReplaceable(memory.New(memory.Options{}))
	f, outcomes = checked(t, s, cache.Options{})
	for i := range 10 {
		last = f.create(fmt.Sprintf("/pods/a/%d", i), "u")
	}
	backup = memory.New(memory.Options{})
	_, err := backup.Create(f.t.Context(), "/pods/a/0", []byte("u"), none)
	require.NoError(t, err)
	require.Equal(t, cache.CheckSucceeded, <-outcomes)
	s.Replace(backup)
	return f, backup, last, outcomes
}

func TestCheckFindsARestoredStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, backup, _, outcomes := restored(t)
		require.Equal(t, cache.CheckFailed, <-outcomes)
		time.Sleep(time.Second)
		require.Equal(t, 1, f.c.Snapshot().Len())
		_, err := backup.Create(f.t.Context(), "/pods/a/new", []byte("u"), none)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 2, f.c.Snapshot().Len(), "it follows the store there is now")
		require.Equal(t, cache.CheckSucceeded, <-outcomes)
	})
}

// A consistent read notices at once, and returns what the restored store holds. A key may have another
// value at the same revision.
func TestConsistentReadOfARestoredStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, backup, _, _ := restored(t)
		_, err := backup.Create(f.t.Context(), "/pods/a/1", []byte("other"), none)
		require.NoError(t, err)
		want, err := backup.List(f.t.Context(), "/pods/", store.ListOptions{})
		require.NoError(t, err)
		snap, err := f.c.Consistent(f.t.Context())
		require.NoError(t, err)
		require.Equal(t, want.Items, contents(snap))
		require.True(t, f.c.Inconsistent())
		time.Sleep(time.Second)
		require.False(t, f.c.Inconsistent())
		require.Equal(t, want.Items, contents(f.c.Snapshot()))
	})
}

// The watches of a restored store expire, at the latest when their next bookmark is due, and so do those that
// begin with a revision that the store no longer has: none waits silently for revisions that its client has
// seen.
func TestWatchesOfARestoredStoreExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewReplaceable(memory.New(memory.Options{}))
		f := start(t, s, cache.Options{CheckEvery: -1})
		var last int64
		for i := range 10 {
			last = f.create(fmt.Sprintf("/pods/a/%d", i), "u")
		}
		quiet, marked := f.watch(cache.WatchOptions{}), f.watch(cache.WatchOptions{Bookmarks: time.Minute})
		synctest.Wait()
		backup := memory.New(memory.Options{})
		rev, err := backup.Create(f.t.Context(), "/pods/a/0", []byte("u"), none)
		require.NoError(t, err)
		s.Replace(backup)
		time.Sleep(2 * time.Minute)

		var expired *store.ExpiredError
		for _, w := range []*recorder{quiet, marked, f.watch(cache.WatchOptions{From: last}), f.watch(cache.WatchOptions{From: last - 1})} {
			<-w.done
			require.ErrorAs(t, w.err, &expired)
		}
		w := f.watch(cache.WatchOptions{From: rev})
		next, err := backup.Create(f.t.Context(), "/pods/a/new", []byte("u"), none)
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprintf("ADDED /pods/a/new %d u", next)}, w.take(), "a client of the restored store")
		w.stop()
		<-w.done
	})
}

// A cache that is right is never inconsistent, whatever happens while it is compared.
func TestChecksOfRandomHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 3) {
		synctest.Test(t, func(t *testing.T) {
			rnd := seeds.Stream(seed, 21)
			s := memory.New(memory.Options{})
			for i := range 1500 { // more than one page
				_, err := s.Create(t.Context(), fmt.Sprintf("/pods/base/%d", i), []byte("u"), none)
				require.NoError(t, err)
			}
			f, outcomes := checked(t, s, cache.Options{CheckEvery: time.Second, Backfill: int64(rnd.IntN(2000))})
			for range 800 {
				key := fmt.Sprintf("/pods/%d/%d", rnd.IntN(3), rnd.IntN(30))
				if rnd.IntN(3) == 0 {
					_, _ = s.Delete(f.t.Context(), key, store.AnyRevision, none) // it may not be there
				} else {
					_, err := s.Txn(f.t.Context(), []store.Op{
						{Type: store.OpUpdate, Key: key, Value: []byte("v"), Expected: revisionOf(t, s, key), TTL: time.Duration(rnd.IntN(2)) * time.Minute},
						store.CreateOp(fmt.Sprintf("/other/%d", rnd.Uint64()), nil),
					}, nil)
					require.NoError(t, err)
				}
				if rnd.IntN(10) == 0 {
					// Of any length: no key expires between its read and its change.
					time.Sleep(time.Duration(1 + rnd.IntN(3e9)))
				}
			}
			synctest.Wait()
			require.Greater(t, len(outcomes), 20)
			for range len(outcomes) {
				require.Equal(t, cache.CheckSucceeded, <-outcomes)
			}
		})
	}
}

// revisionOf is the revision of a key, Absent if there is none.
func revisionOf(t *testing.T, s store.Store, key string) int64 {
	list, err := s.List(t.Context(), key, store.ListOptions{})
	require.NoError(t, err)
	for _, kv := range list.Items {
		if kv.Key == key {
			return kv.Revision
		}
	}
	return store.Absent
}

func contents(s *cache.Snapshot) []store.KV {
	var out []store.KV
	for o := range s.Range("", "") {
		out = append(out, store.KV{Key: o.Key, Value: o.Value, Revision: o.Revision, CreateRevision: o.CreateRevision})
	}
	return out
}
