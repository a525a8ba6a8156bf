package codec

import (
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// Copying a Pod is mostly allocating: some twenty pointers and slices. Objects
// of one workload have the same shape, that is, the same list of allocations.
// For shapes that come up again, a struct type that holds all of them is made, and a
// copy takes one block of that type. What it costs is that any part of a copy keeps
// the whole block alive, so blocks are small, and that types made at run time
// stay, so there are few.
const (
	maxShapes     = 32      // per type of object
	maxShapeBytes = 8 << 10 // of one block
	minShapeLen   = 4       // fewer allocations are not worth it
	maxShapeLen   = 48
)

// An allocation is a pointer's target (count 1), a slice's elements, or the smallMap of a map (count 1, or 0
// for one that is not small). It names the node by its number, so that noting one stores no pointer.
type allocation struct{ node, count uint32 }

func (n *node) allocation(count int) allocation { return allocation{n.number, uint32(count)} }

// A shape is the sequence of allocations that copying an object makes, in order.
type shape struct {
	allocs []allocation
	typ    reflect.Type
	parts  []shapePart // for each of allocs
}

// A shapePart says where in the block an allocation is.
type shapePart struct {
	n      *node // of one value
	offset uintptr
	model  reflect.Value // an addressable value of the type, or of an array of it, for valueAt
}

// shapeCache holds the shapes of one type of object.
type shapeCache struct {
	known atomic.Pointer[[]*shape]
	// strikes counts objects that matched nothing since the last that did; with too
	// many of them shapes are no longer looked for.
	strikes atomic.Int32

	mu   sync.Mutex
	once [64]uint32 // hashes seen once, by their low bits
}

const maxStrikes = 1000

// find returns the shape for a sequence of allocations, or nil. A sequence
// becomes a shape when it comes up the second time.
func (s *shapeCache) find(seq []allocation) *shape {
	known := s.known.Load()
	if known != nil {
		for _, sh := range *known {
			if slices.Equal(sh.allocs, seq) {
				if s.strikes.Load() != 0 {
					s.strikes.Store(0)
				}
				return sh
			}
		}
	}
	s.strikes.Add(1)
	if known != nil && len(*known) >= maxShapes {
		return nil
	}
	return s.learn(seq)
}

func (s *shapeCache) learn(seq []allocation) *shape {
	h := uint32(2166136261)
	for _, a := range seq {
		h = (h ^ a.count) * 16777619
		h = (h ^ a.node) * 16777619
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot := &s.once[h%uint32(len(s.once))]; *slot != h {
		*slot = h
		return nil
	}
	var list []*shape
	if known := s.known.Load(); known != nil {
		list = slices.Clone(*known)
	}
	if len(list) >= maxShapes || slices.ContainsFunc(list, func(sh *shape) bool { return slices.Equal(sh.allocs, seq) }) {
		return nil
	}
	sh := newShape(seq)
	list = append(list, sh)
	s.known.Store(&list)
	return sh
}

func newShape(seq []allocation) *shape {
	sh := &shape{allocs: slices.Clone(seq)}
	nodes, fields := shared.numbered(), make([]reflect.StructField, len(seq))
	for i, a := range seq {
		t := nodes[a.node].typ
		if a.count != 1 {
			t = reflect.ArrayOf(int(a.count), t)
		}
		fields[i] = reflect.StructField{Name: "F" + strconv.Itoa(i), Type: t}
	}
	sh.typ = reflect.StructOf(fields)
	model := reflect.New(sh.typ).Elem()
	for i, a := range seq {
		sh.parts = append(sh.parts, shapePart{nodes[a.node], sh.typ.Field(i).Offset, model.Field(i)})
	}
	return sh
}
