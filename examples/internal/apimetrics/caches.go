package apimetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/cache"
)

// caches are the measurements of watch caches, each by group and resource.
type caches struct {
	received, events, filled, terminated, unreadable, checks *prometheus.CounterVec
}

func newCaches(r *prometheus.Registry) caches {
	return caches{
		received:   counter(r, "apiserver_watch_cache_events_received_total", "Events of the store that watch caches have taken.", "group", "resource"),
		events:     counter(r, "apiserver_storage_events_received_total", "Events that the store has sent.", "group", "resource"),
		unreadable: counter(r, "apiserver_storage_decode_errors_total", "Stored objects that could not be decoded.", "group", "resource"),
		filled:     counter(r, "apiserver_watch_cache_initializations_total", "Lists of the store that filled a watch cache.", "group", "resource"),
		terminated: counter(r, "apiserver_terminated_watchers_total", "Watches that were ended because they did not keep up.", "group", "resource"),
		checks:     counter(r, "apiserver_storage_consistency_checks_total", "Comparisons of a watch cache with the store by outcome.", "group", "resource", "status"),
	}
}

// Cache returns the hooks of the watch cache of a resource, for registry.Options.CacheMetrics.
func (m *Metrics) Cache(gr schema.GroupResource) cache.Metrics {
	c := &m.caches
	received, events := c.received.WithLabelValues(gr.Group, gr.Resource), c.events.WithLabelValues(gr.Group, gr.Resource)
	filled := c.filled.WithLabelValues(gr.Group, gr.Resource)
	return cache.Metrics{
		Events: func(n int) {
			received.Add(float64(n))
			events.Add(float64(n))
		},
		Relist: func(err error) {
			if err == nil {
				filled.Inc()
			}
		},
		Unreadable: func() { c.unreadable.WithLabelValues(gr.Group, gr.Resource).Inc() },
		Slow:       func() { c.terminated.WithLabelValues(gr.Group, gr.Resource).Inc() },
		Checked:    func(k cache.Check) { c.checks.WithLabelValues(gr.Group, gr.Resource, string(k)).Inc() },
	}
}
