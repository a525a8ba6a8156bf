package mem

import "reflect"

// interfaceWords is the memory layout of an interface value: a description of the dynamic type, and the
// value or its address.
type interfaceWords [2]Pointer

// interfacesKnown says that interface values are laid out as interfaceWords.
var interfacesKnown = !Safe && checkInterfaces()

type checkedNumber int

func (n *checkedNumber) value() int { return int(*n) }

func checkInterfaces() bool {
	a, b := new(checkedNumber), new(checkedNumber)
	*a, *b = 3, 4
	var m interface{ value() int } = a
	w := (*interfaceWords)(Pointer(&m))
	if w[0] == nil || w[1] != Pointer(a) {
		return false
	}
	w[1] = Pointer(b)
	if m.value() != 4 || m.(*checkedNumber) != b {
		return false
	}
	s, t := any("one"), "two"
	w = (*interfaceWords)(Pointer(&s))
	if *(*string)(w[1]) != "one" {
		return false
	}
	w[1] = Pointer(&t)
	return s == any("two")
}

// A Binder makes values of an interface type from pointers to values of one type. Asserting the interface
// each time would look up the methods of the type: without binders and [Box] codec's
// BenchmarkEncodeJSON/append takes 11% longer and BenchmarkDecodeProtobuf 17%.
type Binder struct {
	word Pointer
	elem reflect.Type
}

// BinderOf returns the binder for the pointer type of v, an interface value that holds a pointer, nil or not.
func BinderOf[I any](v I) Binder {
	b := Binder{elem: reflect.TypeOf(v).Elem()}
	if interfacesKnown {
		b.word = (*interfaceWords)(Pointer(&v))[0]
	}
	return b
}

// Bind is the pointer p as a value of the interface I, which must be the one of b's [BinderOf].
func Bind[I any](b *Binder, p Pointer) I {
	if b.word == nil {
		return bindSlowly[I](b, p)
	}
	var v I
	*(*interfaceWords)(Pointer(&v)) = interfaceWords{b.word, p}
	return v
}

//go:noinline
func bindSlowly[I any](b *Binder, p Pointer) I { return reflect.NewAt(b.elem, p).Interface().(I) }

// Box is the string *s as an interface value that refers to it instead of to a copy. It must not change.
func Box(s *string) any {
	if !interfacesKnown {
		return *s
	}
	v := any("")
	(*interfaceWords)(Pointer(&v))[1] = Pointer(s)
	return v
}
