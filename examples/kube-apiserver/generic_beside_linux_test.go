package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// startGeneric starts, in this process, a control plane of generic kinds.
func startGeneric(t *testing.T) *live {
	t.Helper()
	all, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	tokens, err := authn.TokenFile(strings.NewReader("admin,admin,1,\"system:masters\"\nuser,user,2\n"))
	require.NoError(t, err)
	cp, err := controlplane.New(controlplane.Options{
		Server: apiserver.Options{Scheme: all.Only(controlplane.IsGeneric)}, StaticTokens: tokens, ServiceAccountKeys: []any{newAccountKey(t).private}, Anonymous: true, ServiceAccountIssuers: []string{accountIssuer},
	})
	require.NoError(t, err)
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	pair, err := ca.Serving("api", "127.0.0.1")
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- cp.Run(ctx) }()
	go func() {
		done <- cp.Serve(ctx, listener, &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, MinVersion: tls.VersionTLS12})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, <-done)
	})
	insecure := &tls.Config{InsecureSkipVerify: true}
	l := &live{t: t, host: listener.Addr().String(), ended: make(chan struct{}), http2: &http.Client{Transport: &http.Transport{TLSClientConfig: insecure, ForceAttemptHTTP2: true}}}
	l.front = l.http2
	t.Cleanup(l.http2.CloseIdleConnections)
	<-cp.Ready()
	return l
}

// genericSteps are requests for what a control plane of generic kinds has, and for what it lacks.
func genericSteps() (out []step) {
	post := func(path, body string, shown ...string) {
		out = append(out, step{method: "POST", path: path, body: body, shown: shown})
	}
	get := func(path string, shown ...string) { out = append(out, step{method: "GET", path: path, shown: shown}) }
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	post(core+"configmaps", `{"metadata":{"name":"m"},"data":{"a":"b"}}`, "data")
	post(core+"secrets", `{"metadata":{"name":"s"},"stringData":{"a":"b"}}`, "data", "type")
	post(core+"serviceaccounts", `{"metadata":{"name":"a"}}`, "metadata.name")
	post(core+"serviceaccounts/a/token", `{"spec":{"audiences":["x"],"expirationSeconds":600}}`, "spec")
	post(core+"serviceaccounts/a/token", `{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"s"},"expirationSeconds":600}}`, "spec.boundObjectRef.name")
	post(core+"serviceaccounts/a/token", `{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"p"},"expirationSeconds":600}}`)
	post(core+"serviceaccounts/a/token", `{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Node","name":"n"},"expirationSeconds":600}}`)
	post(core+"events", `{"metadata":{"name":"e"},"involvedObject":{"kind":"ConfigMap","namespace":"default","name":"m"},"reason":"R","type":"Normal"}`, "reason", "type")
	get("/apis/events.k8s.io/v1/namespaces/default/events/e", "reason", "regarding.kind")
	post(core+"resourcequotas", `{"metadata":{"name":"q"},"spec":{"hard":{"count/configmaps":"1"}}}`, "spec")
	post("/api/v1/namespaces", `{"metadata":{"name":"n","labels":{"a":"b"}}}`, "metadata.labels", "spec", "status")
	post("/api/v1/namespaces/missing/configmaps", `{"metadata":{"name":"m"}}`)
	out = append(out, step{method: "DELETE", path: "/api/v1/namespaces/default"}, step{method: "DELETE", path: "/api/v1/namespaces/n", shown: []string{"status.phase"}})
	post("/api/v1/namespaces/n/configmaps", `{"metadata":{"name":"m"}}`)
	post("/apis/coordination.k8s.io/v1/namespaces/default/leases", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"h","leaseDurationSeconds":5}}`, "spec")
	post(rbac+"/clusterroles", `{"metadata":{"name":"boats"},"rules":[{"apiGroups":["harbour.example.com"],"resources":["boats"],"verbs":["get","list"]}]}`, "rules")
	post(rbac+"/namespaces/default/rolebindings", `{"metadata":{"name":"user"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"boats"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"user"}]}`, "roleRef", "subjects")
	for _, review := range []string{`"resourceAttributes":{"group":"harbour.example.com","resource":"boats","verb":"list","namespace":"default"}`, `"resourceAttributes":{"group":"harbour.example.com","resource":"boats","verb":"delete","namespace":"default"}`, `"resourceAttributes":{"resource":"pods","verb":"get"}`, `"nonResourceAttributes":{"path":"/version","verb":"get"}`} {
		post("/apis/authorization.k8s.io/v1/subjectaccessreviews", `{"spec":{"user":"user","groups":["system:authenticated"],`+review+`}}`, "status.allowed", "status.denied")
	}
	post("/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"user"}}`, "status")
	post("/apis/authentication.k8s.io/v1/selfsubjectreviews", `{}`, "status")
	post("/apis/certificates.k8s.io/v1/certificatesigningrequests", `{"metadata":{"name":"c"},"spec":{"request":"eA==","signerName":"a.test/b","usages":["client auth"]}}`)
	get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt", "spec")
	get("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/catch-all", "spec")
	get("/apis/apiregistration.k8s.io/v1/apiservices/v1.", "spec")
	get("/apis/apiregistration.k8s.io/v1/apiservices/v1.apps")
	get(core + "configmaps/none")
	return out
}

// withoutContainers are paths that a control plane of generic kinds does not serve.
var withoutContainers = []string{core + "pods", core + "services", "/api/v1/nodes", core + "endpoints", core + "limitranges", core + "persistentvolumeclaims", core + "replicationcontrollers", "/api/v1/componentstatuses",
	"/apis/apps/v1/namespaces/default/deployments", "/apis/batch/v1/jobs", "/apis/policy/v1/poddisruptionbudgets", "/apis/scheduling.k8s.io/v1/priorityclasses", "/apis/storage.k8s.io/v1/storageclasses",
	"/apis/networking.k8s.io/v1/ingresses", "/apis/discovery.k8s.io/v1/endpointslices", "/apis/node.k8s.io/v1/runtimeclasses", "/apis/resource.k8s.io/v1/deviceclasses", "/apis/autoscaling/v2/horizontalpodautoscalers"}

// genericBoats are requests for custom resources, and for policies about them.
func genericBoats() (out []step) {
	const boats = "/apis/harbour.example.com/v1/namespaces/default/boats"
	boat := func(name, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"harbour.example.com/v1","kind":"Boat","metadata":{"name":%q},"spec":{%s}}`, name, spec)
	}
	for i, spec := range []string{``, `"masts":2`, `"masts":0`, `"sails":1`, `"masts":"x"`} {
		out = append(out, step{method: "POST", path: boats, body: boat(fmt.Sprint("b", i), spec), shown: []string{"spec"}},
			step{method: "POST", path: boats + "?fieldValidation=Strict&dryRun=All", body: boat(fmt.Sprint("c", i), spec), shown: []string{"spec"}})
	}
	return append(out, mergeOf(boats+"/b0", `{"spec":{"masts":3}}`), mergeOf(boats+"/b0", `{"spec":{"masts":-1}}`), mergeOf(boats+"/b0/status", `{"status":{"port":"x"}}`),
		step{method: "PATCH", path: boats + "/applied?fieldManager=t", body: boat("applied", `"masts":4`), contentType: "application/apply-patch+yaml", shown: []string{"spec"}},
		step{method: "GET", path: boats, accept: "application/json;as=Table;v=v1;g=meta.k8s.io", shown: []string{"kind"}}, step{method: "GET", path: boats + "?labelSelector=a%3Db", shown: []string{"items"}},
		step{method: "DELETE", path: boats + "/b1", shown: []string{"status"}}, step{method: "GET", path: boats + "/b1"}, step{method: "DELETE", path: boats, shown: []string{"kind"}}, step{method: "GET", path: boats, shown: []string{"items"}})
}

// served lists what a server serves, by discovery: each resource with its verbs.
func (l *live) served() (all []string) {
	l.t.Helper()
	read := func(path string, into any) {
		require.NoError(l.t, json.Unmarshal([]byte(l.must(http.StatusOK, "GET", path, "").body), into), path)
	}
	var groups struct {
		Groups []struct {
			Name     string
			Versions []struct{ GroupVersion string }
		}
	}
	read("/apis", &groups)
	paths := []string{"/api/v1"}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+v.GroupVersion)
		}
	}
	for _, path := range paths {
		var list struct {
			Resources []struct {
				Name, Kind string
				Verbs      []string
			}
		}
		read(path, &list)
		for _, r := range list.Resources {
			all = append(all, fmt.Sprint(path, " ", r.Name, " ", r.Kind, " ", r.Verbs))
		}
	}
	return slices.Sorted(slices.Values(all))
}

// TestGenericBeside compares a control plane of generic kinds with Kubernetes' sample of one: what it serves,
// how it answers, and that custom resources need nothing else.
func TestGenericBeside(t *testing.T) {
	theirs, ours := startProgram(t, seeds.Peer(t, "generic-controlplane"), "", "--authorization-mode=RBAC"), startGeneric(t)
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
	}
	assert.Equal(t, theirs.served(), ours.served())
	for i, s := range genericSteps() {
		compareStep(t, theirs, ours, i, s)
	}
	for _, path := range withoutContainers {
		for _, method := range []string{"GET", "POST"} {
			want, got := theirs.verdict(method, path, `{"metadata":{"name":"x"}}`), ours.verdict(method, path, `{"metadata":{"name":"x"}}`)
			assert.Equal(t, http.StatusNotFound, want.Code, path)
			assert.Equal(t, http.StatusNotFound, got.Code, path)
		}
	}
	v1 := `{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"masts":{"type":"integer","minimum":1,"default":1}}},"status":{"type":"object","properties":{"port":{"type":"string"}}}}}}}`
	definition := strings.ReplaceAll(definition("boats", "Boat", "", v1), "a.test", "harbour.example.com")
	for _, l := range []*live{theirs, ours} {
		l.must(http.StatusCreated, "POST", crds, definition)
		l.until("boats are served", func() bool {
			return l.verdict("POST", "/apis/harbour.example.com/v1/namespaces/default/boats?dryRun=All", `{"apiVersion":"harbour.example.com/v1","kind":"Boat","metadata":{"name":"try"}}`).Code == http.StatusCreated
		})
	}
	for i, s := range genericBoats() {
		compareStep(t, theirs, ours, i, s)
	}
	for _, path := range []string{"/apis/harbour.example.com/v1/namespaces/default/boats", core + "configmaps", "/version"} {
		assert.Equal(t, theirs.ask(theirs.http2, "user", "GET", path, "").code, ours.ask(ours.http2, "user", "GET", path, "").code, path)
	}
}
