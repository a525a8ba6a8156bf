package codec

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// A sorter lists the entries of maps in key order. The zero value is ready.
type sorter[V any] struct {
	copies []mem.MapEntry[V]
	sorted []*mem.MapEntry[V]
}

// entries returns the entries of m in key order, to be read before m changes. Most maps have a handful, which
// are not moved, see [mem.SmallMapEntries]. Others are copied; forget drops the copies.
func (s *sorter[V]) entries(few *mem.SmallMapEntries[V], m map[string]V) []*mem.MapEntry[V] {
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

// forget drops the entries and keeps the capacity.
func (s *sorter[V]) forget() {
	clear(s.copies)
	s.copies = s.copies[:0]
	clear(s.sorted)
	s.sorted = s.sorted[:0]
}

// large reports whether the sorter is too large to be kept.
func (s *sorter[V]) large() bool { return cap(s.copies) > 512 }
