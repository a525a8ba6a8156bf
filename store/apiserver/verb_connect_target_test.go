package apiserver_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authz"
)

// dialed responds to forwarded requests, and keeps the last one.
type dialed struct {
	mu   sync.Mutex
	last *http.Request
	err  error
}

func (d *dialed) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = r
	if d.err != nil {
		return nil, d.err
	}
	w := httptest.NewRecorder()
	fmt.Fprint(w, r.Method, " ", r.URL.Host)
	return w.Result(), nil
}

const endpointSlices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

// A user who may write a status must not be able to direct the server to addresses that only the server can
// reach.
func TestProxyTargets(t *testing.T) {
	backends := &dialed{}
	s := start(t, apiserver.Options{Nodes: backends, Backends: backends, AdvertiseAddress: "10.9.9.9", AdvertisePort: 6443})
	s.do("POST", pods, pod("p")).ok(201)
	status := func(ip string) {
		s.do("PATCH", pods+"/p/status", object{"status": map[string]any{"podIP": ip, "podIPs": []any{map[string]any{"ip": ip}}}}, "Content-Type", "application/merge-patch+json").ok(200)
	}
	node := func(address string, port int) {
		s.do("DELETE", "/api/v1/nodes/n", nil)
		s.do("POST", "/api/v1/nodes", fmt.Sprintf(`{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}}`, address, port)).ok(201)
	}
	s.do("POST", pods, `{"metadata":{"name":"placed"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}}`).ok(201)
	for ip, allowed := range map[string]bool{"10.1.2.3": true, "fd00::1": true, "169.254.169.254": false, "127.0.0.1": false, "::1": false, "0.0.0.0": false,
		"fe80::1": false, "224.0.0.1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false} {
		check := func(what string, got *answer) {
			if allowed {
				require.Equal(t, 200, got.code, "%s at %s: %s", what, ip, got.body)
				return
			}
			require.Equal(t, 400, got.code, "%s at %s: %s", what, ip, got.body)
			require.Contains(t, string(got.body), "address not allowed", "%s at %s", what, ip)
		}
		if !strings.HasPrefix(ip, "::ffff:") { // which a status may not hold
			status(ip)
			check("pod", s.do("GET", pods+"/p:80/proxy/latest/meta-data/", nil))
		}
		node(ip, 10250)
		check("node", s.do("GET", "/api/v1/nodes/n/proxy/metrics", nil))
		check("log", s.do("GET", pods+"/placed/log", nil))
		check("exec", s.do("POST", pods+"/placed/exec?command=ls&stdout=1", nil, upgrade...))
	}
	node("10.9.9.9", 6443)
	require.Equal(t, 400, s.do("GET", "/api/v1/nodes/n/proxy/api/v1/secrets", nil).code, "the server itself")
	node("10.9.9.9", 10250)
	require.Equal(t, 200, s.do("GET", "/api/v1/nodes/n/proxy/metrics", nil).code, "the kubelet beside it")

	// A service's endpoints must be pods of its namespace that have the address.
	s.do("POST", services, `{"metadata":{"name":"web"},"spec":{"ports":[{"name":"http","port":80}]}}`).ok(201)
	slice := func(address, ref string) {
		s.do("DELETE", endpointSlices+"/web", nil)
		s.do("POST", endpointSlices, fmt.Sprintf(`{"metadata":{"name":"web","labels":{"kubernetes.io/service-name":"web"}},"addressType":"IPv4","ports":[{"name":"http","port":8080}],
			"endpoints":[{"addresses":[%q]%s}]}`, address, ref)).ok(201)
	}
	status("10.1.2.3")
	for _, c := range []struct {
		address, ref string
		code         int
	}{
		{"10.1.2.3", `,"targetRef":{"kind":"Pod","namespace":"default","name":"p"}`, 200},
		{"10.1.2.3", ``, 503},
		{"10.1.2.4", `,"targetRef":{"kind":"Pod","namespace":"default","name":"p"}`, 503},
		{"10.1.2.3", `,"targetRef":{"kind":"Pod","namespace":"kube-system","name":"p"}`, 503},
		{"10.1.2.3", `,"targetRef":{"kind":"Pod","namespace":"default","name":"absent"}`, 503},
		{"10.1.2.3", `,"targetRef":{"kind":"Node","name":"p"}`, 503},
	} {
		slice(c.address, c.ref)
		got := s.do("GET", "/api/v1/namespaces/default/services/web:http/proxy/", nil)
		require.Equal(t, c.code, got.code, "%s %s: %s", c.address, c.ref, got.body)
	}
	slice("10.1.2.3", `,"targetRef":{"kind":"Pod","namespace":"default","name":"p"}`)

	// Every method is forwarded, without headers of the client that identify a user.
	for _, path := range []string{pods + "/p:80/proxy/x", "/api/v1/namespaces/default/services/web:http/proxy/x", "/api/v1/nodes/n/proxy/x"} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"} {
			got := s.do(method, path, nil, "Authorization", "Bearer secret", "X-Remote-User", "admin", "X-Remote-Extra-Scopes", "all", "Impersonate-User", "",
				"Sec-Websocket-Protocol", "a.test, base64url.bearer.authorization.k8s.io.c2VjcmV0")
			require.Equal(t, 200, got.code, "%s %s: %s", method, path, got.body)
			require.Equal(t, method, backends.last.Method)
			for name := range backends.last.Header {
				require.NotContains(t, []string{"Authorization", "X-Remote-User", "X-Remote-Extra-Scopes", "Impersonate-User"}, name)
			}
			require.Equal(t, "a.test", backends.last.Header.Get("Sec-Websocket-Protocol"))
		}
		require.Equal(t, 405, s.do("LIST", path, nil).code)
	}
	backends.err = errors.New("connection refused")
	for _, path := range []string{pods + "/p:80/proxy/x", "/api/v1/namespaces/default/services/web:http/proxy/x"} {
		require.Equal(t, "ServiceUnavailable", s.do("GET", path, nil).ok(503).str("reason"))
	}
}

// A node whose address is the API server's own gets no request with the server's credentials.
func TestProxyToSelf(t *testing.T) {
	backends := &dialed{}
	s := start(t, apiserver.Options{Nodes: backends, Backends: backends})
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	_, port, err := net.SplitHostPort(front.Listener.Addr().String())
	require.NoError(t, err)
	for name, number := range map[string]string{"self": port, "kubelet": "10250"} {
		s.do("POST", "/api/v1/nodes", fmt.Sprintf(`{"metadata":{"name":%q},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, name, number)).ok(201)
	}
	for name, code := range map[string]int{"self": 400, "kubelet": 200} {
		resp, err := http.Get(front.URL + "/api/v1/nodes/" + name + "/proxy/api/v1/secrets")
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, code, resp.StatusCode, "%s: %s", name, b)
	}
}

// A WebSocket begins with a GET. The right to get a pod's exec is not enough for one.
func TestWebSocketsNeedCreate(t *testing.T) {
	rule := asked{allow: func(authz.Attributes) bool { return true }}
	o := rule.options()
	backends := &dialed{}
	o.Nodes = backends
	s := start(t, o)
	s.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}}`).ok(201)
	s.do("POST", pods, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}}`).ok(201)
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "WebSocket"}
	for _, sub := range []string{"exec", "attach", "portforward"} {
		rule.allow = func(a authz.Attributes) bool { return a.Verb == "get" }
		got := s.do("GET", pods+"/p/"+sub+"?stdout=1&command=sh", nil, upgrade...).ok(403)
		require.Contains(t, got.str("message"), `cannot create resource "pods/`+sub+`"`)
		rule.allow = func(a authz.Attributes) bool {
			return a.Verb == "get" || a.Verb == "create" && a.Subresource == sub && a.Name == "p"
		}
		require.Equal(t, 200, s.do("GET", pods+"/p/"+sub+"?stdout=1&command=sh", nil, upgrade...).code)
	}
	rule.allow = func(a authz.Attributes) bool { return a.Verb == "get" }
	require.NotEqual(t, 403, s.do("GET", pods+"/p/log", nil, upgrade...).code, "logs are only read")
}

// Handlers see the user, not the credential.
func TestCredentialsStayWithTheServer(t *testing.T) {
	rule := asked{allow: func(authz.Attributes) bool { return true }}
	o := rule.options()
	o.Handlers = map[string]http.Handler{"/seen": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Authorization")) })}
	s := start(t, o)
	require.Empty(t, s.do("GET", "/seen", nil, "Authorization", "Bearer secret").body)
}
