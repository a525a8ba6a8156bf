package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/etcd"
	"github.com/keelson-dev/keelson/store/storetest"
)

// overEtcd starts an etcd and a store on it.
func overEtcd(t *testing.T) (*storetest.Etcd, *etcd.Store) {
	e := storetest.StartEtcd(t)
	s, err := etcd.New(t.Context(), etcd.Options{Endpoints: []string{e.Endpoint}, Timeout: 5 * time.Second})
	require.NoError(t, err)
	return e, s
}

func TestOverEtcd(t *testing.T) {
	e, s := overEtcd(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for i := range 20 {
		_, err := s.Create(ctx, fmt.Sprintf("/pods/before/%d", i), []byte("u"), none)
		require.NoError(t, err)
	}
	var wrong atomic.Int32
	compared := make(chan struct{}) // closed when a comparison has succeeded
	succeed := sync.OnceFunc(func() { close(compared) })
	f := start(t, s, cache.Options{Backfill: 10, CheckEvery: 10 * time.Millisecond, Metrics: cache.Metrics{Checked: func(c cache.Check) {
		switch c {
		case cache.CheckSucceeded:
			succeed()
		case cache.CheckFailed:
			wrong.Add(1)
		}
	}}})
	defer func() {
		select {
		case <-compared:
		case <-ctx.Done():
			require.Fail(t, "no comparison with etcd has succeeded")
		}
		require.Zero(t, wrong.Load(), "the cache is what etcd holds, also across its restart")
	}()
	for i := range 20 {
		rev := f.create(fmt.Sprintf("/pods/a/%d", i), "u")
		other := f.create(fmt.Sprintf("/other/%d", i), "u")
		snap, err := f.c.Consistent(ctx)
		require.NoError(t, err)
		require.GreaterOrEqual(t, snap.Revision(), other, "a consistent read includes writes elsewhere")
		_, ok := snap.Get(fmt.Sprintf("/pods/a/%d", i))
		require.True(t, ok, "written at %d, read at %d", rev, snap.Revision())
	}

	// etcd crashes: reads fail or are correct, and the cache continues without a gap.
	seen, from := make(chan string, 100), f.c.Snapshot().Revision()
	go func() {
		_ = f.c.Watch(ctx, cache.WatchOptions{From: from}, func(es []cache.Event) error {
			for _, ev := range es {
				seen <- ev.Object.Name
			}
			return nil
		})
	}()
	e.Restart()
	for i := range 10 {
		for {
			if _, err := s.Create(ctx, fmt.Sprintf("/pods/late/%d", i), nil, none); err == nil {
				break
			}
			require.NoError(t, ctx.Err())
		}
	}
	snap, err := f.c.Consistent(ctx)
	for err != nil { // still reconnecting
		require.NoError(t, ctx.Err())
		snap, err = f.c.Consistent(ctx)
	}
	require.Equal(t, 50, snap.Len())
	for i := range 10 {
		select {
		case name := <-seen:
			require.Equal(t, fmt.Sprint(i), name)
		case <-ctx.Done():
			require.FailNow(t, "event lost")
		}
	}
}

// TestRestartLetsWatchesGoOn is the server's restart: a new cache serves watches from
// revisions before it began.
func TestRestartLetsWatchesGoOn(t *testing.T) {
	_, s := overEtcd(t)
	ctx := t.Context()
	var revs []int64
	for i := range 30 {
		rev, err := s.Create(ctx, fmt.Sprintf("/pods/a/%02d", i), nil, none)
		require.NoError(t, err)
		revs = append(revs, rev)
	}
	_, err := s.Delete(ctx, "/pods/a/00", store.AnyRevision, none)
	require.NoError(t, err)
	f := start(t, s, cache.Options{})
	require.Equal(t, 29, f.c.Snapshot().Len(), "ready means current, not the start of the history")
	n := 0
	err = f.c.Watch(ctx, cache.WatchOptions{From: revs[9]}, func(es []cache.Event) error {
		if n += len(es); n == 21 {
			return errDone
		}
		return nil
	})
	require.Equal(t, errDone, err)

	// Where the history has been compacted, a cache begins at what is left.
	require.NoError(t, s.Compact(ctx, revs[20]))
	again := cache.New(s, "/pods/", cache.Options{})
	runCtx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- again.Run(runCtx) }()
	<-again.Ready()
	require.Equal(t, 29, again.Snapshot().Len())
	_, err = again.SnapshotAt(revs[22])
	if s.Capabilities().Progress {
		require.NoError(t, err)
	} else { // the cache of an older etcd begins at its list
		_, expired := errors.AsType[*store.ExpiredError](err)
		require.True(t, expired, "%v", err)
	}
	cancel()
	require.NoError(t, <-done)
}
