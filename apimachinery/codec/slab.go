package codec

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// A slab hands out the memory for the pointers and slices of one object while
// it is decoded. Objects that follow each other often have one shape (see
// copyshape.go); after two of one shape the next is expected to have it as well, and
// its parts are taken from one block. Where the expectation fails, parts are
// allocated one by one from there on and the rest of the block is lost.
type slab struct {
	expected *expectation
	shape    *shape // nil: nothing is expected, or no longer
	block    unsafe.Pointer

	// What was asked for; len is over maxShapeLen once that is too much for a block.
	seq [maxShapeLen]allocation
	len int

	outer *slab // of the object around this one
}

// expectation is what a decoder expects of objects of one type.
type expectation struct {
	shapes shapeCache
	next   atomic.Pointer[shape] // the last two had this shape, and so should the next
	last   atomic.Pointer[shape] // the last one's, if next is nil
}

// objectPlan belongs to types that are API objects: structs with metadata. The
// order of allocations is another in each encoding.
type objectPlan struct{ json, proto expectation }

// open starts the slab of an object that lies within that of outer, which may be nil.
func (c *planCache) open(e *expectation, outer *slab) *slab {
	s, ok := c.slabs.Get().(*slab)
	if !ok {
		s = &slab{}
	}
	s.expected, s.outer, s.len = e, outer, 0
	if s.shape = e.next.Load(); s.shape != nil {
		s.block = newOf(s.shape.typ)
	}
	return s
}

// close ends the slab of an object that was decoded and returns the outer one.
// After an error a slab is left to the collector.
func (c *planCache) close(s *slab) *slab {
	s.expected.met(s.seq[:min(s.len, maxShapeLen)], s.len <= maxShapeLen)
	outer := s.outer
	s.expected, s.shape, s.block, s.outer = nil, nil, nil, nil
	c.slabs.Put(s)
	return outer
}

// take returns zeroed memory for one or more values of type n, and for how
// many; nil if there is none in the block. The ticket is for counted.
func (s *slab) take(n *node) (p unsafe.Pointer, room, ticket int) {
	if s.len >= maxShapeLen {
		s.len, s.shape = maxShapeLen+1, nil
		return nil, 0, -1
	}
	ticket = s.len
	s.seq[ticket] = n.allocation(1)
	s.len++
	if s.shape == nil {
		return nil, 0, ticket
	}
	if ticket >= len(s.shape.allocs) || s.shape.allocs[ticket].node != n.number {
		s.shape = nil
		return nil, 0, ticket
	}
	return unsafe.Add(s.block, s.shape.parts[ticket].offset), int(s.shape.allocs[ticket].count), ticket
}

// counted notes how many values became of the memory that take was asked for.
func (s *slab) counted(ticket, count int) {
	if ticket >= 0 { // only if there is a slab
		s.seq[ticket].count = uint32(min(count, maxShapeBytes+1)) // more do not fit a block anyway
	}
}

// met learns from the allocations of an object; they are not all if it was not small.
func (e *expectation) met(seq []allocation, small bool) {
	next := e.next.Load()
	if small && next != nil && slices.Equal(next.allocs, seq) {
		return
	}
	var found *shape
	if small && len(seq) >= minShapeLen && blockBytes(seq) <= maxShapeBytes && e.shapes.strikes.Load() <= maxStrikes {
		found = e.shapes.find(seq)
	}
	if next != nil {
		e.next.Store(nil)
	} else if found != nil && e.last.Load() == found {
		e.next.Store(found)
	}
	e.last.Store(found)
}

func blockBytes(seq []allocation) (size uintptr) {
	nodes := shared.numbered()
	for _, a := range seq {
		if a.count > maxShapeBytes {
			return maxShapeBytes + 1
		}
		size += nodes[a.node].size * uintptr(a.count)
	}
	return size
}

// newPart allocates a zero value of type n, in the slab if there is room.
func (s *slab) newPart(n *node) unsafe.Pointer {
	if s != nil && n.size > 0 {
		if p, _, _ := s.take(n); p != nil {
			return p
		}
	}
	return n.newValue()
}

// firstParts gives the empty slice h room for elements of type n if the slab has it.
func (s *slab) firstParts(n *node, h *sliceHeader) (ticket int) {
	if s == nil || n.size == 0 {
		return -1
	}
	p, room, ticket := s.take(n)
	if p != nil {
		*h = sliceHeader{p, 0, room}
	}
	return ticket
}
