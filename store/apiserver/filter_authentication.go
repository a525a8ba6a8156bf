package apiserver

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/authn"
)

// unsecuredUser is the user of all requests to a server without an authenticator.
var unsecuredUser = &authn.User{Name: "system:unsecured", Groups: []string{authn.GroupMasters, authn.GroupAuthenticated}}

// authenticate identifies the caller, or fails the request with 401.
func (s *Server) authenticate(r *request, rec *responseRecorder) bool {
	user := unsecuredUser
	if s.byLoopback(r.Request) {
		user = loopbackUser
	} else if a := s.opts.Authenticator; a != nil {
		resp, err := s.identify(a, r.Request)
		if resp == nil {
			if err != nil {
				s.logger.Info("authentication failed", "path", r.info.Path, "err", err)
			}
			if refusal, ok := errors.AsType[*authn.Refusal](err); ok {
				r.notes = []authn.Note{refusal.Note}
			}
			if r.ProtoMajor == 2 {
				// A caller without credentials must open a new connection for each request, not only a
				// stream.
				r.w.Header().Set("Connection", "close")
			}
			s.auditUnauthenticated(r, rec)
			r.fail(apierrors.NewUnauthorized("Unauthorized"))
			return false
		}
		user, r.notes = resp.User, resp.Notes
		for _, text := range resp.Warnings {
			r.warn(text)
			rec.warnings = r.sendWarnings // also of what is no resource
		}
	}
	r.Request = r.WithContext(authn.WithUser(r.Context(), user))
	if s.opts.Authenticator != nil {
		// No handler or backend needs the credential, and none may take what a client has sent for what this
		// server, as a proxy, says about its user.
		for h := range r.Header {
			if h == "Authorization" || strings.HasPrefix(h, "X-Remote-") {
				delete(r.Header, h)
			}
		}
	}
	return true
}

// identify calls an authenticator. The response is nil if it does not recognize the caller.
func (s *Server) identify(a authn.Authenticator, hr *http.Request) (*authn.Response, error) {
	began := time.Now()
	resp, ok, err := a.Authenticate(hr)
	if err != nil || !ok || resp == nil || resp.User == nil {
		resp = nil
	}
	if hook := s.opts.Metrics.Authenticated; hook != nil {
		var user *authn.User
		if resp != nil {
			user = resp.User
		}
		hook(hr, user, err, time.Since(began))
	}
	return resp, err
}
