package main

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keelson-dev/keelson/controllers/proxy"
)

// metrics have the names of kube-proxy's.
type metrics struct {
	registry                 *prometheus.Registry
	sync, fullSync, partSync prometheus.Observer
	synced, queued           prometheus.Gauge
	failed, partial          prometheus.Counter
	services, endpoints      prometheus.Counter
	rules, noLocal           *prometheus.GaugeVec
	programmed               prometheus.Observer
	flows                    *prometheus.CounterVec
}

func newMetrics(mode proxy.Mode) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "kubeproxy", Name: name, Help: help}
	}
	histogram := func(name, help string) prometheus.Observer {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "kubeproxy", Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)})
		m.registry.MustRegister(h)
		return h
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts(opts(name, help)))
		m.registry.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts(opts(name, help)))
		m.registry.MustRegister(g)
		return g
	}
	m.sync = histogram("sync_proxy_rules_duration_seconds", "How long writing rules took.")
	m.fullSync = histogram("sync_full_proxy_rules_duration_seconds", "How long writing all rules took.")
	m.partSync = histogram("sync_partial_proxy_rules_duration_seconds", "How long writing changed rules took.")
	m.programmed = histogram("network_programming_duration_seconds", "Time from the change of an endpoint until the rules had it.")
	m.synced = gauge("sync_proxy_rules_last_timestamp_seconds", "When rules were written last.")
	m.queued = gauge("sync_proxy_rules_last_queued_timestamp_seconds", "When a write became necessary last.")
	if mode == proxy.NFTables {
		m.failed = counter("sync_proxy_rules_nftables_sync_failures_total", "Writes of rules that failed.")
	} else {
		m.failed = counter("sync_proxy_rules_iptables_restore_failures_total", "Writes of rules that failed.")
		m.partial = counter("sync_proxy_rules_iptables_partial_restores_total", "Writes of changed rules only.")
	}
	m.services = counter("sync_proxy_rules_service_changes_total", "Changes of Services.")
	m.endpoints = counter("sync_proxy_rules_endpoint_changes_total", "Changes of EndpointSlices.")
	m.rules = prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("sync_proxy_rules_iptables_total", "Rules that are there.")), []string{"table", "ip_family"})
	m.noLocal = prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("sync_proxy_rules_no_local_endpoints_total", "Service ports with policy Local and no endpoint on this node.")), []string{"traffic_policy"})
	m.flows = prometheus.NewCounterVec(prometheus.CounterOpts(opts("conntrack_reconciler_deleted_entries_total", "Stale UDP flows that were deleted.")), []string{"ip_family"})
	m.registry.MustRegister(m.rules, m.noLocal, m.flows)
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *metrics) functions() proxy.Metrics {
	return proxy.Metrics{
		Changed: func(resource string) {
			if resource == "service" {
				m.services.Inc()
			} else {
				m.endpoints.Inc()
			}
		},
		Queued: func(at time.Time) { m.queued.Set(float64(at.UnixNano()) / 1e9) },
		Synced: func(_ proxy.Family, took time.Duration, full bool) {
			m.sync.Observe(took.Seconds())
			m.synced.SetToCurrentTime()
			if full {
				m.fullSync.Observe(took.Seconds())
				return
			}
			m.partSync.Observe(took.Seconds())
			if m.partial != nil {
				m.partial.Inc()
			}
		},
		Failed:           func(proxy.Family) { m.failed.Inc() },
		Rules:            func(f proxy.Family, table string, n int) { m.rules.WithLabelValues(table, f.String()).Set(float64(n)) },
		Programmed:       func(took time.Duration) { m.programmed.Observe(took.Seconds()) },
		NoLocalEndpoints: func(policy string, n int) { m.noLocal.WithLabelValues(policy).Set(float64(n)) },
		FlowsDeleted:     func(f proxy.Family, n int) { m.flows.WithLabelValues(f.String()).Add(float64(n)) },
	}
}
