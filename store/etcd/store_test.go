package etcd_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/etcd"
	"github.com/keelson-dev/keelson/store/storetest"
)

func open(t testing.TB, opts etcd.Options) *etcd.Store {
	t.Helper()
	s, err := etcd.New(context.Background(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func raw(t testing.TB, e *storetest.Etcd) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Endpoint}, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestConformance gives every case a prefix of its own in one etcd, except the one that compacts
// the history of all.
func TestConformance(t *testing.T) {
	shared, n := storetest.StartEtcd(t), 0
	opened := map[store.Store]etcd.Options{}
	join := func(t testing.TB, s store.Store) store.Store { return open(t, opened[s]) }
	crash := func(t testing.TB, s store.Store) store.Store {
		shared.Restart()
		return join(t, s)
	}
	storetest.Run(t, func(t testing.TB) store.Store {
		e := shared
		if strings.HasSuffix(t.Name(), "/Compact") {
			e = storetest.StartEtcd(t)
		}
		n++
		opts := etcd.Options{Endpoints: []string{e.Endpoint}, Prefix: fmt.Sprintf("/registry%d", n)}
		s := open(t, opts)
		opened[s] = opts
		return s
	}, storetest.Options{Crash: crash, Join: join})
}

func TestRefusesBubbles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := etcd.New(context.Background(), etcd.Options{Endpoints: []string{"http://127.0.0.1:1"}})
		require.ErrorIs(t, err, etcd.ErrBubble)
	})
}

func TestNoMemberAnswers(t *testing.T) {
	_, err := etcd.New(context.Background(), etcd.Options{Endpoints: []string{"http://127.0.0.1:1"}, DialTimeout: 300 * time.Millisecond})
	var unavailable *store.UnavailableError
	require.ErrorAs(t, err, &unavailable)
}

func TestLayoutAndLeases(t *testing.T) {
	ctx := t.Context()
	e := storetest.StartEtcd(t)
	var granted []int
	s := open(t, etcd.Options{Endpoints: []string{e.Endpoint}, Prefix: "registry/", LeaseGranted: func(keys int) { granted = append(granted, keys) }})
	for i := range 50 {
		_, err := s.Create(ctx, fmt.Sprintf("/events/default/e%d", i), []byte("x"), store.WriteOptions{TTL: time.Hour})
		require.NoError(t, err)
	}
	c := raw(t, e)
	got, err := c.Get(ctx, "/registry/events/default/e7")
	require.NoError(t, err)
	require.Len(t, got.Kvs, 1, "upstream's key layout")
	leases, err := c.Leases(ctx)
	require.NoError(t, err)
	require.Len(t, leases.Leases, 1, "keys of one TTL share a lease")
	ttl, err := c.TimeToLive(ctx, leases.Leases[0].ID)
	require.NoError(t, err)
	require.GreaterOrEqual(t, ttl.TTL, int64(3600), "never early")
	require.LessOrEqual(t, ttl.TTL, int64(3660))

	_, err = c.Revoke(ctx, leases.Leases[0].ID)
	require.NoError(t, err)
	_, err = s.Create(ctx, "/events/default/next", nil, store.WriteOptions{TTL: time.Hour})
	require.NoError(t, err, "a lease that is gone is replaced")
	require.Equal(t, []int{1, 1}, granted)
	const short = 20 * time.Second // whose leases live a second longer
	keys := 0
	require.Eventually(t, func() bool {
		keys++
		_, err = s.Create(ctx, fmt.Sprintf("/events/default/short%d", keys), nil, store.WriteOptions{TTL: short})
		return err != nil || len(granted) == 4
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, []int{1, keys}, granted[2:], "those of the lease before, and the one for which it was replaced")
}

func TestCompaction(t *testing.T) {
	e := storetest.StartEtcd(t)
	s := open(t, etcd.Options{Endpoints: []string{e.Endpoint}, CompactInterval: 200 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	other := open(t, etcd.Options{Endpoints: []string{e.Endpoint}, CompactInterval: 200 * time.Millisecond})
	go func() { done <- other.Run(ctx) }() // two servers share the work
	first, err := s.Create(ctx, "/a/x", nil, store.WriteOptions{})
	require.NoError(t, err)
	_, err = s.Update(ctx, "/a/x", []byte("2"), first, store.WriteOptions{})
	require.NoError(t, err)

	// Compaction is an event of etcd's own key: wait for the third move of the clock.
	c := raw(t, e)
	moves := 0
	for resp := range c.Watch(ctx, "compact_rev_key") {
		if moves += len(resp.Events); moves >= 3 {
			break
		}
	}
	var expired *store.ExpiredError
	for {
		_, err := s.List(ctx, "/a/", store.ListOptions{Revision: first})
		if err != nil {
			require.ErrorAs(t, err, &expired)
			break
		}
		require.NoError(t, ctx.Err())
	}
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
}

// TestClusterLosesMembers kills, pauses and restarts the members of a cluster, one at a time, under
// concurrent writers: the store fails over, no acknowledged write is lost, every history fits.
func TestClusterLosesMembers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	members := storetest.StartEtcdCluster(t, 3)
	var endpoints []string
	for _, m := range members {
		endpoints = append(endpoints, m.Endpoint)
	}
	s := open(t, etcd.Options{Endpoints: endpoints, Timeout: 2 * time.Second})
	w := storetest.Watch(t, ctx, s, "/a/", 0)
	writers := write(ctx, s, 4)
	writers.progress(ctx, t, 100)
	for i, m := range members {
		if i%2 == 0 {
			m.Kill()
			writers.progress(ctx, t, 30)
			m.Start()
		} else {
			m.Pause()
			writers.progress(ctx, t, 30)
			m.Resume()
		}
		writers.progress(ctx, t, 30)
	}
	writers.check(ctx, t, w)
}

// TestCrash kills and restarts etcd under writers: no acknowledged write may be lost, and a watch
// goes on without a gap.
func TestCrash(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	e := storetest.StartEtcd(t)
	s := open(t, etcd.Options{Endpoints: []string{e.Endpoint}, Timeout: 2 * time.Second})
	w := storetest.Watch(t, ctx, s, "/a/", 0)
	writers := write(ctx, s, 1)
	writers.progress(ctx, t, 30)
	e.Restart()
	writers.progress(ctx, t, 50)
	e.Pause()
	pause := time.NewTimer(300 * time.Millisecond)
	<-pause.C
	e.Resume()
	writers.progress(ctx, t, 50)
	writers.check(ctx, t, w)
}

// writing is a number of clients that create keys below /a/ until check, whatever fails.
type writing struct {
	s       store.Store
	acked   atomic.Int64
	stop    chan struct{}
	results []chan map[string]int64 // acknowledged keys with their revisions
}

func write(ctx context.Context, s store.Store, clients int) *writing {
	w := &writing{s: s, stop: make(chan struct{})}
	for n := range clients {
		result := make(chan map[string]int64, 1)
		w.results = append(w.results, result)
		go func() {
			got := map[string]int64{}
			defer func() { result <- got }()
			for i := 0; ; i++ {
				select {
				case <-w.stop:
					return
				default:
				}
				key := fmt.Sprintf("/a/%d/%06d", n, i)
				if rev, err := s.Create(ctx, key, []byte(key), store.WriteOptions{}); err == nil {
					got[key] = rev
					w.acked.Add(1)
				}
			}
		}()
	}
	return w
}

// progress waits for n more acknowledged writes.
func (w *writing) progress(ctx context.Context, t *testing.T, n int64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for want := w.acked.Load() + n; w.acked.Load() < want && ctx.Err() == nil; {
		<-tick.C
	}
	require.NoError(t, ctx.Err(), "writes do not go on")
}

// check ends the writers and requires every acknowledged write in the store and in a watch.
func (w *writing) check(ctx context.Context, t *testing.T, watch *storetest.Watcher) {
	close(w.stop)
	got, last := map[string]int64{}, int64(0)
	for _, result := range w.results {
		for key, rev := range <-result {
			got[key], last = rev, max(last, rev)
		}
	}
	events, err := watch.Reached(ctx, last)
	require.NoError(t, err)
	seen := map[string]int64{}
	for _, e := range events {
		seen[e.KV.Key] = e.KV.Revision
	}
	list, err := w.s.List(ctx, "/a/", store.ListOptions{})
	require.NoError(t, err)
	stored := map[string]int64{}
	for _, kv := range list.Items {
		stored[kv.Key] = kv.Revision
	}
	for key, rev := range got {
		require.Equal(t, rev, stored[key], "acknowledged write of %s is lost", key)
		require.Equal(t, rev, seen[key], "the watch has lost %s", key)
	}
}

func TestUnavailable(t *testing.T) {
	ctx := t.Context()
	e := storetest.StartEtcd(t)
	// A request fails after the timeout only while etcd is away, so the first write has the default one.
	_, err := open(t, etcd.Options{Endpoints: []string{e.Endpoint}}).Create(ctx, "/a/x", nil, store.WriteOptions{})
	require.NoError(t, err)
	s := open(t, etcd.Options{Endpoints: []string{e.Endpoint}, Timeout: 500 * time.Millisecond})
	e.Kill()
	var unavailable *store.UnavailableError
	_, _, err = s.Get(ctx, "/a/x")
	require.ErrorAs(t, err, &unavailable)
	require.False(t, unavailable.MaybeApplied)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's context has not ended")
	_, err = s.Create(ctx, "/a/y", nil, store.WriteOptions{})
	require.ErrorAs(t, err, &unavailable)
	require.True(t, unavailable.MaybeApplied)
	e.Start()
	for { // recovers without a new store
		if _, _, err = s.Get(ctx, "/a/x"); err == nil {
			break
		}
		require.ErrorAs(t, err, &unavailable)
	}
}

// TestSlowWatch has a reader fall far behind a small buffer: memory stays bounded, and it still receives
// everything in order.
func TestSlowWatch(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	e := storetest.StartEtcd(t)
	s := open(t, etcd.Options{Endpoints: []string{e.Endpoint}, WatchBuffer: 64 << 10})
	const n = 300
	hold, seen := make(chan struct{}), make(chan int64, n)
	go func() {
		_ = s.Watch(ctx, "/a/", 0, store.WatchOptions{}, func(b store.Batch) error {
			<-hold
			for _, ev := range b.Events {
				seen <- ev.KV.Revision
			}
			return nil
		})
	}()
	var want []int64
	for i := range n {
		rev, err := s.Create(ctx, fmt.Sprintf("/a/%d", i), make([]byte, 4<<10), store.WriteOptions{})
		require.NoError(t, err)
		want = append(want, rev)
	}
	close(hold)
	for _, rev := range want {
		select {
		case got := <-seen:
			require.Equal(t, rev, got)
		case <-ctx.Done():
			require.FailNow(t, "the watch stalls")
		}
	}
}
