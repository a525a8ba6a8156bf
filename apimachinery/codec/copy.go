package codec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// DeepCopy returns a copy of v, a pointer or a value, that shares no memory
// with it that either could write to. Nil maps, slices and pointers stay nil,
// empty ones stay empty. It panics with a [*TypeError] if the type holds a channel, a
// function, a lock or hidden pointers (see [PlanOf], which reports that as an
// error), and with an error wrapping ErrTooDeep if v is cyclic.
func DeepCopy[T any](v T) T {
	t := reflect.TypeFor[T]()
	switch t.Kind() {
	case reflect.Interface:
		c := copier{}
		out, _ := c.dynamic(any(v)).(T)
		return out
	case reflect.Pointer:
		src := *(*unsafe.Pointer)(unsafe.Pointer(&v))
		if src == nil {
			return v
		}
		n := nodeOf(t.Elem())
		n.mustCopy()
		c := copier{}
		c.prepare(n, src)
		dst := c.pointee(n, src)
		return *(*T)(unsafe.Pointer(&dst))
	}
	return copyValue(t, v)
}

// copyValue is apart from DeepCopy so that only values, not pointers, move to the heap.
func copyValue[T any](t reflect.Type, v T) T {
	n := nodeOf(t)
	n.mustCopy()
	c := copier{}
	out := v
	c.fix(n, unsafe.Pointer(&out), unsafe.Pointer(&v))
	return out
}

// DeepCopyInto makes what dst points to a copy of what src points to. Both
// must be non-nil pointers of one type; it panics if they are not, and as [DeepCopy] does.
func DeepCopyInto(dst, src any) {
	dv, sv := reflect.ValueOf(dst), reflect.ValueOf(src)
	if dv.Kind() != reflect.Pointer || dv.Type() != sv.Type() || dv.IsNil() || sv.IsNil() {
		panic(fmt.Errorf("codec: DeepCopyInto(%T, %T) wants two non-nil pointers of one type", dst, src))
	}
	n := nodeOf(dv.Type().Elem())
	n.mustCopy()
	if dv.Pointer() == sv.Pointer() {
		return
	}
	c := copier{}
	dv.Elem().Set(sv.Elem())
	c.fix(n, dv.UnsafePointer(), sv.UnsafePointer())
}

// DeepCopyJSON copies a JSON value: map[string]any, []any and what they hold.
// Other types are copied as DeepCopy would.
func DeepCopyJSON(v any) any {
	c := copier{}
	return c.dynamic(v)
}

func (n *node) mustCopy() {
	if err := n.checkCopy(); err != nil {
		panic(err)
	}
}

type copier struct {
	depth int

	// The block the copy is made in, if there is one, and how much of it is used.
	shape *shape
	block unsafe.Pointer
	next  int
}

func (c *copier) enter() {
	if c.depth++; c.depth > maxNesting {
		panic(fmt.Errorf("codec: copying: %w", ErrTooDeep))
	}
}

// pointee returns a new copy of the value of type n at src.
func (c *copier) pointee(n *node, src unsafe.Pointer) unsafe.Pointer {
	if n.copy.how == copyByPtr {
		return n.copy.ptr(src)
	}
	dst := c.take(n, 1)
	if dst == nil {
		dst = n.newValue()
	}
	if n.copy.how == copyByInto {
		n.copy.into(src, dst)
		return dst
	}
	n.at(dst).Set(n.at(src))
	c.fix(n, dst, src)
	return dst
}

// fix completes a copy: dst holds what src holds, by assignment, and gets
// memory of its own for everything it points to.
func (c *copier) fix(n *node, dst, src unsafe.Pointer) {
	if n.noPtrs {
		return
	}
	switch n.copy.how {
	case copyFields:
		for i := range n.copy.fixes {
			f := &n.copy.fixes[i]
			d := unsafe.Add(dst, f.off)
			if f.nilable && *(*unsafe.Pointer)(d) == nil {
				continue
			}
			c.fix(f.n, d, unsafe.Add(src, f.off))
		}
		return
	case copyByInto:
		n.copy.into(src, dst)
		return
	case copyByPtr:
		n.at(dst).Set(n.at(n.copy.ptr(src)))
		return
	case copyByResult:
		n.at(dst).Set(n.copy.result.Call([]reflect.Value{reflect.NewAt(n.typ, src)})[0])
		return
	}
	switch n.op {
	case opPtr:
		if q := *(*unsafe.Pointer)(src); q != nil {
			c.enter()
			*(*unsafe.Pointer)(dst) = c.pointee(n.elem, q)
			c.depth--
		}
	case opBytes:
		*(*[]byte)(dst) = slices.Clone(*(*[]byte)(src))
	case opSlice:
		c.slice(n, dst, src)
	case opArray:
		for i := range n.length {
			off := uintptr(i) * n.elem.size
			c.fix(n.elem, unsafe.Add(dst, off), unsafe.Add(src, off))
		}
	case opStrMap:
		*(*map[string]string)(dst) = maps.Clone(*(*map[string]string)(src))
	case opMap:
		c.mapping(n, dst, src)
	case opAny:
		inner := copier{depth: c.depth}
		*(*any)(dst) = inner.dynamic(*(*any)(src))
	case opIface:
		if v := n.at(src); !v.IsNil() {
			inner := copier{depth: c.depth}
			n.at(dst).Set(reflect.ValueOf(inner.dynamic(v.Interface())))
		}
	}
}

func (c *copier) slice(n *node, dst, src unsafe.Pointer) {
	from := *(*sliceHeader)(src)
	if from.data == nil {
		return
	}
	to := (*sliceHeader)(dst)
	if from.len == 0 {
		*to = emptySlice()
		return
	}
	*to = sliceHeader{}
	v := n.at(dst)
	if p := c.take(n.elem, from.len); p != nil {
		*to = sliceHeader{p, from.len, from.len}
	} else {
		v.Grow(from.len)
		to.len = from.len
	}
	reflect.Copy(v, n.at(src))
	if n.elem.noPtrs {
		return
	}
	c.enter()
	for i := range from.len {
		off := uintptr(i) * n.elem.size
		c.fix(n.elem, unsafe.Add(to.data, off), unsafe.Add(from.data, off))
	}
	c.depth--
}

func (c *copier) mapping(n *node, dst, src unsafe.Pointer) {
	from := n.at(src)
	if from.IsNil() {
		return
	}
	c.enter()
	whole := c.shape
	c.shape = nil // contents of maps are not part of the block
	defer func() { c.shape = whole }()
	to := reflect.MakeMapWithSize(n.typ, from.Len())
	s := n.borrow(2)
	old := (*sliceHeader)(s.slots).data
	oldValue := n.elem.at(old)
	s.iter.Reset(from)
	for s.iter.Next() {
		s.key.SetIterKey(&s.iter)
		oldValue.SetIterValue(&s.iter)
		if n.elem.noPtrs {
			to.SetMapIndex(s.key, oldValue)
			continue
		}
		fresh := unsafe.Add(old, n.elem.size)
		freshValue := n.elem.at(fresh)
		freshValue.Set(oldValue)
		c.fix(n.elem, fresh, old)
		to.SetMapIndex(s.key, freshValue)
	}
	n.giveBack(s)
	n.at(dst).Set(to)
	c.depth--
}

// dynamic copies the value of an interface.
func (c *copier) dynamic(v any) any {
	switch v := v.(type) {
	case nil, string, bool, int64, float64:
		return v
	case map[string]any:
		if v == nil {
			return v
		}
		c.enter()
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = c.dynamic(x)
		}
		c.depth--
		return out
	case []any:
		if v == nil {
			return v
		}
		c.enter()
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = c.dynamic(x)
		}
		c.depth--
		return out
	}
	return c.other(reflect.ValueOf(v))
}

// other copies a value of an interface that is not a JSON value.
func (c *copier) other(v reflect.Value) any {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return v.Interface()
	}
	if m, ok := v.Type().MethodByName("DeepCopyObject"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		return m.Func.Call([]reflect.Value{v})[0].Interface()
	}
	c.enter()
	defer func() { c.depth-- }()
	n, p := pointerOf(v.Interface())
	n.mustCopy()
	if v.Kind() == reflect.Pointer {
		return reflect.NewAt(n.typ, c.pointee(n, p)).Interface()
	}
	// p is a copy by assignment already, but DeepCopyInto and its like want two values.
	return reflect.NewAt(n.typ, c.pointee(n, p)).Elem().Interface()
}
