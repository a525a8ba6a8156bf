package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loopbackPolicy records the requests to paths that no server has.
const loopbackPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata, nonResourceURLs: ["/hooks/*"]}]
`

// loopbackEvent is the compared part of an audit event.
type loopbackEvent struct {
	Verb, RequestURI string
	User             struct {
		Username string
		Groups   []string
	}
	ResponseStatus struct{ Code int }
}

// loopbackDefinition is of custom resources that the API server itself is to convert.
const loopbackDefinition = `{"metadata": {"name": "rods.a.test"}, "spec": {"group": "a.test", "scope": "Cluster", "names": {"plural": "rods", "kind": "Rod"},
	"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"namespace": "default", "name": "kubernetes", "path": "/hooks/convert"}}}},
	"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
		{"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`

// TestLoopbackBeside lets webhooks of all kinds name the API server, and compares the refusals and what the
// audit log says about the calls: the server calls itself as system:apiserver.
func TestLoopbackBeside(t *testing.T) {
	var want []loopbackEvent
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte(loopbackPolicy), 0o600))
	start := func(start func(*testing.T, ...string) *live) (*live, string) {
		log := filepath.Join(t.TempDir(), "audit.log")
		return start(t, "--audit-policy-file="+policy, "--audit-log-path="+log), log
	}
	theirs, theirLog := start(startUpstream)
	ours, ourLog := start(startLive)
	hook := func(kind, path string) step {
		return step{method: "POST", path: "/apis/admissionregistration.k8s.io/v1/" + strings.ToLower(kind) + "webhookconfigurations", body: `{"metadata": {"name": "self"}, "webhooks": [{
			"name": "self.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "matchPolicy": "Exact", "clientConfig": {"service": {"namespace": "default", "name": "kubernetes", "path": "` + path + `"}},
			"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["` + map[string]string{"Mutating": "configmaps", "Validating": "secrets"}[kind] + `"]}]}]}`}
	}
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
		for _, s := range []step{hook("Mutating", "/hooks/mutate"), hook("Validating", "/hooks/validate")} {
			l.must(http.StatusCreated, s.method, s.path, s.body)
		}
		for _, resource := range []string{"configmaps", "secrets"} {
			l.until("the webhook is called", func() bool {
				return l.verdict("POST", core+resource+"?dryRun=All", `{"metadata": {"name": "try"}}`).Code != http.StatusCreated
			})
		}
	}
	const rods = "/apis/a.test/v1/rods"
	for _, l := range []*live{theirs, ours} {
		l.must(http.StatusCreated, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", loopbackDefinition)
		l.until("rods are served", func() bool { return l.code(l.http2, rods) == http.StatusOK })
		l.until("a rod is created", func() bool { // 429 until upstream's storage is ready
			return l.verdict("POST", rods, `{"apiVersion": "a.test/v1", "kind": "Rod", "metadata": {"name": "a"}}`).Code == http.StatusCreated
		})
	}
	for _, s := range []step{
		{method: "POST", path: core + "configmaps", body: `{"metadata": {"name": "a"}}`}, {method: "POST", path: core + "secrets", body: `{"metadata": {"name": "a"}}`},
		{method: "GET", path: "/apis/a.test/v2/rods/a"}, {method: "GET", path: "/apis/a.test/v2/rods"},
		{method: "POST", path: "/apis/a.test/v2/rods", body: `{"apiVersion": "a.test/v2", "kind": "Rod", "metadata": {"name": "b"}}`},
		{method: "PUT", path: "/apis/a.test/v2/rods/a", body: `{"apiVersion": "a.test/v2", "kind": "Rod", "metadata": {"name": "a"}}`},
		{method: "PATCH", path: "/apis/a.test/v2/rods/a", body: `{"metadata": {"labels": {"a": "b"}}}`}, {method: "DELETE", path: "/apis/a.test/v2/rods/a"},
	} {
		assert.Equal(t, refused(t, theirs, "admin", s), refused(t, ours, "admin", s))
	}
	for i, log := range []string{theirLog, ourLog} {
		l := []*live{theirs, ours}[i]
		var got []loopbackEvent
		l.until("the calls are in the audit log", func() bool {
			got = loopbackEvents(t, log)
			return len(got) >= 3
		})
		if i == 0 {
			want = got
		}
		require.Equal(t, want, got)
	}
}

// loopbackEvents reads the different events of an audit log.
func loopbackEvents(t *testing.T, log string) (all []loopbackEvent) {
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		var e loopbackEvent
		if strings.HasSuffix(line, "\n") {
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		}
		if e.RequestURI != "" && !slices.ContainsFunc(all, func(o loopbackEvent) bool { return o.RequestURI == e.RequestURI }) {
			all = append(all, e)
		}
	}
	return all
}
