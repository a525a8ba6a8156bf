package plan

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// A Sorter lists the entries of maps in key order. The zero value is ready.
type Sorter[V any] struct {
	copies []mem.MapEntry[V]
	sorted []*mem.MapEntry[V]
}

// Entries returns the entries of m in key order, to be read before m changes. The entries of small maps are
// read in place, see [mem.SmallMapEntries]. Others are copied; Forget drops the copies.
func (s *Sorter[V]) Entries(few *mem.SmallMapEntries[V], m map[string]V) []*mem.MapEntry[V] {
	if sorted, ok := few.Sorted(m); ok {
		return sorted
	}
	s.copies, s.sorted = slices.Grow(s.copies[:0], len(m)), s.sorted[:0]
	for k, v := range m {
		s.copies = append(s.copies, mem.MapEntry[V]{Key: k, Value: v})
	}
	for i := range s.copies {
		s.sorted = append(s.sorted, &s.copies[i])
	}
	slices.SortFunc(s.sorted, func(x, y *mem.MapEntry[V]) int { return strings.Compare(x.Key, y.Key) })
	return s.sorted
}

// Forget drops the entries and keeps the capacity.
func (s *Sorter[V]) Forget() {
	clear(s.copies)
	s.copies = s.copies[:0]
	clear(s.sorted)
	s.sorted = s.sorted[:0]
}

// Large reports whether the sorter is too large for a pool.
func (s *Sorter[V]) Large() bool { return cap(s.copies) > 512 }
