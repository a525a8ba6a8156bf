package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
)

var none store.WriteOptions

func value(s string) []byte { return []byte(s) }

func create(t testing.TB, ctx context.Context, s store.Store, key, v string) int64 {
	t.Helper()
	rev, err := s.Create(ctx, key, value(v), none)
	require.NoError(t, err)
	return rev
}

func testLifeOfAKey(t *testing.T, ctx context.Context, s store.Store) {
	_, before, err := s.Get(ctx, "/a/x")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Positive(t, before, "the revision is returned with ErrNotFound")

	created := create(t, ctx, s, "/a/x", "1")
	require.Greater(t, created, before)
	kv, at, err := s.Get(ctx, "/a/x")
	require.NoError(t, err)
	require.Equal(t, store.KV{Key: "/a/x", Value: value("1"), Revision: created, CreateRevision: created}, kv)
	require.GreaterOrEqual(t, at, created)

	updated, err := s.Update(ctx, "/a/x", value("2"), created, none)
	require.NoError(t, err)
	require.Greater(t, updated, created)
	kv, _, err = s.Get(ctx, "/a/x")
	require.NoError(t, err)
	require.Equal(t, store.KV{Key: "/a/x", Value: value("2"), Revision: updated, CreateRevision: created}, kv)

	deleted, err := s.Delete(ctx, "/a/x", updated, none)
	require.NoError(t, err)
	require.Greater(t, deleted, updated)
	_, at, err = s.Get(ctx, "/a/x")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.GreaterOrEqual(t, at, deleted)

	again := create(t, ctx, s, "/a/x", "3")
	kv, _, err = s.Get(ctx, "/a/x")
	require.NoError(t, err)
	require.Equal(t, again, kv.CreateRevision, "a key created again has a new CreateRevision")
}

func testCreateExisting(t *testing.T, ctx context.Context, s store.Store) {
	rev := create(t, ctx, s, "/a/x", "1")
	_, err := s.Create(ctx, "/a/x", value("2"), none)
	var exists *store.ExistsError
	require.ErrorAs(t, err, &exists)
	require.Equal(t, "/a/x", exists.Key)
	require.Equal(t, rev, exists.Current.Revision)
	kv, _, err := s.Get(ctx, "/a/x")
	require.NoError(t, err)
	require.Equal(t, value("1"), kv.Value)
}

func testConflicts(t *testing.T, ctx context.Context, s store.Store) {
	first := create(t, ctx, s, "/a/x", "1")
	second, err := s.Update(ctx, "/a/x", value("2"), first, none)
	require.NoError(t, err)

	var conflict *store.ConflictError
	_, err = s.Update(ctx, "/a/x", value("3"), first, none)
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, first, conflict.Expected)
	require.NotNil(t, conflict.Current)
	require.Equal(t, second, conflict.Current.Revision)
	require.Equal(t, value("2"), conflict.Current.Value)
	require.NotErrorIs(t, err, store.ErrNotFound)

	_, err = s.Delete(ctx, "/a/x", first, none)
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, second, conflict.Current.Revision)

	for _, write := range []func() (int64, error){
		func() (int64, error) { return s.Update(ctx, "/a/none", value("1"), first, none) },
		func() (int64, error) { return s.Delete(ctx, "/a/none", first, none) },
	} {
		_, err = write()
		require.ErrorAs(t, err, &conflict)
		require.Nil(t, conflict.Current)
		require.ErrorIs(t, err, store.ErrNotFound, "the conflict of a key that does not exist is ErrNotFound too")
	}
}

func testAnyRevisionAndAbsent(t *testing.T, ctx context.Context, s store.Store) {
	_, err := s.Update(ctx, "/a/x", value("1"), store.AnyRevision, none)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = s.Delete(ctx, "/a/x", store.AnyRevision, none)
	require.ErrorIs(t, err, store.ErrNotFound)

	rev, err := s.Update(ctx, "/a/x", value("1"), store.Absent, none)
	require.NoError(t, err, "Absent creates")
	kv, _, err := s.Get(ctx, "/a/x")
	require.NoError(t, err)
	require.Equal(t, rev, kv.CreateRevision)
	var conflict *store.ConflictError
	_, err = s.Update(ctx, "/a/x", value("2"), store.Absent, none)
	require.ErrorAs(t, err, &conflict)

	_, err = s.Update(ctx, "/a/x", value("2"), store.AnyRevision, none)
	require.NoError(t, err)
	_, err = s.Delete(ctx, "/a/x", store.AnyRevision, none)
	require.NoError(t, err)
}

func testInvalid(t *testing.T, ctx context.Context, s store.Store) {
	_, before, _ := s.Get(ctx, "/a/x")
	for name, call := range map[string]func() (int64, error){
		"empty key":         func() (int64, error) { return s.Create(ctx, "", nil, none) },
		"no slash":          func() (int64, error) { return s.Create(ctx, "a", nil, none) },
		"delete absent":     func() (int64, error) { return s.Delete(ctx, "/a/x", store.Absent, none) },
		"revision":          func() (int64, error) { return s.Update(ctx, "/a/x", nil, -2, none) },
		"negative TTL":      func() (int64, error) { return s.Create(ctx, "/a/x", nil, store.WriteOptions{TTL: -1}) },
		"zero op":           func() (int64, error) { return s.Txn(ctx, []store.Op{{Key: "/a/x"}}, nil) },
		"guard without key": func() (int64, error) { return s.Txn(ctx, nil, []store.Guard{{}}) },
		"same key twice": func() (int64, error) {
			return s.Txn(ctx, []store.Op{store.CreateOp("/a/x", nil), store.DeleteOp("/a/x", store.AnyRevision)}, nil)
		},
	} {
		_, err := call()
		require.ErrorIs(t, err, store.ErrInvalid, name)
	}
	_, after, _ := s.Get(ctx, "/a/x")
	require.Equal(t, before, after, "nothing was written")
}

func testTooLarge(t *testing.T, ctx context.Context, s store.Store) {
	_, err := s.Create(ctx, "/a/big", make([]byte, 8<<20), none)
	var large *store.TooLargeError
	require.ErrorAs(t, err, &large)
	_, _, err = s.Get(ctx, "/a/big")
	require.ErrorIs(t, err, store.ErrNotFound)
	create(t, ctx, s, "/a/fits", strings.Repeat("x", 1<<20))
}

func testGuards(t *testing.T, ctx context.Context, s store.Store) {
	lock := create(t, ctx, s, "/lock", "1")
	with := func(gs ...store.Guard) store.WriteOptions { return store.WriteOptions{Guards: gs} }
	for _, g := range []store.Guard{{Key: "/lock", Revision: lock}, {Key: "/lock", Revision: store.AnyRevision}, {Key: "/none", Revision: store.Absent}} {
		rev, err := s.Create(ctx, "/a/x", nil, with(g))
		require.NoError(t, err, "%+v holds", g)
		rev, err = s.Update(ctx, "/a/x", nil, rev, with(g))
		require.NoError(t, err)
		_, err = s.Delete(ctx, "/a/x", rev, with(g))
		require.NoError(t, err)
	}
	rev := create(t, ctx, s, "/a/y", "1")
	for _, g := range []store.Guard{{Key: "/lock", Revision: lock + 1000}, {Key: "/lock", Revision: store.Absent}, {Key: "/none", Revision: store.AnyRevision}, {Key: "/none", Revision: lock}} {
		for name, write := range map[string]func() (int64, error){
			"create": func() (int64, error) { return s.Create(ctx, "/a/x", nil, with(g)) },
			"update": func() (int64, error) { return s.Update(ctx, "/a/y", nil, rev, with(g)) },
			"delete": func() (int64, error) { return s.Delete(ctx, "/a/y", rev, with(g)) },
			"txn":    func() (int64, error) { return s.Txn(ctx, nil, []store.Guard{g}) },
		} {
			_, err := write()
			var failed *store.GuardError
			require.ErrorAs(t, err, &failed, "%s with %+v", name, g)
			require.Equal(t, g, failed.Guard)
			require.Equal(t, g.Key == "/lock", failed.Current != nil)
		}
	}
	_, err := s.Update(ctx, "/a/none", nil, 1, with(store.Guard{Key: "/lock", Revision: store.Absent}))
	var failed *store.GuardError
	require.ErrorAs(t, err, &failed, "guards are checked before the operation")
	_, err = s.Create(ctx, "/a/y", nil, with(store.Guard{Key: "/lock", Revision: lock}, store.Guard{Key: "/none", Revision: lock}))
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "/none", failed.Guard.Key, "the first that fails is named")
}

func testTxn(t *testing.T, ctx context.Context, s store.Store) {
	x := create(t, ctx, s, "/a/x", "1")
	y := create(t, ctx, s, "/a/y", "1")
	rev, err := s.Txn(ctx, []store.Op{
		store.UpdateOp("/a/x", value("2"), x),
		store.DeleteOp("/a/y", y),
		store.CreateOp("/a/z", value("1")),
	}, []store.Guard{{Key: "/a/none", Revision: store.Absent}})
	require.NoError(t, err)
	list, err := s.List(ctx, "/a/", store.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []store.KV{
		{Key: "/a/x", Value: value("2"), Revision: rev, CreateRevision: x},
		{Key: "/a/z", Value: value("1"), Revision: rev, CreateRevision: rev},
	}, list.Items)

	_, err = s.Txn(ctx, []store.Op{store.CreateOp("/a/w", nil), store.UpdateOp("/a/x", nil, x)}, nil)
	var conflict *store.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, "/a/x", conflict.Key)
	_, err = s.Txn(ctx, []store.Op{store.CreateOp("/a/w", nil), store.CreateOp("/a/z", nil)}, nil)
	var exists *store.ExistsError
	require.ErrorAs(t, err, &exists)
	require.Equal(t, "/a/z", exists.Key)
	_, at, err := s.Get(ctx, "/a/w")
	require.ErrorIs(t, err, store.ErrNotFound, "all or nothing")

	empty, err := s.Txn(ctx, nil, []store.Guard{{Key: "/a/x", Revision: rev}})
	require.NoError(t, err)
	require.Equal(t, at, empty, "guards alone commit nothing")
}

func testTxnLimit(t *testing.T, ctx context.Context, s store.Store) {
	ops := make([]store.Op, store.MaxTxnOps)
	for i := range ops {
		ops[i] = store.CreateOp(fmt.Sprintf("/a/%d", i), nil)
	}
	_, err := s.Txn(ctx, ops, []store.Guard{{Key: "/a/none", Revision: store.Absent}})
	require.ErrorIs(t, err, store.ErrInvalid)
	_, err = s.Txn(ctx, ops, nil)
	require.NoError(t, err)
}

func keys(kvs []store.KV) []string {
	out := []string{}
	for _, kv := range kvs {
		out = append(out, kv.Key)
	}
	return out
}

func testListPages(t *testing.T, ctx context.Context, s store.Store) {
	want := []string{}
	for i := range 23 {
		key := fmt.Sprintf("/a/%02d", i)
		create(t, ctx, s, key, "1")
		want = append(want, key)
	}
	first, err := s.List(ctx, "/a/", store.ListOptions{Limit: 5})
	require.NoError(t, err)
	require.True(t, first.More)
	require.EqualValues(t, 18, first.Remaining)
	create(t, ctx, s, "/a/10x", "later")
	_, err = s.Delete(ctx, "/a/20", store.AnyRevision, none)
	require.NoError(t, err)

	got := keys(first.Items)
	for page := first; page.More; {
		page, err = s.List(ctx, "/a/", store.ListOptions{Limit: 5, After: got[len(got)-1], Revision: first.Revision})
		require.NoError(t, err)
		require.Equal(t, first.Revision, page.Revision)
		got = append(got, keys(page.Items)...)
		require.EqualValues(t, len(want)-len(got), page.Remaining)
	}
	require.Equal(t, want, got, "the pages are the state at the first page's revision")
}

func testListBounds(t *testing.T, ctx context.Context, s store.Store) {
	for _, k := range []string{"/a", "/a/b", "/a/b/c", "/a0", "/ab", "/b"} {
		create(t, ctx, s, k, "1")
	}
	for _, c := range []struct {
		prefix, after string
		want          []string
	}{
		{"", "", []string{"/a", "/a/b", "/a/b/c", "/a0", "/ab", "/b"}},
		{"/", "", []string{"/a", "/a/b", "/a/b/c", "/a0", "/ab", "/b"}},
		{"/a", "", []string{"/a", "/a/b", "/a/b/c", "/a0", "/ab"}},
		{"/a/", "", []string{"/a/b", "/a/b/c"}},
		{"/a/", "/a/b", []string{"/a/b/c"}},
		{"/a/", "/a", []string{"/a/b", "/a/b/c"}},
		{"/a/", "/a/b/c", []string{}},
		{"/a/", "/zzz", []string{}},
		{"/b", "/a/b", []string{"/b"}},
		{"/c", "", []string{}},
	} {
		got, err := s.List(ctx, c.prefix, store.ListOptions{After: c.after})
		require.NoError(t, err)
		require.Equal(t, c.want, keys(got.Items), "%+v", c)
		require.False(t, got.More)
		require.Zero(t, got.Remaining)
		require.Positive(t, got.Revision)
	}
	exact, err := s.List(ctx, "/a/", store.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.False(t, exact.More, "a limit that just fits leaves nothing")
}

func testListAtRevision(t *testing.T, ctx context.Context, s store.Store) {
	r1 := create(t, ctx, s, "/a/x", "1")
	r2, err := s.Update(ctx, "/a/x", value("2"), r1, none)
	require.NoError(t, err)
	create(t, ctx, s, "/a/y", "1")
	r4, err := s.Delete(ctx, "/a/x", r2, none)
	require.NoError(t, err)
	for rev, want := range map[int64][]string{r1: {"/a/x=1"}, r2: {"/a/x=2"}, r4 - 1: {"/a/x=2", "/a/y=1"}, r4: {"/a/y=1"}} {
		got, err := s.List(ctx, "/a/", store.ListOptions{Revision: rev})
		require.NoError(t, err)
		require.Equal(t, rev, got.Revision)
		var items []string
		for _, kv := range got.Items {
			items = append(items, kv.Key+"="+string(kv.Value))
		}
		require.Equal(t, want, items, "at %d", rev)
		bare, err := s.List(ctx, "/a/", store.ListOptions{Revision: rev, KeysOnly: true})
		require.NoError(t, err)
		require.Equal(t, rev, bare.Revision)
		require.Len(t, bare.Items, len(got.Items))
		for i, kv := range bare.Items {
			kv.Value = got.Items[i].Value // there or not
			require.Equal(t, got.Items[i], kv)
		}
	}
	_, err = s.List(ctx, "/a/", store.ListOptions{Revision: r4 + 1000})
	var future *store.FutureRevisionError
	require.ErrorAs(t, err, &future)
	require.Equal(t, r4+1000, future.Requested)
}

// The keys written since a revision and the number of keys are enough to bring a range up to date.
func testListSince(t *testing.T, ctx context.Context, s store.Store) {
	var revs []int64
	for i := range 6 {
		revs = append(revs, create(t, ctx, s, fmt.Sprintf("/a/%d", i), "1"))
	}
	create(t, ctx, s, "/b/0", "1")
	_, err := s.Update(ctx, "/a/1", value("2"), revs[1], none)
	require.NoError(t, err)
	_, err = s.Delete(ctx, "/a/0", store.AnyRevision, none)
	require.NoError(t, err)
	last := create(t, ctx, s, "/c", "1")
	for _, c := range []struct {
		o     store.ListOptions
		want  []string
		total int64
		more  bool
	}{
		{store.ListOptions{Since: revs[3]}, []string{"/a/1", "/a/4", "/a/5"}, 5, false},
		{store.ListOptions{Since: revs[4]}, []string{"/a/1", "/a/5"}, 5, false},
		{store.ListOptions{Since: revs[5]}, []string{"/a/1"}, 5, false},
		{store.ListOptions{Since: last}, []string{}, 5, false},
		{store.ListOptions{Since: last + 100}, []string{}, 5, false},
		{store.ListOptions{Since: 1, Limit: 2}, []string{"/a/1", "/a/2"}, 5, true},
		{store.ListOptions{Since: revs[4], Limit: 2}, []string{"/a/1", "/a/5"}, 5, false},
		{store.ListOptions{Since: revs[3], After: "/a/2"}, []string{"/a/4", "/a/5"}, 3, false},
		{store.ListOptions{Since: revs[3], After: "/z"}, []string{}, 0, false},
		{store.ListOptions{Since: revs[3], Revision: revs[4]}, []string{"/a/4"}, 5, false},
	} {
		got, err := s.List(ctx, "/a/", c.o)
		require.NoError(t, err)
		require.Equal(t, c.want, keys(got.Items), "%+v", c.o)
		require.Equal(t, c.total, got.Total, "%+v", c.o)
		require.Equal(t, c.more, got.More, "%+v", c.o)
		require.Zero(t, got.Remaining)
		if c.o.Revision == 0 {
			require.Equal(t, last, got.Revision)
		}
	}
}

func testWatchFromRevision(t *testing.T, ctx context.Context, s store.Store) {
	r1 := create(t, ctx, s, "/a/x", "1")
	r2, err := s.Update(ctx, "/a/x", value("2"), r1, none)
	require.NoError(t, err)
	all, later := Watch(t, ctx, s, "/a/", 0), Watch(t, ctx, s, "/a/", r1)
	r3, err := s.Delete(ctx, "/a/x", r2, none)
	require.NoError(t, err)

	events, err := all.Until(ctx, 3)
	require.NoError(t, err)
	require.Equal(t, []store.Event{
		{Type: store.Put, KV: store.KV{Key: "/a/x", Value: value("1"), Revision: r1, CreateRevision: r1}},
		{Type: store.Put, KV: store.KV{Key: "/a/x", Value: value("2"), Revision: r2, CreateRevision: r1}, Prev: &store.KV{Key: "/a/x", Value: value("1"), Revision: r1, CreateRevision: r1}},
		{Type: store.Delete, KV: store.KV{Key: "/a/x", Revision: r3}, Prev: &store.KV{Key: "/a/x", Value: value("2"), Revision: r2, CreateRevision: r1}},
	}, events)
	rest, err := later.Until(ctx, 2)
	require.NoError(t, err)
	require.Equal(t, events[1:], rest)
}

func testWatchPrefix(t *testing.T, ctx context.Context, s store.Store) {
	w, every := Watch(t, ctx, s, "/a/", 0), Watch(t, ctx, s, "", 0)
	for _, k := range []string{"/a", "/a/x", "/ab", "/b/x", "/a/y"} {
		create(t, ctx, s, k, "1")
	}
	events, err := every.Until(ctx, 5)
	require.NoError(t, err)
	require.Len(t, events, 5)
	events, err = w.Until(ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"/a/x", "/a/y"}, []string{events[0].KV.Key, events[1].KV.Key})
}

func testWatchTxn(t *testing.T, ctx context.Context, s store.Store) {
	batches := make(chan store.Batch, 10)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(ctx, "/a/", 0, store.WatchOptions{}, func(b store.Batch) error {
			if len(b.Events) > 0 {
				batches <- b
			}
			return nil
		})
	}()
	rev, err := s.Txn(ctx, []store.Op{
		store.CreateOp("/a/z", nil), store.CreateOp("/b/x", nil), store.CreateOp("/a/a", nil), store.CreateOp("/a/m", nil),
	}, nil)
	require.NoError(t, err)
	var b store.Batch
	select {
	case b = <-batches:
	case err := <-done:
		require.FailNow(t, "the watch ended", "%v", err)
	}
	require.Equal(t, rev, b.Revision)
	var got []string
	for _, e := range b.Events {
		require.Equal(t, rev, e.KV.Revision)
		got = append(got, e.KV.Key)
	}
	require.Equal(t, []string{"/a/z", "/a/a", "/a/m"}, got, "one batch, in the order of the operations")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func testWatchLongHistory(t *testing.T, ctx context.Context, s store.Store) {
	const n = 600
	rev, err := s.Progress(ctx, "")
	require.NoError(t, err)
	first, live := rev, Watch(t, ctx, s, "/a/", rev)
	for i := range n {
		rev = create(t, ctx, s, fmt.Sprintf("/a/%d", i), "1")
	}
	for _, w := range []*Watcher{live, Watch(t, ctx, s, "/a/", first)} {
		events, err := w.Until(ctx, n)
		require.NoError(t, err)
		require.Len(t, events, n)
		require.Equal(t, rev, events[n-1].KV.Revision)
		require.NoError(t, w.Stop())
	}
}

func testWatchFuture(t *testing.T, ctx context.Context, s store.Store) {
	rev := create(t, ctx, s, "/a/1", "1")
	w := Watch(t, ctx, s, "/a/", rev+2)
	for i := range 4 {
		create(t, ctx, s, fmt.Sprintf("/a/later%d", i), "1")
	}
	events, err := w.Until(ctx, 2)
	require.NoError(t, err)
	require.Equal(t, "/a/later2", events[0].KV.Key)
}

func testWatchEnds(t *testing.T, ctx context.Context, s store.Store) {
	create(t, ctx, s, "/a/x", "1")
	stop := errors.New("stop")
	calls := 0
	err := s.Watch(ctx, "/a/", 0, store.WatchOptions{}, func(store.Batch) error { calls++; return stop })
	require.Equal(t, stop, err, "the error of deliver comes back unchanged")
	require.Equal(t, 1, calls)

	inner, cancel := context.WithCancel(ctx)
	err = s.Watch(inner, "/a/", 0, store.WatchOptions{}, func(store.Batch) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
}

func testWatchMayWrite(t *testing.T, ctx context.Context, s store.Store) {
	create(t, ctx, s, "/a/0", "1")
	stop := errors.New("stop")
	n := 0
	err := s.Watch(ctx, "/a/", 0, store.WatchOptions{}, func(b store.Batch) error {
		for range b.Events {
			if n++; n == 5 {
				return stop
			}
			if _, err := s.Create(ctx, fmt.Sprintf("/a/%d", n), nil, none); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(t, stop, err)
}

func testSlowWatch(t *testing.T, ctx context.Context, s store.Store) {
	hold, entered := make(chan struct{}), make(chan struct{})
	var once sync.Once
	done := make(chan error)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		done <- s.Watch(inner, "/a/", 0, store.WatchOptions{}, func(store.Batch) error {
			once.Do(func() { close(entered) })
			<-hold
			return nil
		})
	}()
	quick := Watch(t, ctx, s, "/a/", 0)
	create(t, ctx, s, "/a/first", "1")
	<-entered
	for i := range 50 {
		create(t, ctx, s, fmt.Sprintf("/a/%d", i), "1")
	}
	_, err := quick.Until(ctx, 51)
	require.NoError(t, err)
	cancel()
	close(hold)
	require.ErrorIs(t, <-done, context.Canceled)
}

func testProgress(t *testing.T, ctx context.Context, s store.Store) {
	rev := create(t, ctx, s, "/b/x", "1")
	got, err := s.Progress(ctx, "/a/")
	require.NoError(t, err)
	require.GreaterOrEqual(t, got, rev)
	if !s.Capabilities().Progress {
		t.Skip("this store does not report progress")
	}
	w := Watch(t, ctx, s, "/a/", 0)
	other := create(t, ctx, s, "/b/y", "1")
	for reached := false; !reached; { // a request made before the watch is open is lost
		_, err := s.Progress(ctx, "/a/")
		require.NoError(t, err)
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		_, err = w.Reached(short, other)
		reached = err == nil
		cancel()
		require.NoError(t, ctx.Err(), "no progress reported")
	}
}

func testCompact(t *testing.T, ctx context.Context, s store.Store) {
	var revs []int64
	rev := create(t, ctx, s, "/a/x", "0")
	for i := range 10 {
		next, err := s.Update(ctx, "/a/x", value(fmt.Sprint(i)), rev, none)
		require.NoError(t, err)
		revs, rev = append(revs, next), next
	}
	require.NoError(t, s.Compact(ctx, revs[5]))

	var expired *store.ExpiredError
	_, err := s.List(ctx, "/a/", store.ListOptions{Revision: revs[2]})
	require.ErrorAs(t, err, &expired)
	require.Equal(t, revs[5], expired.Compacted)
	require.ErrorAs(t, Watch(t, ctx, s, "/a/", revs[2]).Ended(ctx), &expired)
	require.ErrorAs(t, Watch(t, ctx, s, "/a/", 0).Ended(ctx), &expired)
	list, err := s.List(ctx, "/a/", store.ListOptions{Revision: revs[5]})
	require.NoError(t, err, "the compacted revision itself stays")
	require.Equal(t, value("5"), list.Items[0].Value)
	events, err := Watch(t, ctx, s, "/a/", revs[5]).Until(ctx, 4)
	require.NoError(t, err)
	require.Equal(t, revs[6], events[0].KV.Revision)
	kv, _, err := s.Get(ctx, "/a/x")
	require.NoError(t, err)
	require.Equal(t, value("9"), kv.Value)

	require.ErrorAs(t, s.Compact(ctx, revs[3]), &expired)
	var future *store.FutureRevisionError
	require.ErrorAs(t, s.Compact(ctx, rev+1000), &future)
	require.NoError(t, s.Compact(ctx, rev))
	list, err = s.List(ctx, "/a/", store.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
}

// testTTL: of two keys with the same time to live the older one is updated without, so that it is still there
// when the younger one has ended. The time is far above what two writes take on a busy machine.
func testTTL(t *testing.T, ctx context.Context, s store.Store) {
	ttl := 3 * time.Second
	w := Watch(t, ctx, s, "/a/", 0)
	_, err := s.Create(ctx, "/a/kept", value("1"), store.WriteOptions{TTL: ttl})
	require.NoError(t, err)
	_, err = s.Update(ctx, "/a/kept", value("2"), store.AnyRevision, none)
	require.NoError(t, err, "an update without a TTL removes the old one")
	_, err = s.Create(ctx, "/a/long", value("1"), store.WriteOptions{TTL: time.Hour})
	require.NoError(t, err)
	start := time.Now()
	short, err := s.Create(ctx, "/a/short", value("1"), store.WriteOptions{TTL: ttl})
	require.NoError(t, err)

	events, err := w.Until(ctx, 5)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), ttl, "never early")
	last := events[4]
	require.Equal(t, store.Delete, last.Type)
	require.Equal(t, "/a/short", last.KV.Key)
	require.Greater(t, last.KV.Revision, short)
	require.NotNil(t, last.Prev)
	require.Equal(t, value("1"), last.Prev.Value)
	list, err := s.List(ctx, "/a/", store.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"/a/kept", "/a/long"}, keys(list.Items))
}

func testParallelUpdates(t *testing.T, ctx context.Context, s store.Store) {
	rev := create(t, ctx, s, "/a/x", "0")
	for range 3 {
		won := make(chan int64, 50)
		var tasks sync.WaitGroup
		for range 50 {
			tasks.Go(func() {
				next, err := s.Update(ctx, "/a/x", value("1"), rev, none)
				var conflict *store.ConflictError
				switch {
				case err == nil:
					won <- next
				case !errors.As(err, &conflict):
					t.Errorf("update: %v", err)
				}
			})
		}
		tasks.Wait()
		require.Len(t, won, 1, "exactly one update of a revision succeeds")
		rev = <-won
	}
}

func testContextEnds(t *testing.T, ctx context.Context, s store.Store) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err := s.Get(ended, "/a")
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.List(ended, "/a", store.ListOptions{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Create(ended, "/a", nil, none)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Progress(ended, "")
	require.ErrorIs(t, err, context.Canceled)
	err = s.Watch(ended, "/a", 0, store.WatchOptions{}, func(store.Batch) error { return nil })
	require.ErrorIs(t, err, context.Canceled)
}

func testClose(t *testing.T, ctx context.Context, s store.Store) {
	create(t, ctx, s, "/a/x", "1")
	w := Watch(t, ctx, s, "/a/", 0)
	_, err := w.Until(ctx, 1)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "closing twice is fine")
	require.ErrorIs(t, w.Ended(ctx), store.ErrClosed)
	_, _, err = s.Get(ctx, "/a/x")
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = s.Create(ctx, "/a/y", nil, none)
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = s.List(ctx, "/a/", store.ListOptions{})
	require.ErrorIs(t, err, store.ErrClosed)
	require.ErrorIs(t, s.Watch(ctx, "/a/", 0, store.WatchOptions{}, func(store.Batch) error { return nil }), store.ErrClosed)
}

func testSize(t *testing.T, ctx context.Context, s store.Store) {
	sized, ok := s.(store.Sized)
	if !ok {
		t.Skip("the store does not report its size")
	}
	create(t, ctx, s, "/a/x", strings.Repeat("v", 1000))
	n, err := sized.Size(ctx)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, int64(1000))
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = sized.Size(stopped)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, s.Close())
	_, err = sized.Size(ctx)
	require.ErrorIs(t, err, store.ErrClosed)
}
