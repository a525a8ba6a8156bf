package deep

import (
	"maps"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// A blockCopy is the plan of one copy that is made in one block: the parts that lie in the block, in the
// order in which the source refers to them, and the values that are left over. It is made in one walk of the
// source, and it is a list, so that making the copy is a loop: copy a part, and set the reference to it to
// its copy. It lives on the stack.
type blockCopy struct {
	seq  [arena.MaxParts]arena.Allocation // the parts; the first is the object itself
	from [arena.MaxParts]mem.Pointer      // where they are in the source
	refs [arena.MaxParts]reference        // the references to them
	len  int
	size uintptr

	left    [maxLeftovers]leftover
	leftLen int
}

// maxLeftovers is how many leftovers one object may have.
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
// are not small, types with their own methods.
type leftover struct {
	n *plan.Node
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
func (c *blockCopy) leave(n *plan.Node, at slot) bool {
	if c.leftLen == maxLeftovers {
		return false
	}
	c.left[c.leftLen] = leftover{n, at}
	c.leftLen++
	return true
}

func (c *blockCopy) source(s slot) mem.Pointer { return mem.Add(c.from[s.part], s.off) }

// value adds everything that the value of type n in the slot refers to. It returns false if that is too large
// for a block.
func (c *blockCopy) value(n *plan.Node, at slot) bool {
	src := c.source(at)
	if n.Copy.How == plan.CopyFields {
		for i, off := range n.Copy.Words {
			if *mem.PointerAt(mem.Add(src, off)) != nil && !c.value(n.Copy.Fixes[i].Node, slot{at.off + off, at.part}) {
				return false
			}
		}
		for _, f := range n.Copy.Fixes[len(n.Copy.Words):] {
			if !c.value(f.Node, slot{at.off + f.Off, at.part}) {
				return false
			}
		}
		return true
	}
	if n.Copy.How != plan.CopyByOp {
		return c.leave(n, at)
	}
	switch n.Op {
	case plan.OpPointer:
		q := *mem.PointerAt(src)
		if q == nil {
			return true
		}
		if n.Elem.Copy.How == plan.CopyByPtr || n.Elem.Size == 0 {
			return c.leave(n, at)
		}
		i := c.add(n.Elem.Kind, n.Elem.Size, 1, q, toOne, at)
		return i >= 0 && (n.Elem.NoPtrs || c.value(n.Elem, slot{part: uint32(i)}))
	case plan.OpSlice:
		h := mem.SliceAt(src)
		if h.Data == nil {
			return true
		}
		if h.Len == 0 || n.Elem.Size == 0 {
			return c.leave(n, at)
		}
		i := c.add(n.Elem.Kind, n.Elem.Size, h.Len, h.Data, toMany, at)
		return i >= 0 && (n.Elem.NoPtrs || c.elements(n.Elem, slot{part: uint32(i)}, h.Len))
	case plan.OpArray:
		return c.elements(n.Elem, at, n.Len)
	case plan.OpStringMap, plan.OpMap:
		if n.MapKind == 0 {
			break
		}
		if h := mem.SmallMapAt(src); h != nil {
			if n.Quantities {
				return c.add(n.MapKind, quantityMapSize, 1, mem.Of(h), toQuantityMap, at) >= 0
			}
			return c.add(n.MapKind, stringMapSize, 1, mem.Of(h), toStringMap, at) >= 0
		}
	}
	return c.leave(n, at)
}

func (c *blockCopy) elements(n *plan.Node, at slot, count int) bool {
	for range count {
		if !c.value(n, at) {
			return false
		}
		at.off += uint32(n.Size)
	}
	return true
}

// copyInBlock copies the value of type n at src into one block; nil if it has none of the known layouts.
func copyInBlock(n *plan.Node, src mem.Pointer) (mem.Pointer, error) {
	if n.NoPtrs || n.Copy.How != plan.CopyFields || !n.Layouts.Active() {
		return nil, nil
	}
	var c blockCopy
	if c.add(n.Kind, n.Size, 1, src, toOne, slot{}) < 0 || !c.value(n, slot{}) || c.len < arena.MinParts {
		return nil, nil
	}
	l := n.Layouts.Find(c.seq[:c.len])
	if l == nil {
		return nil, nil
	}
	return c.make(l)
}

// make makes the copy. A part follows the part that refers to it.
func (c *blockCopy) make(l *arena.Layout) (mem.Pointer, error) {
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
	return block, rest.err
}

// cloneMap copies the map at src to dst.
func cloneMap[V any](dst, src mem.Pointer) {
	*mem.At[map[string]V](dst) = maps.Clone(*mem.At[map[string]V](src))
}
