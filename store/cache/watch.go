package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/store"
)

// chunk is the number of changes (or initial objects) a watch takes at a time.
const chunk = 256

// WatchOptions say what a watch sees.
type WatchOptions struct {
	// Prefix narrows the watch to the keys that begin with it, if it ends in a slash, or
	// to exactly that key if it does not. Empty means all of the cache.
	Prefix string
	// From is the revision after which events are wanted. Zero means from now on, that
	// is, from some state not older than the call.
	From int64
	// InitialEvents delivers the state first: an Added event for every object of a snapshot
	// at From or later, in the order of keys, then a Bookmark with InitialEnd.
	InitialEvents bool
	// Match is the selector; nil matches all. It is called on the watch's goroutine, must be
	// quick, pure, and able to deal with an object whose Err is set.
	Match func(*Object) bool
	// Field, if set, restricts the watch to objects whose Attrs.Fields[Field] is Value. It
	// is the same as a Match that compares them, but changes of other objects cost this
	// watch nothing.
	Field, Value string
	// Bookmarks is the time between Bookmark events; zero means none.
	Bookmarks time.Duration
	// Buffer overrides Options.WatcherBuffer if positive.
	Buffer int
	// OnSlow is called once, from the feeding goroutine, when the watch is cut off. It must not
	// block. It may cancel ctx, or make a deliver that hangs in a write fail.
	OnSlow func()
}

// SlowError ends a watch that did not keep up.
type SlowError struct {
	// Behind is the number of changes between the first one not read and the latest.
	Behind int64
}

func (e *SlowError) Error() string {
	return fmt.Sprintf("cache: watch is too slow: %d changes behind", e.Behind)
}

// watcher is one call of Watch.
type watcher struct {
	options WatchOptions
	route   route
	index   int // in its group; guarded by routes.mu
	buffer  int64
	wake    chan struct{}
	pending atomic.Int64 // first change that may concern it and is not taken; zero: none
	slow    atomic.Bool  // lags too far
	cut     atomic.Bool  // has been told so
	busy    atomic.Bool  // finds its place, takes or delivers

	// Used by the watch's own goroutine only.
	epoch   int64
	cursor  int64 // last change taken
	taken   int64 // its revision, zero before the first
	after   int64 // revision after which events are wanted
	sent    int64 // revision of the last event
	changes []*change
	events  []Event
}

// Watch delivers events in order, from the caller's goroutine and one call at a time, with no
// lock held, until ctx ends (its error), deliver fails (its error), the cache stops (ErrStopped),
// *store.ExpiredError: the events after From are not available (any more), neither here nor in the store, or
// *SlowError. The slice that deliver gets is valid only until it returns; the events and objects
// in it for ever.
//
// Watch waits for Ready.
func (c *Cache) Watch(ctx context.Context, o WatchOptions, deliver func([]Event) error) error {
	if err := c.waitReady(ctx); err != nil {
		return err
	}
	var first *Snapshot
	if o.InitialEvents && o.From > 0 {
		var err error
		if first, err = c.AtLeast(ctx, o.From); err != nil {
			return err
		}
	}
	w := &watcher{options: o, route: c.routes.of(o), wake: make(chan struct{}, 1), buffer: int64(c.options.WatcherBuffer)}
	if o.Buffer > 0 {
		w.buffer = int64(o.Buffer)
	}
	w.busy.Store(true)
	// First into the groups, then the place in the log: no change falls between.
	c.routes.add(w)
	defer c.routes.remove(w)
	if hook := c.options.Metrics.Watchers; hook != nil {
		hook(1)
		defer hook(-1)
	}
	snap, err := c.position(w, first)
	for err != nil && !o.InitialEvents {
		if err = c.backlog(ctx, w, err, deliver); err != nil {
			return err
		}
		snap, err = c.position(w, first)
	}
	if err != nil {
		return err
	}
	if hook := c.options.Metrics.Initial; hook != nil {
		if n := w.backwards(snap); n > 0 {
			hook(n)
		}
	}
	if o.InitialEvents {
		if err := w.initial(ctx, snap, deliver); err != nil {
			return err
		}
	}
	return c.stream(ctx, w, deliver)
}

func (c *Cache) waitReady(ctx context.Context) error {
	select {
	case <-c.ready:
		return ctx.Err()
	default:
	}
	select {
	case <-c.ready:
		return nil
	case <-c.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// position finds the watch's place in the log: after the state with which it begins, which is the cache's, or
// first if that is newer.
func (c *Cache) position(w *watcher, first *Snapshot) (*Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	snap := c.snapshot.Load()
	w.epoch = c.epoch
	if w.options.InitialEvents || w.options.From == 0 {
		w.cursor, w.after, w.sent = snap.seq, snap.revision, snap.revision
		if first != nil && first.revision > snap.revision {
			// Read from the store: changes up to there are still to come, and are left out.
			w.after, w.sent, snap = first.revision, first.revision, first
		}
		return snap, nil
	}
	if w.options.From < c.log.floor {
		return nil, &store.ExpiredError{Compacted: c.log.floor}
	}
	w.after, w.sent = w.options.From, w.options.From
	w.cursor = c.log.upTo(w.options.From)
	if w.cursor < c.log.last {
		w.mustTake(w.cursor + 1)
	}
	return snap, nil
}

// backwards is how many objects, or changes before the watch, it begins with.
func (w *watcher) backwards(snap *Snapshot) int {
	if w.options.InitialEvents {
		return snap.Count(w.options.Prefix, "")
	}
	return int(snap.seq - w.cursor)
}

// mustTake makes pending no later than seq.
func (w *watcher) mustTake(seq int64) {
	for {
		old := w.pending.Load()
		if old != 0 && old <= seq || w.pending.CompareAndSwap(old, seq) {
			return
		}
	}
}

// initial delivers the objects of a snapshot.
func (w *watcher) initial(ctx context.Context, snap *Snapshot, deliver func([]Event) error) error {
	events := make([]Event, 0, min(chunk, snap.Len()+1))
	var err error
	flush := func() bool {
		if err = ctx.Err(); err == nil {
			err = deliver(events)
		}
		clear(events)
		events = events[:0]
		return err == nil
	}
	for o := range snap.Range(w.options.Prefix, "") {
		if !w.sees(o.Key) || !w.matches(o) {
			continue
		}
		events = append(events, Event{Type: Added, Object: o, Revision: o.Revision})
		if len(events) == chunk && !flush() {
			return err
		}
	}
	events = append(events, Event{Type: Bookmark, Revision: snap.revision, InitialEnd: true})
	flush()
	return err
}

// stream delivers changes as they come. Whatever there is to see wakes it through one channel, which is
// cheaper for each event than to select from many that all watches share.
func (c *Cache) stream(ctx context.Context, w *watcher, deliver func([]Event) error) error {
	defer context.AfterFunc(ctx, func() { poke(w.wake) })()
	var due atomic.Bool // a bookmark is
	var timer *time.Timer
	every := w.options.Bookmarks
	if every > 0 {
		every += rand.N(every/10+1) - every/20 // so that watches do not tick together
		timer = time.AfterFunc(every, func() {
			due.Store(true)
			poke(w.wake)
		})
		defer timer.Stop()
	}
	for {
		more, err := c.take(w)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(w.events) > 0 {
			w.sent = w.events[len(w.events)-1].Revision
			err := deliver(w.events)
			w.release()
			if err != nil {
				return err
			}
		}
		// Also when there is more to take: what is taken may all be changes that this watch does not see.
		if due.Swap(false) {
			timer.Reset(every)
			if err := c.bookmark(ctx, w, more, deliver); err != nil {
				return err
			}
		}
		if more {
			continue
		}
		select {
		case <-c.stopped: // before it wakes all watches
			return ErrStopped
		default:
		}
		w.busy.Store(false)
		<-w.wake
		w.busy.Store(true)
	}
}

// take fills w.events with the next changes and reports whether there may be more.
func (c *Cache) take(w *watcher) (bool, error) {
	pending := w.pending.Swap(0)
	c.mu.Lock()
	last, first, floor := c.log.last, c.log.first(), c.log.floor
	switch {
	case w.epoch != c.epoch:
		c.mu.Unlock()
		return false, &store.ExpiredError{Compacted: floor}
	case pending == 0 && !w.slow.Load():
		c.mu.Unlock()
		return false, nil
	}
	start := max(pending, w.cursor+1)
	if w.slow.Load() || start < first {
		c.mu.Unlock()
		c.cutOff(w)
		return false, &SlowError{Behind: last - start + 1}
	}
	w.changes = c.log.take(w.changes[:0], start, chunk)
	c.mu.Unlock()

	w.cursor = max(w.cursor, start+int64(len(w.changes))-1)
	if n := len(w.changes); n > 0 {
		w.taken = w.changes[n-1].revision()
	}
	for _, ch := range w.changes {
		if e, ok := w.event(ch); ok {
			w.events = append(w.events, e)
		}
	}
	clear(w.changes)
	if w.cursor < last {
		w.mustTake(w.cursor + 1)
		return true, nil
	}
	return false, nil
}

// cutOff tells, once, that a watch is too slow.
func (c *Cache) cutOff(w *watcher) {
	if !w.cut.CompareAndSwap(false, true) {
		return
	}
	if hook := c.options.Metrics.Slow; hook != nil {
		hook()
	}
	if w.options.OnSlow != nil {
		w.options.OnSlow()
	}
}

// release lets go of what was delivered. Only a small array is kept for the next time,
// because there are many idle watches.
func (w *watcher) release() {
	clear(w.events)
	w.events = w.events[:0]
	if cap(w.events) > 8 {
		w.events, w.changes = nil, nil
	}
}

// event is the change as this watch sees it.
func (w *watcher) event(ch *change) (Event, bool) {
	if ch.revision() <= w.after || !w.sees(ch.obj.Key) {
		return Event{}, false
	}
	e := Event{Type: ch.kind, Object: ch.obj, Prev: ch.prev, Revision: ch.revision(), change: ch}
	if w.options.Match == nil && w.options.Field == "" {
		return e, true
	}
	was := ch.prev != nil && w.matches(ch.prev)
	is := ch.kind != Deleted && w.matches(ch.obj)
	switch {
	case is && was:
		e.Type = Modified
	case is:
		e.Type, e.Prev = Added, nil
	case was:
		e.Type, e.Object = Deleted, ch.gone()
	default:
		return Event{}, false
	}
	return e, true
}

func (w *watcher) matches(o *Object) bool {
	if f := w.options.Field; f != "" && o.Attrs.Fields[f] != w.options.Value {
		return false
	}
	return w.options.Match == nil || w.options.Match(o)
}

// sees reports whether a key is in the watch's part of the key space.
func (w *watcher) sees(key string) bool {
	p := w.options.Prefix
	if p == "" || p == key {
		return true
	}
	return p[len(p)-1] == '/' && strings.HasPrefix(key, p)
}

// bookmark delivers a Bookmark at the latest revision up to which everything has been delivered. With more,
// or if changes wait that may concern the watch, that is the one before the last change taken, since several
// changes may share a revision. There is none if that is before the last event: then the event has been sent
// just now.
func (c *Cache) bookmark(ctx context.Context, w *watcher, more bool, deliver func([]Event) error) error {
	c.nudge(ctx, w.options.Bookmarks/2) // so that the next one is fresh on a quiet resource too
	c.mu.Lock()
	revision, same := c.routed, w.epoch == c.epoch
	c.mu.Unlock()
	if more || w.pending.Load() != 0 {
		revision = w.taken - 1
	}
	if !same || revision < w.sent {
		return nil
	}
	w.sent = revision
	return deliver([]Event{{Type: Bookmark, Revision: revision}})
}
