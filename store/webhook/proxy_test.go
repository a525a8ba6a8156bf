package webhook_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/webhook"
)

// URLs are reached through the proxy, services directly.
func TestProxy(t *testing.T) {
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	defer hook.Close()
	var tunnels []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tunnels = append(tunnels, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	direct := errors.New("dialed directly")
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		if address != at.Host {
			return nil, direct
		}
		return net.Dial("tcp", address)
	}
	byURL := webhook.Target{URL: hook.URL, CABundle: bundle}
	byService := webhook.Target{Service: &webhook.Service{Namespace: "a", Name: "b"}, CABundle: bundle}
	call := func(o webhook.Options, target webhook.Target) error {
		c := webhook.New(o)
		defer c.Close()
		var response map[string]any
		return c.Call(t.Context(), target, time.Minute, struct{}{}, &response)
	}
	through := func(*http.Request) (*url.URL, error) { return at, nil }
	require.ErrorContains(t, call(webhook.Options{Proxy: through, Dial: dial}, byURL), "Bad Gateway")
	require.Equal(t, []string{"CONNECT " + hook.Listener.Addr().String()}, tunnels)
	require.ErrorIs(t, call(webhook.Options{Proxy: through, Dial: dial}, byService), direct)
	require.ErrorIs(t, call(webhook.Options{Dial: dial}, byURL), direct)
	require.NoError(t, call(webhook.Options{}, byURL))
	require.Len(t, tunnels, 1)
}
