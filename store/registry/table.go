package registry

import (
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// Table is the set of resources at one time. It is immutable and may be used concurrently.
type Table struct {
	generation int64
	at         map[schema.GroupVersionResource]int // in resources
	resources  []*Resource
	caches     []*watched
}

// index is what tables of equal resources have in common.
type index struct {
	gvrs     []schema.GroupVersionResource
	prefixes []string // of the keys in the store
	at       map[schema.GroupVersionResource]int
	stores   []int // by row: the number of the prefix
	caches   int   // how many prefixes there are
}

// lastIndex is that with which a registry began last: most registries of a program begin with the same
// resources, and to index them is a tenth of a start.
var lastIndex atomic.Pointer[index]

// indexOf returns the index of the resources of a new registry; ok is false if one is there twice.
func indexOf(all []*Resource) (x *index, ok bool) {
	if x = lastIndex.Load(); x != nil && x.is(all) {
		return x, true
	}
	x = &index{at: make(map[schema.GroupVersionResource]int, len(all))}
	first := make(map[string]int, len(all))
	for i, res := range all {
		x.at[res.info.GVR] = i
		x.gvrs, x.prefixes = append(x.gvrs, res.info.GVR), append(x.prefixes, res.prefix)
		store, shared := first[res.prefix]
		if !shared {
			store = len(first)
			first[res.prefix] = store
		}
		x.stores = append(x.stores, store)
	}
	x.caches = len(first)
	if len(x.at) < len(all) {
		return nil, false
	}
	lastIndex.Store(x)
	return x, true
}

// is reports whether x is the index of the resources, in their order.
func (x *index) is(all []*Resource) bool {
	return slices.EqualFunc(x.gvrs, all, func(gvr schema.GroupVersionResource, res *Resource) bool { return gvr == res.info.GVR }) &&
		slices.EqualFunc(x.prefixes, all, func(prefix string, res *Resource) bool { return prefix == res.prefix })
}

// with returns the next generation of t, in which the added resources are in the place of those of their
// version, and stops the caches that they replace.
func (t *Table) with(added []*Resource) *Table {
	if len(t.resources) == 0 {
		if x, ok := indexOf(added); ok {
			return t.first(x, added)
		}
	}
	next := &Table{generation: t.generation + 1, at: maps.Clone(t.at), resources: slices.Clone(t.resources), caches: slices.Clone(t.caches)}
	if next.at == nil {
		next.at = map[schema.GroupVersionResource]int{}
	}
	for _, res := range added {
		next.assignCache(res)
		if row, ok := next.at[res.info.GVR]; ok {
			next.resources[row] = res
			continue
		}
		next.at[res.info.GVR] = len(next.resources)
		next.resources = append(next.resources, res)
	}
	return next
}

// first returns the first generation with resources, which have an index.
func (t *Table) first(x *index, all []*Resource) *Table {
	next := &Table{generation: t.generation + 1, at: x.at, resources: all, caches: make([]*watched, x.caches)}
	made := make([]watched, x.caches) // together, which saves most of the allocations of a start
	for i, res := range all {
		store := x.stores[i]
		if next.caches[store] == nil {
			made[store].init(res, next.generation)
			next.caches[store] = &made[store]
		}
		res.watched = next.caches[store]
	}
	return next
}

// assignCache gives a resource the cache of its prefix. A cache that keeps other fields than the resource
// selects by is replaced, which ends its watches, unless it was made for the same generation.
func (t *Table) assignCache(res *Resource) {
	at := slices.IndexFunc(t.caches, func(w *watched) bool { return w.source.prefix == res.prefix })
	if at >= 0 {
		if w := t.caches[at]; w.generation == t.generation || slices.Equal(w.fields, res.keptFields()) {
			res.watched = w
			return
		}
		t.caches[at].stop()
	} else {
		at = len(t.caches)
		t.caches = append(t.caches, nil)
	}
	res.watched = new(watched)
	res.watched.init(res, t.generation)
	t.caches[at] = res.watched
}

// without returns the next generation of t without the resources, and stops the caches that only they used.
func (t *Table) without(gvrs []schema.GroupVersionResource) *Table {
	next := &Table{generation: t.generation + 1, at: map[schema.GroupVersionResource]int{}}
	used := map[string]bool{}
	for _, res := range t.resources {
		if !slices.Contains(gvrs, res.info.GVR) {
			next.at[res.info.GVR] = len(next.resources)
			next.resources = append(next.resources, res)
			used[res.prefix] = true
		}
	}
	for _, w := range t.caches {
		if used[w.source.prefix] {
			next.caches = append(next.caches, w)
		} else {
			w.stop()
		}
	}
	return next
}

// Generation changes with every Add and Remove.
func (t *Table) Generation() int64 { return t.generation }

// Row returns the number of a resource in the table, and false if it is not served.
func (t *Table) Row(gvr schema.GroupVersionResource) (row int, ok bool) {
	row, ok = t.at[gvr]
	return row, ok
}

// Resource returns the resource of that version, or nil.
func (t *Table) Resource(gvr schema.GroupVersionResource) *Resource {
	if row, ok := t.at[gvr]; ok {
		return t.resources[row]
	}
	return nil
}

// Len returns the number of resources.
func (t *Table) Len() int { return len(t.resources) }

// All yields the resources with their rows, in order.
func (t *Table) All() iter.Seq2[int, *Resource] { return slices.All(t.resources) }
