package endpointslice_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/endpointslice"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func addEndpoints(m *manager.Manager) error {
	return endpointslice.AddEndpoints(m, endpointslice.EndpointsOptions{})
}

func addMirroring(m *manager.Manager) error {
	return endpointslice.AddMirroring(m, endpointslice.MirroringOptions{})
}

// bubbleOf runs f with a cluster with one controller that has only its own rights.
func bubbleOf(t *testing.T, account string, add controllertest.Adder, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, controllertest.Start(t, controllertest.Options{
			As: client.User{Name: "system:serviceaccount:kube-system:" + account}, Controllers: []controllertest.Adder{add}}))
	})
}

// subsets returns the subsets of the Endpoints called web: the ports, the ready and the other addresses of
// each.
func subsets(c *controllertest.Cluster) []string {
	var out []string
	for _, s := range controllertest.Get[*corev1.Endpoints](c, "default", "web").Subsets {
		var text string
		for _, p := range s.Ports {
			text += fmt.Sprintf("%s:%d ", p.Name, p.Port)
		}
		for _, a := range s.Addresses {
			text += "+" + a.TargetRef.Name
		}
		for _, a := range s.NotReadyAddresses {
			text += "-" + a.TargetRef.Name
		}
		out = append(out, text)
	}
	return out
}

func TestEndpoints(t *testing.T) {
	bubbleOf(t, "endpoint-controller", addEndpoints, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, service(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("http") }))
		c.Settle()
		require.Empty(t, subsets(c))
		first, second := pod(c, 1, true), pod(c, 2, false)
		odd := &corev1.Pod{ObjectMeta: controllertest.Name("default", "odd")}
		odd.Labels = map[string]string{"app": "web"}
		odd.Spec.Containers = []corev1.Container{{Name: "main", Image: "image", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 9090}}}}
		controllertest.Create(c, odd)
		controllertest.UpdateStatus(c, "default", "odd", func(p *corev1.Pod) {
			p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, "10.0.9.9", []corev1.PodIP{{IP: "10.0.9.9"}}
			setReady(p, true)
		})
		c.Settle()
		require.Equal(t, []string{"http:8080 +web-001-web-002", "http:9090 +odd"}, subsets(c))
		e := controllertest.Get[*corev1.Endpoints](c, "default", "web")
		require.Equal(t, map[string]string{"team": "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}, e.Labels)
		require.Equal(t, "node-0", *e.Subsets[0].Addresses[0].NodeName)

		controllertest.UpdateStatus(c, "default", second, func(p *corev1.Pod) { setReady(p, true) })
		controllertest.Delete[*corev1.Pod](c, "default", first) // terminates, still ready
		controllertest.UpdateStatus(c, "default", "odd", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		c.Settle()
		require.Equal(t, []string{"http:8080 +web-002"}, subsets(c))
		// What other clients write or delete is restored.
		controllertest.Update(c, "default", "web", func(e *corev1.Endpoints) { e.Subsets = nil })
		c.Settle()
		require.Equal(t, []string{"http:8080 +web-002"}, subsets(c))
		controllertest.Delete[*corev1.Endpoints](c, "default", "web")
		c.Settle()
		require.Equal(t, []string{"http:8080 +web-002"}, subsets(c))
		controllertest.Delete[*corev1.Service](c, "default", "web")
		c.Settle()
		require.False(t, controllertest.Exists[*corev1.Endpoints](c, "default", "web"))
	})
}

// Endpoints that others maintain are left alone, those of a Service that is deleted later included.
func TestEndpointsOfOthers(t *testing.T) {
	bubbleOf(t, "endpoint-controller", addEndpoints, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, service(func(s *corev1.Service) { s.Spec.Selector = nil }))
		controllertest.Create(c, byHand())
		c.Settle()
		controllertest.Delete[*corev1.Service](c, "default", "web")
		c.Sleep(time.Minute)
		e := controllertest.Get[*corev1.Endpoints](c, "default", "web")
		require.Equal(t, byHand().Subsets, e.Subsets)
	})
}

// byHand are Endpoints that a user makes for the Service.
func byHand() *corev1.Endpoints {
	e := &corev1.Endpoints{ObjectMeta: controllertest.Name("default", "web")}
	e.Subsets = []corev1.EndpointSubset{{
		Addresses:         []corev1.EndpointAddress{{IP: "192.0.2.1", Hostname: "db"}, {IP: "2001:db8::1"}},
		NotReadyAddresses: []corev1.EndpointAddress{{IP: "192.0.2.2"}},
		Ports:             []corev1.EndpointPort{{Name: "sql", Port: 5432, Protocol: corev1.ProtocolTCP}},
	}}
	return e
}

func TestMirroring(t *testing.T) {
	bubbleOf(t, "endpointslicemirroring-controller", addMirroring, func(t *testing.T, c *controllertest.Cluster) {
		e := byHand()
		e.Labels = map[string]string{"team": "a"}
		e.Annotations = map[string]string{"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
		e = controllertest.Create(c, e)
		c.Settle()
		require.Empty(t, slicesOf(c), "there is no Service")
		controllertest.Create(c, service(func(s *corev1.Service) { s.Spec.Selector = nil }))
		c.Settle()
		byFamily := map[discoveryv1.AddressType]*discoveryv1.EndpointSlice{}
		for _, s := range slicesOf(c) {
			byFamily[s.AddressType] = s
			require.Equal(t, map[string]string{"team": "a", "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io"}, s.Labels)
			require.Equal(t, map[string]string{"note": "x"}, s.Annotations)
			require.True(t, metav1.IsControlledBy(s, e.UID))
			require.Equal(t, "sql 5432 TCP", fmt.Sprint(*s.Ports[0].Name, " ", *s.Ports[0].Port, " ", *s.Ports[0].Protocol))
		}
		require.Len(t, byFamily, 2)
		require.Equal(t, []string{"2001:db8::1"}, byFamily["IPv6"].Endpoints[0].Addresses)
		v4 := byFamily["IPv4"].Endpoints
		require.Len(t, v4, 2)
		require.True(t, *v4[0].Conditions.Ready)
		require.Equal(t, "db", *v4[0].Hostname)
		require.False(t, *v4[1].Conditions.Ready)

		controllertest.Update(c, "default", "web", func(e *corev1.Endpoints) {
			e.Subsets[0].Addresses, e.Subsets[0].NotReadyAddresses = []corev1.EndpointAddress{{IP: "192.0.2.9"}}, nil
			e.Annotations = nil
		})
		c.Settle()
		require.Len(t, slicesOf(c), 1)
		require.Equal(t, byFamily["IPv4"].Name, slicesOf(c)[0].Name, "the slice is changed, not replaced")
		require.Empty(t, slicesOf(c)[0].Annotations)
		// A slice that was deleted is restored; a selector or the label ends it.
		controllertest.Delete[*discoveryv1.EndpointSlice](c, "default", slicesOf(c)[0].Name)
		c.Settle()
		require.Len(t, slicesOf(c), 1)
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "web"} })
		c.Settle()
		require.Empty(t, slicesOf(c))
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.Selector = nil })
		c.Settle()
		require.Len(t, slicesOf(c), 1)
		controllertest.Update(c, "default", "web", func(e *corev1.Endpoints) { e.Labels[discoveryv1.LabelSkipMirror] = "true" })
		c.Settle()
		require.Empty(t, slicesOf(c))
	})
}

// A subset of more addresses than fit is cut, and an event says so.
func TestMirroringTooMany(t *testing.T) {
	bubbleOf(t, "endpointslicemirroring-controller", addMirroring, func(t *testing.T, c *controllertest.Cluster) {
		e := byHand()
		e.Subsets[0].Addresses, e.Subsets[0].NotReadyAddresses = nil, nil
		for i := range 1003 {
			e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, corev1.EndpointAddress{IP: fmt.Sprintf("192.0.%d.%d", i/250, i%250+1)})
		}
		controllertest.Create(c, service(func(s *corev1.Service) { s.Spec.Selector = nil }))
		controllertest.Create(c, e)
		c.Settle()
		require.Len(t, slicesOf(c), 1)
		require.Len(t, slicesOf(c)[0].Endpoints, 1000)
		recorded := controllertest.List[*corev1.Event](c, "default")
		require.Len(t, recorded, 1)
		require.Equal(t, "TooManyAddressesToMirror: A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 3 addresses were skipped",
			recorded[0].Reason+": "+recorded[0].Message)
	})
}
