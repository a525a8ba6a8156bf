package json

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

func (d *decoder) slice(n *plan.Node, p mem.Pointer, i int) int {
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
	index := d.slab.Slice(h, n.Elem.Kind)
	object := n.Elem.AsObject()
	size := n.Elem.Size
	for more := true; more; {
		if h.Len == h.Cap {
			n.Grow(p, growth(h.Len, size))
		}
		h.Len++
		before := len(d.issues)
		if object != nil {
			d.slab = arena.Open(&object.JSON, d.slab)
		}
		i = d.value(n.Elem, mem.Index(h.Data, h.Len-1, size), i, n.Elem.Intern)
		if object != nil && i >= 0 {
			d.slab = d.slab.Close()
		}
		if i < 0 || len(d.issues) > before {
			d.within(i, before, failure.Element(h.Len-1))
			if i < 0 {
				return -1
			}
		}
		if i, more = d.more(i, ']', jsontext.MsgArray); i < 0 {
			return -1
		}
	}
	d.slab.SetLen(index, h.Len)
	d.depth--
	return i
}

// growth returns by how many elements to grow a full slice of have elements.
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

func (d *decoder) array(n *plan.Node, p mem.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	i, done := d.empty(i+1, ']')
	k := 0
	for more := !done; more; k++ {
		if k < n.Len {
			before := len(d.issues)
			i = d.value(n.Elem, mem.Index(p, k, n.Elem.Size), i, n.Elem.Intern)
			if i < 0 || len(d.issues) > before {
				d.within(i, before, failure.Element(k))
			}
		} else {
			i = d.skip(i)
		}
		if i < 0 {
			return -1
		}
		if i, more = d.more(i, ']', jsontext.MsgArray); i < 0 {
			return -1
		}
	}
	for ; k < n.Len; k++ {
		n.Elem.Clear(mem.Index(p, k, n.Elem.Size))
	}
	return i
}
