package registry

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
)

// Counts returns the number of stored objects of each resource: from the watch caches that run, else from the store. What could not be
// counted is -1.
func (r *Registry) Counts(ctx context.Context) map[schema.GroupResource]int64 {
	out := map[schema.GroupResource]int64{}
	for _, res := range r.table.Load().byGVR {
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
