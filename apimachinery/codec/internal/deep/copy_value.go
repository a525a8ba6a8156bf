package deep

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// A copier makes one copy, allocating each part separately. Objects of known layouts are copied in one block
// instead; see blockCopy.
type copier struct {
	depth int
	err   error // set if the value of an interface cannot be copied
}

func (c *copier) enter() {
	if c.depth++; c.depth > failure.MaxDepth {
		panic(fmt.Errorf("codec: copying: %w", failure.ErrTooDeep))
	}
}

// pointee returns a new copy of the value of type n at src.
func (c *copier) pointee(n *plan.Node, src mem.Pointer) mem.Pointer {
	if n.Copy.How == plan.CopyByPtr {
		return n.Copy.Ptr(src)
	}
	dst := n.New()
	if n.Copy.How == plan.CopyByInto {
		n.Copy.Into(src, dst)
		return dst
	}
	n.At(dst).Set(n.At(src))
	c.fix(n, dst, src)
	return dst
}

// fix completes the copy at dst, to which src has been assigned: it replaces everything that dst refers to by
// copies.
func (c *copier) fix(n *plan.Node, dst, src mem.Pointer) {
	if n.NoPtrs {
		return
	}
	switch n.Copy.How {
	case plan.CopyFields:
		for i, off := range n.Copy.Words {
			if q := mem.Add(src, off); *mem.PointerAt(q) != nil {
				c.fix(n.Copy.Fixes[i].Node, mem.Add(dst, off), q)
			}
		}
		for _, f := range n.Copy.Fixes[len(n.Copy.Words):] {
			c.fix(f.Node, mem.Add(dst, f.Off), mem.Add(src, f.Off))
		}
		return
	case plan.CopyByInto:
		n.Copy.Into(src, dst)
		return
	case plan.CopyByPtr:
		n.At(dst).Set(n.At(n.Copy.Ptr(src)))
		return
	case plan.CopyByResult:
		n.At(dst).Set(n.Copy.Result.Call([]reflect.Value{reflect.NewAt(n.Type, src)})[0])
		return
	}
	switch n.Op {
	case plan.OpPointer:
		if q := *mem.PointerAt(src); q != nil {
			c.enter()
			*mem.PointerAt(dst) = c.pointee(n.Elem, q)
			c.depth--
		}
	case plan.OpBytes:
		*mem.At[[]byte](dst) = slices.Clone(*mem.At[[]byte](src))
	case plan.OpSlice:
		c.slice(n, dst, src)
	case plan.OpArray:
		for i := range n.Len {
			off := uintptr(i) * n.Elem.Size
			c.fix(n.Elem, mem.Add(dst, off), mem.Add(src, off))
		}
	case plan.OpStringMap:
		cloneMap[string](dst, src)
	case plan.OpMap:
		if n.Quantities {
			cloneMap[resource.Quantity](dst, src)
		} else {
			c.mapping(n, dst, src)
		}
	case plan.OpAny:
		*mem.At[any](dst) = c.dynamic(*mem.At[any](src))
	case plan.OpInterface:
		if v := n.At(src); !v.IsNil() {
			if x := c.dynamic(v.Interface()); x != nil {
				n.At(dst).Set(reflect.ValueOf(x))
			}
		}
	}
}

func (c *copier) slice(n *plan.Node, dst, src mem.Pointer) {
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
	n.Grow(dst, from.Len)
	to.Len = from.Len
	reflect.Copy(n.At(dst), n.At(src))
	if n.Elem.NoPtrs {
		return
	}
	c.enter()
	for i := range from.Len {
		off := uintptr(i) * n.Elem.Size
		c.fix(n.Elem, mem.Add(to.Data, off), mem.Add(from.Data, off))
	}
	c.depth--
}

func (c *copier) mapping(n *plan.Node, dst, src mem.Pointer) {
	from := n.At(src)
	if from.IsNil() {
		return
	}
	c.enter()
	to := reflect.MakeMapWithSize(n.Type, from.Len())
	s := n.GetScratch(2)
	old := mem.SliceAt(s.Slots).Data
	oldValue := n.Elem.At(old)
	s.Iter.Reset(from)
	for s.Iter.Next() {
		s.Key.SetIterKey(&s.Iter)
		oldValue.SetIterValue(&s.Iter)
		if n.Elem.NoPtrs {
			to.SetMapIndex(s.Key, oldValue)
			continue
		}
		fresh := mem.Add(old, n.Elem.Size)
		freshValue := n.Elem.At(fresh)
		freshValue.Set(oldValue)
		c.fix(n.Elem, fresh, old)
		to.SetMapIndex(s.Key, freshValue)
	}
	n.PutScratch(s)
	n.At(dst).Set(to)
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
	n, p := plan.PointerOf(v.Interface())
	if err := n.CheckCopy(); err != nil {
		c.err = err
		return nil
	}
	if v.Kind() == reflect.Pointer {
		return reflect.NewAt(n.Type, c.pointee(n, p)).Interface()
	}
	// p is a copy by assignment already, but DeepCopyInto and similar methods need two values.
	return reflect.NewAt(n.Type, c.pointee(n, p)).Elem().Interface()
}
