// Package metrics exports Prometheus metrics of a program that uses package manager, and a debug page of its
// work queues. Names and labels are those of Kubernetes components and controller-runtime, so that existing
// dashboards and alerts work.
//
//	m := metrics.New()
//	mgr := manager.New(conn, manager.Options{
//		Lease: lease, Monitor: m, Informers: informers.SetOptions{Metrics: m.Informers()},
//	})
//	hooks := webhook.New(webhook.Options{Metrics: m.Webhooks()})
//	mux.Handle("GET /metrics", m)
//	mux.Handle("GET /debug/queues", m.Queues())
//	mux.Handle("GET /debug/caches", m.Caches())
//
// It is the only package of the toolkit that imports the Prometheus library, so that programs without it do
// not link it.
package metrics

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
	"weak"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/workqueue"
)

// Metrics are the metrics of one program. It is a manager.Monitor and an http.Handler that serves the
// metrics. All methods may be called concurrently.
type Metrics struct {
	registry *prometheus.Registry
	page     http.Handler

	depth                  *prometheus.GaugeVec
	adds, retries          *prometheus.CounterVec
	queueTimes, workTimes  *prometheus.HistogramVec
	reconciles, failed     *prometheus.CounterVec
	terminal, panicked     *prometheus.CounterVec
	timedOut               *prometheus.CounterVec
	reconcileTimes         *prometheus.HistogramVec
	active, concurrency    *prometheus.GaugeVec
	leading                *prometheus.GaugeVec
	slowPath               *prometheus.CounterVec
	lists, events, retried *prometheus.CounterVec
	listTimes              *prometheus.HistogramVec
	unsynced               *prometheus.GaugeVec
	slowHandlers           *prometheus.CounterVec
	handlerTimes           *prometheus.HistogramVec
	requests, tried        *prometheus.CounterVec
	requestTimes, queued   *prometheus.HistogramVec
	limit                  prometheus.Gauge
	webhooks               webhooks

	mu     sync.Mutex
	queues []namedQueue // ordered by name
	sets   []namedSet
	// clusters has how many sets of each cluster are in use, by InformerSetOf.
	clusters map[string]int
}

// webhooks are the metrics of webhook servers.
type webhooks struct {
	requests            *prometheus.CounterVec
	active              *prometheus.GaugeVec
	times               *prometheus.HistogramVec
	panics, conversions prometheus.Counter
}

// namedQueue is the queue of one controller.
type namedQueue struct {
	name  string
	queue controller.QueueView
}

// namedSet is a set of informers of a cluster. It is weak because a set may end long before the program.
type namedSet struct {
	cluster string
	set     weak.Pointer[informers.Set]
}

// New returns metrics that include those of the Go runtime and the process.
func New() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	queueBuckets := prometheus.ExponentialBuckets(10e-9, 10, 12)
	clientBuckets := []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	m := &Metrics{
		registry: r, page: promhttp.HandlerFor(r, promhttp.HandlerOpts{}), clusters: map[string]int{},

		depth:      gauge(r, "workqueue_depth", "Keys waiting for a worker.", "name", "controller", "priority"),
		adds:       counter(r, "workqueue_adds_total", "Keys added to the queue.", "name", "controller"),
		retries:    counter(r, "workqueue_retries_total", "Keys added with a delay or a rate limit.", "name", "controller"),
		queueTimes: histogram(r, "workqueue_queue_duration_seconds", "Time a key waited for a worker.", queueBuckets, "name", "controller"),
		workTimes:  histogram(r, "workqueue_work_duration_seconds", "Time a worker took for a key.", queueBuckets, "name", "controller"),

		reconciles:  counter(r, "controller_runtime_reconcile_total", "Reconciles by result.", "controller", "result"),
		failed:      counter(r, "controller_runtime_reconcile_errors_total", "Reconciles that failed.", "controller"),
		terminal:    counter(r, "controller_runtime_terminal_reconcile_errors_total", "Reconciles that failed and are not retried.", "controller"),
		panicked:    counter(r, "controller_runtime_reconcile_panics_total", "Reconciles that panicked.", "controller"),
		timedOut:    counter(r, "controller_runtime_reconcile_timeouts_total", "Reconciles canceled by their timeout.", "controller"),
		active:      gauge(r, "controller_runtime_active_workers", "Reconciles in progress.", "controller"),
		concurrency: gauge(r, "controller_runtime_max_concurrent_reconciles", "Keys that may be reconciled at once.", "controller"),
		reconcileTimes: histogram(r, "controller_runtime_reconcile_time_seconds", "Time a reconcile took.", []float64{
			0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75,
			2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
		}, "controller"),

		leading:  gauge(r, "leader_election_master_status", "1 on the leader, 0 on other replicas.", "name"),
		slowPath: counter(r, "leader_election_slowpath_total", "Renewals that had to read the lease first.", "name"),

		lists:        counter(r, "reflector_lists_total", "Complete reads of a collection.", "name", "cluster"),
		listTimes:    histogram(r, "reflector_list_duration_seconds", "Time a complete read of a collection took.", prometheus.ExponentialBuckets(0.001, 4, 10), "name", "cluster"),
		events:       counter(r, "informer_events_total", "Watch events received.", "name", "cluster", "type"),
		unsynced:     gauge(r, "informer_unsynced", "Informers that have not synced or whose resource is not served.", "name", "cluster"),
		retried:      counter(r, "informer_failures_total", "Failed requests that informers retried.", "name", "cluster"),
		slowHandlers: counter(r, "informer_slow_handlers_total", "Times the backlog of a handler exceeded its limit.", "name", "cluster", "handler"),
		handlerTimes: histogram(r, "informer_handler_duration_seconds", "Time a handler took for an event.", queueBuckets, "name", "cluster", "handler"),

		requests:     counter(r, "rest_client_requests_total", "Requests to the API server, by status code.", "code", "method", "host"),
		tried:        counter(r, "rest_client_request_retries_total", "Retried requests to the API server.", "code", "verb", "host"),
		requestTimes: histogram(r, "rest_client_request_duration_seconds", "Time until the response.", clientBuckets, "verb", "host"),
		queued:       histogram(r, "rest_client_rate_limiter_duration_seconds", "Time that delayed requests waited to be sent.", clientBuckets, "verb", "host"),
		limit: promauto.With(r).NewGauge(prometheus.GaugeOpts{
			Name: "rest_client_in_flight_limit", Help: "Requests that may be in flight at once; adapts to the server's load.",
		}),

		webhooks: webhooks{
			requests: counter(r, "controller_runtime_webhook_requests_total", "Requests to webhooks, by status code.", "webhook", "code"),
			active:   gauge(r, "controller_runtime_webhook_requests_in_flight", "Requests being served.", "webhook"),
			times:    histogram(r, "controller_runtime_webhook_latency_seconds", "Time a request took.", queueBuckets, "webhook"),
			panics: promauto.With(r).NewCounter(prometheus.CounterOpts{
				Name: "controller_runtime_webhook_panics_total", Help: "Panics of admission webhooks.",
			}),
			conversions: promauto.With(r).NewCounter(prometheus.CounterOpts{
				Name: "controller_runtime_conversion_webhook_panics_total", Help: "Panics of conversion webhooks.",
			}),
		},
	}
	r.MustRegister(inProgress{m}, informerGauges{m})
	return m
}

// ServeHTTP implements http.Handler.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.page.ServeHTTP(w, r) }

// Registry returns the registry, for the program's own metrics.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Queue implements manager.Monitor; it also measures queues that belong to no controller. The labels name and
// controller are both name. After 25 different priorities, the label priority of further ones is
// "exceeded_cardinality_limit".
func (m *Metrics) Queue(name string) *workqueue.Metrics {
	adds, retries := m.adds.WithLabelValues(name, name), m.retries.WithLabelValues(name, name)
	queued, worked := m.queueTimes.WithLabelValues(name, name), m.workTimes.WithLabelValues(name, name)
	depths := &depths{vec: m.depth, name: name, byPriority: map[int]prometheus.Gauge{}}
	depths.of(0)
	return &workqueue.Metrics{
		Depth:         func(priority, delta int) { depths.of(priority).Add(float64(delta)) },
		Adds:          adds.Inc,
		Retries:       retries.Inc,
		QueueDuration: func(d time.Duration) { queued.Observe(d.Seconds()) },
		WorkDuration:  func(d time.Duration) { worked.Observe(d.Seconds()) },
	}
}

// maxPriorities is the number of priorities of a queue with a series each, as in controller-runtime.
const maxPriorities = 25

// depths are the gauges of one queue. A priority keeps its gauge, so that their sum stays right.
type depths struct {
	vec  *prometheus.GaugeVec
	name string

	mu         sync.RWMutex
	byPriority map[int]prometheus.Gauge
	rest       prometheus.Gauge // of the priorities that came too late for a series
}

func (d *depths) of(priority int) prometheus.Gauge {
	d.mu.RLock()
	g := d.byPriority[priority]
	d.mu.RUnlock()
	if g != nil {
		return g
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.byPriority[priority]; g != nil {
		return g
	}
	if len(d.byPriority) == maxPriorities {
		if d.rest == nil {
			d.rest = d.vec.WithLabelValues(d.name, d.name, "exceeded_cardinality_limit")
		}
		return d.rest
	}
	g = d.vec.WithLabelValues(d.name, d.name, strconv.Itoa(priority))
	d.byPriority[priority] = g
	return g
}

// Controller implements manager.Monitor.
func (m *Metrics) Controller(name string, q controller.QueueView) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues = append(m.queues, namedQueue{name, q})
	slices.SortStableFunc(m.queues, func(a, b namedQueue) int { return cmp.Compare(a.name, b.name) })
}

// InformerSet implements manager.Monitor; it also measures sets that belong to no manager. What a set holds
// and what waits for its handlers is read on each scrape while the set is in use.
func (m *Metrics) InformerSet(s *informers.Set) { m.addSet("", s) }

// InformerSetOf is InformerSet for a set of another cluster, whose hooks are those of InformersOf. remove
// ends the series of the cluster, unless another of its sets is in use; it is called when the set has ended.
// Package controllers calls both for its Clusters.
func (m *Metrics) InformerSetOf(cluster string, s *informers.Set) (remove func()) {
	m.mu.Lock()
	m.clusters[cluster]++
	m.mu.Unlock()
	m.addSet(cluster, s)
	return sync.OnceFunc(func() { m.removeSet(cluster, s) })
}

func (m *Metrics) addSet(cluster string, s *informers.Set) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets = append(m.sets, namedSet{cluster, weak.Make(s)})
}

func (m *Metrics) removeSet(cluster string, s *informers.Set) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets = slices.DeleteFunc(m.sets, func(n namedSet) bool { return n.cluster == cluster && n.set == weak.Make(s) })
	if m.clusters[cluster]--; m.clusters[cluster] > 0 {
		return
	}
	delete(m.clusters, cluster)
	labels := prometheus.Labels{"cluster": cluster}
	for _, c := range []*prometheus.CounterVec{m.lists, m.events, m.retried, m.slowHandlers} {
		c.DeletePartialMatch(labels)
	}
	m.listTimes.DeletePartialMatch(labels)
	m.handlerTimes.DeletePartialMatch(labels)
	m.unsynced.DeletePartialMatch(labels)
}

// Reconciles implements manager.Monitor; it is for controller.Options.Metrics.
func (m *Metrics) Reconciles() controller.Metrics {
	return controller.Metrics{
		Started: m.started,
		Reconciled: func(name, outcome string, took time.Duration) {
			result := outcome
			switch outcome {
			case "success", "requeue_after":
			case "terminal_error":
				m.terminal.WithLabelValues(name).Inc()
				result = "error"
			case "panic":
				m.panicked.WithLabelValues(name).Inc()
				result = "error"
			}
			m.reconciles.WithLabelValues(name, result).Inc()
			if result == "error" {
				m.failed.WithLabelValues(name).Inc()
			}
			m.reconcileTimes.WithLabelValues(name).Observe(took.Seconds())
		},
		TimedOut: func(name string) { m.timedOut.WithLabelValues(name).Inc() },
		Active:   func(name string, delta int) { m.active.WithLabelValues(name).Add(float64(delta)) },
	}
}

// started gives every series of a controller a value, so that rates are known from the first reconcile on.
func (m *Metrics) started(name string, concurrency int) {
	m.concurrency.WithLabelValues(name).Set(float64(concurrency))
	for _, result := range []string{"error", "requeue", "requeue_after", "success"} {
		m.reconciles.WithLabelValues(name, result)
	}
	for _, c := range []*prometheus.CounterVec{m.failed, m.terminal, m.panicked, m.timedOut} {
		c.WithLabelValues(name)
	}
	m.active.WithLabelValues(name)
	m.reconcileTimes.WithLabelValues(name)
}

// Leader returns the hooks for leaderelection.Options.Metrics; name is the name of the lease.
func (m *Metrics) Leader(name string) leaderelection.Metrics {
	leading, slow := m.leading.WithLabelValues(name), m.slowPath.WithLabelValues(name)
	return leaderelection.Metrics{
		Status: func(is bool) {
			if is {
				leading.Set(1)
			} else {
				leading.Set(0)
			}
		},
		SlowPath: slow.Inc,
	}
}

// Informers returns the hooks for informers.SetOptions.Metrics. The label name is the resource, such as
// "deployments.apps"; the label cluster is empty.
func (m *Metrics) Informers() informers.Metrics { return m.InformersOf("") }

// InformersOf is Informers for a set of another cluster, whose name is the label cluster; see InformerSetOf.
func (m *Metrics) InformersOf(cluster string) informers.Metrics {
	return informers.Metrics{
		Event: func(resource, typ string) { m.events.WithLabelValues(resource, cluster, typ).Inc() },
		Read: func(resource string, _ bool, took time.Duration) {
			m.lists.WithLabelValues(resource, cluster).Inc()
			m.listTimes.WithLabelValues(resource, cluster).Observe(took.Seconds())
		},
		Unsynced: func(resource string, delta int) {
			m.unsynced.WithLabelValues(resource, cluster).Add(float64(delta))
		},
		Failed: func(resource string) { m.retried.WithLabelValues(resource, cluster).Inc() },
		Slow: func(resource, handler string, _ int) {
			m.slowHandlers.WithLabelValues(resource, cluster, handler).Inc()
		},
		Handled: func(resource, handler string, _ informers.EventType, took time.Duration) {
			m.handlerTimes.WithLabelValues(resource, cluster, handler).Observe(took.Seconds())
		},
	}
}

// Client returns the hooks for rest.Options.Metrics. The code of a request without a response is "<error>";
// the label verb is, as in Kubernetes components, the HTTP method.
func (m *Metrics) Client() rest.Metrics {
	text := func(code int) string {
		if code == 0 {
			return "<error>"
		}
		return strconv.Itoa(code)
	}
	return rest.Metrics{
		Request: func(t rest.Target, code int, took time.Duration) {
			m.requests.WithLabelValues(text(code), t.Method, t.Host).Inc()
			m.requestTimes.WithLabelValues(t.Method, t.Host).Observe(took.Seconds())
		},
		Retry: func(t rest.Target, code int) { m.tried.WithLabelValues(text(code), t.Method, t.Host).Inc() },
		Queued: func(t rest.Target, waited time.Duration) {
			m.queued.WithLabelValues(t.Method, t.Host).Observe(waited.Seconds())
		},
		Limit: func(inFlight int) { m.limit.Set(float64(inFlight)) },
	}
}

// Webhooks returns the hooks for webhook.Options.Metrics. The label webhook is the path.
func (m *Metrics) Webhooks() webhook.Metrics {
	w := &m.webhooks
	return webhook.Metrics{
		Active: func(path string, delta int) { w.active.WithLabelValues(path).Add(float64(delta)) },
		Served: func(path string, code int, took time.Duration) {
			w.requests.WithLabelValues(path, strconv.Itoa(code)).Inc()
			w.times.WithLabelValues(path).Observe(took.Seconds())
		},
		Panicked: func(_ string, conversion bool) {
			if conversion {
				w.conversions.Inc()
			} else {
				w.panics.Inc()
			}
		},
	}
}

// Queues returns a handler that serves the pending and active keys of every controller as JSON: each key with
// its state, its priority, the first event that enqueued it and its waiting time in nanoseconds. The query
// parameter controller selects one controller. The page contains names of objects, so serve it to
// administrators only.
func (m *Metrics) Queues() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := map[string][]workqueue.Entry[any]{}
		only := r.URL.Query().Get("controller")
		for _, q := range m.allQueues() {
			if only == "" || only == q.name {
				page[q.name] = append(page[q.name], q.queue.Entries()...)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(page)
	})
}

func (m *Metrics) allQueues() []namedQueue {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.queues)
}

// inProgress collects the metrics of running reconciles, which are read from the queues on each scrape.
type inProgress struct{ m *Metrics }

var (
	unfinished = prometheus.NewDesc("workqueue_unfinished_work_seconds", "Total time of the reconciles in progress.", []string{"name", "controller"}, nil)
	longest    = prometheus.NewDesc("workqueue_longest_running_processor_seconds", "Time of the longest reconcile in progress.", []string{"name", "controller"}, nil)
)

// Describe implements prometheus.Collector.
func (inProgress) Describe(ch chan<- *prometheus.Desc) {
	ch <- unfinished
	ch <- longest
}

// Collect implements prometheus.Collector. Controllers with the same name share one metric, the sum or the
// maximum of theirs.
func (p inProgress) Collect(ch chan<- prometheus.Metric) {
	all := p.m.allQueues()
	for i := 0; i < len(all); {
		name, sum, most := all[i].name, time.Duration(0), time.Duration(0)
		for ; i < len(all) && all[i].name == name; i++ {
			s := all[i].queue.Stats()
			sum, most = sum+s.UnfinishedWork, max(most, s.LongestRunning)
		}
		ch <- prometheus.MustNewConstMetric(unfinished, prometheus.GaugeValue, sum.Seconds(), name, name)
		ch <- prometheus.MustNewConstMetric(longest, prometheus.GaugeValue, most.Seconds(), name, name)
	}
}

// informerGauges collects what informers hold, which is read from the sets on each scrape.
type informerGauges struct{ m *Metrics }

var (
	held     = prometheus.NewDesc("informer_objects", "Objects held.", []string{"name", "cluster"}, nil)
	size     = prometheus.NewDesc("informer_bytes", "Encoded size of the objects held.", []string{"name", "cluster"}, nil)
	overlaid = prometheus.NewDesc("informer_overlay_objects", "Own writes that the watch has not delivered yet.", []string{"name", "cluster"}, nil)
	silent   = prometheus.NewDesc("informer_silence_seconds", "Time since the last event or bookmark, the bound on how stale the copy is.", []string{"name", "cluster"}, nil)
	backlog  = prometheus.NewDesc("informer_handler_backlog", "Objects whose changes wait for the handler.", []string{"name", "cluster", "handler"}, nil)
	behind   = prometheus.NewDesc("informer_handler_behind_seconds", "Time that the backlog of the handler has been non-empty.", []string{"name", "cluster", "handler"}, nil)
)

// Describe implements prometheus.Collector.
func (informerGauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{held, size, overlaid, silent, backlog, behind} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Informers of one resource and cluster share their series, and so
// do their handlers of one name: numbers are sums, times the longest.
func (g informerGauges) Collect(ch chan<- prometheus.Metric) {
	type resource struct{ name, cluster string }
	type handler struct {
		resource
		name string
	}
	informed, handled := map[resource]informers.Status{}, map[handler]informers.HandlerStatus{}
	for _, s := range g.m.allSets() {
		for _, i := range s.Status() {
			of := resource{i.Resource, s.cluster}
			sum := informed[of]
			sum.Objects, sum.Bytes, sum.Overlay = sum.Objects+i.Objects, sum.Bytes+i.Bytes, sum.Overlay+i.Overlay
			sum.Silent = max(sum.Silent, i.Silent)
			informed[of] = sum
			for _, h := range i.Handlers {
				key := handler{of, h.Name}
				sum := handled[key]
				handled[key] = informers.HandlerStatus{Backlog: sum.Backlog + h.Backlog, Behind: max(sum.Behind, h.Behind)}
			}
		}
	}
	send := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for of, s := range informed {
		send(held, float64(s.Objects), of.name, of.cluster)
		send(size, float64(s.Bytes), of.name, of.cluster)
		send(overlaid, float64(s.Overlay), of.name, of.cluster)
		send(silent, s.Silent.Seconds(), of.name, of.cluster)
	}
	for key, h := range handled {
		send(backlog, float64(h.Backlog), key.resource.name, key.cluster, key.name)
		send(behind, h.Behind.Seconds(), key.resource.name, key.cluster, key.name)
	}
}

// set is a set of informers in use.
type set struct {
	cluster string
	*informers.Set
}

// allSets returns the sets that are in use, and drops the others.
func (m *Metrics) allSets() []set {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []set
	m.sets = slices.DeleteFunc(m.sets, func(n namedSet) bool {
		s := n.set.Value()
		if s != nil {
			all = append(all, set{n.cluster, s})
		}
		return s == nil
	})
	return all
}

func counter(r *prometheus.Registry, name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(r *prometheus.Registry, name, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histogram(r *prometheus.Registry, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return promauto.With(r).NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}
