package codec

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// omitRule is the condition under which a field is omitted from JSON.
type omitRule uint8

const (
	omitNever omitRule = iota
	omitZero1          // one byte is zero
	omitZero2
	omitZero4
	omitZero8
	omitWord   // a pointer, map or interface word is nil
	omitLen    // the length of a string or slice is 0
	omitMap    // the map is nil or empty
	omitArray0 // an array of length 0: always
	omitMethod // IsZero returns true
	omitMemory // the value is zero, found by reflection
	omitMixed  // several of these, see field.present
)

func emptyRule(t reflect.Type) omitRule {
	switch t.Kind() {
	case reflect.String, reflect.Slice:
		return omitLen
	case reflect.Map:
		return omitMap
	case reflect.Pointer, reflect.Interface:
		return omitWord
	case reflect.Array:
		if t.Len() == 0 {
			return omitArray0
		}
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		switch t.Size() {
		case 1:
			return omitZero1
		case 2:
			return omitZero2
		case 4:
			return omitZero4
		default:
			return omitZero8
		}
	}
	return omitNever
}

func (b *builder) zeroRule(f *field) omitRule {
	t := f.n.typ
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		f.callZero = t.Implements(reflect.TypeFor[zeroer]())
		return omitMemory
	}
	if z, ok := reflect.Zero(reflect.PointerTo(t)).Interface().(zeroer); ok {
		f.zeroer = mem.BinderOf(z)
		return omitMethod
	}
	return omitMemory
}

// A probe is what the writer needs to pass over a field that is not written. Most
// fields of most objects are not, and walking these touches a tenth of the memory.
type probe struct {
	off  uint32
	rule omitRule
}

func (f *field) probe() probe {
	if f.indirect || f.zero != omitNever || f.omit == omitMap && !mem.MapsAlike {
		return probe{f.off, omitMixed}
	}
	return probe{f.off, f.omit}
}

// present returns the address of the field in the struct at p, or nil if it is not written.
func (f *field) present(p mem.Pointer) mem.Pointer {
	q := f.address(p)
	if q == nil || f.omitted(f.omit, q) || f.omitted(f.zero, q) {
		return nil
	}
	return q
}

// omitted applies a rule to the value at p.
func (f *field) omitted(rule omitRule, p mem.Pointer) bool {
	switch rule {
	case omitZero1:
		return *mem.At[uint8](p) == 0
	case omitZero2:
		return *mem.At[uint16](p) == 0
	case omitZero4:
		return *mem.At[uint32](p) == 0
	case omitZero8:
		return *mem.At[uint64](p) == 0
	case omitWord:
		return *mem.PointerAt(p) == nil
	case omitLen:
		return mem.LenAt(p) == 0
	case omitMap:
		return mem.MapLenOf(f.n.model, p) == 0
	case omitArray0:
		return true
	case omitMethod:
		return mem.Bind[zeroer](&f.zeroer, p).IsZero()
	case omitMemory:
		v := f.n.at(p)
		if k := v.Kind(); k == reflect.Pointer || k == reflect.Interface {
			if v.IsNil() {
				return true
			}
			if !f.callZero {
				return false
			}
			if k == reflect.Interface && v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil() {
				return true
			}
			return v.Interface().(zeroer).IsZero()
		}
		return v.IsZero()
	}
	return false
}
