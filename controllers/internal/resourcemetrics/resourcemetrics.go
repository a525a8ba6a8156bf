// Package resourcemetrics has the metrics of /metrics/resource, which kubelets and fake nodes serve. The
// names and texts are those of k8s.io/kubernetes/pkg/kubelet/metrics/collectors, v1.36.3.
package resourcemetrics

import (
	"fmt"
	"io"
)

// The metrics.
const (
	ScrapeError        = "resource_scrape_error"
	NodeCPU            = "node_cpu_usage_seconds_total"
	NodeMemory         = "node_memory_working_set_bytes"
	NodeSwap           = "node_swap_usage_bytes"
	ContainerCPU       = "container_cpu_usage_seconds_total"
	ContainerMemory    = "container_memory_working_set_bytes"
	ContainerStart     = "container_start_time_seconds"
	ContainerSwap      = "container_swap_usage_bytes"
	ContainerSwapLimit = "container_swap_limit_bytes"
	PodCPU             = "pod_cpu_usage_seconds_total"
	PodMemory          = "pod_memory_working_set_bytes"
	PodSwap            = "pod_swap_usage_bytes"
)

var families = map[string]struct{ kind, stability, help string }{
	ScrapeError:        {"gauge", "STABLE", "1 if a statistic could not be read, else 0."},
	NodeCPU:            {"counter", "STABLE", "CPU time that the node has used, in core-seconds."},
	NodeMemory:         {"gauge", "STABLE", "Working set of the node, in bytes."},
	ContainerCPU:       {"counter", "STABLE", "CPU time that the container has used, in core-seconds."},
	ContainerMemory:    {"gauge", "STABLE", "Working set of the container, in bytes."},
	ContainerStart:     {"gauge", "STABLE", "When the container was started, in seconds since 1970."},
	ContainerSwap:      {"gauge", "ALPHA", "Swap that the container uses, in bytes."},
	ContainerSwapLimit: {"gauge", "ALPHA", "Swap that the container may use, in bytes."},
	NodeSwap:           {"gauge", "ALPHA", "Swap that the node uses, in bytes."},
	PodSwap:            {"gauge", "ALPHA", "Swap that the pod uses, in bytes."},
	PodCPU:             {"counter", "STABLE", "CPU time that the pod has used, in core-seconds."},
	PodMemory:          {"gauge", "STABLE", "Working set of the pod, in bytes."},
}

// Family writes what comes before the values of a metric in the text format of Prometheus, to a buffer.
func Family(w io.Writer, name string) {
	f := families[name]
	_, _ = fmt.Fprintf(w, "# HELP %s [%s] %s\n# TYPE %s %s\n", name, f.stability, f.help, name, f.kind)
}

// Container returns the labels of a container.
func Container(namespace, pod, container string) string {
	return fmt.Sprintf("container=%q,namespace=%q,pod=%q", container, namespace, pod)
}
