package apiserver

import (
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
		var err error
		if user, err = s.identify(a, r.Request); user == nil {
			if err != nil {
				s.logger.Info("authentication failed", "path", r.info.Path, "err", err)
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

// identify calls an authenticator. The user is nil if it does not recognize the caller.
func (s *Server) identify(a authn.Authenticator, hr *http.Request) (user *authn.User, err error) {
	if hook := s.opts.Metrics.Authenticated; hook != nil {
		defer func(began time.Time) { hook(hr, user, err, time.Since(began)) }(time.Now())
	}
	resp, ok, err := a.Authenticate(hr)
	if err != nil || !ok || resp == nil {
		return nil, err
	}
	return resp.User, nil
}
