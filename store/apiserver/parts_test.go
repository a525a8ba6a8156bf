package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/registry"
)

func TestAuthenticationAndAuthorization(t *testing.T) {
	s := start(t, apiserver.Options{
		Authenticator: authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
			name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			switch name {
			case "":
				return nil, false, nil
			case "bad":
				return nil, false, errors.New("no such token")
			}
			return &authn.Response{User: &authn.User{Name: name, Groups: []string{authn.GroupAuthenticated}}}, true, nil
		}),
		Authorizer: authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
			switch {
			case a.User.Name == "root", a.User.Name == "ann" && a.Verb == "list" && a.Resource == "configmaps" && a.Namespace == "default":
				return authz.Allow, "", nil
			case a.User.Name == "bob" && a.Verb == "impersonate" && a.Name == "ann":
				return authz.Allow, "", nil
			}
			return authz.NoOpinion, "", nil
		}),
	})
	require.Equal(t, "Unauthorized", s.do("GET", configMaps, nil).ok(401).str("reason"))
	require.Equal(t, "Unauthorized", s.do("GET", configMaps, nil, "Authorization", "Bearer bad").ok(401).str("reason"))
	s.do("GET", configMaps, nil, "Authorization", "Bearer ann").ok(200)
	no := s.do("POST", configMaps, configMap("a"), "Authorization", "Bearer ann").ok(403)
	require.Equal(t, "Forbidden", no.str("reason"))
	require.Contains(t, no.str("message"), `User "ann" cannot create resource "configmaps" in API group "" in the namespace "default"`)
	s.do("GET", configMaps, nil, "Authorization", "Bearer bob").ok(403)
	s.do("GET", configMaps, nil, "Authorization", "Bearer bob", "Impersonate-User", "ann").ok(200)
	no = s.do("GET", configMaps, nil, "Authorization", "Bearer bob", "Impersonate-User", "root").ok(403)
	require.Contains(t, no.str("message"), "cannot impersonate")
	s.do("GET", configMaps, nil, "Authorization", "Bearer bob", "Impersonate-Group", "x").ok(400)
}

// plugin labels objects, refuses some, and counts.
type plugin struct {
	mu   sync.Mutex
	seen []string
}

func (*plugin) Name() string                     { return "Test" }
func (*plugin) Handles(admission.Operation) bool { return true }

func (p *plugin) Admit(_ context.Context, a *admission.Attributes) error {
	if a.Object != nil && a.Operation == admission.Create && a.Resource.Resource == "configmaps" {
		a.Object.SetLabels(map[string]string{"touched": "yes"})
		a.Warn("touched")
	}
	return nil
}

func (p *plugin) Validate(_ context.Context, a *admission.Attributes) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, fmt.Sprintf("%s %s/%s", a.Operation, a.Resource.Resource, a.Name))
	if a.Name == "refused" {
		return errors.New("I do not like it")
	}
	return nil
}

func TestAdmission(t *testing.T) {
	p := &plugin{}
	s := start(t, apiserver.Options{Admission: []admission.Plugin{p}})
	got := s.do("POST", configMaps, configMap("a", "k", "v"))
	require.Equal(t, "yes", got.ok(201).str("metadata.labels.touched"))
	require.Equal(t, `299 - "touched"`, got.header.Get("Warning"))
	require.Len(t, got.ok(201).at("metadata.managedFields"), 1)
	require.NotContains(t, string(got.body), "f:touched", "what admission adds has no owner")
	no := s.do("POST", configMaps, configMap("refused")).ok(403)
	require.Contains(t, no.str("message"), "I do not like it")
	s.do("GET", configMaps+"/refused", nil).ok(404)
	s.do("PUT", configMaps+"/a", configMap("a")).ok(200)
	s.do("DELETE", configMaps+"/a", nil).ok(200)
	require.Equal(t, []string{"CREATE configmaps/a", "CREATE configmaps/refused", "UPDATE configmaps/a", "DELETE configmaps/a"}, p.seen)
}

func TestEvictionAsksTheBudget(t *testing.T) {
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
	require.Empty(t, got.header.Get("Retry-After"), "kubectl drain waits and says so itself")
	require.Contains(t, no.str("message"), "disruption budget b needs 1 healthy pods")
	s.do("PATCH", budgets+"/b/status", `{"status":{"disruptionsAllowed":1}}`, "Content-Type", "application/merge-patch+json").ok(200)
	s.do("POST", pods+"/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`).ok(201)
	s.do("GET", pods+"/p", nil).ok(404)
	b := s.do("GET", budgets+"/b", nil).ok(200)
	require.EqualValues(t, 0, b.at("status.disruptionsAllowed"))
	require.NotNil(t, b.at("status.disruptedPods.p"))
}

func TestBindingOnce(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", pods, pod("p")).ok(201)
	body := `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n1"}}`
	s.do("POST", pods+"/p/binding", body).ok(201)
	o := s.do("GET", pods+"/p", nil).ok(200)
	require.Equal(t, "n1", o.str("spec.nodeName"))
	require.Contains(t, fmt.Sprint(o.at("status.conditions")), "PodScheduled")
	require.EqualValues(t, 1, o.at("metadata.generation"))
	require.Equal(t, "Conflict", s.do("POST", pods+"/p/binding", body).ok(409).str("reason"))
	require.Equal(t, []string{"p"}, s.do("GET", pods+"?fieldSelector=spec.nodeName%3Dn1", nil).ok(200).names())
}

func TestServiceAddresses(t *testing.T) {
	s := start(t, apiserver.Options{Builtin: builtin.Options{ServiceCIDR: "10.0.0.0/29", NodePorts: builtin.PortRange{First: 30000, Last: 30002}}})
	services := "/api/v1/namespaces/default/services"
	svc := func(name, spec string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[{"port":80}]%s}}`, name, spec)
	}
	seen := map[string]bool{"10.0.0.1": true}
	for i := range 5 {
		o := s.do("POST", services, svc(fmt.Sprintf("s%d", i), "")).ok(201)
		require.False(t, seen[o.str("spec.clusterIP")], "given away twice")
		seen[o.str("spec.clusterIP")] = true
	}
	full := s.do("POST", services, svc("full", ""))
	require.Equal(t, 500, full.code)
	require.Contains(t, string(full.body), "range is full")
	s.do("GET", services+"/full", nil).ok(404)
	freed := s.do("DELETE", services+"/s3", nil).ok(200).str("spec.clusterIP")
	require.Equal(t, freed, s.do("POST", services, svc("again", "")).ok(201).str("spec.clusterIP"))
	no := s.do("POST", services, svc("taken", fmt.Sprintf(`,"clusterIP":%q`, freed))).ok(422)
	require.Contains(t, no.str("message"), "already allocated")
	s.do("DELETE", services+"/again", nil).ok(200)

	np := s.do("POST", services, svc("np", `,"type":"NodePort"`)).ok(201)
	port := np["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)["nodePort"]
	require.NotNil(t, port)
	s.do("DELETE", services+"/s1", nil).ok(200)
	no = s.do("POST", services, fmt.Sprintf(`{"metadata":{"name":"clash"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":%v}]}}`, port)).ok(422)
	require.Contains(t, no.str("message"), "already allocated")
	// Turning it into a ClusterIP service gives the port back.
	s.do("PATCH", services+"/np", `{"spec":{"type":"ClusterIP","ports":null}}`, "Content-Type", "application/merge-patch+json")
	s.do("PATCH", services+"/np", `{"spec":{"type":"ClusterIP"}}`, "Content-Type", "application/merge-patch+json").ok(200)
	s.do("POST", services, fmt.Sprintf(`{"metadata":{"name":"clash"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":%v}]}}`, port)).ok(201)
	require.Len(t, s.do("GET", "/apis/networking.k8s.io/v1/ipaddresses", nil).ok(200).items(), 1+5)
}

// Services created at once never share an address, and every address has its object.
func TestServiceAddressesInARace(t *testing.T) {
	s := start(t, apiserver.Options{Builtin: builtin.Options{ServiceCIDR: "10.0.0.0/24"}})
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			s.do("POST", "/api/v1/namespaces/default/services", fmt.Sprintf(`{"metadata":{"name":"s%d"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, i)).ok(201)
		})
	}
	wg.Wait()
	ips, ports := map[string]int{}, map[any]int{}
	for _, i := range s.do("GET", "/api/v1/namespaces/default/services", nil).ok(200).items() {
		o := object(i.(map[string]any))
		ips[o.str("spec.clusterIP")]++
		if p, ok := o.at("spec.ports").([]any)[0].(map[string]any)["nodePort"]; ok {
			ports[p]++
		}
	}
	require.Len(t, ips, 61)
	require.Len(t, ports, 60)
	require.Len(t, s.do("GET", "/apis/networking.k8s.io/v1/ipaddresses", nil).ok(200).items(), 61)
}

// What comes apart by hand is put together again.
func TestServiceAllocationsAreRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{})
		o := s.do("POST", "/api/v1/namespaces/default/services", `{"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`).ok(201)
		addresses := "/apis/networking.k8s.io/v1/ipaddresses"
		s.do("DELETE", addresses+"/"+o.str("spec.clusterIP"), nil).ok(200)
		s.do("POST", addresses, `{"metadata":{"name":"10.96.9.9","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"}},"spec":{"parentRef":{"resource":"services","namespace":"default","name":"gone"}}}`).ok(201)
		_, err := s.Registry().Store().Delete(t.Context(), "/ranges/servicenodeports", store.AnyRevision, store.WriteOptions{})
		require.NoError(t, err)
		time.Sleep(4 * time.Minute)
		require.Equal(t, []string{"10.96.0.1", o.str("spec.clusterIP")}, s.do("GET", addresses, nil).ok(200).names())
		port := o["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)["nodePort"]
		s.do("POST", "/api/v1/namespaces/default/services", fmt.Sprintf(`{"metadata":{"name":"clash"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":%v}]}}`, port)).ok(422)
		s.stop()
	})
}

func TestFencing(t *testing.T) {
	s := start(t, apiserver.Options{})
	leases := "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	got := s.do("POST", leases, `{"metadata":{"name":"kcm"},"spec":{"holderIdentity":"a","leaseTransitions":1}}`)
	got.ok(201)
	require.Equal(t, fence.Enforced, got.header.Get(fence.Header))
	token := func(holder string, n int32) string {
		return fence.Token{Lease: types.NamespacedName{Namespace: "kube-system", Name: "kcm"}, Holder: holder, Transitions: n}.String()
	}
	s.do("POST", configMaps, configMap("a"), fence.Header, token("a", 1)).ok(201)
	// A renewal changes the lease's version but not the term.
	s.do("PATCH", leases+"/kcm", `{"spec":{"renewTime":"2024-01-01T00:00:00.000000Z"}}`, "Content-Type", "application/merge-patch+json").ok(200)
	s.do("PUT", configMaps+"/a", configMap("a", "k", "1"), fence.Header, token("a", 1)).ok(200)
	s.do("PATCH", leases+"/kcm", `{"spec":{"holderIdentity":"b","leaseTransitions":2}}`, "Content-Type", "application/merge-patch+json").ok(200)
	for _, no := range []object{
		s.do("PUT", configMaps+"/a", configMap("a", "k", "2"), fence.Header, token("a", 1)).ok(409),
		s.do("DELETE", configMaps+"/a", nil, fence.Header, token("a", 1)).ok(409),
		s.do("POST", configMaps, configMap("b"), fence.Header, token("a", 2)).ok(409),
	} {
		require.Equal(t, "Fenced", no.str("reason"))
	}
	require.Equal(t, "1", s.do("GET", configMaps+"/a", nil).ok(200).str("data.k"))
	s.do("POST", configMaps, configMap("b"), fence.Header, token("b", 2)).ok(201)
	s.do("POST", configMaps, configMap("c"), fence.Header, "nonsense").ok(400)
}

// kubelet answers as a node's server would.
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

// Website is an embedder's own kind.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec   `json:"spec"`
	Status            WebsiteStatus `json:"status,omitempty"`
}

type WebsiteSpec struct {
	URL string `json:"url"`
}

type WebsiteStatus struct {
	Up bool `json:"up,omitempty"`
}

func withWebsites(t *testing.T) *scheme.Scheme {
	s, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, scheme.Add[*Website](s, schema.GroupVersion{Group: "demo.test", Version: "v1"}, scheme.Kind{Resource: "websites", Namespaced: true, ShortNames: []string{"web"},
		Subresources: []scheme.Subresource{{Name: "status", Kind: "Website", Verbs: []string{"get", "patch", "update"}}}}))
	require.NoError(t, scheme.SetRules[*Website](s, scheme.Rules{Validate: func(obj metav1.Object) validation.ErrorList {
		if obj.(*Website).Spec.URL == "" {
			return validation.ErrorList{validation.Required(validation.NewPath("spec", "url"), "a website has an address")}
		}
		return nil
	}}))
	return s
}

func TestAnEmbeddersOwnKind(t *testing.T) {
	s := start(t, apiserver.Options{Scheme: withWebsites(t)})
	sites := "/apis/demo.test/v1/namespaces/default/websites"
	require.Contains(t, s.do("POST", sites, `{"metadata":{"name":"w"}}`).ok(422).str("message"), "spec.url: Required value")
	o := s.do("POST", sites, `{"metadata":{"name":"w"},"spec":{"url":"x"},"status":{"up":true}}`).ok(201)
	require.EqualValues(t, 1, o.at("metadata.generation"))
	require.Nil(t, o.at("status.up"))
	w := s.watch(sites + "?watch=1")
	w.expect("ADDED", "w")
	s.do("PATCH", sites+"/w/status", `{"status":{"up":true}}`, "Content-Type", "application/merge-patch+json").ok(200)
	require.Equal(t, true, w.expect("MODIFIED", "w").at("object.status.up"))
	require.Equal(t, "websites", object(s.do("GET", "/apis/demo.test/v1", nil).ok(200)["resources"].([]any)[0].(map[string]any)).str("name"))
	require.Equal(t, "WebsiteList", s.do("GET", sites, nil).ok(200).str("kind"))
	require.Equal(t, 406, s.do("GET", sites, nil, "Accept", "application/vnd.kubernetes.protobuf").code)
}

// computedSites are the built-in kinds and Website, of which there are two that nobody has stored.
func computedSites(t *testing.T) (*scheme.Scheme, apiserver.Computed) {
	s, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	own := scheme.New()
	require.NoError(t, scheme.Add[*Website](own, schema.GroupVersion{Group: "demo.test", Version: "v1"}, scheme.Kind{Resource: "websites", Namespaced: true, Verbs: []string{"get", "list", "watch"}}))
	info, err := scheme.InfoFor[*Website](own)
	require.NoError(t, err)
	site := func(name string) *Website {
		return &Website{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	}
	return s, apiserver.Computed{
		Info: info,
		Get: func(_ context.Context, key types.NamespacedName) (metav1.Object, error) {
			if key.Name != "a" {
				return nil, apierrors.NewNotFound(info.GVR.GroupResource(), key.Name)
			}
			return site("a"), nil
		},
		List: func(context.Context, string) ([]metav1.Object, error) {
			return []metav1.Object{site("a"), site("b")}, nil
		},
		Watch: func(ctx context.Context, _ string, send func(string, metav1.Object) error) error {
			if err := send("ADDED", site("a")); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		},
	}
}

func TestComputedResources(t *testing.T) {
	kinds, computed := computedSites(t)
	srv := start(t, apiserver.Options{Scheme: kinds, Computed: []apiserver.Computed{computed}})
	sites := "/apis/demo.test/v1/namespaces/default/websites"
	require.Equal(t, "Website", srv.do("GET", sites+"/a", nil).ok(200).str("kind"))
	srv.do("GET", sites+"/b", nil).ok(404)
	require.Equal(t, []string{"b"}, srv.do("GET", sites+"?fieldSelector=metadata.name%3Db", nil).ok(200).names())
	require.Len(t, srv.do("GET", sites, nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").ok(200)["rows"], 2)
	srv.watch(sites+"?watch=1").expect("ADDED", "a")
	require.Equal(t, "MethodNotAllowed", srv.do("POST", sites, `{}`).ok(405).str("reason"))
}

// A kind with versions and a schema of its own, added and removed while the server runs.
func TestResourcesAddedAtRunTime(t *testing.T) {
	s := start(t, apiserver.Options{})
	sites := "/apis/demo.test/v1/namespaces/default/websites"
	s.do("GET", sites, nil).ok(404)
	custom := scheme.New()
	require.NoError(t, scheme.Add[*metav1.Unstructured](custom, schema.GroupVersion{Group: "demo.test", Version: "v1"}, scheme.Kind{Name: "Website", Resource: "websites", Namespaced: true,
		Subresources: []scheme.Subresource{{Name: "scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Verbs: []string{"get", "patch", "update"}}}}))
	info := custom.ForKind(schema.GroupVersionKind{Group: "demo.test", Version: "v1", Kind: "Website"})
	_, err := s.Registry().Add(registry.Definition{Info: info, Custom: true, Prefix: registry.CustomPrefix(info.GVR.GroupResource()),
		Strategy: registry.Strategy{VersionRequired: true, Generation: registry.OnSpec},
		Scale:    &registry.ScalePaths{Spec: ".spec.size", Status: ".status.size"},
		Prune: func(obj metav1.Object) []string {
			u := obj.(*metav1.Unstructured)
			if _, ok := u.Fields["zap"]; ok {
				delete(u.Fields, "zap")
				return []string{"zap"}
			}
			return nil
		}})
	require.NoError(t, err)
	require.Contains(t, string(s.do("GET", "/apis", nil).body), "demo.test")
	body := `{"apiVersion":"demo.test/v1","kind":"Website","metadata":{"name":"w"},"spec":{"size":2},"zap":1}`
	got := s.do("POST", sites, body)
	got.ok(201)
	require.Equal(t, `299 - "unknown field \"zap\""`, got.header.Get("Warning"))
	s.do("POST", sites+"?fieldValidation=Strict", strings.Replace(body, `"w"`, `"x"`, 1)).ok(400)
	require.Equal(t, "kind", object(s.do("POST", sites, strings.Replace(body, "Website", "Gadget", 1)).ok(422).at("details.causes").([]any)[0].(map[string]any)).str("field"))
	s.do("POST", sites, strings.Replace(body, "demo.test/v1", "demo.test/v2", 1)).ok(400)
	require.Equal(t, 415, s.do("POST", sites, "k8s\x00", "Content-Type", "application/vnd.kubernetes.protobuf").code)
	require.Equal(t, 415, s.do("PATCH", sites+"/w", "{}", "Content-Type", "application/strategic-merge-patch+json").code)
	list := s.do("GET", sites, nil).ok(200)
	require.Equal(t, "WebsiteList", list.str("kind"))
	require.Equal(t, "Website", list.items()[0].(map[string]any)["kind"], "custom objects say what they are in lists")
	require.EqualValues(t, 2, s.do("GET", sites+"/w/scale", nil).ok(200).at("spec.replicas"))
	s.do("PATCH", sites+"/w/scale", `{"spec":{"replicas":5}}`, "Content-Type", "application/merge-patch+json").ok(200)
	o := s.do("PATCH", sites+"/w?fieldManager=x", `{"apiVersion":"demo.test/v1","kind":"Website","metadata":{"name":"w"},"spec":{"color":"red"}}`, "Content-Type", "application/apply-patch+yaml").ok(200)
	require.EqualValues(t, 5, o.at("spec.size"))
	require.EqualValues(t, 3, o.at("metadata.generation"))
	kv, _, err := s.Registry().Store().Get(t.Context(), "/demo.test/websites/default/w")
	require.NoError(t, err)
	require.Contains(t, string(kv.Value), `"kind":"Website"`)
	require.NotContains(t, string(kv.Value), "resourceVersion")

	s.Registry().Remove(info.GVR)
	s.do("GET", sites, nil).ok(404)
	require.NotContains(t, string(s.do("GET", "/apis", nil).body), "demo.test")
}

func TestAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{})
		gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
		s.do("POST", configMaps, configMap("a", "k", "0")).ok(201)
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		done := make(chan error, 1)
		go func() {
			done <- s.Access().Watch(ctx, gvr, "default", func(e registry.Event) error {
				name := ""
				if e.Object != nil {
					name = e.Object.GetName()
				}
				seen = append(seen, fmt.Sprint(e.Type, name))
				return nil
			})
		}()
		synctest.Wait()
		key := types.NamespacedName{Namespace: "default", Name: "a"}
		_, err := s.Access().Update(t.Context(), gvr, key, func(obj metav1.Object) error {
			obj.SetLabels(map[string]string{"x": "y"})
			return nil
		}, registry.Write{})
		require.NoError(t, err)
		synctest.Wait()
		list, err := s.Access().List(t.Context(), gvr, "default", labels.MustParse("x=y"))
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.NoError(t, s.Access().Delete(t.Context(), gvr, key, nil, registry.Write{}))
		_, err = s.Access().GetLatest(t.Context(), gvr, key)
		require.True(t, apierrors.IsNotFound(err))
		synctest.Wait()
		require.Equal(t, []string{fmt.Sprint(registry.Added, "a"), fmt.Sprint(registry.Synced), fmt.Sprint(registry.Modified, "a"), fmt.Sprint(registry.Deleted, "a")}, seen)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		s.stop()
	})
}

func TestTooManyRequests(t *testing.T) {
	block := make(chan struct{})
	entered := make(chan struct{}, 1)
	s := start(t, apiserver.Options{MaxInFlight: 1, NoPriorityAndFairness: true,
		Authenticator: authn.Func(func(*http.Request) (*authn.Response, bool, error) {
			return &authn.Response{User: &authn.User{Name: "x"}}, true, nil
		}),
		Authorizer: authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
			if a.Resource == "secrets" {
				entered <- struct{}{}
				<-block
			}
			return authz.Allow, "", nil
		})})
	s.do("GET", configMaps, nil).ok(200) // it has started
	go func() {
		resp := s.open("GET", "/api/v1/secrets", nil)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}()
	<-entered
	got := s.do("GET", configMaps, nil)
	require.Equal(t, "TooManyRequests", got.ok(429).str("reason"))
	require.Equal(t, "1", got.header.Get("Retry-After"))
	require.Equal(t, 200, s.do("GET", "/healthz", nil).code)
	close(block)
}

func TestAnAuthorizerThatFailsHasNotSaidNo(t *testing.T) {
	s := start(t, apiserver.Options{
		Authenticator: authn.Func(func(*http.Request) (*authn.Response, bool, error) {
			return &authn.Response{User: &authn.User{Name: "x"}}, true, nil
		}),
		Authorizer: authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
			switch a.Verb {
			case "get":
				return authz.NoOpinion, "", errors.New("nobody answers")
			case "list":
				return authz.Allow, "", errors.New("one rule of many")
			}
			return authz.NoOpinion, "not you", nil
		})})
	s.do("GET", configMaps, nil).ok(200)
	got := s.do("GET", configMaps+"/a", nil)
	require.Equal(t, "InternalError", got.ok(500).str("reason"))
	require.Contains(t, got.ok(500).str("message"), "authorization: nobody answers")
	require.Contains(t, s.do("DELETE", configMaps+"/a", nil).ok(403).str("message"), "not you")
}

func TestAPanicIsA500(t *testing.T) {
	var log strings.Builder
	s := start(t, apiserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Handlers: map[string]http.Handler{
		"/boom": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("because") })}})
	require.Equal(t, "InternalError", s.do("GET", "/boom", nil).ok(500).str("reason"))
	s.do("GET", configMaps, nil).ok(200)
	s.stop()
	require.Regexp(t, `level=ERROR msg="a request panicked" method=GET path=/boom panic=because stack=.*parts_test.go`, log.String())
}
