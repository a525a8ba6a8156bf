package endpointslice_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// node makes a ready node in a zone.
func node(c *controllertest.Cluster, name, zone, cpu string) {
	n := &corev1.Node{ObjectMeta: controllertest.Name("", name)}
	n.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	controllertest.Create(c, n)
	controllertest.UpdateStatus(c, "", name, func(have *corev1.Node) { have.Status = n.Status })
}

// hints are those of all endpoints, with how many have each.
func hints(c *controllertest.Cluster) map[string]int {
	out := map[string]int{}
	for _, e := range endpoints(c) {
		text := ""
		if h := e.Hints; h != nil {
			for _, z := range h.ForZones {
				text += z.Name
			}
			for _, n := range h.ForNodes {
				text += "," + n.Name
			}
		}
		out[text]++
	}
	return out
}

func TestTrafficDistribution(t *testing.T) {
	withoutNodes(t, func(t *testing.T, c *controllertest.Cluster) {
		node(c, "node-0", "east", "4")
		controllertest.Create(c, service())
		pod(c, 0, true)
		pod(c, 1, false)
		c.Settle()
		require.Equal(t, map[string]int{"": 2}, hints(c))
		for distribution, want := range map[string]string{"PreferSameZone": "east", "PreferClose": "east", "PreferSameNode": "east,node-0"} {
			controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.TrafficDistribution = &distribution })
			c.Settle()
			require.Equal(t, map[string]int{want: 1, "": 1}, hints(c), "only what is ready has hints")
		}
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.TrafficDistribution = nil })
		c.Settle()
		require.Equal(t, map[string]int{"": 2}, hints(c))
	})
}

// With the annotation the endpoints of a Service are divided by the CPUs of the zones, and again when these
// change. Events say whether they are.
func TestTopologyMode(t *testing.T) {
	withoutNodes(t, func(t *testing.T, c *controllertest.Cluster) {
		said := func(reason string) (messages []string) {
			for _, e := range controllertest.List[*corev1.Event](c, "default") {
				if e.Reason == reason {
					messages = append(messages, fmt.Sprint(e.InvolvedObject.Name, ": ", e.Type, ": ", e.Message))
				}
			}
			return messages
		}
		node(c, "node-0", "east", "4")
		for i := range 4 {
			pod(c, i, true)
		}
		controllertest.Create(c, service(func(s *corev1.Service) {
			s.Annotations = map[string]string{corev1.AnnotationTopologyMode: "Auto"}
		}))
		c.Settle()
		require.Equal(t, map[string]int{"": 4}, hints(c), "one zone")
		require.Equal(t, []string{"web: Warning: Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, addressType: IPv4"}, said("TopologyAwareHintsDisabled"))

		node(c, "node-1", "west", "12")
		c.Settle()
		require.Equal(t, map[string]int{"east": 1, "west": 3}, hints(c))
		require.Equal(t, []string{"web: Normal: Topology Aware Hints has been enabled, addressType: IPv4"}, said("TopologyAwareHintsEnabled"))

		writes := 0
		controllertest.Watch(c, "default", func(client.Event[*discoveryv1.EndpointSlice]) { writes++ })
		c.Settle()
		writes = 0
		controllertest.Update(c, "", "node-1", func(n *corev1.Node) { n.Annotations = map[string]string{"other": "change"} })
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Annotations["other"] = "change" })
		c.Settle()
		require.Zero(t, writes)

		controllertest.UpdateStatus(c, "", "node-1", func(n *corev1.Node) {
			n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
		})
		c.Settle()
		require.Equal(t, map[string]int{"east": 2, "west": 2}, hints(c))
		controllertest.Delete[*corev1.Node](c, "", "node-1")
		c.Settle()
		require.Equal(t, map[string]int{"": 4}, hints(c))
		node(c, "node-1", "west", "4")
		c.Settle()
		require.Equal(t, map[string]int{"east": 2, "west": 2}, hints(c))
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { delete(s.Annotations, corev1.AnnotationTopologyMode) })
		c.Settle()
		require.Equal(t, map[string]int{"": 4}, hints(c))
		require.Contains(t, said("TopologyAwareHintsDisabled"), "web: Warning: Topology Aware Hints has been disabled, addressType: IPv4")
	})
}

// Ports of init containers count only if these run beside the others.
func TestNamedPortsOfSidecars(t *testing.T) {
	withoutNodes(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, service(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("side") }))
		for name, policy := range map[string]*corev1.ContainerRestartPolicy{"init": nil, "sidecar": new(corev1.ContainerRestartPolicyAlways)} {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
			p.Labels = map[string]string{"app": "web"}
			p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
			p.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "image", RestartPolicy: policy, Ports: []corev1.ContainerPort{{Name: "side", ContainerPort: 7000}}}}
			controllertest.Create(c, p)
			controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
				p.Status.PodIP = "10.0.0." + fmt.Sprint(len(name))
				p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
			})
		}
		c.Settle()
		ports := map[string]int{}
		for _, s := range slicesOf(c) {
			for _, e := range s.Endpoints {
				ports[e.TargetRef.Name] = len(s.Ports)
			}
		}
		require.Equal(t, map[string]int{"init": 0, "sidecar": 1}, ports)
	})
}
