package arena

import (
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// The bounds of blocks.
const (
	MaxParts = 48      // of one block
	MinParts = 4       // of one block: fewer allocations are not worth it
	MaxBytes = 8 << 10 // of one block

	maxLayouts = 32   // in one cache
	maxMisses  = 1000 // in a row, of one cache
)

// An Allocation is a pointer's target (count 1), a slice's elements, or the memory of a map (count 1, or 0
// for one that is not small).
type Allocation struct {
	Kind  Kind
	Count uint32
}

// A Layout is a sequence of allocations and the block that holds them.
type Layout struct {
	Parts  []Part // one for each allocation
	allocs []Allocation
	typ    reflect.Type
}

// A Part says where in the block an allocation is.
type Part struct {
	Offset uintptr
	Model  reflect.Value // a variable of the type, or of an array of it, for [mem.Value]
}

// NewBlock allocates a zero block.
func (l *Layout) NewBlock() mem.Pointer { return mem.New(l.typ) }

func newLayout(seq []Allocation) *Layout {
	l := &Layout{allocs: slices.Clone(seq)}
	types, fields := *kinds.types.Load(), make([]reflect.StructField, len(seq))
	for i, a := range seq {
		t := types[a.Kind]
		if a.Count != 1 {
			t = reflect.ArrayOf(int(a.Count), t)
		}
		fields[i] = reflect.StructField{Name: "F" + strconv.Itoa(i), Type: t}
	}
	l.typ = reflect.StructOf(fields)
	model := reflect.New(l.typ).Elem()
	for i := range seq {
		l.Parts = append(l.Parts, Part{l.typ.Field(i).Offset, model.Field(i)})
	}
	return l
}

// A Cache holds the layouts of one type of object. The zero value is ready; it may be used by many goroutines
// at once.
type Cache struct {
	known atomic.Pointer[[]*Layout]
	// misses counts the objects without a known layout since the last one with a known layout.
	misses atomic.Int32

	mu   sync.Mutex
	once *[64]uint32 // hashes of sequences that were seen once, by their low bits; nil before the first
}

// Active reports whether looking for a layout is worth the time. It is not if too many objects in a row had
// no known layout.
func (c *Cache) Active() bool { return !mem.Safe && c.misses.Load() <= maxMisses }

// Find returns the layout of a sequence of allocations, or nil. A sequence gets a layout when it occurs the
// second time.
func (c *Cache) Find(seq []Allocation) *Layout {
	known := c.known.Load()
	if known != nil {
		for _, l := range *known {
			if slices.Equal(l.allocs, seq) {
				if c.misses.Load() != 0 {
					c.misses.Store(0)
				}
				return l
			}
		}
	}
	c.misses.Add(1)
	if known != nil && len(*known) >= maxLayouts {
		return nil
	}
	return c.learn(seq)
}

func (c *Cache) learn(seq []Allocation) *Layout {
	h := uint32(2166136261)
	for _, a := range seq {
		h = (h ^ a.Count) * 16777619
		h = (h ^ uint32(a.Kind)) * 16777619
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.once == nil {
		c.once = new([64]uint32)
	}
	if slot := &c.once[h%uint32(len(c.once))]; *slot != h {
		*slot = h
		return nil
	}
	var list []*Layout
	if known := c.known.Load(); known != nil {
		list = slices.Clone(*known)
	}
	if len(list) >= maxLayouts || slices.ContainsFunc(list, func(l *Layout) bool { return slices.Equal(l.allocs, seq) }) {
		return nil
	}
	l := newLayout(seq)
	list = append(list, l)
	c.known.Store(&list)
	return l
}
