package apiserver_test

import (
	"bytes"
	"compress/gzip"
	"context"
	cryptotls "crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// site is a backend on this machine. It responds with what it received, or with what the query asks for.
func site(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Access-Control-Allow-Origin", "*")
	switch {
	case q.Has("to"):
		w.Header().Set("Location", q.Get("to"))
		w.WriteHeader(http.StatusFound)
	case q.Has("large"):
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<a href="/x">`+strings.Repeat("x", 5<<20)+`<a href="/y">`)
	case q.Has("html"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		body := []byte(q.Get("html"))
		if q.Has("gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(body)
			_ = z.Close()
			body = b.Bytes()
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body)
	default:
		fmt.Fprintf(w, "%s host=%s uri=%s for=%s tls=%v", r.RequestURI, r.Host, r.Header.Get("X-Forwarded-Uri"), r.Header.Get("X-Forwarded-For"), r.TLS != nil)
		for _, name := range []string{"Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto"} {
			fmt.Fprintf(w, " %s=%s", name, strings.Join(r.Header[name], "+"))
		}
	}
}

// startSites starts a server with a node and a pod whose backends are plain and TLS servers of this
// machine, and returns their ports.
func startSites(t *testing.T) (s *server, plain, tls string) {
	t.Helper()
	plain, tls = startSite(t, httptest.NewServer, site), startSite(t, httptest.NewTLSServer, site)
	s = start(t, apiserver.Options{Nodes: kubeletOnly{}, Local: true})
	s.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}]}}`).ok(201)
	s.do("POST", pods, fmt.Sprintf(`{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"x","ports":[{"containerPort":%s}]}]}}`, plain)).ok(201)
	s.do("PATCH", pods+"/p/status", `{"status":{"podIP":"127.0.0.1","podIPs":[{"ip":"127.0.0.1"}]}}`, "Content-Type", "application/merge-patch+json").ok(200)
	return s, plain, tls
}

// kubeletOnly responds as the kubelet of a node.
type kubeletOnly struct{}

// RoundTrip implements http.RoundTripper.
func (kubeletOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	fmt.Fprintf(w, "kubelet %s", r.URL)
	return w.Result(), nil
}

// A proxied name may have a scheme and a port: of a node, another port than the kubelet's is reached without
// the credentials for kubelets; over https no certificate is verified, as by kube-apiserver.
func TestProxySchemesAndPorts(t *testing.T) {
	s, plain, tls := startSites(t)
	for path, want := range map[string]string{
		"/api/v1/nodes/n/proxy/stats":                     "kubelet https://127.0.0.1:10250/stats",
		"/api/v1/nodes/n:10250/proxy/stats":               "kubelet https://127.0.0.1:10250/stats",
		"/api/v1/nodes/http:n:10250/proxy/stats":          "kubelet https://127.0.0.1:10250/stats",
		"/api/v1/nodes/n:" + plain + "/proxy/stats":       "tls=false",
		"/api/v1/nodes/http:n:" + plain + "/proxy/stats/": "/stats/ host=server uri=/api/v1/nodes/http:n:" + plain + "/proxy/stats/ ",
		"/api/v1/nodes/https:n:" + tls + "/proxy/a/b?c=d": "tls=true",
		pods + "/p/proxy/":                                "/ host=server uri=" + pods + "/p/proxy/ ",
		pods + "/https:p:" + tls + "/proxy/x":             "tls=true",
		pods + "/http:p:/proxy/a%20b":                     "/a%20b host=server uri=" + pods + "/http:p:/proxy/a%20b ",
		pods + "/p:" + plain + "/proxy/x//y":              "/x/y host=server",
	} {
		got := s.do("GET", path, nil)
		require.Equal(t, 200, got.code, "%s: %s", path, got.body)
		require.Contains(t, string(got.body), want, path)
		require.Empty(t, got.header.Get("Access-Control-Allow-Origin"), path)
	}
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	r, err := http.NewRequest(http.MethodGet, front.URL+pods+"/p/proxy/", nil)
	require.NoError(t, err)
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Contains(t, string(b), "for=192.0.2.7, 127.0.0.1 ")
	for path, want := range map[string]string{
		"/api/v1/nodes/ftp:n:21/proxy/x": `invalid node request "ftp:n:21"`,
		"/api/v1/nodes/::/proxy/x":       `invalid node request "::"`,
		pods + "/a:b:c:d/proxy/x":        `invalid pod request "a:b:c:d"`,
		services + "/:80/proxy/x":        `invalid service request ":80"`,
		"/api/v1/nodes/n:99999/proxy/x":  `invalid port "99999"`,
	} {
		require.Equal(t, want, s.do("GET", path, nil).ok(400).str("message"))
	}
}

// A path arrives at a backend without empty elements and without those that lead elsewhere; what an element
// holds is kept, as far as a path shows it. kube-apiserver 1.36.3 does the same.
func TestProxyPaths(t *testing.T) {
	s, _, _ := startSites(t)
	const prefix = pods + "/p/proxy"
	for path, want := range map[string]string{
		"/": "/", "//": "/", "/a": "/a", "/a/": "/a/", "//a": "/a", "/a//b": "/a/b", "/a//": "/a/", "/./a": "/a", "/a/.": "/a", "/a/..": "/", "/a/../": "/", "/a/../b": "/b",
		"/../b": "/b", "/../../../secrets": "/secrets", "/%2e%2e/a": "/a", "/a%2F..%2Fb": "/b", "/a%2Fb": "/a/b", "/a%25b": "/a%25b", "/a%20b?c=%2F": "/a%20b?c=%2F", "/a?b=../c//d": "/a?b=../c//d",
		"/a?path=x": "/a?path=x", "/é": "/%C3%A9", "/a%3Fb%23c": "/a%3Fb%23c", "/a:b@c;d,e": "/a:b@c;d,e",
	} {
		got := s.do("GET", prefix+path, nil)
		require.Equal(t, 200, got.code, "%s: %s", path, got.body)
		at, _, _ := strings.Cut(want, "?")
		require.True(t, strings.HasPrefix(string(got.body), want+" host=server uri="+prefix+at+" "), "%s: %s", path, got.body)
	}
	require.Contains(t, string(s.do("POST", prefix+"?x=y", "{}").body), "/?x=y host=server uri="+prefix+"/ ")
	require.Equal(t, "dryRun is not supported", s.do("POST", prefix+"/a?dryRun=All", "{}").ok(400).str("message"))
	for _, method := range []string{"TRACE", "LIST"} {
		require.Equal(t, "the server does not allow this method on the requested resource", s.do(method, prefix+"/a", nil).ok(405).str("message"))
	}
}

// What proxies in front of the server have said of the request, they have said to the backend too: only they
// were reached by the client.
func TestProxyForwardedHeaders(t *testing.T) {
	s, _, _ := startSites(t)
	const path = pods + "/p/proxy/a"
	require.Contains(t, string(s.do("GET", path, nil).body), " Forwarded= X-Forwarded-Host= X-Forwarded-Proto=")
	got := s.do("GET", path, nil, "Forwarded", "for=192.0.2.7", "X-Forwarded-Host", "front.test", "X-Forwarded-Proto", "http", "X-Forwarded-Uri", "/elsewhere")
	require.Contains(t, string(got.body), "uri="+path+" ")
	require.Contains(t, string(got.body), " Forwarded=for=192.0.2.7 X-Forwarded-Host=front.test X-Forwarded-Proto=http")
}

// startServices starts a server with a pod, and services with one and two named ports, whose addresses lead
// to this machine, which no endpoint may name.
func startServices(t *testing.T, plain, tls string) *server {
	t.Helper()
	backends := http.DefaultTransport.(*http.Transport).Clone()
	backends.TLSClientConfig = &cryptotls.Config{InsecureSkipVerify: true}
	backends.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	t.Cleanup(backends.CloseIdleConnections)
	s := start(t, apiserver.Options{Nodes: kubeletOnly{}, Backends: backends})
	const address = "10.1.2.3"
	s.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"`+address+`"}]}}`).ok(201)
	s.do("POST", pods, pod("p")).ok(201)
	s.do("PATCH", pods+"/p/status", `{"status":{"podIP":"`+address+`","podIPs":[{"ip":"`+address+`"}]}}`, "Content-Type", "application/merge-patch+json").ok(200)
	web, secure := `{"name":"web","port":80,"targetPort":`+plain+`}`, `{"name":"tls","port":443,"targetPort":`+tls+`}`
	for name, ports := range map[string]string{"one": web, "two": web + "," + secure} {
		s.do("POST", services, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[%s]}}`, name, ports)).ok(201)
		s.do("POST", endpointSlices, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/service-name":%[1]q}},"addressType":"IPv4","ports":[{"name":"web","port":%s},{"name":"tls","port":%s}],
			"endpoints":[{"addresses":[%q],"targetRef":{"kind":"Pod","namespace":"default","name":"p"}}]}`, name, plain, tls, address)).ok(201)
	}
	return s
}

// startSite starts a backend on this machine and returns its port.
func startSite(t *testing.T, start func(http.Handler) *httptest.Server, h http.HandlerFunc) string {
	t.Helper()
	b := start(h)
	t.Cleanup(b.Close)
	_, port, err := net.SplitHostPort(b.Listener.Addr().String())
	require.NoError(t, err)
	return port
}

// A port of a service is given by its name or number, not by that of its pods.
func TestProxyServicePorts(t *testing.T) {
	plain := startSite(t, httptest.NewServer, site)
	s := startServices(t, plain, startSite(t, httptest.NewTLSServer, site))
	for name, want := range map[string]string{"one": "tls=false", "one:": "tls=false", "one:web": "tls=false", "one:80": "tls=false", "one:080": "tls=false", "http:one:": "tls=false", ":one:80": "tls=false",
		"two:80": "tls=false", "http:two:web": "tls=false", "https:two:tls": "tls=true", "https:two:443": "tls=true"} {
		got := s.do("GET", services+"/"+name+"/proxy/a", nil)
		require.Equal(t, 200, got.code, "%s: %s", name, got.body)
		require.Contains(t, string(got.body), want, name)
	}
	for name, want := range map[string]string{"one:" + plain: `no service port ` + plain + ` found for service "one"`, "one:-1": `no service port -1 found for service "one"`,
		"two": `no service port "" found for service "two"`, "two:x": `no service port "x" found for service "two"`} {
		require.Equal(t, want, s.do("GET", services+"/"+name+"/proxy/a", nil).ok(503).str("message"))
	}
}

// A WebSocket to a service's backend, with a path and a query, carries what both sides send.
func TestProxyWebSocket(t *testing.T) {
	port := startSite(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"b"}, InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer c.CloseNow()
		_ = c.Write(r.Context(), websocket.MessageText, []byte(r.RequestURI+" "+r.Host))
		for {
			kind, b, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, b) != nil {
				return
			}
		}
	})
	s := startServices(t, port, port)
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	for _, path := range []string{services + "/one/proxy/", services + "/http:two:web/proxy/", pods + "/p:" + port + "/proxy/", "/api/v1/nodes/n:" + port + "/proxy/"} {
		c, _, err := websocket.Dial(t.Context(), front.URL+path+"a//b/?c=d", &websocket.DialOptions{Subprotocols: []string{"a", "b"}, HTTPHeader: http.Header{"Origin": {"https://elsewhere"}}})
		require.NoError(t, err, path)
		require.Equal(t, "b", c.Subprotocol())
		_, b, err := c.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, "/a/b/?c=d "+strings.TrimPrefix(front.URL, "http://"), string(b))
		for _, text := range []string{"x", strings.Repeat("long ", 5000)} {
			require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte(text)))
			_, b, err = c.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, text, string(b))
		}
		require.NoError(t, c.Close(websocket.StatusNormalClosure, ""))
	}
	_, resp, err := websocket.Dial(t.Context(), front.URL+services+"/absent/proxy/", nil)
	require.Error(t, err)
	require.Equal(t, 404, resp.StatusCode)
}

// A reader of a proxy without a path is sent to the path with a slash; what exists is decided before.
func TestProxyRoot(t *testing.T) {
	s, _, _ := startSites(t)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, method := range []string{"GET", "HEAD"} {
		got := s.do(method, pods+"/p/proxy?a=b", nil)
		require.Equal(t, 301, got.code)
		require.Equal(t, pods+"/p/proxy/?a=b", got.header.Get("Location"))
	}
	got := s.do("POST", pods+"/p/proxy", "{}")
	require.Equal(t, 200, got.code)
	require.Contains(t, string(got.body), "/ host=")
	s.do("GET", pods+"/absent/proxy", nil).ok(404)
}

// Links and redirects to a backend's own paths lead through the server, others stay as they are.
func TestProxyLinks(t *testing.T) {
	s, plain, _ := startSites(t)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	const prefix = pods + "/p/proxy"
	for from, to := range map[string]string{
		"/login":                           prefix + "/login",
		"/login/?next=%2Fa#top":            prefix + "/login/?next=%2Fa#top",
		"http://127.0.0.1:" + plain + "/x": prefix + "/x",
		"https://server/y":                 "https://server" + prefix + "/y",
		"//127.0.0.1:" + plain + "/z/":     prefix + "/z/",
		"https://elsewhere/x":              "https://elsewhere/x",
		"more/../x":                        "more/../x",
		"#top":                             "#top",
		"mailto:a@b":                       "mailto:a@b",
		prefix + "/already":                prefix + "/already",
		"?page=2":                          "?page=2",
		"http://127.0.0.1:" + plain + "?no=slash": "http://127.0.0.1:" + plain + "?no=slash",
	} {
		got := s.do("GET", prefix+"/?to="+url.QueryEscape(from), nil)
		require.Equal(t, 302, got.code)
		require.Equal(t, to, got.header.Get("Location"), from)

		page := fmt.Sprintf(`<!DOCTYPE html><p TITLE="/kept">&lt;<a class=x href="%s">a</a><script>if (1<2) "</a>"</script><img SRC='%[1]s'/>`, from)
		want := fmt.Sprintf(`<!DOCTYPE html><p TITLE="/kept">&lt;<a class="x" href="%s">a</a><script>if (1<2) "</a>"</script><img src="%[1]s"/>`, to)
		if from == to {
			want = page
		}
		for _, encoding := range []string{"", "&gzip"} {
			got := s.do("GET", prefix+"/?html="+url.QueryEscape(page)+encoding, nil, "Accept-Encoding", "gzip")
			require.Equal(t, 200, got.code)
			body := got.body
			if encoding != "" {
				z, err := gzip.NewReader(bytes.NewReader(body))
				require.NoError(t, err)
				body, err = io.ReadAll(z)
				require.NoError(t, err)
			}
			require.Equal(t, want, string(body), from)
		}
	}

	// What follows an element that is too large to look at is passed on as it is.
	page := `<a href="/x">` + strings.Repeat("x", 5<<20) + `<a href="/y">`
	got := s.do("GET", prefix+"/?large", nil)
	require.Equal(t, strings.Replace(page, "/x", prefix+"/x", 1), string(got.body))
}
