package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
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
- {level: RequestResponse, users: [admin], resources: [{group: apps}, {group: authorization.k8s.io}, {group: "", resources: ["pods/*"]}]}
- {level: Metadata, users: [admin], nonResourceURLs: ["/version", "/nope", "/api*"]}
- {level: Metadata, resources: [{group: ""}, {group: nope.test}]}
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
		for _, field := range []string{"requestReceivedTimestamp", "stageTimestamp"} {
			require.NotEmpty(t, e[field], field)
			delete(e, field)
		}
		require.NotEmpty(t, e["auditID"])
		all = append(all, e)
	}
	return all
}

// auditStep is a request with headers.
type auditStep struct {
	step
	header []string
}

// auditSteps are requests of all kinds, the last of which is for /version.
func auditSteps() (out []auditStep) {
	send := func(method, path, body string, header ...string) {
		out = append(out, auditStep{step{method: method, path: path, body: body}, header})
	}
	merge := func(path, body string) { send("PATCH", path, body, "Content-Type", "application/merge-patch+json") }
	const roles, deployments = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "/apis/apps/v1/namespaces/default/deployments"
	send("POST", core+"secrets", `{"metadata": {"name": "s"}, "stringData": {"k": "hidden"}}`)
	send("GET", core+"secrets/s", "")
	send("GET", core+"secrets?limit=5", "")
	send("GET", core+"secrets?watch=true&timeoutSeconds=1", "")
	merge(core+"secrets/s", `{"stringData": {"k": "hidden too"}}`)
	send("DELETE", core+"secrets/s", "")
	send("POST", core+"configmaps", `{"metadata": {"name": "m"}, "data": {"k": "v"}}`)
	send("POST", core+"configmaps", `{"metadata": {"generateName": "m-"}}`)
	send("POST", core+"configmaps", `{"metadata": {"name": "m"}}`)
	send("PUT", core+"configmaps/m", `{"metadata": {"name": "m"}, "data": {"k": "w"}}`)
	merge(core+"configmaps/m", `{"data": {"k": "x"}}`)
	send("PATCH", core+"configmaps/m", `[{"op":"add","path":"/data/j","value":"y"}]`, "Content-Type", "application/json-patch+json")
	send("PATCH", core+"configmaps/applied?fieldManager=t", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {a: b}\n", "Content-Type", "application/apply-patch+yaml")
	send("PATCH", core+"configmaps/m", `{"data": 5}`, "Content-Type", "application/merge-patch+json")
	send("PATCH", core+"configmaps/m", `{"data"`, "Content-Type", "application/merge-patch+json")
	send("PATCH", core+"configmaps/m", `{}`, "Content-Type", "text/plain")
	send("POST", core+"configmaps", `{"metadata"`)
	send("POST", core+"configmaps", `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}`)
	send("POST", core+"configmaps?dryRun=All", `{"metadata":{"name":"dry"}}`)
	send("POST", core+"configmaps?fieldValidation=Strict", `{"metadata":{"name":"strict"},"nope":1}`)
	send("POST", "/api/v1/namespaces/missing/configmaps", `{"metadata":{"name":"x"}}`)
	send("GET", core+"configmaps/missing", "")
	send("DELETE", core+"configmaps/m?gracePeriodSeconds=0", "")
	send("DELETE", core+"configmaps?labelSelector=a%3Db", "")
	send("DELETE", core+"configmaps/missing", `{"propagationPolicy":"Nope"}`)
	send("POST", core+"serviceaccounts", `{"metadata": {"name": "a"}}`)
	send("GET", core+"serviceaccounts/a", "")
	send("GET", core+"serviceaccounts/a", "", "Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
	send("GET", core+"serviceaccounts?watch=true&timeoutSeconds=1", "")
	send("POST", core+"serviceaccounts/a/token", `{"spec": {"audiences": ["x"], "expirationSeconds": 600}}`)
	send("POST", core+"serviceaccounts/a/token", `{"metadata": {"uid": "another"}, "spec": {"audiences": ["x"], "expirationSeconds": 600}}`)
	send("POST", roles, `{"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}`)
	send("POST", roles, `{"metadata": {"name": "bad"}, "rules": [{"apiGroups": [""], "verbs": ["get"]}]}`)
	send("DELETE", roles+"/r", `{"propagationPolicy": "Background"}`)
	send("POST", deployments, `{"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}}`)
	send("GET", deployments+"/d/scale", "")
	send("PUT", deployments+"/d/scale", `{"metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 3}}`)
	merge(deployments+"/d/scale", `{"spec": {"replicas": 2}}`)
	merge(deployments+"/d/status", `{"status": {"observedGeneration": 1}}`)
	send("DELETE", deployments+"/d", "")
	send("POST", core+"pods/none/eviction", `{"metadata": {"name": "none"}}`)
	send("POST", core+"pods/none/binding", `{"metadata": {"name": "none"}, "target": {"name": "n"}}`)
	send("GET", core+"pods/none/log?container=c", "")
	send("POST", core+"pods/none/exec?command=ls", "")
	send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", `{"spec": {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "pods"}}}`)
	send("GET", core+"configmaps/m", "", "Impersonate-User", "ann", "Impersonate-Group", "dev", "Impersonate-Extra-Scope", "x")
	send("POST", core+"configmaps", `{"metadata": {"name": "by-ann"}}`, "Impersonate-User", "ann", "User-Agent", strings.Repeat("u", 2000), "X-Forwarded-For", "192.0.2.1, x, 2001:db8::1", "X-Real-Ip", "192.0.2.9")
	send("GET", core+"configmaps", "", "Authorization", "Bearer unknown")
	send("GET", "/nope", "")
	send("OPTIONS", core+"configmaps", "")
	send("GET", "/api/v1/nope", "")
	send("GET", "/apis/nope.test/v1/things/x/status", "")
	send("GET", "/version", "")
	return out
}

// asDocumented removes from an event what docs/differences.md has.
func asDocumented(e map[string]any) {
	delete(e, "authenticationMetadata")
	if o, ok := e["requestObject"].(map[string]any); ok && e["verb"] == "create" && o["kind"] == "Deployment" {
		delete(o, "spec")
	}
	if status, ok := e["responseStatus"].(map[string]any); ok && slices.Contains([]any{400.0, 405.0, 415.0, 422.0}, status["code"]) {
		delete(status, "message")
		delete(status, "details")
	} else if ok && status["code"] == 404.0 && (status["reason"] == nil || status["message"] == "the server could not find the requested resource") {
		e["responseStatus"] = 404.0
	}
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
		for n, s := range auditSteps() {
			req := l.request("admin", s.method, s.path, s.body)
			req.Header.Set("Audit-Id", fmt.Sprint("step ", n))
			for k := 0; k < len(s.header); k += 2 {
				req.Header.Set(s.header[k], s.header[k+1])
			}
			resp, err := l.http2.Do(req)
			require.NoError(t, err)
			require.NotEmpty(t, resp.Header.Get("Audit-Id"), "%v", s)
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
		l.until("the last event is written", func() bool {
			events[i] = auditEvents(t, log)
			return slices.ContainsFunc(events[i], func(e map[string]any) bool {
				return e["requestURI"] == "/version" && e["stage"] == "ResponseComplete" && strings.HasPrefix(fmt.Sprint(e["auditID"]), "step ")
			})
		})
	}
	for n, s := range auditSteps() {
		var of [2][]map[string]any
		for i := range of {
			for _, e := range events[i] {
				if e["auditID"] == fmt.Sprint("step ", n) {
					asDocumented(e)
					of[i] = append(of[i], e)
				}
			}
		}
		if len(of[0]) == 0 && s.method == http.MethodPatch { // of what is not JSON: docs/differences.md
			assert.NotEmpty(t, of[1], "%v", s)
			continue
		}
		require.NotEmpty(t, of[0], "%v", s)
		assert.Equal(t, of[0], of[1], "%v", s)
	}
	all, err := json.Marshal(events[1])
	require.NoError(t, err)
	require.NotContains(t, string(all), "hidden")
}

// accountKey signs the tokens of service accounts.
type accountKey struct {
	private *ecdsa.PrivateKey
	pem     []byte
}

func newAccountKey(t *testing.T) *accountKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	return &accountKey{private, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})}
}

// accountIssuer is that of startUpstream.
const accountIssuer = "https://kubernetes.default.svc"

// remembered returns a token of the account a in a secret, as the token controller signs it.
func (k *accountKey) remembered(t *testing.T, uid, secret string) string {
	const claim = "kubernetes.io/serviceaccount/"
	return signToken(t, jose.ES256, k.private, map[string]any{"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:default:a",
		claim + "namespace": "default", claim + "secret.name": secret, claim + "service-account.name": "a", claim + "service-account.uid": uid})
}

// extended returns a token of the account a that should have been replaced at a time.
func (k *accountKey) extended(t *testing.T, uid string, replace time.Time) string {
	return signToken(t, jose.ES256, k.private, map[string]any{"iss": accountIssuer, "aud": []string{accountIssuer}, "sub": "system:serviceaccount:default:a", "jti": "an-id",
		"iat": replace.Unix() - 3607, "nbf": replace.Unix() - 3607, "exp": replace.Unix() + 36000,
		"kubernetes.io": map[string]any{"namespace": "default", "serviceaccount": map[string]any{"name": "a", "uid": uid}, "warnafter": replace.Unix()}})
}

// noted is what a request with a credential has left behind.
type noted struct {
	Code        int
	Warnings    []string
	User        any
	Annotations map[string]any
}

// sinceWarning is the only part of annotations that depends on the time.
var sinceWarning = regexp.MustCompile(`threshold: \d+`)

// noteOf sends a request with a token, and returns what the log has about it.
func noteOf(l *live, log, name, token string) noted {
	l.t.Helper()
	path := "/version?as=" + name
	a := l.ask(l.http2, token, "GET", path, "")
	require.NoError(l.t, a.err)
	n := noted{Code: a.code, Warnings: a.header["Warning"]}
	l.until("the request is in the log", func() bool {
		for _, e := range auditEvents(l.t, log) {
			if e["requestURI"] == path {
				n.User = e["user"]
				n.Annotations, _ = e["annotations"].(map[string]any)
			}
		}
		return n.User != nil
	})
	if late, ok := n.Annotations["authentication.k8s.io/stale-token"].(string); ok {
		n.Annotations["authentication.k8s.io/stale-token"] = sinceWarning.ReplaceAllString(late, "")
	}
	return n
}

// TestCredentialsInAuditBeside compares what the log and warnings say of the use of tokens that should be
// replaced: extended ones of pods, and those in secrets.
func TestCredentialsInAuditBeside(t *testing.T) {
	key, dir := newAccountKey(t), t.TempDir()
	file, policy := filepath.Join(dir, "key"), filepath.Join(dir, "policy.yaml")
	require.NoError(t, os.WriteFile(file, key.pem, 0o600))
	require.NoError(t, os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata, nonResourceURLs: [/version]}]\n"), 0o600))
	var notes [2]map[string]noted
	for i, start := range []func(*testing.T, ...string) *live{startUpstream, startLive} {
		log := filepath.Join(t.TempDir(), "audit.log")
		flags := []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log, "--service-account-key-file=" + file, "--service-account-signing-key-file=" + file}
		if i == 1 {
			flags = append(flags, "--service-account-issuer="+accountIssuer)
		}
		l := start(t, flags...)
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
		var account struct{ Metadata struct{ UID string } }
		require.NoError(t, json.Unmarshal([]byte(l.must(201, "POST", core+"serviceaccounts", `{"metadata":{"name":"a"},"secrets":[{"name":"auto"}]}`).body), &account))
		uid := account.Metadata.UID
		tokens := map[string]string{"fresh": key.extended(t, uid, time.Now().Add(time.Hour)), "stale": key.extended(t, uid, time.Now().Add(-time.Hour))}
		for _, name := range []string{"invalid", "manual", "auto"} {
			labels := ""
			if name == "invalid" {
				labels = `"kubernetes.io/legacy-token-invalid-since":"2026-01-01"`
			}
			tokens[name] = key.remembered(t, uid, name)
			l.must(201, "POST", core+"secrets", fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s},"annotations":{"kubernetes.io/service-account.name":"a"}},"type":"kubernetes.io/service-account-token","stringData":{"token":%q}}`, name, labels, tokens[name]))
		}
		notes[i] = map[string]noted{}
		// The last is known when the others are.
		for _, name := range []string{"fresh", "stale", "manual", "auto", "invalid"} {
			if name != "invalid" {
				l.until(name+" is known", func() bool { return l.ask(l.http2, tokens[name], "GET", "/version", "").code == http.StatusOK })
			}
			n := noteOf(l, log, name, tokens[name])
			if n.User = n.User.(map[string]any)["username"]; name == "invalid" && i == 1 {
				// docs/differences.md
				require.Equal(t, map[string]any{"authentication.k8s.io/legacy-token-invalidated": "invalid/default"}, n.Annotations)
				n.Annotations = nil
			}
			notes[i][name] = n
		}
	}
	require.NotEmpty(t, notes[0]["auto"].Warnings)
	require.NotEmpty(t, notes[0]["stale"].Annotations["authentication.k8s.io/stale-token"])
	require.Equal(t, notes[0], notes[1])
}
