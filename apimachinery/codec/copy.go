package codec

import (
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// DeepCopy returns a copy of v, a pointer or a value, that shares no mutable memory with it. Nil maps, slices
// and pointers stay nil, empty ones stay empty. It panics with a [*TypeError] if the type holds a channel, a
// function, a lock or hidden pointers (see [PlanOf], which reports that as an error), and with an error
// wrapping ErrTooDeep if v is cyclic.
func DeepCopy[T any](v T) T {
	t := reflect.TypeFor[T]()
	switch t.Kind() {
	case reflect.Interface:
		c := copier{}
		out, _ := c.dynamic(any(v)).(T)
		return out
	case reflect.Pointer:
		src := *mem.At[mem.Pointer](mem.Of(&v))
		if src == nil {
			return v
		}
		n := nodeOf(t.Elem())
		n.mustCopy()
		dst := copyInBlock(n, src)
		if dst == nil {
			c := copier{}
			dst = c.pointee(n, src)
		}
		return *mem.At[T](mem.Of(&dst))
	}
	return copyValue(t, v)
}

// copyValue is separate from DeepCopy so that only values, not pointers, escape to the heap.
func copyValue[T any](t reflect.Type, v T) T {
	n := nodeOf(t)
	n.mustCopy()
	c := copier{}
	out := v
	c.fix(n, mem.Of(&out), mem.Of(&v))
	return out
}

// DeepCopyInto makes what dst points to a copy of what src points to. Both
// must be non-nil pointers of one type; it panics if they are not, and as [DeepCopy] does.
func DeepCopyInto(dst, src any) {
	dv, sv := reflect.ValueOf(dst), reflect.ValueOf(src)
	if dv.Kind() != reflect.Pointer || dv.Type() != sv.Type() || dv.IsNil() || sv.IsNil() {
		panic(fmt.Errorf("codec: DeepCopyInto(%T, %T) needs two non-nil pointers of one type", dst, src))
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
