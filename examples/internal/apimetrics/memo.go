package apimetrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// memo caches the metrics found by their labels, because the lookup costs more than counting. It has as
// many entries as the metrics have series.
type memo[K comparable, V any] struct {
	mu    sync.RWMutex
	known map[K]V
	find  func(K) V
}

func newMemo[K comparable, V any](find func(K) V) *memo[K, V] {
	return &memo[K, V]{known: map[K]V{}, find: find}
}

func (m *memo[K, V]) of(key K) V {
	m.mu.RLock()
	v, ok := m.known[key]
	m.mu.RUnlock()
	if ok {
		return v
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok = m.known[key]; !ok {
		v = m.find(key)
		m.known[key] = v
	}
	return v
}

// requestSeries are the metrics of requests with the same labels.
type requestSeries struct {
	requests             prometheus.Counter
	duration, sli, sizes prometheus.Observer // nil if they are not measured
	bodies, validated    prometheus.Observer
	self                 prometheus.Counter
}
