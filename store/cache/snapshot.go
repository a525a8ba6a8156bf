package cache

import (
	"bytes"
	"iter"

	"github.com/keelson-dev/keelson/store/internal/ordered"
)

// Snapshot is the state under the cache's prefix at one revision: immutable, ordered by
// key, safe for any number of readers for as long as they hold it.
type Snapshot struct {
	items    ordered.Map[*Object]
	revision int64
	changed  int64 // the revision of the last change in it; revision where that is not known
	seq      int64 // of the last change in it
	// Counts the lists of the store; -1 for a state read past the cache, whose seq is its revision.
	epoch int64
}

// State names a content: two snapshots of one cache with the same State hold the same objects, whatever their
// revisions.
type State struct{ epoch, seq int64 }

// fromStore returns a snapshot of a state that was read from the store and not derived from events.
func fromStore(items ordered.Map[*Object], revision int64) *Snapshot {
	return &Snapshot{items: items, revision: revision, changed: revision, seq: revision, epoch: -1}
}

// State names the content of the snapshot.
func (s *Snapshot) State() State { return State{s.epoch, s.seq} }

// Cached reports whether the snapshot is one that the cache had; otherwise it was read from the store.
func (s *Snapshot) Cached() bool { return s.epoch >= 0 }

// Revision returns the store's revision whose state this is.
func (s *Snapshot) Revision() int64 { return s.revision }

// Changed returns a revision, at most Revision, after which nothing under the prefix has changed up to
// Revision: that of the last change, or a later one where that is not known.
func (s *Snapshot) Changed() int64 { return s.changed }

// Len returns the number of objects.
func (s *Snapshot) Len() int { return s.items.Len() }

// Get returns the object with that key of the store.
func (s *Snapshot) Get(key string) (*Object, bool) { return s.items.Get(key) }

// Range iterates in ascending order over the objects whose keys begin with prefix and
// are above after; an empty after starts at the first.
func (s *Snapshot) Range(prefix, after string) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		from, to, ok := ordered.Bounds(prefix, after)
		if !ok {
			return
		}
		s.items.Range(from, to)(func(_ string, o *Object) bool { return yield(o) })
	}
}

// Changes iterates, in ascending order of keys, over the objects that differ from those of an older or newer
// snapshot of the same cache: before is nil for a new key, after for a deleted one. Without an old
// snapshot every object is new. The cost is proportional to the changes between the two, unless the cache has
// listed its store in between.
func (s *Snapshot) Changes(old *Snapshot) iter.Seq2[*Object, *Object] {
	var from ordered.Map[*Object]
	if old != nil {
		from = old.items
	}
	return func(yield func(before, after *Object) bool) {
		for c := range s.items.Changes(from, unchanged) {
			if !yield(c.Old, c.New) {
				return
			}
		}
	}
}

// unchanged reports whether two states of a key are the same: a store restored from a backup may use a
// revision twice.
func unchanged(a, b *Object) bool {
	return a == b || a.Revision == b.Revision && a.CreateRevision == b.CreateRevision && bytes.Equal(a.Value, b.Value)
}

// Count returns the number of objects that Range would visit, without visiting them.
func (s *Snapshot) Count(prefix, after string) int {
	from, to, ok := ordered.Bounds(prefix, after)
	if !ok {
		return 0
	}
	return s.items.Count(from, to)
}
