package apimetrics

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// access is the measurements of who asks and whether they may.
type access struct {
	users, attempts, authorized, decisions *prometheus.CounterVec
	identified, authorizing                *prometheus.HistogramVec
	certificates                           prometheus.Histogram
	series                                 *memo[outcome, outcomeSeries]
	kinds                                  *memo[string, prometheus.Counter]
	settled                                *memo[settlement, prometheus.Counter]
}

// outcome is how authentication or authorization ended.
type outcome struct {
	authorization bool
	result        string
}

// settlement is a decision of an authorizer.
type settlement struct {
	mode     string
	decision authz.Decision
}

// outcomeSeries are the metrics of an outcome.
type outcomeSeries struct {
	attempts prometheus.Counter
	duration prometheus.Observer
}

func newAccess(r *prometheus.Registry) *access {
	buckets := prometheus.ExponentialBuckets(0.001, 2, 15)
	const hour, day = 3600, 24 * 3600
	a := &access{
		certificates: promauto.With(r).NewHistogram(prometheus.HistogramOpts{
			Name: "apiserver_client_certificate_expiration_seconds", Help: "Time until the client certificates of requests expire.",
			Buckets: []float64{0, hour / 2, hour, 2 * hour, 6 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, 30 * day, 90 * day, 180 * day, 360 * day},
		}),
		users:       counter(r, "authenticated_user_requests", "Requests of callers that are known, by kind of name.", "username"),
		attempts:    counter(r, "authentication_attempts", "Requests by outcome of authentication.", "result"),
		identified:  histogram(r, "authentication_duration_seconds", "Time of authentication.", buckets, "result"),
		authorized:  counter(r, "authorization_attempts_total", "Requests by outcome of authorization.", "result"),
		authorizing: histogram(r, "authorization_duration_seconds", "Time of authorization.", buckets, "result"),
		decisions:   counter(r, "apiserver_authorization_decisions_total", "Decisions of authorizers that settled a question.", "type", "name", "decision"),
	}
	a.kinds = newMemo(func(kind string) prometheus.Counter { return a.users.WithLabelValues(kind) })
	a.settled = newMemo(func(s settlement) prometheus.Counter {
		decision := "allowed"
		if s.decision == authz.Deny {
			decision = "denied"
		}
		return a.decisions.WithLabelValues(s.mode, strings.ToLower(s.mode), decision)
	})
	a.series = newMemo(func(o outcome) outcomeSeries {
		if o.authorization {
			return outcomeSeries{a.authorized.WithLabelValues(o.result), a.authorizing.WithLabelValues(o.result)}
		}
		return outcomeSeries{a.attempts.WithLabelValues(o.result), a.identified.WithLabelValues(o.result)}
	})
	return a
}

func (a *access) ended(o outcome, elapsed time.Duration) {
	s := a.series.of(o)
	s.attempts.Inc()
	s.duration.Observe(elapsed.Seconds())
}

func (a *access) authentication(r *http.Request, user *authn.User, err error, elapsed time.Duration) {
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		a.certificates.Observe(time.Until(r.TLS.PeerCertificates[0].NotAfter).Seconds())
	}
	result := "success"
	switch {
	case err != nil:
		result = "error"
	case user == nil:
		result = "failure"
	default:
		a.kinds.of(kindOfUser(user.Name)).Inc()
	}
	a.ended(outcome{false, result}, elapsed)
}

// kindOfUser keeps the names of human users, whose number has no bound, out of labels.
func kindOfUser(name string) string {
	switch name {
	case "admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default":
		return name
	}
	if strings.Contains(name, "@") {
		return "email_id"
	}
	return "other"
}

func (a *access) authorization(d authz.Decision, err error, elapsed time.Duration) {
	result := "no-opinion"
	switch {
	case d == authz.Allow:
		result = "allowed"
	case err != nil:
		result = "error"
	case d == authz.Deny:
		result = "denied"
	}
	a.ended(outcome{true, result}, elapsed)
}

// Decided measures the decisions of the authorizers of a control plane, for its Options.
func (m *Metrics) Decided(mode string, d authz.Decision) {
	m.access.settled.of(settlement{mode, d}).Inc()
}
