package registry

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
)

// Counts returns the number of stored objects of each resource, from its watch cache if that is running, else
// from the store; -1 if that fails.
func (r *Registry) Counts(ctx context.Context) map[schema.GroupResource]int64 {
	out := map[schema.GroupResource]int64{}
	for _, res := range r.table.Load().resources {
		if _, known := out[res.gr]; known {
			continue
		}
		if n := res.Cached(); n > 0 {
			out[res.gr] = int64(n)
			continue
		}
		list, err := r.store.List(ctx, res.prefix, store.ListOptions{Limit: 1})
		if err != nil {
			out[res.gr] = -1
			continue
		}
		out[res.gr] = int64(len(list.Items)) + list.Remaining
	}
	return out
}

// CacheState describes a running watch cache.
type CacheState struct {
	Resource schema.GroupResource
	// Revision is that of the cache, Bytes the size of the stored objects in it.
	Revision, Bytes int64
	// Capacity is the number of changes that the cache may keep.
	Capacity int
}

// Caches returns the state of the running watch caches that have caught up, in no order. Its cost is linear
// in the number of objects.
func (r *Registry) Caches() []CacheState {
	var out []CacheState
	seen := map[*watched]bool{}
	for _, res := range r.table.Load().resources {
		w := res.watched
		if seen[w] {
			continue
		}
		seen[w] = true
		c := w.ready()
		if c == nil {
			continue
		}
		snap := c.Snapshot()
		state := CacheState{Resource: w.source.gr, Revision: snap.Revision(), Capacity: c.Capacity()}
		for o := range snap.Range("", "") {
			state.Bytes += int64(len(o.Value))
		}
		out = append(out, state)
	}
	return out
}
