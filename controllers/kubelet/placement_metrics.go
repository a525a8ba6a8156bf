package kubelet

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/placement"
)

// placementCounts are the metrics of a placer, with the names of k8s.io/kubernetes/pkg/kubelet/metrics.
type placementCounts struct {
	cpus, cpuErrors      prometheus.Counter     // containers with CPUs of their own, and those that got none
	memory, memoryErrors prometheus.Counter     // the same with memory
	admissions, refusals prometheus.Counter     // pods whose resources were compared, and that were refused
	aligned, unaligned   *prometheus.CounterVec // containers or pods, by scope and boundary
	duration             prometheus.Histogram
}

func newPlacementCounts(r registrar) *placementCounts {
	return &placementCounts{
		cpus:         r.counter("kubelet_cpu_manager_pinning_requests_total", "Containers for which CPUs of their own were sought."),
		cpuErrors:    r.counter("kubelet_cpu_manager_pinning_errors_total", "Containers that got no CPUs of their own."),
		memory:       r.counter("kubelet_memory_manager_pinning_requests_total", "Containers for which memory of NUMA nodes was sought."),
		memoryErrors: r.counter("kubelet_memory_manager_pinning_errors_total", "Containers that got no memory of NUMA nodes."),
		admissions:   r.counter("kubelet_topology_manager_admission_requests_total", "Pods whose resources were to be of one set of NUMA nodes."),
		refusals:     r.counter("kubelet_topology_manager_admission_errors_total", "Pods refused because their resources are not of one set of NUMA nodes."),
		duration:     r.histogram("kubelet_topology_manager_admission_duration_ms", "Milliseconds that the placement of a pod took.", prometheus.ExponentialBuckets(.05, 2, 15)),
		aligned:      r.counters("kubelet_container_aligned_compute_resources_count", "Allocations within one boundary, by scope.", "scope", "boundary"),
		unaligned:    r.counters("kubelet_container_aligned_compute_resources_failure_count", "Allocations that could not be kept within one boundary, by scope.", "scope", "boundary"),
	}
}

// placed counts the placement of a pod.
func (n *placementCounts) placed(policy *PlacementPolicy, demand placement.Pod, err error, took time.Duration) {
	r, _ := errors.AsType[*placement.Refusal](err)
	for _, c := range demand.Containers {
		if r != nil && r.Reason == placement.Unaligned {
			break // before any allocation
		}
		if policy.StaticCPUs && c.CPUs > 0 {
			n.cpus.Inc()
			n.cores(policy, err)
		}
		if policy.StaticMemory && len(c.Memory) > 0 {
			n.memory.Inc()
		}
	}
	switch {
	case r != nil && r.Resource == corev1.ResourceCPU:
		n.cpuErrors.Inc()
	case r != nil && r.Resource == corev1.ResourceMemory:
		n.memoryErrors.Inc()
	}
	if cmp.Or(policy.Alignment, "none") == "none" {
		return
	}
	n.admissions.Inc()
	n.duration.Observe(float64(took.Microseconds()) / 1000)
	if err != nil {
		n.refusals.Inc()
	}
	if policy.Alignment == string(placement.AlignSingleNode) {
		scope := map[bool]string{false: "container", true: "pod"}[policy.PodScope]
		if err == nil {
			n.aligned.WithLabelValues(scope, "numa_node").Inc()
		} else if r != nil && r.Reason == placement.Unaligned {
			n.unaligned.WithLabelValues(scope, "numa_node").Inc()
		}
	}
}

// cores counts containers with whole cores.
func (n *placementCounts) cores(policy *PlacementPolicy, err error) {
	switch {
	case !policy.FullCores:
	case err == nil:
		n.aligned.WithLabelValues("container", "physical_cpu").Inc()
	default:
		n.unaligned.WithLabelValues("container", "physical_cpu").Inc()
	}
}

// placements shows who has the CPUs at the moment. All is 0 if no container has some for itself.
type placements struct{ k *Kubelet }

var (
	sharedPool = prometheus.NewDesc("kubelet_cpu_manager_shared_pool_size_millicores", "CPU time of the CPUs that no container has for itself, in thousandths.", nil, nil)
	ownCPUs    = prometheus.NewDesc("kubelet_cpu_manager_exclusive_cpu_allocation_count", "CPUs that containers have for themselves.", nil, nil)
	perNUMA    = prometheus.NewDesc("kubelet_cpu_manager_allocation_per_numa", "CPUs that containers have for themselves, by NUMA node.", []string{"numa_node"}, nil)
)

// Describe implements prometheus.Collector.
func (placements) Describe(ch chan<- *prometheus.Desc) {
	ch <- sharedPool
	ch <- ownCPUs
	ch <- perNUMA
}

// Collect implements prometheus.Collector.
func (c placements) Collect(ch chan<- prometheus.Metric) {
	all, shared := 0, 0
	if p := c.k.placer; p != nil && p.policy.StaticCPUs {
		shared = 1000 * len(p.Spare())
		for node, n := range p.Used() {
			all += n
			ch <- prometheus.MustNewConstMetric(perNUMA, prometheus.GaugeValue, float64(n), strconv.Itoa(node))
		}
	}
	ch <- prometheus.MustNewConstMetric(ownCPUs, prometheus.GaugeValue, float64(all))
	ch <- prometheus.MustNewConstMetric(sharedPool, prometheus.GaugeValue, float64(shared))
}
