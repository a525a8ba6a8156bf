package apimetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// impersonations holds the metrics of requests as another user.
type impersonations struct {
	attempts, checks         *prometheus.CounterVec
	attemptTimes, checkTimes *prometheus.HistogramVec
}

func newImpersonations(r *prometheus.Registry) *impersonations {
	const prefix = "apiserver_impersonation_"
	buckets := prometheus.ExponentialBuckets(0.001, 2, 15)
	return &impersonations{
		attempts:     counter(r, prefix+"attempts_total", "Attempts to impersonate a user, by the mode that permits it.", "mode", "decision"),
		attemptTimes: histogram(r, prefix+"attempts_duration_seconds", "Time to permit or deny an attempt.", buckets, "mode", "decision"),
		checks:       counter(r, prefix+"authorization_attempts_total", "Checks of a right to impersonate.", "mode", "decision"),
		checkTimes:   histogram(r, prefix+"authorization_attempts_duration_seconds", "Time of a check of a right to impersonate.", buckets, "mode", "decision"),
	}
}

// decisionOf returns the label of a decision.
func decisionOf(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

func (i *impersonations) attempted(mode string, elapsed time.Duration) {
	decision := decisionOf(mode != "")
	i.attempts.WithLabelValues(mode, decision).Inc()
	i.attemptTimes.WithLabelValues(mode, decision).Observe(elapsed.Seconds())
}

func (i *impersonations) checked(mode string, allowed bool, elapsed time.Duration) {
	decision := decisionOf(allowed)
	i.checks.WithLabelValues(mode, decision).Inc()
	i.checkTimes.WithLabelValues(mode, decision).Observe(elapsed.Seconds())
}
