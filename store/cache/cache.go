package cache

import (
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
	// EventLog is the number of changes kept for watches to start from and for
	// SnapshotAt. Zero means 16,384.
	EventLog int
	// EventLogBytes bounds the same log by the size of the objects in it. Zero means
	// 32 MiB. The latest change is always kept.
	EventLogBytes int
	// WatcherBuffer is how many changes a watch with something to read may lag
	// behind before it is cut off. Zero means half of EventLog.
	WatcherBuffer int
	// Backfill is how many revisions before the current one a new cache begins, if the store can report
	// progress, so that watches of clients that outlived the server's restart, or that began with a write
	// before the cache was started, go on without a list. Zero means 1,000, negative none.
	Backfill int64
	// CheckEvery is about how often the cache is compared with the store: see the package comment. Zero means
	// five minutes, negative never.
	CheckEvery time.Duration
	// Logger receives relists and undecodable objects. Nil discards.
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
	// Progress is called when the store has told that nothing has changed up to a newer revision.
	Progress func()
	// Waited is called when a reader has waited for the cache to reach a revision, or has found it there.
	Waited func(d time.Duration)
	// Consistent is called when Consistent has been answered, if the store reports progress: from the store
	// itself if fallback.
	Consistent func(fallback bool, err error)
	// Initial is called when a watch begins with objects or with changes that have happened, with their
	// number, also of those it does not see.
	Initial func(n int)
	// Watchers is called with +1 and -1 as watches begin and end.
	Watchers func(delta int)
	// Slow is called when a watch is cut off.
	Slow func()
	// Unreadable is called for each object, or version of one, that cannot be decoded.
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
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Cache is the watch cache of one prefix of a store. The package comment is its contract.
type Cache struct {
	store   store.Store
	prefix  string
	options Options

	started  atomic.Bool
	ready    chan struct{} // closed when the first snapshot is current
	began    int64         // revision of the store when Run was called, or a later one; set when ready is closed
	stopped  chan struct{} // closed when Run returns
	snapshot atomic.Pointer[Snapshot]
	routes   routes
	nudger   nudger
	progress shared[int64]     // questions for the store's revision
	through  shared[*Snapshot] // reads of the store past the cache
	past     atomic.Pointer[Snapshot]
	hints    hints
	backlogs backlogs
	doubted  atomic.Bool // the cache has been found wrong and has not been filled again yet

	mu      sync.Mutex
	epoch   int64 // counts the lists of the store; a watch belongs to one
	log     changeLog
	routed  int64 // revision up to which every watch has been told of its changes
	waiters []waiter
	recent  []*Snapshot // states that SnapshotAt made and At read lately
	refill  func()      // ends the watch of the store and lists it again; nil while that is going on anyway
	sound   int64       // the latest revision at which the cache was known to be right
	missed  span        // of revisions
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
func New(s store.Store, prefix string, o Options) *Cache {
	o = o.withDefaults()
	c := &Cache{
		store: s, prefix: prefix, options: o,
		ready:   make(chan struct{}),
		stopped: make(chan struct{}),
		routes:  newRoutes(prefix),
		log:     changeLog{limit: o.EventLog, limitBytes: o.EventLogBytes},

		progress: newShared[int64](), through: newShared[*Snapshot](),
	}
	c.snapshot.Store(&Snapshot{})
	return c
}

// Prefix returns the prefix the cache holds.
func (c *Cache) Prefix() string { return c.prefix }

// Capacity is how many changes the cache may remember: Options.EventLog.
func (c *Cache) Capacity() int { return c.options.EventLog }

// Ready returns a channel that is closed when the cache has caught up with the store for the
// first time.
func (c *Cache) Ready() <-chan struct{} { return c.ready }

// Began returns, after Ready, a revision of the store that is not older than the call of Run: for who has
// just had the cache started, a state that has reached it is consistent.
func (c *Cache) Began() int64 { return c.began }

// Snapshot returns the current state, without waiting. Before Ready it is empty or old.
func (c *Cache) Snapshot() *Snapshot { return c.snapshot.Load() }

// SnapshotAt returns the state at exactly that revision. Errors: *store.ExpiredError if it is
// older than the event log, *store.FutureRevisionError if the cache has not reached it.
func (c *Cache) SnapshotAt(revision int64) (*Snapshot, error) {
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

	snap := rewind(base, undo, revision)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(undo) > 0 && revision >= c.log.floor {
		c.remember(snap)
	}
	return snap, nil
}

// remember keeps the last few states made for readers of a revision, because the pages of a list ask for the
// same one again and again. Called with mu held.
func (c *Cache) remember(snap *Snapshot) {
	const keep = 4
	if len(c.recent) == keep {
		c.recent = slices.Delete(c.recent, 0, 1)
	}
	c.recent = append(c.recent, snap)
}

// Wait returns the first snapshot seen that has reached revision. It asks the store for progress
// while it waits, and returns an error when ctx ends or the cache stops.
func (c *Cache) Wait(ctx context.Context, revision int64) (*Snapshot, error) {
	if snap := c.snapshot.Load(); snap.revision >= revision && snap.revision > 0 {
		c.waited(0)
		return snap, nil
	}
	c.nudge(ctx, minNudge/2)
	return c.wait(ctx, revision)
}

func (c *Cache) waited(d time.Duration) {
	if hook := c.options.Metrics.Waited; hook != nil {
		hook(d)
	}
}

// wait is Wait after progress has been asked for.
func (c *Cache) wait(ctx context.Context, revision int64) (*Snapshot, error) {
	reached, snap := c.await(revision)
	if reached == nil {
		c.waited(0)
		return snap, nil
	}
	defer func(began time.Time) { c.waited(time.Since(began)) }(time.Now())
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

// Consistent returns a snapshot that includes every write acknowledged before the call: it asks
// the store for its revision and waits for the cache to reach it. Where the store cannot
// report progress, or the cache does not get there within three seconds because its watch is in
// trouble, it asks the store what has changed instead.
func (c *Cache) Consistent(ctx context.Context) (*Snapshot, error) {
	if !c.store.Capabilities().Progress {
		return c.quorum(ctx)
	}
	snap, fallback, err := c.consistent(ctx)
	if hook := c.options.Metrics.Consistent; hook != nil {
		hook(fallback, err)
	}
	return snap, err
}

// consistent is Consistent over a store that reports progress. fallback says that the cache was not enough.
func (c *Cache) consistent(ctx context.Context) (snap *Snapshot, fallback bool, err error) {
	if c.doubted.Load() {
		snap, err = c.quorum(ctx)
		return snap, true, err
	}
	revision, err := c.revision(ctx)
	if err != nil {
		return nil, false, err
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
