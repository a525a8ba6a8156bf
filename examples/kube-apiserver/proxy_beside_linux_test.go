package main

import (
	"bufio"
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/storetest"
)

// mirror responds with the request as it has arrived, or with what the query asks for.
func mirror(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for _, header := range q["header"] {
		name, value, _ := strings.Cut(header, "=")
		w.Header().Add(name, value)
	}
	if r.Header.Get("Upgrade") != "" && !strings.HasPrefix(r.URL.Path, "/refuse/") {
		upgraded(w, r)
		return
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/refuse/"):
		var code int
		_, _ = fmt.Sscan(strings.TrimPrefix(r.URL.Path, "/refuse/"), &code)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "no upgrade here")
	case q.Has("to"):
		w.Header().Set("Location", q.Get("to"))
		w.WriteHeader(http.StatusFound)
	case q.Has("html"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if q.Has("gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, q.Get("html"))
			_ = z.Close()
			return
		}
		_, _ = io.WriteString(w, q.Get("html"))
	case q.Has("code"):
		var code int
		_, _ = fmt.Sscan(q.Get("code"), &code)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "as requested")
	case q.Has("abort"):
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(arrived(r))
	}
}

// arrived is the request as it has arrived at a backend.
func arrived(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	b, _ := json.Marshal(map[string]any{"method": r.Method, "uri": r.RequestURI, "host": r.Host, "header": r.Header, "tls": r.TLS != nil, "body": string(body)})
	return b
}

// upgraded switches protocols, sends the request and then what it receives.
func upgraded(w http.ResponseWriter, r *http.Request) {
	c, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	r.Body = http.NoBody
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nAccess-Control-Allow-Origin: *\r\n\r\n%s\n", r.Header.Get("Upgrade"), arrived(r))
	line, _ := rw.ReadString('\n')
	_, _ = io.WriteString(c, "echo "+line)
}

// seen is the compared part of a response through a proxy. A code of 0 is that of a connection that was
// closed without a response.
type seen struct {
	Code    int
	Header  http.Header
	Body    string
	Arrived map[string]any // the request at the backend, if that responded with it
}

// raw sends a request as it is written: clients in Go change some paths before they send them.
func (l *live) raw(method, target, body string, header ...string) seen {
	l.t.Helper()
	c, err := tls.Dial("tcp", l.host, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	require.NoError(l.t, err)
	defer c.Close()
	require.NoError(l.t, c.SetDeadline(time.Now().Add(20*time.Second)))
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: front.test\r\nAuthorization: Bearer admin\r\n", method, target)
	for _, h := range header {
		text += h + "\r\n"
	}
	if body != "" {
		text += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	_, err = io.WriteString(c, text+"\r\n"+body)
	require.NoError(l.t, err)
	rd := bufio.NewReader(c)
	resp, err := http.ReadResponse(rd, &http.Request{Method: method})
	if err != nil {
		return seen{}
	}
	s := seen{Code: resp.StatusCode, Header: resp.Header}
	from := resp.Body.(io.Reader)
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		_, err = io.WriteString(c, "hello\n")
		require.NoError(l.t, err)
		from = rd
	case resp.Header.Get("Content-Encoding") == "gzip" && method != http.MethodHead:
		from, err = gzip.NewReader(resp.Body)
		require.NoError(l.t, err)
	}
	b, err := io.ReadAll(from)
	if err != nil {
		b = append(b, "<cut>"...)
	}
	s.Body = string(b)
	if first, rest, _ := strings.Cut(s.Body, "\n"); json.Unmarshal([]byte(first), &s.Arrived) == nil && s.Arrived["uri"] != nil {
		s.Body = rest
	} else {
		s.Arrived = nil
	}
	for _, name := range []string{"Audit-Id", "Date", "Content-Length", "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"} {
		s.Header.Del(name)
	}
	return s
}

// alike removes from what both servers did with a request what is different on purpose. It returns false for
// what docs/differences.md has, and true if the rest has to be the same.
func alike(target string, theirs, ours *seen) bool {
	upgrade := theirs.Code == http.StatusSwitchingProtocols
	for _, s := range []*seen{theirs, ours} {
		h, _ := s.Arrived["header"].(map[string]any)
		// kube-apiserver makes this of the paths before and after they are clean.
		if upgrade || strings.Contains(target, "proxy/..") || strings.Contains(target, "//") || strings.Contains(target, "/.") || strings.Contains(target, "%2e") {
			delete(h, "X-Forwarded-Uri")
		}
		if upgrade { // what the transports add
			for name, value := range map[string]string{"Accept-Encoding": "gzip", "User-Agent": "Go-http-client/1.1"} {
				if fmt.Sprint(h[name]) == "["+value+"]" {
					delete(h, name)
				}
			}
			for _, name := range []string{"Keep-Alive", "Proxy-Authorization", "Te"} { // of one connection
				delete(h, name)
			}
			if len(h) > 0 {
				h["Connection"] = []any{"Upgrade"}
			}
			s.Header.Del("Cache-Control")
		}
		if theirs.Code == http.StatusMethodNotAllowed || strings.Contains(theirs.Body, "invalid upgrade response") {
			s.Header.Del("Cache-Control")
		}
		if strings.HasPrefix(s.Body, "Client sent an HTTP request") {
			// net/http may have found the type, or not
			s.Header.Del("Content-Type")
		}
		if strings.HasPrefix(target, "/api/v1/nodes/n/") { // kubelets compare the origin with the host
			delete(h, "Origin")
		}
	}
	switch {
	case theirs.Code == 0, strings.Contains(theirs.Body, "invalid port"): // a port that is none
		return !strings.Contains(ours.Body, "invalid port") || ours.Code != http.StatusBadRequest
	case strings.Contains(theirs.Body, "address not allowed"):
		return !strings.Contains(ours.Body, "the pod has no address yet")
	// Ours says which port is missing, or takes the only one.
	case strings.Contains(theirs.Body, "no endpoints available for service"):
		return !strings.Contains(target, "named") && !strings.Contains(ours.Body, "no service port") && !strings.Contains(ours.Body, "no endpoints available for service")
	case strings.Contains(theirs.Body, `services \"alone\" not found`):
		return ours.Code != http.StatusServiceUnavailable
	case strings.Contains(theirs.Body, "invalid upgrade response"):
		return ours.Code >= 400
	case upgrade && strings.HasSuffix(target, "?a=b"):
		return theirs.Arrived["uri"] != "/ws" || ours.Arrived["uri"] != "/ws?a=b"
	case strings.HasPrefix(theirs.Body, "no upgrade"):
		return ours.Code != theirs.Code || ours.Body != theirs.Body
	}
	return true
}

// reachable is an address of this machine at which kube-apiserver proxies: it is not loopback.
func reachable(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addresses {
		p, err := netip.ParsePrefix(a.String())
		require.NoError(t, err)
		if p.Addr().Is4() && p.Addr().IsGlobalUnicast() {
			return p.Addr().String()
		}
	}
	t.Skip("this machine has no address but loopback ones")
	return ""
}

// startMirror starts a backend at address and returns its port.
func startMirror(t *testing.T, address string, secure bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	require.NoError(t, err)
	b := httptest.NewUnstartedServer(http.HandlerFunc(mirror))
	require.NoError(t, b.Listener.Close())
	b.Listener = listener
	if secure {
		b.StartTLS()
	} else {
		b.Start()
	}
	t.Cleanup(b.Close)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}

// proxyWorld creates a node, pods and services whose backends are at the address.
func proxyWorld(l *live, address, plain, secure, closed string) {
	l.t.Helper()
	do := func(method, path, body string, header ...string) {
		l.t.Helper()
		v := l.verdict(method, path, body, header...)
		require.Less(l.t, v.Code, 400, "%s %s: %v", method, path, v)
	}
	do("POST", core+"serviceaccounts", `{"metadata":{"name":"default"}}`)
	do("POST", "/api/v1/nodes", fmt.Sprintf(`{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, address, secure))
	for _, name := range []string{"p", "portless", "away"} {
		ports := ""
		if name != "portless" {
			ports = `,"ports":[{"containerPort":` + plain + `}]`
		}
		do("POST", core+"pods", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":"n","containers":[{"name":"a","image":"x"},{"name":"b","image":"x"%s}]}}`, name, ports))
		if name != "away" {
			do("PATCH", core+"pods/"+name+"/status", fmt.Sprintf(`{"status":{"podIP":%q,"podIPs":[{"ip":%[1]q}]}}`, address), "Content-Type", "application/merge-patch+json")
		}
	}
	for name, ports := range map[string][]string{
		"one":   {`{"port":80,"targetPort":` + plain + `}`},
		"named": {`{"name":"web","port":80,"targetPort":` + plain + `}`},
		"two":   {`{"name":"web","port":80,"targetPort":` + plain + `}`, `{"name":"tls","port":443,"targetPort":` + secure + `}`},
		"dead":  {`{"port":80,"targetPort":` + closed + `}`},
		"empty": {`{"port":80,"targetPort":` + closed + `}`},
		"alone": {`{"port":80,"targetPort":` + closed + `}`},
	} {
		do("POST", core+"services", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[%s]}}`, name, strings.Join(ports, ",")))
		if name == "alone" {
			continue
		}
		var resolved []string
		for _, p := range ports {
			var port struct {
				Name       string
				TargetPort int
			}
			require.NoError(l.t, json.Unmarshal([]byte(p), &port))
			resolved = append(resolved, fmt.Sprintf(`{"name":%q,"port":%d}`, port.Name, port.TargetPort))
		}
		const ref = `"targetRef":{"kind":"Pod","namespace":"default","name":"p"}`
		subset := fmt.Sprintf(`{"addresses":[{"ip":%q,%s}],"ports":[%s]}`, address, ref, strings.Join(resolved, ","))
		endpoint := fmt.Sprintf(`{"addresses":[%q],"conditions":{"ready":true},%s}`, address, ref)
		if name == "empty" {
			subset, endpoint = "", ""
		}
		do("POST", core+"endpoints", fmt.Sprintf(`{"metadata":{"name":%q},"subsets":[%s]}`, name, subset))
		do("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/service-name":%[1]q}},"addressType":"IPv4","ports":[%s],"endpoints":[%s]}`, name, strings.Join(resolved, ","), endpoint))
	}
}

const core = "/api/v1/namespaces/default/"

// walk sends a request to both servers and compares what they did with it.
type walk func(method, target, body string, header ...string)

// TestProxyBeside sends requests through the proxies of pods, services and nodes of both servers, and
// compares what arrives at the backend and what comes back.
func TestProxyBeside(t *testing.T) {
	theirs, ours := startUpstream(t), startLive(t)
	address := reachable(t)
	plain, secure := startMirror(t, address, false), startMirror(t, address, true)
	closed := strings.TrimPrefix(storetest.FreeAddress(t), "127.0.0.1:")
	proxyWorld(theirs, address, plain, secure, closed)
	proxyWorld(ours, address, plain, secure, closed)
	var same walk = func(method, target, body string, header ...string) {
		t.Helper()
		want, got := theirs.raw(method, target, body, header...), ours.raw(method, target, body, header...)
		if alike(target, &want, &got) {
			assert.Equal(t, want, got, "%s %s %q", method, target, header)
		}
	}
	for _, prefix := range []string{core + "pods/p/proxy", core + "services/one/proxy", "/api/v1/nodes/n/proxy", "/api/v1/nodes/n:" + plain + "/proxy"} {
		same.paths(prefix)
		same.headers(prefix)
		same.responses(prefix)
		same.links(prefix, address+":"+plain, address+":"+secure)
		same.upgrades(prefix)
	}
	same.names(plain, secure, closed)
}

// paths compares what arrives of paths and methods.
func (same walk) paths(prefix string) {
	for _, path := range []string{"", "?a=b", "/", "//", "/a", "/a/", "/a//b", "//a", "/a/../b", "/../b", "/../../../secrets", "/./a", "/a/.", "/a/..", "/a%2Fb", "/a%2f%2e%2e%2fb", "/%2e%2e/a", "/a%20b", "/a%25b", "/a+b", "/a;b", "/a;b?c;d", "/a:b@c", "/é",
		"/a?b=c&b=d&e", "/a?path=x", "/?path=/x", "/a/?x=%zz", "/%zz", "/a?b=%2F%20+", "/a#b", "/a%23b", "/a%3Fb", "/~a", "/a,b", "/%E2%82%AC", "/a%5Cb", "/a\"b", "/a?dryRun=All"} {
		same("GET", prefix+path, "")
	}
	same("POST", prefix, "body")
	same("POST", prefix+"?x=y", "body")
	same("HEAD", prefix, "")
	same("HEAD", prefix+"/a", "")
	same("HEAD", prefix+"/?html=x", "")
	same("OPTIONS", prefix+"/a", "")
	same("PUT", prefix+"/a", "body")
	same("PATCH", prefix+"/a", "body")
	same("DELETE", prefix+"/a", "body")
	same("TRACE", prefix+"/a", "")
	same("LIST", prefix+"/a", "")
}

// headers compares what arrives of headers.
func (same walk) headers(prefix string) {
	for _, h := range [][]string{
		{"X-Forwarded-For: 192.0.2.7"}, {"X-Forwarded-For: 192.0.2.7", "X-Forwarded-For: 192.0.2.8"}, {"X-Forwarded-Host: other.test", "X-Forwarded-Proto: http", "X-Forwarded-Uri: /elsewhere"}, {"X-Forwarded-Port: 1"}, {"Forwarded: for=192.0.2.7"},
		{"X-Real-Ip: 192.0.2.7"}, {"Accept-Encoding: gzip"}, {"Accept-Encoding: identity"}, {"User-Agent: u"}, {"Accept: text/html"}, {"Cookie: a=b"}, {"Connection: close, X-Hop", "X-Hop: 1"}, {"Keep-Alive: timeout=5"}, {"Te: trailers"}, {"Te: gzip"},
		{"X-Remote-User: admin"}, {"X-Remote-Group: g"}, {"X-Remote-Extra-A: b"}, {"Impersonate-User: user"}, {"Impersonate-User: user", "Impersonate-Group: g", "Impersonate-Extra-A: b", "Impersonate-Uid: 1"}, {"Audit-Id: mine"},
		{"Origin: https://elsewhere"}, {"Content-Type: text/plain"}, {"Proxy-Authorization: Basic x"}, {"Proxy-Connection: keep-alive"}, {"Range: bytes=0-3"}, {"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, {"Expect: 100-continue"}, {"If-None-Match: x"}, {"Host2: x"},
	} {
		same("GET", prefix+"/a", "", h...)
	}
}

// responses compares what comes back of headers and codes.
func (same walk) responses(prefix string) {
	for _, header := range []string{"Access-Control-Allow-Origin=*", "Cache-Control=max-age=1", "Set-Cookie=a=b; Path=/", "Content-Type=text/html", "X-Frame-Options=DENY", "Server=x", "Audit-Id=theirs", "Connection=X-Hop", "Keep-Alive=5", "Warning=299 - x", "Refresh=0; url=/x", "Content-Location=/x", "Strict-Transport-Security=max-age=1", "X-Kubernetes-Pf-Flowschema-Uid=1", "Retry-After=5", "Trailer=X"} {
		same("GET", prefix+"/a?header="+url.QueryEscape(header), "")
	}
	for _, code := range []int{200, 201, 204, 206, 301, 304, 307, 400, 401, 403, 404, 409, 429, 500, 502, 503, 504, 599} {
		same("GET", fmt.Sprintf("%s/a?code=%d", prefix, code), "")
	}
	same("GET", prefix+"/a?abort", "")
}

// links compares redirects and the links of pages.
func (same walk) links(prefix, plain, secure string) {
	for _, to := range []string{"/login", "/login/", "login", "../x", "//" + plain + "/z", "http://" + plain + "/x", "https://" + secure + "/x/?y#z", "http://front.test/y", "https://front.test/y/", "https://elsewhere/x", "?page=2", "#top", "", "%zz", "mailto:a@b", prefix + "/already", prefix,
		prefix + "more", "http://front.test" + prefix + "/x", "http://" + strings.Split(plain, ":")[0] + "/x", "/a%2Fb", "/a//b", "/a/../b", "http://front.test", "/?q=a b"} {
		same("GET", prefix+"/page?to="+url.QueryEscape(to), "")
		same("GET", prefix+"/dir/?to="+url.QueryEscape(to), "")
		same("POST", prefix+"/page?to="+url.QueryEscape(to), "body")
		for _, more := range []string{"", "&gzip"} {
			same("GET", prefix+"/page?html="+url.QueryEscape(`<a href="`+to+`">x</a>`)+more, "", "Accept-Encoding: gzip")
		}
	}
}

// upgrades compares requests for another protocol.
func (same walk) upgrades(prefix string) {
	for _, path := range []string{"", "/", "/ws", "/ws/", "/a//b", "/a/../b", "/a%2Fb", "/ws?a=b", "/refuse/200", "/refuse/302", "/refuse/400", "/refuse/403", "/refuse/503"} {
		same("GET", prefix+path, "", "Connection: Upgrade", "Upgrade: websocket", "Sec-Websocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-Websocket-Version: 13")
		same("POST", prefix+path, "", "Connection: Upgrade", "Upgrade: SPDY/3.1")
	}
	same("GET", prefix+"/ws", "", "Connection: Upgrade", "Upgrade: websocket", "X-Forwarded-For: 192.0.2.7", "X-Forwarded-Host: other.test", "Origin: https://elsewhere")
	same("GET", prefix+"/ws", "", "Connection: keep-alive, Upgrade", "Upgrade: websocket")
	for _, h := range []string{"User-Agent: u", "Accept-Encoding: identity", "Accept: text/html", "Cookie: a=b", "X-Remote-User: admin", "X-Remote-Group: g", "X-Remote-Uid: 1", "X-Remote-Extra-A: b", "Audit-Id: mine", "Impersonate-User: user", "Forwarded: for=192.0.2.7", "X-Real-Ip: 192.0.2.7",
		"Sec-Websocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io", "Sec-Websocket-Extensions: permessage-deflate", "X-Stream-Protocol-Version: v4.channel.k8s.io", "Te: trailers", "Keep-Alive: timeout=5", "Proxy-Authorization: Basic x"} {
		same("GET", prefix+"/ws", "", "Connection: Upgrade", "Upgrade: websocket", h)
		same("POST", prefix+"/ws", "", "Connection: Upgrade", "Upgrade: SPDY/3.1", h)
	}
	same("GET", prefix+"/ws", "", "Upgrade: websocket")
	same("GET", prefix+"/ws", "", "Connection: Upgrade")
}

// names compares names with schemes and ports.
func (same walk) names(plain, secure, closed string) {
	for _, resource := range []string{core + "pods/", core + "services/", "/api/v1/nodes/"} {
		for _, name := range []string{"p", "portless", "away", "one", "named", "two", "dead", "empty", "alone", "n", "none"} {
			for _, form := range []string{"%s", "%s:", "%s:80", "%s:443", "%s:web", "%s:tls", "%s:" + plain, "%s:" + secure, "%s:" + closed, "http:%s:", "https:%s:", "http:%s:80", "https:%s:443", "http:%s:web", "https:%s:tls", "http:%s:" + plain, "https:%s:" + secure, "https:%s:" + plain, "http:%s:" + secure,
				"ftp:%s:80", ":%s:", ":%s:80", ":%s", "%s::", "a:%s:b:c", "HTTP:%s:80", "%s:0", "%s:-1", "%s:99999", "%s:080", "%s:x", "%%20%s"} {
				same("GET", resource+fmt.Sprintf(form, name)+"/proxy/a", "")
			}
		}
	}
}
