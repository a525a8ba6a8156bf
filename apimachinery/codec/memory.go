package codec

import (
	"reflect"
	"unsafe"
)

// sliceHeader is the memory layout of every slice.
type sliceHeader struct {
	data unsafe.Pointer
	len  int
	cap  int
}

// emptyData is what empty, non-nil slices point to.
var emptyData [0]byte

func emptySlice() sliceHeader { return sliceHeader{data: unsafe.Pointer(&emptyData)} }

// words is the memory layout of every interface value.
type words [2]unsafe.Pointer

// wordOf returns the type word of an interface value. Together with a pointer
// to another T it makes another value of the same interface, without a look-up.
func wordOf[I any](v I) unsafe.Pointer {
	return (*words)(unsafe.Pointer(&v))[0]
}

// bind is the interface value of the pointer p, word being wordOf some
// interface value of the same pointer type.
func bind[I any](word, p unsafe.Pointer) I {
	var v I
	*(*words)(unsafe.Pointer(&v)) = words{word, p}
	return v
}

// newValue allocates a zero value of n's type.
func (n *node) newValue() unsafe.Pointer { return newOf(n.typ) }

func newOf(t reflect.Type) unsafe.Pointer { return reflect.New(t).UnsafePointer() }

// valueWords is the memory layout of a reflect.Value.
type valueWords struct {
	typ, ptr unsafe.Pointer
	flag     uintptr
}

// valueLayoutKnown says whether reflect.Value is laid out as valueWords, so
// that a value for another address may be had by copying one and setting ptr. That saves
// reflect.NewAt's search for the pointer type, which is a map look-up for many types.
var valueLayoutKnown = func() bool {
	if unsafe.Sizeof(reflect.Value{}) != unsafe.Sizeof(valueWords{}) {
		return false
	}
	t := reflect.TypeFor[reflect.Value]()
	if t.NumField() != 3 || t.Field(1).Type.Kind() != reflect.UnsafePointer || t.Field(2).Type.Kind() != reflect.Uintptr {
		return false
	}
	a, b := new(int), new(int)
	*b = 7
	v := reflect.ValueOf(a).Elem()
	(*valueWords)(unsafe.Pointer(&v)).ptr = unsafe.Pointer(b)
	v.SetInt(v.Int() + 1)
	return *a == 0 && *b == 8 && v.Addr().UnsafePointer() == unsafe.Pointer(b)
}()

// at is the addressable reflect value of n's type at p.
func (n *node) at(p unsafe.Pointer) reflect.Value { return valueAt(n.model, p) }

// valueAt is the addressable reflect value at p of the type of model, which is addressable, too.
func valueAt(model reflect.Value, p unsafe.Pointer) reflect.Value {
	if !valueLayoutKnown {
		return reflect.NewAt(model.Type(), p).Elem()
	}
	(*valueWords)(unsafe.Pointer(&model)).ptr = p
	return model
}

// grow makes room for k more elements in the slice of type n at p.
func (n *node) grow(p unsafe.Pointer, k int) {
	n.at(p).Grow(k)
}

// clear sets the value of type n at p to zero.
func (n *node) clear(p unsafe.Pointer) { n.at(p).SetZero() }

// pointerOf unpacks v: the node of the value's type and a pointer to it. A
// pointer is followed; other values are copied so that they have an address.
// A nil pointer or nil interface gives a nil pointer.
func pointerOf(v any) (*node, unsafe.Pointer) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return nil, nil
	}
	if rv.Kind() == reflect.Pointer {
		return nodeOf(rv.Type().Elem()), rv.UnsafePointer()
	}
	box := reflect.New(rv.Type())
	box.Elem().Set(rv)
	return nodeOf(rv.Type()), box.UnsafePointer()
}
