// Package metrics exports Prometheus metrics of a program that uses package manager, and a debug page of its
// work queues. Names and labels are those of Kubernetes components and controller-runtime, so that existing
// dashboards and alerts work.
//
//	m := metrics.New()
//	elector, err := leaderelection.New(lock, leaderelection.Options{Metrics: m.Leader("my-operator")})
//	mgr := manager.New(conn, manager.Options{
//		Elector: elector, Monitor: m, Informers: informers.SetOptions{Metrics: m.Informers()},
//	})
//	mux.Handle("GET /metrics", m)
//	mux.Handle("GET /debug/queues", m.Queues())
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

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/controller"
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
	reconcileTimes         *prometheus.HistogramVec
	active                 *prometheus.GaugeVec
	leading                *prometheus.GaugeVec
	slowPath               *prometheus.CounterVec
	lists, events, retried *prometheus.CounterVec
	unsynced               *prometheus.GaugeVec
	slowHandlers           *prometheus.CounterVec
	handlerTimes           *prometheus.HistogramVec
	requests, tried        *prometheus.CounterVec
	requestTimes           *prometheus.HistogramVec

	mu     sync.Mutex
	queues []namedQueue // ordered by name
}

// namedQueue is the queue of one controller.
type namedQueue struct {
	name  string
	queue *workqueue.Queue[types.NamespacedName]
}

// New returns metrics that include those of the Go runtime and the process.
func New() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	queueBuckets := prometheus.ExponentialBuckets(10e-9, 10, 12)
	m := &Metrics{
		registry: r, page: promhttp.HandlerFor(r, promhttp.HandlerOpts{}),

		depth:      gauge(r, "workqueue_depth", "Keys waiting for a worker.", "name"),
		adds:       counter(r, "workqueue_adds_total", "Keys added to the queue.", "name"),
		retries:    counter(r, "workqueue_retries_total", "Keys added with a delay or a rate limit.", "name"),
		queueTimes: histogram(r, "workqueue_queue_duration_seconds", "Time a key waited for a worker.", queueBuckets, "name"),
		workTimes:  histogram(r, "workqueue_work_duration_seconds", "Time a worker took for a key.", queueBuckets, "name"),

		reconciles: counter(r, "controller_runtime_reconcile_total", "Reconciles by outcome.", "controller", "result"),
		failed:     counter(r, "controller_runtime_reconcile_errors_total", "Reconciles that failed.", "controller"),
		reconcileTimes: histogram(r, "controller_runtime_reconcile_time_seconds", "Time a reconcile took.",
			[]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}, "controller"),
		active: gauge(r, "controller_runtime_active_workers", "Reconciles in progress.", "controller"),

		leading:  gauge(r, "leader_election_master_status", "1 on the leader, 0 on other replicas.", "name"),
		slowPath: counter(r, "leader_election_slowpath_total", "Renewals that had to read the lease first.", "name"),

		lists:        counter(r, "reflector_lists_total", "Complete reads of a collection.", "name"),
		events:       counter(r, "informer_events_total", "Watch events received.", "name", "type"),
		unsynced:     gauge(r, "informer_unsynced", "Informers that have not synced or whose resource is not served.", "name"),
		retried:      counter(r, "informer_failures_total", "Failed requests that informers retried.", "name"),
		slowHandlers: counter(r, "informer_slow_handlers_total", "Times the backlog of a handler exceeded its limit.", "name", "handler"),
		handlerTimes: histogram(r, "informer_handler_duration_seconds", "Time a handler took for an event.", queueBuckets, "name", "handler"),
	}
	m.requests = counter(r, "rest_client_requests_total", "Requests to the API server, by status code.", "code", "method")
	m.tried = counter(r, "rest_client_request_retries_total", "Retried requests to the API server.", "code", "verb")
	m.requestTimes = histogram(r, "rest_client_request_duration_seconds", "Time until the response.",
		[]float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}, "verb")
	r.MustRegister(inProgress{m})
	return m
}

// ServeHTTP implements http.Handler.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.page.ServeHTTP(w, r) }

// Registry returns the registry, for the program's own metrics.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Queue implements manager.Monitor; it also measures queues that belong to no controller.
func (m *Metrics) Queue(name string) *workqueue.Metrics {
	depth, adds, retries := m.depth.WithLabelValues(name), m.adds.WithLabelValues(name), m.retries.WithLabelValues(name)
	queued, worked := m.queueTimes.WithLabelValues(name), m.workTimes.WithLabelValues(name)
	return &workqueue.Metrics{
		Depth:         func(_, delta int) { depth.Add(float64(delta)) },
		Adds:          adds.Inc,
		Retries:       retries.Inc,
		QueueDuration: func(d time.Duration) { queued.Observe(d.Seconds()) },
		WorkDuration:  func(d time.Duration) { worked.Observe(d.Seconds()) },
	}
}

// Controller implements manager.Monitor.
func (m *Metrics) Controller(name string, q *workqueue.Queue[types.NamespacedName]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues = append(m.queues, namedQueue{name, q})
	slices.SortStableFunc(m.queues, func(a, b namedQueue) int { return cmp.Compare(a.name, b.name) })
}

// Reconciles implements manager.Monitor; it is for controller.Options.Metrics.
func (m *Metrics) Reconciles() controller.Metrics {
	return controller.Metrics{
		Reconciled: func(name, outcome string, took time.Duration) {
			m.reconciles.WithLabelValues(name, outcome).Inc()
			if outcome != "success" && outcome != "requeue_after" {
				m.failed.WithLabelValues(name).Inc()
			}
			m.reconcileTimes.WithLabelValues(name).Observe(took.Seconds())
		},
		Active: func(name string, delta int) { m.active.WithLabelValues(name).Add(float64(delta)) },
	}
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
// "deployments.apps".
func (m *Metrics) Informers() informers.Metrics {
	return informers.Metrics{
		Event:    func(resource, typ string) { m.events.WithLabelValues(resource, typ).Inc() },
		Read:     func(resource string, _ bool) { m.lists.WithLabelValues(resource).Inc() },
		Unsynced: func(resource string, delta int) { m.unsynced.WithLabelValues(resource).Add(float64(delta)) },
		Failed:   func(resource string) { m.retried.WithLabelValues(resource).Inc() },
		Slow:     func(resource, handler string, _ int) { m.slowHandlers.WithLabelValues(resource, handler).Inc() },
		Handled: func(resource, handler string, _ informers.EventType, took time.Duration) {
			m.handlerTimes.WithLabelValues(resource, handler).Observe(took.Seconds())
		},
	}
}

// Client returns the hooks for rest.Options.Metrics. The code of a request without a response is "<error>".
func (m *Metrics) Client() rest.Metrics {
	text := func(code int) string {
		if code == 0 {
			return "<error>"
		}
		return strconv.Itoa(code)
	}
	return rest.Metrics{
		Request: func(verb, _ string, code int, took time.Duration) {
			m.requests.WithLabelValues(text(code), verb).Inc()
			m.requestTimes.WithLabelValues(verb).Observe(took.Seconds())
		},
		Retry: func(verb, _ string, code int) { m.tried.WithLabelValues(text(code), verb).Inc() },
	}
}

// Queues returns a handler that serves the pending and active keys of every controller as JSON: each key with
// its state, its priority, the first event that enqueued it and its waiting time in nanoseconds. The query
// parameter controller selects one controller. The page contains names of objects, so serve it to
// administrators only.
func (m *Metrics) Queues() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := map[string][]workqueue.Entry[types.NamespacedName]{}
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
	unfinished = prometheus.NewDesc("workqueue_unfinished_work_seconds", "Total time of the reconciles in progress.", []string{"name"}, nil)
	longest    = prometheus.NewDesc("workqueue_longest_running_processor_seconds", "Time of the longest reconcile in progress.", []string{"name"}, nil)
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
		ch <- prometheus.MustNewConstMetric(unfinished, prometheus.GaugeValue, sum.Seconds(), name)
		ch <- prometheus.MustNewConstMetric(longest, prometheus.GaugeValue, most.Seconds(), name)
	}
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
