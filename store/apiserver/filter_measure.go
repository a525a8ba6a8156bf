package apiserver

import (
	"net/http"
	"time"
)

// tally is a ResponseWriter that remembers what was answered.
type tally struct {
	http.ResponseWriter
	code  int
	bytes int64
}

func (t *tally) WriteHeader(code int) {
	if t.code == 0 {
		t.code = code
	}
	t.ResponseWriter.WriteHeader(code)
}

func (t *tally) Write(b []byte) (int, error) {
	if t.code == 0 {
		t.code = http.StatusOK
	}
	n, err := t.ResponseWriter.Write(b)
	t.bytes += int64(n)
	return n, err
}

// Flush sends what was written so far, also through a writer around ours that only unwraps.
func (t *tally) Flush() { _ = http.NewResponseController(t.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController reach the connection.
func (t *tally) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (s *Server) finish(r *request, t *tally) {
	if hook := s.opts.Metrics.Request; hook != nil {
		m := r.measurement()
		m.Code, m.Elapsed, m.Outside, m.Bytes, m.BodyBytes = t.code, time.Since(r.begun), r.outside+r.seat.Waited(), t.bytes, int64(len(r.body))
		hook(m)
	}
}
