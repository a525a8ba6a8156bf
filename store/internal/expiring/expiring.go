// Package expiring has a map whose values expire.
package expiring

import (
	"maps"
	"sync"
	"time"
)

// Map holds values for a time, and at most a number of them: when it is full, those that have expired are
// removed, or all if none has. It may be used from many goroutines.
type Map[K comparable, V any] struct {
	most int

	mu      sync.Mutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

// New returns an empty map of at most that many values.
func New[K comparable, V any](most int) *Map[K, V] {
	return &Map[K, V]{most: most, entries: map[K]entry[V]{}}
}

// Get returns the value of a key, and false if there is none or it has expired.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok || !time.Now().Before(e.until) {
		return value, false
	}
	return e.value, true
}

// Put keeps a value for that long; not at all if that is not positive.
func (m *Map[K, V]) Put(key K, value V, ttl time.Duration) {
	if ttl <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if len(m.entries) >= m.most {
		maps.DeleteFunc(m.entries, func(_ K, e entry[V]) bool { return now.After(e.until) })
		if len(m.entries) >= m.most {
			clear(m.entries)
		}
	}
	m.entries[key] = entry[V]{value, now.Add(ttl)}
}
