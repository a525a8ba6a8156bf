package codec

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
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
func (n *node) newValue() unsafe.Pointer { return reflect.New(n.typ).UnsafePointer() }

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
func (n *node) at(p unsafe.Pointer) reflect.Value {
	if !valueLayoutKnown {
		return reflect.NewAt(n.typ, p).Elem()
	}
	v := n.model
	(*valueWords)(unsafe.Pointer(&v)).ptr = p
	return v
}

// grow makes room for k more elements in the slice of type n at p.
func (n *node) grow(p unsafe.Pointer, k int) {
	n.at(p).Grow(k)
}

// clear sets the value of type n at p to zero.
func (n *node) clear(p unsafe.Pointer) { n.at(p).SetZero() }

// mapScratch is what going through a map needs: room for a key and for
// copies of the values, which reflection cannot give addresses of.
type mapScratch struct {
	keySlot unsafe.Pointer
	key     reflect.Value
	slots   unsafe.Pointer // *[]T
	values  reflect.Value  // the []T
	entries []mapEntry
	iter    reflect.MapIter
}

// mapEntry is a map entry ready for sorting.
type mapEntry struct {
	key   string
	value unsafe.Pointer
}

// borrow takes a scratch for maps of n's type with room for count values.
func (n *node) borrow(count int) *mapScratch {
	s, ok := n.scratch.Get().(*mapScratch)
	if !ok {
		key := reflect.New(n.key.typ)
		values := reflect.New(reflect.SliceOf(n.elem.typ))
		s = &mapScratch{keySlot: key.UnsafePointer(), key: key.Elem(), slots: values.UnsafePointer(), values: values.Elem()}
	}
	if s.values.Cap() < count {
		s.values.SetLen(0)
		s.values.Grow(count)
	}
	s.values.SetLen(count)
	return s
}

// giveBack returns a scratch, emptied so that it keeps nothing alive.
func (n *node) giveBack(s *mapScratch) {
	s.values.Clear()
	s.key.SetZero()
	clear(s.entries)
	s.entries = s.entries[:0]
	s.iter.Reset(reflect.Value{})
	if s.values.Len() <= 256 {
		n.scratch.Put(s)
	}
}

// load copies the entries of the map v into the scratch; keys that are not
// strings get their text from keyText.
func (s *mapScratch) load(n *node, v reflect.Value, keyText func() (string, error)) error {
	s.iter.Reset(v)
	base := (*sliceHeader)(s.slots).data
	count := s.values.Len()
	for i := 0; i < count && s.iter.Next(); i++ {
		s.key.SetIterKey(&s.iter)
		slot := unsafe.Add(base, uintptr(i)*n.elem.size)
		n.elem.at(slot).SetIterValue(&s.iter)
		var k string
		if keyText == nil {
			k = *(*string)(s.keySlot)
		} else {
			var err error
			if k, err = keyText(); err != nil {
				return err
			}
		}
		s.entries = append(s.entries, mapEntry{k, slot})
	}
	if len(s.entries) > 1 {
		slices.SortFunc(s.entries, func(x, y mapEntry) int { return strings.Compare(x.key, y.key) })
	}
	return nil
}

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

// A methodFinder looks for one method by a constant name. (A name that is not
// constant would make the linker keep every method of the program.)
type methodFinder func(t reflect.Type) (reflect.Method, bool)

// declares reports whether the method of t or *t is declared on t itself
// rather than promoted from an embedded field. The caller knows it exists.
func declares(t reflect.Type, find methodFinder) bool {
	if t.Kind() != reflect.Struct {
		return true
	}
	shadowed := false
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.Anonymous {
			continue
		}
		if _, ok := find(f.Type); ok {
			shadowed = true
		} else if f.Type.Kind() != reflect.Pointer && f.Type.Kind() != reflect.Interface {
			if _, ok := find(reflect.PointerTo(f.Type)); ok {
				shadowed = true
			}
		}
	}
	if !shadowed {
		return true
	}
	// An embedded field has the method too. The compiler writes a promoted method itself, and says so.
	if m, ok := find(t); ok && !autogenerated(m) {
		return true
	}
	m, ok := find(reflect.PointerTo(t))
	return ok && !autogenerated(m)
}

func appendJSONMethod(t reflect.Type) (reflect.Method, bool)  { return t.MethodByName("AppendJSON") }
func parseJSONMethod(t reflect.Type) (reflect.Method, bool)   { return t.MethodByName("ParseJSON") }
func appendProtoMethod(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("AppendProto") }
func parseProtoMethod(t reflect.Type) (reflect.Method, bool)  { return t.MethodByName("ParseProto") }
func marshalMethod(t reflect.Type) (reflect.Method, bool)     { return t.MethodByName("Marshal") }
func unmarshalMethod(t reflect.Type) (reflect.Method, bool)   { return t.MethodByName("Unmarshal") }
func copyIntoMethod(t reflect.Type) (reflect.Method, bool)    { return t.MethodByName("DeepCopyInto") }
func copyMethod(t reflect.Type) (reflect.Method, bool)        { return t.MethodByName("DeepCopy") }
func assignmentMethod(t reflect.Type) (reflect.Method, bool) {
	return t.MethodByName("AssignmentCopies")
}
func equalMethod(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Equal") }

func autogenerated(m reflect.Method) bool {
	pc := m.Func.Pointer()
	f := runtime.FuncForPC(pc)
	if f == nil {
		return true
	}
	file, _ := f.FileLine(pc)
	return file == "<autogenerated>"
}
