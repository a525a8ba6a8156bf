package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// recoverPanic, which is deferred, turns a panic into a 500. A panic with http.ErrAbortHandler aborts the
// response.
func (s *Server) recoverPanic(r *request, rec *responseRecorder) {
	p := recover()
	if p == nil {
		return
	}
	r.audit.Panicked(r.Context(), p)
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		s.aborted(r)
		panic(p)
	}
	s.logger.Error("serving a request failed: panic", "method", r.Method, "path", r.info.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if rec.code != 0 {
		s.aborted(r)
		panic(http.ErrAbortHandler) // a partial response must not look complete
	}
	r.fail(apierrors.NewInternalError(errors.New("the server failed on this request")))
}

// aborted reports a request whose connection is closed.
func (s *Server) aborted(r *request) {
	if hook := s.opts.Metrics.Aborted; hook != nil {
		hook(r.measurement())
	}
}
