package plan

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// An EqualPlan has the method of a type that compares its values, if there is one.
type EqualPlan struct {
	ByValue reflect.Value // func(*T, T) bool
	ByPtr   func(a, b mem.Pointer) bool
}

func (b *builder) equalMethods(n *Node) {
	t := n.Type
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return
	}
	pt := reflect.PointerTo(t)
	m, ok := equalMethod(pt)
	if !ok || m.Type.NumIn() != 2 || m.Type.NumOut() != 1 || m.Type.Out(0).Kind() != reflect.Bool {
		return
	}
	switch m.Type.In(1) {
	case pt:
		n.Equal.ByPtr = mem.EqualFunc(m.Func)
	case t:
		n.Equal.ByValue = m.Func
	}
}
