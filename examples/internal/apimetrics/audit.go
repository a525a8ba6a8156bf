package apimetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/store/audit"
)

// audits holds the metrics of auditing.
type audits struct {
	events, rejected prometheus.Counter
	errors           *prometheus.CounterVec
	levels           *memo[auditv1.Level, prometheus.Counter]
}

func newAudits(r *prometheus.Registry) *audits {
	levels := counter(r, "apiserver_audit_level_total", "Requests by the level at which they are recorded.", "level")
	return &audits{
		events:   counter(r, "apiserver_audit_event_total", "Audit events passed to the backends.").WithLabelValues(),
		rejected: counter(r, "apiserver_audit_requests_rejected_total", "Requests refused because they could not be recorded.").WithLabelValues(),
		errors:   counter(r, "apiserver_audit_error_total", "Audit events that were lost, by the plugin that lost them.", "plugin"),
		levels:   newMemo(func(l auditv1.Level) prometheus.Counter { return levels.WithLabelValues(string(l)) }),
	}
}

// Audit returns the hooks for the audit options of a server.
func (m *Metrics) Audit() audit.Metrics {
	return audit.Metrics{
		Level:    func(l auditv1.Level) { m.audits.levels.of(l).Inc() },
		Event:    m.audits.events.Inc,
		Rejected: m.audits.rejected.Inc,
	}
}

// AuditFailed counts audit events that were lost.
func (m *Metrics) AuditFailed(plugin string, events int) {
	m.audits.errors.WithLabelValues(plugin).Add(float64(events))
}
