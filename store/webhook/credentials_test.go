package webhook_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/webhook"
)

// A refused credential is asked for again once; other refusals, and refusals without credentials, are final.
func TestCredentials(t *testing.T) {
	var seen []string
	accepted, code := "good", http.StatusUnauthorized
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("Authorization") + r.Header.Get("Content-Type")
		if seen = append(seen, got); got != accepted+"application/json" {
			http.Error(w, "no", code)
			return
		}
		_, _ = w.Write([]byte("{}"))
	}))
	defer s.Close()
	target := webhook.Target{URL: s.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}
	given := []string{}
	call := func(o webhook.Options) error {
		seen, given = nil, nil
		c := webhook.New(o)
		defer func() { _ = c.Close() }()
		var response map[string]any
		return c.Call(t.Context(), target, time.Minute, map[string]string{}, &response)
	}
	tokens := webhook.Options{Credentials: func(_ context.Context, host string, rejected *webhook.Credential) (*webhook.Credential, error) {
		require.Equal(t, s.URL, "https://"+host)
		token := "old"
		if rejected != nil {
			token = "good"
			require.Equal(t, "old", rejected.Header.Get("Authorization"))
		}
		given = append(given, token)
		return &webhook.Credential{Header: http.Header{"Authorization": {token}, "Content-Type": {"text/plain"}}}, nil
	}}
	require.NoError(t, call(tokens))
	require.Equal(t, []string{"old", "good"}, given)
	accepted = "other"
	require.True(t, apierrors.IsUnauthorized(call(tokens)))
	require.Len(t, seen, 2)
	code = http.StatusForbidden
	require.Error(t, call(tokens))
	require.Equal(t, []string{"oldapplication/json"}, seen)
	code = http.StatusUnauthorized
	require.True(t, apierrors.IsUnauthorized(call(webhook.Options{})))
	require.Equal(t, []string{"application/json"}, seen)
	broken := errors.New("broken")
	require.ErrorIs(t, call(webhook.Options{Credentials: func(context.Context, string, *webhook.Credential) (*webhook.Credential, error) { return nil, broken }}), broken)
	require.Empty(t, seen)
}
