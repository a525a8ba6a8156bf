package scheduler

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// table holds the objects of one kind, and groups them if by is not nil.
type table[T interface {
	metav1.Object
	comparable
}] struct {
	all map[types.NamespacedName]T
	by  func(T) string
	of  map[string]map[types.NamespacedName]T
}

func newTable[T interface {
	metav1.Object
	comparable
}](by func(T) string) *table[T] {
	return &table[T]{all: map[types.NamespacedName]T{}, by: by, of: map[string]map[types.NamespacedName]T{}}
}

// get returns an object, nil if there is none.
func (t *table[T]) get(namespace, name string) T {
	return t.all[types.NamespacedName{Namespace: namespace, Name: name}]
}

// put sets the object of a name, nil for none, and returns what it was.
func (t *table[T]) put(j *journal, key types.NamespacedName, obj T) (was T) {
	var none T
	if was = t.all[key]; was == obj {
		return was
	}
	if was != none {
		delete(t.all, key)
		t.file(key, was, false)
	}
	if obj != none {
		t.all[key] = obj
		t.file(key, obj, true)
	}
	if j.open > 0 {
		j.log(func() { t.put(j, key, was) })
	}
	return was
}

// file keeps the groups.
func (t *table[T]) file(key types.NamespacedName, obj T, in bool) {
	if t.by == nil {
		return
	}
	group := t.by(obj)
	switch of := t.of[group]; {
	case in && of == nil:
		t.of[group] = map[types.NamespacedName]T{key: obj}
	case in:
		of[key] = obj
	default:
		if delete(of, key); len(of) == 0 {
			delete(t.of, group)
		}
	}
}

func (t *table[T]) clone() *table[T] {
	out := newTable(t.by)
	for key, obj := range t.all {
		out.all[key] = obj
		out.file(key, obj, true)
	}
	return out
}
