package controlplane_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

const rbacGroup = "rbac.authorization.k8s.io"

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "User", APIGroup: rbacGroup, Name: name}
}

func bindCluster(t testing.TB, c client.Conn, name, role string, s ...rbacv1.Subject) {
	t.Helper()
	planetest.Create(t, c, clusterBinding(name, role, s...))
}

func clusterBinding(name, role string, s ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: planetest.Meta("", name), Subjects: s, RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "ClusterRole", Name: role}}
}

func binding(namespace, name, kind, role string, s ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: planetest.Meta(namespace, name), Subjects: s, RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: kind, Name: role}}
}

func rule(verb, group, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
}

// may sends a SubjectAccessReview and returns its result.
func may(t testing.TB, c client.Conn, name string, ra authorizationv1.ResourceAttributes) bool {
	t.Helper()
	return planetest.Create(t, c, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: name, ResourceAttributes: &ra}}).Status.Allowed
}

func TestRolesThroughTheAPI(t *testing.T) {
	p := planetest.Start(t)
	admin, ann := p.Admin(), p.Token("ann-token")
	list := func(namespace string) error {
		_, err := client.For[*corev1.ConfigMap](ann).List(t.Context(), client.ListOptions{Namespace: namespace})
		return err
	}
	require.True(t, apierrors.IsForbidden(list("default")))
	planetest.Create(t, admin, &rbacv1.Role{ObjectMeta: planetest.Meta("default", "reader"), Rules: []rbacv1.PolicyRule{rule("list", "", "configmaps")}})
	planetest.Create(t, admin, binding("default", "readers", "Role", "reader", rbacv1.Subject{Kind: "Group", APIGroup: rbacGroup, Name: "dev"}))
	p.Eventually("ann reads", func() bool { return list("default") == nil })
	require.True(t, apierrors.IsForbidden(list("kube-system")), "a role ends at its namespace")
	require.True(t, apierrors.IsForbidden(list("")))
	err := planetest.TryCreate(t, ann, &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "x")})
	require.ErrorContains(t, err, `configmaps is forbidden: User "ann" cannot create resource "configmaps" in API group "" in the namespace "default"`)

	planetest.Create(t, admin, binding("kube-system", "viewers", "ClusterRole", "view", user("ann")))
	p.Eventually("ann views kube-system", func() bool { return list("kube-system") == nil })
	_, err = client.For[*corev1.Secret](ann).List(t.Context(), client.ListOptions{Namespace: "kube-system"})
	require.True(t, apierrors.IsForbidden(err), "view shows no secrets")

	require.NoError(t, client.For[*rbacv1.RoleBinding](admin).Delete(t.Context(), planetest.Key("default", "readers")))
	p.Eventually("ann no longer reads", func() bool { return apierrors.IsForbidden(list("default")) })

	bob := p.Token("bob-token")
	_, err = bob.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/metrics"})
	require.ErrorContains(t, err, `User "bob" cannot get path "/metrics"`)
	_, err = bob.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/version"})
	require.NoError(t, err)
}

func TestEscalationIsRefused(t *testing.T) {
	p := planetest.Start(t)
	admin, ann := p.Admin(), p.Token("ann-token")
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "role-editor"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create", "update", "get", "patch"}, APIGroups: []string{rbacGroup}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}},
		rule("get", "", "pods")}})
	bindCluster(t, admin, "role-editor", "role-editor", user("ann"))
	attempt := func(rules ...rbacv1.PolicyRule) error {
		return planetest.TryCreate(t, ann, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "r-"}, Rules: rules})
	}
	p.Eventually("ann writes roles", func() bool { return attempt(rule("get", "", "pods")) == nil })
	err := attempt(rule("get", "", "pods"), rule("delete", "", "secrets"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `user "ann" (groups=["dev" "ops" "system:authenticated"]) is attempting to grant RBAC permissions not currently held`)
	require.ErrorContains(t, err, `{APIGroups:[""], Resources:["secrets"], Verbs:["delete"]}`)
	require.NotContains(t, err.Error(), `Resources:["pods"]`)

	err = planetest.TryCreate(t, ann, clusterBinding("take", "cluster-admin", user("ann")))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `{APIGroups:["*"], Resources:["*"], Verbs:["*"]}`)
	require.True(t, apierrors.IsNotFound(planetest.TryCreate(t, ann, clusterBinding("take", "no-such-role", user("ann")))), "what the role holds is not known")
	require.NoError(t, planetest.TryCreate(t, ann, clusterBinding("share", "role-editor", user("bob"))))

	_, err = client.For[*rbacv1.ClusterRole](ann).Patch(t.Context(), planetest.Key("", "role-editor"), client.Patch{Type: "application/json-patch+json",
		Data: []byte(`[{"op":"add","path":"/rules/-","value":{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}}]`)})
	require.True(t, apierrors.IsForbidden(err), err)

	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "free"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"escalate"}, APIGroups: []string{rbacGroup}, Resources: []string{"roles"}},
		{Verbs: []string{"bind"}, APIGroups: []string{rbacGroup}, Resources: []string{"clusterroles"}, ResourceNames: []string{"edit"}}}})
	bindCluster(t, admin, "free", "free", user("ann"))
	p.Eventually("escalate lets ann", func() bool { return attempt(rule("delete", "", "secrets")) == nil })
	require.NoError(t, planetest.TryCreate(t, ann, clusterBinding("edits", "edit", user("bob"))))
	require.True(t, apierrors.IsForbidden(planetest.TryCreate(t, ann, clusterBinding("admins", "admin", user("bob")))))
}

func TestReviews(t *testing.T) {
	p := planetest.Start(t)
	admin, ann := p.Admin(), p.Token("ann-token")
	planetest.Create(t, admin, binding("default", "editors", "ClusterRole", "edit", user("ann")))
	pods := authorizationv1.ResourceAttributes{Verb: "delete", Resource: "pods", Namespace: "default"}
	p.Eventually("ann edits", func() bool { return may(t, admin, "ann", pods) })
	self := func(spec authorizationv1.SelfSubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		return planetest.Create(t, ann, &authorizationv1.SelfSubjectAccessReview{Spec: spec}).Status
	}
	status := self(authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &pods})
	require.True(t, status.Allowed)
	require.Equal(t, `RBAC: allowed by RoleBinding "editors/default" of ClusterRole "edit" to User "ann"`, status.Reason)
	require.False(t, self(authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}}).Allowed)
	require.True(t, self(authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/healthz"}}).Allowed)
	require.True(t, apierrors.IsInvalid(planetest.TryCreate(t, ann, &authorizationv1.SelfSubjectAccessReview{})))
	require.True(t, apierrors.IsForbidden(planetest.TryCreate(t, ann, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "bob", ResourceAttributes: &pods}})), "others' rights are no business of ann's")
	require.True(t, apierrors.IsInvalid(planetest.TryCreate(t, admin, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &pods}})))

	local := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: planetest.Meta("default", ""), Spec: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: &pods}}
	require.True(t, planetest.Create(t, admin, local).Status.Allowed)
	local.Namespace = "kube-system"
	require.True(t, apierrors.IsInvalid(planetest.TryCreate(t, admin, local)))

	rules := planetest.Create(t, ann, &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}).Status
	require.False(t, rules.Incomplete)
	found := false
	for _, r := range rules.ResourceRules {
		for _, res := range r.Resources {
			found = found || res == "deployments"
		}
	}
	require.True(t, found, "edit's deployments are listed")
	require.NotEmpty(t, rules.NonResourceRules)
}

// A server that allows everything refuses requests without credentials, whatever the order of its modes, as
// kube-apiserver does.
func TestAlwaysAllowRefusesAnonymousRequests(t *testing.T) {
	for _, modes := range [][]string{{"AlwaysAllow"}, {"RBAC", "AlwaysAllow"}} {
		p := planetest.Start(t, func(o *controlplane.Options) { o.Anonymous, o.AuthorizationModes = true, modes })
		for _, path := range []string{"/api/v1/secrets", "/version", "/api/v1/namespaces/default"} {
			_, err := p.Conn(rest.Config{}).Do(t.Context(), &client.Request{Method: http.MethodGet, Path: path})
			require.True(t, apierrors.IsUnauthorized(err), "%v: %s: %v", modes, path, err)
			_, err = p.Token("bob-token").Do(t.Context(), &client.Request{Method: http.MethodGet, Path: path})
			require.NoError(t, err, path)
		}
	}
}

func TestAuthorizationModes(t *testing.T) {
	open := planetest.Start(t, func(o *controlplane.Options) { o.AuthorizationModes = []string{"AlwaysAllow"} })
	planetest.Create(t, open.Token("bob-token"), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "x")})
	closed := planetest.Start(t, func(o *controlplane.Options) { o.AuthorizationModes = []string{"AlwaysDeny"} })
	_, err := closed.Token("bob-token").Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/version"})
	require.True(t, apierrors.IsForbidden(err), err)
	planetest.Create(t, closed.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "x")})
}

// An update or a server-side apply that creates a missing object needs the right to create it: for
// built-in and for custom resources, and for names to which the right to patch is restricted.
func TestCreatingByUpdateNeedsCreate(t *testing.T) {
	p := planetest.Start(t)
	admin, ann := p.Admin(), p.Token("ann-token")
	_, err := admin.Do(t.Context(), &client.Request{Method: http.MethodPost, Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ContentType: "application/json",
		Body: []byte(`{"metadata":{"name":"boats.sea.test"},"spec":{"group":"sea.test","scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)})
	require.NoError(t, err)
	role := planetest.Create(t, admin, &rbacv1.Role{ObjectMeta: planetest.Meta("default", "updater"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get", "patch", "update"}, APIGroups: []string{"", "sea.test", "coordination.k8s.io"}, Resources: []string{"configmaps", "services", "limitranges", "boats", "leases"}},
		{Verbs: []string{"create"}, APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"mine"}}}})
	planetest.Create(t, admin, binding("default", "updater", "Role", role.Name, user("ann")))
	send := func(c client.Conn, method, resource, name, body string) error {
		group, resource, _ := strings.Cut(resource, ":")
		r := &client.Request{Method: method, Path: group + "/namespaces/default/" + resource + "/" + name, ContentType: "application/json", Body: []byte(body)}
		if method == http.MethodPatch {
			r.ContentType, r.Query = "application/apply-patch+yaml", url.Values{"fieldManager": {"m"}, "force": {"true"}}
		}
		_, err := c.Do(t.Context(), r)
		return err
	}
	p.Eventually("ann patches", func() bool {
		return !apierrors.IsForbidden(send(ann, http.MethodPatch, "/api/v1:configmaps", "none", "{}"))
	})
	const (
		configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`
		limits    = `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"x"},"spec":{"limits":[]}}`
		service   = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80}]}}`
		boat      = `{"apiVersion":"sea.test/v1","kind":"Boat","metadata":{"name":"x"}}`
		lease     = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"}}`
	)
	for _, c := range []struct{ method, resource, body string }{
		{http.MethodPatch, "/api/v1:configmaps", configMap},
		{http.MethodPatch, "/api/v1:services", service},
		{http.MethodPut, "/api/v1:limitranges", limits},
		{http.MethodPatch, "/apis/sea.test/v1:boats", boat},
		{http.MethodPatch, "/apis/coordination.k8s.io/v1:leases", lease},
		{http.MethodPut, "/apis/coordination.k8s.io/v1:leases", lease},
	} {
		what := c.method + " " + c.resource
		err := send(ann, c.method, c.resource, "x", c.body)
		require.True(t, apierrors.IsForbidden(err), "%s: %v", what, err)
		_, resource, _ := strings.Cut(c.resource, ":")
		require.ErrorContains(t, err, `User "ann" cannot create resource "`+resource+`"`, what)
		require.NoError(t, send(admin, c.method, c.resource, "x", c.body), what)
		err = send(ann, c.method, c.resource, "x", c.body)
		require.False(t, apierrors.IsForbidden(err), "%s of what is there: %v", what, err)
		_, err = admin.Do(t.Context(), &client.Request{Method: http.MethodDelete, Path: strings.Replace(c.resource, ":", "/namespaces/default/", 1) + "/x"})
		require.NoError(t, err)
	}
	require.NoError(t, send(ann, http.MethodPut, "/apis/coordination.k8s.io/v1:leases", "mine", strings.Replace(lease, `"x"`, `"mine"`, 1)), "create of this name is allowed")
}
