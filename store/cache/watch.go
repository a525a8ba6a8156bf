package cache

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/wake"
)

// maxEvents is the number of changes, or initial objects, that a watch handles at a time.
const maxEvents = 256

// WatchOptions select what a watch delivers.
type WatchOptions struct {
	// Prefix narrows the watch to the keys that begin with it, if it ends in a slash, or
	// to exactly that key if it does not. Empty means all of the cache.
	Prefix string
	// From is the revision after which events are delivered. Zero means from now on, that is, from some state
	// not older than the call.
	From int64
	// InitialEvents delivers the state first: an Added event for every object of a snapshot
	// at From or later, in the order of keys, then a Bookmark with InitialEnd.
	InitialEvents bool
	// Match is the selector; nil matches all. It is called on the watch's goroutine, must be
	// quick and pure, and must handle an object whose Err is set.
	Match func(*Object) bool
	// Field, if set, restricts the watch to objects whose Attrs.Fields[Field] is Value. It
	// is the same as a Match that compares them, but changes of other objects cost this
	// watch nothing.
	Field, Value string
	// Bookmarks is the interval of Bookmark events; zero means none.
	Bookmarks time.Duration
	// Buffer overrides Options.WatcherBuffer if positive.
	Buffer int
	// OnSlow is called once, from the feeding goroutine, when the watch is cut off. It must not
	// block. It may cancel ctx, or make a deliver that hangs in a write fail.
	OnSlow func()
}

// SlowError ends a watch that did not keep up.
type SlowError struct {
	// Behind is the number of changes between the first unread one and the latest.
	Behind int64
}

func (e *SlowError) Error() string {
	return fmt.Sprintf("cache: watch is too slow: %d changes behind", e.Behind)
}

// watcher is one call of Watch.
type watcher struct {
	opts    WatchOptions
	route   route
	index   int // in its group; guarded by routes.mu
	buffer  int64
	wake    wake.Signal
	pending atomic.Int64 // first unread change that may concern it; zero: none
	slow    atomic.Bool  // lags too far
	cut     atomic.Bool  // OnSlow has been called
	busy    atomic.Bool  // is finding its place, reading the log or delivering

	// Used by the watch's own goroutine only.
	epoch   int64
	cursor  int64 // last change read
	reached int64 // its revision, zero before the first
	after   int64 // revision after which events are delivered
	sent    int64 // revision of the last event
	changes []*change
	events  []Event
}

// Watch calls deliver with events in order, on the caller's goroutine, one call at a time and with no lock
// held. It returns when ctx ends (its error), when deliver fails (its error), when the cache stops
// (ErrStopped), when the events after From are no longer available, neither here nor in the store
// (*store.ExpiredError), or when the watch does not keep up (*SlowError). The slice passed to deliver is
// valid only until deliver returns; the events and objects in it may be kept.
//
// Watch waits for Ready.
func (c *Cache) Watch(ctx context.Context, opts WatchOptions, deliver func([]Event) error) error {
	if err := c.waitReady(ctx); err != nil {
		return err
	}
	var first *Snapshot
	if opts.InitialEvents && opts.From > 0 {
		var err error
		if first, err = c.AtLeast(ctx, opts.From); err != nil {
			return err
		}
	}
	w := &watcher{opts: opts, route: c.routes.of(opts), wake: wake.New(), buffer: int64(c.opts.WatcherBuffer)}
	if opts.Buffer > 0 {
		w.buffer = int64(opts.Buffer)
	}
	w.busy.Store(true)
	// The watch joins its group before it finds its place in the log, so that it misses no change in between.
	c.routes.add(w)
	defer c.routes.remove(w)
	if hook := c.opts.Metrics.Watchers; hook != nil {
		hook(1)
		defer hook(-1)
	}
	snap, err := c.position(w, first)
	for err != nil && !opts.InitialEvents {
		if err = c.backlog(ctx, w, err, deliver); err != nil {
			return err
		}
		snap, err = c.position(w, first)
	}
	if err != nil {
		return err
	}
	if hook := c.opts.Metrics.Initial; hook != nil {
		if n := w.initialCount(snap); n > 0 {
			hook(n)
		}
	}
	if opts.InitialEvents {
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

// position finds the watch's place in the log: after the state it begins with, which is the current snapshot,
// or first if that is newer.
func (c *Cache) position(w *watcher, first *Snapshot) (*Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	snap := c.snapshot.Load()
	w.epoch = c.epoch
	if w.opts.InitialEvents || w.opts.From == 0 {
		w.cursor, w.after, w.sent = snap.seq, snap.revision, snap.revision
		if first != nil && first.revision > snap.revision {
			// first was read from the store: the changes up to it are still to come and are skipped.
			w.after, w.sent, snap = first.revision, first.revision, first
		}
		return snap, nil
	}
	if w.opts.From < c.log.floor || c.lost(w.opts.From) {
		return nil, &store.ExpiredError{Compacted: c.log.floor}
	}
	w.after, w.sent = w.opts.From, w.opts.From
	w.cursor = c.log.upTo(w.opts.From)
	if w.cursor < c.log.last {
		w.mustRead(w.cursor + 1)
	}
	return snap, nil
}

// initialCount returns how many objects, or past changes, the watch begins with.
func (w *watcher) initialCount(snap *Snapshot) int {
	if w.opts.InitialEvents {
		return snap.Count(w.opts.Prefix, "")
	}
	return int(snap.seq - w.cursor)
}

// mustRead makes pending no later than seq.
func (w *watcher) mustRead(seq int64) {
	for {
		old := w.pending.Load()
		if old != 0 && old <= seq || w.pending.CompareAndSwap(old, seq) {
			return
		}
	}
}

// initial delivers the objects of a snapshot.
func (w *watcher) initial(ctx context.Context, snap *Snapshot, deliver func([]Event) error) error {
	events := make([]Event, 0, min(maxEvents, snap.Len()+1))
	var err error
	flush := func() bool {
		if err = ctx.Err(); err == nil {
			err = deliver(events)
		}
		clear(events)
		events = events[:0]
		return err == nil
	}
	for o := range snap.Range(w.opts.Prefix, "") {
		if !w.covers(o.Key) || !w.matches(o) {
			continue
		}
		events = append(events, Event{Type: Added, Object: o, Revision: o.Revision})
		if len(events) == maxEvents && !flush() {
			return err
		}
	}
	events = append(events, Event{Type: Bookmark, Revision: snap.revision, InitialEnd: true})
	flush()
	return err
}

// stream delivers changes as they come. Everything that it waits for wakes it through one channel, which
// costs less per event than a select over channels that all watches share.
func (c *Cache) stream(ctx context.Context, w *watcher, deliver func([]Event) error) error {
	defer context.AfterFunc(ctx, w.wake.Set)()
	var bookmarkDue atomic.Bool
	var timer *time.Timer
	every := w.opts.Bookmarks
	if every > 0 {
		every += backoff.Spread(ctx, every/10) - every/20 // so that watches do not tick together
		timer = time.AfterFunc(every, func() {
			bookmarkDue.Store(true)
			w.wake.Set()
		})
		defer timer.Stop()
	}
	for {
		more, err := c.nextEvents(w)
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
		// Also when there is more to read: all of it may be changes that this watch filters out.
		if bookmarkDue.Swap(false) {
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

// nextEvents fills w.events with the next changes and reports whether there may be more.
func (c *Cache) nextEvents(w *watcher) (bool, error) {
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
	w.changes = c.log.appendFrom(w.changes[:0], start, maxEvents)
	c.mu.Unlock()

	w.cursor = max(w.cursor, start+int64(len(w.changes))-1)
	if n := len(w.changes); n > 0 {
		w.reached = w.changes[n-1].revision()
	}
	for _, ch := range w.changes {
		if e, ok := w.event(ch); ok {
			w.events = append(w.events, e)
		}
	}
	clear(w.changes)
	if w.cursor < last {
		w.mustRead(w.cursor + 1)
		return true, nil
	}
	return false, nil
}

// cutOff reports, once, that a watch is too slow.
func (c *Cache) cutOff(w *watcher) {
	if !w.cut.CompareAndSwap(false, true) {
		return
	}
	if hook := c.opts.Metrics.Slow; hook != nil {
		hook()
	}
	if w.opts.OnSlow != nil {
		w.opts.OnSlow()
	}
}

// release drops what was delivered. Only a small array is kept for the next time, because there are many idle
// watches.
func (w *watcher) release() {
	clear(w.events)
	w.events = w.events[:0]
	if cap(w.events) > 8 {
		w.events, w.changes = nil, nil
	}
}

// event translates a change for this watch; ok is false if the watch filters it out.
func (w *watcher) event(ch *change) (e Event, ok bool) {
	if ch.revision() <= w.after || !w.covers(ch.obj.Key) {
		return Event{}, false
	}
	e = Event{Type: ch.kind, Object: ch.obj, Prev: ch.prev, Revision: ch.revision(), change: ch}
	if w.opts.Match == nil && w.opts.Field == "" {
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
		e.Type, e.Object = Deleted, ch.departed()
	default:
		return Event{}, false
	}
	return e, true
}

func (w *watcher) matches(o *Object) bool {
	if f := w.opts.Field; f != "" && o.Attrs.Fields[f] != w.opts.Value {
		return false
	}
	return w.opts.Match == nil || w.opts.Match(o)
}

// covers reports whether a key is in the watch's part of the key space.
func (w *watcher) covers(key string) bool {
	p := w.opts.Prefix
	if p == "" || p == key {
		return true
	}
	return p[len(p)-1] == '/' && strings.HasPrefix(key, p)
}

// bookmark delivers a Bookmark at the latest revision up to which everything has been delivered. With more,
// or if unread changes may concern the watch, that is the one before the last change read, since several
// changes may share a revision. If that is before the last event none is sent: that event was delivered just
// now.
func (c *Cache) bookmark(ctx context.Context, w *watcher, more bool, deliver func([]Event) error) error {
	c.mu.Lock()
	revision, same := c.routed, w.epoch == c.epoch
	c.mu.Unlock()
	if more || w.pending.Load() != 0 {
		revision = w.reached - 1
	}
	// So that the next one is recent on a quiet resource too. The report of progress comes on another
	// goroutine: if it were requested before the revision is read, chance would decide which one is sent.
	c.nudge(ctx, w.opts.Bookmarks/2)
	if !same || revision < w.sent {
		return nil
	}
	w.sent = revision
	return deliver([]Event{{Type: Bookmark, Revision: revision}})
}
