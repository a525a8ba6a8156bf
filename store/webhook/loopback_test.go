package webhook_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/webhook"
)

// Calls of the API server itself, and no others, are sent by Loopback, without a credential.
func TestLoopback(t *testing.T) {
	unreachable := errors.New("unreachable")
	var sent *http.Request
	c := webhook.New(webhook.Options{
		Loopback: roundTripper(func(r *http.Request) (*http.Response, error) {
			sent = r
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
		}),
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, unreachable },
		Credentials: func(context.Context, string, *webhook.Credential) (*webhook.Credential, error) {
			return &webhook.Credential{Header: http.Header{"Authorization": {"Bearer secret"}}}, nil
		},
	})
	defer c.Close()
	service := func(namespace, name string, port int32) webhook.Target {
		return webhook.Target{Service: &webhook.Service{Namespace: namespace, Name: name, Port: port, Path: "/hook"}}
	}
	for _, v := range []struct {
		target webhook.Target
		own    bool
	}{
		{service("default", "kubernetes", 0), true},
		{service("default", "kubernetes", 443), true},
		{service("default", "kubernetes", 6443), false},
		{service("other", "kubernetes", 443), false},
		{service("default", "kubernetes2", 443), false},
		{webhook.Target{URL: "https://kubernetes.default.svc/hook", CABundle: []byte("not read")}, true},
		{webhook.Target{URL: "https://kubernetes.default.svc:443/hook"}, true},
		{webhook.Target{URL: "https://kubernetes.default.svc:6443/hook"}, false},
		{webhook.Target{URL: "https://kubernetes.default.svc.cluster.local/hook"}, false},
		{webhook.Target{URL: "https://x.kubernetes.default.svc/hook"}, false},
	} {
		sent = nil
		var response map[string]any
		err := c.Call(t.Context(), v.target, time.Minute, struct{}{}, &response)
		if !v.own {
			require.ErrorIs(t, err, unreachable, "%+v", v.target)
			require.Nil(t, sent)
			continue
		}
		require.NoError(t, err, "%+v", v.target)
		require.Equal(t, "/hook?timeout=1m0s", sent.URL.RequestURI())
		require.Empty(t, sent.Header.Get("Authorization"))
	}
}

// Without Loopback the API server is as any other.
func TestWithoutLoopback(t *testing.T) {
	unreachable := errors.New("unreachable")
	c := webhook.New(webhook.Options{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, unreachable }})
	defer c.Close()
	var response map[string]any
	require.ErrorIs(t, c.Call(t.Context(), webhook.Target{URL: "https://kubernetes.default.svc/"}, time.Minute, struct{}{}, &response), unreachable)
}

// HTTP/2 is used with servers on this machine only: one connection would reach one of several endpoints.
func TestProtocol(t *testing.T) {
	var protocol string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol = r.Proto
		_, _ = w.Write([]byte("{}"))
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	at := s.Listener.Addr().String()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	c := webhook.New(webhook.Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, at)
	}})
	defer c.Close()
	for _, v := range []struct {
		target webhook.Target
		want   string
	}{
		{webhook.Target{URL: "https://127.0.0.1:9443"}, "HTTP/2.0"},
		{webhook.Target{URL: "https://[::1]:9443"}, "HTTP/2.0"},
		{webhook.Target{URL: "https://example.com:9443"}, "HTTP/1.1"}, // after them: with the same authority
		{webhook.Target{URL: "https://127.0.0.1:9444"}, "HTTP/2.0"},
	} {
		v.target.CABundle = bundle
		var response map[string]any
		require.NoError(t, c.Call(t.Context(), v.target, time.Minute, struct{}{}, &response), v.target.URL)
		require.Equal(t, v.want, protocol, v.target.URL)
	}
}

// offered returns the protocols that a client offers in its handshake, which fails.
func offered(conn net.Conn) (protocols []string) {
	_ = tls.Server(conn, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		protocols = h.SupportedProtos
		return nil, errors.New("no more is needed")
	}}).Handshake()
	return protocols
}

// Services get HTTP/1.1 too.
func TestProtocolOfServices(t *testing.T) {
	protocols := make(chan []string, 1)
	c := webhook.New(webhook.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			protocols <- offered(server)
		}()
		return client, nil
	}})
	defer c.Close()
	var response map[string]any
	require.Error(t, c.Call(t.Context(), webhook.Target{Service: &webhook.Service{Namespace: "a", Name: "hook"}}, time.Minute, struct{}{}, &response))
	require.Equal(t, []string{"http/1.1"}, <-protocols)
}
