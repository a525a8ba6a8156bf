package codec

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"unsafe"

	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// A smallMap is the memory of a map with string keys and up to smallMapRoom
// entries. The runtime allocates it in two parts, a header and a group of slots,
// which for the four maps of an ordinary Pod is most of what is left to allocate
// once other parts come from one block (see slab and survey). With its layout known
// a map is part of the block as well. It is an ordinary map from then on: the runtime itself puts
// small maps on the stack in the same way, and lets one that outgrows its slots move elsewhere.
//
// The layout is that of the Go versions named in maplayout_go126.go, and tested by
// TestSmallMapsAreMaps; with others the codec allocates maps as everybody does.
type smallMap[V any] struct {
	header mapHeader
	slots  mapSlots[V]
}

// smallMapRoom is how many entries a group of slots holds.
const smallMapRoom = 8

// mapHeader is what a map variable points to.
type mapHeader struct {
	used uint64
	seed uintptr
	// slots are those of a small map, else a directory of tables, whose length is not 0.
	slots     unsafe.Pointer
	directory int

	globalDepth, globalShift, writing uint8
	deleted                           bool
	cleared                           uint64
}

// mapSlots are the slots of a map and, in a byte each, what is in them.
type mapSlots[V any] struct {
	control uint64
	slots   [smallMapRoom]entry[V]
}

const emptySlots = 0x8080808080808080

var (
	textMapType     = reflect.TypeFor[smallMap[string]]()
	quantityMapRoom = reflect.TypeFor[smallMap[resource.Quantity]]()
)

// asMap makes the zero memory at m an empty map.
func (m *smallMap[V]) asMap() map[string]V {
	m.header.seed = uintptr(rand.Uint64())
	m.header.slots = unsafe.Pointer(&m.slots)
	m.slots.control = emptySlots
	h := &m.header
	return *(*map[string]V)(unsafe.Pointer(&h))
}

// asCopy makes the zero memory at m a copy of from, which is small.
func (m *smallMap[V]) asCopy(from *mapHeader) {
	m.header.used, m.header.seed = from.used, from.seed
	m.slots = *(*mapSlots[V])(from.slots)
	m.header.slots = unsafe.Pointer(&m.slots)
}

// smallMapAt is the header of the map at p; nil if it has no slots or more than a smallMap.
func smallMapAt(p unsafe.Pointer) *mapHeader {
	if !mapLayoutKnown {
		return nil
	}
	h := *(**mapHeader)(p)
	if h == nil || h.directory != 0 || h.slots == nil || h.writing != 0 {
		return nil
	}
	return h
}

// copyMap makes the zero memory at dst, of the type room, a copy of the small map from.
func (room *node) copyMap(dst unsafe.Pointer, from *mapHeader) {
	if room.typ == textMapType {
		(*smallMap[string])(dst).asCopy(from)
	} else {
		(*smallMap[resource.Quantity])(dst).asCopy(from)
	}
}

// newMap makes an empty map of type n, in the slab if there is room. The ticket is for filled.
func newMap[V any](s *slab, n *node) (m map[string]V, ticket int) {
	if s == nil || n.room == nil {
		return map[string]V{}, -1
	}
	p, room, ticket := s.take(n.room)
	if room == 0 {
		return map[string]V{}, ticket
	}
	return (*smallMap[V])(p).asMap(), ticket
}

// filled notes how many entries became of a map that newMap made. No room is kept for one that needs none or
// more.
func (s *slab) filled(ticket, entries int) {
	if entries == 0 || entries > smallMapRoom {
		s.counted(ticket, 0)
	}
}

// cloneMap copies the map at src to dst.
func cloneMap[V any](dst, src unsafe.Pointer) {
	*(*map[string]V)(dst) = maps.Clone(*(*map[string]V)(src))
}
