package plan

import (
	"fmt"
	"reflect"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// CopyHow is how a value is copied.
type CopyHow uint8

const (
	CopyByOp     CopyHow = iota // by the kind: what pointers, slices, maps and interfaces refer to is copied
	CopyFields                  // a struct, field by field
	CopyPlain                   // assignment is enough
	CopyByInto                  // DeepCopyInto(*T)
	CopyByPtr                   // DeepCopy() *T
	CopyByResult                // DeepCopy() T
)

// A CopyPlan is how values of a type are copied.
type CopyPlan struct {
	How    CopyHow
	Into   func(src, dst mem.Pointer)
	Ptr    func(src mem.Pointer) mem.Pointer
	Result reflect.Value // func(*T) T
	Parts  []CopyPart    // all fields of a struct
	Fixes  []CopyFix     // the steps that remain after assignment, nested structs flattened in
	Words  []uint32      // offsets of the first of them, which have no effect if the word there is nil
	Bad    error         // set if the fields cannot be copied
}

// assignable marks types whose copies by assignment are independent although they hold pointers, because the
// memory they point to never changes.
type assignable interface{ AssignmentCopies() }

// A CopyPart is a field of a struct.
type CopyPart struct {
	Node *Node
	Off  uint32
	Name string
}

// A CopyFix is a field that refers to memory.
type CopyFix struct {
	Node *Node
	Off  uint32
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	locationType = reflect.TypeFor[*time.Location]()
)

// copyMethods finds the methods that copy values of the type.
func (b *builder) copyMethods(n *Node) {
	t := n.Type
	c := &n.Copy
	switch n.Op {
	case OpBool, OpInt8, OpInt16, OpInt32, OpInt64, OpUint8, OpUint16, OpUint32, OpUint64, OpFloat32, OpFloat64, OpString:
		c.How = CopyPlain
		return
	case OpAny, OpInterface, OpPointer, OpInvalid:
		return
	}
	if t == timeType {
		c.How = CopyPlain // its location is never written to
		return
	}
	if n.Quantities {
		return // a copy of such a map does not depend on its methods
	}
	pt := reflect.PointerTo(t)
	if _, ok := reflect.Zero(pt).Interface().(assignable); ok && declares(t, assignmentMethod) {
		c.How = CopyPlain
		return
	}
	if m, ok := copyIntoMethod(pt); ok && m.Type.NumIn() == 2 && m.Type.In(1) == pt && m.Type.NumOut() == 0 {
		c.How, c.Into = CopyByInto, mem.IntoFunc(m.Func)
		return
	}
	if m, ok := copyMethod(pt); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		switch m.Type.Out(0) {
		case pt:
			c.How, c.Ptr = CopyByPtr, mem.CopyFunc(m.Func)
			return
		case t:
			c.How, c.Result = CopyByResult, m.Func
			return
		}
	}
	if n.Op == OpStruct {
		c.How = CopyFields
	}
}

// CopyFields links the fields of a struct.
func (b *builder) copyFields(n *Node) {
	for i := range n.Type.NumField() {
		f := n.Type.Field(i)
		if !f.IsExported() && !f.Anonymous {
			if !PlainMemory(f.Type) {
				n.Copy.Bad = fmt.Errorf("%v has the unexported field %s with pointers and no DeepCopyInto(*%s)", n.Type, f.Name, n.Type.Name())
			}
			continue
		}
		n.Copy.Parts = append(n.Copy.Parts, CopyPart{Name: f.Name, Off: uint32(f.Offset), Node: b.node(f.Type)})
	}
}

// PlainMemory reports whether values of t may be copied by assignment. Locks may not.
func PlainMemory(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.String:
		return true
	case reflect.Array:
		return PlainMemory(t.Elem())
	case reflect.Pointer:
		return t == locationType
	case reflect.Struct:
		if isLock(t) {
			return false
		}
		for i := range t.NumField() {
			if !PlainMemory(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}

// finishCopy finds the types for which assignment is enough, and flattens the fixes.
func (b *builder) finishCopy() {
	for _, n := range b.order {
		n.NoPtrs = n.plain()
	}
	for _, n := range b.order {
		if n.Copy.How == CopyFields && !n.NoPtrs {
			n.Copy.Fixes = n.flatten(nil, 0)
			// A copy reads the words of those that may be nil first: most are, and then nothing else of them
			// is read.
			maybe, always := []CopyFix(nil), []CopyFix(nil)
			for _, f := range n.Copy.Fixes {
				if f.Node.nilable() {
					maybe, n.Copy.Words = append(maybe, f), append(n.Copy.Words, f.Off)
				} else {
					always = append(always, f)
				}
			}
			n.Copy.Fixes = append(maybe, always...)
		}
	}
}

// plain follows only structs and arrays, so it terminates.
func (n *Node) plain() bool {
	if n.bad != nil {
		return false
	}
	switch n.Copy.How {
	case CopyPlain:
		return true
	case CopyFields:
		if n.Copy.Bad != nil {
			return false
		}
		for _, p := range n.Copy.Parts {
			if !p.Node.plain() {
				return false
			}
		}
		return true
	case CopyByOp:
		return n.Op == OpArray && n.Elem.plain()
	}
	return false
}

func (n *Node) flatten(out []CopyFix, off uint32) []CopyFix {
	for _, p := range n.Copy.Parts {
		if p.Node.NoPtrs {
			continue
		}
		if p.Node.Copy.How == CopyFields {
			out = p.Node.flatten(out, off+p.Off)
			continue
		}
		out = append(out, CopyFix{Node: p.Node, Off: off + p.Off})
	}
	return out
}

// nilable reports whether the first word of values of the type is nil when there is nothing to copy.
func (n *Node) nilable() bool {
	switch n.Op {
	case OpPointer, OpSlice, OpBytes, OpStringMap, OpMap, OpAny, OpInterface:
		return true
	}
	return false
}

// CheckCopy walks the graph below n for a part that cannot be copied.
func (n *Node) CheckCopy() error {
	n.copyOnce.Do(func() {
		n.copyErr = n.search(func(m *Node) (error, bool) {
			if m.Copy.How >= CopyPlain {
				return nil, false
			}
			if m.bad != nil {
				return m.bad, false
			}
			return m.Copy.Bad, true
		}, func(m *Node, visit func(string, *Node)) {
			for _, p := range m.Copy.Parts {
				visit(p.Name, p.Node)
			}
		})
	})
	return n.copyErr
}
