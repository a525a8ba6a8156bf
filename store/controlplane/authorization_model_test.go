package controlplane_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/registry"
)

// TestNothingIsServedWithoutTheRight requests everything that discovery lists, in every possible form, as
// users who have exactly the right that is needed, that right for one name, that right in one namespace, and
// every right except that one. What must be allowed is decided by the model below, which is independent of
// how the server parses a request.
//
// The rules:
//
//  1. A request needs one right: a verb on a resource (with its subresource) of a group, in the namespace of
//     the path, for the name of the path. No other verb, no right on the resource of a subresource or on
//     another subresource, and none of another group is sufficient.
//  2. A list or watch that selects one name by field needs the right for that name only; nothing else gets
//     its name from the query.
//  3. A watch needs watch, whether it is requested by ?watch or by the legacy path /watch/, and there is no
//     path to a named object of a namespaced resource without its namespace: a user who has a right for a
//     name must not learn anything about objects of that name in other namespaces.
//  4. An apply or a PUT that would create an object needs create as well.
//  5. A method that is unknown to HTTP or the API is not a verb.
//  6. To change what a role or binding grants, labels and annotations included, needs what it grants, or
//     escalate or bind.
func TestNothingIsServedWithoutTheRight(t *testing.T) {
	w := newWorld(t)
	for _, r := range w.resources {
		for _, verb := range r.verbs {
			for _, a := range requestsOf(r, verb) {
				w.check(r, verb, a)
			}
		}
		if r.sub == "" {
			w.checkCreating(r)
			w.checkMethods(r)
		}
	}
	w.checkGrants()
	t.Logf("%d resources and subresources, %d requests", len(w.resources), w.requests)
}

// served is a resource or subresource as discovery lists it.
type served struct {
	group, version, resource, sub, kind string
	namespaced                          bool
	verbs                               []string
}

// String is the name of the resource in rules.
func (r served) String() string {
	if r.sub != "" {
		return r.resource + "/" + r.sub
	}
	return r.resource
}

func (r served) root() string {
	if r.group == "" {
		return "/api/" + r.version
	}
	return "/apis/" + r.group + "/" + r.version
}

func (r served) id(verb string) string {
	return strings.ReplaceAll(fmt.Sprintf("%s.%s:%s:%s", r.resource, r.group, r.sub, verb), "*", "star")
}

// attempt is a request and the right it needs.
type attempt struct {
	method, path, query string
	namespace, name     string // of the right that is needed
	missing             bool   // there is no such path
}

// requestsOf returns all forms of a request for a verb of a resource: for the names t and u in the namespaces
// default and other.
func requestsOf(r served, verb string) (out []attempt) {
	namespaces := []string{""}
	if r.namespaced {
		namespaces = []string{"default", "other"}
	}
	at := func(prefix, namespace, name string) string {
		path := r.root() + prefix
		if namespace != "" {
			path += "/namespaces/" + namespace
		}
		path += "/" + r.resource
		if name != "" {
			path += "/" + name
		}
		if r.sub != "" {
			path += "/" + r.sub
		}
		return path
	}
	add := func(method, path, query, namespace, name string) {
		if r.resource == "namespaces" && r.group == "" { // a namespace belongs to itself
			namespace = name
		}
		out = append(out, attempt{method: method, path: path, query: query, namespace: namespace, name: name})
	}
	const one, none = "fieldSelector=metadata.name%3Dt", "labelSelector=no%3Dsuch"
	methods := map[string][]string{"get": {"GET", "HEAD"}, "create": {"POST"}, "update": {"PUT"}, "patch": {"PATCH"}, "delete": {"DELETE"}}[verb]
	collections := namespaces
	if r.namespaced {
		collections = append(slices.Clone(namespaces), "")
	}
	switch verb {
	case "list":
		for _, ns := range collections {
			add("GET", at("", ns, ""), none, ns, "")
			out = append(out, attempt{method: "GET", path: at("", ns, ""), query: one, namespace: ns, name: "t"})
		}
	case "watch":
		for _, ns := range collections {
			add("GET", at("", ns, ""), "watch=1", ns, "")
			add("GET", at("/watch", ns, ""), "", ns, "")
			out = append(out, attempt{method: "GET", path: at("", ns, ""), query: "watch=true&" + one, namespace: ns, name: "t"})
			if r.namespaced && ns == "" {
				out = append(out, attempt{method: "GET", path: at("/watch", "", "t"), query: "timeoutSeconds=1", name: "t", missing: true})
				continue
			}
			for _, name := range []string{"t", "u"} {
				add("GET", at("/watch", ns, name), "", ns, name)
			}
		}
	case "deletecollection":
		for _, ns := range namespaces {
			add("DELETE", at("", ns, ""), none, ns, "")
			add("DELETE", at("", ns, ""), one, ns, "")
		}
	case "create":
		if r.sub == "" {
			for _, ns := range namespaces {
				add("POST", at("", ns, ""), "", ns, "")
			}
			return out
		}
		fallthrough
	default:
		for _, method := range methods {
			for _, ns := range namespaces {
				for _, name := range []string{"t", "u"} {
					add(method, at("", ns, name), "", ns, name)
				}
			}
		}
	}
	return out
}

// world is a server with a user for each right.
type world struct {
	*planetest.Plane
	t         *testing.T
	resources []served
	requests  int
}

func newWorld(t *testing.T) *world {
	p := planetest.Start(t)
	w := &world{Plane: p, t: t}
	planetest.Create(t, p.Admin(), &corev1.Namespace{ObjectMeta: planetest.Meta("", "other")})
	p.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.test}
spec:
  group: sea.test
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
`)
	p.Eventually("the custom resource is served", func() bool { return w.do("", "GET", "/apis/sea.test/v1/boats", "", "", "").Code == 200 })
	w.discover()
	known := map[string]bool{} // rules name no versions
	for _, r := range w.resources {
		for _, verb := range r.verbs {
			if !known[r.id(verb)] {
				known[r.id(verb)] = true
				w.users(r, verb)
			}
		}
		if r.sub == "" && !known[r.id("")] {
			known[r.id("")] = true
			w.grant("creator:"+r.id(""), nil, rbacv1.PolicyRule{Verbs: []string{"create", "patch", "update"}, APIGroups: []string{r.group}, Resources: []string{r.resource}})
		}
	}
	// Grants take effect in order, so the last one is waited for.
	w.grant("last", nil, rule("get", "x.test", "last"))
	w.local("last", "last-here")
	for _, name := range []string{"last", "last-here"} {
		p.Eventually("all rights are known", func() bool {
			return may(t, p.Admin(), name, authorizationv1.ResourceAttributes{Verb: "get", Group: "x.test", Resource: "last", Namespace: "default"})
		})
	}
	return w
}

// discover reads what the server claims to serve.
func (w *world) discover() {
	read := func(path string, into any) {
		require.NoError(w.t, json.Unmarshal(w.do("", "GET", path, "", "", "").Body.Bytes(), into), path)
	}
	lists := []string{"/api/v1"}
	var groups metav1.APIGroupList
	read("/apis", &groups)
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			lists = append(lists, "/apis/"+v.GroupVersion)
		}
	}
	for _, path := range lists {
		var list metav1.APIResourceList
		read(path, &list)
		group, version, ok := strings.Cut(list.GroupVersion, "/")
		if !ok {
			group, version = "", list.GroupVersion
		}
		for _, r := range list.APIResources {
			resource, sub, _ := strings.Cut(r.Name, "/")
			w.resources = append(w.resources, served{group, version, resource, sub, r.Kind, r.Namespaced, r.Verbs})
		}
	}
	require.Greater(w.t, len(w.resources), 100)
}

// users creates the users for a right: with it, with it for the name t only, with it in the namespace default
// only, and with every other right.
func (w *world) users(r served, verb string) {
	exact := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{r.group}, Resources: []string{r.String()}}
	w.grant("has:"+r.id(verb), nil, exact)
	w.local("has:"+r.id(verb), "local:"+r.id(verb))
	w.grant("named:"+r.id(verb), []string{"t"}, exact)
	others := slices.DeleteFunc([]string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy", "LIST", "WATCH"},
		func(v string) bool { return v == verb })
	beside := []string{"others", r.resource + "/others", "*/others"}
	for _, o := range w.resources {
		if o.group == r.group && o.resource == r.resource && o.sub != r.sub {
			beside = append(beside, o.String())
		}
	}
	w.grant("other:"+r.id(verb), nil, rbacv1.PolicyRule{Verbs: others, APIGroups: []string{r.group}, Resources: []string{r.String()}},
		rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{r.group}, Resources: beside},
		rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{"x.test"}, Resources: []string{r.String()}})
}

// grant gives a user of a name the rules of a role of that name, in the whole cluster.
func (w *world) grant(name string, names []string, rules ...rbacv1.PolicyRule) {
	for i := range rules {
		rules[i].ResourceNames = names
	}
	w.store("clusterroles", &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", name), Rules: rules})
	w.store("clusterrolebindings", clusterBinding(name, name, user(name)))
}

// local gives a user the rules of a role in the namespace default.
func (w *world) local(role, name string) {
	w.store("rolebindings", binding("default", name, "ClusterRole", role, user(name)))
}

func (w *world) store(resource string, obj metav1.Object) {
	w.t.Helper()
	_, err := w.Access().Create(w.t.Context(), rbacv1.GroupVersion.WithResource(resource), obj, registry.Write{})
	require.NoError(w.t, err)
}

// do sends a request as a user, or as the administrator if user is empty. Nothing is stored or deleted by it,
// and watches end at once.
func (w *world) do(user, method, path, query, contentType, body string) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	if (strings.Contains(path, "/watch/") || strings.HasPrefix(query, "watch")) && query != "timeoutSeconds=1" {
		cancel()
	}
	if method != "GET" && method != "HEAD" {
		query = strings.TrimPrefix(query+"&dryRun=All", "&")
	}
	r := httptest.NewRequestWithContext(ctx, method, path+"?"+query, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer masters-token")
	if user != "" {
		r.Header.Set("Impersonate-User", user)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	out := httptest.NewRecorder()
	w.requests++
	w.ServeHTTP(out, r)
	return out
}

// refused reports whether a response says that the user lacks a right.
func refused(a *httptest.ResponseRecorder, verb string, r served) bool {
	return a.Code == http.StatusForbidden && (a.Body.Len() == 0 || strings.Contains(a.Body.String(), fmt.Sprintf(`cannot %s resource \"%s\" in API group \"%s\"`, verb, r, r.group)))
}

// basic reports what every user may do, by the role system:basic-user.
func basic(r served, verb string) bool {
	return verb == "create" && (r.group == "authorization.k8s.io" && (r.resource == "selfsubjectaccessreviews" || r.resource == "selfsubjectrulesreviews") ||
		r.group == "authentication.k8s.io" && r.resource == "selfsubjectreviews")
}

// check sends a request as every user for the right it needs.
func (w *world) check(r served, verb string, a attempt) {
	for who, allowed := range map[string]bool{
		"has": true, "named": a.name == "t", "local": a.namespace == "default", "other": false,
	} {
		allowed = allowed || basic(r, verb)
		reply := w.do(who+":"+r.id(verb), a.method, a.path, a.query, "", "")
		what := fmt.Sprintf("%s %s?%s as %s:%s: %d %s", a.method, a.path, a.query, who, r.id(verb), reply.Code, reply.Body)
		switch {
		case a.missing && allowed:
			require.Equal(w.t, http.StatusNotFound, reply.Code, what)
		case allowed:
			require.NotEqual(w.t, http.StatusUnauthorized, reply.Code, what)
			require.False(w.t, reply.Code == http.StatusForbidden && strings.Contains(reply.Body.String(), " cannot "), what)
			require.False(w.t, reply.Code == http.StatusForbidden && a.method == "HEAD", what)
		default:
			require.True(w.t, refused(reply, verb, r), what)
		}
	}
}

// checkCreating sends applies and PUTs of objects that do not exist.
func (w *world) checkCreating(r served) {
	namespace := ""
	if r.namespaced {
		namespace = "/namespaces/default"
	}
	path := r.root() + namespace + "/" + r.resource + "/t"
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"t"}}`, strings.TrimPrefix(r.group+"/"+r.version, "/"), r.kind)
	ways := map[string]func(user string) *httptest.ResponseRecorder{
		"patch": func(user string) *httptest.ResponseRecorder {
			return w.do(user, "PATCH", path, "fieldManager=m", "application/apply-patch+yaml", body)
		},
		"update": func(user string) *httptest.ResponseRecorder {
			return w.do(user, "PUT", path, "", "application/json", body)
		},
	}
	for verb, try := range ways {
		if !slices.Contains(r.verbs, verb) || !slices.Contains(r.verbs, "create") {
			continue
		}
		creates := verb == "patch" || try("").Code != http.StatusNotFound
		for _, who := range []string{"has", "named", "local"} {
			if who == "local" && !r.namespaced {
				continue
			}
			a := try(who + ":" + r.id(verb))
			if !creates {
				require.Equal(w.t, http.StatusNotFound, a.Code, "%s %s as %s: %s", verb, path, who, a.Body)
				continue
			}
			require.True(w.t, refused(a, "create", r), "%s %s as %s: %d %s", verb, path, who, a.Code, a.Body)
		}
		a := try("creator:" + r.id(""))
		require.False(w.t, a.Code == http.StatusForbidden && strings.Contains(a.Body.String(), " cannot "), "%s %s: %s", verb, path, a.Body)
	}
}

// checkMethods uses verbs of the API, and other words, as HTTP methods.
func (w *world) checkMethods(r served) {
	namespace := ""
	if r.namespaced {
		namespace = "/namespaces/default"
	}
	for _, verb := range []string{"list", "watch", "get", "deletecollection"} {
		if !slices.Contains(r.verbs, verb) {
			continue
		}
		for _, method := range []string{strings.ToUpper(verb), verb, "TRACE"} {
			if method == "GET" {
				continue
			}
			for _, path := range []string{r.root() + namespace + "/" + r.resource + "/t", r.root() + "/" + r.resource + "/t", r.root() + namespace + "/" + r.resource} {
				for _, who := range []string{"has", "named", "other"} {
					a := w.do(who+":"+r.id(verb), method, path, "", "", "")
					require.GreaterOrEqual(w.t, a.Code, 400, "%s %s as %s: %s", method, path, who, a.Body)
				}
			}
		}
	}
}

// checkGrants labels and annotates roles and bindings whose rights the user does not have.
func (w *world) checkGrants() {
	star := []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
	w.store("clusterroles", &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "strong"), Rules: star})
	w.store("roles", &rbacv1.Role{ObjectMeta: planetest.Meta("default", "strong"), Rules: star})
	w.store("clusterrolebindings", clusterBinding("strong", "strong", user("someone")))
	w.store("rolebindings", binding("default", "strong", "Role", "strong", user("someone-here")))
	for _, name := range []string{"someone", "someone-here"} {
		w.Eventually("the strong roles are known", func() bool {
			return may(w.t, w.Admin(), name, authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Namespace: "default"})
		})
	}
	for _, r := range w.resources {
		if r.group != rbacGroup || r.sub != "" {
			continue
		}
		path := r.root()
		if r.namespaced {
			path += "/namespaces/default"
		}
		path += "/" + r.resource + "/strong"
		for _, change := range []string{`{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}`, `{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"}}`} {
			a := w.do("has:"+r.id("patch"), "PATCH", path, "", "application/merge-patch+json", `{"metadata":`+change+`}`)
			require.Equal(w.t, http.StatusForbidden, a.Code, "%s %s: %s", path, change, a.Body)
			require.Contains(w.t, a.Body.String(), "is attempting to grant RBAC permissions not currently held", path)
			require.Equal(w.t, http.StatusOK, w.do("", "PATCH", path, "", "application/merge-patch+json", `{"metadata":`+change+`}`).Code)
		}
	}
}
