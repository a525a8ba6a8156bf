package clusterroleaggregation_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/clusterroleaggregation"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

func role(name, label string, resources ...string) *rbacv1.ClusterRole {
	r := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", name)}
	if label != "" {
		r.Labels = map[string]string{label: "true"}
	}
	for _, res := range resources {
		r.Rules = append(r.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"shop.example"}, Resources: []string{res}})
	}
	return r
}

func resources(c *controllertest.Cluster, name string) []string {
	var out []string
	for _, r := range controllertest.Get[*rbacv1.ClusterRole](c, "", name).Rules {
		if r.APIGroups[0] == "shop.example" {
			out = append(out, r.Resources...)
		}
	}
	return out
}

func TestSumsFollowTheirParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{clusterroleaggregation.Add}})
		total := role("total", "", "replaced")
		total.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"part": "true"}}}}
		controllertest.Create(c, total)
		controllertest.Create(c, role("b", "part", "orders", "carts"))
		controllertest.Create(c, role("a", "part", "carts"))
		controllertest.Create(c, role("other", "", "secrets"))
		c.Settle()
		require.Equal(t, []string{"carts", "orders"}, resources(c, "total"), "by name of the part, each rule once")

		var managers []string
		for _, m := range controllertest.Get[*rbacv1.ClusterRole](c, "", "total").ManagedFields {
			managers = append(managers, fmt.Sprint(m.Operation, " by ", m.Manager))
		}
		require.Contains(t, managers, "Apply by "+clusterroleaggregation.FieldManager)

		// The bootstrap roles are sums of sums: view is part of edit, edit of admin.
		controllertest.Create(c, role("viewing", "rbac.authorization.k8s.io/aggregate-to-view", "orders"))
		c.Settle()
		for _, name := range []string{"view", "edit", "admin"} {
			require.Equal(t, []string{"orders"}, resources(c, name), name)
		}
		controllertest.Delete[*rbacv1.ClusterRole](c, "", "viewing")
		controllertest.Delete[*rbacv1.ClusterRole](c, "", "b")
		c.Settle()
		require.Equal(t, []string{"carts"}, resources(c, "total"))
		require.Empty(t, resources(c, "admin"))
	})
}
