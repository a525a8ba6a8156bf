package endpointslice_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/controllers/builtin/endpointslice"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// The addresses of a Service's pods.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return endpointslice.Add(m, endpointslice.Options{}) },
		}})
		svc := &corev1.Service{ObjectMeta: controllertest.Name("default", "web")}
		svc.Spec.Selector = map[string]string{"app": "web"}
		svc.Spec.Ports = []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}
		controllertest.Create(c, svc)
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "node-0")})
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web-0")}
		p.Labels, p.Spec.NodeName = svc.Spec.Selector, "node-0"
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, p)
		controllertest.UpdateStatus(c, "default", "web-0", func(p *corev1.Pod) {
			p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, "10.0.0.7", []corev1.PodIP{{IP: "10.0.0.7"}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		})
		c.Settle()
		for _, s := range controllertest.List[*discoveryv1.EndpointSlice](c, "default") {
			if s.Labels[discoveryv1.LabelServiceName] == "web" {
				fmt.Println(s.Endpoints[0].Addresses[0], *s.Ports[0].Port, "ready:", *s.Endpoints[0].Conditions.Ready)
			}
		}
	})
	// Output: 10.0.0.7 8080 ready: true
}

// What a user writes into the Endpoints of a Service without a selector is in a slice.
func ExampleAddMirroring() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return endpointslice.AddMirroring(m, endpointslice.MirroringOptions{}) },
		}})
		svc := &corev1.Service{ObjectMeta: controllertest.Name("default", "db")}
		svc.Spec.Ports = []corev1.ServicePort{{Port: 5432}}
		controllertest.Create(c, svc)
		e := &corev1.Endpoints{ObjectMeta: controllertest.Name("default", "db")}
		e.Subsets = []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}, Ports: []corev1.EndpointPort{{Port: 5432}}}}
		controllertest.Create(c, e)
		c.Settle()
		for _, s := range controllertest.List[*discoveryv1.EndpointSlice](c, "default") {
			if s.Labels[discoveryv1.LabelServiceName] == "db" {
				fmt.Println(s.Endpoints[0].Addresses[0], *s.Ports[0].Port)
			}
		}
	})
	// Output: 192.0.2.1 5432
}

// The Endpoints of a Service have the addresses of its pods, for programs that do not read slices.
func ExampleAddEndpoints() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return endpointslice.AddEndpoints(m, endpointslice.EndpointsOptions{}) },
		}})
		controllertest.Create(c, service())
		pod(c, 6, true)
		c.Settle()
		e := controllertest.Get[*corev1.Endpoints](c, "default", "web")
		fmt.Println(e.Subsets[0].Addresses[0].IP, e.Subsets[0].Ports[0].Port)
	})
	// Output: 10.0.0.7 8080
}
