package apimetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/store/aggregation"
	"github.com/keelson-dev/keelson/store/webhook"
)

// aggregations holds the metrics of APIService objects. Which ones are unavailable is in the server's state.
type aggregations struct {
	unavailable      *prometheus.CounterVec
	missingSAN, sha1 prometheus.Counter // certificates of their servers
}

func newAggregations(r *prometheus.Registry) *aggregations {
	return &aggregations{
		unavailable: counter(r, "aggregator_unavailable_apiservice_total", "Times that an available APIService was no longer, by the reason of its condition.", "name", "reason"),
		missingSAN:  counter(r, "apiserver_kube_aggregator_x509_missing_san_total", "Requests to servers of APIServices whose certificate has no alternative names.").WithLabelValues(),
		sha1:        counter(r, "apiserver_kube_aggregator_x509_insecure_sha1_total", "Requests to servers of APIServices whose certificate is signed over SHA-1.").WithLabelValues(),
	}
}

// Aggregation returns the hooks for the aggregation options of a control plane.
func (m *Metrics) Aggregation() aggregation.Metrics {
	a := m.aggregations
	return aggregation.Metrics{
		Failed:     func(name, reason string) { a.unavailable.WithLabelValues(name, reason).Inc() },
		Forgotten:  func(name string) { a.unavailable.DeletePartialMatch(prometheus.Labels{"name": name}) },
		Deprecated: func(_ string, d webhook.Deprecation) { deprecated(d, a.missingSAN, a.sha1) },
	}
}
