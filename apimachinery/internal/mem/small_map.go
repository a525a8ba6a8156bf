package mem

import (
	"math/rand/v2"
	"strconv"
)

// SmallMapsKnown says that small maps are laid out as [SmallMap]. It is false for Go versions whose runtime
// was not read, see map_layout_go126.go. Otherwise it is what the runtime's own maps were found to be.
var SmallMapsKnown = smallMapsRead && checkSmallMaps()

// SmallMapLen is how many entries a small map holds at most.
const SmallMapLen = 8

// A SmallMap is the memory of a map with string keys and up to SmallMapLen entries. The runtime allocates it
// in two parts, a header and a group of slots. With its layout known, both can be part of a larger
// allocation. It is an ordinary map from then on: the runtime puts small maps on the stack in the same way,
// and moves one that outgrows its slots elsewhere.
//
// The four maps of an ordinary Pod are eight of the ten allocations that are left when its other parts share
// one block: without this codec's BenchmarkDeepCopy takes 14% longer, BenchmarkDecodeProtobuf 9% and, because
// the entries are not sorted where they are, BenchmarkEncodeProtobuf 12%.
type SmallMap[V any] struct {
	header MapHeader
	slots  mapSlots[V]
}

// A MapHeader is what a map variable points to.
type MapHeader struct {
	used uint64
	seed uintptr
	// slots are those of a small map, else a directory of tables, whose length is not 0.
	slots     Pointer
	directory int

	_       [2]uint8 // of large maps: the depth of the directory and its shift
	writing uint8
	_       bool   // a large map has deleted slots
	_       uint64 // how often the map was cleared
}

// mapSlots are the slots of a map and, in a byte each, what is in them.
type mapSlots[V any] struct {
	control uint64
	slots   [SmallMapLen]MapEntry[V]
}

// A MapEntry is an entry of a map.
type MapEntry[V any] struct {
	Key   string
	Value V
}

// emptySlots is the control word of slots without entries: the high bit of a byte says that there is none.
const emptySlots = 0x8080808080808080

// Init makes the zero memory at m an empty map.
func (m *SmallMap[V]) Init() map[string]V {
	m.header.seed = uintptr(rand.Uint64())
	m.header.slots = Pointer(&m.slots)
	m.slots.control = emptySlots
	h := &m.header
	return *(*map[string]V)(Pointer(&h))
}

// InitCopy makes the zero memory at m a copy of the small map from, which has entries of type V.
func (m *SmallMap[V]) InitCopy(from *MapHeader) map[string]V {
	m.header.used, m.header.seed = from.used, from.seed
	m.slots = *(*mapSlots[V])(from.slots)
	m.header.slots = Pointer(&m.slots)
	h := &m.header
	return *(*map[string]V)(Pointer(&h))
}

// SmallMapAt is the header of the map at p; nil if it is not a small one, has no slots yet, or small maps are
// not known.
func SmallMapAt(p Pointer) *MapHeader {
	if !SmallMapsKnown {
		return nil
	}
	return smallMapAt(p)
}

func smallMapAt(p Pointer) *MapHeader {
	h := *(**MapHeader)(p)
	if h == nil || h.directory != 0 || h.slots == nil || h.writing != 0 {
		return nil
	}
	return h
}

// SmallMapEntries has room for the entries of a small map. It is made on the stack, where storing a pointer
// costs nothing while the collector runs.
type SmallMapEntries[V any] [SmallMapLen]*MapEntry[V]

// Sorted returns the entries of m in key order, to be read before m changes; ok is false if it is not a small
// map. They are sorted by insertion, where they are.
func (few *SmallMapEntries[V]) Sorted(m map[string]V) (entries []*MapEntry[V], ok bool) {
	h := SmallMapAt(Pointer(&m))
	if h == nil {
		return nil, false
	}
	slots, n := (*mapSlots[V])(h.slots), 0
	for i, control := 0, slots.control; i < SmallMapLen; i, control = i+1, control>>8 {
		if control&(emptySlots&0xff) != 0 {
			continue
		}
		e, at := &slots.slots[i], n
		for at > 0 && e.Key < few[at-1].Key {
			few[at] = few[at-1]
			at--
		}
		few[at] = e
		n++
	}
	return few[:n], true
}

// checkSmallMaps compares the runtime's maps with a SmallMap, entry by entry, and uses one that was made here
// as a map, until it has outgrown its slots.
func checkSmallMaps() bool {
	theirs := make(map[string]checkedEntry)
	for i := range SmallMapLen {
		key, value := strconv.Itoa(i), checkedEntry{int64(i), &nothing}
		theirs[key] = value
		h := smallMapAt(Pointer(&theirs))
		if h == nil || *h != (MapHeader{used: uint64(i + 1), seed: h.seed, slots: h.slots}) {
			return false
		}
		s := (*mapSlots[checkedEntry])(h.slots)
		if s.control&emptySlots != emptySlots<<(8*(i+1)) || s.slots[i] != (MapEntry[checkedEntry]{key, value}) {
			return false
		}
	}
	ours := new(SmallMap[checkedEntry]).InitCopy(smallMapAt(Pointer(&theirs)))
	made := new(SmallMap[checkedEntry]).Init()
	for i := range 2 * SmallMapLen {
		key, value := strconv.Itoa(i), checkedEntry{int64(i), &nothing}
		ours[key], made[key], theirs[key] = value, value, value
		if len(made) != i+1 || made[key] != value || ours[key] != value {
			return false
		}
	}
	if smallMapAt(Pointer(&theirs)) != nil || smallMapAt(Pointer(&made)) != nil {
		return false
	}
	found := 0
	for key, value := range made {
		if theirs[key] != value || ours[key] != value {
			return false
		}
		found++
	}
	return found == len(theirs) && found == len(ours)
}

// checkedEntry has the size of a quantity and holds a pointer.
type checkedEntry struct {
	n int64
	p *[0]byte
}
