package apimetrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/webhook"
)

// reviews holds the metrics of webhooks that authorize.
type reviews struct {
	calls, failedOpen     *prometheus.CounterVec
	callTimes             *prometheus.HistogramVec
	misjudged, exclusions *prometheus.CounterVec
	conditionTimes        *prometheus.HistogramVec
}

func newReviews(r *prometheus.Registry) *reviews {
	const prefix = "apiserver_authorization_"
	return &reviews{
		calls:          counter(r, prefix+"webhook_evaluations_total", "Calls of authorization webhooks.", "name", "result"),
		callTimes:      histogram(r, prefix+"webhook_duration_seconds", "Time of calls of authorization webhooks.", prometheus.DefBuckets, "name", "result"),
		failedOpen:     counter(r, prefix+"webhook_evaluations_fail_open_total", "Requests about which another authorizer decided because a call failed.", "name", "result"),
		misjudged:      counter(r, prefix+"match_condition_evaluation_errors_total", "Requests for which match conditions could not be evaluated.", "type", "name"),
		exclusions:     counter(r, prefix+"match_condition_exclusions_total", "Requests not sent because a match condition does not hold.", "type", "name"),
		conditionTimes: histogram(r, prefix+"match_condition_evaluation_seconds", "Time of the match conditions.", []float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}, "type", "name"),
	}
}

// codeOf is the label of the status of a response, of which 0 means none.
func codeOf(code int) string {
	if code == 0 {
		return "<error>"
	}
	return strconv.Itoa(code)
}

// Requests are the hooks for connections of the server to others.
type Requests struct {
	rest.Metrics
	// Looked measures the resolutions of host names for a request.
	Looked func([]webhook.Lookup)
}

// Requests returns the hooks for connections of the server to others.
func (m *Metrics) Requests() Requests {
	c := &m.client
	return Requests{Looked: c.looked, Metrics: rest.Metrics{
		Request: c.requested,
		Retry:   func(t rest.Target, code int) { c.tried.WithLabelValues(codeOf(code), t.Method, t.Host).Inc() },
		Queued: func(t rest.Target, waited time.Duration) {
			c.queued.WithLabelValues(t.Method, t.Host).Observe(waited.Seconds())
		},
	}}
}

// AuthoritiesRead counts a reading of the authorities that the server checks kubelets by.
func (m *Metrics) AuthoritiesRead(result, reason string) {
	m.client.reloads.WithLabelValues(result, reason).Inc()
}

// AuthorizationWebhook returns the hooks for the authorization webhook with that name.
func (m *Metrics) AuthorizationWebhook(name string) authz.WebhookMetrics {
	const kind = "Webhook"
	r := m.reviews
	return authz.WebhookMetrics{
		Called: func(result authz.WebhookResult, elapsed time.Duration) {
			r.calls.WithLabelValues(name, string(result)).Inc()
			r.callTimes.WithLabelValues(name, string(result)).Observe(elapsed.Seconds())
		},
		FailedOpen: func(result authz.WebhookResult) { r.failedOpen.WithLabelValues(name, string(result)).Inc() },
		Matched: func(excluded bool, err error, elapsed time.Duration) {
			r.conditionTimes.WithLabelValues(kind, name).Observe(elapsed.Seconds())
			if excluded {
				r.exclusions.WithLabelValues(kind, name).Inc()
			}
			if err != nil {
				r.misjudged.WithLabelValues(kind, name).Inc()
			}
		},
	}
}
