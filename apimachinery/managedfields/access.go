package managedfields

import (
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// access is how a field of a Go struct is read: directly from memory or through its JSON form.
type access uint8

const (
	otherValue    access = iota // read as JSON
	scalarValue                 // a string, boolean or integer
	scalarPointer               // a pointer to one
	stringMap                   // map[string]string, owned by key
	structList                  // []struct, items identified by scalar fields
	stringList                  // []string, owned by value
)

// accessOf returns how a field with the given plan and type is read.
func accessOf(p *codec.Plan, goType reflect.Type, t *Type) access {
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
	case t.shape == dictionary && mem.IsMapOf[string](goType) && t.elem.shape == leaf && ofStrings():
		return stringMap
	case t.shape == setList && goType.Kind() == reflect.Slice && ofStrings():
		return stringList
	case t.shape == keyedList && goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.Struct:
		for _, name := range t.keys {
			if f, ok := t.elem.field(name); !ok || f.access != scalarValue && f.access != scalarPointer {
				return otherValue
			}
		}
		if t.elem.shape == leaf || t.elem.goType == goType.Elem() {
			return structList
		}
	}
	return otherValue
}

// exactTypes are the types with a JSON form of their own that write equal values as equal texts.
var exactTypes = []reflect.Type{
	reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.Duration](),
	reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString](),
}

// exact reports whether equal JSON values of a type have equal texts, which floating-point numbers (0 and -0)
// and JSON that is kept as it came do not. seen has the plans above this one.
func exact(p *codec.Plan, seen map[*codec.Plan]bool) bool {
	if seen[p] {
		return true
	}
	seen[p] = true
	switch p.Kind {
	case codec.Boolean, codec.Integer, codec.String:
		return true
	case codec.List, codec.Map:
		return exact(p.Elem(), seen)
	case codec.Struct:
		return !slices.ContainsFunc(p.Fields(), func(f codec.Field) bool { return !exact(f.Plan(), seen) })
	}
	return slices.Contains(exactTypes, p.Type)
}

// scalar returns the JSON form of a scalar field, or of what it points to; ok is false if the tags omit it.
func (f *field) scalar(p mem.Pointer) (v any, ok bool) {
	kind := f.goType.Kind()
	if f.access == scalarPointer {
		if p = *mem.PointerAt(p); p == nil {
			return nil, !f.omitEmpty && !f.omitZero
		}
		return scalarAt(f.goType.Elem().Kind(), p), true
	}
	if (f.omitEmpty || f.omitZero) && f.zeroAt(p) {
		return nil, false
	}
	return scalarAt(kind, p), true
}

// holds reports whether a scalar field, or what it points to, is set and has the JSON form want.
func (f *field) holds(p mem.Pointer, want any) bool {
	if s, ok := want.(string); ok && f.access == scalarValue && f.goType.Kind() == reflect.String {
		v := *mem.At[string](p)
		return v == s && (v != "" || !f.omitEmpty && !f.omitZero)
	}
	v, there := f.scalar(p)
	return there && v == want
}

func scalarAt(kind reflect.Kind, p mem.Pointer) any {
	switch kind {
	case reflect.String:
		return *mem.At[string](p)
	case reflect.Bool:
		return *mem.At[bool](p)
	case reflect.Int32:
		return int64(*mem.At[int32](p))
	case reflect.Int64:
		return *mem.At[int64](p)
	case reflect.Int:
		return int64(*mem.At[int](p))
	case reflect.Int16:
		return int64(*mem.At[int16](p))
	case reflect.Int8:
		return int64(*mem.At[int8](p))
	case reflect.Uint8:
		return int64(*mem.At[uint8](p))
	case reflect.Uint16:
		return int64(*mem.At[uint16](p))
	case reflect.Uint32:
		return int64(*mem.At[uint32](p))
	case reflect.Uint:
		return int64(*mem.At[uint](p))
	}
	return int64(*mem.At[uint64](p))
}

// zeroAt reports whether a field holds the zero value of its type.
func (f *field) zeroAt(p mem.Pointer) bool {
	switch f.access {
	case scalarValue:
		switch f.goType.Kind() {
		case reflect.String:
			return len(*mem.At[string](p)) == 0
		case reflect.Bool:
			return !*mem.At[bool](p)
		case reflect.Int32, reflect.Uint32:
			return *mem.At[int32](p) == 0
		case reflect.Int64, reflect.Uint64:
			return *mem.At[int64](p) == 0
		}
	case scalarPointer:
		return *mem.PointerAt(p) == nil
	case stringMap:
		return len(*mem.At[map[string]string](p)) == 0
	case structList, stringList:
		return mem.SliceAt(p).Len == 0
	}
	switch f.goType.Kind() {
	case reflect.Pointer, reflect.Map:
		return *mem.PointerAt(p) == nil
	case reflect.Slice:
		return mem.SliceAt(p).Data == nil
	case reflect.Struct:
		if zeros(mem.Region(p, f.goType.Size())) {
			return true
		}
	}
	return reflect.NewAt(f.goType, p).Elem().IsZero()
}

// zeros reports whether memory holds nothing but zeros.
func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// sameAt reports whether two fields are known to be equal; false means that they may differ.
func (f *field) sameAt(l, r mem.Pointer) bool {
	switch f.access {
	case scalarValue:
		return sameScalars(f.goType.Kind(), l, r)
	case scalarPointer:
		l, r = *mem.PointerAt(l), *mem.PointerAt(r)
		if l == nil || r == nil || l == r {
			return l == r
		}
		return sameScalars(f.goType.Elem().Kind(), l, r)
	}
	return codec.Equal(reflect.NewAt(f.goType, l).Interface(), reflect.NewAt(f.goType, r).Interface())
}

func sameScalars(kind reflect.Kind, l, r mem.Pointer) bool {
	switch kind {
	case reflect.String:
		return *mem.At[string](l) == *mem.At[string](r)
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return *mem.At[uint8](l) == *mem.At[uint8](r)
	case reflect.Int16, reflect.Uint16:
		return *mem.At[uint16](l) == *mem.At[uint16](r)
	case reflect.Int32, reflect.Uint32:
		return *mem.At[uint32](l) == *mem.At[uint32](r)
	}
	return scalarAt(kind, l) == scalarAt(kind, r)
}

// elementAt returns the element of an item of a structList.
func (t *Type) elementAt(item mem.Pointer) (Element, bool) {
	b := make([]byte, 0, 64)
	b = append(b, '{')
	for _, name := range t.keys {
		f, _ := t.elem.field(name)
		v, ok := f.scalar(mem.Add(item, f.offset))
		if !ok || v == nil {
			v = f.zero
		}
		if v != nil {
			b = appendKey(b, name, v)
		}
	}
	return Element{kind: keyKind, text: string(append(b, '}'))}, len(b) > 1
}

// sameKeys reports whether two items of a structList are known to be the same item.
func (t *Type) sameKeys(l, r mem.Pointer) bool {
	for _, name := range t.keys {
		f, _ := t.elem.field(name)
		if !f.sameAt(mem.Add(l, f.offset), mem.Add(r, f.offset)) {
			return false
		}
	}
	return true
}
