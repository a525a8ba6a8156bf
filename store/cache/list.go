package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/ordered"
)

// Keys per list request: as many as make a few MiB, because a response is held whole, and copied, before it
// is decoded.
const (
	firstPage = 500
	pageSize  = 5000
	pageBytes = 4 << 20
)

// list replaces the state by a list of the store and returns the store's revision at that time. The list is
// up to Options.Backfill revisions older, so that watches from revisions in between find their events. It is
// never older than the snapshot it replaces, so that readers of Snapshot do not go back in time; consistent
// and at-least reads wait for the revision they need. An inconsistent cache is replaced by the newest state.
func (c *Cache) list(ctx context.Context) (int64, error) {
	current, err := c.storeRevision(ctx)
	if err != nil {
		return 0, err
	}
	if c.epoch == 0 && c.opts.Initial != nil { // only Run changes it
		c.replace(c.opts.Initial.items, c.opts.Initial.revision)
		c.listed(0)
		return current, nil
	}
	at := int64(0)
	if c.store.Capabilities().Progress && c.opts.Backfill > 0 && !c.inconsistent.Load() {
		at = max(1, current-c.opts.Backfill, c.snapshot.Load().revision)
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

// read lists the store at a revision (zero: the current one), all pages at the same one. A page is decoded
// while the next one is fetched.
func (c *Cache) read(ctx context.Context, at int64) (ordered.Map[*Object], int64, error) {
	type response struct {
		store.ListResult
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan response)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	tasks.Go(func() {
		defer close(pages)
		opts := store.ListOptions{Limit: firstPage, Revision: at}
		for more := true; more; {
			page, err := c.store.List(ctx, c.prefix, opts)
			if more = err == nil && page.More; more {
				opts.After, opts.Revision, opts.Limit = page.Items[len(page.Items)-1].Key, page.Revision, nextPage(page.Items)
			}
			select {
			case pages <- response{page, err}:
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
	if hook := c.opts.Metrics.Listed; hook != nil {
		hook(objects)
	}
}

// nextPage returns how many keys make a page if they are as large as these.
func nextPage(items []store.KV) int {
	bytes := 0
	for i := range items {
		bytes += len(items[i].Value)
	}
	return min(max(pageBytes/max(bytes/len(items), 1), firstPage), pageSize)
}

// objects decodes keys, on all processors if there are many. Objects that known has are reused.
func (c *Cache) objects(kvs []store.KV, known *Snapshot) []*Object {
	out := make([]*Object, len(kvs))
	decode := func(from, to int) {
		for i := from; i < to; i++ {
			if o, ok := known.Get(kvs[i].Key); ok && o.Revision == kvs[i].Revision && bytes.Equal(o.Value, kvs[i].Value) {
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
	if c.opts.Attributes == nil {
		return o
	}
	defer func() { o.labels = labelSetOf(o.Attrs.Labels) }()
	if attrs, ok := c.hints.take(kv.Key, kv.Value); ok {
		o.Attrs = attrs
		return o
	}
	if o.Attrs, o.Err = c.opts.Attributes(kv); o.Err != nil {
		o.Attrs = Attrs{}
		if hook := c.opts.Metrics.Unreadable; hook != nil {
			hook()
		}
		c.opts.Logger.Error("decoding a stored object failed", "key", kv.Key, "revision", kv.Revision, "err", o.Err)
	}
	return o
}
