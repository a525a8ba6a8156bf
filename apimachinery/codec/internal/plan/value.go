package plan

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// New allocates a zero value of n's type.
func (n *Node) New() mem.Pointer { return mem.New(n.Type) }

// Zero returns the address of a zero value of n's type, which must not be written to.
func (n *Node) Zero() mem.Pointer { return n.model.Addr().UnsafePointer() }

// At returns the variable of n's type at p.
func (n *Node) At(p mem.Pointer) reflect.Value { return mem.Value(n.model, p) }

// Grow adds capacity for k more elements to the slice of type n at p.
func (n *Node) Grow(p mem.Pointer, k int) {
	n.At(p).Grow(k)
}

// Clear sets the value of type n at p to zero.
func (n *Node) Clear(p mem.Pointer) { n.At(p).SetZero() }

// PointerOf returns the node of the type of v and a pointer to the value. A pointer is followed; other values
// are copied so that they have an address. A nil pointer or nil interface gives a nil pointer.
func PointerOf(v any) (*Node, mem.Pointer) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return nil, nil
	}
	if rv.Kind() == reflect.Pointer {
		return Of(rv.Type().Elem()), rv.UnsafePointer()
	}
	box := reflect.New(rv.Type())
	box.Elem().Set(rv)
	return Of(rv.Type()), box.UnsafePointer()
}
