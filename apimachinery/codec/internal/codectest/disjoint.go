package codectest

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// RequireDisjoint fails the test if a and b, which have equal content, share memory that can be written to.
func RequireDisjoint(t *testing.T, a, b reflect.Value, path string) {
	t.Helper()
	if a.Type() == reflect.TypeFor[time.Time]() || a.Type() == reflect.TypeFor[resource.Quantity]() {
		return
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() {
			return
		}
		if a.Type().Elem().Size() > 0 {
			require.NotEqual(t, a.Pointer(), b.Pointer(), path)
		}
		RequireDisjoint(t, a.Elem(), b.Elem(), path)
	case reflect.Interface:
		if !a.IsNil() {
			RequireDisjoint(t, a.Elem(), b.Elem(), path)
		}
	case reflect.Struct:
		for i := range a.NumField() {
			RequireDisjoint(t, a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name)
		}
	case reflect.Slice:
		if a.Cap() > 0 && a.Len() > 0 {
			require.NotEqual(t, a.Pointer(), b.Pointer(), path)
		}
		for i := range a.Len() {
			RequireDisjoint(t, a.Index(i), b.Index(i), path+"[]")
		}
	case reflect.Array:
		for i := range a.Len() {
			RequireDisjoint(t, a.Index(i), b.Index(i), path+"[]")
		}
	case reflect.Map:
		if !a.IsNil() {
			require.NotEqual(t, a.Pointer(), b.Pointer(), path)
		}
		for it := a.MapRange(); it.Next(); {
			RequireDisjoint(t, it.Value(), b.MapIndex(it.Key()), path+"[]")
		}
	}
}
