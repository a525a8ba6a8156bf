package kubelet

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/keelson-dev/keelson/client/certificate"
)

// metrics are the kubelet's own, with the names of k8s.io/kubernetes/pkg/kubelet/metrics, v1.36.3. What is
// measured often is found without allocating: by a method of its own, or in a field.
type metrics struct {
	registry registrar
	probes   *prometheus.Registry
	runtimeMetrics
	podMetrics
	imageMetrics
	nodeMetrics
	volumeMetrics
	serverMetrics
	pluginMetrics
	resizeMetrics
	placements *placementCounts

	claimOperations      *prometheus.HistogramVec
	claimCalls           *prometheus.HistogramVec
	memoryMin, memoryLow prometheus.Gauge // nil unless memory is protected
	probed               *prometheus.CounterVec
	probeTook            *prometheus.HistogramVec
	servingAge           prometheus.Histogram
}

func newMetrics(k *Kubelet) *metrics {
	m := &metrics{registry: registrar{k.opts.Metrics}, probes: prometheus.NewRegistry()}
	if m.registry.Registry == nil {
		m.registry.Registry = prometheus.NewRegistry()
	}
	r := m.registry
	m.runtimeMetrics, m.podMetrics, m.imageMetrics, m.nodeMetrics = newRuntimeMetrics(r), newPodMetrics(r), newImageMetrics(r), newNodeMetrics(r, k.opts.NodeName)
	m.volumeMetrics, m.serverMetrics, m.pluginMetrics, m.resizeMetrics = newVolumeMetrics(r), newServerMetrics(r), newPluginMetrics(r), newResizeMetrics(r)
	m.placements = newPlacementCounts(r)
	durations := prometheus.ExponentialBucketsRange(.1, 40, 15)
	m.claimOperations = r.histograms("dra_operations_duration_seconds", "Seconds that preparing or releasing all claims of a pod took.", durations, "operation_name", "is_error")
	m.claimCalls = r.histograms("dra_grpc_operations_duration_seconds", "Seconds that calls of DRA drivers took.", durations, "driver_name", "method_name", "grpc_status_code")
	if k.opts.MemoryQoS != nil {
		m.memoryMin = r.gauge("kubelet_memory_qos_node_memory_min_bytes", "Bytes of memory.min of the node's Guaranteed pods, which the kernel never takes back.")
		m.memoryLow = r.gauge("kubelet_memory_qos_node_memory_low_bytes", "Bytes of memory.low of the node's Burstable pods, which the kernel takes back last.")
	}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	probes := registrar{m.probes}
	m.probed = probes.counters("prober_probe_total", "Probes of containers, by kind and result.", "probe_type", "result", "container", "pod", "namespace", "pod_uid")
	m.probeTook = probes.histograms("prober_probe_duration_seconds", "Seconds that probes took which have not failed.", prometheus.DefBuckets, "probe_type", "container", "pod", "namespace")
	return m
}

// follow adds what is counted when the metrics are read.
func (m *metrics) follow(k *Kubelet) {
	m.registry.MustRegister(inventory{k}, volumeUse{k}, volumeCounts{k}, resizes{k}, placements{k})
}

// registrar makes metrics and registers them.
type registrar struct{ *prometheus.Registry }

func registered[C prometheus.Collector](r registrar, c C) C {
	r.MustRegister(c)
	return c
}

func (r registrar) counter(name, help string) prometheus.Counter {
	return registered(r, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

func (r registrar) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

func (r registrar) gauge(name, help string) prometheus.Gauge {
	return registered(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

func (r registrar) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return registered(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

func (r registrar) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return registered(r, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}))
}

func (r registrar) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return registered(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

// certificates shows how long the certificates that are renewed are valid, and how often that failed;
// either may be nil. The names are those of k8s.io/kubernetes/pkg/kubelet/certificate/kubelet.go and
// cmd/kubelet/app/server.go, v1.36.3.
func (m *metrics) certificates(serving, client *certificate.Manager) {
	show := func(c *certificate.Manager, left, leftHelp, failures string) {
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: left, Help: leftHelp}, func() float64 {
				if now := c.Current(); now != nil {
					return math.Trunc(time.Until(now.Leaf.NotAfter).Seconds())
				}
				return math.Inf(1)
			}),
			prometheus.NewCounterFunc(prometheus.CounterOpts{Name: failures, Help: "Failed attempts to renew the certificate."}, func() float64 {
				n, _ := c.Failures()
				return float64(n)
			}))
	}
	if client != nil {
		show(client, "kubelet_certificate_manager_client_ttl_seconds", "Seconds until the client certificate expires; +Inf without one.", "kubelet_certificate_manager_client_expiration_renew_errors")
	}
	if serving == nil {
		return
	}
	show(serving, "kubelet_certificate_manager_server_ttl_seconds", "Seconds until the serving certificate expires; +Inf without one.", "kubelet_server_expiration_renew_errors")
	const hour, day = 3600, 24 * 3600
	m.servingAge = m.registry.histogram("kubelet_certificate_manager_server_rotation_seconds", "Age in seconds of a serving certificate when it was replaced.",
		[]float64{60, hour, 4 * hour, day, 7 * day, 30 * day, 90 * day, 180 * day, 360 * day, 1440 * day})
}

// protected shows how much memory of guaranteed and burstable pods the kernel protects, in bytes.
func (m *metrics) protected(guaranteed, burstable int64) {
	m.memoryMin.Set(float64(guaranteed))
	m.memoryLow.Set(float64(burstable))
}
