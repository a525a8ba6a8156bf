package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// TestRandomHistoryAgainstModel writes at random to a store that fails at random, with watches
// that begin, stall and end at random, and compares what they and the snapshots show with a
// model that keeps every state.
func TestRandomHistoryAgainstModel(t *testing.T) {
	for _, seed := range seeds.Of(t, 2000) {
		synctest.Test(t, func(t *testing.T) { runHistory(t, seed) })
	}
}

// state of the model: key to value and revision.
type entry struct {
	value    string
	revision int64
}

type modelHistory struct {
	states map[int64]map[string]entry // of every revision
	last   int64
}

func (m *modelHistory) write(revision int64, key, value string, deleted bool) {
	next := maps.Clone(m.states[m.last])
	if next == nil {
		next = map[string]entry{}
	}
	if deleted {
		delete(next, key)
	} else {
		next[key] = entry{value, revision}
	}
	for r := m.last + 1; r < revision; r++ {
		m.states[r] = m.states[m.last]
	}
	m.states[revision], m.last = next, revision
}

// view is the state built from a watch's events: applied one after the other they must give the
// model's state, seen through the selector, at every revision.
type view struct {
	match   func(key, value string) bool
	seen    map[string]entry
	at      int64
	initial bool // the initial events have not ended

	mu     sync.Mutex
	events []cache.Event
	stall  chan struct{} // not nil: the next delivery waits for it
	ended  error
	done   chan struct{}
}

func (v *view) deliver(events []cache.Event) error {
	v.mu.Lock()
	stall := v.stall
	v.mu.Unlock()
	if stall != nil {
		<-stall
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events = append(v.events, events...)
	return nil
}

// check applies what has been delivered since the last time.
func (v *view) check(m *modelHistory) error {
	v.mu.Lock()
	events := v.events
	v.events = nil
	v.mu.Unlock()
	for _, e := range events {
		if err := v.apply(m, e); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) apply(m *modelHistory, e cache.Event) error {
	if v.initial && !e.InitialEnd {
		v.seen[e.Object.Key] = entry{string(e.Object.Value), e.Revision}
		return nil
	}
	v.initial = false
	if e.Revision < v.at || e.Revision == v.at && e.Type != cache.Bookmark {
		return fmt.Errorf("%s at %d after %d", e.Type, e.Revision, v.at)
	}
	if e.Type != cache.Bookmark {
		old, had := v.seen[e.Object.Key]
		switch {
		case e.Object.Revision != e.Revision:
			return fmt.Errorf("object of revision %d in an event of %d", e.Object.Revision, e.Revision)
		case e.Type == cache.Added && had, e.Type != cache.Added && !had:
			return fmt.Errorf("%s of %s, which the watch had: %v", e.Type, e.Object.Key, had)
		case e.Type == cache.Deleted && string(e.Object.Value) != old.value:
			return fmt.Errorf("deleted %s had %q, event says %q", e.Object.Key, old.value, e.Object.Value)
		case e.Type != cache.Added && e.Prev.Revision != old.revision:
			return fmt.Errorf("previous revision of %s is %d, watch had %d", e.Object.Key, e.Prev.Revision, old.revision)
		}
		if e.Type == cache.Deleted {
			delete(v.seen, e.Object.Key)
		} else {
			v.seen[e.Object.Key] = entry{string(e.Object.Value), e.Revision}
		}
	}
	v.at = e.Revision
	return v.compare(m.states[e.Revision])
}

func (v *view) compare(state map[string]entry) error {
	n := 0
	for key, want := range state {
		if !v.match(key, want.value) {
			continue
		}
		n++
		got, ok := v.seen[key]
		if !ok || got.value != want.value {
			return fmt.Errorf("at %d: %s is %+v, want %+v", v.at, key, got, want)
		}
	}
	if n != len(v.seen) {
		return fmt.Errorf("at %d: watch has %d objects, model %d", v.at, len(v.seen), n)
	}
	return nil
}

// writeAtRandom makes one write, straight to the memory store: only the cache sees the faults. current holds
// the objects before and after it.
func writeAtRandom(t *testing.T, mem *memory.Store, m *modelHistory, current map[string]string, rnd *rand.Rand) {
	key := fmt.Sprintf("/pods/%c/%d", 'a'+rune(rnd.IntN(2)), rnd.IntN(4))
	if rnd.IntN(8) == 0 {
		key = fmt.Sprintf("/other/%d", rnd.IntN(4))
	}
	value := fmt.Sprintf("%d;app=%d;node=n%d", rnd.Uint32(), rnd.IntN(2), rnd.IntN(2))
	_, exists := current[key]
	var revision int64
	var err error
	gone := exists && rnd.IntN(3) == 0
	switch {
	case gone:
		revision, err = mem.Delete(t.Context(), key, store.AnyRevision, none)
		delete(current, key)
	case exists:
		revision, err = mem.Update(t.Context(), key, []byte(value), store.AnyRevision, none)
	default:
		revision, err = mem.Create(t.Context(), key, []byte(value), none)
		current[key] = value
	}
	require.NoError(t, err)
	if strings.HasPrefix(key, "/pods/") {
		m.write(revision, key, value, gone)
	} else {
		m.write(revision, "", "", true)
	}
}

func runHistory(t *testing.T, seed uint64) {
	rnd := seeds.Stream(seed, 5)
	mem := memory.New(memory.Options{LogEvents: []int{0, 20}[rnd.IntN(2)]})
	hooks := storetest.Hooks{}
	if rnd.IntN(2) == 0 {
		hooks = storetest.Chaos(seed, 0.1)
	}
	hooks = storetest.Timed(seed, hooks)
	log := []int{0, 30}[rnd.IntN(2)]
	var s store.Store = storetest.NewFaulty(mem, hooks)
	if rnd.IntN(2) == 0 {
		s = withoutProgress{storetest.NewFaulty(mem, late(seed, hooks))}
	}
	c := cache.New(s, "/pods/", cache.Options{Attributes: attributes, EventLog: log})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	jitter := seeds.NewDraws(seed + 2<<40)
	go func() { done <- c.Run(backoff.WithJitter(ctx, func() float64 { return jitter.For("run").Float64() })) }()
	<-c.Ready()

	m := &modelHistory{states: map[int64]map[string]entry{1: {}}, last: 1}
	current := map[string]string{}
	var views []*view
	for range 150 {
		time.Sleep(time.Duration(1 + rnd.IntN(3e5))) // no two writes at the same instant
		switch rnd.IntN(14) {
		case 0:
			if len(views) < 6 {
				views = append(views, startView(ctx, c, m, rnd))
			}
		case 1:
			synctest.Wait()
		case 2:
			time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
		case 3:
			if len(views) > 0 {
				toggleStall(views[rnd.IntN(len(views))])
			}
		case 4:
			checkSnapshots(t, seed, c, m, rnd)
		case 5:
			snap, err := c.Consistent(ctx)
			if err != nil {
				require.ErrorIs(t, err, storetest.ErrInjected)
				continue
			}
			require.GreaterOrEqual(t, snap.Revision(), m.last, "seed %d", seed)
			sameState(t, seed, snap, m.states[m.last])
			require.Equal(t, m.states[m.last], m.states[min(snap.Changed(), m.last)], "seed %d: changes after %d", seed, snap.Changed())
		default:
			writeAtRandom(t, mem, m, current, rnd)
		}
		if rnd.IntN(3) == 0 {
			synctest.Wait()
			for _, v := range views {
				require.NoError(t, v.check(m), "seed %d", seed)
			}
		}
	}
	for _, v := range views {
		unstall(v)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	sameState(t, seed, c.Snapshot(), m.states[m.last])
	for _, v := range views {
		checkView(t, seed, v, m)
	}
	cancel()
	require.NoError(t, <-done)
	for _, v := range views {
		<-v.done
	}
	require.NoError(t, mem.Close())
}

// late delays every third batch of a watch, by less or by more than a read of the store waits for it.
func late(seed uint64, hooks storetest.Hooks) storetest.Hooks {
	var mu sync.Mutex
	before, rnd := hooks.Batch, seeds.Stream(seed, 6)
	hooks.Batch = func(ctx context.Context, prefix string, b store.Batch) error {
		mu.Lock()
		wait := time.Duration(max(0, rnd.IntN(600)-400)) * time.Millisecond
		mu.Unlock()
		time.Sleep(wait)
		if before == nil {
			return nil
		}
		return before(ctx, prefix, b)
	}
	return hooks
}

func startView(ctx context.Context, c *cache.Cache, m *modelHistory, rnd *rand.Rand) *view {
	v := &view{seen: map[string]entry{}, done: make(chan struct{})}
	o := cache.WatchOptions{Bookmarks: time.Duration(rnd.IntN(3)) * time.Second}
	prefix, app, node := "", "", ""
	if rnd.IntN(2) == 0 {
		prefix = []string{"/pods/", "/pods/a/", "/pods/b/1"}[rnd.IntN(3)]
		o.Prefix = prefix
	}
	if rnd.IntN(2) == 0 {
		app = fmt.Sprintf("app=%d", rnd.IntN(2))
		o.Match = func(obj *cache.Object) bool { return strings.Contains(string(obj.Value), app) }
	}
	if rnd.IntN(2) == 0 {
		o.Field, o.Value = "node", fmt.Sprintf("n%d", rnd.IntN(2))
		node = "node=" + o.Value
	}
	v.match = func(key, value string) bool {
		return strings.HasPrefix(key, prefix) && strings.Contains(value, app) && strings.Contains(value, node)
	}
	o.From = c.Snapshot().Revision()
	switch rnd.IntN(3) {
	case 0: // an older revision, from a state of the model
		o.From = max(1, m.last-rnd.Int64N(10))
	case 1:
		o.InitialEvents, v.initial = true, true
	}
	if !o.InitialEvents {
		v.at = o.From
		for key, e := range m.states[o.From] {
			if v.match(key, e.value) {
				v.seen[key] = e
			}
		}
	}
	jitter := seeds.Stream(rnd.Uint64(), 7)
	go func() {
		defer close(v.done)
		err := c.Watch(backoff.WithJitter(ctx, jitter.Float64), o, v.deliver)
		v.mu.Lock()
		v.ended = err
		v.mu.Unlock()
	}()
	return v
}

func toggleStall(v *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stall == nil {
		v.stall = make(chan struct{})
	} else {
		close(v.stall)
		v.stall = nil
	}
}

func unstall(v *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stall != nil {
		close(v.stall)
		v.stall = nil
	}
}

// checkView: a watch shows the model's last state, or has ended for a reason it may have.
func checkView(t *testing.T, seed uint64, v *view, m *modelHistory) {
	require.NoError(t, v.check(m), "seed %d", seed)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended != nil {
		var expired *store.ExpiredError
		var slow *cache.SlowError
		// While it read the store for what was before the log.
		broken := errors.Is(v.ended, storetest.ErrInjected)
		require.True(t, errors.As(v.ended, &expired) || errors.As(v.ended, &slow) || broken, "seed %d: %v", seed, v.ended)
		return
	}
	require.NoError(t, v.compare(m.states[m.last]), "seed %d: at the end", seed)
}

func checkSnapshots(t *testing.T, seed uint64, c *cache.Cache, m *modelHistory, rnd *rand.Rand) {
	snap := c.Snapshot()
	sameState(t, seed, snap, m.states[snap.Revision()])
	require.Equal(t, m.states[snap.Revision()], m.states[snap.Changed()], "seed %d: changes after %d", seed, snap.Changed())
	at := max(1, snap.Revision()-rnd.Int64N(40))
	old, err := c.SnapshotAt(at)
	if err != nil {
		var expired *store.ExpiredError
		require.ErrorAs(t, err, &expired, "seed %d", seed)
		require.Greater(t, expired.Compacted, at)
		return
	}
	require.Equal(t, at, old.Revision())
	sameState(t, seed, old, m.states[at])
}

func sameState(t *testing.T, seed uint64, snap *cache.Snapshot, want map[string]entry) {
	t.Helper()
	var got []string
	for o := range snap.Range("", "") {
		got = append(got, o.Key)
		require.Equal(t, want[o.Key], entry{string(o.Value), o.Revision}, "seed %d: %s at %d", seed, o.Key, snap.Revision())
	}
	require.Equal(t, slices.Sorted(maps.Keys(want)), got, "seed %d: at %d", seed, snap.Revision())
}
