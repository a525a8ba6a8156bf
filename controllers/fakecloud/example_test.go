package fakecloud_test

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/cloud"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakecloud"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A test of what needs load balancers.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		f := fakecloud.New(netip.MustParseAddr("192.0.2.0"))
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			return cloud.AddServices(m, f.Balancers(), cloud.ServiceOptions{})
		}}})
		s := &corev1.Service{ObjectMeta: controllertest.Name("default", "web")}
		s.Spec.Type, s.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Port: 80}}
		controllertest.Create(c, s)
		c.Settle()
		fmt.Println(controllertest.Get[*corev1.Service](c, "default", "web").Status.LoadBalancer.Ingress[0].IP, f.Calls())
	})
	// Output: 192.0.2.1 [ensure default/web]
}
