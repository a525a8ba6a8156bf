package main

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// metrics holds metrics with the names and labels of kube-scheduler's.
type metrics struct {
	all         []prometheus.Collector
	attempts    *prometheus.CounterVec
	attemptTook *prometheus.HistogramVec
	sli         *prometheus.HistogramVec
	tries       prometheus.Histogram
	preemptions prometheus.Counter
	batches     *prometheus.CounterVec
	failures    *prometheus.CounterVec
	victims     prometheus.Histogram
	// The attempts to place groups; nil if none is placed.
	groupAttempts    *prometheus.CounterVec
	groupAttemptTook *prometheus.HistogramVec
	groupDecided     prometheus.Histogram
	followed         atomic.Pointer[scheduler.Scheduler]
}

const namespace = "scheduler"

// newMetrics returns the metrics, with those of groups if there are some.
func newMetrics(groups bool) *metrics {
	m := &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "schedule_attempts_total",
			Help: "Attempts to place pods, by result."}, []string{"result", "profile"}),
		attemptTook: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "scheduling_attempt_duration_seconds",
			Help: "How long the decision of an attempt took.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, []string{"result", "profile"}),
		sli: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "pod_scheduling_sli_duration_seconds",
			Help: "Time from when a pod entered the queue until it was bound.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 20)}, []string{"attempts"}),
		tries: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "pod_scheduling_attempts",
			Help: "Attempts until a pod was bound.", Buckets: prometheus.ExponentialBuckets(1, 2, 5)}),
		preemptions: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "preemption_attempts_total",
			Help: "How often pods were preempted."}),
		victims: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "preemption_victims",
			Help: "Pods that were preempted at a time.", Buckets: prometheus.ExponentialBuckets(1, 2, 7)}),
	}
	m.failures = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "plugin_failures_total",
		Help: "Errors, panics and overdue calls of plugins."}, []string{"plugin", "profile"})
	m.batches = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "batch_attempts_total",
		Help: "Decisions, by whether they used what was found for the pod before."}, []string{"profile", "result"})
	m.all = []prometheus.Collector{m.batches, m.failures, m.attempts, m.attemptTook, m.sli, m.tries, m.preemptions, m.victims}
	for i, queue := range []string{"active", "backoff", "unschedulable", "gated"} {
		m.all = append(m.all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: "pending_pods",
			Help: "Pods that wait, by how.", ConstLabels: prometheus.Labels{"queue": queue}}, func() float64 { return m.pending(i) }))
	}
	if groups {
		m.addGroups()
	}
	return m
}

func (m *metrics) addGroups() {
	times := prometheus.ExponentialBuckets(0.001, 2, 15)
	m.groupAttempts = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "podgroup_schedule_attempts_total",
		Help: "Attempts to place the pods of PodGroups, by result."}, []string{"result", "profile"})
	m.groupAttemptTook = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "podgroup_scheduling_attempt_duration_seconds",
		Help: "How long an attempt to place a PodGroup took, without the bindings.", Buckets: times}, []string{"result", "profile"})
	m.groupDecided = prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "podgroup_scheduling_algorithm_duration_seconds",
		Help: "How long the decision about a PodGroup took.", Buckets: times})
	m.all = append(m.all, m.groupAttempts, m.groupAttemptTook, m.groupDecided)
}

// follow lets the number of waiting pods be that of s.
func (m *metrics) follow(s *scheduler.Scheduler) { m.followed.Store(s) }

func (m *metrics) pending(queue int) float64 {
	s := m.followed.Load()
	if s == nil {
		return 0
	}
	p := s.Pending()
	return float64([]int{p.Active, p.Backoff, p.Unschedulable, p.Gated}[queue])
}

func (m *metrics) functions() scheduler.Metrics {
	return scheduler.Metrics{
		Attempt: func(profile, result string, took time.Duration) {
			m.attempts.WithLabelValues(result, profile).Inc()
			m.attemptTook.WithLabelValues(result, profile).Observe(took.Seconds())
		},
		Batch: func(profile, result string) { m.batches.WithLabelValues(profile, result).Inc() },
		GroupAttempt: func(profile, result string, decided, took time.Duration) {
			m.groupAttempts.WithLabelValues(result, profile).Inc()
			m.groupAttemptTook.WithLabelValues(result, profile).Observe(took.Seconds())
			m.groupDecided.Observe(decided.Seconds())
		},
		Scheduled: func(_ string, since time.Duration, attempts int) {
			label := strconv.Itoa(attempts)
			if attempts >= 15 {
				label = "15+"
			}
			m.sli.WithLabelValues(label).Observe(since.Seconds())
			m.tries.Observe(float64(attempts))
		},
		PluginFailed: func(profile, plugin string) { m.failures.WithLabelValues(plugin, profile).Inc() },
		Preempted: func(victims int) {
			m.preemptions.Inc()
			m.victims.Observe(float64(victims))
		},
	}
}
