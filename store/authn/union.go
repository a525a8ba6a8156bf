package authn

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// Union tries authenticators in order and returns the result of the first that identifies the user. If none
// does and some rejected a credential, their errors are returned together.
func Union(authenticators ...Authenticator) Authenticator {
	return Func(func(r *http.Request) (*Response, bool, error) {
		var errs []error
		for _, a := range authenticators {
			resp, ok, err := a.Authenticate(r)
			if ok {
				return resp, true, nil
			}
			if err != nil {
				errs = append(errs, err)
			}
		}
		return nil, false, errors.Join(errs...)
	})
}

// Authenticated wraps a so that the users it identifies are in system:authenticated, except the anonymous
// user and those whose credential puts them in system:unauthenticated.
func Authenticated(a Authenticator) Authenticator {
	return Func(func(r *http.Request) (*Response, bool, error) {
		resp, ok, err := a.Authenticate(r)
		if !ok {
			return resp, ok, err
		}
		out := *resp
		out.User = WithAuthenticated(resp.User)
		return &out, true, nil
	})
}

// WithAuthenticated returns u in the group system:authenticated; u itself if it is in it already, is the
// anonymous user or is in system:unauthenticated.
func WithAuthenticated(u *User) *User {
	if u.Name == Anonymous || slices.Contains(u.Groups, GroupAuthenticated) || slices.Contains(u.Groups, GroupUnauthenticated) {
		return u
	}
	out := *u
	out.Groups = append(slices.Clip(out.Groups), GroupAuthenticated)
	return &out
}

// AllowAnonymous identifies every request as system:anonymous, or, if paths are given, the requests for these
// very paths. Put it last.
func AllowAnonymous(paths ...string) Authenticator {
	return Func(func(r *http.Request) (*Response, bool, error) {
		if len(paths) > 0 && !slices.Contains(paths, r.URL.Path) {
			return nil, false, nil
		}
		return &Response{User: &User{Name: Anonymous, Groups: []string{GroupUnauthenticated}}}, true, nil
	})
}

// Bearer authenticates the token of an Authorization header, or of a WebSocket subprotocol, with t.
func Bearer(t TokenAuthenticator) Authenticator {
	return Func(func(r *http.Request) (*Response, bool, error) {
		token, ok, err := bearerToken(r)
		if !ok {
			return nil, false, err
		}
		resp, ok, err := t.AuthenticateToken(r.Context(), token)
		if !ok && err == nil {
			err = ErrInvalidToken
		}
		return resp, ok, err
	})
}

// ErrInvalidToken is the error for a bearer token that no authenticator recognizes.
var ErrInvalidToken = errors.New("authn: invalid bearer token")

func bearerToken(r *http.Request) (token string, ok bool, err error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	token = strings.TrimSpace(token)
	if strings.EqualFold(scheme, "bearer") && token != "" {
		return token, true, nil
	}
	return webSocketToken(r)
}

// UnionTokens tries token authenticators in order, as Union does.
func UnionTokens(ts ...TokenAuthenticator) TokenAuthenticator {
	return TokenFunc(func(ctx context.Context, token string) (*Response, bool, error) {
		var errs []error
		for _, t := range ts {
			resp, ok, err := t.AuthenticateToken(ctx, token)
			if ok {
				return resp, true, nil
			}
			if err != nil {
				errs = append(errs, err)
			}
		}
		return nil, false, errors.Join(errs...)
	})
}

// TokenFunc adapts a function to TokenAuthenticator.
type TokenFunc func(ctx context.Context, token string) (*Response, bool, error)

// AuthenticateToken calls f.
func (f TokenFunc) AuthenticateToken(ctx context.Context, token string) (*Response, bool, error) {
	return f(ctx, token)
}
