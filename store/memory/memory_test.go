package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
)

var (
	none    store.WriteOptions
	errStop = errors.New("stop")
)

func TestTTLOnVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := memory.New(memory.Options{})
		start := time.Now()
		for i, ttl := range []time.Duration{time.Hour, time.Minute, 0, 2 * time.Minute} {
			_, err := s.Create(ctx, fmt.Sprintf("/a/%d", i), nil, store.WriteOptions{TTL: ttl})
			require.NoError(t, err)
		}
		var gone []time.Duration
		err := s.Watch(ctx, "/a/", 1, store.WatchOptions{}, func(b store.Batch) error {
			for _, e := range b.Events {
				if e.Type == store.Delete {
					gone = append(gone, time.Since(start))
				}
			}
			if len(gone) == 3 {
				return errStop
			}
			return nil
		})
		require.Equal(t, errStop, err)
		require.Equal(t, []time.Duration{time.Minute, 2 * time.Minute, time.Hour}, gone)

		// A deadline that is moved, removed, or earlier than the one waited for.
		_, err = s.Create(ctx, "/b/x", nil, store.WriteOptions{TTL: time.Hour})
		require.NoError(t, err)
		_, err = s.Create(ctx, "/b/y", nil, store.WriteOptions{TTL: time.Minute})
		require.NoError(t, err)
		_, err = s.Update(ctx, "/b/x", nil, store.AnyRevision, store.WriteOptions{TTL: 3 * time.Hour})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		_, _, err = s.Get(ctx, "/b/y")
		require.ErrorIs(t, err, store.ErrNotFound, "on time, though a later deadline was waited for")
		time.Sleep(2 * time.Hour)
		_, _, err = s.Get(ctx, "/b/x")
		require.NoError(t, err, "its first deadline was replaced")
		require.NoError(t, s.Close()) // the bubble would report a goroutine left
	})
}

func TestManyKeysExpireAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		for i := range 1000 {
			_, err := s.Create(t.Context(), fmt.Sprintf("/a/%d", i), nil, store.WriteOptions{TTL: time.Minute})
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		list, err := s.List(t.Context(), "/a/", store.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, list.Items)
		require.NoError(t, s.Close())
	})
}

func TestSnapshotCrossesBubbles(t *testing.T) {
	var snap memory.Snapshot
	var lease int64
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		for i := range 100 {
			_, err := s.Create(t.Context(), fmt.Sprintf("/a/%02d", i), []byte("1"), none)
			require.NoError(t, err)
		}
		var err error
		lease, err = s.Create(t.Context(), "/leases/x", nil, store.WriteOptions{TTL: time.Minute})
		require.NoError(t, err)
		snap = s.Snapshot()
		_, err = s.Delete(t.Context(), "/a/00", store.AnyRevision, none)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	})
	require.Equal(t, 101, snap.Len())
	for range 2 { // twice: forks are independent
		synctest.Test(t, func(t *testing.T) {
			s := memory.NewFromSnapshot(snap, memory.Options{})
			require.Equal(t, lease, snap.Revision())
			kv, at, err := s.Get(t.Context(), "/a/00")
			require.NoError(t, err)
			require.Equal(t, lease, at)
			rev, err := s.Update(t.Context(), "/a/00", []byte("2"), kv.Revision, none)
			require.NoError(t, err)
			require.Equal(t, lease+1, rev, "revisions continue")
			err = s.Watch(t.Context(), "/", lease-1, store.WatchOptions{}, nil)
			var expired *store.ExpiredError
			require.ErrorAs(t, err, &expired)
			require.Equal(t, lease, expired.Compacted)
			time.Sleep(2 * time.Minute)
			_, _, err = s.Get(t.Context(), "/leases/x")
			require.ErrorIs(t, err, store.ErrNotFound, "TTLs continue")
			require.NoError(t, s.Close())
		})
	}
	var zero memory.Snapshot
	require.Zero(t, zero.Len())
	s := memory.NewFromSnapshot(zero, memory.Options{})
	require.Equal(t, zero.Revision(), s.Snapshot().Revision())
	n := 0
	for kv := range snap.All() {
		require.NotEmpty(t, kv.Key)
		if n++; n == 10 {
			break
		}
	}
}

func TestLogBounds(t *testing.T) {
	for name, o := range map[string]memory.Options{
		"events": {LogEvents: 100},
		"bytes":  {LogBytes: 100 * (1000 + len("/a/x"))},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			s := memory.New(o)
			rev, err := s.Create(ctx, "/a/x", nil, none)
			require.NoError(t, err)
			for range 1000 {
				rev, err = s.Update(ctx, "/a/x", make([]byte, 1000), rev, none)
				require.NoError(t, err)
			}
			var expired *store.ExpiredError
			require.ErrorAs(t, s.Watch(ctx, "/a/", rev-101, store.WatchOptions{}, nil), &expired)
			require.Equal(t, rev-100, expired.Compacted)
			err = s.Watch(ctx, "/a/", rev-100, store.WatchOptions{}, func(b store.Batch) error {
				require.Len(t, b.Events, 100)
				return errStop
			})
			require.Equal(t, errStop, err)
			list, err := s.List(ctx, "/a/", store.ListOptions{Revision: rev - 70})
			require.NoError(t, err)
			require.Equal(t, rev-70, list.Items[0].Revision)
			_, err = s.List(ctx, "/a/", store.ListOptions{Revision: rev - 101})
			require.ErrorAs(t, err, &expired)
		})
	}
}

// TestSlowWatchExpires: a watch that stalls loses its place in the log, one that has nothing to read
// does not.
func TestSlowWatchExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := memory.New(memory.Options{LogEvents: 10})
		hang, slow, quiet := make(chan struct{}), make(chan error, 1), make(chan error, 1)
		go func() {
			slow <- s.Watch(ctx, "/a/", 0, store.WatchOptions{}, func(store.Batch) error { <-hang; return nil })
		}()
		go func() {
			quiet <- s.Watch(ctx, "/quiet/", 0, store.WatchOptions{}, func(store.Batch) error { return errStop })
		}()
		synctest.Wait()
		for i := range 50 {
			_, err := s.Create(ctx, fmt.Sprintf("/a/%d", i), nil, none)
			require.NoError(t, err)
			synctest.Wait()
		}
		close(hang)
		var expired *store.ExpiredError
		require.ErrorAs(t, <-slow, &expired)
		_, err := s.Create(ctx, "/quiet/x", nil, none)
		require.NoError(t, err)
		require.Equal(t, errStop, <-quiet)
		require.NoError(t, s.Close())
	})
}

func TestProgressReportsEveryRevisionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := memory.New(memory.Options{})
		var reports []int64
		done := make(chan error)
		go func() {
			done <- s.Watch(ctx, "/a/", 1, store.WatchOptions{}, func(b store.Batch) error {
				reports = append(reports, b.Revision)
				return nil
			})
		}()
		synctest.Wait()
		for i := range 3 {
			_, err := s.Create(ctx, fmt.Sprintf("/b/%d", i), nil, none)
			require.NoError(t, err)
			for range 2 {
				_, err = s.Progress(ctx, "/a/")
				require.NoError(t, err)
				_, err = s.Progress(ctx, "/elsewhere/")
				require.NoError(t, err)
				synctest.Wait()
			}
		}
		_, err := s.Progress(ctx, "")
		require.NoError(t, err)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Equal(t, []int64{2, 3, 4}, reports)
		require.NoError(t, s.Close())
	})
}

func TestNoSizeLimit(t *testing.T) {
	s := memory.New(memory.Options{MaxBytes: -1})
	_, err := s.Create(t.Context(), "/a", make([]byte, 20<<20), none)
	require.NoError(t, err)
}

func Example() {
	ctx := context.Background()
	s := memory.New(memory.Options{})
	defer func() { _ = s.Close() }()

	rev, _ := s.Create(ctx, "/pods/default/a", []byte("v1"), store.WriteOptions{})
	_, _ = s.Update(ctx, "/pods/default/a", []byte("v2"), rev, store.WriteOptions{})
	_, err := s.Update(ctx, "/pods/default/a", []byte("v3"), rev, store.WriteOptions{})
	fmt.Println(err)

	// A write that is applied only while the lock exists.
	lock, _ := s.Create(ctx, "/locks/a", nil, store.WriteOptions{})
	guards := []store.Guard{{Key: "/locks/a", Revision: lock}}
	_, _ = s.Delete(ctx, "/locks/a", lock, store.WriteOptions{})
	_, err = s.Delete(ctx, "/pods/default/a", store.AnyRevision, store.WriteOptions{Guards: guards})
	fmt.Println(err)

	enough := errors.New("enough")
	_ = s.Watch(ctx, "/pods/", 0, store.WatchOptions{}, func(b store.Batch) error {
		for _, e := range b.Events {
			fmt.Println(e.Type, e.KV.Key, string(e.KV.Value))
		}
		return enough
	})
	// Output:
	// store: key "/pods/default/a": expected revision 2, found revision 3
	// store: guard on "/locks/a" at revision 4 does not hold: found none
	// Put /pods/default/a v1
	// Put /pods/default/a v2
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = memory.New(memory.Options{}).Close()
	}
}

func filled(b *testing.B, n int) *memory.Store {
	b.Helper()
	s := memory.New(memory.Options{})
	for i := range n {
		if _, err := s.Create(b.Context(), fmt.Sprintf("/pods/default/pod-%06d", i), make([]byte, 1600), none); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func BenchmarkUpdate(b *testing.B) {
	s := filled(b, 10000)
	value := make([]byte, 1600)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Update(b.Context(), fmt.Sprintf("/pods/default/pod-%06d", i%10000), value, store.AnyRevision, none); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s := filled(b, 10000)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Get(b.Context(), "/pods/default/pod-005000"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListAll(b *testing.B) {
	s := filled(b, 10000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.List(b.Context(), "/pods/", store.ListOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFork(b *testing.B) {
	snap := filled(b, 10000).Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		_ = memory.NewFromSnapshot(snap, memory.Options{}).Close()
	}
}

func TestLargeTransactions(t *testing.T) {
	ctx := t.Context()
	s := memory.New(memory.Options{TxnOps: 1000})
	require.Equal(t, 1000, s.Capabilities().TxnOps)
	require.Zero(t, memory.New(memory.Options{TxnOps: 3}).Capabilities().TxnOps, "not below what every store accepts")
	ops := make([]store.Op, 1000)
	for i := range ops {
		ops[i] = store.CreateOp(fmt.Sprintf("/a/%d", i), nil)
	}
	_, err := s.Txn(ctx, append(ops, store.CreateOp("/b", nil)), nil)
	require.ErrorIs(t, err, store.ErrInvalid)
	ops[999].Key = "/a/7"
	_, err = s.Txn(ctx, ops, nil)
	require.ErrorIs(t, err, store.ErrInvalid, "a key twice")
	ops[999].Key = "/a/999"
	revision, err := s.Txn(ctx, ops, nil)
	require.NoError(t, err)
	list, err := s.List(ctx, "/a/", store.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1000)
	require.Equal(t, revision, list.Items[7].Revision)
}

// A restored store has the content of the snapshot at a new revision; watches and lists of earlier ones
// expire, and keys with a TTL end when they would have.
func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := memory.New(memory.Options{})
		a, err := s.Create(ctx, "/a", []byte("1"), none)
		require.NoError(t, err)
		_, err = s.Create(ctx, "/ttl", nil, store.WriteOptions{TTL: time.Hour})
		require.NoError(t, err)
		snapshot := s.Snapshot()
		_, err = s.Update(ctx, "/a", []byte("2"), a, none)
		require.NoError(t, err)
		_, err = s.Delete(ctx, "/ttl", store.AnyRevision, none)
		require.NoError(t, err)
		before, err := s.Create(ctx, "/b", nil, none)
		require.NoError(t, err)

		ended := make(chan error, 2)
		for _, prefix := range []string{"/a", "/none"} {
			go func() {
				ended <- s.Watch(ctx, prefix, before, store.WatchOptions{}, func(store.Batch) error { return nil })
			}()
		}
		synctest.Wait()
		restored, err := s.Restore(snapshot)
		require.NoError(t, err)
		require.Equal(t, before+1, restored)
		for range 2 {
			require.ErrorAs(t, <-ended, new(*store.ExpiredError))
		}
		kv, revision, err := s.Get(ctx, "/a")
		require.NoError(t, err)
		require.Equal(t, restored, revision)
		require.Equal(t, store.KV{Key: "/a", Value: []byte("1"), Revision: a, CreateRevision: a}, kv)
		_, _, err = s.Get(ctx, "/b")
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = s.List(ctx, "/", store.ListOptions{Revision: before})
		require.ErrorAs(t, err, new(*store.ExpiredError))
		_, err = s.Update(ctx, "/a", nil, a+2, none)
		require.ErrorAs(t, err, new(*store.ConflictError), "the later state never was")
		next, err := s.Update(ctx, "/a", []byte("3"), a, none)
		require.NoError(t, err)
		require.Equal(t, restored+1, next)
		time.Sleep(time.Hour)
		synctest.Wait()
		_, _, err = s.Get(ctx, "/ttl")
		require.ErrorIs(t, err, store.ErrNotFound)
		require.NoError(t, s.Close())
		_, err = s.Restore(snapshot)
		require.ErrorIs(t, err, store.ErrClosed)
	})
}
