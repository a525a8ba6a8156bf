package deep

import (
	"bytes"
	"maps"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// Equal reports whether a and b have the same meaning: they are of the same type, nil and empty maps and
// slices are equal, and types with a method Equal(T) or Equal(*T) are compared by it (times by instant,
// quantities by value). Functions and channels are equal only if both are nil; values nested deeper than
// 10,000 are not equal.
func Equal(a, b any) bool {
	c := comparer{}
	return c.dynamic(a, b)
}

type comparer struct{ depth int }

func (c *comparer) dynamic(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case int64:
		y, ok := b.(int64)
		return ok && x == y
	case float64:
		y, ok := b.(float64)
		return ok && x == y
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && c.object(x, y)
	case []any:
		y, ok := b.([]any)
		return ok && c.array(x, y)
	}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	if !vb.IsValid() || va.Type() != vb.Type() {
		return false
	}
	n, p := plan.PointerOf(a)
	_, q := plan.PointerOf(b)
	if p == nil || q == nil {
		return p == q
	}
	return c.values(n, p, q)
}

func (c *comparer) object(x, y map[string]any) bool {
	if len(x) != len(y) {
		return false
	}
	if c.depth++; c.depth > failure.MaxDepth {
		return false
	}
	defer func() { c.depth-- }()
	for k, v := range x {
		w, ok := y[k]
		if !ok || !c.dynamic(v, w) {
			return false
		}
	}
	return true
}

func (c *comparer) array(x, y []any) bool {
	if len(x) != len(y) {
		return false
	}
	if c.depth++; c.depth > failure.MaxDepth {
		return false
	}
	defer func() { c.depth-- }()
	for i := range x {
		if !c.dynamic(x[i], y[i]) {
			return false
		}
	}
	return true
}

func (c *comparer) values(n *plan.Node, p, q mem.Pointer) bool {
	switch {
	case n.Equal.ByPtr != nil:
		return n.Equal.ByPtr(p, q)
	case n.Equal.ByValue.IsValid():
		if sameBytes(p, q, n.Size) { // true of nearly all quantities
			return true
		}
		return n.Equal.ByValue.Call([]reflect.Value{reflect.NewAt(n.Type, p), n.At(q)})[0].Bool()
	}
	switch n.Op {
	case plan.OpString:
		return *mem.At[string](p) == *mem.At[string](q)
	case plan.OpBool, plan.OpInt8, plan.OpUint8:
		return *mem.At[uint8](p) == *mem.At[uint8](q)
	case plan.OpInt16, plan.OpUint16:
		return *mem.At[uint16](p) == *mem.At[uint16](q)
	case plan.OpInt32, plan.OpUint32:
		return *mem.At[uint32](p) == *mem.At[uint32](q)
	case plan.OpInt64, plan.OpUint64:
		return *mem.At[uint64](p) == *mem.At[uint64](q)
	case plan.OpBytes:
		return bytes.Equal(*mem.At[[]byte](p), *mem.At[[]byte](q))
	case plan.OpStringMap:
		return maps.Equal(*mem.At[map[string]string](p), *mem.At[map[string]string](q))
	}
	// Values that may hold other values are counted. A deferred call would be slow, because there are many
	// returns.
	if c.depth++; c.depth > failure.MaxDepth {
		return false
	}
	same := c.nested(n, p, q)
	c.depth--
	return same
}

// nested compares values that hold others.
func (c *comparer) nested(n *plan.Node, p, q mem.Pointer) bool {
	switch n.Op {
	case plan.OpStruct:
		return c.structs(n, p, q)
	case plan.OpPointer:
		x, y := *mem.PointerAt(p), *mem.PointerAt(q)
		if x == nil || y == nil || x == y {
			return x == y
		}
		return c.values(n.Elem, x, y)
	case plan.OpSlice:
		x, y := *mem.SliceAt(p), *mem.SliceAt(q)
		return x.Len == y.Len && c.elements(n.Elem, x.Data, y.Data, x.Len)
	case plan.OpArray:
		return c.elements(n.Elem, p, q, n.Len)
	case plan.OpMap:
		return c.mappings(n, n.At(p), n.At(q))
	case plan.OpAny, plan.OpInterface:
		x, y := n.At(p), n.At(q)
		if x.IsNil() || y.IsNil() {
			return x.IsNil() && y.IsNil()
		}
		return c.dynamic(x.Interface(), y.Interface())
	case plan.OpInvalid:
		return n.At(p).IsZero() && n.At(q).IsZero()
	}
	return n.At(p).Equal(n.At(q))
}

func sameBytes(p, q mem.Pointer, size uintptr) bool {
	return bytes.Equal(mem.Region(p, size), mem.Region(q, size))
}

func (c *comparer) structs(n *plan.Node, p, q mem.Pointer) bool {
	if n.Copy.How == plan.CopyPlain || n.Copy.Bad != nil {
		// Fields that this package cannot access are compared by reflection.
		return reflect.DeepEqual(n.At(p).Interface(), n.At(q).Interface())
	}
	for _, f := range n.Copy.Parts {
		if !c.values(f.Node, mem.Add(p, f.Off), mem.Add(q, f.Off)) {
			return false
		}
	}
	if len(n.Copy.Parts) == n.Type.NumField() {
		return true
	}
	x, y := n.At(p), n.At(q)
	for i := range n.Type.NumField() {
		if f := n.Type.Field(i); !f.IsExported() && !f.Anonymous && plan.PlainMemory(f.Type) && !x.Field(i).Equal(y.Field(i)) {
			return false
		}
	}
	return true
}

func (c *comparer) elements(n *plan.Node, p, q mem.Pointer, length int) bool {
	if p == q {
		return true
	}
	for i := range length {
		off := uintptr(i) * n.Size
		if !c.values(n, mem.Add(p, off), mem.Add(q, off)) {
			return false
		}
	}
	return true
}

func (c *comparer) mappings(n *plan.Node, x, y reflect.Value) bool {
	if x.Len() != y.Len() {
		return false
	}
	if x.Len() == 0 || x.UnsafePointer() == y.UnsafePointer() {
		return true
	}
	key := reflect.New(n.Type.Key()).Elem()
	a, b := reflect.New(n.Elem.Type), reflect.New(n.Elem.Type)
	for it := x.MapRange(); it.Next(); {
		key.SetIterKey(it)
		w := y.MapIndex(key)
		if !w.IsValid() {
			return false
		}
		a.Elem().SetIterValue(it)
		b.Elem().Set(w)
		if !c.values(n.Elem, a.UnsafePointer(), b.UnsafePointer()) {
			return false
		}
	}
	return true
}
