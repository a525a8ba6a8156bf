package codec

import "unsafe"

func (d *jsonDecoder) slice(n *node, p unsafe.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	h := (*sliceHeader)(p)
	i, done := d.empty(i+1, ']')
	if done {
		d.depth--
		*h = emptySlice()
		return i
	}
	*h = sliceHeader{}
	ticket := d.slab.firstParts(n.elem, h)
	object := n.elem.asObject()
	size := n.elem.size
	for more := true; more; {
		if h.len == h.cap {
			n.grow(p, growth(h.len, size))
		}
		h.len++
		before := len(d.issues)
		if object != nil {
			d.slab = shared.open(&object.json, d.slab)
		}
		i = d.value(n.elem, unsafe.Add(h.data, uintptr(h.len-1)*size), i, n.elem.intern)
		if object != nil && i >= 0 {
			d.slab = shared.close(d.slab)
		}
		if i < 0 || len(d.issues) > before {
			d.within(i, before, segment{"", h.len - 1})
			if i < 0 {
				return -1
			}
		}
		if i, more = d.more(i, ']', msgArray); i < 0 {
			return -1
		}
	}
	d.slab.counted(ticket, h.len)
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

func (d *jsonDecoder) array(n *node, p unsafe.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	i, done := d.empty(i+1, ']')
	k := 0
	for more := !done; more; k++ {
		if k < n.length {
			before := len(d.issues)
			i = d.value(n.elem, unsafe.Add(p, uintptr(k)*n.elem.size), i, n.elem.intern)
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
		n.elem.clear(unsafe.Add(p, uintptr(k)*n.elem.size))
	}
	return i
}
