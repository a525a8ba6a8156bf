package direct

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/store/pipenet"
)

// exchange is one request and its response. It is the http.ResponseWriter of the handler.
type exchange struct {
	server   *Server
	cancel   context.CancelFunc // ends the handler's context
	uncancel func() bool        // stops following the client's context
	body     requestBody
	head     bool          // the method is HEAD
	answered chan struct{} // closed when response may return
	ended    chan struct{} // closed when the handler has returned
	aborted  chan struct{} // closed when client or server end the exchange before its time
	name     string        // with turns

	// Of the handler's goroutine.
	header http.Header // that the handler sets

	mu       sync.Mutex
	err      error // why the client gets no response, or not all of it
	replied  bool  // answered is closed
	code     int   // 0 until the handler sends the header
	sent     http.Header
	buffer   bytes.Buffer // of a response that is not streamed
	client   net.Conn     // the client's end of a stream or of an upgraded connection
	handler  net.Conn     // the handler's end
	hijacked bool
	deadline time.Time // of writes, set before there was a stream
	returned bool
	over     bool // aborted is closed
	// Of a stream with turns: what was read from client and not by the client, how much of it belongs to the
	// latest turn, when that was, how many there were, and where events end.
	rest   bytes.Buffer
	due    int
	turn   time.Time
	count  int
	frames frameForm
}

func newExchange(s *Server, r *http.Request, cancel context.CancelFunc) *exchange {
	x := &exchange{server: s, cancel: cancel, head: r.Method == http.MethodHead, answered: make(chan struct{}), ended: make(chan struct{}), aborted: make(chan struct{})}
	x.body.in = r.Body
	x.header = http.Header{}
	return x
}

// serve calls the handler and completes the response.
func (x *exchange) serve(h http.Handler, r *http.Request) {
	completed := false
	defer close(x.ended)
	defer func() { x.uncancel(); x.cancel() }()
	defer func() { x.complete(completed) }() // also when the handler ended the goroutine
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				panic(p)
			}
		}
	}()
	h.ServeHTTP(x, r)
	completed = true
}

// complete sends what is left of the response, if all of it was written.
func (x *exchange) complete(all bool) {
	x.body.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.returned = true
	if !all && x.err == nil {
		x.err = io.ErrUnexpectedEOF
	}
	switch {
	case x.hijacked:
		return // the connection lasts until the client or the handler closes it
	case x.handler == nil:
		x.writeHeader(http.StatusOK)
		x.reply()
	default:
		x.handler.Close() // the client reads the rest first
	}
	x.server.end(x)
}

// reply lets RoundTrip return. It is called with mu held.
func (x *exchange) reply() {
	if !x.replied {
		x.replied = true
		close(x.answered)
	}
}

// abort ends the exchange for the client with err, and the handler's context. It does not wait.
func (x *exchange) abort(err error) {
	x.mu.Lock()
	if x.err == nil {
		x.err = err
	}
	if !x.over {
		x.over = true
		close(x.aborted)
	}
	x.reply()
	client, hijacked := x.client, x.hijacked
	x.mu.Unlock()
	x.cancel()
	x.body.Close()
	if client != nil {
		client.Close()
	}
	if hijacked {
		x.server.end(x)
	}
}

// response returns what RoundTrip does, once the exchange is answered.
func (x *exchange) response(r *http.Request) (*http.Response, error) {
	x.mu.Lock()
	hijacked := x.hijacked
	x.mu.Unlock()
	if hijacked {
		return x.upgraded(r)
	}
	return x.plain(r)
}

// plain returns the response that the handler wrote as a ResponseWriter.
func (x *exchange) plain(r *http.Request) (*http.Response, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil && x.client == nil { // a stream that has begun ends with the error
		return nil, x.err
	}
	resp := &http.Response{
		Status: strconv.Itoa(x.code) + " " + http.StatusText(x.code), StatusCode: x.code, Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: x.sent, ContentLength: -1, Request: r, TLS: secure,
	}
	if n, err := strconv.ParseInt(x.sent.Get("Content-Length"), 10, 64); err == nil {
		resp.ContentLength = n
	}
	switch {
	case x.client != nil:
		x.frames, x.turn = framesOf(r, x.sent), time.Now()
		x.name += " " + strconv.FormatInt(x.turn.UnixMicro(), 10) // equal requests have turns of their own
		resp.Body = &streamed{x}
	case x.head || x.buffer.Len() == 0:
		if resp.ContentLength < 0 {
			resp.ContentLength = 0
		}
		resp.Body = http.NoBody
	default:
		resp.ContentLength = int64(x.buffer.Len())
		resp.Body = io.NopCloser(bytes.NewReader(x.buffer.Bytes()))
	}
	return resp, nil
}

// upgraded returns what the handler wrote to the connection it took over.
func (x *exchange) upgraded(r *http.Request) (*http.Response, error) {
	in := bufio.NewReader(x.client)
	resp, err := http.ReadResponse(in, r)
	if err != nil {
		err = x.reason(err)
		x.abort(err)
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = &switched{x, in}
		return resp, nil
	}
	resp.Body = &refused{resp.Body, x}
	return resp, nil
}

// unread is how many bytes of streams have been written and not read.
func (x *exchange) unread() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.client == nil {
		return 0
	}
	return pipenet.Unread(x.client) + x.rest.Len()
}

// Header implements http.ResponseWriter.
func (x *exchange) Header() http.Header { return x.header }

// WriteHeader implements http.ResponseWriter. Informational responses are not passed on.
func (x *exchange) WriteHeader(code int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if code >= 200 {
		x.writeHeader(code)
	}
}

// writeHeader fixes the header that the client gets. It is called with mu held.
func (x *exchange) writeHeader(code int) {
	if x.code == 0 {
		x.code = code
		x.sent = x.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(p []byte) (int, error) {
	x.mu.Lock()
	if x.returned || x.hijacked {
		x.mu.Unlock()
		return 0, http.ErrHijacked
	}
	if x.code == 0 {
		x.writeHeader(http.StatusOK)
	}
	if x.code == http.StatusNoContent || x.code == http.StatusNotModified {
		x.mu.Unlock()
		return 0, http.ErrBodyNotAllowed
	}
	if _, ok := x.sent["Content-Type"]; !ok && len(p) > 0 && !x.replied {
		x.sent.Set("Content-Type", http.DetectContentType(p))
	}
	switch {
	case x.head:
		x.mu.Unlock()
		return len(p), nil
	case x.err != nil:
		defer x.mu.Unlock()
		return 0, x.err
	case x.handler == nil && x.buffer.Len()+len(p) <= bufferSize:
		defer x.mu.Unlock()
		return x.buffer.Write(p)
	}
	x.stream()
	out := x.handler
	x.mu.Unlock()
	x.server.moved.Add(1)
	return out.Write(p)
}

// Flush implements http.Flusher.
func (x *exchange) Flush() { _ = x.FlushError() }

// FlushError is what http.ResponseController calls.
func (x *exchange) FlushError() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.returned || x.hijacked {
		return http.ErrHijacked
	}
	x.writeHeader(http.StatusOK)
	if !x.head {
		x.stream()
	}
	return x.err
}

// stream makes the body one that the client reads while the handler writes. It is called with mu held, after
// writeHeader.
func (x *exchange) stream() {
	if x.handler != nil {
		return
	}
	x.client, x.handler = pipenet.Pair()
	if !x.deadline.IsZero() {
		_ = x.handler.SetWriteDeadline(x.deadline)
	}
	if x.buffer.Len() > 0 {
		_, _ = x.handler.Write(x.buffer.Bytes()) // fits
	}
	if x.err != nil {
		x.client.Close()
	}
	x.reply()
}

// Hijack implements http.Hijacker for HTTP/1.1.
func (x *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.hijacked || x.handler != nil || x.code != 0 {
		return nil, nil, fmt.Errorf("direct: the response has begun: %w", http.ErrHijacked)
	}
	x.client, x.handler = pipenet.Pair()
	x.hijacked = true
	if x.err != nil {
		x.client.Close()
	}
	x.reply()
	return x.handler, bufio.NewReadWriter(bufio.NewReader(x.handler), bufio.NewWriter(x.handler)), nil
}

// SetWriteDeadline is what http.ResponseController calls.
func (x *exchange) SetWriteDeadline(t time.Time) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.deadline = t; x.handler != nil {
		return x.handler.SetWriteDeadline(t)
	}
	return nil
}

// SetReadDeadline is what http.ResponseController calls.
func (x *exchange) SetReadDeadline(t time.Time) error {
	x.body.setDeadline(t)
	return nil
}

// EnableFullDuplex is what http.ResponseController calls: reading and writing never exclude each other.
func (x *exchange) EnableFullDuplex() error { return nil }
