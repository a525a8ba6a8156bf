package apimetrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/cache"
)

// caches holds the metrics of watch caches, each by group and resource.
type caches struct {
	received, dispatched, events, initial, bookmarks *prometheus.CounterVec
	bookmarkCounts                                   *prometheus.GaugeVec
	filled, grown, shrunk                            *prometheus.CounterVec
	terminated, unreadable, checks                   *prometheus.CounterVec
	consistent                                       *prometheus.CounterVec
	waits                                            *prometheus.HistogramVec
	lists, fetched, returned                         *prometheus.CounterVec // of requests, answered by caches
	reads, read, evaluated, taken                    *prometheus.CounterVec // of the store, by caches
	series                                           *memo[schema.GroupResource, listSeries]
}

// listSeries are the metrics of lists of a resource.
type listSeries struct{ lists, fetched, returned prometheus.Counter }

// noIndex is the label index of lists: they read all objects of the namespace or the resource.
const noIndex = ""

func newCaches(r *prometheus.Registry) caches {
	by := func(name, help string, further ...string) *prometheus.CounterVec {
		return counter(r, name, help, append([]string{"group", "resource"}, further...)...)
	}
	c := caches{
		received:       by("apiserver_watch_cache_events_received_total", "Events of the store that watch caches have taken."),
		dispatched:     by("apiserver_watch_cache_events_dispatched_total", "Events that watch caches have dispatched to their watches."),
		events:         by("apiserver_storage_events_received_total", "Events that the store has sent."),
		initial:        by("apiserver_init_events_total", "Objects and past events that watches have begun with."),
		bookmarks:      by("etcd_bookmark_total", "Progress notifications received from the store."),
		bookmarkCounts: gauge(r, "etcd_bookmark_counts", "Like etcd_bookmark_total, as it was called before 1.36.", "group", "resource"),
		filled:         by("apiserver_watch_cache_initializations_total", "Lists of the store that filled a watch cache."),
		grown:          by("watch_cache_capacity_increase_total", "Times a watch cache was made larger."),
		shrunk:         by("watch_cache_capacity_decrease_total", "Times a watch cache was made smaller."),
		terminated:     by("apiserver_terminated_watchers_total", "Watches that were ended because they did not keep up."),
		unreadable:     by("apiserver_storage_decode_errors_total", "Stored objects that could not be decoded."),
		checks:         by("apiserver_storage_consistency_checks_total", "Comparisons of a watch cache with the store by outcome.", "status"),
		consistent:     by("apiserver_watch_cache_consistent_read_total", "Consistent reads of watch caches, by whether they had to ask the store.", "success", "fallback"),
		waits: histogram(r, "apiserver_watch_cache_read_wait_seconds", "Time that reads waited for a watch cache to be fresh.",
			[]float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3}, "group", "resource"),
		lists:     by("apiserver_cache_list_total", "Lists answered from watch caches.", "index"),
		fetched:   by("apiserver_cache_list_fetched_objects_total", "Objects of watch caches that lists have looked at.", "index"),
		returned:  by("apiserver_cache_list_returned_objects_total", "Objects of watch caches that lists have returned."),
		reads:     by("apiserver_storage_list_total", "Lists of the store."),
		read:      by("apiserver_storage_list_fetched_objects_total", "Objects that lists of the store have read."),
		evaluated: by("apiserver_storage_list_evaluated_objects_total", "Objects that lists of the store have looked at."),
		taken:     by("apiserver_storage_list_returned_objects_total", "Objects that lists of the store have returned."),
	}
	c.series = newMemo(func(gr schema.GroupResource) listSeries {
		return listSeries{
			lists: c.lists.WithLabelValues(gr.Group, gr.Resource, noIndex), fetched: c.fetched.WithLabelValues(gr.Group, gr.Resource, noIndex),
			returned: c.returned.WithLabelValues(gr.Group, gr.Resource),
		}
	})
	return c
}

// listed measures a list that was served from a cache.
func (c *caches) listed(gr schema.GroupResource, fetched, returned int) {
	s := c.series.of(gr)
	s.lists.Inc()
	s.fetched.Add(float64(fetched))
	s.returned.Add(float64(returned))
}

// Cache returns the hooks of the watch cache of a resource, for registry.Options.CacheMetrics.
func (m *Metrics) Cache(gr schema.GroupResource) cache.Metrics {
	c := &m.caches
	of := func(v *prometheus.CounterVec) prometheus.Counter { return v.WithLabelValues(gr.Group, gr.Resource) }
	received, dispatched, events, initial, filled, bookmarks := of(c.received), of(c.dispatched), of(c.events), of(c.initial), of(c.filled), of(c.bookmarks)
	reads, read, evaluated, taken := of(c.reads), of(c.read), of(c.evaluated), of(c.taken)
	waits, bookmarkCounts := c.waits.WithLabelValues(gr.Group, gr.Resource), c.bookmarkCounts.WithLabelValues(gr.Group, gr.Resource)
	fresh := c.consistent.WithLabelValues(gr.Group, gr.Resource, "true", "false")
	of(c.grown) // a cache never changes its capacity, so these stay zero
	of(c.shrunk)
	return cache.Metrics{
		Events: func(n int) { // a cache passes a change to its watches as it applies it
			received.Add(float64(n))
			dispatched.Add(float64(n))
			events.Add(float64(n))
		},
		Initial:  func(n int) { initial.Add(float64(n)) },
		Progress: func() { bookmarks.Inc(); bookmarkCounts.Inc() },
		Relist: func(err error) {
			if err == nil {
				filled.Inc()
			}
		},
		Listed: func(objects int) { // caches read all objects, or all that have changed
			reads.Inc()
			read.Add(float64(objects))
			evaluated.Add(float64(objects))
			taken.Add(float64(objects))
		},
		Waited: func(d time.Duration) { waits.Observe(d.Seconds()) },
		Consistent: func(fallback bool, err error) {
			if !fallback && err == nil {
				fresh.Inc()
				return
			}
			c.consistent.WithLabelValues(gr.Group, gr.Resource, strconv.FormatBool(err == nil), strconv.FormatBool(fallback)).Inc()
		},
		Unreadable: func() { of(c.unreadable).Inc() },
		Slow:       func() { of(c.terminated).Inc() },
		Checked:    func(k cache.Check) { c.checks.WithLabelValues(gr.Group, gr.Resource, string(k)).Inc() },
	}
}
