// Package direct calls an http.Handler through an http.RoundTripper, in one process and without a connection:
// no TLS, no HTTP/2, no pings. What a client notices is as over HTTP/2, with three exceptions: the user is
// handed over in memory (see [Authenticator]), a request is not limited in the size of its headers, and a
// panic of the handler other than http.ErrAbortHandler ends the process.
//
//   - The handler runs on a goroutine of its own with a context of its own: it ends when the client's context
//     ends, when the client closes the body of the response, and when the handler returns, and has none of
//     the values of the client's.
//   - RoundTrip returns when the handler has returned, has flushed, or has written more than [bufferSize]
//     bytes. From then on the handler waits whenever the client is that far behind.
//   - A handler may take over the connection with http.Hijacker, as for exec and port-forward, and honors
//     read and write deadlines set with http.ResponseController.
//
// It works in testing/synctest bubbles. Everything here is safe for concurrent use.
package direct

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/store/authn"
)

// bufferSize is how many bytes of a response are kept before its client reads any.
const bufferSize = 64 << 10

// Server is a handler and the requests it is serving.
type Server struct {
	handler http.Handler
	base    func() context.Context // of a handler
	turns   *turns                 // nil: requests are served as they come
	moved   atomic.Int64

	mu     sync.Mutex
	open   map[*exchange]bool
	closed bool
}

// New returns a server for h. base returns the context from which that of a request is made.
func New(base func() context.Context, h http.Handler) *Server {
	return &Server{handler: h, base: base, open: map[*exchange]bool{}}
}

// Serialize serves requests one at a time, in an order that depends on the seed and on the requests only. It
// works in bubbles only. Call it before the first request.
func (s *Server) Serialize(seed uint64) { s.turns = &turns{seed: seed} }

// Busy reports whether requests wait for their turn.
func (s *Server) Busy() bool { return s.turns != nil && s.turns.busy() }

// Moved is a counter that changes whenever a request begins or ends and whenever bytes of a stream are
// written.
func (s *Server) Moved() int64 { return s.moved.Load() }

// Unread counts the streams with bytes that their receiver has not read.
func (s *Server) Unread() (streams, bytes int) {
	for _, x := range s.all() {
		if b := x.unread(); b > 0 {
			streams, bytes = streams+1, bytes+b
		}
	}
	return streams, bytes
}

// all returns the open exchanges. They are locked by themselves, and lock the server.
func (s *Server) all() []*exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.open))
}

// Close ends all requests, refuses later ones, and waits for the handlers.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if s.turns != nil {
		s.turns.end() // what waits is refused in its turn
	}
	open := s.all()
	for _, x := range open {
		x.abort(net.ErrClosed)
	}
	for _, x := range open {
		<-x.ended
	}
	return nil
}

// Transport returns a RoundTripper whose requests are made by a user. It must not be changed afterwards.
func (s *Server) Transport(u *authn.User) http.RoundTripper {
	return &transport{server: s, user: u}
}

// server is in the context of all handlers, because httputil.ReverseProxy aborts a response that it cannot
// complete only if there is one.
var server = new(http.Server)

type (
	userKey   struct{}
	callerKey struct{}
)

// Authenticator accepts the users of transports. Requests from a network have none: their contexts are made
// by net/http.
func Authenticator() authn.Authenticator {
	return authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
		u, ok := r.Context().Value(userKey{}).(*authn.User)
		if !ok {
			return nil, false, nil
		}
		return &authn.Response{User: u}, true, nil
	})
}

// Caller returns the client's context of a request that came by a transport, given the handler's; nil for any
// other.
func Caller(ctx context.Context) context.Context {
	c, _ := ctx.Value(callerKey{}).(context.Context)
	return c
}

type transport struct {
	server *Server
	user   *authn.User
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := check(r); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	caller := r.Context()
	if turns := t.server.turns; turns != nil {
		var err error
		body := r.Body
		if r, err = turns.wait(r, t.user); err != nil {
			if body != nil {
				body.Close()
			}
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.WithValue(t.server.base(), http.ServerContextKey, server))
	x := newExchange(t.server, r, cancel)
	if t.server.turns != nil {
		x.name = nameOf(r, t.user)
	}
	if !t.server.begin(x) {
		cancel()
		x.body.Close()
		return nil, &net.OpError{Op: "dial", Net: "direct", Err: net.ErrClosed}
	}
	x.uncancel = func() bool { return true }
	if caller.Done() != nil {
		x.uncancel = context.AfterFunc(caller, func() { x.abort(context.Cause(caller)) })
	}
	hr := received(r, x, context.WithValue(context.WithValue(ctx, userKey{}, t.user), callerKey{}, caller))
	go x.serve(t.server.handler, hr)
	<-x.answered
	return x.response(r)
}

func (s *Server) begin(x *exchange) bool {
	s.moved.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.open[x] = true
	return true
}

func (s *Server) end(x *exchange) {
	s.moved.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, x)
}

// secure is the TLS state of all requests: they are as safe as over TLS.
var secure = &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true}

// received returns r as a server receives it.
func received(r *http.Request, x *exchange, ctx context.Context) *http.Request {
	hr := &http.Request{
		Method: r.Method, Proto: "HTTP/2.0", ProtoMajor: 2, Header: r.Header.Clone(), Body: &x.body, ContentLength: r.ContentLength,
		URL:  &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery},
		Host: r.Host, RemoteAddr: "direct", TLS: secure,
	}
	if hr.Method == "" {
		hr.Method = http.MethodGet
	}
	if hr.Host == "" {
		hr.Host = r.URL.Host
	}
	hr.RequestURI = hr.URL.RequestURI()
	if hr.Header == nil {
		hr.Header = http.Header{}
	}
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		hr.Body, hr.ContentLength = http.NoBody, 0
	case r.ContentLength == 0: // of unknown length
		hr.ContentLength = -1
	}
	if hr.Header.Get("Upgrade") != "" {
		hr.Proto, hr.ProtoMajor, hr.ProtoMinor = "HTTP/1.1", 1, 1
	}
	return hr.WithContext(ctx)
}

// check refuses what net/http's client refuses.
func check(r *http.Request) error {
	if r.URL == nil || r.URL.Host == "" {
		return errors.New("direct: the request has no host in its URL")
	}
	for k, vs := range r.Header {
		if k == "" || strings.ContainsFunc(k, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == ':' }) {
			return fmt.Errorf("direct: invalid header field name %q", k)
		}
		if slices.ContainsFunc(vs, func(v string) bool {
			return strings.ContainsFunc(v, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
		}) {
			return fmt.Errorf("direct: invalid header field value for %q", k)
		}
	}
	return nil
}
