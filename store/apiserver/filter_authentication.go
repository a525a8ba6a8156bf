package apiserver

import (
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/authn"
)

// everyone is the user of all requests to a server without an authenticator.
var everyone = &authn.User{Name: "system:unsecured", Groups: []string{authn.GroupMasters, authn.GroupAuthenticated}}

// authenticate identifies the caller, or fails the request with 401.
func (s *Server) authenticate(r *request) bool {
	user := everyone
	if a := s.opts.Authenticator; a != nil {
		var err error
		if user, err = s.identify(a, r.Request); user == nil {
			if err != nil {
				s.logger.Info("authentication failed", "path", r.info.Path, "err", err)
			}
			if r.ProtoMajor == 2 {
				// So that a caller without credentials pays for a connection each time, not for a stream.
				r.w.Header().Set("Connection", "close")
			}
			r.fail(apierrors.NewUnauthorized("Unauthorized"))
			return false
		}
	}
	r.Request = r.WithContext(authn.WithUser(r.Context(), user))
	if s.opts.Authenticator != nil {
		r.Header.Del("Authorization") // no handler or backend needs the credential
	}
	return true
}

// identify calls an authenticator. The user is nil if it does not recognize the caller.
func (s *Server) identify(a authn.Authenticator, hr *http.Request) (user *authn.User, err error) {
	if hook := s.opts.Metrics.Authenticated; hook != nil {
		defer func(asked time.Time) { hook(hr, user, err, time.Since(asked)) }(time.Now())
	}
	resp, ok, err := a.Authenticate(hr)
	if err != nil || !ok || resp == nil {
		return nil, err
	}
	return resp.User, nil
}
