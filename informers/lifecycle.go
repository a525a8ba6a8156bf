package informers

import (
	"context"
	"maps"
	"slices"
)

// sortedBase returns what the server has sent, ordered by namespace and name, so that handlers get it in the same
// order each time. The lock is held.
func (c *core[T]) sortedBase() []*object[T] {
	objs := make([]*object[T], 0, c.count)
	for _, m := range c.byNamespace {
		objs = slices.AppendSeq(objs, maps.Values(m))
	}
	sortObjects(objs)
	return objs
}

// resync queues every object again for one handler.
func (c *core[T]) resync(r *registration[T]) {
	c.mu.RLock()
	for _, o := range c.sortedBase() {
		r.q.repeat(o)
	}
	c.mu.RUnlock()
	r.q.signal()
}

// add registers a handler and tells it everything that is there.
func (c *core[T]) add(r *registration[T]) {
	c.mu.Lock()
	c.handlers = append(slices.Clip(c.handlers), r)
	for _, o := range c.sortedBase() {
		r.q.put(nil, o, nil, true, false)
	}
	if c.synced {
		r.q.putMark()
	}
	spawn := c.spawn
	r.started = spawn != nil
	c.mu.Unlock()
	r.q.signal()
	if spawn != nil {
		spawn(r.run)
	}
}

// forget takes a handler out and reports whether its goroutine was started.
func (c *core[T]) forget(r *registration[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers = slices.DeleteFunc(slices.Clone(c.handlers), func(h *registration[T]) bool { return h == r })
	return r.started
}

// start runs the reflectors and the handlers.
func (c *core[T]) start(spawn func(func(ctx context.Context))) {
	c.mu.Lock()
	if c.spawn != nil || c.err != nil {
		c.mu.Unlock()
		return
	}
	c.spawn = spawn
	hs := slices.Clone(c.handlers)
	for _, h := range hs {
		h.started = true
	}
	c.mu.Unlock()
	for _, h := range hs {
		spawn(h.run)
	}
	for _, s := range c.sources {
		spawn(func(ctx context.Context) { _ = s.r.Run(ctx) })
	}
	if period := c.set.o.VerifyEvery; period > 0 {
		spawn(func(ctx context.Context) { c.verifyEvery(ctx, period) })
	}
}

func (c *core[T]) waitForSync(ctx context.Context) error { return c.wait(ctx, nil) }

func (c *core[T]) waitForSyncOrAbsent(ctx context.Context) error { return c.wait(ctx, c.absentGate) }

// wait waits for the sync or for the other channel.
func (c *core[T]) wait(ctx context.Context, other <-chan struct{}) error {
	if c.err != nil {
		return c.err
	}
	select {
	case <-c.syncGate:
		return nil
	case <-other:
		return nil
	default:
	}
	select {
	case <-c.syncGate:
		return nil
	case <-other:
		return nil
	case <-ctx.Done():
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.notSynced(context.Cause(ctx))
}
