package controllertest

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/store/authz"
)

// Call is a request to the API server.
type Call struct {
	// Attributes are the caller, the verb, the resource and the object.
	authz.Attributes
	// At is when the server got it.
	At time.Time
	// Code is the HTTP code of the response; 0 while there is none, and if the connection broke before.
	Code int
}

// Record records the requests that match and begin from now on, in the order in which the server gets them.
func (c *Cluster) Record(q Requests) *Recording {
	if q.ofWebhook() {
		panic("controllertest: Requests.Webhook is for Inject and Hold only")
	}
	r := &Recording{of: q, gate: &c.gate}
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.gate.recordings = append(c.gate.recordings, r)
	return r
}

// Recording holds requests. It is safe for concurrent use.
type Recording struct {
	of   Requests
	gate *gate

	mu    sync.Mutex
	calls []*Call
}

// Calls returns what was recorded until now.
func (r *Recording) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := make([]Call, len(r.calls))
	for i, c := range r.calls {
		calls[i] = *c
	}
	return calls
}

// Stop ends the recording for requests that begin later.
func (r *Recording) Stop() {
	r.gate.mu.Lock()
	defer r.gate.mu.Unlock()
	r.gate.recordings = slices.DeleteFunc(slices.Clone(r.gate.recordings), func(other *Recording) bool { return other == r })
}

// begin records a request and returns the writer that notes the code of its response.
func (r *Recording) begin(w http.ResponseWriter, a *authz.Attributes) http.ResponseWriter {
	c := &Call{Attributes: *a, At: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	return &recordedReply{ResponseWriter: w, recording: r, call: c}
}

// recordedReply notes the code of a response.
type recordedReply struct {
	http.ResponseWriter
	recording *Recording
	call      *Call
}

// WriteHeader implements http.ResponseWriter.
func (w *recordedReply) WriteHeader(code int) {
	w.note(code)
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *recordedReply) Write(p []byte) (int, error) {
	w.note(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *recordedReply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recordedReply) note(code int) {
	w.recording.mu.Lock()
	defer w.recording.mu.Unlock()
	if w.call.Code == 0 && code >= 200 {
		w.call.Code = code
	}
}
