package kubelet

import (
	"context"
	"sync"
	"time"
)

// PullPolicy bounds the pulls of images.
type PullPolicy struct {
	// Parallel is how many images are pulled side by side; 0 means 1, a negative number any number.
	Parallel int
	// PerSecond is how many pulls may begin per second, with bursts of Burst; what goes beyond fails and is
	// tried again. 0 means any number.
	PerSecond float64
	Burst     int
}

// pullGate lets pulls begin. Safe for concurrent use.
type pullGate struct {
	PullPolicy
	slots chan struct{} // nil: any number

	mu     sync.Mutex
	tokens float64
	at     time.Time
}

func newPullGate(p PullPolicy) *pullGate {
	g := &pullGate{PullPolicy: p}
	if p.Parallel >= 0 {
		g.slots = make(chan struct{}, max(p.Parallel, 1))
	}
	return g
}

// allowed reports whether another pull may begin now.
func (g *pullGate) allowed() bool {
	if g.PerSecond <= 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now, burst := time.Now(), float64(max(g.Burst, 1))
	if g.at.IsZero() {
		g.tokens = burst
	}
	g.tokens = min(g.tokens+g.PerSecond*now.Sub(g.at).Seconds(), burst)
	g.at = now
	if g.tokens < 1 {
		return false
	}
	g.tokens--
	return true
}

// enter waits until a pull may begin beside the others; leave ends it.
func (g *pullGate) enter(ctx context.Context) (leave func(), err error) {
	if g.slots == nil {
		return func() {}, nil
	}
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
