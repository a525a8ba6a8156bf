package resourcequota_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/resourcequota"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A quota is used up, and the next object refused.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return resourcequota.Add(m, resourcequota.Options{}) },
		}})
		q := &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "few")}
		q.Spec.Hard = corev1.ResourceList{"count/secrets": resource.MustParse("1")}
		controllertest.Create(c, q)
		c.Settle()
		controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "first")})
		_, err := client.For[*corev1.Secret](c.Admin()).Create(t.Context(), &corev1.Secret{ObjectMeta: controllertest.Name("default", "second")})
		fmt.Println(err)
		used := controllertest.Get[*corev1.ResourceQuota](c, "default", "few").Status.Used["count/secrets"]
		fmt.Println("used:", used.String())
	})
	// Output:
	// secrets "second" is forbidden: exceeded quota: few, requested: count/secrets=1, used: count/secrets=1, limited: count/secrets=1
	// used: 1
}
