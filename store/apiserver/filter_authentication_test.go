package apiserver_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/stretchr/testify/require"
)

func TestAuthenticationAndAuthorization(t *testing.T) {
	s := start(t, apiserver.Options{
		Authenticator: authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
			name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			switch name {
			case "":
				return nil, false, nil
			case "bad":
				return nil, false, errors.New("no such token")
			}
			return &authn.Response{User: &authn.User{Name: name, Groups: []string{authn.GroupAuthenticated}}}, true, nil
		}),
		Authorizer: authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
			switch {
			case a.User.Name == "root", a.User.Name == "ann" && a.Verb == "list" && a.Resource == "configmaps" && a.Namespace == "default":
				return authz.Allow, "", nil
			case a.User.Name == "bob" && a.Verb == "impersonate" && a.Name == "ann":
				return authz.Allow, "", nil
			}
			return authz.NoOpinion, "", nil
		}),
	})
	require.Equal(t, "Unauthorized", s.do("GET", configMaps, nil).ok(401).str("reason"))
	require.Equal(t, "Unauthorized", s.do("GET", configMaps, nil, "Authorization", "Bearer bad").ok(401).str("reason"))
	s.do("GET", configMaps, nil, "Authorization", "Bearer ann").ok(200)
	no := s.do("POST", configMaps, configMap("a"), "Authorization", "Bearer ann").ok(403)
	require.Equal(t, "Forbidden", no.str("reason"))
	require.Contains(t, no.str("message"), `User "ann" cannot create resource "configmaps" in API group "" in the namespace "default"`)
	s.do("GET", configMaps, nil, "Authorization", "Bearer bob").ok(403)
	s.do("GET", configMaps, nil, "Authorization", "Bearer bob", "Impersonate-User", "ann").ok(200)
	no = s.do("GET", configMaps, nil, "Authorization", "Bearer bob", "Impersonate-User", "root").ok(403)
	require.Contains(t, no.str("message"), "cannot impersonate")
	s.do("GET", configMaps, nil, "Authorization", "Bearer bob", "Impersonate-Group", "x").ok(400)
}

func TestAuthorizerError(t *testing.T) {
	s := start(t, apiserver.Options{
		Authenticator: authn.Func(func(*http.Request) (*authn.Response, bool, error) {
			return &authn.Response{User: &authn.User{Name: "x"}}, true, nil
		}),
		Authorizer: authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
			switch a.Verb {
			case "get":
				return authz.NoOpinion, "", errors.New("no response")
			case "list":
				return authz.Allow, "", errors.New("one rule of many")
			}
			return authz.NoOpinion, "not you", nil
		})})
	s.do("GET", configMaps, nil).ok(200)
	got := s.do("GET", configMaps+"/a", nil)
	require.Equal(t, "InternalError", got.ok(500).str("reason"))
	require.Contains(t, got.ok(500).str("message"), "authorization: no response")
	require.Contains(t, s.do("DELETE", configMaps+"/a", nil).ok(403).str("message"), "not you")
}
