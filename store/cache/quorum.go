package cache

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/ordered"
)

// deletionPatience is how long a read of the store waits for the watch to report deletions before it reads
// everything.
const deletionPatience = 100 * time.Millisecond

// quorum returns a state that includes every write acknowledged before the call, read from the store: for
// stores that cannot report progress, and for a cache whose watch has failed. Concurrent callers share a
// read, and its result is reused until the store's revision changes.
func (c *Cache) quorum(ctx context.Context) (*Snapshot, error) {
	revision, err := c.revision(ctx)
	if err != nil {
		return nil, err
	}
	if snap := c.latest(); snap.revision >= revision && !c.inconsistent.Load() {
		return snap, nil
	}
	return c.through.do(ctx, c.readThrough)
}

// revision is storeRevision, with concurrent callers sharing a call to a remote store.
func (c *Cache) revision(ctx context.Context) (int64, error) {
	if !c.store.Capabilities().Remote {
		return c.storeRevision(ctx)
	}
	return c.progress.do(ctx, c.storeRevision)
}

// latest returns the newest state there is: that of the watch, or one read from the store since.
func (c *Cache) latest() *Snapshot {
	snap := c.snapshot.Load()
	if past := c.past.Load(); past != nil && past.revision > snap.revision {
		return past
	}
	return snap
}

// readThrough reads from the store what has changed since the latest state, as one linearizable read, and
// combines the two into the current state.
//
// That is correct without any report of progress. Let S be the exact state at r, D the keys written after r
// as they are at H, and n the number of keys at H. A key that exists at H was written after r, and is in D,
// or was not, and is then in S as it is now. So the keys at H are among those of S with D put over it; if
// those are n as well, none of them is missing, and S with D is the state at H. They are more than n only
// where keys of S were deleted. The watch soon reports which, and any later state of it may take the place of
// S.
func (c *Cache) readThrough(ctx context.Context) (*Snapshot, error) {
	epoch := c.snapshot.Load().epoch // first
	known := c.latest()
	if known.revision == 0 || c.inconsistent.Load() {
		return c.readAll(ctx)
	}
	page, err := c.store.List(ctx, c.prefix, store.ListOptions{Since: known.revision, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	if page.More {
		return c.readAll(ctx)
	}
	c.listed(len(page.Items))
	changed := c.objects(page.Items, known)
	deadline, cancel := context.WithTimeout(ctx, deletionPatience)
	defer cancel()
	for {
		if snap := merge(known, changed, page); snap != nil {
			c.keep(snap, epoch)
			return snap, nil
		}
		reached, next := c.await(max(known.revision, c.snapshot.Load().revision) + 1)
		if reached != nil {
			select {
			case <-reached:
				next = c.snapshot.Load()
			case <-c.stopped:
				c.forget(reached)
				return nil, ErrStopped
			case <-deadline.Done():
				c.forget(reached)
				return c.readAll(ctx)
			}
		}
		if known = next; known.revision >= page.Revision {
			return known, nil
		}
	}
}

// merge applies changed objects to a state and returns the state of the store, or nil if that would have too
// many keys.
func merge(known *Snapshot, changed []*Object, page store.ListResult) *Snapshot {
	items, edit := known.items, (*ordered.Editor[*Object])(nil)
	for _, o := range changed {
		if old, ok := known.Get(o.Key); ok && old.Revision == o.Revision {
			continue
		}
		if edit == nil {
			edit = known.items.Edit()
		}
		edit.Set(o.Key, o)
	}
	if edit != nil {
		items = edit.Map()
	}
	switch {
	case int64(items.Len()) != page.Total:
		return nil
	case edit == nil:
		return &Snapshot{items: items, revision: page.Revision, changed: known.changed, seq: known.seq, epoch: known.epoch}
	default:
		return fromStore(items, page.Revision)
	}
}

// readAll reads everything; objects that the cache has are reused.
func (c *Cache) readAll(ctx context.Context) (*Snapshot, error) {
	epoch := c.snapshot.Load().epoch
	items, revision, err := c.read(ctx, 0)
	if err != nil {
		return nil, err
	}
	snap := fromStore(items, revision)
	c.keep(snap, epoch)
	return snap, nil
}

// keep stores a state read from the store until the watch has passed it. epoch is that of the cache when the
// read began: a state derived from a cache that was found inconsistent since is not kept.
func (c *Cache) keep(snap *Snapshot, epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inconsistent.Load() || c.epoch != epoch {
		return
	}
	if past := c.past.Load(); snap.revision > c.snapshot.Load().revision && (past == nil || snap.revision > past.revision) {
		c.past.Store(snap)
	}
}
