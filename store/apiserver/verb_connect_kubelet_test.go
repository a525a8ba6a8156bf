package apiserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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

func TestConnectionsToNodes(t *testing.T) {
	s := start(t, apiserver.Options{Nodes: kubelet{t}})
	s.do("POST", pods, pod("p")).ok(201)
	require.Equal(t, 204, s.do("GET", pods+"/p/log", nil).code, "not scheduled yet")
	require.Contains(t, s.do("POST", pods+"/p/exec?command=ls", nil).ok(400).str("message"), "does not have a host assigned")
	s.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n1"},"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}}`).ok(201)
	s.do("POST", pods+"/p/binding", `{"metadata":{"name":"p"},"target":{"name":"n1"}}`).ok(201)
	get := func(path string) string {
		got := s.do("GET", path, nil, "Authorization", "Bearer secret")
		require.Equal(t, 200, got.code, "%s", got.body)
		return string(got.body)
	}
	require.Equal(t, "GET /containerLogs/default/p/c?follow=true&tailLines=5", get(pods+"/p/log?follow=true&tailLines=5"))
	require.Equal(t, "GET /exec/default/p/c?command=ls&command=-l&input=1&output=1", get(pods+"/p/exec?command=ls&command=-l&stdin=true&stdout=1"))
	require.Equal(t, "GET /portForward/default/p?port=80", get(pods+"/p/portforward?ports=80"))
	require.Equal(t, "GET /metrics/cadvisor?a=b", get("/api/v1/nodes/n1/proxy/metrics/cadvisor?a=b"))
	s.do("GET", pods+"/p/log?container=nope", nil).ok(400)
	s.do("GET", pods+"/absent/log", nil).ok(404)
}
