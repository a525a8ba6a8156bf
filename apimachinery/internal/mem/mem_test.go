package mem

import (
	"os"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// An upgrade of Go must not switch the layouts off without notice: that is slower by half. Read the runtime
// of the new version (internal/runtime/maps for maps) and extend map_layout_go126.go, or change the layout.
func TestLayoutsAreKnown(t *testing.T) {
	if Safe {
		require.False(t, valuesKnown || interfacesKnown || methodsKnown || MapsAlike || SmallMapsKnown)
		return
	}
	known := map[string]bool{
		"reflect.Value": valuesKnown, "interfaces": interfacesKnown, "methods": methodsKnown,
		"maps": MapsAlike, "small maps": SmallMapsKnown,
	}
	for what, ok := range known {
		switch {
		case ok:
		case os.Getenv("CI") != "":
			t.Errorf("the layout of %s is not known for %s", what, runtime.Version())
		default:
			t.Logf("the layout of %s is not known for %s: package reflect is used instead", what, runtime.Version())
		}
	}
}

type named string

func TestInterfacesBoundToPointers(t *testing.T) {
	a, b := checkedNumber(1), checkedNumber(2)
	binder := BinderOf[interface{ value() int }](&a)
	require.Equal(t, 2, Bind[interface{ value() int }](&binder, Of(&b)).value())
	require.Equal(t, 2, bindSlowly[interface{ value() int }](&binder, Of(&b)).value())
	s := "text"
	require.Equal(t, any("text"), Box(&s))
}

func TestMethodsOfPointers(t *testing.T) {
	method := func(name string) reflect.Value {
		m, ok := reflect.TypeFor[*checkedNumber]().MethodByName(name)
		require.True(t, ok)
		return m.Func
	}
	a, b := checkedNumber(1), checkedNumber(2)
	equal := EqualFunc(method("Same"))
	require.False(t, equal(Of(&a), Of(&b)))
	IntoFunc(method("CopyInto"))(Of(&a), Of(&b))
	require.True(t, equal(Of(&a), Of(&b)))
	require.EqualValues(t, 1, *At[checkedNumber](CopyFunc(method("Copy"))(Of(&b))))
}

func TestValuesAndLengths(t *testing.T) {
	x, y := 1, 2
	v := Value(reflect.ValueOf(&x).Elem(), Of(&y))
	v.SetInt(5)
	require.Equal(t, []int{1, 5}, []int{x, y})
	m := map[named]int{"a": 1}
	require.Equal(t, 1, MapLenOf(reflect.ValueOf(&m).Elem(), Of(&m)))
	require.Equal(t, "abc", String([]byte("abc")))
	require.Empty(t, String(nil))
	require.Equal(t, []byte("abc"), Bytes("abc"))
	list := []int32{1, 2, 3}
	require.Equal(t, int32(3), *At[int32](SliceAt(Of(&list)).Index(2, 4)))
	require.Equal(t, 3, LenAt(Of(&list)))
	empty := EmptySlice()
	require.Equal(t, []string{}, *At[[]string](Of(&empty)))
}
