package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hookCalls is a webhook that records its calls: the path, and what the request is about. The paths begin
// with m or v, for mutating and validating. m1 adds a label to what has none, and m2 an annotation.
type hookCalls struct {
	*httptest.Server
	mu  sync.Mutex
	all []string
}

func newHookCalls(t *testing.T) *hookCalls {
	h := &hookCalls{}
	h.Server = httptest.NewTLSServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hookCalls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string
		Request    struct {
			UID, Name, Namespace, Operation, SubResource string
			Resource                                     struct{ Resource string }
			DryRun                                       bool
			Options                                      struct{ Kind string }
			Object, OldObject                            *struct {
				Metadata struct{ Labels, Annotations map[string]string }
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q := &review.Request
	call := fmt.Sprintf("%s %s %s/%s %s/%s dryRun=%t %s old=%t", r.URL.RequestURI(), q.Operation, q.Resource.Resource, q.SubResource, q.Namespace, q.Name, q.DryRun, q.Options.Kind, q.OldObject != nil)
	patch := ""
	if q.Object != nil {
		call += fmt.Sprint(" ", q.Object.Metadata.Labels, q.Object.Metadata.Annotations)
		switch {
		case strings.HasPrefix(r.URL.Path, "/m1") && q.Object.Metadata.Labels == nil:
			patch = `[{"op":"add","path":"/metadata/labels","value":{"by":"m1"}}]`
		case strings.HasPrefix(r.URL.Path, "/m2") && q.Object.Metadata.Annotations == nil:
			patch = `[{"op":"add","path":"/metadata/annotations","value":{"by":"m2"}}]`
		}
	}
	h.mu.Lock()
	h.all = append(h.all, call)
	h.mu.Unlock()
	response := map[string]any{"uid": q.UID, "allowed": q.Name != "refused" || !strings.HasPrefix(r.URL.Path, "/v")}
	if patch != "" {
		response["patchType"], response["patch"] = "JSONPatch", []byte(patch)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": "AdmissionReview", "response": response})
}

// take returns the calls since the last take. Validating webhooks are called at once, so theirs are sorted.
func (h *hookCalls) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := h.all
	h.all = nil
	if i := slices.IndexFunc(calls, func(c string) bool { return strings.HasPrefix(c, "/v") }); i >= 0 {
		slices.Sort(calls[i:])
	}
	return calls
}

// configuration is a step that registers two webhooks of a kind for config maps.
func (h *hookCalls) configuration(kind string) step {
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
	var hooks []string
	for i, policy := range []string{"IfNeeded", "Never"} {
		reinvocation := ""
		if kind == "mutating" {
			reinvocation = `, "reinvocationPolicy": "` + policy + `"`
		}
		hooks = append(hooks, fmt.Sprintf(`{"name": "h%d.a.test", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"url": "%s/%c%d", "caBundle": %q},
			"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]%s}`, i+1, h.URL, kind[0], i+1, ca, reinvocation))
	}
	return step{method: "POST", path: "/apis/admissionregistration.k8s.io/v1/" + kind + "webhookconfigurations",
		body: `{"metadata": {"name": "order"}, "webhooks": [` + strings.Join(hooks, ",") + `]}`}
}

// TestWebhookOrderBeside compares which webhooks both servers call, in which order and with what, for each
// kind of request: mutating ones before validating ones, again after a later one has changed something, and
// none for reads.
func TestWebhookOrderBeside(t *testing.T) {
	servers := []*live{startUpstream(t), startLive(t)}
	calls := []*hookCalls{newHookCalls(t), newHookCalls(t)}
	for i, l := range servers {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
		for _, kind := range []string{"mutating", "validating"} {
			s := calls[i].configuration(kind)
			l.must(http.StatusCreated, s.method, s.path, s.body)
		}
		l.until("all webhooks are called", func() bool {
			_ = l.verdict("POST", core+"configmaps?dryRun=All", `{"metadata": {"name": "try"}}`)
			got := strings.Join(calls[i].take(), "\n")
			return strings.Contains(got, "/m2") && strings.Contains(got, "/v2")
		})
	}
	const one, fieldManager = core + "configmaps/a", "?fieldManager=t"
	for _, s := range []step{
		{method: "POST", path: core + "configmaps", body: `{"metadata": {"name": "a"}}`},
		{method: "POST", path: core + "configmaps", body: `{"metadata": {"name": "b", "labels": {"a": "b"}}}`},
		{method: "POST", path: core + "configmaps", body: `{"metadata": {"name": "c", "labels": {"a": "b"}, "annotations": {"a": "b"}}}`},
		{method: "POST", path: core + "configmaps", body: `{"metadata": {"name": "refused"}}`},
		{method: "POST", path: core + "configmaps?dryRun=All", body: `{"metadata": {"name": "d"}}`},
		{method: "POST", path: core + "secrets", body: `{"metadata": {"name": "a"}}`},
		{method: "GET", path: one}, {method: "GET", path: core + "configmaps"}, {method: "GET", path: core + "configmaps?watch=true&timeoutSeconds=1"},
		{method: "PATCH", path: one, body: `{"data": {"a": "b"}}`, contentType: "application/merge-patch+json"},
		{method: "PATCH", path: one, body: `{"metadata": {"labels": null}}`, contentType: "application/merge-patch+json"},
		{method: "PATCH", path: one, body: `{}`, contentType: "application/merge-patch+json"},
		{method: "PUT", path: one, body: `{"metadata": {"name": "a"}, "data": {"a": "c"}}`},
		{method: "PUT", path: core + "configmaps/missing", body: `{"metadata": {"name": "missing"}}`},
		{method: "PATCH", path: one + fieldManager, body: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}}`, contentType: "application/apply-patch+yaml"},
		{method: "PATCH", path: core + "configmaps/applied" + fieldManager, body: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}}`, contentType: "application/apply-patch+yaml"},
		{method: "DELETE", path: one}, {method: "DELETE", path: core + "configmaps/missing"}, {method: "DELETE", path: core + "configmaps/b?dryRun=All"},
		{method: "DELETE", path: core + "configmaps?labelSelector=a%3Db"},
	} {
		var codes [2]int
		var seen [2][]string
		for i, l := range servers {
			req := l.request("admin", s.method, s.path, s.body)
			if s.contentType != "" {
				req.Header.Set("Content-Type", s.contentType)
			}
			resp, err := l.http2.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			codes[i], seen[i] = resp.StatusCode, calls[i].take()
			if strings.Contains(s.path, "labelSelector") { // docs/differences.md: ours have the names
				for j, call := range seen[i] {
					seen[i][j] = strings.NewReplacer("default/b ", "default/ ", "default/c ", "default/ ").Replace(call)
				}
			}
		}
		assert.Equal(t, codes[0], codes[1], "%v", s)
		assert.Equal(t, seen[0], seen[1], "%v", s)
		if s.method == http.MethodGet {
			assert.Empty(t, seen[1], "%v", s)
		}
	}
}
