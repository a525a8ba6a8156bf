package apimetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/store/aggregation"
)

// newAggregations returns the metric of APIService objects that become unavailable. Which ones are is in the
// server's state.
func newAggregations(r *prometheus.Registry) *prometheus.CounterVec {
	return counter(r, "aggregator_unavailable_apiservice_total", "Times that an available APIService was no longer, by the reason of its condition.", "name", "reason")
}

// Aggregation returns the hooks for the aggregation options of a control plane.
func (m *Metrics) Aggregation() aggregation.Metrics {
	return aggregation.Metrics{
		Failed:    func(name, reason string) { m.aggregations.WithLabelValues(name, reason).Inc() },
		Forgotten: func(name string) { m.aggregations.DeletePartialMatch(prometheus.Labels{"name": name}) },
	}
}
