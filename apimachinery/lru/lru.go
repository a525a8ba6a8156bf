package events

import "container/list"

// lru is a map that drops the least recently used entry.
type lru[K comparable, V any] struct {
	max   int
	order *list.List
	items map[K]*list.Element
}

type lruItem[K comparable, V any] struct {
	key K
	val V
}

func newLRU[K comparable, V any](max int) *lru[K, V] {
	return &lru[K, V]{max: max, order: list.New(), items: map[K]*list.Element{}}
}

// get returns the value of a key, adding one if there is none.
func (l *lru[K, V]) get(k K, make func() V) V {
	if e, ok := l.items[k]; ok {
		l.order.MoveToFront(e)
		return e.Value.(*lruItem[K, V]).val
	}
	v := make()
	l.items[k] = l.order.PushFront(&lruItem[K, V]{k, v})
	if l.order.Len() > l.max {
		l.drop(l.order.Back())
	}
	return v
}

func (l *lru[K, V]) drop(e *list.Element) {
	l.order.Remove(e)
	delete(l.items, e.Value.(*lruItem[K, V]).key)
}

// each calls f for every value, and removes those for which it returns false.
func (l *lru[K, V]) each(f func(K, V) bool) {
	for e := l.order.Front(); e != nil; {
		next := e.Next()
		if it := e.Value.(*lruItem[K, V]); !f(it.key, it.val) {
			l.drop(e)
		}
		e = next
	}
}
