package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/internal/inprocess"
)

// Loopback returns the transport by which the server calls itself, without a connection, as the user
// system:apiserver: for what it passes on to webhooks that other API servers serve behind it. Requests take
// the same steps as those of clients, audit included. Their responses are held in memory, so it is not for
// watches and streams. Hosts of URLs are ignored. It is safe for concurrent use.
func (s *Server) Loopback() http.RoundTripper {
	v := s.opts.Version
	return &loopback{server: s, agent: fmt.Sprintf("kube-apiserver/%s (%s/%s) kubernetes/%.7s", v.GitVersion, runtime.GOOS, runtime.GOARCH, v.GitCommit)}
}

type loopback struct {
	server *Server
	agent  string
}

// RoundTrip implements http.RoundTripper.
func (l *loopback) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	// It ends with the context of the request for whose sake it is sent, and has none of its values: its
	// user, audit event and spans are another's.
	ctx, cancel := context.WithCancelCause(context.WithValue(context.WithValue(context.Background(), loopbackKey{}, l.server), http.ServerContextKey, ownServer))
	defer cancel(nil)
	defer context.AfterFunc(r.Context(), func() { cancel(context.Cause(r.Context())) })()
	own := r.Clone(ctx)
	own.Header.Set("User-Agent", l.agent)
	own.RequestURI, own.RemoteAddr = r.URL.RequestURI(), "[::1]:0"
	if own.Host == "" {
		own.Host = r.URL.Host
	}
	if r.Body != nil {
		defer r.Body.Close()
	}
	defer func() {
		if p := recover(); p != nil {
			if aborted, ok := p.(error); !ok || !errors.Is(aborted, http.ErrAbortHandler) {
				panic(p)
			}
			resp, err = nil, errors.New("the response was aborted")
		}
	}()
	resp = inprocess.RoundTrip(l.server, own)
	// The caller has waited long enough, whatever the response says: the server ends the request at the
	// timeout in its query, which is the caller's.
	if deadline, ok := r.Context().Deadline(); ok && !time.Now().Before(deadline) {
		return nil, context.DeadlineExceeded
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return resp, nil
}

type loopbackKey struct{}

// ownServer is in the context of handlers, because httputil.ReverseProxy aborts a response that it cannot
// complete only if there is one.
var ownServer = &http.Server{} //nolint:gosec // it does not serve

// loopbackUser is the user of requests by loopback.
var loopbackUser = &authn.User{Name: authn.APIServerUser, Groups: []string{authn.GroupAuthenticated, authn.GroupMasters}}

// byLoopback reports whether a request is one of this server to itself.
func (s *Server) byLoopback(r *http.Request) bool {
	from, _ := r.Context().Value(loopbackKey{}).(*Server)
	return from == s
}
