package cache

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/store"
)

// ErrStopped says that the cache's Run has returned.
var ErrStopped = errors.New("cache: stopped")

// Options configure a Cache. The zero value works.
type Options struct {
	// Attributes reads an object's attributes from its stored bytes. It must be safe
	// for concurrent use. An error marks the object (Object.Err). Nil leaves Attrs empty.
	Attributes func(kv store.KV) (Attrs, error)
	// EventLog is the number of changes kept for watches to start from and for At. Zero means 16,384.
	EventLog int
	// EventLogBytes bounds the same log by the size of the objects in it. Zero means
	// 32 MiB. The latest change is always kept.
	EventLogBytes int
	// WatcherBuffer is how many changes a watch with something to read may lag
	// behind before it is cut off. Zero means half of EventLog.
	WatcherBuffer int
	// Initial is a state of the prefix in the store, such as the Snapshot of another cache of the same
	// content. The cache begins with it instead of a list, shares its objects, and follows the store from its
	// revision. The objects must have been made with equal Attributes. Nil means that the cache lists the
	// store.
	Initial *Snapshot
	// Backfill is how many revisions before the current one a new cache begins, if the store can report
	// progress, so that watches of clients that outlived the server's restart, or that began with a write
	// before the cache was started, continue without a list. Zero means 1,000, negative none.
	Backfill int64
	// CheckEvery is about how often the cache is compared with the store: see the package comment. Zero means
	// five minutes, negative never.
	CheckEvery time.Duration
	// Logger receives relists, inconsistencies and undecodable objects. Nil discards.
	Logger *slog.Logger
	// Metrics are called as things happen. Nil functions are skipped.
	Metrics Metrics
}

// Metrics are hooks for measurements. They are called without locks held and must be quick.
type Metrics struct {
	// Events is called with the number of changes just applied.
	Events func(n int)
	// Objects is called with the number of objects after each change.
	Objects func(n int)
	// Relist is called after each list of the store with its error, if any.
	Relist func(err error)
	// Listed is called when the state, or what has changed in it, has been read from the store, with the
	// number of objects read.
	Listed func(objects int)
	// Progress is called when the store has reported that nothing has changed up to a newer revision.
	Progress func()
	// Waited is called when a reader has waited for the cache to reach a revision, or has found it there.
	Waited func(d time.Duration)
	// Consistent is called when Consistent returns, if the store reports progress. fallback is true if the
	// store was read.
	Consistent func(fallback bool, err error)
	// Initial is called when a watch begins with objects or with past changes. n is their number and includes
	// those that its selector filters out.
	Initial func(n int)
	// Watchers is called with +1 and -1 as watches begin and end.
	Watchers func(delta int)
	// Slow is called when a watch is cut off.
	Slow func()
	// Unreadable is called for each revision of an object that cannot be decoded.
	Unreadable func()
	// Checked is called after each comparison with the store.
	Checked func(c Check)
}

func (o Options) withDefaults() Options {
	if o.EventLog <= 0 {
		o.EventLog = 1 << 14
	}
	if o.EventLogBytes <= 0 {
		o.EventLogBytes = 32 << 20
	}
	if o.WatcherBuffer <= 0 {
		o.WatcherBuffer = max(1, o.EventLog/2)
	}
	if o.Backfill == 0 {
		o.Backfill = 1000
	}
	if o.CheckEvery == 0 {
		o.CheckEvery = 5 * time.Minute
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Cache is the watch cache of one prefix of a store. The package comment is its contract.
type Cache struct {
	store  store.Store
	prefix string
	opts   Options

	started atomic.Bool
	ready   chan struct{} // closed when the first snapshot is current
	// Revision of the store when Run was called, or a later one; set when ready is closed.
	startRevision int64
	stopped       chan struct{} // closed when Run returns
	snapshot      atomic.Pointer[Snapshot]
	routes        routes
	nudger        nudger
	progress      sharedCall[int64]        // reads of the store's revision
	through       sharedCall[*Snapshot]    // reads of the store past the cache
	past          atomic.Pointer[Snapshot] // the newest state read past the cache, if newer than snapshot
	hints         hints
	backlogs      backlogs
	inconsistent  atomic.Bool // the last comparison failed and the cache has not been filled again yet

	mu      sync.Mutex
	epoch   int64 // counts the lists of the store; a watch belongs to one
	log     changeLog
	routed  int64 // revision up to which every watch has been notified of its changes
	waiters []waiter
	recent  []*Snapshot // states that At returned lately
	refill  func()      // ends the watch of the store and lists it again; nil while the cache is being listed
	highest int64       // the greatest revision that a snapshot had before the last list of the store

	lastVerified int64 // the latest revision at which the cache was equal to the store
	suspect      span  // revisions at which a client may have a state that the store never had
}

// patience is how long a consistent read waits for the cache before it reads the store.
const patience = 3 * time.Second

// waiter is a Wait that has not reached its revision.
type waiter struct {
	revision int64
	reached  chan struct{}
}

// New returns a cache of the keys of s that begin with prefix, which ends in a slash. It does nothing
// until Run.
func New(s store.Store, prefix string, opts Options) *Cache {
	opts = opts.withDefaults()
	c := &Cache{
		store: s, prefix: prefix, opts: opts,
		ready:   make(chan struct{}),
		stopped: make(chan struct{}),
		routes:  newRoutes(prefix),
		log:     changeLog{limit: opts.EventLog, limitBytes: opts.EventLogBytes},

		progress: newSharedCall[int64](), through: newSharedCall[*Snapshot](),
	}
	c.snapshot.Store(&Snapshot{})
	return c
}

// Prefix returns the prefix the cache holds.
func (c *Cache) Prefix() string { return c.prefix }

// Capacity is how many changes the cache may remember: Options.EventLog.
func (c *Cache) Capacity() int { return c.opts.EventLog }

// Ready returns a channel that is closed when the cache has caught up with the store for the
// first time.
func (c *Cache) Ready() <-chan struct{} { return c.ready }

// StartRevision returns, after Ready, a revision of the store that is not older than the call of Run. A
// snapshot at or after it is consistent for the caller whose read started the cache.
func (c *Cache) StartRevision() int64 { return c.startRevision }

// Snapshot returns the current state, without waiting. Before Ready it is empty or old.
func (c *Cache) Snapshot() *Snapshot { return c.snapshot.Load() }

// snapshotAt returns the state at exactly that revision. Errors: *store.ExpiredError if it is
// older than the event log, *store.FutureRevisionError if the cache has not reached it.
func (c *Cache) snapshotAt(revision int64) (*Snapshot, error) {
	c.mu.Lock()
	current := c.snapshot.Load()
	if revision == current.revision {
		c.mu.Unlock()
		return current, nil
	}
	for _, snap := range c.recent {
		if snap.revision == revision {
			c.mu.Unlock()
			return snap, nil
		}
	}
	if revision > current.revision {
		c.mu.Unlock()
		return nil, &store.FutureRevisionError{Requested: revision, Current: current.revision}
	}
	if revision < c.log.floor {
		err := &store.ExpiredError{Compacted: c.log.floor}
		c.mu.Unlock()
		return nil, err
	}
	base, undo := c.log.since(revision, current)
	c.mu.Unlock()

	snap := undoChanges(base, undo, revision)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(undo) > 0 && revision >= c.log.floor {
		c.remember(snap)
	}
	return snap, nil
}

// remember keeps the last few states made for readers of a revision, because all pages of a list read the
// same one. Called with mu held.
func (c *Cache) remember(snap *Snapshot) {
	const keep = 4
	if len(c.recent) == keep {
		c.recent = slices.Delete(c.recent, 0, 1)
	}
	c.recent = append(c.recent, snap)
}

// Wait returns the first snapshot that has reached revision. While it waits it requests reports of progress
// from the store. It returns an error when ctx ends or the cache stops.
func (c *Cache) Wait(ctx context.Context, revision int64) (*Snapshot, error) {
	if snap := c.snapshot.Load(); snap.revision >= revision && snap.revision > 0 {
		c.waited(0)
		return snap, nil
	}
	c.nudge(ctx, minNudge/2)
	return c.wait(ctx, revision)
}

func (c *Cache) waited(d time.Duration) {
	if hook := c.opts.Metrics.Waited; hook != nil {
		hook(d)
	}
}

// wait is Wait after progress has been requested.
func (c *Cache) wait(ctx context.Context, revision int64) (*Snapshot, error) {
	reached, snap := c.await(revision)
	if reached == nil {
		c.waited(0)
		return snap, nil
	}
	defer func(start time.Time) { c.waited(time.Since(start)) }(time.Now())
	pause := minNudge
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-reached:
			return c.snapshot.Load(), nil
		case <-c.stopped:
			c.forget(reached)
			return nil, ErrStopped
		case <-ctx.Done():
			c.forget(reached)
			return nil, ctx.Err()
		case <-timer.C:
			c.nudge(ctx, pause/2)
			pause = min(2*pause, maxNudge)
			timer.Reset(pause)
		}
	}
}

// await registers a wait, or returns the snapshot if there is nothing to wait for.
func (c *Cache) await(revision int64) (chan struct{}, *Snapshot) {
	revision = max(revision, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if snap := c.snapshot.Load(); snap.revision >= revision {
		return nil, snap
	}
	reached := make(chan struct{})
	c.waiters = append(c.waiters, waiter{revision: revision, reached: reached})
	return reached, nil
}

func (c *Cache) forget(reached chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiters = slices.DeleteFunc(c.waiters, func(w waiter) bool { return w.reached == reached })
}

// Consistent returns a snapshot that includes every write acknowledged before the call: it reads the store's
// revision and waits for the cache to reach it. If the store cannot report progress, if the cache is
// inconsistent, or if the cache does not reach the revision within three seconds because its watch has
// failed, it reads from the store what has changed instead.
func (c *Cache) Consistent(ctx context.Context) (*Snapshot, error) {
	if !c.store.Capabilities().Progress {
		return c.quorum(ctx)
	}
	snap, fallback, err := c.consistent(ctx)
	if hook := c.opts.Metrics.Consistent; hook != nil {
		hook(fallback, err)
	}
	return snap, err
}

// consistent is Consistent over a store that reports progress. fallback is true if the snapshot was read from
// the store.
func (c *Cache) consistent(ctx context.Context) (snap *Snapshot, fallback bool, err error) {
	revision, err := c.revision(ctx)
	if err != nil {
		return nil, false, err
	}
	if c.inconsistent.Load() { // also found by reading the revision
		snap, err = c.quorum(ctx)
		return snap, true, err
	}
	if snap := c.snapshot.Load(); snap.revision >= revision {
		c.waited(0)
		return snap, false, nil
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	snap, err = c.wait(waiting, revision)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		snap, err = c.quorum(ctx)
		return snap, true, err
	}
	return snap, false, err
}
