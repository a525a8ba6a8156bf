package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/ordered"
)

const (
	minRetry = 50 * time.Millisecond
	maxRetry = 5 * time.Second
)

// Run feeds the cache: it lists the prefix, follows it with a watch, and lists again when the
// watch expires, until ctx ends (nil) or the store is closed (store.ErrClosed). Failures of the
// store are retried. A Cache runs once.
func (c *Cache) Run(ctx context.Context) error {
	if !c.started.CompareAndSwap(false, true) {
		return errors.New("cache: Run called twice")
	}
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	defer c.routes.wakeAll()
	defer close(c.stopped)
	defer tasks.Wait()
	defer cancel()
	retry := minRetry
	for {
		target, err := c.list(ctx)
		if hook := c.opts.Metrics.Relist; hook != nil && ctx.Err() == nil {
			hook(err)
		}
		if err == nil {
			retry = minRetry
			if c.epoch == 1 { // only Run changes it
				tasks.Go(func() { c.announce(ctx, target) })
				tasks.Go(func() { c.check(ctx) })
			}
			err = c.follow(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, store.ErrClosed):
			return err
		}
		c.opts.Logger.Warn("watch of the store ended, listing it again", "prefix", c.prefix, "err", err)
		if !jitteredSleep(ctx, retry) {
			return nil
		}
		retry = min(2*retry, maxRetry)
	}
}

// announce closes ready when the cache has reached the revision that the store had at the start.
func (c *Cache) announce(ctx context.Context, target int64) {
	if _, err := c.Wait(ctx, target); err == nil {
		c.startRevision = target
		close(c.ready)
	}
}

// jitteredSleep sleeps for d, give or take a half, and reports false if ctx ended.
func jitteredSleep(ctx context.Context, d time.Duration) bool {
	return backoff.Sleep(ctx, d/2+backoff.Spread(ctx, d)) == nil
}

// follow applies the store's events until the watch expires, the cache is found inconsistent, ctx ends or the
// store closes. After other failures it resumes the watch where it was.
func (c *Cache) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.setRefill(func() { cancel(errInconsistent) })
	defer c.setRefill(nil)
	retry := minRetry
	for {
		err := c.store.Watch(ctx, c.prefix, c.snapshot.Load().revision, store.WatchOptions{}, func(b store.Batch) error {
			c.apply(b)
			if hook := c.opts.Metrics.Progress; hook != nil && len(b.Events) == 0 {
				hook()
			}
			retry = minRetry
			return nil
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var expired *store.ExpiredError
		if errors.Is(err, store.ErrClosed) || errors.As(err, &expired) {
			return err
		}
		c.opts.Logger.Warn("watch of the store failed, resuming it", "prefix", c.prefix, "err", err)
		if !jitteredSleep(ctx, retry) {
			return context.Cause(ctx)
		}
		_, _ = c.storeRevision(ctx) // it cancels ctx if the store was restored from a backup
		retry = min(2*retry, maxRetry)
	}
}

// replace makes a list the current state and restarts history: a list may hide events, so every open watch
// expires.
func (c *Cache) replace(items ordered.Map[*Object], revision int64) {
	c.mu.Lock()
	c.epoch++
	next := &Snapshot{items: items, revision: revision, changed: revision, seq: c.log.last, epoch: c.epoch}
	c.log.reset(revision)
	c.recent = nil
	c.routed = revision
	c.highest = max(c.highest, c.snapshot.Load().revision)
	c.markConsistent(revision)
	done := c.publish(next)
	c.mu.Unlock()
	finish(done)
	c.routes.wakeAll()
	c.report(0, next)
}

// publish makes a snapshot current and returns the waiters that it satisfies. Called with mu held.
func (c *Cache) publish(next *Snapshot) []waiter {
	c.snapshot.Store(next)
	if past := c.past.Load(); past != nil && past.revision <= next.revision {
		c.past.Store(nil)
	}
	var done []waiter
	keep := c.waiters[:0]
	for _, w := range c.waiters {
		if w.revision <= next.revision {
			done = append(done, w)
		} else {
			keep = append(keep, w)
		}
	}
	clear(c.waiters[len(keep):])
	c.waiters = keep
	return done
}

func finish(done []waiter) {
	for _, w := range done {
		close(w.reached)
	}
}

func (c *Cache) report(events int, snap *Snapshot) {
	if hook := c.opts.Metrics.Events; hook != nil && events > 0 {
		hook(events)
	}
	if hook := c.opts.Metrics.Objects; hook != nil {
		hook(snap.Len())
	}
}

// apply makes the state after a batch of events the current one and notifies the watches.
func (c *Cache) apply(b store.Batch) {
	snap := c.snapshot.Load()
	if b.Revision < snap.revision {
		return // not possible with a store that keeps the contract
	}
	next := &Snapshot{items: snap.items, revision: b.Revision, changed: snap.changed, seq: snap.seq, epoch: snap.epoch}
	changes := make([]*change, 0, len(b.Events))
	if len(b.Events) > 0 {
		edit := snap.items.Edit()
		for i := range b.Events {
			if ch := c.change(edit, &b.Events[i]); ch != nil {
				next.seq++
				ch.seq = next.seq
				changes = append(changes, ch)
			}
		}
		next.items, next.changed = edit.Map(), b.Events[len(b.Events)-1].KV.Revision
	}
	c.mu.Lock()
	c.log.add(changes, next)
	for len(c.recent) > 0 && c.recent[0].revision < c.log.floor {
		c.recent = c.recent[1:]
	}
	done := c.publish(next)
	c.mu.Unlock()
	finish(done)

	slow := c.routes.notify(changes)
	c.mu.Lock()
	c.routed = next.revision
	c.mu.Unlock()
	for _, w := range slow {
		c.cutOff(w)
	}
	if len(changes) > 0 {
		c.report(len(changes), next)
	}
}

// change applies one event to the state being edited.
func (c *Cache) change(edit *ordered.Editor[*Object], e *store.Event) *change {
	if e.Type == store.Delete {
		prev, had := edit.Delete(e.KV.Key)
		if !had {
			return nil
		}
		return &change{kind: Deleted, obj: prev.at(e.KV.Revision), prev: prev}
	}
	obj := c.object(e.KV)
	prev, had := edit.Set(obj.Key, obj)
	if !had {
		return &change{kind: Added, obj: obj}
	}
	obj.Key, obj.Namespace, obj.Name = prev.Key, prev.Namespace, prev.Name // one string for all revisions
	obj.Attrs.share(&prev.Attrs)
	return &change{kind: Modified, obj: obj, prev: prev}
}
