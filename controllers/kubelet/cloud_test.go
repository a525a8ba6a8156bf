package kubelet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// With an external cloud provider the node registers with a taint that the provider removes, and the
// addresses that the provider sets stay. Without one they are the kubelet's, and the hint for the provider
// goes.
func TestExternalCloudProvider(t *testing.T) {
	const hint = "alpha.kubernetes.io/provided-node-ip"
	address := func(kind corev1.NodeAddressType, a string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: kind, Address: a}
	}
	bubble(t, func(r *rig) { r.opts.ExternalCloud = true }, func(r *rig) {
		node := func() *corev1.Node { return controllertest.Get[*corev1.Node](r.c, "", "n1") }
		restart := func(ip string, external bool) {
			r.stop()
			r.opts.ExternalCloud, r.opts.NodeIPs = external, nil
			if ip != "" {
				r.opts.NodeIPs = addrs(ip)
			}
			r.start()
			time.Sleep(15 * time.Second)
		}
		taint := corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}
		require.Contains(t, node().Spec.Taints, taint)
		require.Equal(t, []corev1.NodeAddress{address(corev1.NodeHostName, "n1")}, node().Status.Addresses, "the provider sets the others")
		require.NotContains(t, node().Annotations, hint)

		set := []corev1.NodeAddress{address(corev1.NodeInternalIP, "10.0.0.7"), address(corev1.NodeExternalIP, "203.0.113.7"), address(corev1.NodeHostName, "n1")}
		controllertest.UpdateStatus(r.c, "", "n1", func(n *corev1.Node) { n.Status.Addresses = set })
		controllertest.Update(r.c, "", "n1", func(n *corev1.Node) { n.Spec.Taints = nil })
		time.Sleep(10 * time.Minute)
		require.Equal(t, set, node().Status.Addresses)
		require.NotContains(t, node().Spec.Taints, taint)

		restart("10.0.0.9", true)
		require.Equal(t, set, node().Status.Addresses)
		require.Equal(t, "10.0.0.9", node().Annotations[hint])
		require.NotContains(t, node().Spec.Taints, taint, "it is a taint of registration")
		restart("0.0.0.0", true)
		require.NotContains(t, node().Annotations, hint)
		restart("10.0.0.9", true)
		restart("10.0.0.9", false)
		require.NotContains(t, node().Annotations, hint)
		require.Equal(t, []corev1.NodeAddress{address(corev1.NodeInternalIP, "10.0.0.9"), address(corev1.NodeHostName, "n1")}, node().Status.Addresses)

		// A new node has the address that was given until the provider sets another.
		r.stop()
		controllertest.Delete[*corev1.Node](r.c, "", "n1")
		restart("10.0.0.9", true)
		require.Contains(t, node().Spec.Taints, taint)
		require.Equal(t, []corev1.NodeAddress{address(corev1.NodeInternalIP, "10.0.0.9"), address(corev1.NodeHostName, "n1")}, node().Status.Addresses)
	})
}
