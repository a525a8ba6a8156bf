package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
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

var none store.WriteOptions

// attributes reads values like "uid;app=web,tier=1;node=n1"; "broken" is an error.
func attributes(kv store.KV) (cache.Attrs, error) {
	text := string(kv.Value)
	if text == "broken" {
		return cache.Attrs{}, errors.New("not an object")
	}
	parts := strings.SplitN(text+";;", ";", 3)
	return cache.Attrs{UID: parts[0], Labels: pairs(parts[1]), Fields: pairs(strings.TrimRight(parts[2], ";"))}, nil
}

func pairs(text string) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			out[k] = v
		}
	}
	return out
}

type fixture struct {
	t *testing.T
	s store.Store
	c *cache.Cache
}

// start runs a cache over a memory store until the test ends.
func start(t *testing.T, s store.Store, opts cache.Options) *fixture {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if opts.Attributes == nil {
		opts.Attributes = attributes
	}
	f := &fixture{t: t, s: s, c: cache.New(s, "/pods/", opts)}
	done := make(chan error, 1)
	go func() { done <- f.c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, s.Close())
	})
	<-f.c.Ready()
	return f
}

func (f *fixture) create(key, value string) int64 {
	f.t.Helper()
	rev, err := f.s.Create(f.t.Context(), key, []byte(value), none)
	require.NoError(f.t, err)
	return rev
}

func (f *fixture) update(key, value string) int64 {
	f.t.Helper()
	rev, err := f.s.Update(f.t.Context(), key, []byte(value), store.AnyRevision, none)
	require.NoError(f.t, err)
	return rev
}

func (f *fixture) delete(key string) int64 {
	f.t.Helper()
	rev, err := f.s.Delete(f.t.Context(), key, store.AnyRevision, none)
	require.NoError(f.t, err)
	return rev
}

// recorder collects the events of a watch as text.
type recorder struct {
	mu    sync.Mutex
	lines []string
	err   error
	done  chan struct{}
	stop  context.CancelFunc
}

func (f *fixture) watch(opts cache.WatchOptions) *recorder {
	ctx, cancel := context.WithCancel(f.t.Context())
	r := &recorder{done: make(chan struct{}), stop: cancel}
	go func() {
		defer close(r.done)
		err := f.c.Watch(ctx, opts, func(events []cache.Event) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, e := range events {
				r.lines = append(r.lines, describe(e))
			}
			return nil
		})
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
	}()
	return r
}

func describe(e cache.Event) string {
	if e.Type == cache.Bookmark {
		if e.InitialEnd {
			return fmt.Sprintf("BOOKMARK %d initial", e.Revision)
		}
		return fmt.Sprintf("BOOKMARK %d", e.Revision)
	}
	line := fmt.Sprintf("%s %s %d %s", e.Type, e.Object.Key, e.Object.Revision, e.Object.Value)
	if e.Object.Revision != e.Revision {
		line += " WRONG REVISION"
	}
	if e.Prev != nil {
		line += fmt.Sprintf(" was %d", e.Prev.Revision)
	}
	return line
}

// take returns and removes the lines so far, once the bubble is idle.
func (r *recorder) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

func keys(s *cache.Snapshot, prefix, after string) []string {
	var out []string
	for o := range s.Range(prefix, after) {
		out = append(out, o.Key)
	}
	return out
}

func TestSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		f := start(t, s, cache.Options{})
		r1 := f.create("/pods/a/x", "u1;app=web")
		r2 := f.create("/pods/b/y", "u2")
		r3 := f.update("/pods/a/x", "u1;app=db")
		snap, err := f.c.Consistent(f.t.Context())
		require.NoError(t, err)
		require.Equal(t, r3, snap.Revision())
		require.Equal(t, 2, snap.Len())
		o, ok := snap.Get("/pods/a/x")
		require.True(t, ok)
		require.Equal(t, "a", o.Namespace)
		require.Equal(t, "x", o.Name)
		require.Equal(t, "u1", o.Attrs.UID)
		require.Equal(t, "db", o.Attrs.Labels["app"])
		require.Equal(t, r1, o.CreateRevision)
		require.Equal(t, []string{"/pods/b/y"}, keys(snap, "/pods/b/", ""))
		require.Equal(t, []string{"/pods/b/y"}, keys(snap, "/pods/", "/pods/a/x"))
		require.Equal(t, 1, snap.Count("/pods/a/", ""))

		r4 := f.delete("/pods/a/x")
		elsewhere := f.create("/other/z", "")
		now, err := f.c.Consistent(f.t.Context())
		require.NoError(t, err)
		require.Equal(t, elsewhere, now.Revision(), "reaches revisions of other prefixes")
		require.Equal(t, 2, snap.Len(), "older snapshots stay")

		for rev, want := range map[int64][]string{r1: {"/pods/a/x"}, r2: {"/pods/a/x", "/pods/b/y"}, r3: {"/pods/a/x", "/pods/b/y"}, r4: {"/pods/b/y"}, elsewhere: {"/pods/b/y"}} {
			old, err := f.c.SnapshotAt(rev)
			require.NoError(t, err)
			require.Equal(t, rev, old.Revision())
			require.Equal(t, want, keys(old, "", ""), "at %d", rev)
		}
		old, err := f.c.SnapshotAt(r2)
		require.NoError(t, err)
		o, _ = old.Get("/pods/a/x")
		require.Equal(t, "web", o.Attrs.Labels["app"])
		_, err = f.c.SnapshotAt(elsewhere + 1)
		var future *store.FutureRevisionError
		require.ErrorAs(t, err, &future)
	})
}

func TestWatchSeesSelectorsTransformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{})
		web := func(o *cache.Object) bool { return o.Attrs.Labels["app"] == "web" }
		all, some := f.watch(cache.WatchOptions{}), f.watch(cache.WatchOptions{Match: web})
		synctest.Wait()
		f.create("/pods/a/x", ";app=db")
		f.update("/pods/a/x", ";app=web")
		f.update("/pods/a/x", "2;app=web")
		f.update("/pods/a/x", "3;app=db")
		f.update("/pods/a/x", "4;app=web")
		f.delete("/pods/a/x")
		require.Equal(t, []string{
			"ADDED /pods/a/x 2 ;app=db",
			"MODIFIED /pods/a/x 3 ;app=web was 2",
			"MODIFIED /pods/a/x 4 2;app=web was 3",
			"MODIFIED /pods/a/x 5 3;app=db was 4",
			"MODIFIED /pods/a/x 6 4;app=web was 5",
			"DELETED /pods/a/x 7 4;app=web was 6",
		}, all.take())
		require.Equal(t, []string{
			"ADDED /pods/a/x 3 ;app=web",
			"MODIFIED /pods/a/x 4 2;app=web was 3",
			"DELETED /pods/a/x 5 2;app=web was 4",
			"ADDED /pods/a/x 6 4;app=web",
			"DELETED /pods/a/x 7 4;app=web was 6",
		}, some.take())
	})
}

func TestWatchPrefixes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{})
		watches := map[string]*recorder{}
		for _, p := range []string{"", "/pods/", "/pods/a/", "/pods/a/x", "/pods/a/deep/", "/other/"} {
			watches[p] = f.watch(cache.WatchOptions{Prefix: p})
		}
		synctest.Wait()
		for _, k := range []string{"/pods/a/x", "/pods/a/xy", "/pods/b/x", "/pods/a/deep/z", "/pods/cluster"} {
			f.create(k, "")
		}
		for p, want := range map[string]int{"": 5, "/pods/": 5, "/pods/a/": 3, "/pods/a/x": 1, "/pods/a/deep/": 1, "/other/": 0} {
			require.Len(t, watches[p].take(), want, "prefix %q", p)
		}
	})
}

func TestWatchByFieldWakesOnlyThoseConcerned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{})
		n1 := f.watch(cache.WatchOptions{Field: "node", Value: "n1"})
		n2 := f.watch(cache.WatchOptions{Field: "node", Value: "n2"})
		unbound := f.watch(cache.WatchOptions{Field: "node", Value: ""})
		synctest.Wait()
		f.create("/pods/a/x", "")
		f.update("/pods/a/x", ";;node=n1")
		f.update("/pods/a/x", "1;;node=n1")
		f.update("/pods/a/x", ";;node=n2")
		f.delete("/pods/a/x")
		require.Equal(t, []string{"ADDED /pods/a/x 3 ;;node=n1", "MODIFIED /pods/a/x 4 1;;node=n1 was 3", "DELETED /pods/a/x 5 1;;node=n1 was 4"}, n1.take())
		require.Equal(t, []string{"ADDED /pods/a/x 5 ;;node=n2", "DELETED /pods/a/x 6 ;;node=n2 was 5"}, n2.take())
		require.Equal(t, []string{"ADDED /pods/a/x 2 ", "DELETED /pods/a/x 3  was 2"}, unbound.take())
	})
}

func TestWatchInitialEventsAndBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{})
		f.create("/pods/b/y", "")
		rev := f.create("/pods/a/x", "")
		w := f.watch(cache.WatchOptions{InitialEvents: true, From: rev, Bookmarks: time.Minute})
		require.Equal(t, []string{"ADDED /pods/a/x 3 ", "ADDED /pods/b/y 2 ", "BOOKMARK 3 initial"}, w.take())
		f.create("/pods/a/z", "")
		require.Equal(t, []string{"ADDED /pods/a/z 4 "}, w.take())
		f.create("/other/z", "")
		time.Sleep(5 * time.Minute)
		lines := w.take()
		require.GreaterOrEqual(t, len(lines), 4)
		require.Equal(t, "BOOKMARK 5", lines[len(lines)-1], "bookmarks advance on a quiet resource too")
	})
}

func TestWatchFromOldRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{EventLog: 10})
		var revs []int64
		f.create("/pods/a/x", "")
		for i := range 20 {
			revs = append(revs, f.update("/pods/a/x", fmt.Sprint(i)))
		}
		synctest.Wait()
		w := f.watch(cache.WatchOptions{From: revs[15]})
		require.Len(t, w.take(), 4)
		old := f.watch(cache.WatchOptions{From: revs[5]})
		require.Len(t, old.take(), 14, "what has left the log comes from the store")
		_, err := f.c.SnapshotAt(revs[5])
		var expired *store.ExpiredError
		require.ErrorAs(t, err, &expired)
		require.Equal(t, revs[9], expired.Compacted)
		at, err := f.c.At(f.t.Context(), revs[5])
		require.NoError(t, err)
		o, ok := at.Get("/pods/a/x")
		require.True(t, ok)
		require.Equal(t, "5", string(o.Value))
		require.NoError(t, f.s.Compact(f.t.Context(), revs[9]))
		gone := f.watch(cache.WatchOptions{From: revs[5]})
		<-gone.done
		require.ErrorAs(t, gone.err, &expired)
		_, err = f.c.At(f.t.Context(), revs[6])
		require.ErrorAs(t, err, &expired)
		again, err := f.c.At(f.t.Context(), revs[5])
		require.NoError(t, err)
		require.Same(t, at, again, "the pages of a list that has begun are still available")
		edge := f.watch(cache.WatchOptions{From: revs[9]})
		require.Len(t, edge.take(), 10, "the oldest revision still works")
		future := f.watch(cache.WatchOptions{From: revs[19] + 1})
		f.update("/pods/a/x", "early")
		require.Empty(t, future.take())
		f.update("/pods/a/x", "late")
		require.Len(t, future.take(), 1)
		require.Len(t, old.take(), 2, "and goes on")
	})
}

func TestSlowWatchIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Int64
		f := start(t, memory.New(memory.Options{}), cache.Options{WatcherBuffer: 50, Metrics: cache.Metrics{Slow: func() { slow.Add(1) }}})
		hang, called := make(chan struct{}), make(chan struct{})
		result := make(chan error, 1)
		var delivered atomic.Int64
		go func() {
			result <- f.c.Watch(f.t.Context(), cache.WatchOptions{OnSlow: func() { close(called) }}, func(events []cache.Event) error {
				delivered.Add(int64(len(events)))
				<-hang
				return nil
			})
		}()
		quick := f.watch(cache.WatchOptions{})
		quiet := f.watch(cache.WatchOptions{Prefix: "/pods/quiet/"})
		synctest.Wait()
		for i := range 100 {
			f.create(fmt.Sprintf("/pods/a/%d", i), "")
			synctest.Wait()
		}
		<-called // though its reader still hangs
		close(hang)
		var tooSlow *cache.SlowError
		require.ErrorAs(t, <-result, &tooSlow)
		require.Greater(t, tooSlow.Behind, int64(50))
		require.EqualValues(t, 1, delivered.Load(), "nothing is delivered after a failure")
		require.EqualValues(t, 1, slow.Load())
		require.Len(t, quick.take(), 100)
		f.create("/pods/quiet/x", "")
		require.Len(t, quiet.take(), 1, "a watch with nothing to read is not slow")
	})
}

func TestUndecodableObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		_, err := s.Create(context.Background(), "/pods/a/listed", []byte("broken"), none)
		require.NoError(t, err)
		f := start(t, s, cache.Options{})
		w := f.watch(cache.WatchOptions{})
		synctest.Wait()
		f.create("/pods/a/watched", "broken")
		f.create("/pods/a/fine", "u")
		require.Len(t, w.take(), 2)
		for o := range f.c.Snapshot().Range("", "") {
			require.Equal(t, o.Name != "fine", o.Err != nil, o.Name)
		}
		f.update("/pods/a/watched", "u")
		f.delete("/pods/a/listed")
		require.Len(t, w.take(), 2)
		require.Equal(t, 2, f.c.Snapshot().Len())
	})
}

func TestFormsAreEncodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{})
		var objects, events atomic.Int64
		encode := func(e *cache.Event) ([]byte, error) {
			events.Add(1)
			body, err := e.Object.Form(cache.FormKey{MediaType: "json"}, func(o *cache.Object) ([]byte, error) {
				objects.Add(1)
				return []byte("<" + string(o.Value) + ">"), nil
			})
			return []byte(e.Type.String() + string(body)), err
		}
		var tasks sync.WaitGroup
		for range 20 {
			tasks.Go(func() {
				n := 0
				err := f.c.Watch(f.t.Context(), cache.WatchOptions{}, func(es []cache.Event) error {
					for i := range es {
						got, err := es[i].Form(cache.FormKey{MediaType: "json"}, encode)
						require.NoError(t, err)
						require.Contains(t, string(got), "<u>")
						if n++; n == 2 {
							return errDone
						}
					}
					return nil
				})
				require.Equal(t, errDone, err)
			})
		}
		synctest.Wait()
		f.create("/pods/a/x", "u")
		f.delete("/pods/a/x")
		tasks.Wait()
		require.EqualValues(t, 2, events.Load())
		require.EqualValues(t, 2, objects.Load(), "the deleted state has a revision of its own")
	})
}

var errDone = errors.New("done")

func TestFormKeepsErrors(t *testing.T) {
	o := &cache.Object{}
	n := 0
	for range 3 {
		_, err := o.Form(cache.FormKey{Kind: "Table"}, func(*cache.Object) ([]byte, error) { n++; return nil, errDone })
		require.Equal(t, errDone, err)
	}
	require.Equal(t, 1, n)
	require.Panics(t, func() { _, _ = o.Form(cache.FormKey{}, func(*cache.Object) ([]byte, error) { panic("bad") }) })
	_, err := o.Form(cache.FormKey{}, func(*cache.Object) ([]byte, error) { return []byte("x"), nil })
	require.Error(t, err, "a form whose encoding panicked is never empty bytes without an error")
}

func TestExpiredStoreWatchListsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &breakable{Store: memory.New(memory.Options{})}
		var lists atomic.Int64
		f := start(t, s, cache.Options{Metrics: cache.Metrics{Relist: func(error) { lists.Add(1) }}})
		f.create("/pods/a/x", "1")
		w := f.watch(cache.WatchOptions{})
		synctest.Wait()
		s.fail(&store.ExpiredError{Compacted: 1})
		f.create("/pods/a/y", "2")
		<-w.done
		var expired *store.ExpiredError
		require.ErrorAs(t, w.err, &expired, "a list may hide events, so open watches end")
		snap, err := f.c.Consistent(f.t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, snap.Len())
		require.EqualValues(t, 2, lists.Load())
		again := f.watch(cache.WatchOptions{From: snap.Revision()})
		synctest.Wait()
		f.delete("/pods/a/x")
		require.Len(t, again.take(), 1)
	})
}

func TestOtherFailuresOfTheStoreResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &breakable{Store: memory.New(memory.Options{})}
		var lists atomic.Int64
		f := start(t, s, cache.Options{Metrics: cache.Metrics{Relist: func(error) { lists.Add(1) }}})
		w := f.watch(cache.WatchOptions{})
		synctest.Wait()
		for i := range 5 {
			s.fail(&store.UnavailableError{Op: "watch", Err: errDone})
			time.Sleep(time.Minute)
			f.create(fmt.Sprintf("/pods/a/%d", i), "")
		}
		time.Sleep(time.Minute)
		require.Len(t, w.take(), 5)
		require.EqualValues(t, 1, lists.Load())
	})
}

// breakable ends the store's watch on demand.
type breakable struct {
	store.Store
	mu   sync.Mutex
	next chan error
}

func (b *breakable) Watch(ctx context.Context, prefix string, from int64, opts store.WatchOptions, deliver func(store.Batch) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	broken := make(chan error, 1)
	b.mu.Lock()
	b.next = broken
	b.mu.Unlock()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case err := <-broken:
			cancel(err)
		case <-stop:
		}
	}()
	err := b.Store.Watch(ctx, prefix, from, opts, deliver)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func (b *breakable) fail(err error) {
	b.mu.Lock()
	next := b.next
	b.mu.Unlock()
	next <- err
	synctest.Wait()
}

// withoutProgress is a store that cannot report progress, like an old etcd.
type withoutProgress struct{ store.Store }

func (withoutProgress) Capabilities() store.Capabilities { return store.Capabilities{} }

// Watch delivers events only.
func (s withoutProgress) Watch(ctx context.Context, prefix string, from int64, opts store.WatchOptions, deliver func(store.Batch) error) error {
	return s.Store.Watch(ctx, prefix, from, opts, func(b store.Batch) error {
		if len(b.Events) == 0 {
			return nil
		}
		b.Revision = b.Events[len(b.Events)-1].KV.Revision
		return deliver(b)
	})
}

func TestConsistentWithoutProgressReadsTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, withoutProgress{memory.New(memory.Options{})}, cache.Options{})
		f.create("/pods/a/x", "1")
		other := f.create("/other/x", "1")
		snap, err := f.c.Consistent(f.t.Context())
		require.NoError(t, err)
		require.Equal(t, other, snap.Revision())
		require.Equal(t, 1, snap.Len())
	})
}

// A quiet resource of a store without progress: a reader that has the revision of another resource does not
// wait for it.
func TestQuietResourceWithoutProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, withoutProgress{memory.New(memory.Options{})}, cache.Options{})
		f.create("/pods/a/x", ";app=web")
		synctest.Wait()
		other := f.create("/other/x", "1")
		snap, err := f.c.AtLeast(f.t.Context(), other)
		require.NoError(t, err)
		require.Equal(t, other, snap.Revision())
		snap, err = f.c.At(f.t.Context(), other)
		require.NoError(t, err)
		require.Equal(t, []string{"/pods/a/x"}, keys(snap, "", ""))
		var future *store.FutureRevisionError
		_, err = f.c.AtLeast(f.t.Context(), other+1)
		require.ErrorAs(t, err, &future)
		_, err = f.c.At(f.t.Context(), other+1)
		require.ErrorAs(t, err, &future)

		before, err := f.c.Consistent(f.t.Context())
		require.NoError(t, err)
		f.create("/pods/a/y", ";app=web")
		after, err := f.c.Consistent(f.t.Context())
		require.NoError(t, err)
		require.NotEqual(t, before.State(), after.State(), "other objects are another content, wherever they were read")
		f.delete("/pods/a/y")
		synctest.Wait()

		w := f.watch(cache.WatchOptions{From: other, InitialEvents: true})
		require.Equal(t, []string{"ADDED /pods/a/x 2 ;app=web", "BOOKMARK 5 initial"}, w.take())
		f.update("/pods/a/x", ";app=db")
		require.Equal(t, []string{"MODIFIED /pods/a/x 6 ;app=db was 2"}, w.take())
	})
}

// A watch that continues from before the cache began reads the store, through its selector, and then the log,
// with nothing lost or doubled where the two meet.
func TestBacklog(t *testing.T) {
	for _, progress := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var s store.Store = memory.New(memory.Options{})
			if !progress {
				s = withoutProgress{s}
			}
			write := func(key, value string) {
				_, err := s.Update(t.Context(), key, []byte(value), store.AnyRevision, none)
				require.NoError(t, err)
			}
			_, err := s.Create(t.Context(), "/pods/a/x", []byte(";app=web"), none)
			require.NoError(t, err)
			_, err = s.Create(t.Context(), "/pods/a/y", []byte(";app=db"), none)
			require.NoError(t, err)
			write("/pods/a/x", ";app=db")
			write("/pods/a/y", ";app=web")
			_, err = s.Delete(t.Context(), "/pods/a/y", store.AnyRevision, none)
			require.NoError(t, err)
			f := start(t, s, cache.Options{Backfill: -1})
			web := func(o *cache.Object) bool { return o.Attrs.Labels["app"] == "web" }
			w := f.watch(cache.WatchOptions{From: 2, Match: web})
			require.Equal(t, []string{"DELETED /pods/a/x 4 ;app=web was 2", "ADDED /pods/a/y 5 ;app=web", "DELETED /pods/a/y 6 ;app=web was 5"}, w.take())
			time.Sleep(time.Second) // for the store to report, if it does
			f.update("/pods/a/x", ";app=web")
			f.update("/pods/a/x", ";app=web,more=1")
			require.Equal(t, []string{"ADDED /pods/a/x 7 ;app=web", "MODIFIED /pods/a/x 8 ;app=web,more=1 was 7"}, w.take())
		})
	}
}

// Many clients that continue at once do not all read the store.
func TestBacklogsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withoutProgress{memory.New(memory.Options{})}
		for i := range 3 {
			_, err := s.Create(t.Context(), fmt.Sprintf("/pods/a/%d", i), nil, none)
			require.NoError(t, err)
		}
		_, err := s.Create(t.Context(), "/other/x", nil, none)
		require.NoError(t, err)
		// At a revision at which nothing happened to it, so that no backlog ends.
		f := start(t, s, cache.Options{Backfill: -1})
		var watches []*recorder
		for range 40 {
			watches = append(watches, f.watch(cache.WatchOptions{From: 1, Match: func(*cache.Object) bool { return false }}))
		}
		synctest.Wait()
		ended := 0
		for _, w := range watches {
			select {
			case <-w.done:
				var expired *store.ExpiredError
				require.ErrorAs(t, w.err, &expired)
				ended++
			default:
			}
		}
		require.Equal(t, 40-16, ended)
	})
}

func TestConsistentWhenTheWatchHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, hang := memory.New(memory.Options{}), make(chan struct{})
		var hung atomic.Bool
		s := storetest.NewFaulty(mem, storetest.Hooks{Batch: func(ctx context.Context, _ string, _ store.Batch) error {
			if hung.Load() {
				<-hang
			}
			return nil
		}})
		f := start(t, s, cache.Options{})
		hung.Store(true)
		f.create("/pods/a/x", "1")
		start := time.Now()
		snap, err := f.c.Consistent(f.t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, snap.Len())
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Zero(t, f.c.Snapshot().Len())
		short, cancel := context.WithTimeout(f.t.Context(), time.Second)
		defer cancel()
		_, err = f.c.Consistent(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		hung.Store(false)
		close(hang)
	})
}

func TestStoppedCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		c := cache.New(s, "/pods/", cache.Options{})
		ctx, cancel := context.WithCancel(context.Background())
		results := make(chan error, 3)
		go func() { results <- c.Run(ctx) }()
		<-c.Ready()
		go func() {
			results <- c.Watch(context.Background(), cache.WatchOptions{}, func([]cache.Event) error { return nil })
		}()
		go func() {
			_, err := c.Wait(context.Background(), 1000)
			results <- err
		}()
		synctest.Wait()
		cancel()
		stopped := 0
		for range 3 {
			if err := <-results; err != nil {
				require.ErrorIs(t, err, cache.ErrStopped)
				stopped++
			}
		}
		require.Equal(t, 2, stopped)
		require.Error(t, c.Run(context.Background()), "a cache runs once")
		require.NoError(t, s.Close())
	})
}

func TestWatchCatchesUpInManySteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{})
		first := f.create("/pods/a/x", "")
		for i := range 1000 {
			f.update("/pods/a/x", fmt.Sprint(i))
		}
		synctest.Wait()
		w := f.watch(cache.WatchOptions{From: first})
		initial := f.watch(cache.WatchOptions{From: first, InitialEvents: true})
		require.Len(t, w.take(), 1000)
		require.Len(t, initial.take(), 2)
		for i := range 1000 {
			f.create(fmt.Sprintf("/pods/b/%d", i), "")
		}
		require.Len(t, w.take(), 1000)
		initial = f.watch(cache.WatchOptions{InitialEvents: true})
		require.Len(t, initial.take(), 1002)
	})
}

func TestBookmarksNeverPromiseTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{})
		rev := f.create("/pods/a/x", "")
		synctest.Wait()
		w := f.watch(cache.WatchOptions{From: rev + 10, Bookmarks: time.Second})
		time.Sleep(time.Minute)
		require.Empty(t, w.take())
	})
}

// TestAWatchThatSeesNothingOfManyChangesGetsBookmarks: changes that it does not see wait for a watch whenever
// a bookmark is due, as they do under load.
func TestAWatchThatSeesNothingOfManyChangesGetsBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{WatcherBuffer: 1 << 20})
		f.create("/pods/a/x", "")
		synctest.Wait()
		w := f.watch(cache.WatchOptions{Bookmarks: time.Second, Match: func(*cache.Object) bool {
			time.Sleep(510 * time.Microsecond) // called before and after: hardly slower than the changes come
			return false
		}})
		defer func() { w.stop(); <-w.done }()
		first := f.c.Snapshot().Revision()
		for range 10_000 {
			time.Sleep(time.Millisecond)
			f.update("/pods/a/x", fmt.Sprint(time.Now().UnixNano()))
		}
		events := w.take()
		require.GreaterOrEqual(t, len(events), 8, "in ten seconds")
		last := first
		for _, e := range events {
			revision, ok := strings.CutPrefix(e, "BOOKMARK ")
			require.True(t, ok, e)
			n, err := strconv.ParseInt(revision, 10, 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, last)
			last = n
		}
		require.Greater(t, last, first)
	})
}

func TestFormsOfOldEventsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, memory.New(memory.Options{}), cache.Options{})
		made := 0
		last := func() cache.Event {
			var got cache.Event
			err := f.c.Watch(f.t.Context(), cache.WatchOptions{From: 1}, func(es []cache.Event) error { got = es[0]; return errDone })
			require.Equal(t, errDone, err)
			return got
		}
		f.create("/pods/a/x", "")
		synctest.Wait()
		form := func(e cache.Event) {
			_, err := e.Form(cache.FormKey{}, func(*cache.Event) ([]byte, error) { made++; return nil, nil })
			require.NoError(t, err)
		}
		form(last())
		form(last())
		require.Equal(t, 1, made)
		for i := range 2000 {
			f.update("/pods/a/x", fmt.Sprint(i))
		}
		synctest.Wait()
		form(last())
		require.Equal(t, 2, made, "only recent events keep what was encoded")
	})
}

func TestHintSavesDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var decoded atomic.Int64
		f := start(t, memory.New(memory.Options{}), cache.Options{Attributes: func(kv store.KV) (cache.Attrs, error) {
			decoded.Add(1)
			return attributes(kv)
		}})
		uid := func(key string) string {
			synctest.Wait()
			o, ok := f.c.Snapshot().Get(key)
			require.True(t, ok)
			return o.Attrs.UID
		}
		f.c.Hint("/pods/a/x", []byte("u1"), cache.Attrs{UID: "hinted"})
		f.create("/pods/a/x", "u1")
		require.Equal(t, "hinted", uid("/pods/a/x"))
		require.Zero(t, decoded.Load())
		f.update("/pods/a/x", "u1")
		require.Equal(t, "u1", uid("/pods/a/x"), "a hint is used once")

		f.c.Hint("/pods/a/x", []byte("mine"), cache.Attrs{UID: "mine"})
		f.update("/pods/a/x", "another writer's")
		require.Equal(t, "another writer's", uid("/pods/a/x"), "other bytes are decoded")
		for i := range 5000 {
			f.c.Hint(fmt.Sprintf("/pods/a/%d", i), nil, cache.Attrs{}) // never written: bounded
		}
	})
}
