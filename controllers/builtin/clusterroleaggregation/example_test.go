package clusterroleaggregation_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/clusterroleaggregation"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// A role that is the sum of others.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{clusterroleaggregation.Add}})
		sum := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "monitoring")}
		sum.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"monitoring": "true"}}}}
		controllertest.Create(c, sum)
		part := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "read-pods")}
		part.Labels = map[string]string{"monitoring": "true"}
		part.Rules = []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
		controllertest.Create(c, part)
		c.Settle()
		for _, r := range controllertest.Get[*rbacv1.ClusterRole](c, "", "monitoring").Rules {
			fmt.Println(r.Verbs, r.Resources)
		}
	})
	// Output: [get list] [pods]
}
