package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// guard turns a panic into a 500. A handler that panicked with http.ErrAbortHandler is aborted as it wants.
func (s *Server) guard(r *request, t *tally) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.logger.Error("serving a request failed: panic", "method", r.Method, "path", r.info.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if t.code != 0 {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	r.fail(apierrors.NewInternalError(errors.New("the server failed on this request")))
}
