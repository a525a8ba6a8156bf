package namespace

import (
	"fmt"
	"sync"
	"time"
)

const (
	// soonest is when to look again while things vanish by themselves, latest when nothing has changed for
	// long: a pass costs requests for every namespaced resource.
	soonest = 100 * time.Millisecond
	latest  = 15 * time.Second
)

// patience says when to look at a namespace again. The zero value is ready. Safe for concurrent use.
type patience struct {
	mu   sync.Mutex
	last map[string]pass // by namespace
}

// pass is what a pass over a namespace has left, and the time that was waited after it.
type pass struct {
	left  string
	delay time.Duration
}

// after returns how long to wait after a pass: at first a moment, then, as long as the same is left, twice as
// long each time. Pods are not looked at before half of their grace period.
func (p *patience) after(ns string, c *content) time.Duration {
	now := pass{left: fmt.Sprint(c.remaining, c.finalizers), delay: soonest} // maps are printed in order
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[string]pass{}
	}
	if was, ok := p.last[ns]; ok && was.left == now.left {
		now.delay = min(2*was.delay, latest)
	}
	p.last[ns] = now
	if c.grace > 2*time.Second {
		return max(now.delay, min(c.grace/2, 5*time.Second))
	}
	return now.delay
}

// forget ends with a namespace.
func (p *patience) forget(ns string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, ns)
}
