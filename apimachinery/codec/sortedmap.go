package codec

import (
	"slices"
	"strings"
	"unsafe"
)

// An entry is an entry of a map.
type entry[V any] struct {
	key   string
	value V
}

// A sorter lists entries of maps that are not small. The zero value is ready.
type sorter[V any] struct {
	copies []entry[V]
	sorted []*entry[V]
}

// A shortList has room for the entries of a small map. It is made on the stack, where storing a pointer costs
// nothing while the collector runs.
type shortList[V any] [smallMapRoom]*entry[V]

// entries returns the entries of m in key order, to be looked at before m changes. Most maps have a handful,
// which are sorted by insertion and, if the map is small, where they are. Others are copied; forget drops the
// copies.
func (s *sorter[V]) entries(few *shortList[V], m map[string]V) []*entry[V] {
	if h := smallMapAt(unsafe.Pointer(&m)); h != nil {
		slots, n := (*mapSlots[V])(h.slots), 0
		for i, control := 0, slots.control; i < smallMapRoom; i, control = i+1, control>>8 {
			if control&(emptySlots&0xff) != 0 {
				continue
			}
			e, at := &slots.slots[i], n
			for at > 0 && e.key < few[at-1].key {
				few[at] = few[at-1]
				at--
			}
			few[at] = e
			n++
		}
		return few[:n]
	}
	s.copies, s.sorted = slices.Grow(s.copies[:0], len(m)), s.sorted[:0]
	for k, v := range m {
		s.copies = append(s.copies, entry[V]{k, v})
	}
	for i := range s.copies {
		s.sorted = append(s.sorted, &s.copies[i])
	}
	slices.SortFunc(s.sorted, func(x, y *entry[V]) int { return strings.Compare(x.key, y.key) })
	return s.sorted
}

// forget keeps nothing of a map alive, only room.
func (s *sorter[V]) forget() {
	clear(s.copies)
	s.copies = s.copies[:0]
	clear(s.sorted)
	s.sorted = s.sorted[:0]
}

// large says that the room is more than what is worth keeping.
func (s *sorter[V]) large() bool { return cap(s.copies) > 512 }
