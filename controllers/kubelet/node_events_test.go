package kubelet_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// There is one event for each change of the node.
func TestEventsOfTheNode(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		count := func(reason string) (n int) {
			for _, e := range r.eventsOf("n1") {
				if strings.HasPrefix(e, reason+":") {
					n++
				}
			}
			return n
		}
		for _, reason := range []string{"NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeReady"} {
			require.Equal(t, 1, count(reason), reason)
		}
		require.Zero(t, count("NodeNotSchedulable"))
		controllertest.Update(r.c, "", "n1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		time.Sleep(30 * time.Second)
		require.Equal(t, 1, count("NodeNotSchedulable"))
		controllertest.Update(r.c, "", "n1", func(n *corev1.Node) { n.Spec.Unschedulable = false })
		controllertest.UpdateStatus(r.c, "", "n1", func(n *corev1.Node) { n.Status.NodeInfo.BootID = "the boot before" })
		time.Sleep(30 * time.Second)
		require.Equal(t, 1, count("NodeSchedulable"))
		require.Equal(t, 1, count("Rebooted"))
		r.host.set(func() { r.host.memory = func() uint64 { return 1 << 20 } })
		time.Sleep(30 * time.Second)
		require.Equal(t, 1, count("NodeHasInsufficientMemory"))
	})
}

// Pods with a network of their own wait while the runtime has none, and say so; others do not.
func TestPodsWaitForTheNetwork(t *testing.T) {
	bubble(t, func(r *rig) { r.rt.SetNetworkReady(false) }, func(r *rig) {
		r.pod("web", nil, "c")
		r.pod("host", func(p *corev1.Pod) { p.Spec.HostNetwork = true }, "c")
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"host/c"}, r.rt.Running())
		require.Contains(t, strings.Join(r.eventsOf("web"), "\n"), "NetworkNotReady: network is not ready: container runtime network not ready: NetworkReady=false")
		require.Contains(t, r.nodeReady(), "container runtime network not ready")
		r.rt.SetNetworkReady(true)
		time.Sleep(15 * time.Second)
		require.Equal(t, []string{"host/c", "web/c"}, r.rt.Running())
		require.True(t, ready(r.get("web")))
	})
}

// lastWords lets a container leave a message.
func (r *rig) lastWords(pod, name, text string) {
	c := r.rt.Config(pod, name)
	i := slices.IndexFunc(c.Mounts, func(m *cri.Mount) bool { return m.ContainerPath == corev1.TerminationMessagePathDefault })
	require.NoError(r.t, os.WriteFile(c.Mounts[i].HostPath, []byte(text), 0o600))
}

// The last words of all containers of a pod are 12 KiB at most.
func TestLastWordsOfManyContainers(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		names := strings.Split("abcdef", "")
		r.pod("p", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, names...)
		time.Sleep(3 * time.Second)
		for _, name := range names {
			r.lastWords("p", name, strings.Repeat("ä", 2048))
			r.rt.Kill("p", name, 1)
		}
		time.Sleep(5 * time.Second)
		for _, s := range r.get("p").Status.ContainerStatuses {
			require.Equal(t, strings.Repeat("ä", 1024), s.State.Terminated.Message, s.Name)
		}
	})
}
