package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/certs"
)

// kubeletWorld are the kubelets of a test, by the names of their nodes, and the files of the server that
// connects to them.
type kubeletWorld struct {
	address string // where they listen, which is not loopback
	ports   map[string]string
	ca      *certs.Authority // of kubelets that are trusted
	files   clientFiles
}

// startKubelets starts kubelets whose certificates are good and bad in several ways. Each responds with the
// request, the address at which it was reached, and the user of the client's certificate.
func startKubelets(t *testing.T) *kubeletWorld {
	t.Helper()
	ca, err := certs.NewAuthority("kubelets")
	require.NoError(t, err)
	other, err := certs.NewAuthority("others")
	require.NoError(t, err)
	w := &kubeletWorld{address: reachable(t), ports: map[string]string{}, ca: ca, files: newClientFiles(t, ca)}
	serve := func(name string, ca *certs.Authority, clients *x509.CertPool, hosts ...string) {
		pair, err := ca.Serving("system:node:"+name, hosts...)
		require.NoError(t, err)
		config := &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, ClientAuth: tls.RequestClientCert}
		if clients != nil {
			config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, clients
		}
		w.ports[name] = startKubelet(t, config)
	}
	everywhere := []string{w.address, "localhost", "127.0.0.1", "127.0.0.2", "127.0.0.3"}
	serve("good", ca, ca.Pool(), everywhere...)
	serve("optional", ca, nil, everywhere...)
	serve("strict", ca, other.Pool(), everywhere...)
	serve("unknown", other, ca.Pool(), everywhere...)
	serve("misnamed", ca, ca.Pool(), "elsewhere.test")
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, w.ports["closed"], err = net.SplitHostPort(plain.Addr().String())
	require.NoError(t, err)
	require.NoError(t, plain.Close())
	return w
}

// startKubelet starts one on all addresses of this machine, and returns its port.
func startKubelet(t *testing.T, config *tls.Config) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
		client := "nobody"
		if len(r.TLS.PeerCertificates) > 0 {
			client = r.TLS.PeerCertificates[0].Subject.String()
		}
		text := fmt.Sprintf("%s %s at %s by %s", r.Method, r.RequestURI, host, client)
		if r.Header.Get("Upgrade") == "" {
			_, _ = io.WriteString(w, text)
			return
		}
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n%s", r.Header.Get("Upgrade"), text)
		_ = c.Close()
	}))
	require.NoError(t, s.Listener.Close())
	s.Listener, s.TLS, s.Config.ErrorLog = listener, config, log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}

// nodes creates nodes with all sets of addresses on the good kubelet, and one for each other kubelet, and a
// pod on each node. It returns their names.
func (w *kubeletWorld) nodes(l *live) []string {
	l.t.Helper()
	var names []string
	node := func(name, port string, addresses ...string) {
		var all []map[string]string
		for _, a := range addresses {
			kind, at, _ := strings.Cut(a, "=")
			all = append(all, map[string]string{"type": kind, "address": at})
		}
		status, err := json.Marshal(all)
		require.NoError(l.t, err)
		l.must(201, "POST", "/api/v1/nodes", fmt.Sprintf(`{"metadata":{"name":%q},"status":{"addresses":%s,"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, name, status, port))
		l.must(201, "POST", core+"pods", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":%[1]q,"containers":[{"name":"c","image":"x"}]}}`, name))
		names = append(names, name)
	}
	l.must(201, "POST", core+"serviceaccounts", `{"metadata":{"name":"default"}}`)
	for name, port := range w.ports {
		node(name, port, "InternalIP="+w.address)
	}
	good := w.ports["good"]
	node("every-type", good, "ExternalIP=127.0.0.3", "Hostname=localhost", "InternalIP="+w.address, "ExternalDNS=127.0.0.1", "InternalDNS=127.0.0.2")
	node("no-name", good, "ExternalIP=127.0.0.3", "InternalIP="+w.address)
	node("name", good, "Hostname=localhost", "InternalIP="+w.address)
	node("outside", good, "ExternalDNS=127.0.0.1", "ExternalIP=127.0.0.3")
	node("two", good, "InternalIP=127.0.0.2", "InternalIP="+w.address)
	node("unresolved", good, "Hostname=nowhere.invalid")
	node("no-address", good)
	node("no-port", "0", "InternalIP=127.0.0.1")
	return names
}

// variable is what messages about the network have of the moment, the machine and its resolver.
var variable = regexp.MustCompile(`readLoopPeekFailLocked: |on [0-9.]+:53|read udp [^ ]+|: (no such host|server misbehaving|i/o timeout|Temporary failure.*)`)

// TestKubeletsBeside connects to kubelets through both servers: logs, upgraded streams and the proxy of
// nodes, by each address that a node may have, with and without verification of their certificates.
func TestKubeletsBeside(t *testing.T) {
	w := startKubelets(t)
	pair := []string{"--kubelet-client-certificate=" + w.files.cert, "--kubelet-client-key=" + w.files.key}
	for name, flags := range map[string][]string{
		"verified": append(pair, "--kubelet-certificate-authority="+w.files.ca),
		"kubeadm":  append(pair, "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname"),
		"external": {"--kubelet-preferred-address-types=ExternalIP", "--kubelet-certificate-authority=" + w.files.ca, "--kubelet-client-certificate=", "--kubelet-client-key="},
	} {
		t.Run(name, func(t *testing.T) {
			theirs, ours := startUpstream(t, flags...), startLive(t, flags...)
			w.nodes(theirs)
			for _, node := range w.nodes(ours) {
				for _, path := range []string{core + "pods/" + node + "/log", core + "pods/" + node + "/log?insecureSkipTLSVerifyBackend=true&tailLines=1",
					core + "pods/" + node + "/exec?command=ls&stdout=1", core + "pods/" + node + "/attach?stdin=1&tty=1", core + "pods/" + node + "/portforward?ports=80",
					"/api/v1/nodes/" + node + "/proxy/stats", "/api/v1/nodes/" + node + "/proxy/exec"} {
					var header []string
					if strings.Contains(path, "exec") || strings.Contains(path, "attach") || strings.Contains(path, "portforward") {
						header = []string{"Connection: Upgrade", "Upgrade: SPDY/3.1"}
					}
					compareKubelet(t, path, theirs.raw("GET", path, "", header...), ours.raw("GET", path, "", header...))
				}
			}
		})
	}
}

// compareKubelet compares code and body of responses: those of the kubelet, or errors because there was none.
func compareKubelet(t *testing.T, path string, theirs, ours seen) {
	t.Helper()
	text := func(s seen) string {
		var status struct{ Reason, Message string }
		if json.Unmarshal([]byte(s.Body), &status) == nil && status.Message != "" {
			s.Body = status.Reason + " " + status.Message
		}
		return variable.ReplaceAllString(strings.TrimSpace(s.Body), "")
	}
	if theirs.Code == 400 && strings.Contains(path, "proxy") && (strings.Contains(theirs.Body, "address not allowed") || strings.Contains(theirs.Body, "lookup nowhere.invalid")) {
		return // docs/differences.md
	}
	assert.Equal(t, fmt.Sprint(theirs.Code, " ", text(theirs)), fmt.Sprint(ours.Code, " ", text(ours)), path)
}
