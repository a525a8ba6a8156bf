package endpointslice_test

import (
	"fmt"
	"slices"
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

func withoutNodes(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return endpointslice.Add(m, endpointslice.Options{}) }}}))
	})
}

// bubble runs f with a cluster that has the node of the pods.
func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	withoutNodes(t, func(t *testing.T, c *controllertest.Cluster) {
		podNode(c)
		c.Settle()
		f(t, c)
	})
}

// podNode makes the node of the pods.
func podNode(c *controllertest.Cluster) {
	controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "node-0")})
}

func service(edit ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: controllertest.Name("default", "web")}
	s.Labels = map[string]string{"team": "a"}
	s.Spec.Selector = map[string]string{"app": "web"}
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: corev1.ProtocolTCP}}
	for _, e := range edit {
		e(s)
	}
	return s
}

// pod makes a running pod with an address.
func pod(c *controllertest.Cluster, i int, ready bool) string {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprintf("web-%03d", i))}
	p.Labels = map[string]string{"app": "web"}
	p.Spec.NodeName = "node-0"
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}
	controllertest.Create(c, p)
	controllertest.UpdateStatus(c, "default", p.Name, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.PodIP = fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		setReady(p, ready)
	})
	return p.Name
}

func setReady(p *corev1.Pod, ready bool) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
}

func slicesOf(c *controllertest.Cluster) []*discoveryv1.EndpointSlice {
	return slices.DeleteFunc(controllertest.List[*discoveryv1.EndpointSlice](c, "default"), func(s *discoveryv1.EndpointSlice) bool {
		return s.Labels[discoveryv1.LabelServiceName] != "web"
	})
}

func endpoints(c *controllertest.Cluster) map[string]discoveryv1.Endpoint {
	out := map[string]discoveryv1.Endpoint{}
	for _, s := range slicesOf(c) {
		for _, e := range s.Endpoints {
			out[e.TargetRef.Name] = e
		}
	}
	return out
}

func Test250PodsAreThreeSlices(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		svc := controllertest.Create(c, service())
		for i := range 250 {
			pod(c, i, true)
		}
		c.Settle()
		list := slicesOf(c)
		require.Len(t, list, 3)
		total := 0
		for _, s := range list {
			require.LessOrEqual(t, len(s.Endpoints), 100)
			total += len(s.Endpoints)
			require.Equal(t, discoveryv1.AddressTypeIPv4, s.AddressType)
			require.Equal(t, map[string]string{"team": "a", "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}, s.Labels)
			require.True(t, metav1.IsControlledBy(s, svc.UID))
			require.Len(t, s.Ports, 1)
			require.Equal(t, int32(8080), *s.Ports[0].Port)
			require.Equal(t, "http", *s.Ports[0].Name)
		}
		require.Equal(t, 250, total)
		require.Len(t, endpoints(c), 250)
		controllertest.Delete[*corev1.Service](c, "default", "web")
		c.Settle()
		require.Empty(t, slicesOf(c))
	})
}

// A pod whose node does not exist is no endpoint until the node comes, unless all addresses are published.
func TestPodsWithoutTheirNode(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, service())
		pod(c, 1, true)
		c.Settle()
		require.Len(t, endpoints(c), 1)
		controllertest.Delete[*corev1.Node](c, "", "node-0")
		c.Settle()
		require.Len(t, endpoints(c), 1, "nothing else has changed")
		pod(c, 2, true)
		c.Settle()
		require.Empty(t, endpoints(c))
		require.True(t, slices.ContainsFunc(controllertest.List[*corev1.Event](c, "default"), func(e *corev1.Event) bool {
			return e.Reason == "FailedToUpdateEndpointSlices" &&
				e.Message == "Error updating Endpoint Slices for Service default/web: skipping Pod web-001 for Service default/web: Node node-0 Not Found\n"+
					"skipping Pod web-002 for Service default/web: Node node-0 Not Found"
		}))
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true })
		c.Settle()
		require.Len(t, endpoints(c), 2)
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = false })
		c.Settle()
		require.Empty(t, endpoints(c))

		n := &corev1.Node{ObjectMeta: controllertest.Name("", "node-0")}
		n.Labels = map[string]string{corev1.LabelTopologyZone: "here"}
		controllertest.Create(c, n)
		c.Sleep(time.Minute)
		require.Equal(t, "here", *endpoints(c)["web-001"].Zone)
		require.Len(t, endpoints(c), 2)
	})
}

// Of a Service with many pods, what happens to one of them is one write of one slice.
func TestOnePodIsOneWrite(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		for i := range 1000 {
			pod(c, i, true)
		}
		c.Settle() // a Service that is seen before some of them gets slices that are not full
		controllertest.Create(c, service())
		c.Settle()
		require.Len(t, slicesOf(c), 10)
		kill := func(name string) {
			controllertest.Delete[*corev1.Pod](c, "default", name, client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		}
		writes := c.Record(controllertest.Requests{Verbs: []string{"create", "update", "patch", "delete", "deletecollection"}, Resource: "endpointslices.discovery.k8s.io"})
		for _, one := range []struct {
			what string
			do   func()
			want int // endpoints
		}{
			{"is not ready", func() {
				controllertest.UpdateStatus(c, "default", "web-500", func(p *corev1.Pod) { setReady(p, false) })
			}, 1000},
			{"is ready again", func() {
				controllertest.UpdateStatus(c, "default", "web-500", func(p *corev1.Pod) { setReady(p, true) })
			}, 1000},
			{"is gone", func() { kill("web-000") }, 999},
			{"takes the free place", func() { pod(c, 1000, true) }, 1000},
			{"needs another slice", func() { pod(c, 1001, true) }, 1001},
			{"leaves the last slice empty", func() { kill("web-1001") }, 1000},
			{"is no longer selected", func() {
				controllertest.Update(c, "default", "web-700", func(p *corev1.Pod) { p.Labels = nil })
			}, 999},
			{"says nothing new", func() {
				controllertest.Update(c, "default", "web-300", func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} })
			}, 999},
		} {
			before := len(writes.Calls())
			one.do()
			c.Settle()
			require.Len(t, endpoints(c), one.want, one.what)
			// A pod that is created is not ready at first, and has no address.
			require.LessOrEqual(t, len(writes.Calls())-before, 1, one.what)
		}
		require.Len(t, writes.Calls(), 7)
	})
}

func TestReadinessAndTermination(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, service())
		name := pod(c, 1, false)
		c.Settle()
		e := endpoints(c)[name]
		require.Equal(t, []string{"10.0.0.2"}, e.Addresses)
		require.Equal(t, "node-0", *e.NodeName)
		require.Equal(t, [3]bool{false, false, false}, conditions(e))
		controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) { setReady(p, true) })
		c.Settle()
		require.Equal(t, [3]bool{true, true, false}, conditions(endpoints(c)[name]))
		controllertest.Delete[*corev1.Pod](c, "default", name)
		c.Settle()
		require.Equal(t, [3]bool{false, true, true}, conditions(endpoints(c)[name]), "it still serves what it has")
		controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) { setReady(p, false) })
		c.Settle()
		require.Equal(t, [3]bool{false, false, true}, conditions(endpoints(c)[name]))
		controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		c.Settle()
		require.Empty(t, endpoints(c))
		require.Len(t, slicesOf(c), 1, "an empty slice says that somebody looks after the service")
	})
}

func conditions(e discoveryv1.Endpoint) [3]bool {
	return [3]bool{*e.Conditions.Ready, *e.Conditions.Serving, *e.Conditions.Terminating}
}

func TestPublishNotReadyAddresses(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, service(func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }))
		name := pod(c, 1, false)
		c.Settle()
		require.Equal(t, [3]bool{true, false, false}, conditions(endpoints(c)[name]))
	})
}

// Pods whose named ports differ are in slices of their own.
func TestNamedPorts(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, service(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("http") }))
		pod(c, 1, true)
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "odd")}
		p.Labels = map[string]string{"app": "web"}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 9090}}}}
		controllertest.Create(c, p)
		controllertest.UpdateStatus(c, "default", "odd", func(p *corev1.Pod) {
			p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, "10.0.9.9", []corev1.PodIP{{IP: "10.0.9.9"}}
			setReady(p, true)
		})
		c.Settle()
		byPort := map[int32]int{}
		for _, s := range slicesOf(c) {
			byPort[*s.Ports[0].Port] += len(s.Endpoints)
		}
		require.Equal(t, map[int32]int{8080: 1, 9090: 1}, byPort)
	})
}

func TestSelectorsAndLabelsThatChange(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, service())
		name := pod(c, 1, true)
		c.Settle()
		require.Len(t, endpoints(c), 1)
		controllertest.Update(c, "default", name, func(p *corev1.Pod) { p.Labels["app"] = "other" })
		c.Settle()
		require.Empty(t, endpoints(c))
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.Selector["app"] = "other" })
		c.Settle()
		require.Len(t, endpoints(c), 1)
		// A slice that another client deletes is restored.
		controllertest.Delete[*discoveryv1.EndpointSlice](c, "default", slicesOf(c)[0].Name)
		c.Settle()
		require.Len(t, endpoints(c), 1)
	})
}

func TestServicesWithoutSelectorAreLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, service(func(s *corev1.Service) { s.Spec.Selector = nil }))
		c.Sleep(time.Minute)
		require.Empty(t, slicesOf(c))
	})
}

// What is written says since when it was due: the creation of the Service, and then the first change of a pod
// that is not written yet, if its time is known.
func TestTimesOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return endpointslice.Add(m, endpointslice.Options{}) },
			func(m *manager.Manager) error {
				return endpointslice.AddEndpoints(m, endpointslice.EndpointsOptions{})
			},
		}})
		requireTime := func(want string) {
			t.Helper()
			c.Settle()
			list := slicesOf(c)
			require.Len(t, list, 1)
			require.Equal(t, want, list[0].Annotations[corev1.EndpointsLastChangeTriggerTime])
			require.Equal(t, want, controllertest.Get[*corev1.Endpoints](c, "default", "web").Annotations[corev1.EndpointsLastChangeTriggerTime])
		}
		podNode(c)
		begin := time.Now().UTC()
		after := func(d time.Duration) string { return begin.Add(d).Format(time.RFC3339Nano) }
		ready := func(name string, at time.Duration) {
			controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
				setReady(p, true)
				p.Status.Conditions[0].LastTransitionTime = metav1.Time{Time: begin.Add(at)}
			})
		}
		controllertest.Create(c, service())
		requireTime(after(0))
		c.Sleep(time.Minute)
		first := pod(c, 1, false)
		requireTime("")
		ready(first, 50*time.Second)
		requireTime(after(50 * time.Second))
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(9090) })
		requireTime("")
		second := pod(c, 2, false)
		c.Settle()
		ready(second, 70*time.Second)
		requireTime(after(70 * time.Second))
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} })
		requireTime(after(70 * time.Second)) // nothing was to be written
	})
}
