package metav1

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// MetaOf returns the ObjectMeta inside obj. Writes through it are writes to obj. It works for every type that
// embeds our ObjectMeta or one of the same layout (k8s.io's), and allocates nothing. It panics for nil, and
// for a type that embeds neither; scheme.Add refuses such types first, see [CheckMeta].
func MetaOf(obj Object) *ObjectMeta {
	// Our own types answer without a look-up: the method is promoted from the embedded struct.
	if own, ok := obj.(interface{ objectMeta() *ObjectMeta }); ok {
		return own.objectMeta()
	}
	if obj == nil {
		panic("metav1: a nil Object has no ObjectMeta")
	}
	v := reflect.ValueOf(obj)
	offset, err := metaOffset(v.Type())
	if err != nil {
		panic(err)
	}
	return mem.At[ObjectMeta](mem.Add(v.UnsafePointer(), offset))
}

func (m *ObjectMeta) objectMeta() *ObjectMeta { return m }

// CheckMeta reports why MetaOf cannot serve the pointer type t, or nil if it can.
func CheckMeta(t reflect.Type) error {
	_, err := metaOffset(t)
	return err
}

type metaLayout struct {
	offset uintptr
	err    error
}

// metaLayouts caches one small entry per Go type; types are finite, so is the map.
var metaLayouts sync.Map // reflect.Type -> metaLayout

func metaOffset(t reflect.Type) (uintptr, error) {
	if l, ok := metaLayouts.Load(t); ok {
		l := l.(metaLayout)
		return l.offset, l.err
	}
	var l metaLayout
	l.offset, l.err = findMeta(t)
	metaLayouts.Store(t, l)
	return l.offset, l.err
}

func findMeta(t reflect.Type) (uintptr, error) {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return 0, fmt.Errorf("metav1: %v is not a pointer to a struct", t)
	}
	f, ok := t.Elem().FieldByName("ObjectMeta")
	if !ok || !f.Anonymous || len(f.Index) != 1 {
		return 0, fmt.Errorf("metav1: %v does not embed ObjectMeta", t)
	}
	if err := sameLayout(f.Type, reflect.TypeFor[ObjectMeta](), "ObjectMeta"); err != nil {
		return 0, fmt.Errorf("metav1: %v: %w", t, err)
	}
	return f.Offset, nil
}

// sameLayout checks that values of type a may be read and written as values of type b.
func sameLayout(a, b reflect.Type, path string) error {
	if a == b {
		return nil
	}
	if a.Kind() != b.Kind() || a.Size() != b.Size() {
		return fmt.Errorf("%s is %v, want the layout of %v", path, a, b)
	}
	switch a.Kind() {
	case reflect.Struct:
		if a.NumField() != b.NumField() {
			return fmt.Errorf("%s has %d fields, want %d", path, a.NumField(), b.NumField())
		}
		for i := range a.NumField() {
			fa, fb := a.Field(i), b.Field(i)
			if fa.Name != fb.Name || fa.Offset != fb.Offset {
				return fmt.Errorf("%s.%s is where %s should be", path, fa.Name, fb.Name)
			}
			if err := sameLayout(fa.Type, fb.Type, path+"."+fa.Name); err != nil {
				return err
			}
		}
	case reflect.Pointer, reflect.Slice:
		return sameLayout(a.Elem(), b.Elem(), path+"[]")
	case reflect.Map:
		if err := sameLayout(a.Key(), b.Key(), path+" key"); err != nil {
			return err
		}
		return sameLayout(a.Elem(), b.Elem(), path+" value")
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint64:
	default:
		return fmt.Errorf("%s has the unexpected kind %v", path, a.Kind())
	}
	return nil
}
