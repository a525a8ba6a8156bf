package codec

import (
	"fmt"
	"reflect"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// copyHow is how a value is copied.
type copyHow uint8

const (
	copyByOp     copyHow = iota // by the kind: what pointers, slices, maps and interfaces refer to is copied
	copyFields                  // a struct, field by field
	copyPlain                   // assignment is enough
	copyByInto                  // DeepCopyInto(*T)
	copyByPtr                   // DeepCopy() *T
	copyByResult                // DeepCopy() T
)

type copyPlan struct {
	how    copyHow
	into   func(src, dst mem.Pointer)
	ptr    func(src mem.Pointer) mem.Pointer
	result reflect.Value // func(*T) T
	parts  []copyPart    // all fields of a struct
	fixes  []copyFix     // what is left to do after assignment, nested structs flattened in
	words  []uint32      // where the first of them are, those with nothing to do if the word there is nil
	bad    error
}

// assignable marks types whose copies by assignment are independent although
// they hold pointers, because what those point to never changes.
type assignable interface{ AssignmentCopies() }

type copyPart struct {
	n    *node
	off  uint32
	name string
}

// A copyFix is a field that refers to memory.
type copyFix struct {
	n   *node
	off uint32
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	locationType = reflect.TypeFor[*time.Location]()
)

// copyMethods finds the methods that copy values of the type.
func (b *builder) copyMethods(n *node) {
	t := n.typ
	c := &n.copy
	switch n.op {
	case opBool, opInt8, opInt16, opInt32, opInt64, opUint8, opUint16, opUint32, opUint64, opFloat32, opFloat64, opString:
		c.how = copyPlain
		return
	case opAny, opIface, opPtr, opInvalid:
		return
	}
	if t == timeType {
		c.how = copyPlain // its location is never written to
		return
	}
	if n.quantities {
		return // a copy of such a map does not depend on its methods
	}
	pt := reflect.PointerTo(t)
	if _, ok := reflect.Zero(pt).Interface().(assignable); ok && declares(t, assignmentMethod) {
		c.how = copyPlain
		return
	}
	if m, ok := copyIntoMethod(pt); ok && m.Type.NumIn() == 2 && m.Type.In(1) == pt && m.Type.NumOut() == 0 {
		c.how, c.into = copyByInto, mem.IntoFunc(m.Func)
		return
	}
	if m, ok := copyMethod(pt); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		switch m.Type.Out(0) {
		case pt:
			c.how, c.ptr = copyByPtr, mem.CopyFunc(m.Func)
			return
		case t:
			c.how, c.result = copyByResult, m.Func
			return
		}
	}
	if n.op == opStruct {
		c.how = copyFields
	}
}

// copyFields links the fields of a struct.
func (b *builder) copyFields(n *node) {
	for i := range n.typ.NumField() {
		f := n.typ.Field(i)
		if !f.IsExported() && !f.Anonymous {
			if !plainMemory(f.Type) {
				n.copy.bad = fmt.Errorf("%v has the unexported field %s with pointers and no DeepCopyInto(*%s)", n.typ, f.Name, n.typ.Name())
			}
			continue
		}
		n.copy.parts = append(n.copy.parts, copyPart{name: f.Name, off: uint32(f.Offset), n: b.node(f.Type)})
	}
}

// plainMemory reports whether values of t may be copied by assignment. Locks may not.
func plainMemory(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.String:
		return true
	case reflect.Array:
		return plainMemory(t.Elem())
	case reflect.Pointer:
		return t == locationType
	case reflect.Struct:
		if isLock(t) {
			return false
		}
		for i := range t.NumField() {
			if !plainMemory(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}

// finishCopy finds the types assignment is enough for and flattens the fixes.
func (b *builder) finishCopy() {
	for _, n := range b.order {
		n.noPtrs = n.plain()
	}
	for _, n := range b.order {
		if n.copy.how == copyFields && !n.noPtrs {
			n.copy.fixes = n.flatten(nil, 0)
			// A copy visits the words of those that may be nil first: most are, and then nothing else of them
			// is read.
			maybe, always := []copyFix(nil), []copyFix(nil)
			for _, f := range n.copy.fixes {
				if f.n.nilable() {
					maybe, n.copy.words = append(maybe, f), append(n.copy.words, f.off)
				} else {
					always = append(always, f)
				}
			}
			n.copy.fixes = append(maybe, always...)
		}
	}
}

// plain follows structs and arrays only, so it ends.
func (n *node) plain() bool {
	if n.bad != nil {
		return false
	}
	switch n.copy.how {
	case copyPlain:
		return true
	case copyFields:
		if n.copy.bad != nil {
			return false
		}
		for _, p := range n.copy.parts {
			if !p.n.plain() {
				return false
			}
		}
		return true
	case copyByOp:
		return n.op == opArray && n.elem.plain()
	}
	return false
}

func (n *node) flatten(out []copyFix, off uint32) []copyFix {
	for _, p := range n.copy.parts {
		if p.n.noPtrs {
			continue
		}
		if p.n.copy.how == copyFields {
			out = p.n.flatten(out, off+p.off)
			continue
		}
		out = append(out, copyFix{n: p.n, off: off + p.off})
	}
	return out
}

// nilable reports whether the first word of values of the type is nil when there is nothing to copy.
func (n *node) nilable() bool {
	switch n.op {
	case opPtr, opSlice, opBytes, opStrMap, opMap, opAny, opIface:
		return true
	}
	return false
}

// checkCopy walks the graph below n for a part that cannot be copied.
func (n *node) checkCopy() error {
	n.copyOnce.Do(func() {
		n.copyErr = n.search(func(m *node) (error, bool) {
			if m.copy.how >= copyPlain {
				return nil, false
			}
			if m.bad != nil {
				return m.bad, false
			}
			return m.copy.bad, true
		}, func(m *node, visit func(string, *node)) {
			for _, p := range m.copy.parts {
				visit(p.name, p.n)
			}
		})
	})
	return n.copyErr
}
