package apiserver

import (
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/audit"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/flowcontrol"
)

// request is one request being served. It is used by one goroutine; others use its connection through
// whileServed only.
type request struct {
	*http.Request
	server       *Server
	w            http.ResponseWriter
	info         requestInfo
	rt           *route            // nil until the resource has been found
	seat         *flowcontrol.Seat // nil until it runs, or if it does not count
	long         *Measurement      // set while Metrics.LongRunning counts the request
	handler      string            // path of the handler that serves a request that is not for a resource
	query        url.Values
	audit        *audit.Record // nil if the request is not recorded
	begun        time.Time
	webhookWait  admission.WebhookWait
	took         filterTimes
	notes        []authn.Note // about the credential
	warnings     []string
	body         []byte
	bodyRead     bool // or reading it failed
	bodyComplete atomic.Bool

	mu       sync.Mutex // held while another goroutine uses the ResponseWriter
	finished bool       // the handler has returned, or is about to; guarded by mu
}

// whileServed calls f, which may use the ResponseWriter, from a goroutine that is not the request's, unless
// the handler has returned: net/http takes the ResponseWriter back then, and that of HTTP/2 panics if it is
// used. f must not wait for the handler.
func (r *request) whileServed(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.finished {
		f()
	}
}

// finish waits for a call of whileServed that is running, and disables later ones. It is the last thing the
// handler does.
func (r *request) finish() {
	r.mu.Lock()
	r.finished = true
	r.mu.Unlock()
}

// key is the object's key: the namespace is empty for cluster-scoped kinds.
func (r *request) key(namespaced bool) types.NamespacedName {
	if !namespaced {
		return types.NamespacedName{Name: r.info.Name}
	}
	return types.NamespacedName{Namespace: r.info.Namespace, Name: r.info.Name}
}
