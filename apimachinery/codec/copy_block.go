package codec

import (
	"maps"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// A blockCopy is the plan of one copy that is made in one block: the parts that lie in the block, in the
// order in which the source refers to them, and the values that are left over. It is made in one walk of the
// source, and it is a list, so that making the copy is a loop: copy a part, and let what refers to it refer
// to its copy. It lives on the stack.
type blockCopy struct {
	seq  [arena.MaxParts]arena.Allocation // the parts; the first is the object itself
	from [arena.MaxParts]mem.Pointer      // where they are in the source
	refs [arena.MaxParts]reference        // what refers to them
	len  int
	size uintptr

	left    [maxLeftovers]leftover
	leftLen int
}

// maxLeftovers is how many fields of one object may need more than the loop.
const maxLeftovers = 16

// A slot is an offset in a part.
type slot struct {
	off  uint32
	part uint32
}

// A reference is the slot that refers to a part.
type reference struct {
	slot
	kind referenceKind
}

type referenceKind uint8

const (
	toOne referenceKind = iota // a pointer
	toMany
	toStringMap
	toQuantityMap
)

// A leftover is a value in a slot that copier.fix must complete: empty slices, bytes, interfaces, maps that
// are not small, types with methods of their own.
type leftover struct {
	n *node
	slot
}

var (
	stringMapSize   = reflect.TypeFor[mem.SmallMap[string]]().Size()
	quantityMapSize = reflect.TypeFor[mem.SmallMap[resource.Quantity]]().Size()
)

// add adds a part and returns its index, or -1 when the copy is too large for a block.
func (c *blockCopy) add(k arena.Kind, size uintptr, count int, from mem.Pointer, kind referenceKind, at slot) int {
	i := c.len
	if i == arena.MaxParts || count > arena.MaxBytes {
		return -1
	}
	if c.size += size * uintptr(count); c.size > arena.MaxBytes {
		return -1
	}
	c.seq[i], c.from[i], c.refs[i] = arena.Allocation{Kind: k, Count: uint32(count)}, from, reference{at, kind}
	c.len++
	return i
}

// leave adds a leftover; it returns false when there are too many.
func (c *blockCopy) leave(n *node, at slot) bool {
	if c.leftLen == maxLeftovers {
		return false
	}
	c.left[c.leftLen] = leftover{n, at}
	c.leftLen++
	return true
}

func (c *blockCopy) source(s slot) mem.Pointer { return mem.Add(c.from[s.part], s.off) }

// value adds what the value of type n in the slot refers to. It returns false when that is too much for a
// block.
func (c *blockCopy) value(n *node, at slot) bool {
	src := c.source(at)
	if n.copy.how == copyFields {
		for i, off := range n.copy.words {
			if *mem.PointerAt(mem.Add(src, off)) != nil && !c.value(n.copy.fixes[i].n, slot{at.off + off, at.part}) {
				return false
			}
		}
		for _, f := range n.copy.fixes[len(n.copy.words):] {
			if !c.value(f.n, slot{at.off + f.off, at.part}) {
				return false
			}
		}
		return true
	}
	if n.copy.how != copyByOp {
		return c.leave(n, at)
	}
	switch n.op {
	case opPtr:
		q := *mem.PointerAt(src)
		if q == nil {
			return true
		}
		if n.elem.copy.how == copyByPtr || n.elem.size == 0 {
			return c.leave(n, at)
		}
		i := c.add(n.elem.kind, n.elem.size, 1, q, toOne, at)
		return i >= 0 && (n.elem.noPtrs || c.value(n.elem, slot{part: uint32(i)}))
	case opSlice:
		h := mem.SliceAt(src)
		if h.Data == nil {
			return true
		}
		if h.Len == 0 || n.elem.size == 0 {
			return c.leave(n, at)
		}
		i := c.add(n.elem.kind, n.elem.size, h.Len, h.Data, toMany, at)
		return i >= 0 && (n.elem.noPtrs || c.elements(n.elem, slot{part: uint32(i)}, h.Len))
	case opArray:
		return c.elements(n.elem, at, n.length)
	case opStrMap, opMap:
		if n.mapKind == 0 {
			break
		}
		if h := mem.SmallMapAt(src); h != nil {
			if n.quantities {
				return c.add(n.mapKind, quantityMapSize, 1, mem.Of(h), toQuantityMap, at) >= 0
			}
			return c.add(n.mapKind, stringMapSize, 1, mem.Of(h), toStringMap, at) >= 0
		}
	}
	return c.leave(n, at)
}

func (c *blockCopy) elements(n *node, at slot, count int) bool {
	for range count {
		if !c.value(n, at) {
			return false
		}
		at.off += uint32(n.size)
	}
	return true
}

// copyInBlock copies the value of type n at src into one block; nil if it has none of the known layouts.
func copyInBlock(n *node, src mem.Pointer) mem.Pointer {
	if n.noPtrs || n.copy.how != copyFields || !n.layouts.Active() {
		return nil
	}
	var c blockCopy
	if c.add(n.kind, n.size, 1, src, toOne, slot{}) < 0 || !c.value(n, slot{}) || c.len < arena.MinParts {
		return nil
	}
	l := n.layouts.Find(c.seq[:c.len])
	if l == nil {
		return nil
	}
	return c.make(l)
}

// make makes the copy. A part comes after the one that refers to it.
func (c *blockCopy) make(l *arena.Layout) mem.Pointer {
	block := l.NewBlock()
	for i := range c.len {
		part, ref := &l.Parts[i], &c.refs[i]
		dst := mem.Add(block, part.Offset)
		switch ref.kind {
		case toStringMap:
			mem.At[mem.SmallMap[string]](dst).InitCopy(mem.At[mem.MapHeader](c.from[i]))
		case toQuantityMap:
			mem.At[mem.SmallMap[resource.Quantity]](dst).InitCopy(mem.At[mem.MapHeader](c.from[i]))
		default:
			mem.Value(part.Model, dst).Set(mem.Value(part.Model, c.from[i]))
		}
		if i == 0 {
			continue
		}
		at := mem.Add(block, l.Parts[ref.part].Offset+uintptr(ref.off))
		if ref.kind == toMany {
			count := int(c.seq[i].Count)
			*mem.SliceAt(at) = mem.Slice{Data: dst, Len: count, Cap: count}
		} else {
			*mem.PointerAt(at) = dst
		}
	}
	rest := copier{}
	for _, r := range c.left[:c.leftLen] {
		rest.fix(r.n, mem.Add(block, l.Parts[r.part].Offset+uintptr(r.off)), c.source(r.slot))
	}
	return block
}

// cloneMap copies the map at src to dst.
func cloneMap[V any](dst, src mem.Pointer) {
	*mem.At[map[string]V](dst) = maps.Clone(*mem.At[map[string]V](src))
}
