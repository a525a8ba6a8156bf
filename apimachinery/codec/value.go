package codec

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// newValue allocates a zero value of n's type.
func (n *node) newValue() mem.Pointer { return mem.New(n.typ) }

// at is the variable of n's type at p.
func (n *node) at(p mem.Pointer) reflect.Value { return mem.Value(n.model, p) }

// grow makes room for k more elements in the slice of type n at p.
func (n *node) grow(p mem.Pointer, k int) {
	n.at(p).Grow(k)
}

// clear sets the value of type n at p to zero.
func (n *node) clear(p mem.Pointer) { n.at(p).SetZero() }

// pointerOf returns the node of the type of v and a pointer to the value. A pointer is followed; other values
// are copied so that they have an address. A nil pointer or nil interface gives a nil pointer.
func pointerOf(v any) (*node, mem.Pointer) {
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
