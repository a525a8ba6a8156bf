package kubelet

import (
	goruntime "runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// nodeMetrics are about the node: its start, its groups, what it runs short of, and its shutdown.
type nodeMetrics struct {
	// The parts of the start of a node that the kubelet registers, and all of it, in seconds.
	beforeKubelet, beforeRegistration, registration, afterRegistration, startTook prometheus.Gauge

	evictions      *prometheus.CounterVec
	evictionDelays *prometheus.HistogramVec
	preemptions    *prometheus.CounterVec

	groupMade, groupChanged, groupRemoved prometheus.Observer
	groupVersion                          prometheus.Gauge

	shutdownStart, shutdownEnd prometheus.Gauge
}

func newNodeMetrics(r registrar, name string) nodeMetrics {
	groups := r.histograms("kubelet_cgroup_manager_duration_seconds", "Seconds that making, changing and removing cgroups took.", prometheus.DefBuckets, "operation_type")
	r.gauges("kubelet_node_name", "1, with the name of the node as a label.", "node").WithLabelValues(name).Set(1)
	// What containers use is read from the runtime, and from the files of the kernel.
	r.gauges("kubelet_metrics_provider", "1, with where the use of containers is read as a label.", "provider").WithLabelValues("cri").Set(1)
	r.gauges("kubernetes_build_info", "1, with the build of the kubelet as labels.", "major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform").
		WithLabelValues("1", "36", version, "", "", "", goruntime.Version(), goruntime.Compiler, goruntime.GOOS+"/"+goruntime.GOARCH).Set(1)
	return nodeMetrics{
		beforeKubelet:      r.gauge("kubelet_node_startup_pre_kubelet_duration_seconds", "Seconds from the start of the machine to that of the kubelet which has registered the node."),
		beforeRegistration: r.gauge("kubelet_node_startup_pre_registration_duration_seconds", "Seconds from the start of the kubelet to its first try to register the node."),
		registration:       r.gauge("kubelet_node_startup_registration_duration_seconds", "Seconds from the first try to register the node until it was registered."),
		afterRegistration:  r.gauge("kubelet_node_startup_post_registration_duration_seconds", "Seconds from the registration of the node until it was ready."),
		startTook:          r.gauge("kubelet_node_startup_duration_seconds", "Seconds from the start of the machine until the node was ready."),
		evictions:          r.counters("kubelet_evictions", "Pods evicted, by the signal that passed its threshold.", "eviction_signal"),
		evictionDelays: r.histograms("kubelet_eviction_stats_age_seconds", "Seconds from the measurement of a signal that passed its threshold until a pod was evicted for it.",
			prometheus.DefBuckets, "eviction_signal"),
		preemptions:  r.counters("kubelet_preemptions", "Pods preempted for a critical one, by the resource it lacked.", "preemption_signal"),
		groupMade:    groups.WithLabelValues("create"),
		groupChanged: groups.WithLabelValues("update"),
		groupRemoved: groups.WithLabelValues("destroy"),
		groupVersion: r.gauge("kubelet_cgroup_version", "Version of cgroups that the machine has."),
		shutdownStart: r.gauge("kubelet_graceful_shutdown_start_time_seconds",
			"Unix time in seconds at which the kubelet began to end pods for the last shutdown of the machine; 0 without one."),
		shutdownEnd: r.gauge("kubelet_graceful_shutdown_end_time_seconds",
			"Unix time in seconds at which no pod was waited for any more in the last shutdown of the machine; 0 before that."),
	}
}

// shutdown shows the times of the last shutdown.
func (m *nodeMetrics) shutdown(t shutdownTimes) {
	show := func(g prometheus.Gauge, at time.Time) {
		if at.IsZero() {
			g.Set(0)
		} else {
			g.Set(float64(at.Unix()))
		}
	}
	show(m.shutdownStart, t.Start)
	show(m.shutdownEnd, t.End)
}

// nodeStart is how far the start of a node is that this kubelet registers.
type nodeStart struct{ tried, made time.Time }

// registered notes that the node has been registered, with when the machine, if that is known, and the
// kubelet were started.
func (s *nodeStart) registered(m *nodeMetrics, machine, kubelet time.Time) {
	if !s.made.IsZero() {
		return
	}
	s.made = time.Now()
	if !machine.IsZero() {
		m.beforeKubelet.Set(kubelet.Sub(machine).Seconds())
	}
	m.beforeRegistration.Set(s.tried.Sub(kubelet).Seconds())
	m.registration.Set(s.made.Sub(s.tried).Seconds())
}

// ready notes that the node is ready; that counts for the first time after its registration.
func (s *nodeStart) ready(m *nodeMetrics, machine time.Time) {
	if s.made.IsZero() {
		return
	}
	m.afterRegistration.Set(time.Since(s.made).Seconds())
	if !machine.IsZero() {
		m.startTook.Set(time.Since(machine).Seconds())
	}
	s.made = time.Time{}
}
