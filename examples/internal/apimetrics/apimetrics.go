// Package apimetrics measures an API server for Prometheus, under the names and labels that dashboards and
// alerts for Kubernetes use.
package apimetrics

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// Metrics holds the metrics of one server. Measure sets the hooks in the server's options, Watch adds metrics
// of the running server, and Decided is for the options of a control plane.
type Metrics struct {
	registry *prometheus.Registry

	requests, terminated   *prometheus.CounterVec
	durations, sizes, slis *prometheus.HistogramVec
	bodies                 *prometheus.HistogramVec
	inFlight, longRunning  *prometheus.GaugeVec
	deprecated             *prometheus.GaugeVec
	watchEvents            *prometheus.CounterVec
	watchSizes             *prometheus.HistogramVec
	sliRegistry            *prometheus.Registry
	queues                 queues
	client                 client
	watchLists             *prometheus.HistogramVec
	handshakes             prometheus.Counter
	logReads               *prometheus.CounterVec
	logRefusals            prometheus.Counter
	streamed               *prometheus.CounterVec
	translated, tunnelled  *prometheus.CounterVec
	health                 *prometheus.GaugeVec
	healthTotal            *prometheus.CounterVec
	flows                  *flows
	selves, aborted        *prometheus.CounterVec
	aggregated             prometheus.Counter
	validated              *prometheus.HistogramVec
	caches                 caches
	stored                 *requests
	access                 *access
	admissions             *admissions
	audits                 *audits
	aggregations           *aggregations
	filters                *prometheus.HistogramVec
	tokens                 *tokens
	impersonations         *impersonations
	customs                *customs
	reviews                *reviews
	services               *services
	keyServices            *keyServices
	peers                  *peerings

	requestSeries *memo[apiserver.Measurement, requestSeries]
}

var (
	durationBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
	sliBuckets      = durationBuckets[2:]
	about           = []string{"verb", "group", "version", "resource", "subresource", "scope", "component"}
)

// New returns metrics with those of the Go runtime and the process.
func New() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	slis := prometheus.NewRegistry()
	m := &Metrics{
		registry: r, sliRegistry: slis, queues: newQueues(r), client: newClient(r),
		requests: counter(r, "apiserver_request_total", "Requests answered.",
			"verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code"),
		durations: histogram(r, "apiserver_request_duration_seconds", "Time until the last byte of the answer.", durationBuckets,
			"verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component"),
		slis:        histogram(r, "apiserver_request_sli_duration_seconds", "Time until the last byte of the answer, that of waiting to be let run and for webhooks left out.", sliBuckets, about...),
		sizes:       histogram(r, "apiserver_response_sizes", "Size of answers in bytes.", prometheus.ExponentialBuckets(1000, 10, 7), about...),
		bodies:      histogram(r, "apiserver_request_body_size_bytes", "Size of the bodies of writes.", prometheus.LinearBuckets(50000, 100000, 31), "group", "resource", "verb"),
		inFlight:    gauge(r, "apiserver_current_inflight_requests", "Requests being served, long-running ones left out.", "request_kind"),
		longRunning: gauge(r, "apiserver_longrunning_requests", "Watches, logs and streams being served.", about...),
		terminated:  counter(r, "apiserver_request_terminations_total", "Requests that were turned away because too much is going on.", append(about, "code")...),
		deprecated:  gauge(r, "apiserver_requested_deprecated_apis", "Deprecated APIs that have been requested.", "group", "version", "resource", "subresource", "removed_release"),
		watchEvents: counter(r, "apiserver_watch_events_total", "Events sent to watches.", "group", "version", "resource"),
		watchSizes:  histogram(r, "apiserver_watch_events_sizes", "Size of events sent to watches, in bytes.", prometheus.ExponentialBuckets(1024, 2, 8), "group", "version", "resource"),
		watchLists: histogram(r, "apiserver_watch_list_duration_seconds", "Time until a watch has sent the objects it begins with.",
			[]float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60}, "group", "version", "resource", "scope"),
		logReads:    counter(r, "kube_apiserver_pod_logs_insecure_backend_total", "Requests for logs of pods by whether kubelets' certificates are checked: enforce_tls, skip_tls_allowed.", "usage"),
		logRefusals: counter(r, "kube_apiserver_pod_logs_backend_tls_failure_total", "Requests for logs of pods that failed because the kubelet's certificate is not valid.").WithLabelValues(),
		streamed:    counter(r, "apiserver_websocket_streaming_requests_total", "Requests for exec, attach and port-forward, by who serves WebSockets: translated_at_apiserver, proxied_to_kubelet.", "subresource", "proxy_type"),
		translated:  counter(r, "apiserver_stream_translator_requests_total", "WebSockets for exec and attach that were translated to SPDY, by the code of the outcome.", "code"),
		tunnelled:   counter(r, "apiserver_stream_tunnel_requests_total", "WebSockets for port-forward that carry SPDY to a kubelet, by the code of the response.", "code"),
		filters: histogram(r, "apiserver_request_filter_duration_seconds", "Time of a step of a request before its verb.",
			[]float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0, 10.0, 15.0, 30.0}, "filter"),
		handshakes:  counter(r, "apiserver_tls_handshake_errors_total", "Connections that were given up before TLS was agreed on.").WithLabelValues(),
		health:      gauge(slis, "kubernetes_healthcheck", "Outcome of the last health check: 1 is good.", "name", "type"),
		healthTotal: counter(slis, "kubernetes_healthchecks_total", "Health checks by outcome.", "name", "type", "status"),
		flows:       newFlows(r),
		aggregated:  counter(r, "aggregator_discovery_aggregation_count_total", "Times that the aggregated form of discovery was made.").WithLabelValues(),
		selves:      counter(r, "apiserver_selfrequest_total", "Requests of this server to itself.", "verb", "group", "resource", "subresource"),
		aborted:     counter(r, "apiserver_request_aborts_total", "Requests whose connection was closed in the middle of the response.", "verb", "group", "version", "resource", "subresource", "scope"),
		validated:   histogram(r, "field_validation_request_duration_seconds", "Time of writes by how unknown fields are treated.", sliBuckets, "field_validation"),
	}
	m.caches, m.stored, m.access, m.admissions, m.audits = newCaches(r), newRequests(r), newAccess(r), newAdmissions(r), newAudits(r)
	m.tokens, m.impersonations, m.customs, m.reviews = newTokens(r), newImpersonations(r), newCustoms(r), newReviews(r)
	m.services = newServices(r)
	m.aggregations, m.keyServices, m.peers = newAggregations(r), newKeyServices(r), newPeerings(r)
	m.requestSeries = newMemo(m.seriesOf)
	return m
}

// bodyVerbs are the verbs of writes with a body in the metric of their size.
var bodyVerbs = map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "APPLY": "patch", "DELETE": "delete", "DELETECOLLECTION": "delete_collection"}

func (m *Metrics) seriesOf(a apiserver.Measurement) requestSeries {
	s := requestSeries{
		requests: m.requests.WithLabelValues(a.Verb, a.DryRun, a.Group, a.Version, a.Resource, a.Subresource, a.Scope, component, strconv.Itoa(a.Code)),
		duration: m.durations.WithLabelValues(a.Verb, a.DryRun, a.Group, a.Version, a.Resource, a.Subresource, a.Scope, component),
	}
	if a.DryRun == "" {
		s.sli = m.slis.WithLabelValues(labelsOf(a)...)
	}
	if a.Verb == "GET" || a.Verb == "LIST" {
		s.sizes = m.sizes.WithLabelValues(labelsOf(a)...)
	}
	if verb := bodyVerbs[a.Verb]; verb != "" && a.Resource != "" {
		s.bodies = m.bodies.WithLabelValues(a.Group, a.Resource, verb)
		s.validated = m.validated.WithLabelValues(a.FieldValidation)
	}
	if a.Self {
		s.self = m.selves.WithLabelValues(a.Verb, a.Group, a.Resource, a.Subresource)
	}
	return s
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

// Measure sets the hooks in the options of a server: its store, caches and requests are measured, and it
// serves the metrics at /metrics, and those of its health at /metrics/slis, to authorized users.
func (m *Metrics) Measure(o *apiserver.Options) {
	if o.Store != nil {
		o.Store = m.Store(o.Store)
	}
	o.Registry.CacheMetrics, o.Metrics, o.Builtin.Metrics = m.Cache, m.Hooks(), m.services.hooks()
	o.Handlers = maps.Clone(o.Handlers)
	if o.Handlers == nil {
		o.Handlers = map[string]http.Handler{}
	}
	o.Handlers["/metrics"] = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	o.Handlers["/metrics/slis"] = promhttp.HandlerFor(m.sliRegistry, promhttp.HandlerOpts{})
}

// component is the label component of all requests of this server.
const component = "apiserver"

func labelsOf(a apiserver.Measurement) []string {
	return []string{a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Scope, component}
}

// kindOf returns the label of reads and writes.
func kindOf(mutating bool) string {
	if mutating {
		return "mutating"
	}
	return "readOnly"
}

// Hooks returns the hooks for the server.
func (m *Metrics) Hooks() apiserver.Metrics {
	reading, writing := m.inFlight.WithLabelValues(kindOf(false)), m.inFlight.WithLabelValues(kindOf(true))
	filters := map[apiserver.Filter]prometheus.Observer{}
	for _, f := range []apiserver.Filter{apiserver.FilterAuthentication, apiserver.FilterAudit, apiserver.FilterImpersonation, apiserver.FilterFlowControl, apiserver.FilterAuthorization} {
		filters[f] = m.filters.WithLabelValues(string(f))
	}
	return apiserver.Metrics{
		Filter:       func(f apiserver.Filter, elapsed time.Duration) { filters[f].Observe(elapsed.Seconds()) },
		Impersonated: m.impersonations.attempted, Checked: m.impersonations.checked, Custom: m.customs.hooks(),
		Request: m.request, Authenticated: m.access.authentication, Authorized: m.access.authorization, Admission: m.admissions.hooks(m.client.called),
		InFlight: func(mutating bool, delta int) {
			if mutating {
				writing.Add(float64(delta))
			} else {
				reading.Add(float64(delta))
			}
			m.flows.executing(mutating, delta)
		},
		LongRunning: func(a apiserver.Measurement, delta int) {
			m.longRunning.WithLabelValues(labelsOf(a)...).Add(float64(delta))
			if a.Verb == "WATCH" {
				m.flows.watching(schema.GroupResource{Group: a.Group, Resource: a.Resource}, delta)
			}
		},
		Changing: m.flows.changing, Aggregated: m.aggregated.Inc,
		Aborted: func(a apiserver.Measurement) {
			m.aborted.WithLabelValues(a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Scope).Inc()
		},
		Rejected: func(a apiserver.Measurement) {
			m.terminated.WithLabelValues(append(labelsOf(a), strconv.Itoa(http.StatusTooManyRequests))...).Inc()
		},
		Listed: m.caches.listed,
		WatchListed: func(a apiserver.Measurement) {
			m.watchLists.WithLabelValues(a.Group, a.Version, a.Resource, a.Scope).Observe(a.Elapsed.Seconds())
		},
		HandshakeFailed: m.handshakes.Inc,
		LogRead: func(unverified bool) {
			usage := "enforce_tls"
			if unverified {
				usage = "skip_tls_allowed"
			}
			m.logReads.WithLabelValues(usage).Inc()
		},
		LogRefused: m.logRefusals.Inc,
		Streamed: func(subresource string, translated bool) {
			by := "proxied_to_kubelet"
			if translated {
				by = "translated_at_apiserver"
			}
			m.streamed.WithLabelValues(subresource, by).Inc()
		},
		Translated: func(code int) { m.translated.WithLabelValues(strconv.Itoa(code)).Inc() },
		Tunnelled:  func(code int) { m.tunnelled.WithLabelValues(strconv.Itoa(code)).Inc() },
		WatchEvents: func(gvr schema.GroupVersionResource) func(bytes int) {
			events, sizes := m.watchEvents.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource), m.watchSizes.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource)
			return func(bytes int) {
				events.Inc()
				sizes.Observe(float64(bytes))
			}
		},
		Deprecated: func(a apiserver.Measurement) {
			m.deprecated.WithLabelValues(a.Group, a.Version, a.Resource, a.Subresource, "").Set(1)
		},
		HealthCheck: m.checked, Queue: m.queues.hooks,
		DiscoveryMerged: m.peers.merged, DiscoveryAlone: m.peers.alone.Inc,
		Flows: m.flows.hooks(),
	}
}

func (m *Metrics) request(a apiserver.Measurement) {
	elapsed, bytes := a.Elapsed.Seconds(), float64(a.Bytes)
	inside, body := (a.Elapsed - a.Waited).Seconds(), float64(a.BodyBytes)
	a.Elapsed, a.Waited, a.Bytes, a.BodyBytes = 0, 0, 0, 0
	s := m.requestSeries.of(a)
	s.requests.Inc()
	s.duration.Observe(elapsed)
	if s.sli != nil {
		s.sli.Observe(inside)
	}
	if s.sizes != nil {
		s.sizes.Observe(bytes)
	}
	if s.bodies != nil && body > 0 {
		s.bodies.Observe(body)
	}
	if s.validated != nil {
		s.validated.Observe(elapsed)
	}
	if s.self != nil {
		s.self.Inc()
	}
}

func (m *Metrics) checked(path, name string, err error) {
	good, status := 1.0, "success"
	if err != nil {
		good, status = 0, "error"
	}
	m.health.WithLabelValues(name, path).Set(good)
	m.healthTotal.WithLabelValues(name, path, status).Inc()
}

// Features records which features are enabled: settings do not change while a server runs.
func (m *Metrics) Features(g *featuregate.Gate) {
	v := gauge(m.registry, "kubernetes_feature_enabled", "Whether a feature is on, and how far it has come.", "name", "stage")
	for _, f := range g.All() {
		on := 0.0
		if f.Enabled {
			on = 1
		}
		v.WithLabelValues(string(f.Feature), string(f.Stage)).Set(on)
	}
}

// Watch adds what is measured on each scrape: the number and size of stored objects, the revisions of caches,
// the seats of priority levels, and the build of the server.
func (m *Metrics) Watch(s *apiserver.Server) error {
	m.stored.resources.Store(s.Registry())
	v := s.Version()
	gauge(m.registry, "kubernetes_build_info", "The build of the server; always 1.",
		"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform").
		WithLabelValues(v.Major, v.Minor, v.GitVersion, v.GitCommit, v.GitTreeState, v.BuildDate, v.GoVersion, v.Compiler, v.Platform).Set(1)
	gauge(m.registry, "version_info", "The version whose behaviour the server shows; always 1.", "component", "binary", "emulation", "min_compat").
		WithLabelValues("kube", v.Major+"."+v.Minor, v.EmulationMajor+"."+v.EmulationMinor, v.MinCompatibilityMajor+"."+v.MinCompatibilityMinor).Set(1)
	return m.registry.Register(&onDemand{server: s})
}

// most is the value from which revisions are shown without their leading digits, because the values of
// metrics have a precision of 53 bits.
const most = 1e15

// countPatience is how long one scrape may count objects.
const countPatience = 5 * time.Second

// onDemand collects from the server's state.
type onDemand struct{ server *apiserver.Server }

var (
	storedObjects = prometheus.NewDesc("apiserver_storage_objects", "Stored objects by resource; -1 if they could not be counted.", []string{"resource"}, nil)
	resources     = prometheus.NewDesc("apiserver_resource_objects", "Stored objects by group and resource; -1 if they could not be counted.", []string{"group", "resource"}, nil)
	estimates     = prometheus.NewDesc("apiserver_resource_size_estimate_bytes", "Size of the stored objects of resources that a watch cache holds.", []string{"group", "resource"}, nil)
	cacheRevision = prometheus.NewDesc("apiserver_watch_cache_resource_version", "Revision that a watch cache has reached.", []string{"group", "resource"}, nil)
	cacheCapacity = prometheus.NewDesc("watch_cache_capacity", "Changes a watch cache may remember.", []string{"group", "resource"}, nil)
	unavailable   = prometheus.NewDesc("aggregator_unavailable_apiservice", "Whether a version of a group cannot be reached.", []string{"name"}, nil)
	unfinished    = prometheus.NewDesc("workqueue_unfinished_work_seconds", "Sum of the time the keys in work have been there.", []string{"name"}, nil)
	longest       = prometheus.NewDesc("workqueue_longest_running_processor_seconds", "Longest time a key has been in work.", []string{"name"}, nil)
	storeSize     = prometheus.NewDesc("apiserver_storage_size_bytes", "Size of the store, on disk if it has one.", []string{"storage_cluster_id"}, nil)
)

// Describe implements prometheus.Collector.
func (*onDemand) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{storedObjects, resources, estimates, cacheRevision, cacheCapacity, unavailable, unfinished, longest, storeSize} {
		out <- d
	}
	for _, d := range slices.Concat(levelDescs, allocationDescs) {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *onDemand) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countPatience)
	defer cancel()
	send := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for gr, n := range c.server.Registry().Counts(ctx) {
		send(storedObjects, float64(n), gr.String())
		send(resources, float64(n), gr.Group, gr.Resource)
	}
	for _, state := range c.server.Registry().Caches() {
		send(estimates, float64(state.Bytes), state.Resource.Group, state.Resource.Resource)
		send(cacheCapacity, float64(state.Capacity), state.Resource.Group, state.Resource.Resource)
		send(cacheRevision, float64(state.Revision%most), state.Resource.Group, state.Resource.Resource)
	}
	if sized, ok := c.server.Registry().Store().(store.Sized); ok {
		if n, err := sized.Size(ctx); err == nil {
			send(storeSize, float64(n), "etcd-0") // Kubernetes' name of the first store
		}
	}
	for name, s := range c.server.Queues() {
		send(unfinished, s.UnfinishedWork.Seconds(), name)
		send(longest, s.LongestRunning.Seconds(), name)
	}
	for name, up := range available(ctx, c.server) {
		if up {
			send(unavailable, 0, name)
		} else {
			send(unavailable, 1, name)
		}
	}
	collectAllocations(out, c.server.Kinds().Allocations(ctx))
	flows := c.server.FlowControl()
	if flows == nil {
		return
	}
	collectLevels(out, flows.Levels())
}
