package main

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keelson-dev/keelson/controllers/proxy"
)

// metrics holds metrics with the names and labels of kube-proxy's. Those of other modes are nil, as there.
type metrics struct {
	registry                 *prometheus.Registry
	sync, fullSync, partSync *prometheus.HistogramVec
	synced, queued           *prometheus.GaugeVec
	failed, partialFailed    *prometheus.CounterVec
	changes                  map[string]prometheus.Counter // by resource
	pending                  map[string]prometheus.Gauge
	rules, written           *prometheus.GaugeVec
	noLocal, refused         *prometheus.GaugeVec
	programmed, flowsTook    *prometheus.HistogramVec
	flowsDeleted             *prometheus.CounterVec
	healthzTotal, livezTotal *prometheus.CounterVec
}

const byFamily = "ip_family"

func (m *metrics) histogram(name, help string, buckets []float64) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "kubeproxy", Name: name, Help: help, Buckets: buckets}, []string{byFamily})
	m.registry.MustRegister(h)
	return h
}

func (m *metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "kubeproxy", Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "kubeproxy", Name: name, Help: help}, labels)
	m.registry.MustRegister(g)
	return g
}

func newMetrics(mode proxy.Mode) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), changes: map[string]prometheus.Counter{}, pending: map[string]prometheus.Gauge{}}
	times := prometheus.ExponentialBuckets(0.001, 2, 15)
	// Those of the service level objective: up to 5 minutes, by seconds up to one minute.
	programming := slices.Concat(prometheus.LinearBuckets(0.25, 0.25, 2), prometheus.LinearBuckets(1, 1, 59),
		prometheus.LinearBuckets(60, 5, 12), prometheus.LinearBuckets(120, 30, 7))
	m.sync = m.histogram("sync_proxy_rules_duration_seconds", "How long writing rules took.", times)
	m.programmed = m.histogram("network_programming_duration_seconds", "Time from the change of an endpoint until the rules had it.", programming)
	m.flowsTook = m.histogram("conntrack_reconciler_sync_duration_seconds", "How long looking for stale UDP flows took.", times)
	m.flowsDeleted = m.counter("conntrack_reconciler_deleted_entries_total", "Stale UDP flows that were deleted.", byFamily)
	m.synced = m.gauge("sync_proxy_rules_last_timestamp_seconds", "When rules were written last.", byFamily)
	m.queued = m.gauge("sync_proxy_rules_last_queued_timestamp_seconds", "When a write became necessary last.", byFamily)
	m.healthzTotal = m.counter("proxy_healthz_total", "Answers of /healthz.", "code")
	m.livezTotal = m.counter("proxy_livez_total", "Answers of /livez.", "code")
	for resource, title := range map[string]string{"service": "Services", "endpoint": "EndpointSlices"} {
		m.changes[resource] = m.counter("sync_proxy_rules_"+resource+"_changes_total", "Changes of "+title+".").WithLabelValues()
		m.pending[resource] = m.gauge("sync_proxy_rules_"+resource+"_changes_pending", "Services that wait for a write because of changes of "+title+".").WithLabelValues()
	}
	m.noLocal = m.gauge("sync_proxy_rules_no_local_endpoints_total", "Service ports with policy Local and no endpoint on this node.", "traffic_policy", byFamily)
	// kube-proxy has none such: there one port that the kernel refuses holds up all.
	m.refused = m.gauge("sync_proxy_rules_refused_ports", "Service ports whose last change the kernel refused.", byFamily)
	m.ofMode(mode, times)
	return m
}

// ofMode adds the metrics that only some modes have.
func (m *metrics) ofMode(mode proxy.Mode, times []float64) {
	if mode != proxy.IPVS {
		m.fullSync = m.histogram("sync_full_proxy_rules_duration_seconds", "How long writing all rules took.", times)
		m.partSync = m.histogram("sync_partial_proxy_rules_duration_seconds", "How long writing changed rules took.", times)
	}
	if mode == proxy.NFTables {
		m.failed = m.counter("sync_proxy_rules_nftables_sync_failures_total", "Writes of rules that failed.", byFamily)
		// Always 0: a write deletes the chains that it no longer needs.
		cleanup := m.counter("sync_proxy_rules_nftables_cleanup_failures_total", "Deletions of unused chains that failed.", byFamily)
		for _, f := range []proxy.Family{proxy.IPv4, proxy.IPv6} {
			cleanup.WithLabelValues(f.String())
		}
		return
	}
	m.failed = m.counter("sync_proxy_rules_iptables_restore_failures_total", "Writes of rules that failed.", byFamily)
	if mode == proxy.IPTables {
		m.partialFailed = m.counter("sync_proxy_rules_iptables_partial_restore_failures_total", "Writes of changed rules that failed.", byFamily)
		m.rules = m.gauge("sync_proxy_rules_iptables_total", "Rules that are there.", "table", byFamily)
		m.written = m.gauge("sync_proxy_rules_iptables_last", "Rules in the last write.", "table", byFamily)
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// observe is for a histogram that the mode may not have.
func observe(h *prometheus.HistogramVec, f proxy.Family, took time.Duration) {
	if h != nil {
		h.WithLabelValues(f.String()).Observe(took.Seconds())
	}
}

func increment(c *prometheus.CounterVec, f proxy.Family) {
	if c != nil {
		c.WithLabelValues(f.String()).Inc()
	}
}

func setRules(g *prometheus.GaugeVec) func(f proxy.Family, table string, n int) {
	return func(f proxy.Family, table string, n int) {
		if g != nil {
			g.WithLabelValues(table, f.String()).Set(float64(n))
		}
	}
}

func (m *metrics) functions() proxy.Metrics {
	return proxy.Metrics{
		Changed: func(resource string) { m.changes[resource].Inc() },
		Pending: func(resource string, n int) { m.pending[resource].Set(float64(n)) },
		Queued: func(at time.Time) {
			for _, f := range []proxy.Family{proxy.IPv4, proxy.IPv6} { // a change is looked at for both
				m.queued.WithLabelValues(f.String()).Set(float64(at.UnixNano()) / 1e9)
			}
		},
		Synced: func(f proxy.Family, took time.Duration, full bool) {
			observe(m.sync, f, took)
			m.synced.WithLabelValues(f.String()).SetToCurrentTime()
			if full {
				observe(m.fullSync, f, took)
				return
			}
			observe(m.partSync, f, took)
		},
		Failed:        func(f proxy.Family) { increment(m.failed, f) },
		PartialFailed: func(f proxy.Family) { increment(m.partialFailed, f) },
		Refused:       func(f proxy.Family, n int) { m.refused.WithLabelValues(f.String()).Set(float64(n)) },
		Rules:         setRules(m.rules),
		RulesWritten:  setRules(m.written),
		Programmed:    func(f proxy.Family, took time.Duration) { observe(m.programmed, f, took) },
		NoLocalEndpoints: func(f proxy.Family, policy string, n int) {
			m.noLocal.WithLabelValues(policy, f.String()).Set(float64(n))
		},
		FlowsDeleted: func(f proxy.Family, n int) { m.flowsDeleted.WithLabelValues(f.String()).Add(float64(n)) },
		FlowsChecked: func(f proxy.Family, took time.Duration) { observe(m.flowsTook, f, took) },
	}
}
