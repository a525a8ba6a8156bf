package controlplane_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// Every change of a role or binding but of owners and finalizers needs the rights it is about: with a label
// alone a role becomes a part of others, with an annotation a server completes it.
func TestNobodyGivesMoreThanTheyHaveByMetadata(t *testing.T) {
	p := start(t)
	admin, ann := p.admin(), p.token("ann-token")
	create(t, admin, &rbacv1.ClusterRole{ObjectMeta: meta("", "role-editor"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create", "update", "get", "patch"}, APIGroups: []string{rbacGroup}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}},
		rule("get", "", "pods")}})
	bindCluster(t, admin, "role-editor", "role-editor", user("ann"))
	p.eventually("ann edits roles", func() bool {
		return may(t, admin, "ann", authorizationv1.ResourceAttributes{Verb: "patch", Group: rbacGroup, Resource: "clusterroles"})
	})
	star := []string{"*"}
	strong, weak := []rbacv1.PolicyRule{{Verbs: star, APIGroups: star, Resources: star}}, []rbacv1.PolicyRule{rule("get", "", "pods")}
	create(t, admin, &rbacv1.ClusterRole{ObjectMeta: meta("", "strong"), Rules: strong})
	create(t, admin, &rbacv1.ClusterRole{ObjectMeta: meta("", "weak"), Rules: weak})
	create(t, admin, &rbacv1.ClusterRole{ObjectMeta: meta("", "sum"), AggregationRule: &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"nothing": "matches"}}}}})
	create(t, admin, &rbacv1.Role{ObjectMeta: meta("default", "strong"), Rules: strong})
	create(t, admin, &rbacv1.Role{ObjectMeta: meta("default", "weak"), Rules: weak})
	bindCluster(t, admin, "strong", "strong", user("a"))
	bindCluster(t, admin, "weak", "weak", user("b"))
	create(t, admin, binding("default", "strong", "Role", "strong", user("c")))
	create(t, admin, binding("default", "weak", "Role", "weak", user("d")))
	for _, name := range []string{"a", "b", "c", "d"} {
		p.eventually("the roles are known", func() bool {
			return may(t, admin, name, authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Namespace: "default"})
		})
	}

	attempt := map[string]func(namespace, name, change string) error{
		"ClusterRole":        merges[*rbacv1.ClusterRole](t, ann),
		"Role":               merges[*rbacv1.Role](t, ann),
		"ClusterRoleBinding": merges[*rbacv1.ClusterRoleBinding](t, ann),
		"RoleBinding":        merges[*rbacv1.RoleBinding](t, ann),
	}
	const (
		label      = `{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}}`
		annotation = `{"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"}}}`
		finalizer  = `{"metadata":{"finalizers":["a.test/f"]}}`
		owner      = `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"default","uid":"u"}]}}`
		nothing    = `{}`
	)
	for kind, patch := range attempt {
		namespace := "default"
		if kind == "ClusterRole" || kind == "ClusterRoleBinding" {
			namespace = ""
		}
		for _, change := range []string{label, annotation, finalizer, owner, nothing} {
			what := fmt.Sprintf("%s %s", kind, change)
			err := patch(namespace, "strong", change)
			if change == label || change == annotation {
				require.True(t, apierrors.IsForbidden(err), "%s: %v", what, err)
				require.ErrorContains(t, err, "is attempting to grant RBAC permissions not currently held", what)
			} else {
				require.NoError(t, err, what)
			}
			require.NoError(t, patch(namespace, "weak", change), what)
		}
	}
	roles := attempt["ClusterRole"]
	for _, change := range []string{label, `{"aggregationRule":null}`, `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"other":"label"}}]}}`} {
		err := roles("", "sum", change)
		require.True(t, apierrors.IsForbidden(err), "%s: %v", change, err)
		require.ErrorContains(t, err, "must have cluster-admin privileges to use an aggregationRule", change)
	}
	require.NoError(t, roles("", "sum", finalizer))
	err := roles("", "weak", `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"other":"label"}}]}}`)
	require.True(t, apierrors.IsForbidden(err), err)
	err = roles("", "cluster-admin", label)
	require.True(t, apierrors.IsForbidden(err), err)
}

// merges returns a function that merges a patch into an object.
func merges[T metav1.Object](t testing.TB, c client.Conn) func(namespace, name, change string) error {
	return func(namespace, name, change string) error {
		_, err := client.For[T](c).Patch(t.Context(), key(namespace, name), client.Patch{Type: "application/merge-patch+json", Data: []byte(change)})
		return err
	}
}
