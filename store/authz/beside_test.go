package authz_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// besideWorld is a line that the authorizers of Kubernetes read.
type besideWorld struct {
	Roles               []metav1.Object
	RoleBindings        []metav1.Object
	ClusterRoles        []metav1.Object
	ClusterRoleBindings []metav1.Object
	ABAC                string
	Pods                []metav1.Object
	Volumes             []metav1.Object
	Attachments         []metav1.Object
	Slices              []metav1.Object
	Requests            []besideRequest
}

type besideRequest struct {
	User, Verb, Namespace, APIGroup, APIVersion, Resource, Subresource, Name, Path, FieldSelector string

	Groups          []string
	ResourceRequest bool
}

type besideDecision struct{ RBAC, ABAC, Node bool }

func (w *besideWorld) add(o metav1.Object) {
	list := map[string]*[]metav1.Object{"*rbacv1.Role": &w.Roles, "*rbacv1.RoleBinding": &w.RoleBindings, "*rbacv1.ClusterRole": &w.ClusterRoles,
		"*rbacv1.ClusterRoleBinding": &w.ClusterRoleBindings, "*corev1.Pod": &w.Pods, "*corev1.PersistentVolume": &w.Volumes,
		"*storagev1.VolumeAttachment": &w.Attachments, "*resourcev1.ResourceSlice": &w.Slices}[fmt.Sprintf("%T", o)]
	*list = append(*list, o)
}

var (
	besideVerbs      = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate"}
	besideGroups     = []string{"", "apps", "storage.k8s.io", "resource.k8s.io", "coordination.k8s.io", "authentication.k8s.io", "certificates.k8s.io"}
	besideResources  = []string{"pods", "secrets", "configmaps", "nodes", "leases", "csinodes", "volumeattachments", "resourceslices", "resourceclaims", "persistentvolumes", "persistentvolumeclaims", "serviceaccounts", "events", "deployments", "tokenreviews"}
	besideSubs       = []string{"", "", "", "", "status", "log", "token", "eviction", "binding"}
	besideNamespaces = []string{"", "ns1", "ns2", "kube-node-lease"}
	besidePaths      = []string{"/", "/healthz", "/healthz/", "/healthz/x", "/api", "/api/v1", "/metrics", "/x/x"}
	besideUsers      = []string{"u1", "u2", "g1", "system:serviceaccount:ns1:u1", "system:serviceaccount:ns2:u2", "system:anonymous"}
	besideMembers    = []string{"g1", "g2", "u1", authn.GroupAuthenticated, "system:unauthenticated", "system:serviceaccounts:ns1"}
)

// some is up to two of the words.
func some(r *rand.Rand, from ...string) (out []string) {
	for range 1 + r.IntN(2) {
		out = append(out, anyOf(r, from...))
	}
	return out
}

// besideRules are rules with each of the wildcards that count, and some that do not.
func besideRules(r *rand.Rand) []rbacv1.PolicyRule {
	some := func(r *rand.Rand, from ...string) []string {
		if r.IntN(2) == 0 {
			return []string{"*"}
		}
		return some(r, from...)
	}
	rules := make([]rbacv1.PolicyRule, r.IntN(4))
	for i := range rules {
		rules[i].Verbs = some(r, append([]string{"get", "list"}, besideVerbs...)...)
		if r.IntN(3) == 0 {
			rules[i].NonResourceURLs = some(r, append([]string{"/healthz/*", "/api*", "/*/x", "*z"}, besidePaths...)...)
			continue
		}
		rules[i].APIGroups = some(r, append([]string{"", ""}, besideGroups...)...)
		rules[i].Resources = some(r, append([]string{"*/status", "pods/*", "pods/log", "*/*", "/log", "serviceaccounts/token"}, besideResources...)...)
		if r.IntN(3) == 0 {
			rules[i].ResourceNames = some(r, "a", "b", "p", "*", "")
		}
	}
	return rules
}

// besideSubject is a subject that some requests are from.
func besideSubject(r *rand.Rand) rbacv1.Subject {
	if r.IntN(2) == 0 {
		return rbacv1.Subject{Kind: "User", Name: anyOf(r, besideUsers...)}
	}
	return rbacv1.Subject{Kind: "Group", Name: anyOf(r, besideMembers...)}
}

// besideABAC is a policy file of lines that both read.
func besideABAC(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(5) {
		spec := map[string]any{anyOf(r, "user", "group"): anyOf(r, append([]string{"*"}, append(besideUsers, besideMembers...)...)...)}
		if r.IntN(4) == 0 { // without *, which is a difference on purpose: docs/differences.md
			spec["user"], spec["group"] = anyOf(r, besideUsers...), anyOf(r, besideMembers...)
		}
		if r.IntN(3) > 0 {
			spec["resource"] = anyOf(r, append([]string{"*", "*"}, besideResources...)...)
			spec["apiGroup"], spec["namespace"] = anyOf(r, append(besideGroups, "*", "*")...), anyOf(r, append(besideNamespaces, "*", "*")...)
		}
		if spec["resource"] == nil || r.IntN(4) == 0 {
			spec["nonResourcePath"] = anyOf(r, "*", "/", "/healthz", "/healthz*", "/healthz/*", "/api*", "*z")
		}
		if r.IntN(3) == 0 {
			spec["readonly"] = true
		}
		line, err := json.Marshal(map[string]any{"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": spec})
		if err != nil {
			panic(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func newBesideRequest(r *rand.Rand) besideRequest {
	q := besideRequest{User: anyOf(r, besideUsers...), Groups: some(r, besideMembers...), Verb: anyOf(r, besideVerbs...)}
	if r.IntN(2) == 0 {
		q.User = "system:node:" + anyOf(r, append([]string{"", "n9"}, nodeNames...)...)
		q.Groups = []string{anyOf(r, "system:nodes", "system:nodes", "system:nodes", "g1"), authn.GroupAuthenticated}
	}
	if r.IntN(5) == 0 {
		q.Path = anyOf(r, besidePaths...)
		return q
	}
	q.ResourceRequest, q.APIVersion, q.Resource, q.Subresource = true, "v1", anyOf(r, besideResources...), anyOf(r, besideSubs...)
	q.APIGroup = map[string]string{"leases": "coordination.k8s.io", "csinodes": "storage.k8s.io", "volumeattachments": "storage.k8s.io", "resourceslices": "resource.k8s.io",
		"resourceclaims": "resource.k8s.io", "deployments": "apps", "tokenreviews": "authentication.k8s.io"}[q.Resource]
	if r.IntN(10) == 0 {
		q.APIGroup = anyOf(r, besideGroups...)
	}
	q.Namespace = anyOf(r, besideNamespaces...)
	q.Name = anyOf(r, append([]string{"", "p", "q", "r", "n1", "n2", "u1"}, otherNames...)...)
	if q.Verb == "list" || q.Verb == "watch" || q.Verb == "deletecollection" {
		q.FieldSelector = anyOf(r, "", "", "spec.nodeName=n1", "spec.nodeName=n2", "spec.nodeName!=n1", "nodeName=n1", "metadata.name=n1", "metadata.name=a", "spec.nodeName=n1,metadata.name=a")
		if q.FieldSelector != "" && r.IntN(2) == 0 {
			q.Name = ""
		}
	}
	return q
}

// besideAuthorizers has a world in which objects came, changed and went, and our authorizers over it.
func besideAuthorizers(t *testing.T, seed uint64) (*besideWorld, [3]authz.Authorizer) {
	r := seeds.Stream(seed, 14)
	w, kept, policy, graph := &besideWorld{}, cluster{}, &authz.Policy{}, &authz.NodeGraph{}
	for range 40 {
		o := randomNodeObject(r)
		if r.IntN(4) == 0 {
			graph.Delete(o)
			kept.delete(o)
			continue
		}
		graph.Set(o)
		kept.set(o)
	}
	for range 30 {
		o := randomObject(r)
		switch o := o.(type) {
		case *rbacv1.Role:
			o.Rules = besideRules(r)
		case *rbacv1.ClusterRole:
			o.Rules = besideRules(r)
		case *rbacv1.RoleBinding:
			o.Subjects = append(o.Subjects, besideSubject(r))
		case *rbacv1.ClusterRoleBinding:
			o.Subjects = append(o.Subjects, besideSubject(r))
		}
		if r.IntN(5) == 0 {
			policy.Delete(o)
			kept.delete(o)
			continue
		}
		policy.Set(o)
		kept.set(o)
	}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		w.add(kept[id])
	}
	w.ABAC = besideABAC(r)
	for range 200 {
		w.Requests = append(w.Requests, newBesideRequest(r))
	}
	abac, err := authz.ParseABAC([]byte(w.ABAC))
	require.NoError(t, err, "seed %d", seed)
	return w, [3]authz.Authorizer{authz.NewRBAC(policy), abac, authz.NewNode(graph, nil)}
}

// Random roles, bindings, policy files and clusters, after a history of changes, beside the RBAC, ABAC and
// Node authorizers of kube-apiserver 1.36.3, as .ci/peers builds them: each allows the same of random
// requests.
func TestAuthorizersBeside(t *testing.T) {
	decide := seeds.Beside[*besideWorld, []besideDecision](t, "authorizer-decisions")
	names := [3]string{"RBAC", "ABAC", "Node"}
	var allowed, refused [3]int
	failed := 0
	for _, seed := range seeds.Of(t, 500) {
		w, ours := besideAuthorizers(t, seed)
		all := decide(w)
		require.Len(t, all, len(w.Requests))
		for i, q := range w.Requests {
			a := authz.Attributes{User: &authn.User{Name: q.User, Groups: q.Groups}, Verb: q.Verb, ResourceRequest: q.ResourceRequest, Namespace: q.Namespace, APIGroup: q.APIGroup,
				APIVersion: q.APIVersion, Resource: q.Resource, Subresource: q.Subresource, Name: q.Name, Path: q.Path, FieldSelector: q.FieldSelector}
			for k, want := range []bool{all[i].RBAC, all[i].ABAC, all[i].Node} {
				d, reason, _ := ours[k].Authorize(t.Context(), a)
				if want {
					allowed[k]++
				} else {
					refused[k]++
				}
				if got := d == authz.Allow; got != want {
					failed++
					t.Errorf("seed %d, request %d: %s: upstream allows: %v, ours: %v (%s): %+v", seed, i, names[k], want, got, reason, q)
				}
			}
			if failed > 20 {
				t.FailNow()
			}
		}
	}
	t.Logf("RBAC, ABAC, Node: allowed %v, refused %v", allowed, refused)
	for k := range names {
		require.Greater(t, allowed[k], 500, names[k])
		require.Greater(t, refused[k], 1000, names[k])
	}
}
