package apiserver

import (
	"net/http"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/flowcontrol"
	"github.com/keelson-dev/keelson/workqueue"
)

// Metrics are hooks for measurements. They are called on the request's goroutine and must be quick and safe
// for concurrent use. Nil functions are skipped.
type Metrics struct {
	// Request is called when a request has been answered.
	Request func(m Measurement)
	// Authenticated is called when Options.Authenticator has been asked about r. user is nil if it does not
	// know the caller; err is why, if that is known.
	Authenticated func(r *http.Request, user *authn.User, err error, elapsed time.Duration)
	// Authorized is called when Options.Authorizer has been asked about a whole request; impersonation asks
	// further questions, which are not told of.
	Authorized func(d authz.Decision, err error, elapsed time.Duration)
	// Admission are the hooks of admission.
	Admission admission.Metrics
	// InFlight is called with +1 and -1 as requests that are not long-running begin and end.
	InFlight func(mutating bool, delta int)
	// LongRunning is called with +1 and -1 as watches, logs and streams begin and end.
	LongRunning func(m Measurement, delta int)
	// Rejected is called when a request is turned away with 429 because too much is going on.
	Rejected func(m Measurement)
	// Flows are the hooks of priority and fairness.
	Flows flowcontrol.Metrics
	// Listed is called when a list has been answered from the watch cache, with the number of objects it
	// looked at and of those in the answer.
	Listed func(resource schema.GroupResource, fetched, returned int)
	// WatchEvents is called when a watch begins. What it returns is called for each event that is sent, with
	// its size in bytes.
	WatchEvents func(resource schema.GroupVersionResource) func(bytes int)
	// WatchListed is called when a watch has sent the objects it was asked to begin with; Elapsed is the time
	// that took since the request came.
	WatchListed func(m Measurement)
	// HandshakeFailed is called when a client of Serve has not got as far as TLS.
	HandshakeFailed func()
	// Deprecated is called when a request was for an API that is deprecated.
	Deprecated func(m Measurement)
	// Queue returns the hooks of a queue of work of the server; nil means none.
	Queue func(name string) *workqueue.Metrics
	// HealthCheck is called with the outcome of each check of healthz, livez or readyz (path, without slash).
	HealthCheck func(path, check string, err error)
}

// Measurement describes a request by what it has in common with others. What a client can choose freely, such
// as names, or resources that are not served, is not in it, so every field is fit to be a label.
type Measurement struct {
	// Verb in the words of Kubernetes' metrics: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE,
	// DELETECOLLECTION, CONNECT, or other.
	Verb string
	// Group, Version, Resource and Subresource; empty if the request was not for a resource that is served.
	// The subresource of other requests is the path of the handler that serves them, or empty.
	Group, Version, Resource, Subresource string
	// Scope is resource (one object), namespace, cluster, or empty for requests that are not for resources.
	Scope string
	// DryRun is All or empty.
	DryRun string

	// Code is the HTTP status, Elapsed the time until the last byte was written, of which Outside was spent
	// waiting to be let run and for admission webhooks, Bytes the size of the answer, and BodyBytes that of
	// the request's body as far as it was read. They are zero in a measurement of a request that has not
	// ended.
	Code             int
	Elapsed, Outside time.Duration
	Bytes, BodyBytes int64
}

// measurement describes the request.
func (r *request) measurement() Measurement {
	m := Measurement{Verb: r.metricVerb()}
	if !r.info.Resource {
		m.Subresource = r.handler
		return m
	}
	if d := r.query["dryRun"]; len(d) > 0 && d[0] == "All" {
		m.DryRun = d[0]
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
