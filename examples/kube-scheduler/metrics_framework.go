package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// frameworkMetrics are those of the points and plugins of the framework, of events, and of what is written
// before a pod is bound.
type frameworkMetrics struct {
	points    *prometheus.HistogramVec
	plugins   *prometheus.HistogramVec
	events    *prometheus.HistogramVec
	hints     *prometheus.HistogramVec
	endings   *prometheus.CounterVec
	endTook   *prometheus.HistogramVec
	claims    *prometheus.CounterVec
	waits     *prometheus.CounterVec
	waitsTook *prometheus.HistogramVec
}

func (m *metrics) addFramework() {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
		m.all = append(m.all, v)
		return v
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
		m.all = append(m.all, v)
		return v
	}
	calls := prometheus.ExponentialBuckets(0.00001, 1.5, 20)
	m.points = histogram("framework_extension_point_duration_seconds", "How long all plugins of a point took for a pod.",
		prometheus.ExponentialBuckets(0.0001, 2, 12), "extension_point", "status", "profile")
	m.plugins = histogram("plugin_execution_duration_seconds", "How long calls of plugins took, of one attempt in ten.",
		calls, "plugin", "extension_point", "status")
	m.events = histogram("event_handling_duration_seconds", "How long it took to take in an event of the API.",
		prometheus.ExponentialBuckets(0.0001, 2, 12), "event")
	m.hints = histogram("queueing_hint_execution_duration_seconds", "How long a plugin took to say whether an event helps a pod.",
		calls, "plugin", "event", "hint")
	m.endTook = histogram("preemption_goroutines_duration_seconds", "How long it took to end the victims of a preemption.",
		prometheus.ExponentialBuckets(0.01, 2, 20), "result")
	m.endings = counter("preemption_goroutines_execution_total", "Preemptions whose victims were ended, or could not be.", "result")
	m.claims = counter("resourceclaim_creates_total", "Claims that were created for extended resources.", "status")
	m.waits = counter("dra_bindingconditions_allocations_total", "Devices whose binding conditions were waited for.", "profile", "driver", "status")
	m.waitsTook = histogram("dra_bindingconditions_wait_duration_seconds", "How long the devices of a pod were waited for.",
		prometheus.ExponentialBuckets(0.1, 2, 14), "profile", "driver", "status")
}

func (m *frameworkMetrics) point(profile, point, status string, took time.Duration) {
	m.points.WithLabelValues(point, status, profile).Observe(took.Seconds())
}

func (m *frameworkMetrics) plugin(plugin, point, status string, took time.Duration) {
	m.plugins.WithLabelValues(plugin, point, status).Observe(took.Seconds())
}

func (m *frameworkMetrics) event(event string, took time.Duration) {
	m.events.WithLabelValues(event).Observe(took.Seconds())
}

func (m *frameworkMetrics) hint(plugin, event, hint string, took time.Duration) {
	m.hints.WithLabelValues(plugin, event, hint).Observe(took.Seconds())
}

func (m *frameworkMetrics) victimsEnded(result string, took time.Duration) {
	m.endings.WithLabelValues(result).Inc()
	m.endTook.WithLabelValues(result).Observe(took.Seconds())
}

func (m *frameworkMetrics) deviceWaited(profile, driver, status string, own bool, took time.Duration) {
	m.waitsTook.WithLabelValues(profile, driver, status).Observe(took.Seconds())
	if own {
		m.waits.WithLabelValues(profile, driver, status).Inc()
	}
}
