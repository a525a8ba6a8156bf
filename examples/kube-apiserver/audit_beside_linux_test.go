package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// besideAuditPolicy records the requests of a user at all levels, by what they are about.
const besideAuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- {level: None, users: [admin], verbs: [get], resources: [{group: "", resources: [namespaces]}]}
- {level: Metadata, users: [admin], resources: [{group: "", resources: [secrets]}], omitStages: [RequestReceived]}
- {level: Request, users: [admin], resources: [{group: "", resources: [configmaps]}], omitStages: [RequestReceived]}
- {level: RequestResponse, users: [admin], resources: [{group: "", resources: [serviceaccounts, "serviceaccounts/token"]}, {group: rbac.authorization.k8s.io}]}
- {level: Metadata, users: [admin], nonResourceURLs: ["/version"]}
`

// momentary are the parts of an event that differ between two runs of one server.
var momentary = regexp.MustCompile(`"(uid|creationTimestamp|resourceVersion|token|expirationTimestamp|authentication.kubernetes.io/issued-credential-id)":"[^"]*"`)

// accountUID is how a message names the UID of the account.
var accountUID = regexp.MustCompile(` of the service account \([^)]*\)`)

// auditEvents reads the events of a log, in the order of the requests, without what is momentary.
func auditEvents(t *testing.T, log string) (all []map[string]any) {
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var e map[string]any
		line = accountUID.ReplaceAllString(momentary.ReplaceAllString(line, `"$1":""`), "")
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		if options, ok := e["requestObject"].(map[string]any); ok && options["apiVersion"] == "meta.k8s.io/__internal" {
			options["apiVersion"] = "meta.k8s.io/v1" // upstream shows that it has decoded them
		}
		for _, field := range []string{"auditID", "requestReceivedTimestamp", "stageTimestamp", "sourceIPs"} {
			require.NotEmpty(t, e[field], field)
			delete(e, field)
		}
		all = append(all, e)
	}
	return all
}

// TestAuditBeside sends the same requests to both servers with the same policy, and compares all events.
func TestAuditBeside(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte(besideAuditPolicy), 0o600))
	var events [2][]map[string]any
	for i, start := range []func(*testing.T, ...string) *live{startUpstream, startLive} {
		log := filepath.Join(t.TempDir(), "audit.log")
		l := start(t, "--audit-policy-file="+policy, "--audit-log-path="+log)
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
		merge := func(path, body string) step {
			return step{method: "PATCH", path: path, body: body, contentType: "application/merge-patch+json"}
		}
		const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
		for _, s := range []step{
			{method: "POST", path: core + "secrets", body: `{"metadata": {"name": "s"}, "stringData": {"k": "hidden"}}`},
			{method: "GET", path: core + "secrets/s"}, {method: "GET", path: core + "secrets?limit=5"}, {method: "GET", path: core + "secrets?watch=true&timeoutSeconds=1"},
			merge(core+"secrets/s", `{"stringData": {"k": "hidden too"}}`), {method: "DELETE", path: core + "secrets/s"},
			{method: "POST", path: core + "configmaps", body: `{"metadata": {"name": "m"}, "data": {"k": "v"}}`},
			{method: "POST", path: core + "configmaps", body: `{"metadata": {"generateName": "m-"}}`},
			{method: "POST", path: core + "configmaps", body: `{"metadata": {"name": "m"}}`},
			{method: "PUT", path: core + "configmaps/m", body: `{"metadata": {"name": "m"}, "data": {"k": "w"}}`}, merge(core+"configmaps/m", `{"data": {"k": "x"}}`),
			{method: "GET", path: core + "configmaps/missing"}, {method: "DELETE", path: core + "configmaps/m?gracePeriodSeconds=0"},
			{method: "POST", path: core + "serviceaccounts", body: `{"metadata": {"name": "a"}}`}, {method: "GET", path: core + "serviceaccounts/a"},
			{method: "POST", path: core + "serviceaccounts/a/token", body: `{"spec": {"audiences": ["x"], "expirationSeconds": 600}}`},
			{method: "POST", path: core + "serviceaccounts/a/token", body: `{"metadata": {"uid": "another"}, "spec": {"audiences": ["x"], "expirationSeconds": 600}}`},
			{method: "POST", path: roles, body: `{"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}`},
			{method: "POST", path: roles, body: `{"metadata": {"name": "bad"}, "rules": [{"apiGroups": [""], "verbs": ["get"]}]}`}, {method: "DELETE", path: roles + "/r", body: `{"propagationPolicy": "Background"}`},
			{method: "GET", path: "/version"},
		} {
			req := l.request("admin", s.method, s.path, s.body)
			if s.contentType != "" {
				req.Header.Set("Content-Type", s.contentType)
			}
			resp, err := l.http2.Do(req)
			require.NoError(t, err)
			require.NotEmpty(t, resp.Header.Get("Audit-Id"), "%v", s)
			require.NoError(t, resp.Body.Close())
		}
		l.until("the last event is written", func() bool {
			events[i] = auditEvents(t, log)
			return len(events[i]) > 0 && events[i][len(events[i])-1]["requestURI"] == "/version" && events[i][len(events[i])-1]["stage"] == "ResponseComplete"
		})
	}
	require.Len(t, events[1], len(events[0]))
	for i, want := range events[0] {
		assert.Equal(t, want, events[1][i])
	}
	all, err := json.Marshal(events[1])
	require.NoError(t, err)
	require.NotContains(t, string(all), "hidden")
}
