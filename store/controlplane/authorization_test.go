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
)

const rbacGroup = "rbac.authorization.k8s.io"

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "User", APIGroup: rbacGroup, Name: name}
}

func bindCluster(t testing.TB, c client.Conn, name, role string, s ...rbacv1.Subject) {
	t.Helper()
	create(t, c, clusterBinding(name, role, s...))
}

func clusterBinding(name, role string, s ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: meta("", name), Subjects: s, RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "ClusterRole", Name: role}}
}

func binding(namespace, name, kind, role string, s ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: meta(namespace, name), Subjects: s, RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: kind, Name: role}}
}

func rule(verb, group, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
}

// may asks the server whether a user may do something.
func may(t testing.TB, c client.Conn, name string, ra authorizationv1.ResourceAttributes) bool {
	t.Helper()
	return create(t, c, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: name, ResourceAttributes: &ra}}).Status.Allowed
}

func TestRolesThroughTheAPI(t *testing.T) {
	p := start(t)
	admin, ann := p.admin(), p.token("ann-token")
	list := func(namespace string) error {
		_, err := client.For[*corev1.ConfigMap](ann).List(t.Context(), client.ListOptions{Namespace: namespace})
		return err
	}
	require.True(t, apierrors.IsForbidden(list("default")))
	create(t, admin, &rbacv1.Role{ObjectMeta: meta("default", "reader"), Rules: []rbacv1.PolicyRule{rule("list", "", "configmaps")}})
	create(t, admin, binding("default", "readers", "Role", "reader", rbacv1.Subject{Kind: "Group", APIGroup: rbacGroup, Name: "dev"}))
	p.eventually("ann reads", func() bool { return list("default") == nil })
	require.True(t, apierrors.IsForbidden(list("kube-system")), "a role ends at its namespace")
	require.True(t, apierrors.IsForbidden(list("")))
	err := tryCreate(t, ann, &corev1.ConfigMap{ObjectMeta: meta("default", "x")})
	require.ErrorContains(t, err, `configmaps is forbidden: User "ann" cannot create resource "configmaps" in API group "" in the namespace "default"`)

	create(t, admin, binding("kube-system", "viewers", "ClusterRole", "view", user("ann")))
	p.eventually("ann views kube-system", func() bool { return list("kube-system") == nil })
	_, err = client.For[*corev1.Secret](ann).List(t.Context(), client.ListOptions{Namespace: "kube-system"})
	require.True(t, apierrors.IsForbidden(err), "view shows no secrets")

	require.NoError(t, client.For[*rbacv1.RoleBinding](admin).Delete(t.Context(), key("default", "readers")))
	p.eventually("ann no longer reads", func() bool { return apierrors.IsForbidden(list("default")) })

	bob := p.token("bob-token")
	_, err = bob.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/metrics"})
	require.ErrorContains(t, err, `User "bob" cannot get path "/metrics"`)
	_, err = bob.Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/version"})
	require.NoError(t, err)
}

func TestNobodyGivesMoreThanTheyHave(t *testing.T) {
	p := start(t)
	admin, ann := p.admin(), p.token("ann-token")
	create(t, admin, &rbacv1.ClusterRole{ObjectMeta: meta("", "role-editor"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create", "update", "get", "patch"}, APIGroups: []string{rbacGroup}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}},
		rule("get", "", "pods")}})
	bindCluster(t, admin, "role-editor", "role-editor", user("ann"))
	attempt := func(rules ...rbacv1.PolicyRule) error {
		return tryCreate(t, ann, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "r-"}, Rules: rules})
	}
	p.eventually("ann writes roles", func() bool { return attempt(rule("get", "", "pods")) == nil })
	err := attempt(rule("get", "", "pods"), rule("delete", "", "secrets"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `user "ann" (groups=["dev" "ops" "system:authenticated"]) is attempting to grant RBAC permissions not currently held`)
	require.ErrorContains(t, err, `{APIGroups:[""], Resources:["secrets"], Verbs:["delete"]}`)
	require.NotContains(t, err.Error(), `Resources:["pods"]`)

	err = tryCreate(t, ann, clusterBinding("take", "cluster-admin", user("ann")))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `{APIGroups:["*"], Resources:["*"], Verbs:["*"]}`)
	require.True(t, apierrors.IsNotFound(tryCreate(t, ann, clusterBinding("take", "no-such-role", user("ann")))), "what the role holds is not known")
	require.NoError(t, tryCreate(t, ann, clusterBinding("share", "role-editor", user("bob"))))

	_, err = client.For[*rbacv1.ClusterRole](ann).Patch(t.Context(), key("", "role-editor"), client.Patch{Type: "application/json-patch+json",
		Data: []byte(`[{"op":"add","path":"/rules/-","value":{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}}]`)})
	require.True(t, apierrors.IsForbidden(err), err)

	create(t, admin, &rbacv1.ClusterRole{ObjectMeta: meta("", "free"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"escalate"}, APIGroups: []string{rbacGroup}, Resources: []string{"roles"}},
		{Verbs: []string{"bind"}, APIGroups: []string{rbacGroup}, Resources: []string{"clusterroles"}, ResourceNames: []string{"edit"}}}})
	bindCluster(t, admin, "free", "free", user("ann"))
	p.eventually("escalate lets ann", func() bool { return attempt(rule("delete", "", "secrets")) == nil })
	require.NoError(t, tryCreate(t, ann, clusterBinding("edits", "edit", user("bob"))))
	require.True(t, apierrors.IsForbidden(tryCreate(t, ann, clusterBinding("admins", "admin", user("bob")))))
}

func TestReviews(t *testing.T) {
	p := start(t)
	admin, ann := p.admin(), p.token("ann-token")
	create(t, admin, binding("default", "editors", "ClusterRole", "edit", user("ann")))
	pods := authorizationv1.ResourceAttributes{Verb: "delete", Resource: "pods", Namespace: "default"}
	p.eventually("ann edits", func() bool { return may(t, admin, "ann", pods) })
	self := func(spec authorizationv1.SelfSubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		return create(t, ann, &authorizationv1.SelfSubjectAccessReview{Spec: spec}).Status
	}
	status := self(authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &pods})
	require.True(t, status.Allowed)
	require.Equal(t, `RBAC: allowed by RoleBinding "editors/default" of ClusterRole "edit" to User "ann"`, status.Reason)
	require.False(t, self(authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}}).Allowed)
	require.True(t, self(authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/healthz"}}).Allowed)
	require.True(t, apierrors.IsInvalid(tryCreate(t, ann, &authorizationv1.SelfSubjectAccessReview{})))
	require.True(t, apierrors.IsForbidden(tryCreate(t, ann, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "bob", ResourceAttributes: &pods}})), "others' rights are no business of ann's")
	require.True(t, apierrors.IsInvalid(tryCreate(t, admin, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &pods}})))

	local := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: meta("default", ""), Spec: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: &pods}}
	require.True(t, create(t, admin, local).Status.Allowed)
	local.Namespace = "kube-system"
	require.True(t, apierrors.IsInvalid(tryCreate(t, admin, local)))

	rules := create(t, ann, &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}).Status
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

// Who has no credentials is nobody to a server that allows everything, whatever the order of its modes:
// kube-apiserver does the same.
func TestAlwaysAllowRefusesAnonymousRequests(t *testing.T) {
	for _, modes := range [][]string{{"AlwaysAllow"}, {"RBAC", "AlwaysAllow"}} {
		p := start(t, func(o *controlplane.Options) { o.Anonymous, o.AuthorizationModes = true, modes })
		for _, path := range []string{"/api/v1/secrets", "/version", "/api/v1/namespaces/default"} {
			_, err := p.conn(rest.Config{}).Do(t.Context(), &client.Request{Method: http.MethodGet, Path: path})
			require.True(t, apierrors.IsUnauthorized(err), "%v: %s: %v", modes, path, err)
			_, err = p.token("bob-token").Do(t.Context(), &client.Request{Method: http.MethodGet, Path: path})
			require.NoError(t, err, path)
		}
	}
}

func TestAuthorizationModes(t *testing.T) {
	open := start(t, func(o *controlplane.Options) { o.AuthorizationModes = []string{"AlwaysAllow"} })
	create(t, open.token("bob-token"), &corev1.ConfigMap{ObjectMeta: meta("default", "x")})
	closed := start(t, func(o *controlplane.Options) { o.AuthorizationModes = []string{"AlwaysDeny"} })
	_, err := closed.token("bob-token").Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/version"})
	require.True(t, apierrors.IsForbidden(err), err)
	create(t, closed.admin(), &corev1.ConfigMap{ObjectMeta: meta("default", "x")})
}

// What an update or a server-side apply makes because it is missing needs the right to create it: for
// built-in and for custom resources, and for names that the right to patch is confined to.
func TestCreatingByUpdateNeedsCreate(t *testing.T) {
	p := start(t)
	admin, ann := p.admin(), p.token("ann-token")
	_, err := admin.Do(t.Context(), &client.Request{Method: http.MethodPost, Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ContentType: "application/json",
		Body: []byte(`{"metadata":{"name":"boats.sea.test"},"spec":{"group":"sea.test","scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)})
	require.NoError(t, err)
	role := create(t, admin, &rbacv1.Role{ObjectMeta: meta("default", "updater"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get", "patch", "update"}, APIGroups: []string{"", "sea.test", "coordination.k8s.io"}, Resources: []string{"configmaps", "services", "limitranges", "boats", "leases"}},
		{Verbs: []string{"create"}, APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"mine"}}}})
	create(t, admin, binding("default", "updater", "Role", role.Name, user("ann")))
	send := func(c client.Conn, method, resource, name, body string) error {
		group, resource, _ := strings.Cut(resource, ":")
		r := &client.Request{Method: method, Path: group + "/namespaces/default/" + resource + "/" + name, ContentType: "application/json", Body: []byte(body)}
		if method == http.MethodPatch {
			r.ContentType, r.Query = "application/apply-patch+yaml", url.Values{"fieldManager": {"m"}, "force": {"true"}}
		}
		_, err := c.Do(t.Context(), r)
		return err
	}
	p.eventually("ann patches", func() bool {
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
