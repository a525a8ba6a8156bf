package main

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// TestHintsBeside changes what the hints of endpoints depend on, with this program and with
// kube-controller-manager. Both have to give the same number of endpoints each hint.
func TestHintsBeside(t *testing.T) {
	ours, theirs := programs(t)
	for _, program := range []string{ours, theirs} {
		t.Run(filepath.Base(program), func(t *testing.T) {
			s := &side{t: t, c: controllertest.Start(t, controllertest.Options{}), log: &bytes.Buffer{}}
			node(s.c, "node-0", "east", "4")
			node(s.c, "node-1", "west", "12")
			for i := range 4 {
				endpointPod(s.c, fmt.Sprint("web-", i), fmt.Sprint("10.0.0.", i+1))
			}
			controllertest.Create(s.c, &corev1.Service{ObjectMeta: controllertest.Name("default", "web"), Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}})
			s.start(program)
			for _, step := range hintSteps {
				step.change(s.c)
				require.Eventually(t, func() bool { return maps.Equal(step.hints, s.hints()) }, time.Minute, 50*time.Millisecond, "%s: want %v", step.what, step.hints)
			}
			require.Eventually(t, func() bool {
				said := map[string]bool{}
				for _, e := range controllertest.List[*corev1.Event](s.c, "default") {
					said[e.Reason+": "+e.Type+": "+e.Message] = e.InvolvedObject.Name == "web"
				}
				return said["TopologyAwareHintsEnabled: Normal: Topology Aware Hints has been enabled, addressType: IPv4"] &&
					said["TopologyAwareHintsDisabled: Warning: Topology Aware Hints has been disabled, addressType: IPv4"] &&
					said["TopologyAwareHintsDisabled: Warning: Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, addressType: IPv4"]
			}, time.Minute, 50*time.Millisecond, "events")
		})
	}
}

// hintSteps are changes, and how many endpoints have which hints after each.
var hintSteps = []struct {
	what   string
	change func(*controllertest.Cluster)
	hints  map[string]int
}{
	{"no preference", func(*controllertest.Cluster) {}, map[string]int{"": 4}},
	{"by CPUs", func(c *controllertest.Cluster) { topologyMode(c, "Auto") }, map[string]int{"east": 1, "west": 3}},
	// Upstream does not notice a node that only has other CPUs.
	{"another node", func(c *controllertest.Cluster) {
		controllertest.Delete[*corev1.Node](c, "", "node-1")
		node(c, "node-1", "west", "4")
	}, map[string]int{"east": 2, "west": 2}},
	{"both preferences", func(c *controllertest.Cluster) { distribution(c, "PreferSameNode") }, map[string]int{"east": 2, "west": 2}},
	{"same node", func(c *controllertest.Cluster) { topologyMode(c, "") }, map[string]int{"east,node-0": 4}},
	{"same zone", func(c *controllertest.Cluster) { distribution(c, "PreferSameZone") }, map[string]int{"east": 4}},
	{"a pod that is not ready", func(c *controllertest.Cluster) {
		controllertest.UpdateStatus(c, "default", "web-3", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
	}, map[string]int{"east": 3, "": 1}},
	{"one zone", func(c *controllertest.Cluster) {
		controllertest.Delete[*corev1.Node](c, "", "node-1")
		topologyMode(c, "auto")
	}, map[string]int{"": 4}},
}

func topologyMode(c *controllertest.Cluster, mode string) {
	controllertest.Update(c, "default", "web", func(s *corev1.Service) {
		s.Annotations = map[string]string{corev1.AnnotationTopologyMode: mode}
	})
}

func distribution(c *controllertest.Cluster, name string) {
	controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.TrafficDistribution = &name })
}

func node(c *controllertest.Cluster, name, zone, cpu string) {
	n := &corev1.Node{ObjectMeta: controllertest.Name("", name)}
	n.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	controllertest.Create(c, n)
	cpus(c, name, cpu)
}

func cpus(c *controllertest.Cluster, node, cpu string) {
	controllertest.UpdateStatus(c, "", node, func(n *corev1.Node) {
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	})
}

// endpointPod makes a ready pod on node-0.
func endpointPod(c *controllertest.Cluster, name, ip string) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Labels = map[string]string{"app": "web"}
	p.Spec.NodeName, p.Spec.Containers = "node-0", []corev1.Container{{Name: "main", Image: "app:1"}}
	controllertest.Create(c, p)
	controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
}

// hints returns how many endpoints of the Service have which hints.
func (s *side) hints() map[string]int {
	out := map[string]int{}
	for _, slice := range controllertest.List[*discoveryv1.EndpointSlice](s.c, "default") {
		for _, e := range slice.Endpoints {
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
	}
	return out
}
