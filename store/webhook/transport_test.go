package webhook_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/webhook"
)

// roundTripper is a function that sends requests.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Calls go through the transport of their context, and only those.
func TestTransportOfAContext(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"by":"` + r.Header.Get("By") + `"}`))
	}))
	defer server.Close()
	c := webhook.New(webhook.Options{})
	defer c.Close()
	target := webhook.Target{URL: server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	by := func(name string) context.Context {
		return webhook.WithTransport(t.Context(), func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				r.Header.Set("By", name)
				return next.RoundTrip(r)
			})
		})
	}
	for name, ctx := range map[string]context.Context{"a": by("a"), "": t.Context(), "b": by("b")} {
		var response struct {
			By string `json:"by"`
		}
		require.NoError(t, c.Call(ctx, target, 10*time.Second, struct{}{}, &response))
		require.Equal(t, name, response.By)
	}
}
