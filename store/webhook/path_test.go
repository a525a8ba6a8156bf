package webhook_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/webhook"
)

// Paths of webhooks are called in their cleaned form: an http.ServeMux would redirect the others.
func TestPathsAreSimple(t *testing.T) {
	var path string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		_, _ = w.Write([]byte("{}"))
	}))
	defer s.Close()
	c := webhook.New(webhook.Options{})
	defer func() { _ = c.Close() }()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	for given, want := range map[string]string{"": "/", "/": "/", "/mutate": "/mutate", "//mutate-v1": "/mutate-v1", "/a//b/": "/a/b", "/a/../b": "/b", "/a%20b": "/a%20b"} {
		var response map[string]any
		require.NoError(t, c.Call(t.Context(), webhook.Target{URL: s.URL + given, CABundle: bundle}, time.Minute, map[string]string{}, &response), given)
		require.Equal(t, want, path, given)
	}
}
