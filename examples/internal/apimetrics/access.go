package apimetrics

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// access holds the metrics of authentication and authorization.
type access struct {
	users, attempts, authorized, decisions *prometheus.CounterVec
	identified, authorizing                *prometheus.HistogramVec
	certificates                           prometheus.Histogram
	configs                                map[string]*Config
	tokens                                 *prometheus.HistogramVec
	fetched, keySets                       *prometheus.GaugeVec
	server                                 string // the hash of the server's identity; empty without one
	graph                                  *prometheus.HistogramVec
	series                                 *memo[outcome, outcomeSeries]
	kinds                                  *memo[string, prometheus.Counter]
	settled                                *memo[settlement, prometheus.Counter]

	mu     sync.Mutex
	keySet map[string]string // the hash of the keys in keySets, by issuer
}

// outcome is the result of an authentication or authorization.
type outcome struct {
	authorization bool
	result        string
}

// settlement is the decision of an authorizer.
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
		configs:     newConfigs(r, "authentication", "authorization", "encryption"),
		tokens: histogram(r, "apiserver_authentication_jwt_authenticator_latency_seconds", "Time of the authentication of JSON web tokens by outcome and issuer.",
			[]float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, "result", "jwt_issuer_hash"),
		fetched: promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
			Help: "Time of the last fetch of an issuer's keys by outcome and issuer."}, []string{"result", "jwt_issuer_hash", "apiserver_id_hash"}),
		keySets: gauge(r, "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info", "Hash of the keys of an issuer that were fetched last; always 1.",
			"jwt_issuer_hash", "apiserver_id_hash", "hash"),
		keySet:    map[string]string{},
		graph:     histogram(r, "node_authorizer_graph_actions_duration_seconds", "Time of changes of the graph that relates objects to nodes.", prometheus.ExponentialBuckets(0.0001, 2, 12), "operation"),
		decisions: counter(r, "apiserver_authorization_decisions_total", "Decisions of authorizers that settled a question.", "type", "name", "decision"),
	}
	a.kinds = newMemo(func(kind string) prometheus.Counter { return a.users.WithLabelValues(kind) })
	a.settled = newMemo(func(s settlement) prometheus.Counter {
		decision := "allowed"
		if s.decision == authz.Deny {
			decision = "denied"
		}
		kind, name, named := strings.Cut(s.mode, ":") // Webhook:NAME
		if !named {
			name = strings.ToLower(kind)
		}
		return a.decisions.WithLabelValues(kind, name, decision)
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

// kindOfUser returns the label of a user. Names of human users are omitted, because their number is
// unbounded.
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

// Decided counts the decisions of the authorizers of a control plane; it is for its Options.
func (m *Metrics) Decided(mode string, d authz.Decision) {
	m.access.settled.of(settlement{mode, d}).Inc()
}

// NodeGraphChanged measures a change of the graph of the authorizer Node; it is for the options of a control
// plane.
func (m *Metrics) NodeGraphChanged(change string, took time.Duration) {
	m.access.graph.WithLabelValues(change).Observe(took.Seconds())
}

// status is the label of an outcome.
func status(err error) string {
	if err != nil {
		return "failure"
	}
	return "success"
}

// TokenAuthenticated measures the authentication of a token of an issuer; err is why it is refused.
func (m *Metrics) TokenAuthenticated(issuer string, took time.Duration, err error) {
	m.access.tokens.WithLabelValues(status(err), hashOf(issuer)).Observe(took.Seconds())
}

// KeysFetched notes the fetch of an issuer's keys, which are in the document keySet if there is no error.
func (m *Metrics) KeysFetched(issuer string, keySet []byte, err error) {
	a := m.access
	a.fetched.WithLabelValues(status(err), hashOf(issuer), a.server).SetToCurrentTime()
	if err == nil {
		a.setKeys(issuer, hashed(string(keySet)))
	}
}

// IssuerRemoved removes what KeysFetched has noted.
func (m *Metrics) IssuerRemoved(issuer string) {
	for _, err := range []error{nil, context.Canceled} {
		m.access.fetched.DeleteLabelValues(status(err), hashOf(issuer), m.access.server)
	}
	m.access.setKeys(issuer, "")
}

// setKeys notes the hash of the current keys of an issuer; empty for none.
func (a *access) setKeys(issuer, hash string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.keySet[issuer]
	delete(a.keySet, issuer)
	if hash != "" {
		a.keySets.WithLabelValues(hashOf(issuer), a.server, hash).Set(1)
		a.keySet[issuer] = hash
	}
	if before != "" && before != hash {
		a.keySets.DeleteLabelValues(hashOf(issuer), a.server, before)
	}
}

// hashOf is the label of an issuer, whose URL may be confidential.
func hashOf(issuer string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(issuer))) }
