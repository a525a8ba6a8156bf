package kubelet

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// pluginMetrics are about the plugins of the node, and those who read what containers have of them.
type pluginMetrics struct {
	registrations *prometheus.CounterVec
	allocations   *prometheus.HistogramVec
	sockets       *pluginSockets
	resources     *prometheus.CounterVec
	// requested and refused are the requests about pod resources, by method.
	requested, refused map[string]*prometheus.CounterVec
}

func newPluginMetrics(r registrar) pluginMetrics {
	const version = "server_api_version"
	of := func(kind, method string) *prometheus.CounterVec {
		about := map[string]string{"requests": "Requests", "errors": "Failed requests"}[kind] + " about "
		about += map[string]string{"list": "the resources of all pods.", "get": "the resources of one pod.", "get_allocatable": "all resources that pods can have."}[method]
		return r.counters("kubelet_pod_resources_endpoint_"+kind+"_"+method, about, version)
	}
	m := pluginMetrics{
		registrations: r.counters("kubelet_device_plugin_registration_total", "Registrations of device plugins.", "resource_name"),
		allocations:   r.histograms("kubelet_device_plugin_alloc_duration_seconds", "Seconds that device plugins took for what a container got of them.", prometheus.DefBuckets, "resource_name"),
		sockets:       &pluginSockets{paths: map[string]int{}, registered: map[string]int{}},
		resources:     r.counters("kubelet_pod_resources_endpoint_requests_total", "Requests about pod resources.", version),
		requested:     map[string]*prometheus.CounterVec{},
		refused:       map[string]*prometheus.CounterVec{},
	}
	for call, method := range map[string]string{"List": "list", "Get": "get", "GetAllocatableResources": "get_allocatable"} {
		m.requested[call], m.refused[call] = of("requests", method), of("errors", method)
	}
	r.MustRegister(m.sockets)
	return m
}

// countResources counts the requests of a method about pod resources.
func (m *pluginMetrics) countResources(method grpc.MethodDesc) grpc.MethodDesc {
	serve, name := method.Handler, method.MethodName
	method.Handler = func(srv any, ctx context.Context, dec func(any) error, via grpc.UnaryServerInterceptor) (any, error) {
		m.resources.WithLabelValues("v1").Inc()
		m.requested[name].WithLabelValues("v1").Inc()
		reply, err := serve(srv, ctx, dec, via)
		if err != nil {
			m.refused[name].WithLabelValues("v1").Inc()
		}
		return reply, err
	}
	return method
}

// pluginSockets counts the sockets of plugins. Safe for concurrent use.
type pluginSockets struct {
	mu                sync.Mutex
	paths, registered map[string]int
}

// add adds n to the sockets of a path, or to the plugins that have registered there.
func (s *pluginSockets) add(to map[string]int, path string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to[path] += n; to[path] == 0 {
		delete(to, path)
	}
}

var totalPlugins = prometheus.NewDesc("plugin_manager_total_plugins", "Sockets of plugins, and plugins that have registered.", []string{"socket_path", "state"}, nil)

// Describe implements prometheus.Collector.
func (*pluginSockets) Describe(ch chan<- *prometheus.Desc) { ch <- totalPlugins }

// Collect implements prometheus.Collector.
func (s *pluginSockets) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for state, counts := range map[string]map[string]int{"desired_state_of_world": s.paths, "actual_state_of_world": s.registered} {
		for path, n := range counts {
			ch <- prometheus.MustNewConstMetric(totalPlugins, prometheus.GaugeValue, float64(n), path, state)
		}
	}
}
