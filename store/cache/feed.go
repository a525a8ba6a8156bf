package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/ordered"
)

const (
	// Keys per list request: as many as make a few MiB, because a response is held whole, and copied, before
	// it is looked at.
	firstPage = 500
	pageSize  = 5000
	pageBytes = 4 << 20
	minRetry  = 50 * time.Millisecond
	maxRetry  = 5 * time.Second
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
		if hook := c.options.Metrics.Relist; hook != nil && ctx.Err() == nil {
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
		c.options.Logger.Warn("watch cache lists again", "prefix", c.prefix, "err", err)
		if !pause(ctx, retry) {
			return nil
		}
		retry = min(2*retry, maxRetry)
	}
}

// announce closes ready when the cache has reached the revision the store had at the start.
func (c *Cache) announce(ctx context.Context, target int64) {
	if _, err := c.Wait(ctx, target); err == nil {
		c.began = target
		close(c.ready)
	}
}

// pause waits about d, and reports false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow applies the store's events until the watch expires, the cache is found wrong, ctx ends or the store
// closes. Other failures resume the watch where it was.
func (c *Cache) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.setRefill(func() { cancel(errInconsistent) })
	defer c.setRefill(nil)
	retry := minRetry
	for {
		err := c.store.Watch(ctx, c.prefix, c.snapshot.Load().revision, store.WatchOptions{}, func(b store.Batch) error {
			c.apply(b)
			if hook := c.options.Metrics.Progress; hook != nil && len(b.Events) == 0 {
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
		c.options.Logger.Warn("watch cache resumes its watch", "prefix", c.prefix, "err", err)
		if !pause(ctx, retry) {
			return context.Cause(ctx)
		}
		retry = min(2*retry, maxRetry)
	}
}

// list replaces the state by a list of the store, and returns the store's revision at
// that time, which may be later than the list's.
func (c *Cache) list(ctx context.Context) (int64, error) {
	current, err := c.store.Progress(ctx, c.prefix)
	if err != nil {
		return 0, err
	}
	at := int64(0)
	if c.store.Capabilities().Progress && c.options.Backfill > 0 && !c.doubted.Load() {
		at = max(1, current-c.options.Backfill)
	}
	items, revision, err := c.read(ctx, at)
	var expired *store.ExpiredError
	if errors.As(err, &expired) && at != 0 {
		if at = expired.Compacted; at >= current {
			at = 0
		}
		items, revision, err = c.read(ctx, at)
		if errors.As(err, &expired) {
			items, revision, err = c.read(ctx, 0)
		}
	}
	if err != nil {
		return 0, err
	}
	c.replace(items, revision)
	return current, nil
}

// read lists the store at a revision (zero: the current one) in pages of one revision. The next page is on
// its way while one is decoded.
func (c *Cache) read(ctx context.Context, at int64) (ordered.Map[*Object], int64, error) {
	type answer struct {
		store.ListResult
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan answer)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	tasks.Go(func() {
		defer close(pages)
		o := store.ListOptions{Limit: firstPage, Revision: at}
		for more := true; more; {
			page, err := c.store.List(ctx, c.prefix, o)
			if more = err == nil && page.More; more {
				o.After, o.Revision, o.Limit = page.Items[len(page.Items)-1].Key, page.Revision, nextPage(page.Items)
			}
			select {
			case pages <- answer{page, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	known := c.snapshot.Load()
	edit := ordered.Map[*Object]{}.Edit()
	revision := int64(0)
	for page := range pages {
		if page.err != nil {
			return ordered.Map[*Object]{}, 0, fmt.Errorf("cache: list %s: %w", c.prefix, page.err)
		}
		for _, obj := range c.objects(page.Items, known) {
			edit.Set(obj.Key, obj)
		}
		revision = page.Revision
	}
	if err := ctx.Err(); err != nil {
		return ordered.Map[*Object]{}, 0, err
	}
	items := edit.Map()
	c.listed(items.Len())
	return items, revision, nil
}

func (c *Cache) listed(objects int) {
	if hook := c.options.Metrics.Listed; hook != nil {
		hook(objects)
	}
}

// nextPage is how many keys like these make a page.
func nextPage(items []store.KV) int {
	bytes := 0
	for i := range items {
		bytes += len(items[i].Value)
	}
	return min(max(pageBytes/max(bytes/len(items), 1), firstPage), pageSize)
}

// objects decodes keys, on all processors if there are many.
func (c *Cache) objects(kvs []store.KV, known *Snapshot) []*Object {
	out := make([]*Object, len(kvs))
	decode := func(from, to int) {
		for i := from; i < to; i++ {
			if o, ok := known.Get(kvs[i].Key); ok && o.Revision == kvs[i].Revision {
				out[i] = o
			} else {
				out[i] = c.object(kvs[i])
			}
		}
	}
	const atOnce = 500
	if len(kvs) <= atOnce {
		decode(0, len(kvs))
		return out
	}
	var tasks sync.WaitGroup
	share := max(atOnce, (len(kvs)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for from := 0; from < len(kvs); from += share {
		tasks.Go(func() { decode(from, min(from+share, len(kvs))) })
	}
	tasks.Wait()
	return out
}

func (c *Cache) object(kv store.KV) *Object {
	o := newObject(c.prefix, kv)
	if c.options.Attributes == nil {
		return o
	}
	defer func() { o.labels = labelSetOf(o.Attrs.Labels) }()
	if attrs, ok := c.hints.take(kv.Key, kv.Value); ok {
		o.Attrs = attrs
		return o
	}
	if o.Attrs, o.Err = c.options.Attributes(kv); o.Err != nil {
		o.Attrs = Attrs{}
		if hook := c.options.Metrics.Unreadable; hook != nil {
			hook()
		}
		c.options.Logger.Error("stored object cannot be decoded", "key", kv.Key, "revision", kv.Revision, "err", o.Err)
	}
	return o
}

// replace starts history anew: a list may hide events, so every open watch expires.
func (c *Cache) replace(items ordered.Map[*Object], revision int64) {
	c.mu.Lock()
	c.epoch++
	next := &Snapshot{items: items, revision: revision, seq: c.log.last, epoch: c.epoch}
	c.log.reset(revision)
	c.recent = nil
	c.routed = revision
	c.trust(revision)
	done := c.publish(next)
	c.mu.Unlock()
	finish(done)
	c.routes.wakeAll()
	c.report(0, next)
}

// publish makes a snapshot current and returns the waits that it ends. Called with mu held.
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
	if hook := c.options.Metrics.Events; hook != nil && events > 0 {
		hook(events)
	}
	if hook := c.options.Metrics.Objects; hook != nil {
		hook(snap.Len())
	}
}

// apply makes a batch of events the current state and tells the watches.
func (c *Cache) apply(b store.Batch) {
	snap := c.snapshot.Load()
	if b.Revision < snap.revision {
		return // cannot happen with a store that keeps the contract
	}
	next := &Snapshot{items: snap.items, revision: b.Revision, seq: snap.seq, epoch: snap.epoch}
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
		next.items = edit.Map()
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
	obj.Key, obj.Namespace, obj.Name = prev.Key, prev.Namespace, prev.Name // one string for all versions
	obj.Attrs.share(&prev.Attrs)
	return &change{kind: Modified, obj: obj, prev: prev}
}
