package codec

import (
	"bytes"
	"maps"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// equalPlan is the type's own notion of equality.
type equalPlan struct {
	byValue reflect.Value // func(*T, T) bool
	byPtr   func(a, b mem.Pointer) bool
}

func (b *builder) equalMethods(n *node) {
	t := n.typ
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
		n.eq.byPtr = mem.EqualFunc(m.Func)
	case t:
		n.eq.byValue = m.Func
	}
}

// Equal reports whether a and b mean the same: they have one type, nil and
// empty maps and slices are equal, and types with a method Equal(T) or Equal(*T) are
// compared by it (times by instant, quantities by value). Functions and
// channels are equal only if both are nil; values nested deeper than 10,000 are not equal.
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
	n, p := pointerOf(a)
	_, q := pointerOf(b)
	if p == nil || q == nil {
		return p == q
	}
	return c.values(n, p, q)
}

func (c *comparer) object(x, y map[string]any) bool {
	if len(x) != len(y) {
		return false
	}
	if c.depth++; c.depth > maxNesting {
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
	if c.depth++; c.depth > maxNesting {
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

func (c *comparer) values(n *node, p, q mem.Pointer) bool {
	switch {
	case n.eq.byPtr != nil:
		return n.eq.byPtr(p, q)
	case n.eq.byValue.IsValid():
		if sameBytes(p, q, n.size) { // as nearly all quantities are
			return true
		}
		return n.eq.byValue.Call([]reflect.Value{reflect.NewAt(n.typ, p), n.at(q)})[0].Bool()
	}
	switch n.op {
	case opString:
		return *mem.At[string](p) == *mem.At[string](q)
	case opBool, opInt8, opUint8:
		return *mem.At[uint8](p) == *mem.At[uint8](q)
	case opInt16, opUint16:
		return *mem.At[uint16](p) == *mem.At[uint16](q)
	case opInt32, opUint32:
		return *mem.At[uint32](p) == *mem.At[uint32](q)
	case opInt64, opUint64:
		return *mem.At[uint64](p) == *mem.At[uint64](q)
	case opBytes:
		return bytes.Equal(*mem.At[[]byte](p), *mem.At[[]byte](q))
	case opStrMap:
		return maps.Equal(*mem.At[map[string]string](p), *mem.At[map[string]string](q))
	}
	// What may hold more values is counted. There are too many ways back for a deferred call to be cheap.
	if c.depth++; c.depth > maxNesting {
		return false
	}
	same := c.nested(n, p, q)
	c.depth--
	return same
}

// nested compares values that hold others.
func (c *comparer) nested(n *node, p, q mem.Pointer) bool {
	switch n.op {
	case opStruct:
		return c.structs(n, p, q)
	case opPtr:
		x, y := *mem.PointerAt(p), *mem.PointerAt(q)
		if x == nil || y == nil || x == y {
			return x == y
		}
		return c.values(n.elem, x, y)
	case opSlice:
		x, y := *mem.SliceAt(p), *mem.SliceAt(q)
		return x.Len == y.Len && c.elements(n.elem, x.Data, y.Data, x.Len)
	case opArray:
		return c.elements(n.elem, p, q, n.length)
	case opMap:
		return c.mappings(n, n.at(p), n.at(q))
	case opAny, opIface:
		x, y := n.at(p), n.at(q)
		if x.IsNil() || y.IsNil() {
			return x.IsNil() && y.IsNil()
		}
		return c.dynamic(x.Interface(), y.Interface())
	case opInvalid:
		return n.at(p).IsZero() && n.at(q).IsZero()
	}
	return n.at(p).Equal(n.at(q))
}

func sameBytes(p, q mem.Pointer, size uintptr) bool {
	return bytes.Equal(mem.Region(p, size), mem.Region(q, size))
}

func (c *comparer) structs(n *node, p, q mem.Pointer) bool {
	if n.copy.how == copyPlain || n.copy.bad != nil {
		// Fields this package cannot reach: compare what reflection sees.
		return reflect.DeepEqual(n.at(p).Interface(), n.at(q).Interface())
	}
	for _, f := range n.copy.parts {
		if !c.values(f.n, mem.Add(p, f.off), mem.Add(q, f.off)) {
			return false
		}
	}
	if len(n.copy.parts) == n.typ.NumField() {
		return true
	}
	x, y := n.at(p), n.at(q)
	for i := range n.typ.NumField() {
		if f := n.typ.Field(i); !f.IsExported() && !f.Anonymous && plainMemory(f.Type) && !x.Field(i).Equal(y.Field(i)) {
			return false
		}
	}
	return true
}

func (c *comparer) elements(n *node, p, q mem.Pointer, length int) bool {
	if p == q {
		return true
	}
	for i := range length {
		off := uintptr(i) * n.size
		if !c.values(n, mem.Add(p, off), mem.Add(q, off)) {
			return false
		}
	}
	return true
}

func (c *comparer) mappings(n *node, x, y reflect.Value) bool {
	if x.Len() != y.Len() {
		return false
	}
	if x.Len() == 0 || x.UnsafePointer() == y.UnsafePointer() {
		return true
	}
	key := reflect.New(n.typ.Key()).Elem()
	a, b := reflect.New(n.elem.typ), reflect.New(n.elem.typ)
	for it := x.MapRange(); it.Next(); {
		key.SetIterKey(it)
		w := y.MapIndex(key)
		if !w.IsValid() {
			return false
		}
		a.Elem().SetIterValue(it)
		b.Elem().Set(w)
		if !c.values(n.elem, a.UnsafePointer(), b.UnsafePointer()) {
			return false
		}
	}
	return true
}
