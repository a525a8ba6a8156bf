package apimetrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// access is the measurements of who asks and whether they may.
type access struct {
	users, attempts, authorized, decisions *prometheus.CounterVec
	identified, authorizing                *prometheus.HistogramVec
	series                                 *memo[outcome, outcomeSeries]
}

// outcome is how authentication or authorization ended.
type outcome struct {
	authorization bool
	result        string
}

// outcomeSeries are the metrics of an outcome.
type outcomeSeries struct {
	attempts prometheus.Counter
	duration prometheus.Observer
}

func newAccess(r *prometheus.Registry) *access {
	buckets := prometheus.ExponentialBuckets(0.001, 2, 15)
	a := &access{
		users:       counter(r, "authenticated_user_requests", "Requests of callers that are known, by kind of name.", "username"),
		attempts:    counter(r, "authentication_attempts", "Requests by outcome of authentication.", "result"),
		identified:  histogram(r, "authentication_duration_seconds", "Time of authentication.", buckets, "result"),
		authorized:  counter(r, "authorization_attempts_total", "Requests by outcome of authorization.", "result"),
		authorizing: histogram(r, "authorization_duration_seconds", "Time of authorization.", buckets, "result"),
		decisions:   counter(r, "apiserver_authorization_decisions_total", "Decisions of authorizers that settled a question.", "type", "name", "decision"),
	}
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

func (a *access) authentication(user *authn.User, err error, elapsed time.Duration) {
	result := "success"
	switch {
	case err != nil:
		result = "error"
	case user == nil:
		result = "failure"
	default:
		a.users.WithLabelValues(kindOfUser(user.Name)).Inc()
	}
	a.ended(outcome{false, result}, elapsed)
}

// kindOfUser keeps names of people, of which there may be any number, out of labels.
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
	decision := "allowed"
	if d == authz.Deny {
		decision = "denied"
	}
	m.access.decisions.WithLabelValues(mode, strings.ToLower(mode), decision).Inc()
}
