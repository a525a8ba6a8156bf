package codec

import (
	"unsafe"
)

// A survey is what a copy will consist of: the parts that lie in a block, in the
// order in which they were met, and the rest. It is taken in one walk of the
// source, and it is a list, so that making the copy is a loop: move a part, and let
// what refers to it refer to its copy. The survey lives on the stack.
type survey struct {
	seq  [maxShapeLen]allocation     // the parts, as a shape knows them; the first is the object itself
	from [maxShapeLen]unsafe.Pointer // where they are in the source
	refs [maxShapeLen]reference      // what refers to them
	len  int
	size uintptr

	rest    [maxRest]remainder
	restLen int
}

// maxRest is how many fields of one object may need more than the loop.
const maxRest = 16

// A place is an offset in a part.
type place struct {
	off  uint32
	part uint32
}

// A reference is the place that refers to a part.
type reference struct {
	place
	kind referenceKind
}

type referenceKind uint8

const (
	toOne   referenceKind = iota // a pointer
	toMany                       // a slice
	toSlots                      // a map
)

// A remainder is a value at a place that copier.fix must see to: empty slices,
// bytes, interfaces, maps that are not small, types with methods of their own.
type remainder struct {
	n *node
	place
}

// add notes a part and returns its index, or -1 when the copy is too large for a block.
func (s *survey) add(n *node, count int, from unsafe.Pointer, kind referenceKind, at place) int {
	k := s.len
	if k == maxShapeLen || count > maxShapeBytes {
		return -1
	}
	if s.size += n.size * uintptr(count); s.size > maxShapeBytes {
		return -1
	}
	s.seq[k], s.from[k], s.refs[k] = n.allocation(count), from, reference{at, kind}
	s.len++
	return k
}

func (s *survey) remains(n *node, at place) bool {
	if s.restLen == maxRest {
		return false
	}
	s.rest[s.restLen] = remainder{n, at}
	s.restLen++
	return true
}

func (s *survey) at(p place) unsafe.Pointer { return unsafe.Add(s.from[p.part], p.off) }

// value notes what the value of type n at the place refers to. It reports false when there is too much for a
// block.
func (s *survey) value(n *node, at place) bool {
	src := s.at(at)
	if n.copy.how == copyFields {
		for i, off := range n.copy.words {
			if *(*unsafe.Pointer)(unsafe.Add(src, off)) != nil && !s.value(n.copy.fixes[i].n, place{at.off + off, at.part}) {
				return false
			}
		}
		for _, f := range n.copy.fixes[len(n.copy.words):] {
			if !s.value(f.n, place{at.off + f.off, at.part}) {
				return false
			}
		}
		return true
	}
	if n.copy.how != copyByOp {
		return s.remains(n, at)
	}
	switch n.op {
	case opPtr:
		q := *(*unsafe.Pointer)(src)
		if q == nil {
			return true
		}
		if n.elem.copy.how == copyByPtr || n.elem.size == 0 {
			return s.remains(n, at)
		}
		k := s.add(n.elem, 1, q, toOne, at)
		return k >= 0 && (n.elem.noPtrs || s.value(n.elem, place{part: uint32(k)}))
	case opSlice:
		h := (*sliceHeader)(src)
		if h.data == nil {
			return true
		}
		if h.len == 0 || n.elem.size == 0 {
			return s.remains(n, at)
		}
		k := s.add(n.elem, h.len, h.data, toMany, at)
		return k >= 0 && (n.elem.noPtrs || s.elements(n.elem, place{part: uint32(k)}, h.len))
	case opArray:
		return s.elements(n.elem, at, n.length)
	case opStrMap, opMap:
		if n.room != nil {
			if h := smallMapAt(src); h != nil {
				return s.add(n.room, 1, unsafe.Pointer(h), toSlots, at) >= 0
			}
		}
	}
	return s.remains(n, at)
}

func (s *survey) elements(n *node, at place, count int) bool {
	for range count {
		if !s.value(n, at) {
			return false
		}
		at.off += uint32(n.size)
	}
	return true
}

// copyInBlock copies the value of type n at src into one block; nil if it is not one of a known shape.
func copyInBlock(n *node, src unsafe.Pointer) unsafe.Pointer {
	if n.noPtrs || n.copy.how != copyFields || n.shapes.strikes.Load() > maxStrikes {
		return nil
	}
	var s survey
	if s.add(n, 1, src, toOne, place{}) < 0 || !s.value(n, place{}) || s.len < minShapeLen {
		return nil
	}
	sh := n.shapes.find(s.seq[:s.len])
	if sh == nil {
		return nil
	}
	return s.copy(sh)
}

// copy makes the copy. A part comes after the one that refers to it.
func (s *survey) copy(sh *shape) unsafe.Pointer {
	block := newOf(sh.typ)
	for k := range s.len {
		part, ref := &sh.parts[k], &s.refs[k]
		dst := unsafe.Add(block, part.offset)
		if ref.kind == toSlots {
			part.n.copyMap(dst, (*mapHeader)(s.from[k]))
		} else {
			valueAt(part.model, dst).Set(valueAt(part.model, s.from[k]))
		}
		if k == 0 {
			continue
		}
		slot := unsafe.Add(block, sh.parts[ref.part].offset+uintptr(ref.off))
		if ref.kind == toMany {
			count := int(s.seq[k].count)
			*(*sliceHeader)(slot) = sliceHeader{dst, count, count}
		} else {
			*(*unsafe.Pointer)(slot) = dst
		}
	}
	c := copier{}
	for _, r := range s.rest[:s.restLen] {
		c.fix(r.n, unsafe.Add(block, sh.parts[r.part].offset+uintptr(r.off)), s.at(r.place))
	}
	return block
}
