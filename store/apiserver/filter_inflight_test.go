package apiserver_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/stretchr/testify/require"
)

func TestTooManyRequests(t *testing.T) {
	block := make(chan struct{})
	entered := make(chan struct{}, 1)
	s := start(t, apiserver.Options{MaxInFlight: 1, NoPriorityAndFairness: true,
		Authenticator: authn.Func(func(*http.Request) (*authn.Response, bool, error) {
			return &authn.Response{User: &authn.User{Name: "x"}}, true, nil
		}),
		Authorizer: authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
			if a.Resource == "secrets" {
				entered <- struct{}{}
				<-block
			}
			return authz.Allow, "", nil
		})})
	s.do("GET", configMaps, nil).ok(200) // it has started
	go func() {
		resp := s.open("GET", "/api/v1/secrets", nil)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}()
	<-entered
	got := s.do("GET", configMaps, nil)
	require.Equal(t, "TooManyRequests", got.ok(429).str("reason"))
	require.Equal(t, "1", got.header.Get("Retry-After"))
	require.Equal(t, 200, s.do("GET", "/healthz", nil).code)
	close(block)
}
