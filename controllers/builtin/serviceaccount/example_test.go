package serviceaccount_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/serviceaccount"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// Every namespace has its account and the cluster's root certificate.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error {
				return serviceaccount.Add(m, serviceaccount.Options{RootCA: []byte("a certificate")})
			},
		}})
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "team")})
		c.Settle()
		fmt.Println(controllertest.Exists[*corev1.ServiceAccount](c, "team", "default"))
		fmt.Println(controllertest.Get[*corev1.ConfigMap](c, "team", serviceaccount.RootCAConfigMap).Data)
	})
	// Output:
	// true
	// map[ca.crt:a certificate]
}
