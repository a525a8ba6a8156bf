package codec

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// A copier makes one copy, allocating each part separately. Objects of known layouts are copied in one block
// instead; see blockCopy.
type copier struct {
	depth int
}

func (c *copier) enter() {
	if c.depth++; c.depth > maxNesting {
		panic(fmt.Errorf("codec: copying: %w", ErrTooDeep))
	}
}

// pointee returns a new copy of the value of type n at src.
func (c *copier) pointee(n *node, src mem.Pointer) mem.Pointer {
	if n.copy.how == copyByPtr {
		return n.copy.ptr(src)
	}
	dst := n.newValue()
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
func (c *copier) fix(n *node, dst, src mem.Pointer) {
	if n.noPtrs {
		return
	}
	switch n.copy.how {
	case copyFields:
		for i, off := range n.copy.words {
			if q := mem.Add(src, off); *mem.PointerAt(q) != nil {
				c.fix(n.copy.fixes[i].n, mem.Add(dst, off), q)
			}
		}
		for _, f := range n.copy.fixes[len(n.copy.words):] {
			c.fix(f.n, mem.Add(dst, f.off), mem.Add(src, f.off))
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
		if q := *mem.PointerAt(src); q != nil {
			c.enter()
			*mem.PointerAt(dst) = c.pointee(n.elem, q)
			c.depth--
		}
	case opBytes:
		*mem.At[[]byte](dst) = slices.Clone(*mem.At[[]byte](src))
	case opSlice:
		c.slice(n, dst, src)
	case opArray:
		for i := range n.length {
			off := uintptr(i) * n.elem.size
			c.fix(n.elem, mem.Add(dst, off), mem.Add(src, off))
		}
	case opStrMap:
		cloneMap[string](dst, src)
	case opMap:
		if n.quantities {
			cloneMap[resource.Quantity](dst, src)
		} else {
			c.mapping(n, dst, src)
		}
	case opAny:
		*mem.At[any](dst) = c.dynamic(*mem.At[any](src))
	case opIface:
		if v := n.at(src); !v.IsNil() {
			n.at(dst).Set(reflect.ValueOf(c.dynamic(v.Interface())))
		}
	}
}

func (c *copier) slice(n *node, dst, src mem.Pointer) {
	from := *mem.SliceAt(src)
	if from.Data == nil {
		return
	}
	to := mem.SliceAt(dst)
	if from.Len == 0 {
		*to = mem.EmptySlice()
		return
	}
	*to = mem.Slice{}
	n.grow(dst, from.Len)
	to.Len = from.Len
	reflect.Copy(n.at(dst), n.at(src))
	if n.elem.noPtrs {
		return
	}
	c.enter()
	for i := range from.Len {
		off := uintptr(i) * n.elem.size
		c.fix(n.elem, mem.Add(to.Data, off), mem.Add(from.Data, off))
	}
	c.depth--
}

func (c *copier) mapping(n *node, dst, src mem.Pointer) {
	from := n.at(src)
	if from.IsNil() {
		return
	}
	c.enter()
	to := reflect.MakeMapWithSize(n.typ, from.Len())
	s := n.getScratch(2)
	old := mem.SliceAt(s.slots).Data
	oldValue := n.elem.at(old)
	s.iter.Reset(from)
	for s.iter.Next() {
		s.key.SetIterKey(&s.iter)
		oldValue.SetIterValue(&s.iter)
		if n.elem.noPtrs {
			to.SetMapIndex(s.key, oldValue)
			continue
		}
		fresh := mem.Add(old, n.elem.size)
		freshValue := n.elem.at(fresh)
		freshValue.Set(oldValue)
		c.fix(n.elem, fresh, old)
		to.SetMapIndex(s.key, freshValue)
	}
	n.putScratch(s)
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
	// p is a copy by assignment already, but DeepCopyInto and similar methods need two values.
	return reflect.NewAt(n.typ, c.pointee(n, p)).Elem().Interface()
}
