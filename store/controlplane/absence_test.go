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
	"github.com/keelson-dev/keelson/store/registry"
)

// TestNothingIsServedWithoutTheRight asks for everything that discovery lists, in every way there is to ask
// for it, as users who have exactly the right that is needed, that right for one name, that right in one
// namespace, and every right but that one. What must be allowed is decided by the model below, which knows
// nothing of how the server reads a request.
//
// The rules:
//
//  1. A request needs one right: a verb on a resource (with its subresource) of a group, in the namespace of
//     the path, for the name of the path. No other verb, no right on the resource above a subresource or on
//     one beside it, and none of another group will do.
//  2. A list or watch that selects one name by field needs the right for that name only; nothing else gets
//     its name from the query.
//  3. A watch needs watch, whether it is asked for by ?watch or by the older path /watch/, and there is no
//     path to a named object of a namespaced resource without its namespace: who holds a right for a name
//     learns nothing of others' objects of that name.
//  4. What an apply or a PUT would create needs create besides.
//  5. A method that HTTP or the API does not know is no verb.
//  6. To change what a role or binding grants, labels and annotations included, needs what it grants, or
//     escalate or bind.
func TestNothingIsServedWithoutTheRight(t *testing.T) {
	w := newWorld(t)
	for _, r := range w.resources {
		for _, verb := range r.verbs {
			for _, q := range requestsOf(r, verb) {
				w.check(r, verb, q)
			}
		}
		if r.sub == "" {
			w.checkCreating(r)
			w.checkMethods(r)
		}
	}
	w.checkGrants()
	t.Logf("%d resources and subresources, %d requests", len(w.resources), w.asked)
}

// served is a resource or subresource as discovery has it.
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

// question is a request and what it needs.
type question struct {
	method, path, query string
	namespace, name     string // of the right that is needed
	missing             bool   // there is no such path
}

// requestsOf are the ways to ask for a verb of a resource: about the names t and u in the namespaces default
// and other.
func requestsOf(r served, verb string) (out []question) {
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
		if r.resource == "namespaces" && r.group == "" { // a namespace is in itself
			namespace = name
		}
		out = append(out, question{method: method, path: path, query: query, namespace: namespace, name: name})
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
			out = append(out, question{method: "GET", path: at("", ns, ""), query: one, namespace: ns, name: "t"})
		}
	case "watch":
		for _, ns := range collections {
			add("GET", at("", ns, ""), "watch=1", ns, "")
			add("GET", at("/watch", ns, ""), "", ns, "")
			out = append(out, question{method: "GET", path: at("", ns, ""), query: "watch=true&" + one, namespace: ns, name: "t"})
			if r.namespaced && ns == "" {
				out = append(out, question{method: "GET", path: at("/watch", "", "t"), query: "timeoutSeconds=1", name: "t", missing: true})
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
	*plane
	t         *testing.T
	resources []served
	asked     int
	cancelled context.Context
}

func newWorld(t *testing.T) *world {
	p := start(t)
	w := &world{plane: p, t: t}
	var cancel context.CancelFunc
	w.cancelled, cancel = context.WithCancel(t.Context())
	cancel()
	create(t, p.admin(), &corev1.Namespace{ObjectMeta: meta("", "other")})
	p.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `
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
	p.eventually("the custom resource is served", func() bool { return w.do("", "GET", "/apis/sea.test/v1/boats", "", "", "").Code == 200 })
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
	// What was granted last is known last.
	w.grant("last", nil, rule("get", "x.test", "last"))
	w.local("last", "last-here")
	for _, name := range []string{"last", "last-here"} {
		p.eventually("all rights are known", func() bool {
			return may(t, p.admin(), name, authorizationv1.ResourceAttributes{Verb: "get", Group: "x.test", Resource: "last", Namespace: "default"})
		})
	}
	return w
}

// discover reads what the server says that it serves.
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

// users makes the users of a right: who has it, for the name t only, in the namespace default only, and who
// has every other.
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
	w.store("clusterroles", &rbacv1.ClusterRole{ObjectMeta: meta("", name), Rules: rules})
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
	ctx := w.t.Context()
	if (strings.Contains(path, "/watch/") || strings.HasPrefix(query, "watch")) && query != "timeoutSeconds=1" {
		ctx = w.cancelled
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
	w.asked++
	w.ServeHTTP(out, r)
	return out
}

// refused reports whether an answer is that the user lacks a right.
func refused(a *httptest.ResponseRecorder, verb string, r served) bool {
	return a.Code == http.StatusForbidden && (a.Body.Len() == 0 || strings.Contains(a.Body.String(), fmt.Sprintf(`cannot %s resource \"%s\" in API group \"%s\"`, verb, r, r.group)))
}

// basic reports what everybody may do, by the role system:basic-user.
func basic(r served, verb string) bool {
	return verb == "create" && (r.group == "authorization.k8s.io" && (r.resource == "selfsubjectaccessreviews" || r.resource == "selfsubjectrulesreviews") ||
		r.group == "authentication.k8s.io" && r.resource == "selfsubjectreviews")
}

// check asks a question as every user of the right it needs.
func (w *world) check(r served, verb string, q question) {
	for who, allowed := range map[string]bool{
		"has": true, "named": q.name == "t", "local": q.namespace == "default", "other": false,
	} {
		allowed = allowed || basic(r, verb)
		a := w.do(who+":"+r.id(verb), q.method, q.path, q.query, "", "")
		what := fmt.Sprintf("%s %s?%s as %s:%s: %d %s", q.method, q.path, q.query, who, r.id(verb), a.Code, a.Body)
		switch {
		case q.missing && allowed:
			require.Equal(w.t, http.StatusNotFound, a.Code, what)
		case allowed:
			require.NotEqual(w.t, http.StatusUnauthorized, a.Code, what)
			require.False(w.t, a.Code == http.StatusForbidden && strings.Contains(a.Body.String(), " cannot "), what)
			require.False(w.t, a.Code == http.StatusForbidden && q.method == "HEAD", what)
		default:
			require.True(w.t, refused(a, verb, r), what)
		}
	}
}

// checkCreating applies and puts what is missing.
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
	for verb, ask := range ways {
		if !slices.Contains(r.verbs, verb) || !slices.Contains(r.verbs, "create") {
			continue
		}
		creates := verb == "patch" || ask("").Code != http.StatusNotFound
		for _, who := range []string{"has", "named", "local"} {
			if who == "local" && !r.namespaced {
				continue
			}
			a := ask(who + ":" + r.id(verb))
			if !creates {
				require.Equal(w.t, http.StatusNotFound, a.Code, "%s %s as %s: %s", verb, path, who, a.Body)
				continue
			}
			require.True(w.t, refused(a, "create", r), "%s %s as %s: %d %s", verb, path, who, a.Code, a.Body)
		}
		a := ask("creator:" + r.id(""))
		require.False(w.t, a.Code == http.StatusForbidden && strings.Contains(a.Body.String(), " cannot "), "%s %s: %s", verb, path, a.Body)
	}
}

// checkMethods uses verbs of the API, and what is none, as HTTP methods.
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
	w.store("clusterroles", &rbacv1.ClusterRole{ObjectMeta: meta("", "strong"), Rules: star})
	w.store("roles", &rbacv1.Role{ObjectMeta: meta("default", "strong"), Rules: star})
	w.store("clusterrolebindings", clusterBinding("strong", "strong", user("someone")))
	w.store("rolebindings", binding("default", "strong", "Role", "strong", user("someone-here")))
	for _, name := range []string{"someone", "someone-here"} {
		w.eventually("the strong roles are known", func() bool {
			return may(w.t, w.admin(), name, authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Namespace: "default"})
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
