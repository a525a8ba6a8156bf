package cache

import (
	"context"
	"sync"
	"time"
)

// A Wait requests progress again after minNudge, then at growing intervals up to maxNudge: a request is lost
// when the watch of the store is not open or behind.
const (
	minNudge = 10 * time.Millisecond
	maxNudge = 100 * time.Millisecond
)

// nudger keeps many waiting readers from requesting progress at the same time.
type nudger struct {
	mu   sync.Mutex
	last time.Time
}

// nudge requests a report of progress on the cache's watch, unless that was done within the time given. A
// local store gets a request every time: it costs next to nothing there, and a wait without a request would
// last until a test on virtual time sleeps.
func (c *Cache) nudge(ctx context.Context, within time.Duration) {
	can := c.store.Capabilities()
	if !can.Progress {
		return
	}
	if !can.Remote {
		_, _ = c.storeRevision(ctx)
		return
	}
	c.nudger.mu.Lock()
	now := time.Now()
	if now.Sub(c.nudger.last) < within {
		c.nudger.mu.Unlock()
		return
	}
	c.nudger.last = now
	c.nudger.mu.Unlock()
	_, _ = c.storeRevision(ctx) // the waiting reader has its own deadline
}

// storeRevision returns the store's revision, as a linearizable read, and requests a report of progress on
// the cache's watch. If it is before a revision that the cache has had, the store was restored from a backup,
// and the cache is marked inconsistent.
func (c *Cache) storeRevision(ctx context.Context) (int64, error) {
	snap, known := c.snapshot.Load(), c.latest().revision
	revision, err := c.store.Progress(ctx, c.prefix)
	if err == nil && revision < known && c.markInconsistent(snap) {
		c.opts.Logger.Error("the store has gone back to an earlier revision, watch cache is filled again",
			"prefix", c.prefix, "revision", revision, "cached", known)
	}
	return revision, err
}
