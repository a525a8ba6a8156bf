package codec

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

func (d *jsonDecoder) slice(n *node, p mem.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	h := mem.SliceAt(p)
	i, done := d.empty(i+1, ']')
	if done {
		d.depth--
		*h = mem.EmptySlice()
		return i
	}
	*h = mem.Slice{}
	index := d.slab.Slice(h, n.elem.kind)
	object := n.elem.asObject()
	size := n.elem.size
	for more := true; more; {
		if h.Len == h.Cap {
			n.grow(p, growth(h.Len, size))
		}
		h.Len++
		before := len(d.issues)
		if object != nil {
			d.slab = arena.Open(&object.json, d.slab)
		}
		i = d.value(n.elem, mem.Index(h.Data, h.Len-1, size), i, n.elem.intern)
		if object != nil && i >= 0 {
			d.slab = d.slab.Close()
		}
		if i < 0 || len(d.issues) > before {
			d.within(i, before, segment{"", h.Len - 1})
			if i < 0 {
				return -1
			}
		}
		if i, more = d.more(i, ']', msgArray); i < 0 {
			return -1
		}
	}
	d.slab.SetLen(index, h.Len)
	d.depth--
	return i
}

// asObject is the plan of API objects if values of the type are such, or point to one.
func (n *node) asObject() *objectPlan {
	if n.op == opPtr {
		n = n.elem
	}
	return n.object
}

// growth is how many elements to make room for when have are there and all room is used.
func growth(have int, size uintptr) int {
	if have > 0 {
		return have
	}
	switch {
	case size <= 24:
		return 4
	case size <= 128:
		return 2
	}
	return 1
}

func (d *jsonDecoder) array(n *node, p mem.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	i, done := d.empty(i+1, ']')
	k := 0
	for more := !done; more; k++ {
		if k < n.length {
			before := len(d.issues)
			i = d.value(n.elem, mem.Index(p, k, n.elem.size), i, n.elem.intern)
			if i < 0 || len(d.issues) > before {
				d.within(i, before, segment{"", k})
			}
		} else {
			i = d.skip(i)
		}
		if i < 0 {
			return -1
		}
		if i, more = d.more(i, ']', msgArray); i < 0 {
			return -1
		}
	}
	for ; k < n.length; k++ {
		n.elem.clear(mem.Index(p, k, n.elem.size))
	}
	return i
}
