package main

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/certs"
)

// tunnel is a proxy that connects every client to one address, and counts them.
type tunnel struct {
	*httptest.Server
	to    string
	count atomic.Int64
	open  sync.WaitGroup
}

func newTunnel(t *testing.T, to string) *tunnel {
	p := &tunnel{to: to}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() { p.Close(); p.open.Wait() })
	return p
}

func (p *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.open.Add(1)
	defer p.open.Done()
	backend, err := net.Dial("tcp", p.to)
	if err != nil || r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer backend.Close()
	p.count.Add(1)
	client, rest, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(client, backend); _ = client.Close() }()
	_, _ = io.Copy(backend, rest)
}

// hookThroughProxy starts a server whose environment names a proxy, and lets a webhook at a name that only
// the proxy knows refuse an object.
func hookThroughProxy(t *testing.T, start func(*testing.T, ...string) *live) {
	ca, err := certs.NewAuthority("hook")
	require.NoError(t, err)
	pair, err := ca.Serving("hook.test", "hook.test")
	require.NoError(t, err)
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct{ Request struct{ UID string } }
		_ = json.NewDecoder(r.Body).Decode(&review)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":false,"status":{"message":"through the proxy"}}}`, review.Request.UID)
	}))
	hook.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	hook.StartTLS()
	t.Cleanup(hook.Close)
	proxy := newTunnel(t, hook.Listener.Addr().String())
	t.Setenv("HTTPS_PROXY", proxy.URL)
	l := start(t)
	l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
	l.must(http.StatusCreated, "POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", fmt.Sprintf(`{"metadata":{"name":"far"},"webhooks":[{
		"name":"far.example.com","admissionReviewVersions":["v1"],"sideEffects":"None","clientConfig":{"url":"https://hook.test/","caBundle":%q},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}]}`, base64.StdEncoding.EncodeToString(ca.CertPEM())))
	var v verdict
	l.until("the webhook is called", func() bool {
		v = l.verdict("POST", configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`)
		return v.Code != http.StatusCreated
	})
	require.Equal(t, verdict{http.StatusBadRequest, "", `admission webhook "far.example.com" denied the request: through the proxy`}, v)
	require.Positive(t, proxy.count.Load())
}

// Webhooks at URLs are called through the proxy of the environment.
func TestWebhookThroughAProxy(t *testing.T) { hookThroughProxy(t, startLive) }

// TestWebhookThroughAProxyBeside shows that kube-apiserver does the same.
func TestWebhookThroughAProxyBeside(t *testing.T) { hookThroughProxy(t, startUpstream) }
