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
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// Every change of a role or binding, except of owners and finalizers, needs the rights that it grants: a
// label can include a role in others, an annotation can make the server reconcile it.
func TestEscalationByMetadataIsRefused(t *testing.T) {
	p := planetest.Start(t)
	admin, ann := p.Admin(), p.Token("ann-token")
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "role-editor"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create", "update", "get", "patch"}, APIGroups: []string{rbacGroup}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}},
		rule("get", "", "pods")}})
	bindCluster(t, admin, "role-editor", "role-editor", user("ann"))
	p.Eventually("ann edits roles", func() bool {
		return may(t, admin, "ann", authorizationv1.ResourceAttributes{Verb: "patch", Group: rbacGroup, Resource: "clusterroles"})
	})
	star := []string{"*"}
	strong, weak := []rbacv1.PolicyRule{{Verbs: star, APIGroups: star, Resources: star}}, []rbacv1.PolicyRule{rule("get", "", "pods")}
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "strong"), Rules: strong})
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "weak"), Rules: weak})
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "sum"), AggregationRule: &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"nothing": "matches"}}}}})
	planetest.Create(t, admin, &rbacv1.Role{ObjectMeta: planetest.Meta("default", "strong"), Rules: strong})
	planetest.Create(t, admin, &rbacv1.Role{ObjectMeta: planetest.Meta("default", "weak"), Rules: weak})
	bindCluster(t, admin, "strong", "strong", user("a"))
	bindCluster(t, admin, "weak", "weak", user("b"))
	planetest.Create(t, admin, binding("default", "strong", "Role", "strong", user("c")))
	planetest.Create(t, admin, binding("default", "weak", "Role", "weak", user("d")))
	for _, name := range []string{"a", "b", "c", "d"} {
		p.Eventually("the roles are known", func() bool {
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
		_, err := client.For[T](c).Patch(t.Context(), planetest.Key(namespace, name), client.Patch{Type: "application/merge-patch+json", Data: []byte(change)})
		return err
	}
}
