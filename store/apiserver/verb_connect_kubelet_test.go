package apiserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/stretchr/testify/require"
)

// kubelet responds as a node's server does.
type kubelet struct{ t *testing.T }

func (k kubelet) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	require.Equal(k.t, "10.0.0.9:10250", r.URL.Host)
	require.Empty(k.t, r.Header.Get("Authorization"))
	fmt.Fprintf(w, "%s %s?%s", r.Method, r.URL.Path, r.URL.RawQuery)
	return w.Result(), nil
}

// upgrade are the headers of a request for another protocol.
var upgrade = []string{"Connection", "Upgrade", "Upgrade", "SPDY/3.1"}

func TestConnectionsToNodes(t *testing.T) {
	s := start(t, apiserver.Options{Nodes: kubelet{t}})
	s.do("POST", pods, pod("p")).ok(201)
	require.Equal(t, 204, s.do("GET", pods+"/p/log", nil).code, "not scheduled yet")
	require.Contains(t, s.do("POST", pods+"/p/exec?command=ls", nil).ok(400).str("message"), "does not have a host assigned")
	s.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n1"},"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}}`).ok(201)
	s.do("POST", pods+"/p/binding", `{"metadata":{"name":"p"},"target":{"name":"n1"}}`).ok(201)
	get := func(path string, header ...string) string {
		got := s.do("GET", path, nil, append(header, "Authorization", "Bearer secret")...)
		require.Equal(t, 200, got.code, "%s", got.body)
		return string(got.body)
	}
	require.Equal(t, "GET /containerLogs/default/p/c?follow=true&tailLines=5", get(pods+"/p/log?follow=true&tailLines=5"))
	require.Equal(t, "GET /exec/default/p/c?command=ls&command=-l&input=1&output=1", get(pods+"/p/exec?command=ls&command=-l&stdin=true&stdout=1", upgrade...))
	require.Equal(t, "GET /portForward/default/p?port=80", get(pods+"/p/portforward?ports=80", upgrade...))
	require.Equal(t, "Upgrade request required", s.do("GET", pods+"/p/attach", nil).ok(400).str("message"))
	require.Equal(t, "GET /metrics/cadvisor?a=b", get("/api/v1/nodes/n1/proxy/metrics/cadvisor?a=b"))
	s.do("GET", pods+"/p/log?container=nope", nil).ok(400)
	s.do("GET", pods+"/absent/log", nil).ok(404)
}

// TestLogsOfUnverifiedNodes: a kubelet whose certificate is not valid is not reached, but for logs that are
// read with the parameter that says so.
func TestLogsOfUnverifiedNodes(t *testing.T) {
	node := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s?%s", r.URL.Path, r.URL.RawQuery)
	}))
	node.Config.ErrorLog = log.New(io.Discard, "", 0)
	node.StartTLS()
	t.Cleanup(node.Close)
	reads, refused, streams := map[bool]int{}, 0, []string(nil)
	s := start(t, apiserver.Options{Local: true,
		Nodes:           &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}},
		NodesUnverified: node.Client().Transport,
		Metrics:         apiserver.Metrics{LogRead: func(unverified bool) { reads[unverified]++ }, LogRefused: func() { refused++ }, Streamed: func(of string, _ bool) { streams = append(streams, of) }}})
	at, err := url.Parse(node.URL)
	require.NoError(t, err)
	s.do("POST", "/api/v1/nodes", fmt.Sprintf(`{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":%q}],
		"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, at.Hostname(), at.Port())).ok(201)
	s.do("POST", pods, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}}`).ok(201)

	for range 2 {
		require.Contains(t, s.do("GET", pods+"/p/log?insecureSkipTLSVerifyBackend=false", nil).ok(500).str("message"), "certificate signed by unknown authority")
		got := s.do("GET", pods+"/p/log?insecureSkipTLSVerifyBackend=true&tailLines=3", nil)
		require.Equal(t, 200, got.code, "%s", got.body)
		require.Equal(t, "/containerLogs/default/p/c?tailLines=3", string(got.body))
	}
	for _, path := range []string{pods + "/p/exec?command=ls&insecureSkipTLSVerifyBackend=true", "/api/v1/nodes/n/proxy/logs/?insecureSkipTLSVerifyBackend=true"} {
		require.Contains(t, string(s.do("GET", path, nil, upgrade...).body), "certificate signed by unknown authority", path)
	}
	require.Equal(t, map[bool]int{true: 2, false: 2}, reads)
	require.Equal(t, 2, refused)
	require.Equal(t, []string{"exec"}, streams, "the one that was passed on")
}
