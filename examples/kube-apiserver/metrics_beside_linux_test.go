package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// withoutFamilies are the families of metrics that this server does not have after the same requests, by the
// beginning of their names, each with the reason, besides those that it never has
// (../internal/apimetrics/testdata/absent.txt).
var withoutFamilies = map[string]string{
	"apiserver_request_terminations_total": "upstream's server refuses requests for a custom resource that is not ready yet; here it is at once",
	"apiserver_selfrequest_total":          "the parts of this server call it without requests",
	"grpc_client_":                         "of the client of etcd",
	"kubelet_imagemanager_":                "of the kubelet, which is in the same binary",
	"node_collector_":                      "of the controller manager, which is in the same binary",
	"rest_client_exec_plugin_":             "of client-go: this server starts no plugins",
}

// TestMetricsBeside sends the same requests to both servers, and requires of this one every family of metrics
// that the other one has then, with its type, labels and bounds.
func TestMetricsBeside(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "kms.sock")
	startKeyService(t, socket)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	hooks := startReviews(t)
	kubeconfig := func(path string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\n",
			hooks.server.URL+path, hooks.bundle)
	}
	flags := []string{"--encryption-provider-config=" + write("encryption", fmt.Sprintf(encryptionResources, cipherKey("one", '1'), cipherKey("two", '2'), socket)),
		"--encryption-provider-config-automatic-reload",
		"--authentication-token-webhook-config-file=" + write("tokens", kubeconfig("/tokens")), "--authentication-token-webhook-version=v1",
		"--authorization-config=" + write("authorization", fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- {type: Node, name: node}
- {type: RBAC, name: rbac}
- type: Webhook
  name: hook
  webhook: {timeout: 3s, subjectAccessReviewVersion: v1, matchConditionSubjectAccessReviewVersion: v1, failurePolicy: NoOpinion, connectionInfo: {type: KubeConfigFile, kubeConfigFile: %q},
    matchConditions: [{expression: "request.user != 'user'"}]}
`, write("access", kubeconfig("/access")))),
	}
	theirs := startUpstream(t, flags...)
	ours := startLive(t, append(flags, "--etcd-servers="+startPeerEtcd(t), "--storage-backend=etcd3", "--generate-service-account-key", "--service-cluster-ip-range=10.96.0.0/16")...)
	want, got := (&measured{theirs, hooks}).families(), (&measured{ours, hooks}).families()
	used := map[string]bool{}
	never, err := os.ReadFile("../internal/apimetrics/testdata/absent.txt")
	require.NoError(t, err)
	missing := func(name string) (known bool) {
		for line := range strings.Lines(string(never)) {
			prefix, _, _ := strings.Cut(line, " ")
			known = known || strings.HasPrefix(name, prefix)
		}
		for prefix := range withoutFamilies {
			if strings.HasPrefix(name, prefix) {
				known, used[prefix] = true, true
			}
		}
		return known
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch {
		case got[name] == nil && !missing(name):
			t.Errorf("%s is missing: %s", name, shape(want[name]))
		case got[name] != nil && missing(name):
			t.Errorf("%s is not missing", name)
		case got[name] != nil && shape(want[name]) != shape(got[name]):
			t.Errorf("%s\n  theirs %s\n  ours   %s", name, shape(want[name]), shape(got[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want[name] == nil {
			t.Logf("only here: %s", name) // upstream shows it after some event
		}
	}
	for prefix := range withoutFamilies {
		require.True(t, used[prefix], "upstream has no family %s", prefix)
	}
}

// shape is the type, the labels and the bounds of a family.
func shape(f *dto.MetricFamily) string {
	var labels, bounds []string
	for _, l := range f.GetMetric()[0].GetLabel() {
		labels = append(labels, l.GetName())
	}
	slices.Sort(labels)
	for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
		bounds = append(bounds, fmt.Sprintf("%.6g", b.GetUpperBound()))
	}
	for _, q := range f.GetMetric()[0].GetSummary().GetQuantile() {
		bounds = append(bounds, fmt.Sprintf("%.6g", q.GetQuantile()))
	}
	return strings.ToLower(f.GetType().String()) + " {" + strings.Join(labels, ",") + "} [" + strings.Join(bounds, ",") + "]"
}

// besideReviews is the server of all webhooks.
type besideReviews struct {
	server *httptest.Server
	bundle string
}

// startReviews starts a server that knows the token "hooked" and has no opinion on anything.
func startReviews(t *testing.T) *besideReviews {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review map[string]any
		_ = json.NewDecoder(r.Body).Decode(&review)
		status := map[string]any{}
		switch r.URL.Path {
		case "/tokens":
			if spec, _ := review["spec"].(map[string]any); spec["token"] == "hooked" {
				status = map[string]any{"authenticated": true, "user": map[string]any{"username": "hooked"}}
			}
			review["status"] = status
		case "/access":
			review["status"] = map[string]any{"allowed": false}
		case "/convert":
			request := review["request"].(map[string]any)
			for _, o := range request["objects"].([]any) {
				o.(map[string]any)["apiVersion"] = request["desiredAPIVersion"]
			}
			review["response"] = map[string]any{"uid": request["uid"], "result": map[string]any{"status": "Success"}, "convertedObjects": request["objects"]}
		default:
			review["response"] = map[string]any{"uid": review["request"].(map[string]any)["uid"], "allowed": r.URL.Path != "/deny"}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(s.Close)
	return &besideReviews{s, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))}
}

const measuredThings = `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
	"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"%s/convert","caBundle":%q}}},
	"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"n":{"type":"integer","x-kubernetes-validations":[{"rule":"self < 9"}]}}}}},
		{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"n":{"type":"integer"}}}}}]}}`

// measured is a server whose metrics are compared.
type measured struct {
	*live
	hooks *besideReviews
}

// as sends a request with a token and requires a response with one of the codes.
func (l *measured) as(token string, codes []int, method, path, body string, header ...string) string {
	l.t.Helper()
	req := l.request(token, method, path, body)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := l.http2.Do(req)
	require.NoError(l.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(l.t, err)
	require.Contains(l.t, codes, resp.StatusCode, "%s %s %s", method, path, text)
	return string(text)
}

func (l *measured) send(code int, method, path, body string) string {
	l.t.Helper()
	return l.as("admin", []int{code}, method, path, body)
}

const (
	measuredCore         = "/api/v1/namespaces/default"
	measuredRegistration = "/apis/admissionregistration.k8s.io/v1"
	measuredRBAC         = "/apis/rbac.authorization.k8s.io/v1"
)

// families makes what is measured happen, and returns the families.
func (l *measured) families() map[string]*dto.MetricFamily {
	l.t.Helper()
	l.callers()
	l.writes()
	l.admission()
	l.others()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(l.send(200, "GET", "/metrics", "")))
	require.NoError(l.t, err)
	return all
}

// callers sends requests of a webhook's user, of one that is refused, without a known token, impersonated,
// and of a service account.
func (l *measured) callers() {
	l.as("hooked", []int{403}, "GET", measuredCore+"/configmaps", "")
	l.as("hooked", []int{403}, "GET", measuredCore+"/configmaps", "")
	l.as("unknown", []int{401}, "GET", measuredCore+"/configmaps", "")
	l.send(201, "POST", measuredRBAC+"/clusterroles", `{"metadata":{"name":"all"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`)
	l.send(201, "POST", measuredRBAC+"/clusterrolebindings", `{"metadata":{"name":"all"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"user"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"all"}}`)
	l.until("the binding is known", func() bool {
		return l.ask(l.http2, "user", "GET", measuredCore+"/configmaps", "").code == 200
	})
	l.as("admin", []int{200}, "GET", measuredCore+"/configmaps", "", "Impersonate-User", "user")
	l.as("user", []int{403}, "GET", "/nothing", "", "Impersonate-User", "user")
	l.send(201, "POST", measuredCore+"/serviceaccounts", `{"metadata":{"name":"default"}}`)
	var request struct{ Status struct{ Token string } }
	require.NoError(l.t, json.Unmarshal([]byte(l.send(201, "POST", measuredCore+"/serviceaccounts/default/token", `{"spec":{}}`)), &request))
	l.as(request.Status.Token, []int{403}, "GET", measuredCore+"/secrets", "")
}

// writes makes objects of all encrypted kinds, writes of a user who is not exempt from flow control, pods
// with their security, and services with their addresses.
func (l *measured) writes() {
	for _, kind := range encryptedKinds[:7] {
		l.send(201, "POST", kind.path, fmt.Sprintf(`{"metadata":{"name":"a"},%s}`, kind.body))
		l.send(200, "GET", kind.path+"/a", "")
		l.send(200, "GET", kind.path, "")
	}
	l.as("user", []int{201}, "POST", measuredCore+"/configmaps?fieldValidation=Strict", `{"metadata":{"name":"u"}}`)
	l.as("user", []int{200}, "PUT", measuredCore+"/configmaps/u", `{"metadata":{"name":"u"},"data":{"k":"v"}}`)
	l.as("user", []int{200}, "PATCH", measuredCore+"/configmaps/u?fieldManager=f&force=true", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"u"},"data":{"k":"w"}}`, "Content-Type", "application/apply-patch+yaml")
	l.as("user", []int{200}, "GET", measuredCore+"/configmaps?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1", "")
	l.as("user", []int{200}, "DELETE", measuredCore+"/configmaps/u", "")
	l.send(201, "POST", "/api/v1/namespaces", `{"metadata":{"name":"strict","labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	l.send(201, "POST", "/api/v1/namespaces/strict/serviceaccounts", `{"metadata":{"name":"default"}}`)
	const pod = `{"metadata":{"name":"p"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"a","image":"x"}]}}`
	l.send(403, "POST", "/api/v1/namespaces/strict/pods", pod)
	l.send(201, "POST", measuredCore+"/pods", pod)
	l.as("admin", []int{200, 204, 400}, "GET", measuredCore+"/pods/p/log", "")
	l.send(201, "POST", "/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":1}}}}`)
	l.send(201, "POST", measuredCore+"/pods", strings.Replace(strings.Replace(pod, `"p"`, `"on-n"`, 1), `"spec":{`, `"spec":{"nodeName":"n",`, 1))
	l.send(400, "GET", measuredCore+"/pods/on-n/exec?command=x&stdout=1", "")
	l.send(201, "POST", measuredCore+"/services", `{"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`)
	l.send(422, "POST", measuredCore+"/services", `{"metadata":{"name":"t"},"spec":{"clusterIP":"10.96.0.1","ports":[{"port":80}]}}`)
	l.send(422, "POST", measuredCore+"/services", `{"metadata":{"name":"t"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":1}]}}`)
	l.send(200, "GET", measuredCore+"/endpoints", "")
}

// admission makes webhooks and policies that hold, that do not, and that are not there.
func (l *measured) admission() {
	for name, url := range map[string]string{"allow": l.hooks.server.URL + "/allow", "deny": l.hooks.server.URL + "/deny", "none": "https://127.0.0.1:1/"} {
		l.send(201, "POST", measuredRegistration+"/validatingwebhookconfigurations", fmt.Sprintf(`{"metadata":{"name":%[1]q},"webhooks":[{"name":"%[1]s.example.com","admissionReviewVersions":["v1"],
			"sideEffects":"None","failurePolicy":"Ignore","clientConfig":{"url":%[2]q,"caBundle":%[3]q},"matchConditions":[{"name":"c","expression":"object.metadata.name.startsWith('hook')"}],
			"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}]}`, name, url, l.hooks.bundle))
	}
	l.send(201, "POST", measuredRegistration+"/validatingadmissionpolicies", `{"metadata":{"name":"p"},"spec":{"validations":[{"expression":"object.metadata.name != 'policed'"}],"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}}}`)
	l.send(201, "POST", measuredRegistration+"/validatingadmissionpolicybindings", `{"metadata":{"name":"p"},"spec":{"policyName":"p","validationActions":["Deny"]}}`)
	l.until("the webhook denies", func() bool {
		return l.ask(l.http2, "admin", "POST", measuredCore+"/configmaps?dryRun=All", `{"metadata":{"name":"hooked"}}`).code == 400
	})
	l.until("the policy denies", func() bool {
		return l.ask(l.http2, "admin", "POST", measuredCore+"/configmaps?dryRun=All", `{"metadata":{"name":"policed"}}`).code == 422
	})
	l.send(201, "POST", measuredCore+"/configmaps", `{"metadata":{"name":"other"}}`) // no condition holds
}

// others makes a custom resource with versions and rules, an APIService, a certificate signing request, and
// reads what describes the server.
func (l *measured) others() {
	l.send(201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(measuredThings, l.hooks.server.URL, l.hooks.bundle))
	const widgets = "/apis/example.com/v1/namespaces/default/widgets"
	l.until("the custom resource is served", func() bool { return l.code(l.http2, widgets) == http.StatusOK })
	const widget = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"n":%s}`
	l.until("a custom resource is created", func() bool {
		return l.ask(l.http2, "admin", "POST", widgets, fmt.Sprintf(widget, "1")).code == 201
	})
	l.as("admin", []int{422}, "POST", widgets, fmt.Sprintf(widget, "10"))
	l.as("admin", []int{200}, "PATCH", widgets+"/w", `{"n":2}`, "Content-Type", "application/merge-patch+json")
	l.send(200, "GET", "/apis/example.com/v2/namespaces/default/widgets", "")
	l.send(201, "POST", "/apis/apiregistration.k8s.io/v1/apiservices", `{"metadata":{"name":"v1.elsewhere.test"},"spec":{"group":"elsewhere.test","version":"v1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"s"}}}`)
	l.as("admin", []int{200}, "GET", "/apis", "", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/apis/example.com/v1", "/livez", "/apis"} {
		l.send(200, "GET", path, "")
	}
	l.send(201, "POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", fmt.Sprintf(`{"metadata":{"name":"c"},"spec":{"signerName":"example.com/s","expirationSeconds":3600,"usages":["client auth"],"request":%q}}`, testRequest(l.t)))
	certificate := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.hooks.server.Certificate().Raw}))
	l.as("admin", []int{200}, "PATCH", "/apis/certificates.k8s.io/v1/certificatesigningrequests/c/status", fmt.Sprintf(`{"status":{"certificate":%q}}`, certificate), "Content-Type", "application/merge-patch+json")
}

// testRequest returns a certificate signing request, in base64 of PEM.
func testRequest(t *testing.T) []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	require.NoError(t, err)
	return fmt.Appendf(nil, "%s", base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})))
}
