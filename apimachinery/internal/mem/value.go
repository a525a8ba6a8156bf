package mem

import (
	"reflect"
	"unsafe"
)

// valueWords is the memory layout of a reflect.Value.
type valueWords struct {
	typ, ptr Pointer
	flag     uintptr
}

// valuesKnown says that a reflect.Value is laid out as valueWords, so that the value of another variable of
// its type is a copy with another ptr.
var valuesKnown = !Safe && checkValues()

func checkValues() bool {
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
	(*valueWords)(Pointer(&v)).ptr = Pointer(b)
	v.SetInt(v.Int() + 1)
	return *a == 0 && *b == 8 && v.Addr().UnsafePointer() == Pointer(b)
}

// Value is the variable at p, of the type of model, which is a variable too: settable and addressable.
// reflect.NewAt does the same by way of the pointer type, which it has to look up in a map for many types:
// codec's BenchmarkDeepCopy takes 3.8 us with it and 3.2 us without.
func Value(model reflect.Value, p Pointer) reflect.Value {
	if !valuesKnown {
		return reflect.NewAt(model.Type(), p).Elem()
	}
	(*valueWords)(Pointer(&model)).ptr = p
	return model
}
