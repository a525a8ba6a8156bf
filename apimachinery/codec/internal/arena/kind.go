package arena

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// A Kind is the number of a type of parts, so that recording an allocation stores no pointer. Zero stands for
// types that are never part of a block.
type Kind uint32

var kinds struct {
	mu     sync.Mutex
	byType map[reflect.Type]Kind
	types  atomic.Pointer[[]reflect.Type] // by Kind; never empty
}

// KindOf returns the kind of a type, 0 for types of size zero.
func KindOf(t reflect.Type) Kind {
	if t.Size() == 0 {
		return 0
	}
	kinds.mu.Lock()
	defer kinds.mu.Unlock()
	if k, ok := kinds.byType[t]; ok {
		return k
	}
	types := []reflect.Type{nil}
	if kinds.byType == nil {
		kinds.byType = map[reflect.Type]Kind{}
	} else {
		types = slices.Clone(*kinds.types.Load())
	}
	k := Kind(len(types))
	types = append(types, t)
	kinds.types.Store(&types)
	kinds.byType[t] = k
	return k
}

// MapKind is the kind of the memory of small maps with values of type V; 0 if they cannot be part of a block.
func MapKind[V any]() Kind {
	if !mem.SmallMapsKnown {
		return 0
	}
	return KindOf(reflect.TypeFor[mem.SmallMap[V]]())
}
