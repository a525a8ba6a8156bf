package apiserver

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/crd"
	"github.com/keelson-dev/keelson/store/flowcontrol"
	"github.com/keelson-dev/keelson/workqueue"
)

// Metrics are hooks for measurements. They are called on the request's goroutine and must be quick and safe
// for concurrent use. Nil functions are skipped.
type Metrics struct {
	// Request is called when a request has ended.
	Request func(m Measurement)
	// Authenticated is called after each call of Options.Authenticator. user is nil if it did not recognize
	// the caller; err is the reason, if there is one.
	Authenticated func(r *http.Request, user *authn.User, err error, elapsed time.Duration)
	// Authorized is called after Options.Authorizer has decided about a request. Access checks made for
	// impersonation are not reported.
	Authorized func(d authz.Decision, err error, elapsed time.Duration)
	// Filter is called when a request has passed a step before its verb, with the time that this took.
	Filter func(f Filter, elapsed time.Duration)
	// Impersonated is called after each attempt to impersonate a user, with the mode that permits it: legacy,
	// user-info, serviceaccount, arbitrary-node, associated-node, or empty if none does. Checked is called
	// after each check of a right made for that, by the mode that needs the right.
	Impersonated func(mode string, elapsed time.Duration)
	Checked      func(mode string, allowed bool, elapsed time.Duration)
	// Admission are the hooks of admission.
	Admission admission.Metrics
	// Custom are the hooks of custom resources.
	Custom crd.Metrics
	// InFlight is called with +1 and -1 as requests that are not long-running begin and end.
	InFlight func(mutating bool, delta int)
	// LongRunning is called with +1 and -1 as watches, logs and streams begin and end.
	LongRunning func(m Measurement, delta int)
	// Changing is called when a request that changes a resource has been admitted, with the names of its flow
	// schema and priority level.
	Changing func(schema, level string, resource schema.GroupResource)
	// Aggregated is called when the aggregated form of discovery has been made, for its first reader after a
	// change of what is served.
	Aggregated func()
	// Aborted is called when the connection of a request is closed because its response cannot be completed.
	Aborted func(m Measurement)
	// Rejected is called when a request is rejected with 429 because the server is overloaded.
	Rejected func(m Measurement)
	// Flows are the hooks of priority and fairness.
	Flows flowcontrol.Metrics
	// Listed is called when a list was served from the watch cache, with the numbers of objects examined and
	// returned.
	Listed func(resource schema.GroupResource, fetched, returned int)
	// WatchEvents is called when a watch begins. What it returns is called for each event that is sent, with
	// its size in bytes.
	WatchEvents func(resource schema.GroupVersionResource) func(bytes int)
	// WatchListed is called when a watch with sendInitialEvents has sent its initial objects; Elapsed is the
	// time since the request arrived.
	WatchListed func(m Measurement)
	// HandshakeFailed is called when the TLS handshake of a connection of Serve fails.
	HandshakeFailed func()
	// LogRead is called for each request for the log of a pod; unverified says that any certificate of the
	// kubelet is accepted.
	LogRead func(unverified bool)
	// LogRefused is called when a log could not be read because the kubelet's certificate is not valid.
	LogRefused func()
	// Streamed is called for each request for exec, attach or portforward that is passed on to a kubelet.
	// translated says that this server serves WebSockets in the place of the kubelet.
	Streamed func(subresource string, translated bool)
	// Translated is called when a WebSocket for exec or attach that this server serves has ended, with the
	// code of the outcome, and Tunnelled when one for portforward is answered.
	Translated, Tunnelled func(code int)
	// Deprecated is called for each request for a deprecated API.
	Deprecated func(m Measurement)
	// Queue returns the hooks of a queue of work of the server; nil means none.
	Queue func(name string) *workqueue.Metrics
	// DiscoveryMerged is called when the discovery document with what peers serve is sent; cached says that
	// it did not have to be made.
	DiscoveryMerged func(cached bool)
	// DiscoveryAlone is called when a client prefers the discovery document without what peers serve.
	DiscoveryAlone func()
	// HealthCheck is called with the result of each check of healthz, livez or readyz (path, without slash).
	HealthCheck func(path, check string, err error)
}

// Filter is a step of a request before its verb.
type Filter string

// The steps, by the names that they have in kube-apiserver's metrics.
const (
	FilterAuthentication Filter = "authentication"
	FilterAudit          Filter = "audit"
	FilterImpersonation  Filter = "constrainedimpersonation"
	FilterFlowControl    Filter = "priorityandfairness"
	FilterAuthorization  Filter = "authorization"
)

// filterTimes are the times that filters of a request took.
type filterTimes struct{ authentication, impersonation, authorization time.Duration }

// lap measures the filters of a request that follow one another. The zero value measures nothing.
type lap struct {
	request *request
	began   time.Time
}

func (r *request) lap() (l lap) {
	if r.server.opts.Metrics.Filter != nil || r.server.opts.Audit.Policy != nil {
		l = lap{r, time.Now()}
	}
	return l
}

// passed ends a filter, and begins the next one.
func (l *lap) passed(f Filter) {
	if l.request == nil {
		return
	}
	now := time.Now()
	elapsed := now.Sub(l.began)
	switch took := &l.request.took; f {
	case FilterAuthentication:
		took.authentication = elapsed
	case FilterImpersonation:
		took.impersonation = elapsed
	case FilterAuthorization:
		took.authorization = elapsed
	}
	if hook := l.request.server.opts.Metrics.Filter; hook != nil {
		hook(f, elapsed)
	}
	l.began = now
}

// Measurement describes a request by properties of bounded cardinality. It holds nothing that clients choose
// freely, such as names or resources that are not served, so every string field may be a label.
type Measurement struct {
	// Verb is one of those of Kubernetes' metrics: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE,
	// DELETECOLLECTION, CONNECT, or other.
	Verb string
	// Group, Version, Resource and Subresource; empty if the request was not for a resource that is served.
	// The subresource of other requests is the path of the handler that serves them, or empty.
	Group, Version, Resource, Subresource string
	// Scope is resource (one object), namespace, cluster, or empty for requests that are not for resources.
	Scope string
	// DryRun is All or empty.
	DryRun string
	// FieldValidation is Ignore, Warn, Strict, empty, or invalid for anything else.
	FieldValidation string
	// Self says that the caller is the server itself: system:apiserver.
	Self bool

	// Code is the HTTP status, Elapsed the time until the last byte was written, of which Waited was spent
	// queued and in admission webhooks, Bytes the size of the response, and BodyBytes that of the request's
	// body as far as it was read. They are zero in a measurement of a request that has not ended.
	Code             int
	Elapsed, Waited  time.Duration
	Bytes, BodyBytes int64
}

// measurement describes the request.
func (r *request) measurement() Measurement {
	m := Measurement{Verb: r.metricVerb()}
	if u := authn.UserFrom(r.Context()); u != nil {
		m.Self = u.Name == authn.APIServerUser
	}
	if !r.info.Resource {
		m.Subresource = r.handler
		return m
	}
	if d := r.query["dryRun"]; len(d) > 0 && d[0] == "All" {
		m.DryRun = d[0]
	}
	if v := r.query["fieldValidation"]; len(v) > 0 {
		if m.FieldValidation = v[0]; !slices.Contains(fieldValidations, v[0]) {
			m.FieldValidation = "invalid"
		}
	}
	switch {
	case r.info.Name != "" || r.info.Verb == "create":
		m.Scope = "resource"
	case r.info.Namespace != "":
		m.Scope = "namespace"
	default:
		m.Scope = "cluster"
	}
	if r.rt == nil {
		return m
	}
	m.Group, m.Version, m.Resource = r.info.GVR.Group, r.info.GVR.Version, r.info.GVR.Resource
	if known, _ := r.rt.hasSub(&r.info); known {
		m.Subresource = r.info.Subresource
	}
	return m
}

// fieldValidations are the values of the parameter fieldValidation.
var fieldValidations = []string{"", "Ignore", "Warn", "Strict"}

// metricVerb names what the request does.
func (r *request) metricVerb() string {
	if !r.info.Resource {
		switch r.Method {
		case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
			return r.Method
		}
		return "other"
	}
	switch r.info.Subresource {
	case "exec", "attach", "portforward", "proxy", "log":
		return "CONNECT"
	}
	switch r.info.Verb {
	case "get":
		return "GET"
	case "list":
		return "LIST"
	case "watch":
		return "WATCH"
	case "delete":
		return "DELETE"
	case "deletecollection":
		return "DELETECOLLECTION"
	case "create":
		return "POST"
	case "update":
		return "PUT"
	case "patch":
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
			return "APPLY"
		}
		return "PATCH"
	}
	return "other"
}
