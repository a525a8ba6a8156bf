package codec

import (
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/deep"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
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
		out, _ := DeepCopyJSON(any(v)).(T)
		return out
	case reflect.Pointer:
		src := *mem.At[mem.Pointer](mem.Of(&v))
		if src == nil {
			return v
		}
		dst, err := deep.Copy(plan.Of(t.Elem()), src)
		mustCopy(err)
		return *mem.At[T](mem.Of(&dst))
	}
	return copyValue(t, v)
}

// copyValue is separate from DeepCopy so that only values, not pointers, escape to the heap.
func copyValue[T any](t reflect.Type, v T) (out T) {
	mustCopy(deep.CopyInto(plan.Of(t), mem.Of(&out), mem.Of(&v)))
	return out
}

// DeepCopyInto makes what dst points to a copy of what src points to. Both
// must be non-nil pointers of one type; it panics if they are not, and as [DeepCopy] does.
func DeepCopyInto(dst, src any) {
	dv, sv := reflect.ValueOf(dst), reflect.ValueOf(src)
	if dv.Kind() != reflect.Pointer || dv.Type() != sv.Type() || dv.IsNil() || sv.IsNil() {
		panic(fmt.Errorf("codec: DeepCopyInto(%T, %T) needs two non-nil pointers of one type", dst, src))
	}
	mustCopy(deep.CopyInto(plan.Of(dv.Type().Elem()), dv.UnsafePointer(), sv.UnsafePointer()))
}

// DeepCopyJSON copies a JSON value: map[string]any, []any and what they hold.
// Other types are copied as DeepCopy would.
func DeepCopyJSON(v any) any {
	out, err := deep.CopyAny(v)
	mustCopy(err)
	return out
}

func mustCopy(err error) {
	if err != nil {
		panic(public(err))
	}
}

// Equal reports whether a and b mean the same: they have one type, nil and
// empty maps and slices are equal, and types with a method Equal(T) or Equal(*T) are
// compared by it (times by instant, quantities by value). Functions and
// channels are equal only if both are nil; values nested deeper than 10,000 are not equal.
func Equal(a, b any) bool { return deep.Equal(a, b) }
