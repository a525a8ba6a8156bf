package cache

import (
	"context"
	"sync"
	"time"
)

// A Wait asks the store for progress again after minNudge, then ever less often up to
// maxNudge: a request is lost when the watch below is not open or not in step.
const (
	minNudge = 10 * time.Millisecond
	maxNudge = 100 * time.Millisecond
)

// nudger keeps many waiting readers from asking for progress all at once.
type nudger struct {
	mu   sync.Mutex
	last time.Time
}

// nudge asks the store to report progress on the cache's watch, unless that was done
// within the time given. A local store is asked every time: it costs next to nothing there,
// and a wait without a request would last until a test on virtual time sleeps.
func (c *Cache) nudge(ctx context.Context, within time.Duration) {
	can := c.store.Capabilities()
	if !can.Progress {
		return
	}
	if !can.Remote {
		_, _ = c.store.Progress(ctx, c.prefix)
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
	_, _ = c.store.Progress(ctx, c.prefix) // the waiting reader has its own deadline
}
