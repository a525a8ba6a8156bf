package check

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Same reports whether two values of one type mean the same: absent and empty lists and maps are
// alike, quantities and times are compared by value.
func Same(a, b any) bool { return same(reflect.ValueOf(a), reflect.ValueOf(b)) }

func same(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Type() {
	case reflect.TypeFor[resource.Quantity]():
		return a.Interface().(resource.Quantity).Equal(b.Interface().(resource.Quantity))
	case reflect.TypeFor[time.Time]():
		return a.Interface().(time.Time).Equal(b.Interface().(time.Time))
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer() || same(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for it := a.MapRange(); it.Next(); {
			if v := b.MapIndex(it.Key()); !v.IsValid() || !same(it.Value(), v) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

// Keys returns the keys of m in order, so that findings come in the same order every time.
func Keys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
