package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/store"
)

// AtLeast returns a snapshot that has reached revision. Where the store cannot report progress, so that a
// wait could last forever, or where the cache is inconsistent, it reads the store, and a revision that the
// store has not reached is *store.FutureRevisionError.
func (c *Cache) AtLeast(ctx context.Context, revision int64) (*Snapshot, error) {
	inconsistent := c.inconsistent.Load()
	if c.store.Capabilities().Progress && !inconsistent {
		return c.Wait(ctx, revision)
	}
	if snap := c.latest(); snap.revision >= revision && !inconsistent {
		return snap, nil
	}
	snap, err := c.quorum(ctx)
	if err == nil && snap.revision < revision {
		return nil, &store.FutureRevisionError{Requested: revision, Current: snap.revision}
	}
	return snap, err
}

// At returns the state at exactly that revision: from the event log, or else from the store. The last few
// states are kept, because all pages of a list read the same one. Errors: *store.ExpiredError if the store
// has compacted the revision and the state is not one of those kept, *store.FutureRevisionError if the store
// has not reached it.
func (c *Cache) At(ctx context.Context, revision int64) (*Snapshot, error) {
	inconsistent := c.inconsistent.Load()
	if !inconsistent {
		snap, err := c.snapshotAt(revision)
		if err == nil {
			return snap, nil
		}
		if _, behind := errors.AsType[*store.FutureRevisionError](err); behind && c.store.Capabilities().Progress {
			return nil, err // Wait would have brought the cache there
		}
		if past := c.past.Load(); past != nil && past.revision == revision {
			return past, nil
		}
	}
	items, at, err := c.read(ctx, revision)
	if err != nil {
		return nil, err
	}
	snap := fromStore(items, at)
	if inconsistent {
		return snap, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(snap)
	return snap, nil
}

// maxBacklogs is how many watches of one cache may read at a time from the store what happened before the
// cache's log.
const maxBacklogs = 16

// backlogs counts those watches.
type backlogs struct {
	mu sync.Mutex
	n  int
}

func (b *backlogs) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n >= maxBacklogs {
		return false
	}
	b.n++
	return true
}

func (b *backlogs) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n--
}

// errCaughtUp ends a backlog that has reached the log.
var errCaughtUp = errors.New("cache: the watch has reached the log")

// backlog delivers what happened between WatchOptions.From and the log, read from the store, so that clients
// that outlived a restart of the server need no list. It returns nil when the log is reached, and
// *store.ExpiredError if the store has compacted the revision too.
func (c *Cache) backlog(ctx context.Context, w *watcher, expired error, deliver func([]Event) error) error {
	if c.isSuspect(w.opts.From) || !c.backlogs.enter() {
		return expired
	}
	defer c.backlogs.leave()
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	tasks.Go(func() { c.nudgeUntil(ctx) })
	w.after = w.opts.From
	err := c.store.Watch(ctx, c.prefix, w.opts.From, store.WatchOptions{Prev: true}, func(b store.Batch) error {
		events, err := c.replayed(w, b.Events)
		if err == nil && len(events) > 0 {
			err = deliver(events)
		}
		if err != nil {
			return err
		}
		w.opts.From = b.Revision
		if c.reaches(b.Revision) {
			return errCaughtUp
		}
		return nil
	})
	if errors.Is(err, errCaughtUp) {
		return nil
	}
	return err
}

// reaches reports whether a watch from that revision can continue from the log.
func (c *Cache) reaches(revision int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return revision >= c.log.floor
}

// replayed translates the store's events for the watch.
func (c *Cache) replayed(w *watcher, from []store.Event) ([]Event, error) {
	var out []Event
	for _, e := range from {
		ch := &change{kind: Added, obj: c.object(e.KV)}
		if !e.Created() {
			if e.Prev == nil {
				return nil, &store.ExpiredError{Compacted: e.KV.Revision}
			}
			ch.kind, ch.prev = Modified, c.object(*e.Prev)
		}
		if e.Type == store.Delete {
			ch.kind, ch.obj = Deleted, ch.prev.at(e.KV.Revision)
		}
		if event, ok := w.event(ch); ok {
			event.change = nil // not shared with other watches
			out = append(out, event)
		}
	}
	return out, nil
}

// nudgeUntil requests progress of the store until ctx ends, so that a backlog without events comes to its
// end.
func (c *Cache) nudgeUntil(ctx context.Context) {
	ticker := time.NewTicker(maxNudge)
	defer ticker.Stop()
	for {
		c.nudge(ctx, minNudge)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
