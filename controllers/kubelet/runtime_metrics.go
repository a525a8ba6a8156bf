package kubelet

import (
	"context"
	"path"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeMetrics are about the container runtime: its calls, its lists and its events.
type runtimeMetrics struct {
	operations, operationErrors *prometheus.CounterVec
	operationDuration           *prometheus.HistogramVec
	methods                     *methods
	sandboxTook                 *prometheus.HistogramVec
	sandboxErrors               *prometheus.CounterVec
	relist, relistInterval      prometheus.Histogram
	relisted                    prometheus.Gauge
	// looked is about looks at one pod.
	looked prometheus.Histogram
	// streams of events were opened, streamErrors ended with an error; eventAge is how late events came.
	streams, streamErrors prometheus.Counter
	eventAge              prometheus.Histogram
	losingSupport         *prometheus.GaugeVec
}

func newRuntimeMetrics(r registrar) runtimeMetrics {
	seconds := prometheus.DefBuckets
	return runtimeMetrics{
		methods:         &methods{known: map[string]*callMetrics{}},
		operations:      r.counters("kubelet_runtime_operations_total", "Calls of the container runtime, by method.", "operation_type"),
		operationErrors: r.counters("kubelet_runtime_operations_errors_total", "Calls of the container runtime that failed, by method.", "operation_type"),
		operationDuration: r.histograms("kubelet_runtime_operations_duration_seconds", "Seconds that calls of the container runtime took, by method.",
			prometheus.ExponentialBuckets(.005, 2.5, 14), "operation_type"),
		sandboxTook:    r.histograms("kubelet_run_podsandbox_duration_seconds", "Seconds that the runtime took to make a sandbox, by the handler of the pod's RuntimeClass.", seconds, "runtime_handler"),
		sandboxErrors:  r.counters("kubelet_run_podsandbox_errors_total", "Sandboxes that the runtime could not make, by the handler of the pod's RuntimeClass.", "runtime_handler"),
		relist:         r.histogram("kubelet_pleg_relist_duration_seconds", "Seconds that reading all pods of the runtime took.", seconds),
		relistInterval: r.histogram("kubelet_pleg_relist_interval_seconds", "Seconds between two readings of all pods of the runtime.", seconds),
		relisted:       r.gauge("kubelet_pleg_last_seen_seconds", "Unix time in seconds of the last reading of all pods of the runtime."),
		looked:         r.histogram("kubelet_pleg_pod_relist_duration_seconds", "Seconds that reading one pod of the runtime took.", seconds),
		streams:        r.counter("kubelet_evented_pleg_connection_success_count", "Streams of the runtime's events that were opened."),
		streamErrors:   r.counter("kubelet_evented_pleg_connection_error_count", "Streams of the runtime's events that were refused or ended with an error."),
		eventAge:       r.histogram("kubelet_evented_pleg_connection_latency_seconds", "Seconds from when something happened in the runtime until its event was taken up.", seconds),
		losingSupport:  r.gauges("kubelet_cri_losing_support", "1, with the first version of Kubernetes that this container runtime is too old for as a label.", "version"),
	}
}

// methods are what the methods of the runtime are measured with, by their full name. Safe for concurrent use.
type methods struct {
	mu    sync.RWMutex
	known map[string]*callMetrics
}

// callMetrics measure the calls of one method.
type callMetrics struct {
	name string
	done prometheus.Counter
	took prometheus.Observer
}

// of returns what a method is measured with.
func (m *runtimeMetrics) of(method string) *callMetrics {
	m.methods.mu.RLock()
	c := m.methods.known[method]
	m.methods.mu.RUnlock()
	if c != nil {
		return c
	}
	name := operation(path.Base(method))
	c = &callMetrics{name: name, done: m.operations.WithLabelValues(name), took: m.operationDuration.WithLabelValues(name)}
	m.methods.mu.Lock()
	defer m.methods.mu.Unlock()
	m.methods.known[method] = c
	return c
}

// call measures the calls of the runtime.
func (m *runtimeMetrics) call(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	began := time.Now()
	err := invoke(ctx, method, req, reply, cc, opts...)
	took := time.Since(began).Seconds()
	c := m.of(method)
	c.done.Inc()
	c.took.Observe(took)
	failed := err != nil && status.Code(err) != codes.Canceled
	if failed {
		m.operationErrors.WithLabelValues(c.name).Inc()
	}
	if q, ok := req.(*cri.RunPodSandboxRequest); ok {
		m.sandboxTook.WithLabelValues(q.RuntimeHandler).Observe(took)
		if failed {
			m.sandboxErrors.WithLabelValues(q.RuntimeHandler).Inc()
		}
	}
	return err
}

// operations are the names of CRI calls in metrics.
var operations = map[string]string{
	"Version": "version", "Status": "status", "RunPodSandbox": "run_podsandbox", "StopPodSandbox": "stop_podsandbox", "RemovePodSandbox": "remove_podsandbox",
	"PodSandboxStatus": "podsandbox_status", "ListPodSandbox": "list_podsandbox", "CreateContainer": "create_container", "StartContainer": "start_container",
	"StopContainer": "stop_container", "RemoveContainer": "remove_container", "ListContainers": "list_containers", "ContainerStatus": "container_status",
	"ExecSync": "exec_sync", "Exec": "exec", "Attach": "attach", "PortForward": "port_forward", "UpdateContainerResources": "update_container",
	"ReopenContainerLog": "reopen_container_log", "ListContainerStats": "list_container_stats", "ListPodSandboxStats": "list_podsandbox_stats",
	"ListImages": "list_images", "ImageStatus": "image_status", "PullImage": "pull_image", "RemoveImage": "remove_image", "ImageFsInfo": "image_fs_info",
	"CheckpointContainer": "checkpoint_container", "ContainerStats": "container_stats", "PodSandboxStats": "podsandbox_stats", "RuntimeConfig": "runtime_config",
	"UpdateRuntimeConfig": "update_runtime_config", "UpdatePodSandboxResources": "update_podsandbox_resources",
}

func operation(call string) string {
	if name, ok := operations[call]; ok {
		return name
	}
	return call
}
