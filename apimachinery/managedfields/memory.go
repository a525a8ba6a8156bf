package managedfields

import (
	"reflect"
	"unsafe"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// memory is how a field of a Go struct lies in memory, as far as it is read without a detour over its JSON
// form.
type memory uint8

const (
	otherValue    memory = iota // read as JSON
	scalarValue                 // a string, boolean or integer
	scalarPointer               // a pointer to one
	stringMap                   // map[string]string, owned by key
	structList                  // []struct, items told apart by scalar fields
	stringList                  // []string, owned by value
)

// memoryOf says how a field with the given plan and type is read.
func memoryOf(p *codec.Plan, goType reflect.Type, t *Type) memory {
	scalar := func(r reflect.Type) bool {
		switch p.Kind {
		case codec.Boolean:
			return r.Kind() == reflect.Bool
		case codec.String:
			return r.Kind() == reflect.String
		case codec.Integer:
			return r.Kind() >= reflect.Int && r.Kind() <= reflect.Uint64
		}
		return false
	}
	ofStrings := func() bool { return p.Elem().Kind == codec.String && goType.Elem().Kind() == reflect.String }
	switch {
	case scalar(goType):
		return scalarValue
	case goType.Kind() == reflect.Pointer && scalar(goType.Elem()):
		return scalarPointer
	case t.shape == dictionary && goType.Kind() == reflect.Map && goType.Key().Kind() == reflect.String && t.elem.shape == leaf && ofStrings():
		return stringMap
	case t.shape == setList && goType.Kind() == reflect.Slice && ofStrings():
		return stringList
	case t.shape == keyedList && goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.Struct:
		for _, name := range t.keys {
			if f, ok := t.elem.field(name); !ok || f.memory != scalarValue && f.memory != scalarPointer {
				return otherValue
			}
		}
		if t.elem.shape == leaf || t.elem.goType == goType.Elem() {
			return structList
		}
	}
	return otherValue
}

// slice is a []struct in memory.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

func (s *slice) at(i int, size uintptr) unsafe.Pointer { return unsafe.Add(s.data, uintptr(i)*size) }

// scalar returns the JSON form of a scalar field, or of what it points to; ok is false if the tags leave it
// out.
func (f *field) scalar(p unsafe.Pointer) (v any, ok bool) {
	kind := f.goType.Kind()
	if f.memory == scalarPointer {
		if p = *(*unsafe.Pointer)(p); p == nil {
			return nil, !f.omitEmpty && !f.omitZero
		}
		return scalarAt(f.goType.Elem().Kind(), p), true
	}
	if (f.omitEmpty || f.omitZero) && f.zeroAt(p) {
		return nil, false
	}
	return scalarAt(kind, p), true
}

// holds reports whether a scalar field, or what it points to, is there and has the JSON form want.
func (f *field) holds(p unsafe.Pointer, want any) bool {
	if s, ok := want.(string); ok && f.memory == scalarValue && f.goType.Kind() == reflect.String {
		v := *(*string)(p)
		return v == s && (v != "" || !f.omitEmpty && !f.omitZero)
	}
	v, there := f.scalar(p)
	return there && v == want
}

func scalarAt(kind reflect.Kind, p unsafe.Pointer) any {
	switch kind {
	case reflect.String:
		return *(*string)(p)
	case reflect.Bool:
		return *(*bool)(p)
	case reflect.Int32:
		return int64(*(*int32)(p))
	case reflect.Int64:
		return *(*int64)(p)
	case reflect.Int:
		return int64(*(*int)(p))
	case reflect.Int16:
		return int64(*(*int16)(p))
	case reflect.Int8:
		return int64(*(*int8)(p))
	case reflect.Uint8:
		return int64(*(*uint8)(p))
	case reflect.Uint16:
		return int64(*(*uint16)(p))
	case reflect.Uint32:
		return int64(*(*uint32)(p))
	case reflect.Uint:
		return int64(*(*uint)(p))
	}
	return int64(*(*uint64)(p))
}

// zeroAt reports whether a field holds the zero value of its type.
func (f *field) zeroAt(p unsafe.Pointer) bool {
	switch f.memory {
	case scalarValue:
		switch f.goType.Kind() {
		case reflect.String:
			return len(*(*string)(p)) == 0
		case reflect.Bool:
			return !*(*bool)(p)
		case reflect.Int32, reflect.Uint32:
			return *(*int32)(p) == 0
		case reflect.Int64, reflect.Uint64:
			return *(*int64)(p) == 0
		}
	case scalarPointer:
		return *(*unsafe.Pointer)(p) == nil
	case stringMap:
		return len(*(*map[string]string)(p)) == 0
	case structList, stringList:
		return (*slice)(p).len == 0
	}
	switch f.goType.Kind() {
	case reflect.Pointer, reflect.Map:
		return *(*unsafe.Pointer)(p) == nil
	case reflect.Slice:
		return (*slice)(p).data == nil
	case reflect.Struct:
		if zeros(p, f.goType.Size()) {
			return true
		}
	}
	return reflect.NewAt(f.goType, p).Elem().IsZero()
}

// zeros reports whether memory holds nothing but zeros.
func zeros(p unsafe.Pointer, size uintptr) bool {
	for _, b := range unsafe.Slice((*byte)(p), size) {
		if b != 0 {
			return false
		}
	}
	return true
}

// sameAt compares two fields as far as that is plain to see; false means that they may differ.
func (f *field) sameAt(l, r unsafe.Pointer) bool {
	switch f.memory {
	case scalarValue:
		return sameScalars(f.goType.Kind(), l, r)
	case scalarPointer:
		l, r = *(*unsafe.Pointer)(l), *(*unsafe.Pointer)(r)
		if l == nil || r == nil || l == r {
			return l == r
		}
		return sameScalars(f.goType.Elem().Kind(), l, r)
	}
	return codec.Equal(reflect.NewAt(f.goType, l).Interface(), reflect.NewAt(f.goType, r).Interface())
}

func sameScalars(kind reflect.Kind, l, r unsafe.Pointer) bool {
	switch kind {
	case reflect.String:
		return *(*string)(l) == *(*string)(r)
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return *(*uint8)(l) == *(*uint8)(r)
	case reflect.Int16, reflect.Uint16:
		return *(*uint16)(l) == *(*uint16)(r)
	case reflect.Int32, reflect.Uint32:
		return *(*uint32)(l) == *(*uint32)(r)
	}
	return scalarAt(kind, l) == scalarAt(kind, r)
}

// elementAt tells an item of a structList apart.
func (t *Type) elementAt(item unsafe.Pointer) (Element, bool) {
	b := make([]byte, 0, 64)
	b = append(b, '{')
	for _, name := range t.keys {
		f, _ := t.elem.field(name)
		v, ok := f.scalar(unsafe.Add(item, f.offset))
		if !ok || v == nil {
			v = f.zero
		}
		if v != nil {
			b = appendKey(b, name, v)
		}
	}
	return Element{kind: keyKind, text: string(append(b, '}'))}, len(b) > 1
}

// sameKeys reports whether two items of a structList are surely the same item.
func (t *Type) sameKeys(l, r unsafe.Pointer) bool {
	for _, name := range t.keys {
		f, _ := t.elem.field(name)
		if !f.sameAt(unsafe.Add(l, f.offset), unsafe.Add(r, f.offset)) {
			return false
		}
	}
	return true
}
