package namespace_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/namespace"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A namespace goes when all that is in it has gone.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) },
		}})
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "team")})
		held := &corev1.ConfigMap{ObjectMeta: controllertest.Name("team", "held")}
		held.Finalizers = []string{"example.com/hold"}
		controllertest.Create(c, held)
		controllertest.Delete[*corev1.Namespace](c, "", "team")
		c.Sleep(time.Minute)
		for _, cond := range controllertest.Get[*corev1.Namespace](c, "", "team").Status.Conditions {
			if cond.Type == "NamespaceFinalizersRemaining" {
				fmt.Println(cond.Message)
			}
		}
		controllertest.Update(c, "team", "held", func(m *corev1.ConfigMap) { m.Finalizers = nil })
		c.Sleep(time.Minute)
		fmt.Println("there:", controllertest.Exists[*corev1.Namespace](c, "", "team"))
	})
	// Output:
	// Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances
	// there: false
}
