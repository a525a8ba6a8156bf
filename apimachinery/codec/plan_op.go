package codec

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

func shapeOf(t reflect.Type) op {
	switch t.Kind() {
	case reflect.Bool:
		return opBool
	case reflect.Int8:
		return opInt8
	case reflect.Int16:
		return opInt16
	case reflect.Int32:
		return opInt32
	case reflect.Int64:
		return opInt64
	case reflect.Int:
		if t.Size() == 4 {
			return opInt32
		}
		return opInt64
	case reflect.Uint8:
		return opUint8
	case reflect.Uint16:
		return opUint16
	case reflect.Uint32:
		return opUint32
	case reflect.Uint64:
		return opUint64
	case reflect.Uint, reflect.Uintptr:
		if t.Size() == 4 {
			return opUint32
		}
		return opUint64
	case reflect.Float32:
		return opFloat32
	case reflect.Float64:
		return opFloat64
	case reflect.String:
		return opString
	case reflect.Struct:
		return opStruct
	case reflect.Pointer:
		return opPtr
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return opBytes
		}
		return opSlice
	case reflect.Array:
		return opArray
	case reflect.Map:
		if mem.IsMapOf[string](t) {
			return opStrMap
		}
		return opMap
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return opAny
		}
		return opIface
	}
	return opInvalid
}

// pointsToItself recognises types such as type P *P.
func pointsToItself(t reflect.Type) bool {
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

// isLock recognises the types of package sync and sync/atomic, whose copies are bugs.
func isLock(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && (t.PkgPath() == "sync" || t.PkgPath() == "sync/atomic")
}
