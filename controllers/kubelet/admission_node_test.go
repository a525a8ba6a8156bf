package kubelet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// Pods that a client binds to a node that they do not fit fail, each for its reason; what runs stays.
func TestMisplacedPods(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		selects := func(value string) func(*corev1.Pod) {
			return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": value} }
		}
		affine := func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}}}}}}}
		}
		check := func(reason string, names ...string) {
			time.Sleep(2 * time.Second)
			for _, name := range names {
				st := r.get(name).Status
				require.Equal(t, reason, st.Reason, name)
				if reason == "" {
					require.True(t, ready(r.get(name)), name)
					continue
				}
				require.Equal(t, corev1.PodFailed, st.Phase, name)
				require.Contains(t, st.Message, "Predicate "+reason+" failed: ")
				require.False(t, slices.Contains(r.rt.Running(), name+"/a"))
			}
		}
		r.pod("p1", selects("ssd"), "a")
		r.pod("p2", affine, "a")
		check("NodeAffinity", "p1", "p2")
		controllertest.Update(r.c, "", "n1", func(n *corev1.Node) { n.Labels["disk"] = "ssd" })
		r.pod("p3", selects("ssd"), "a") // at once: the kubelet has not seen the label
		r.pod("p4", affine, "a")
		r.pod("p5", selects("hdd"), "a")
		check("", "p3", "p4")
		check("NodeAffinity", "p5")

		controllertest.Update(r.c, "", "n1", func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoExecute}, corev1.Taint{Key: "other", Effect: corev1.TaintEffectNoSchedule})
		})
		time.Sleep(15 * time.Second)
		r.pod("p6", nil, "a")
		r.pod("p7", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
		}, "a")
		check("TaintToleration", "p6")
		check("", "p7", "p3")
	})
}

// A port of the node is one pod's, also of pods that come at once.
func TestHostPortsOfOnePod(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		port := func(ip string, protocol corev1.Protocol) func(*corev1.Pod) {
			return func(p *corev1.Pod) {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080, HostIP: ip, Protocol: protocol}}
			}
		}
		names := []string{"p1", "p2", "p3"}
		for _, name := range names {
			r.pod(name, port("", corev1.ProtocolTCP), "a")
		}
		time.Sleep(3 * time.Second)
		require.Len(t, r.rt.Running(), 1)
		winner := ""
		for _, name := range names {
			if st := r.get(name).Status; st.Phase != corev1.PodFailed {
				winner = name
			} else {
				require.Equal(t, "NodePorts", st.Reason)
			}
		}
		r.pod("udp", port("", corev1.ProtocolUDP), "a")
		r.pod("address", port("10.0.0.1", corev1.ProtocolTCP), "a")
		time.Sleep(3 * time.Second)
		require.True(t, ready(r.get("udp")))
		require.Equal(t, "NodePorts", r.get("address").Status.Reason)
		r.delete(winner, 0)
		time.Sleep(5 * time.Second)
		r.pod("first", port("10.0.0.1", corev1.ProtocolTCP), "a")
		r.pod("second", port("10.0.0.2", corev1.ProtocolTCP), "a")
		time.Sleep(3 * time.Second)
		require.True(t, ready(r.get("first")))
		require.True(t, ready(r.get("second")))
	})
}
