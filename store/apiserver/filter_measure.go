package apiserver

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// responseRecorder is a ResponseWriter that records the status and size of the response.
type responseRecorder struct {
	http.ResponseWriter
	code  int
	bytes int64
	begun func(code int) // called when the response begins, if it is set
	// warnings, if it is set, adds the warnings that are not in the header yet.
	warnings func()
}

// begin is called with the status of a response that begins, and again while it continues.
func (rec *responseRecorder) begin(code int) {
	if rec.code != 0 {
		return
	}
	rec.code = code
	if rec.warnings != nil {
		rec.warnings()
	}
	if rec.begun != nil {
		rec.begun(code)
	}
}

func (rec *responseRecorder) WriteHeader(code int) {
	rec.begin(code)
	rec.ResponseWriter.WriteHeader(code)
}

func (rec *responseRecorder) Write(b []byte) (int, error) {
	rec.begin(http.StatusOK)
	n, err := rec.ResponseWriter.Write(b)
	rec.bytes += int64(n)
	return n, err
}

// Flush sends what was written so far, also through a writer around ours that only unwraps.
func (rec *responseRecorder) Flush() { _ = http.NewResponseController(rec.ResponseWriter).Flush() }

// Hijack takes over the connection, whose protocol is switched.
func (rec *responseRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	rec.begin(http.StatusSwitchingProtocols)
	return http.NewResponseController(rec.ResponseWriter).Hijack()
}

// Unwrap lets http.ResponseController reach the connection.
func (rec *responseRecorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// measure reports the request to the metrics.
func (s *Server) measure(r *request, rec *responseRecorder) {
	if hook := s.opts.Metrics.Request; hook != nil {
		m := r.measurement()
		m.Code, m.Elapsed, m.Waited, m.Bytes, m.BodyBytes = rec.code, time.Since(r.begun), r.webhookWait.Mutating+r.webhookWait.Validating+r.seat.Waited(), rec.bytes, int64(len(r.body))
		hook(m)
	}
}
