package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const echoes = "/apis/echo.test/v1"

// startEcho starts an aggregated server at address that responds with requests as they arrive, and returns
// its port.
func startEcho(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	require.NoError(t, err)
	b := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == echoes && r.Header.Get("X-Mirror") == "":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"echo.test/v1","resources":[{"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get"]}]}`)
		case strings.HasPrefix(r.URL.Path, echoes):
			mirror(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	require.NoError(t, b.Listener.Close())
	b.Listener = l
	b.StartTLS()
	t.Cleanup(b.Close)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// TestAggregatedRequestsBeside sends requests through the aggregation of both servers, and compares what
// arrives at the aggregated server, header by header, and what comes back.
func TestAggregatedRequestsBeside(t *testing.T) {
	address := reachable(t)
	port := startEcho(t, address)
	theirs, ours := startUpstream(t, frontFlags(t, t.TempDir())...), startLive(t, frontFlags(t, t.TempDir())...)
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
		l.must(201, "POST", core+"services", `{"metadata":{"name":"echo"},"spec":{"ports":[{"name":"api","port":443,"targetPort":`+port+`}]}}`)
		l.must(201, "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", fmt.Sprintf(`{"metadata":{"name":"echo","labels":{"kubernetes.io/service-name":"echo"}},"addressType":"IPv4","ports":[{"name":"api","port":%s}],"endpoints":[{"addresses":[%q],"conditions":{"ready":true}}]}`, port, address))
		l.must(201, "POST", apiServices, `{"metadata":{"name":"v1.echo.test"},"spec":{"group":"echo.test","version":"v1","groupPriorityMinimum":1000,"versionPriority":15,"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"echo","port":443}}}`)
		l.until("it is available", func() bool { return l.code(l.http2, echoes) == http.StatusOK })
	}
	var same walk = func(method, target, body string, header ...string) {
		t.Helper()
		want, got := theirs.raw(method, target, body, header...), ours.raw(method, target, body, header...)
		for _, s := range []*seen{&want, &got} {
			if h, ok := s.Arrived["header"].(map[string]any); ok {
				require.Len(t, h["Audit-Id"], 1, target)
				delete(h, "Audit-Id")
			}
		}
		if strings.Contains(target, "?html=") { // its links are not changed: docs/differences.md
			require.Contains(t, target, url.QueryEscape(got.Body))
			got.Body = want.Body
		}
		if strings.Contains(want.Body, "error trying to parse Location header") {
			require.Equal(t, http.StatusBadGateway, got.Code, "as every redirect")
			return
		}
		if alike(target, &want, &got) {
			assert.Equal(t, want, got, "%s %s %q", method, target, header)
		}
	}
	prefix := echoes + "/namespaces/default/things/x"
	same.paths(prefix)
	same.headers(prefix)
	same.responses(prefix)
	same.links(prefix, address+":"+port, address+":1")
	same.upgrades(prefix)
}
