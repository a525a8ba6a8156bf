// Package lru has a map of bounded size.
package lru

import "container/list"

// Map is a map that removes the least recently used entry when it has more than a number. It is used by one
// goroutine at a time.
type Map[K comparable, V any] struct {
	most  int
	order *list.List
	items map[K]*list.Element
}

type item[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty map of at most that many entries, at least one.
func New[K comparable, V any](most int) *Map[K, V] {
	return &Map[K, V]{most: max(most, 1), order: list.New(), items: map[K]*list.Element{}}
}

// Get returns the value of a key, that of create if there is none, which is added.
func (m *Map[K, V]) Get(k K, create func() V) V {
	if e, ok := m.items[k]; ok {
		m.order.MoveToFront(e)
		return e.Value.(*item[K, V]).value
	}
	v := create()
	m.items[k] = m.order.PushFront(&item[K, V]{k, v})
	if m.order.Len() > m.most {
		m.remove(m.order.Back())
	}
	return v
}

// Keep calls f for each entry, the one used last first, and removes those for which it returns false. It does
// not count as use.
func (m *Map[K, V]) Keep(f func(K, V) bool) {
	for e := m.order.Front(); e != nil; {
		next := e.Next()
		if it := e.Value.(*item[K, V]); !f(it.key, it.value) {
			m.remove(e)
		}
		e = next
	}
}

// Len returns the number of entries.
func (m *Map[K, V]) Len() int { return m.order.Len() }

func (m *Map[K, V]) remove(e *list.Element) {
	m.order.Remove(e)
	delete(m.items, e.Value.(*item[K, V]).key)
}
