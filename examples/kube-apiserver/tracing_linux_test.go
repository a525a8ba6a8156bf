package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/collector"
	"github.com/keelson-dev/keelson/store/storetest"
)

// tracingFile writes the file of --tracing-config-file.
func tracingFile(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracing.yaml")
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"+lines), 0o600))
	return path
}

// A request's span has below it that of the webhook that it calls, which gets the trace's context. The
// decision of a member of system:masters counts; others have none, and no span at a rate of 0.
func TestTracing(t *testing.T) {
	traces := collector.Start(t)
	l := startLive(t, "--tracing-config-file="+tracingFile(t, "endpoint: "+traces.Address+"\n"))
	l.hold()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, token := range []string{"user", "admin"} {
		r := l.request(token, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":%q}}`, token))
		r.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		resp, err := l.http2.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusCreated, resp.StatusCode)
		if token == "admin" {
			span := traces.Wait(t, "the request", func(s collector.Span) bool { return strings.HasPrefix(s.Name, "POST /") })
			require.Equal(t, collector.Span{Service: "apiserver", Name: "POST /api/v1/namespaces/{:namespace}/configmaps", TraceID: trace, ID: span.ID, ParentID: "00f067aa0ba902b7", Attributes: span.Attributes}, span)
			require.Equal(t, resp.Header.Get("Audit-Id"), span.Attributes["audit-id"])
			require.Equal(t, configMaps, span.Attributes["http.target"])
			call := traces.Wait(t, "the webhook", func(s collector.Span) bool { return s.Name == "HTTP POST" })
			require.Equal(t, span.ID, call.ParentID)
			require.Equal(t, trace, call.TraceID)
		}
	}
	require.NoError(t, l.cmd.Process.Signal(os.Interrupt))
	<-l.ended
	require.Len(t, traces.Spans(), 2)
}

// At a rate of a million each request is a trace of its own; the calls of etcd are below it.
func TestTracingOfEtcd(t *testing.T) {
	traces := collector.Start(t)
	e := storetest.StartEtcd(t)
	l := startLive(t, "--storage-backend=etcd3", "--etcd-servers="+e.Endpoint, "--generate-service-account-key", "--service-account-issuer=https://kubernetes.default.svc",
		"--tracing-config-file="+tracingFile(t, "endpoint: "+traces.Address+"\nsamplingRatePerMillion: 1000000\n"))
	l.must(http.StatusCreated, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
	span := traces.Wait(t, "the request", func(s collector.Span) bool {
		return s.Name == "POST /api/v1/namespaces/{:namespace}/configmaps"
	})
	require.Empty(t, span.ParentID)
	call := traces.Wait(t, "the transaction", func(s collector.Span) bool { return s.ParentID == span.ID })
	require.Equal(t, "etcdserverpb.KV/Txn", call.Name)
}

// Wrong files refuse the start, with file and field.
func TestTracingFileRefused(t *testing.T) {
	for _, lines := range []string{"samplingRatePerMillion: 2000000\n", "endpoint: http://collector\n", "sampling: 3\n"} {
		file := tracingFile(t, lines)
		err := run([]string{"--storage-backend=memory", "--tracing-config-file=" + file})
		require.ErrorContains(t, err, "--tracing-config-file: "+file+": TracingConfiguration: ")
		field, _, _ := strings.Cut(lines, ":")
		require.ErrorContains(t, err, field)
	}
	require.ErrorContains(t, run([]string{"--storage-backend=memory", "--tracing-config-file=/none"}), "--tracing-config-file: open /none")
}

func TestSpanNames(t *testing.T) {
	for path, want := range map[string]string{
		"/healthz": "GET", "/api/v1": "GET", "/apis/apps/v1": "GET", "/api": "GET",
		"/api/v1/pods":                                  "GET /api/v1/pods",
		"/api/v1/watch/pods":                            "GET /api/v1/pods",
		"/api/v1/nodes/n":                               "GET /api/v1/nodes/{:name}",
		"/api/v1/namespaces":                            "GET /api/v1/namespaces",
		"/api/v1/namespaces/a":                          "GET /api/v1/namespaces/{:namespace}/namespaces/{:name}",
		"/api/v1/namespaces/a/status":                   "GET /api/v1/namespaces/{:namespace}/namespaces/{:name}/status",
		"/api/v1/namespaces/a/pods/p/proxy/secret/path": "GET /api/v1/namespaces/{:namespace}/pods/{:name}/proxy",
		"/apis/apps/v1/namespaces/a/deployments/d":      "GET /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}",
	} {
		r, err := http.NewRequest(http.MethodGet, "https://server"+path, nil)
		require.NoError(t, err)
		require.Equal(t, want, spanName(r), path)
	}
}
