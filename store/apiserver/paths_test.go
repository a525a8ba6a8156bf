package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// asked is an authorizer that keeps the last attributes and decides by allow.
type asked struct {
	mu    sync.Mutex
	last  authz.Attributes
	allow func(a authz.Attributes) bool
}

func (a *asked) Authorize(_ context.Context, at authz.Attributes) (authz.Decision, string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = at
	if a.allow(at) {
		return authz.Allow, "", nil
	}
	return authz.NoOpinion, "", nil
}

func (a *asked) options() apiserver.Options {
	return apiserver.Options{
		Authenticator: authn.Func(func(*http.Request) (*authn.Response, bool, error) {
			return &authn.Response{User: &authn.User{Name: "ann", Groups: []string{authn.GroupAuthenticated}}}, true, nil
		}),
		Authorizer: a,
	}
}

// A caller with rights to one name, or one namespace, can read and change nothing else, whatever the path and
// the method.
func TestPathsOutsideGrants(t *testing.T) {
	rule := asked{allow: func(authz.Attributes) bool { return true }}
	s := start(t, rule.options())
	s.client.Timeout = 10 * time.Second // a watch that should be refused must not block the test
	for _, ns := range []string{"a", "b"} {
		s.do("POST", "/api/v1/namespaces", object{"metadata": map[string]any{"name": ns}}).ok(201)
		for _, name := range []string{"mine", "other"} {
			s.do("POST", "/api/v1/namespaces/"+ns+"/secrets", object{"metadata": map[string]any{"name": name}, "stringData": map[string]any{"k": "hidden"}}).ok(201)
		}
	}
	const core = "/api/v1"
	// A ClusterRole with resourceNames is bound in the whole cluster.
	t.Run("one name everywhere", func(t *testing.T) {
		rule.allow = func(a authz.Attributes) bool { return a.Resource == "secrets" && a.Name == "mine" }
		for _, path := range []string{"/watch/secrets/mine", "/secrets/mine?watch=1", "/secrets/mine", "/watch/secrets/mine?resourceVersion=1&timeoutSeconds=1"} {
			for _, method := range []string{"GET", "HEAD", "LIST", "WATCH", "list", "watch", "deletecollection", "DELETECOLLECTION", "GETLIST"} {
				got := s.do(method, core+path, nil)
				require.Contains(t, []int{404, 405}, got.code, "%s %s: %s", method, path, got.body)
				require.NotContains(t, string(got.body), "aGlkZGVu", "%s %s", method, path)
			}
		}
		require.Equal(t, 403, s.do("DELETE", core+"/namespaces/a/secrets?fieldSelector=metadata.name%3Dmine", nil).code,
			"the verb of collections is allowed for all names or not at all")
		got := s.do("GET", core+"/secrets?fieldSelector=metadata.name%3Dmine", nil).ok(200)
		require.Equal(t, []string{"mine", "mine"}, got.names())
		require.Equal(t, 403, s.do("GET", core+"/watch/secrets?fieldSelector=metadata.name%3Dmine", nil).code, "as upstream: of older paths only the path counts")
		w := s.open("GET", core+"/watch/namespaces/a/secrets/mine?timeoutSeconds=1", nil)
		defer w.Body.Close()
		require.Equal(t, 200, w.StatusCode)
		events := json.NewDecoder(w.Body)
		var names []string
		for {
			var e object
			if events.Decode(&e) != nil {
				break
			}
			names = append(names, e.str("object.metadata.namespace")+"/"+e.str("object.metadata.name"))
		}
		require.Equal(t, []string{"a/mine"}, names)
	})
	t.Run("everything in one namespace", func(t *testing.T) {
		rule.allow = func(a authz.Attributes) bool { return a.Namespace == "a" }
		for _, path := range []string{"/namespaces/a/namespaces", "/namespaces/a/namespaces/b", "/watch/namespaces/a/namespaces", "/namespaces/a/nodes",
			"/namespaces/a/namespaces/b/status", "/namespaces/a/namespaces/a", "/watch/namespaces/a/namespaces/b?timeoutSeconds=1"} {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
				got := s.do(method, core+path, object{"metadata": map[string]any{"name": "b"}})
				require.Equal(t, 404, got.code, "%s %s: %s", method, path, got.body)
				require.Contains(t, string(got.body), "could not find the requested resource", "%s %s", method, path)
			}
		}
		s.do("GET", core+"/namespaces/a", nil).ok(200)
	})
	rule.allow = func(authz.Attributes) bool { return true }
	s.do("GET", core+"/namespaces/b", nil).ok(200)
	for _, path := range []string{"/namespaces/../secrets", "/namespaces/./secrets", "/namespaces/%25/secrets", "/namespaces/../secrets/mine", "/namespaces/a/secrets/.."} {
		require.Equal(t, 400, s.do("GET", core+path, nil).code, path)
	}
	for _, path := range []string{"/namespaces//secrets", "/namespaces//secrets/mine", "//secrets", "/namespaces/a//secrets", "/namespaces/a/secrets//status",
		"/namespaces/a/secrets/mine/nothing", "/namespaces/a/pods/p/log/more", "/namespaces/a/pods/p/status/more", "/proxy/namespaces/a/pods/p", "/watch", "/proxy"} {
		require.Equal(t, 404, s.do("GET", core+path, nil).code, path)
	}
}

// A path that only resembles that of a long-running request is not exempt from the timeout.
func TestMethodsDoNotMakeRequestsLong(t *testing.T) {
	rule := asked{allow: func(authz.Attributes) bool { return true }}
	o := rule.options()
	deadlines := make(chan bool, 1)
	o.Handlers = map[string]http.Handler{"/held": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, bounded := r.Context().Deadline()
		deadlines <- bounded
	})}
	s := start(t, o)
	for _, method := range []string{"GET", "WATCH", "watch"} {
		s.do(method, "/held", nil)
		require.True(t, <-deadlines, method)
	}
}

// pathRule is what a path of a resource means: the attributes that are authorized, and whether the server has
// such a path at all.
type pathRule struct {
	path                 string
	namespace, name, sub string
	watch                bool
	exists               bool
}

// Every resource of discovery is requested with every method and every form of path. The attributes that are
// authorized, and whether the path exists, follow from the rules here.
func TestEveryPath(t *testing.T) {
	rule := asked{allow: func(authz.Attributes) bool { return true }}
	o := rule.options()
	o.MinWatch = time.Millisecond
	o.Computed, o.Tokens = reviews(t), noTokens{}
	s := start(t, o)
	methods := map[string]string{"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
		"OPTIONS": "", "LIST": "", "list": "", "WATCH": "", "TRACE": "", "get": ""}
	checked := 0
	for root, list := range resourceLists(s) {
		for _, res := range list {
			name, sub, _ := strings.Cut(res.Name, "/")
			if sub != "" {
				continue
			}
			listed := slices.Contains(res.Verbs, "list")
			subs := subresourcesOf(list, name)
			for _, rule0 := range shapes(name, res.Namespaced, listed, subs) {
				for method, verb := range methods {
					checkPath(t, s, &rule, root, name, method, verb, rule0, res)
					checked++
				}
			}
		}
	}
	t.Logf("%d requests", checked)
	require.Greater(t, checked, 5000)
}

type noTokens struct{}

func (noTokens) IssueToken(context.Context, metav1.Object, metav1.Object) (string, error) {
	return "", apierrors.NewInternalError(errors.New("no tokens"))
}

// shapes are the paths tried for a resource.
func shapes(resource string, namespaced, listed bool, subs []string) []pathRule {
	rules := []pathRule{
		{path: resource, exists: !namespaced || listed},
		{path: resource + "/x", name: "x", exists: !namespaced},
		{path: resource + "/x/nothing", name: "x", sub: "nothing"},
		{path: "watch/" + resource, watch: true, exists: !namespaced || listed},
		{path: "watch/" + resource + "/x", name: "x", watch: true, exists: !namespaced},
	}
	if resource != "namespaces" {
		rules = append(rules,
			pathRule{path: "namespaces/n/" + resource, namespace: "n", exists: namespaced},
			pathRule{path: "namespaces/n/" + resource + "/x", namespace: "n", name: "x", exists: namespaced},
			pathRule{path: "watch/namespaces/n/" + resource, namespace: "n", watch: true, exists: namespaced},
			pathRule{path: "watch/namespaces/n/" + resource + "/x", namespace: "n", name: "x", watch: true, exists: namespaced})
	} else {
		rules = slices.Delete(rules, 2, 3) // the element after a namespace is a resource in it
		for i := range rules {
			rules[i].namespace = rules[i].name
		}
		rules = append(rules, pathRule{path: "namespaces/n/namespaces", namespace: "n"}, pathRule{path: "namespaces/n/namespaces/x", namespace: "n", name: "x"})
	}
	for _, sub := range subs {
		own, above := pathRule{path: resource + "/x/" + sub, name: "x", sub: sub, exists: !namespaced}, "namespaces/n/"
		if resource == "namespaces" {
			own.namespace = "x"
		}
		if namespaced {
			rules = append(rules, pathRule{path: above + resource + "/x/" + sub, namespace: "n", name: "x", sub: sub, exists: true},
				pathRule{path: above + resource + "/x/" + sub + "/more", namespace: "n", name: "x", sub: sub, exists: sub == "proxy"})
		}
		rules = append(rules, own, pathRule{path: "watch/" + own.path, namespace: own.namespace, name: "x", sub: sub, watch: true})
	}
	return rules
}

func checkPath(t *testing.T, s *server, rule *asked, root, resource, method, verb string, p pathRule, res metav1.APIResource) {
	t.Helper()
	where := method + " " + root + "/" + p.path
	got := s.do(method, root+"/"+p.path+"?dryRun=All", nil)
	switch {
	case p.watch:
		verb = "watch"
	case p.name == "" && verb == "get":
		verb = "list"
	case p.name == "" && verb == "delete":
		verb = "deletecollection"
	}
	a := rule.last
	require.True(t, a.ResourceRequest, where)
	require.Equal(t, []string{verb, p.namespace, resource, p.name, p.sub}, []string{a.Verb, a.Namespace, a.Resource, a.Name, a.Subresource}, where)
	lost := strings.Contains(string(got.body), "could not find the requested resource") || method == "HEAD" && got.code == 404 && !p.exists
	require.Equal(t, !p.exists, lost && got.code == 404, "%s: %d %s", where, got.code, got.body)
	if p.exists && p.sub == "" && !slices.Contains(res.Verbs, verb) {
		require.Equal(t, 405, got.code, "%s: %s", where, got.body)
	}
}

// resourceLists are the resources of all versions, by the root of their paths.
func resourceLists(s *server) map[string][]metav1.APIResource {
	s.t.Helper()
	get := func(path string, into any) {
		require.NoError(s.t, json.Unmarshal(s.do("GET", path, nil).body, into), path)
	}
	var groups metav1.APIGroupList
	get("/apis", &groups)
	roots := []string{"/api/v1"}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			roots = append(roots, "/apis/"+v.GroupVersion)
		}
	}
	out := map[string][]metav1.APIResource{}
	for _, root := range roots {
		var list metav1.APIResourceList
		get(root, &list)
		out[root] = list.APIResources
	}
	return out
}

func subresourcesOf(list []metav1.APIResource, resource string) []string {
	var subs []string
	for _, r := range list {
		if name, sub, ok := strings.Cut(r.Name, "/"); ok && name == resource {
			subs = append(subs, sub)
		}
	}
	return subs
}
