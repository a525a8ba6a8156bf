// Package inprocess sends requests to handlers of the same process, without a connection. Its tests are those
// of package aggregation.
package inprocess

import (
	"bytes"
	"io"
	"net/http"
)

// RoundTrip calls h with a request on the caller's goroutine, and returns its response, which is held in
// memory: h must not serve a watch, or another response without an end. The request is changed as a server
// would see it. A panic of h is the caller's.
func RoundTrip(h http.Handler, r *http.Request) *http.Response {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := &held{header: http.Header{}}
	h.ServeHTTP(w, r)
	return w.response(r)
}

// held is a response in memory.
type held struct {
	code   int
	header http.Header
	sent   http.Header // as it was when the first byte was written
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *held) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *held) WriteHeader(code int) {
	if w.sent == nil {
		w.code, w.sent = code, w.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (w *held) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *held) response(r *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{StatusCode: w.code, Status: http.StatusText(w.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r}
}
