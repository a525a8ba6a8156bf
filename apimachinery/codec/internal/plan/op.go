package plan

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

func shapeOf(t reflect.Type) Op {
	switch t.Kind() {
	case reflect.Bool:
		return OpBool
	case reflect.Int8:
		return OpInt8
	case reflect.Int16:
		return OpInt16
	case reflect.Int32:
		return OpInt32
	case reflect.Int64:
		return OpInt64
	case reflect.Int:
		if t.Size() == 4 {
			return OpInt32
		}
		return OpInt64
	case reflect.Uint8:
		return OpUint8
	case reflect.Uint16:
		return OpUint16
	case reflect.Uint32:
		return OpUint32
	case reflect.Uint64:
		return OpUint64
	case reflect.Uint, reflect.Uintptr:
		if t.Size() == 4 {
			return OpUint32
		}
		return OpUint64
	case reflect.Float32:
		return OpFloat32
	case reflect.Float64:
		return OpFloat64
	case reflect.String:
		return OpString
	case reflect.Struct:
		return OpStruct
	case reflect.Pointer:
		return OpPointer
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return OpBytes
		}
		return OpSlice
	case reflect.Array:
		return OpArray
	case reflect.Map:
		if mem.IsMapOf[string](t) {
			return OpStringMap
		}
		return OpMap
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return OpAny
		}
		return OpInterface
	}
	return OpInvalid
}

// PointsToItself reports whether t is a type such as type P *P.
func PointsToItself(t reflect.Type) bool {
	slow := t
	for hops := 0; t.Kind() == reflect.Pointer; hops++ {
		t = t.Elem()
		if t == slow {
			return true
		}
		if hops%2 == 1 {
			slow = slow.Elem()
		}
	}
	return false
}

// isLock reports whether t is a type of package sync or sync/atomic, whose values must not be copied.
func isLock(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && (t.PkgPath() == "sync" || t.PkgPath() == "sync/atomic")
}
