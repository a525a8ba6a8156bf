package cloud_test

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/cloud"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakecloud"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// startNodes starts a cluster with the controllers of nodes.
func startNodes(t *testing.T) (*controllertest.Cluster, *fakecloud.Cloud) {
	c, f := controllertest.Start(t, controllertest.Options{}), fakecloud.New(netip.MustParseAddr("192.0.2.0"))
	c.Run(c.ManagerOver(c.Conn(), "cloud", func(m *manager.Manager) error {
		return errors.Join(cloud.AddNodes(m, f, cloud.NodeOptions{}), cloud.AddNodeLifecycle(m, f, cloud.NodeOptions{}))
	}))
	return c, f
}

func uninitialized(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: cloud.UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "host"}}
}

func address(typ corev1.NodeAddressType, text string) corev1.NodeAddress {
	return corev1.NodeAddress{Type: typ, Address: text}
}

func instance() *cloud.Instance {
	return &cloud.Instance{ProviderID: "fake://1", Type: "large", Zone: "z1", Region: "r1",
		Addresses: []corev1.NodeAddress{address(corev1.NodeInternalIP, "10.1.0.1"), address(corev1.NodeInternalIP, "10.1.0.2"), address(corev1.NodeExternalIP, "192.0.2.7")},
		Labels:    map[string]string{"example.com/rack": "7", "node.kubernetes.io/forged": "x", "k8s.io/forged": "x", "mine": "cloud"}}
}

func setReady(c *controllertest.Cluster, name string, status corev1.ConditionStatus) {
	controllertest.UpdateStatus(c, "", name, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	})
}

// taints returns the keys of a node's taints; admission adds those of its conditions.
func taints(c *controllertest.Cluster, name string) (keys []string) {
	for _, t := range controllertest.Get[*corev1.Node](c, "", name).Spec.Taints {
		keys = append(keys, t.Key)
	}
	return keys
}

// A node is initialized when the cloud knows its instance, and keeps to the addresses of that.
func TestNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := startNodes(t)
		f.Fail(func(string) error { return errors.New("the cloud is down") })
		node(c, "a", uninitialized, func(n *corev1.Node) { n.Labels = map[string]string{"mine": "node"} })
		setReady(c, "a", corev1.ConditionTrue)
		c.Sleep(time.Minute)
		require.Contains(t, taints(c, "a"), cloud.UninitializedTaint)
		f.SetInstance("a", instance())
		f.Fail(nil)
		c.Sleep(10 * time.Minute)
		a := controllertest.Get[*corev1.Node](c, "", "a")
		require.NotContains(t, taints(c, "a"), cloud.UninitializedTaint)
		require.Equal(t, "fake://1", a.Spec.ProviderID)
		require.Equal(t, map[string]string{"mine": "node", "example.com/rack": "7", corev1.LabelInstanceType: "large", corev1.LabelInstanceTypeStable: "large",
			corev1.LabelFailureDomainBetaZone: "z1", corev1.LabelTopologyZone: "z1", corev1.LabelFailureDomainBetaRegion: "r1", corev1.LabelTopologyRegion: "r1"}, a.Labels)
		require.Equal(t, append(instance().Addresses, address(corev1.NodeHostName, "host")), a.Status.Addresses)

		moved := instance()
		moved.Addresses = []corev1.NodeAddress{address(corev1.NodeInternalIP, "10.1.0.9"), address(corev1.NodeHostName, "cloud-name")}
		f.SetInstance("a", moved)
		c.Sleep(10 * time.Minute)
		require.Equal(t, moved.Addresses, controllertest.Get[*corev1.Node](c, "", "a").Status.Addresses)
	})
}

// The stable labels of a node that is initialized follow its beta labels, also while the cloud fails.
func TestStableLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := startNodes(t)
		f.Fail(func(string) error { return errors.New("the cloud is down") })
		node(c, "a", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelFailureDomainBetaZone: "z1"} })
		node(c, "b", uninitialized, func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelFailureDomainBetaZone: "z1"} })
		labels := func(name string) map[string]string { return controllertest.Get[*corev1.Node](c, "", name).Labels }
		c.Sleep(time.Minute)
		require.Equal(t, map[string]string{corev1.LabelFailureDomainBetaZone: "z1", corev1.LabelTopologyZone: "z1"}, labels("a"))
		require.NotContains(t, labels("b"), corev1.LabelTopologyZone)

		controllertest.Update(c, "", "a", func(n *corev1.Node) {
			n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelInstanceType], n.Labels[corev1.LabelTopologyRegion] = "z2", "large", "r1"
		})
		c.Sleep(time.Minute)
		require.Equal(t, map[string]string{corev1.LabelFailureDomainBetaZone: "z1", corev1.LabelTopologyZone: "z1",
			corev1.LabelInstanceType: "large", corev1.LabelInstanceTypeStable: "large", corev1.LabelTopologyRegion: "r1"}, labels("a"))
	})
}

// The address that a kubelet was configured with is the only one of its type, and must be one of the cloud.
func TestProvidedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := startNodes(t)
		for _, name := range []string{"a", "b"} {
			f.SetInstance(name, instance())
		}
		provided := func(ip string) func(*corev1.Node) {
			return func(n *corev1.Node) { n.Annotations = map[string]string{cloud.ProvidedIPAnnotation: ip} }
		}
		node(c, "a", uninitialized, provided("10.1.0.2"))
		node(c, "b", uninitialized, provided("10.1.0.3"))
		c.Sleep(time.Minute)
		want := []corev1.NodeAddress{address(corev1.NodeInternalIP, "10.1.0.2"), address(corev1.NodeExternalIP, "192.0.2.7"), address(corev1.NodeHostName, "host")}
		require.Equal(t, want, controllertest.Get[*corev1.Node](c, "", "a").Status.Addresses)
		require.Contains(t, taints(c, "b"), cloud.UninitializedTaint)
	})
}

// A node that is not ready is deleted if its instance is gone, and tainted while it is shut down. A ready one
// is left alone.
func TestLifecycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := startNodes(t)
		with := func(n *corev1.Node) { n.Spec.ProviderID = "fake://1" }
		for _, name := range []string{"ready", "gone", "off"} {
			f.SetInstance(name, instance())
			node(c, name, with)
			setReady(c, name, corev1.ConditionTrue)
		}
		c.Sleep(time.Minute)
		off := instance()
		off.Shutdown = true
		f.SetInstance("off", off)
		f.SetInstance("ready", nil)
		f.SetInstance("gone", nil)
		c.Sleep(time.Minute)
		setReady(c, "gone", corev1.ConditionUnknown)
		setReady(c, "off", corev1.ConditionFalse)
		c.Sleep(time.Minute)
		require.True(t, controllertest.Exists[*corev1.Node](c, "", "ready"))
		require.False(t, controllertest.Exists[*corev1.Node](c, "", "gone"))
		require.Contains(t, taints(c, "off"), cloud.ShutdownTaint)
		require.Contains(t, reasons(c), "DeletingNode")

		off.Shutdown = false
		f.SetInstance("off", off)
		setReady(c, "off", corev1.ConditionTrue)
		c.Sleep(time.Minute)
		require.NotContains(t, taints(c, "off"), cloud.ShutdownTaint)
	})
}
