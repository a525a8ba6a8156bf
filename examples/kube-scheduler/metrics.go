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
	algorithm   prometheus.Histogram
	afterFlush  prometheus.Counter
	queued      *prometheus.CounterVec
	permits     *prometheus.HistogramVec
	batches     *prometheus.CounterVec
	batchEnds   *prometheus.CounterVec
	batchLooked *prometheus.HistogramVec
	batchKept   *prometheus.HistogramVec
	failures    *prometheus.CounterVec
	victims     prometheus.Histogram
	frameworkMetrics
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
	m.addDecisions()
	m.addFramework()
	m.all = append(m.all, m.failures, m.attempts, m.attemptTook, m.sli, m.tries, m.preemptions, m.victims, held{m})
	for i, queue := range []string{"active", "backoff", "unschedulable", "gated"} {
		m.all = append(m.all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: "pending_pods",
			Help: "Pods that wait, by how.", ConstLabels: prometheus.Labels{"queue": queue}}, func() float64 { return m.pending(i) }))
	}
	if groups {
		m.addGroups()
	}
	return m
}

func (m *metrics) addDecisions() {
	short := prometheus.ExponentialBuckets(0.00001, 2, 12)
	m.algorithm = prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "scheduling_algorithm_duration_seconds",
		Help: "How long the decisions took that have found a node.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)})
	m.afterFlush = prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "pod_scheduled_after_flush_total",
		Help: "Pods bound by a try that only the time has caused which they had waited."})
	m.queued = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "queue_incoming_pods_total",
		Help: "Pods that have entered a part of the queue, by the event."}, []string{"queue", "event"})
	m.permits = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "permit_wait_duration_seconds",
		Help: "How long pods waited that Permit plugins have delayed.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, []string{"result"})
	m.batches = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "batch_attempts_total",
		Help: "Decisions, by whether they used what was found for the pod before."}, []string{"profile", "result"})
	m.batchEnds = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "batch_cache_flushed_total",
		Help: "Ends of batches of pods, by why."}, []string{"profile", "reason"})
	m.batchLooked = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "get_node_hint_duration_seconds",
		Help: "How long it took to find out whether a pod continues a batch, and to place it if it does.", Buckets: short}, []string{"hinted", "profile"})
	m.batchKept = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "store_schedule_results_duration_seconds",
		Help: "How long it took to keep what a decision has found.", Buckets: short}, []string{"profile"})
	m.all = append(m.all, m.algorithm, m.afterFlush, m.queued, m.permits, m.batches, m.batchEnds, m.batchLooked, m.batchKept)
}

// held collects the numbers of what the scheduler holds.
type held struct{ m *metrics }

var (
	cacheSize = prometheus.NewDesc("scheduler_cache_size", "Nodes, pods on nodes, and pods whose binding was not seen yet.", []string{"type"}, nil)
	running   = prometheus.NewDesc("scheduler_goroutines", "Goroutines, by what they do.", []string{"operation"}, nil)
	inFlight  = prometheus.NewDesc("scheduler_inflight_events", "Events that are kept for pods which are being tried.", []string{"event"}, nil)
	refused   = prometheus.NewDesc("scheduler_unschedulable_pods", "Pods that wait, by each plugin that has refused them.", []string{"plugin", "profile"}, nil)
	evaluated = prometheus.NewDesc("scheduler_plugin_evaluation_total", "Calls of plugins by decisions, by point.", []string{"plugin", "extension_point", "profile"}, nil)
)

// Describe implements prometheus.Collector.
func (held) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cacheSize, running, inFlight, refused, evaluated} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (h held) Collect(out chan<- prometheus.Metric) {
	s := h.m.followed.Load()
	if s == nil {
		return
	}
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	sizes := s.Sizes()
	gauge(cacheSize, sizes.Nodes, "nodes")
	gauge(cacheSize, sizes.Pods, "pods")
	gauge(cacheSize, sizes.Assumed, "assumed_pods")
	gauge(running, sizes.Binding, "binding")
	gauge(inFlight, sizes.Events, "all")
	for by, n := range sizes.Refused {
		gauge(refused, n, by.Plugin, by.Profile)
	}
	for of, n := range s.Evaluations() {
		out <- prometheus.MustNewConstMetric(evaluated, prometheus.CounterValue, float64(n), of.Plugin, of.Point, of.Profile)
	}
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
		Point:        m.point,
		Plugin:       m.plugin,
		Event:        m.event,
		Hint:         m.hint,
		VictimsEnded: m.victimsEnded,
		ClaimCreated: func(status string) { m.claims.WithLabelValues(status).Inc() },
		DeviceWaited: m.deviceWaited,
		Attempt: func(profile, result string, took time.Duration) {
			m.attempts.WithLabelValues(result, profile).Inc()
			m.attemptTook.WithLabelValues(result, profile).Observe(took.Seconds())
			if result == "scheduled" {
				m.algorithm.Observe(took.Seconds())
			}
		},
		Batch: func(profile, result string, took time.Duration) {
			m.batches.WithLabelValues(profile, result).Inc()
			hinted := "no_hint"
			if result == "hint_used" {
				hinted = "hint"
			}
			m.batchLooked.WithLabelValues(hinted, profile).Observe(took.Seconds())
		},
		BatchEnded:          func(profile, reason string) { m.batchEnds.WithLabelValues(profile, reason).Inc() },
		BatchKept:           func(profile string, took time.Duration) { m.batchKept.WithLabelValues(profile).Observe(took.Seconds()) },
		Queued:              func(queue, event string) { m.queued.WithLabelValues(queue, event).Inc() },
		ScheduledAfterFlush: m.afterFlush.Inc,
		PermitWaited:        func(result string, took time.Duration) { m.permits.WithLabelValues(result).Observe(took.Seconds()) },
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
