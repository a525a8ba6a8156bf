package apiserver_test

import (
	"testing"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/stretchr/testify/require"
)

func TestEvictionChecksBudget(t *testing.T) {
	s := start(t, apiserver.Options{})
	p := pod("p")
	p["metadata"].(map[string]any)["labels"] = map[string]any{"app": "a"}
	s.do("POST", pods, p).ok(201)
	s.do("PATCH", pods+"/p/status", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, "Content-Type", "application/strategic-merge-patch+json").ok(200)
	budgets := "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	s.do("POST", budgets, `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"a"}}}}`).ok(201)
	s.do("PATCH", budgets+"/b/status", `{"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}`, "Content-Type", "application/merge-patch+json").ok(200)
	got := s.do("POST", pods+"/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`)
	no := got.ok(429)
	require.Equal(t, "TooManyRequests", no.str("reason"))
	require.Empty(t, got.header.Get("Retry-After"), "kubectl drain waits and reports it")
	require.Contains(t, no.str("message"), "disruption budget b needs 1 healthy pods")
	s.do("PATCH", budgets+"/b/status", `{"status":{"disruptionsAllowed":1}}`, "Content-Type", "application/merge-patch+json").ok(200)
	s.do("POST", pods+"/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`).ok(201)
	s.do("GET", pods+"/p", nil).ok(404)
	b := s.do("GET", budgets+"/b", nil).ok(200)
	require.EqualValues(t, 0, b.at("status.disruptionsAllowed"))
	require.NotNil(t, b.at("status.disruptedPods.p"))
}
