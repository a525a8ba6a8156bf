package arena

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// A Slab hands out the memory for the pointers, slices and maps of one object while it is decoded. After two
// objects of one layout the next is expected to have it too, and its parts are taken from one block. Where
// the expectation fails, parts are allocated one by one from there on and the rest of the block is lost.
//
// A nil Slab has no block and records nothing.
type Slab struct {
	expected *Expectation
	layout   *Layout // nil: nothing is expected, or the expectation has failed
	block    mem.Pointer

	// The allocations so far; len exceeds MaxParts if there are too many for a block.
	seq [MaxParts]Allocation
	len int

	outer *Slab // of the object around this one
}

// An Expectation is what a decoder expects of objects of one type. The zero value is ready.
type Expectation struct {
	layouts Cache
	next    atomic.Pointer[Layout] // the last two had this layout, so the next is expected to have it
	last    atomic.Pointer[Layout] // the last one's, if next is nil
}

var slabs sync.Pool // *Slab

// Open returns the slab of an object that lies within that of outer, which may be nil.
func Open(e *Expectation, outer *Slab) *Slab {
	if mem.Safe {
		return nil
	}
	s, ok := slabs.Get().(*Slab)
	if !ok {
		s = &Slab{}
	}
	s.expected, s.outer, s.len = e, outer, 0
	if s.layout = e.next.Load(); s.layout != nil {
		s.block = s.layout.NewBlock()
	}
	return s
}

// Close ends the slab of an object that was decoded and returns the outer one. After an error a slab is left
// to the garbage collector.
func (s *Slab) Close() (outer *Slab) {
	if s == nil {
		return nil
	}
	s.expected.observe(s.seq[:min(s.len, MaxParts)], s.len <= MaxParts)
	outer = s.outer
	s.expected, s.layout, s.block, s.outer = nil, nil, nil, nil
	slabs.Put(s)
	return outer
}

// take returns zeroed memory for count values of kind k; nil if the block has none. The index is for SetLen.
func (s *Slab) take(k Kind) (p mem.Pointer, count, index int) {
	if s.len >= MaxParts {
		s.len, s.layout = MaxParts+1, nil
		return nil, 0, -1
	}
	index = s.len
	s.seq[index] = Allocation{k, 1}
	s.len++
	if s.layout == nil {
		return nil, 0, index
	}
	if index >= len(s.layout.allocs) || s.layout.allocs[index].Kind != k {
		s.layout = nil
		return nil, 0, index
	}
	return mem.Add(s.block, s.layout.Parts[index].Offset), int(s.layout.allocs[index].Count), index
}

// New allocates a zero value of type t, whose kind is k.
func (s *Slab) New(t reflect.Type, k Kind) mem.Pointer {
	if s != nil && k != 0 {
		if p, _, _ := s.take(k); p != nil {
			return p
		}
	}
	return mem.New(t)
}

// Slice gives the empty slice h capacity for elements of kind k if the block has it. [Slab.SetLen] must
// follow with the index.
func (s *Slab) Slice(h *mem.Slice, k Kind) (index int) {
	if s == nil || k == 0 {
		return -1
	}
	p, count, index := s.take(k)
	if p != nil {
		*h = mem.Slice{Data: p, Cap: count}
	}
	return index
}

// SetLen records the final length of a slice.
func (s *Slab) SetLen(index, n int) {
	if index >= 0 { // only if there is a slab
		s.seq[index].Count = uint32(min(n, MaxBytes+1)) // more do not fit a block anyway
	}
}

// NewMap makes an empty map, k being its [MapKind]. [Slab.SetMapLen] must follow with the index.
func NewMap[V any](s *Slab, k Kind) (m map[string]V, index int) {
	if s == nil || k == 0 {
		return map[string]V{}, -1
	}
	p, count, index := s.take(k)
	if count == 0 {
		return map[string]V{}, index
	}
	return mem.At[mem.SmallMap[V]](p).Init(), index
}

// SetMapLen records the final length of a map. A block has no memory for maps that are empty or not small.
func (s *Slab) SetMapLen(index, n int) {
	if n == 0 || n > mem.SmallMapLen {
		s.SetLen(index, 0)
	}
}

// observe records the allocations of an object, which are incomplete if small is false.
func (e *Expectation) observe(seq []Allocation, small bool) {
	next := e.next.Load()
	if small && next != nil && slices.Equal(next.allocs, seq) {
		return
	}
	var found *Layout
	if small && len(seq) >= MinParts && blockBytes(seq) <= MaxBytes && e.layouts.Active() {
		found = e.layouts.Find(seq)
	}
	if next != nil {
		e.next.Store(nil)
	} else if found != nil && e.last.Load() == found {
		e.next.Store(found)
	}
	e.last.Store(found)
}

func blockBytes(seq []Allocation) (size uintptr) {
	types := *kinds.types.Load()
	for _, a := range seq {
		if a.Count > MaxBytes {
			return MaxBytes + 1
		}
		size += types[a.Kind].Size() * uintptr(a.Count)
	}
	return size
}
