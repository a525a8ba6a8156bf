package apimetrics_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/examples/internal/familytest"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// The server has the metrics that dashboards for Kubernetes use.
func TestFamilies(t *testing.T) {
	m := apimetrics.New()
	checked := registry.Options{Cache: cache.Options{CheckEvery: time.Millisecond}}
	st := memory.New(memory.Options{})
	defer st.Close()
	o := apiserver.Options{Store: st, Registry: checked, StartHook: controlplane.Bookkeeping(controlplane.BookkeepingOptions{})}
	m.Measure(&o)
	s, err := apiserver.New(o)
	require.NoError(t, err)
	require.NoError(t, m.Watch(s))
	m.Features(featuregate.New(featuregate.MajorMinor(1, 36)))
	familytest.RequireEach(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = s.Run(ctx); close(done) }()
	front := httptest.NewServer(s)
	defer func() {
		cancel()
		<-done
		front.Close()
	}()
	get := func(path string) string {
		resp, err := http.Get(front.URL + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, 200, resp.StatusCode, path)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(b)
	}
	post := func(path, body string) {
		resp, err := http.Post(front.URL+path, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 201, resp.StatusCode, path)
	}
	post("/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"}}`)
	get("/api/v1/namespaces/default/configmaps/a")
	get("/api/v1/configmaps?watch=1&timeoutSeconds=1")
	get("/api/v1/namespaces")
	get("/api/v1/endpoints")
	get("/readyz")
	checks := `apiserver_storage_consistency_checks_total{group="",resource="namespaces",status="success"} `
	text := get("/metrics")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(text, checks) && time.Now().Before(deadline); text = get("/metrics") {
	}
	require.Contains(t, text, checks)
	for _, line := range []string{
		`apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="namespaces",scope="cluster",subresource="",verb="LIST",version="v1"} 1`,
		`apiserver_request_duration_seconds_count{component="apiserver",dry_run="",group="",resource="namespaces",scope="cluster",subresource="",verb="LIST",version="v1"} 1`,
		`apiserver_current_inflight_requests{request_kind="mutating"} 0`,
		`apiserver_storage_objects{resource="namespaces"} 4`,
		`apiserver_storage_objects{resource="deployments.apps"} 0`,
		`apiserver_resource_objects{group="",resource="namespaces"} 4`,
		`apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1`,
		`apiserver_watch_cache_initializations_total{group="",resource="namespaces"} 1`,
		`apiserver_storage_objects{resource="configmaps"} 2`, // and that about tokens in secrets
		`etcd_requests_total{group="",operation="create",resource="configmaps"} 1`,
		`etcd_requests_total{group="",operation="get",resource="configmaps"} 2`,
		`etcd_request_errors_total{group="",operation="create",resource="configmaps"} 0`,
		`etcd_request_duration_seconds_count{group="",operation="create",resource="configmaps"} 1`,
		`apiserver_flowcontrol_current_executing_seats{flow_schema="exempt",priority_level="exempt"} 1`,
		`apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"} 245`,
	} {
		require.True(t, slices.Contains(strings.Split(text, "\n"), line), line)
	}
	require.Regexp(t, `(?m)^kubernetes_build_info\{.*git_version="v1\.36.*major="1",minor="36".*\} 1$`, text)
	require.Regexp(t, `(?m)^apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} [1-9]`, text)
	require.Regexp(t, `(?m)^apiserver_resource_size_estimate_bytes\{group="",resource="namespaces"\} [1-9]`, text)
	require.Regexp(t, `(?m)^apiserver_watch_cache_resource_version\{group="",resource="namespaces"\} [1-9]`, text)
	familytest.RequireUpstreams(t, text)
	for _, family := range []string{"process_start_time_seconds", "go_goroutines", "apiserver_response_sizes_count",
		"apiserver_flowcontrol_current_executing_requests"} {
		require.Regexp(t, `(?m)^`+regexp.QuoteMeta(family)+`[ {]`, text)
	}
	require.False(t, slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool {
		return strings.Contains(l, "_storage_objects") && strings.HasSuffix(l, " -1")
	}))
}
