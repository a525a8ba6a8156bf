package nodelifecycle_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/tainteviction"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func start(t *testing.T) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
		func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) }, tainteviction.Add,
	}})
}

func addNodes(count int, prefix string) controllertest.Adder {
	return func(m *manager.Manager) error {
		return fakenode.Add(m, fakenode.Options{Count: count, Prefix: prefix})
	}
}

func node(c *controllertest.Cluster, name string) *corev1.Node {
	return controllertest.Get[*corev1.Node](c, "", name)
}

func ready(n *corev1.Node) corev1.NodeCondition {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return corev1.NodeCondition{}
	}
	return n.Status.Conditions[i]
}

func taints(n *corev1.Node) (out []string) {
	for _, t := range n.Spec.Taints {
		out = append(out, t.Key+":"+string(t.Effect))
	}
	slices.Sort(out)
	return out
}

func TestANodeIsBornTaintedAndFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.Run(c.Manager("nodes", addNodes(2, "node-")))
		c.Settle()
		c.Sleep(time.Second)
		require.Empty(t, taints(node(c, "node-0")))
		c.Sleep(time.Hour)
		require.Empty(t, taints(node(c, "node-1")), "leases are renewed")
	})
}

func TestASilentNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.Run(c.Manager("other nodes", addNodes(3, "other-")))
		stop := c.Run(c.Manager("nodes", addNodes(1, "node-")))
		c.Sleep(time.Second)
		for _, name := range []string{"patient", "hasty"} {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
			p.Spec.NodeName = "node-0"
			p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
			if name == "patient" {
				p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			}
			controllertest.Create(c, p)
		}
		c.Sleep(time.Second)
		began := time.Now()
		stop()
		c.Sleep(39 * time.Second)
		require.Equal(t, corev1.ConditionTrue, ready(node(c, "node-0")).Status)
		c.Sleep(40 * time.Second)
		n := node(c, "node-0")
		r := ready(n)
		require.Equal(t, corev1.ConditionUnknown, r.Status)
		require.Equal(t, "NodeStatusUnknown", r.Reason)
		require.Equal(t, "Kubelet stopped posting node status.", r.Message)
		require.WithinRange(t, r.LastTransitionTime.Time, began.Add(40*time.Second), began.Add(61*time.Second))
		require.Equal(t, []string{nodelifecycle.TaintUnreachable + ":NoExecute", nodelifecycle.TaintUnreachable + ":NoSchedule"}, taints(n))
		require.Empty(t, taints(node(c, "other-0")))
		pod := controllertest.Get[*corev1.Pod](c, "default", "patient")
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		require.Equal(t, corev1.ConditionFalse, pod.Status.Conditions[i].Status)
		// Pods tolerate it for 300 seconds by default.
		c.Sleep(4 * time.Minute)
		require.Nil(t, controllertest.Get[*corev1.Pod](c, "default", "hasty").DeletionTimestamp)
		c.Sleep(2 * time.Minute)
		require.NotNil(t, controllertest.Get[*corev1.Pod](c, "default", "hasty").DeletionTimestamp)
		require.Nil(t, controllertest.Get[*corev1.Pod](c, "default", "patient").DeletionTimestamp)
		// It comes back.
		c.Run(c.Manager("nodes again", addNodes(1, "node-")))
		c.Sleep(20 * time.Second)
		require.Equal(t, corev1.ConditionTrue, ready(node(c, "node-0")).Status)
		require.Empty(t, taints(node(c, "node-0")))
	})
}

func TestConditionsBecomeTaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		c.Settle()
		require.Equal(t, []string{nodelifecycle.TaintNotReady + ":NoSchedule"}, taints(node(c, "n")))
		controllertest.UpdateStatus(c, "", "n", func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}}
		})
		controllertest.Update(c, "", "n", func(n *corev1.Node) {
			n.Spec.Unschedulable = true
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "mine", Effect: corev1.TaintEffectNoSchedule})
		})
		c.Settle()
		require.Equal(t, []string{"mine:NoSchedule", nodelifecycle.TaintMemoryPressure + ":NoSchedule", nodelifecycle.TaintUnschedulable + ":NoSchedule"}, taints(node(c, "n")))
	})
}

// A node that never reported is Unknown after a minute.
func TestANodeThatNeverReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		c.Sleep(55 * time.Second)
		require.Empty(t, ready(node(c, "n")).Status)
		c.Sleep(11 * time.Second)
		require.Equal(t, "NodeStatusNeverUpdated", ready(node(c, "n")).Reason)
	})
}

// When all nodes of a zone fall silent it is more likely that the network failed: no pod is evicted.
func TestNoPodIsEvictedWhenAllAreSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		stop := c.Run(c.Manager("nodes", addNodes(4, "node-")))
		c.Sleep(time.Minute)
		stop()
		c.Sleep(10 * time.Minute)
		for _, n := range controllertest.List[*corev1.Node](c, "") {
			require.Equal(t, []string{nodelifecycle.TaintUnreachable + ":NoSchedule"}, taints(n))
		}
	})
}

// In a full outage nodes fall silent one after the other, as their leases were renewed: those that were
// tainted before it was known to be full are freed, and have their time when the network is back.
func TestNoPodIsEvictedInAFullOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		groups := []string{"a-", "b-", "c-", "d-"}
		run := func(group string) func() { return c.Run(c.Manager("nodes "+group, addNodes(1, group))) }
		var stops []func()
		for _, group := range groups {
			stops = append(stops, run(group))
			c.Sleep(7 * time.Second)
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "on-"+group+"0")}
			p.Spec.NodeName = group + "0"
			p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
			controllertest.Create(c, p)
		}
		c.Sleep(time.Minute)
		for i, stop := range stops {
			stop()
			c.Sleep(time.Duration(6+i) * time.Second)
		}
		c.Sleep(time.Hour)
		all := func() {
			for _, group := range groups {
				require.NotContains(t, taints(node(c, group+"0")), nodelifecycle.TaintUnreachable+":NoExecute")
				require.Nil(t, controllertest.Get[*corev1.Pod](c, "default", "on-"+group+"0").DeletionTimestamp)
			}
		}
		all()
		for _, group := range groups {
			run(group)
			c.Sleep(9 * time.Second)
			all()
		}
		c.Sleep(time.Hour)
		all()
	})
}

// A restarted controller does not take the first node that it looks at for all.
func TestATaintOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		add := func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) }
		stop := c.Run(c.Manager("controller", add))
		c.Run(c.Manager("other nodes", addNodes(3, "other-")))
		silence := c.Run(c.Manager("nodes", addNodes(1, "a-")))
		c.Sleep(time.Minute)
		silence()
		c.Sleep(5 * time.Minute)
		find := func() corev1.Taint {
			ts := node(c, "a-0").Spec.Taints
			i := slices.IndexFunc(ts, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
			require.GreaterOrEqual(t, i, 0)
			return ts[i]
		}
		before := find()
		stop()
		c.Run(c.Manager("controller again", add))
		c.Sleep(5 * time.Minute)
		require.Equal(t, before, find())
	})
}

// Nodes have an event when they are first seen, and when they are gone.
func TestEventsOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		n := controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "node-0")})
		c.Sleep(time.Minute)
		events := func() (out []string) {
			for _, e := range controllertest.List[*corev1.Event](c, "default") {
				require.Equal(t, corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "node-0", UID: n.UID}, e.InvolvedObject)
				if strings.HasPrefix(e.Reason, "Re") {
					out = append(out, strings.Join([]string{e.Source.Component, e.Type, e.Reason, e.Message}, " "))
				}
			}
			return out
		}
		registered := "node-controller Normal RegisteredNode Node node-0 event: Registered Node node-0 in Controller"
		require.Equal(t, []string{registered}, events())
		controllertest.Delete[*corev1.Node](c, "", "node-0")
		c.Sleep(time.Minute)
		require.ElementsMatch(t, []string{registered, "node-controller Normal RemovingNode Node node-0 event: Removing Node node-0 from Controller"}, events())
	})
}
