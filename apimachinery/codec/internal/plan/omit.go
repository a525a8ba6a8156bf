package plan

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// OmitRule is the condition under which a field is omitted from JSON.
type OmitRule uint8

const (
	OmitNever OmitRule = iota
	OmitZero1          // one byte is zero
	OmitZero2
	OmitZero4
	OmitZero8
	OmitWord   // a pointer, map or interface word is nil
	OmitLen    // the length of a string or slice is 0
	OmitMap    // the map is nil or empty
	OmitArray0 // an array of length 0: always
	OmitMethod // IsZero returns true
	OmitMemory // the value is zero, found by reflection
	OmitMixed  // several of these, see field.present
)

func emptyRule(t reflect.Type) OmitRule {
	switch t.Kind() {
	case reflect.String, reflect.Slice:
		return OmitLen
	case reflect.Map:
		return OmitMap
	case reflect.Pointer, reflect.Interface:
		return OmitWord
	case reflect.Array:
		if t.Len() == 0 {
			return OmitArray0
		}
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		switch t.Size() {
		case 1:
			return OmitZero1
		case 2:
			return OmitZero2
		case 4:
			return OmitZero4
		default:
			return OmitZero8
		}
	}
	return OmitNever
}

func (b *builder) zeroRule(f *Field) OmitRule {
	t := f.Node.Type
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		f.callZero = t.Implements(reflect.TypeFor[zeroer]())
		return OmitMemory
	}
	if z, ok := reflect.Zero(reflect.PointerTo(t)).Interface().(zeroer); ok {
		f.zeroer = mem.BinderOf(z)
		return OmitMethod
	}
	return OmitMemory
}

// A Probe holds what the encoder reads to skip a field that is omitted. Most fields of most objects are, and
// an array of probes takes a tenth of the memory of the fields.
type Probe struct {
	Off  uint32
	Rule OmitRule
}

func (f *Field) probe() Probe {
	if f.Indirect || f.OmitZero != OmitNever || f.OmitEmpty == OmitMap && !mem.MapsAlike {
		return Probe{f.Off, OmitMixed}
	}
	return Probe{f.Off, f.OmitEmpty}
}

// Present returns the address of the field in the struct at p, or nil if it is not written.
func (f *Field) Present(p mem.Pointer) mem.Pointer {
	q := f.Address(p)
	if q == nil || f.Omitted(f.OmitEmpty, q) || f.Omitted(f.OmitZero, q) {
		return nil
	}
	return q
}

// Omitted applies a rule to the value at p.
func (f *Field) Omitted(rule OmitRule, p mem.Pointer) bool {
	switch rule {
	case OmitZero1:
		return *mem.At[uint8](p) == 0
	case OmitZero2:
		return *mem.At[uint16](p) == 0
	case OmitZero4:
		return *mem.At[uint32](p) == 0
	case OmitZero8:
		return *mem.At[uint64](p) == 0
	case OmitWord:
		return *mem.PointerAt(p) == nil
	case OmitLen:
		return mem.LenAt(p) == 0
	case OmitMap:
		return mem.MapLenOf(f.Node.model, p) == 0
	case OmitArray0:
		return true
	case OmitMethod:
		return mem.Bind[zeroer](&f.zeroer, p).IsZero()
	case OmitMemory:
		v := f.Node.At(p)
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
