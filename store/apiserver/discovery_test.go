package apiserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

func TestLegacyDiscoveryIsUpstreams(t *testing.T) {
	var want map[string]json.RawMessage
	load(t, "testdata/discovery_legacy.json", &want)
	s := start(t, apiserver.Options{Computed: reviews(t)})
	for path, body := range want {
		got := s.do("GET", path, nil)
		require.Equal(t, 200, got.code, path)
		require.JSONEq(t, strings.ReplaceAll(string(body), "HOST:PORT", "server"), string(got.body), path)
	}
}

func TestAggregatedDiscoveryIsUpstreams(t *testing.T) {
	var want map[string]struct {
		ContentType string
		Body        json.RawMessage
	}
	load(t, "testdata/discovery_aggregated.json", &want)
	s := start(t, apiserver.Options{Computed: reviews(t)})
	accept := "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
	for path, w := range want {
		got := s.do("GET", path, nil, "Accept", accept)
		require.Equal(t, w.ContentType, got.header.Get("Content-Type"))
		require.JSONEq(t, string(w.Body), string(got.body), path)
		etag := got.header.Get("Etag")
		require.NotEmpty(t, etag)
		require.Equal(t, "Accept", got.header.Get("Vary"))
		require.Equal(t, http.StatusNotModified, s.do("GET", path, nil, "Accept", accept, "If-None-Match", etag).code)
	}
	// A client that prefers the older form gets it.
	require.Equal(t, "APIGroupList", s.do("GET", "/apis", nil, "Accept", "application/json").ok(200).str("kind"))
}

func TestDiscoveryNotFound(t *testing.T) {
	s := start(t, apiserver.Options{})
	for _, path := range []string{"/apis/nope.test", "/apis/apps/v9", "/api/v2", "/apis/a/b/c/d/e/f/g", "/nope"} {
		require.Equal(t, "NotFound", s.do("GET", path, nil).ok(404).str("reason"), path)
	}
}

func TestVersionIndexAndHealth(t *testing.T) {
	s := start(t, apiserver.Options{})
	v := s.do("GET", "/version", nil).ok(200)
	require.Equal(t, "1", v.str("major"))
	require.Equal(t, "36", v.str("minor"))
	require.Contains(t, s.do("GET", "/", nil).ok(200)["paths"], "/apis/apps/v1")
	for _, path := range []string{"/healthz", "/livez", "/readyz", "/readyz/ping", "/livez/etcd"} {
		got := s.do("GET", path, nil)
		require.Equal(t, 200, got.code, "%s: %s", path, got.body)
		require.Equal(t, "ok", string(got.body))
	}
	got := s.do("GET", "/readyz?verbose&exclude=etcd", nil)
	require.Contains(t, string(got.body), "[+]ping ok\n")
	require.Contains(t, string(got.body), "[+]etcd excluded: ok\n")
	require.True(t, strings.HasSuffix(string(got.body), "readyz check passed\n"), "%s", got.body)
	require.Equal(t, 404, s.do("GET", "/readyz/nope", nil).code)
	got = s.do("GET", "/livez?verbose&exclude=etcd&exclude=b&exclude=a", nil)
	require.Contains(t, string(got.body), "warn: some health checks cannot be excluded: no matches for \"a\",\"b\"\n")
	require.Equal(t, "ok", string(s.do("GET", "/livez/etcd?verbose", nil).body))
}
