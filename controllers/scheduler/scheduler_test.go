package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) }}}))
	})
}

// addNode makes a node without the taint of new nodes.
func addNode(c *controllertest.Cluster, name, cpu, pods string) {
	n := node(name)
	controllertest.Create(c, n)
	controllertest.UpdateStatus(c, "", name, func(n *corev1.Node) { n.Status.Allocatable = amounts(cpu, "8Gi", pods) })
	controllertest.Update(c, "", name, func(n *corev1.Node) { n.Spec.Taints = nil })
	c.Settle()
}

func create(c *controllertest.Cluster, name, cpu string, edit ...func(*corev1.Pod)) *corev1.Pod {
	p := pod(name, requests(cpu, "1Mi"))
	p.UID, p.Spec.Containers[0].Image = "", "image"
	for _, e := range edit {
		e(p)
	}
	return controllertest.Create(c, p)
}

func get(c *controllertest.Cluster, name string) *corev1.Pod {
	return controllertest.Get[*corev1.Pod](c, "default", name)
}

func scheduled(p *corev1.Pod) corev1.PodCondition {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return p.Status.Conditions[i]
}

func events(c *controllertest.Cluster, object string) (out []string) {
	for _, e := range controllertest.List[*corev1.Event](c, "default") {
		if e.InvolvedObject.Name == object {
			out = append(out, e.Type+" "+e.Reason+": "+e.Message)
		}
	}
	return out
}

func TestAPodIsBoundAndToldOf(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "4", "10")
		create(c, "p", "1")
		create(c, "other", "1", func(p *corev1.Pod) { p.Spec.SchedulerName = "mine" })
		create(c, "gated", "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}} })
		c.Settle()
		require.Equal(t, "a", get(c, "p").Spec.NodeName)
		require.Equal(t, corev1.ConditionTrue, scheduled(get(c, "p")).Status)
		require.Equal(t, []string{"Normal Scheduled: Successfully assigned default/p to a"}, events(c, "p"))
		require.Empty(t, get(c, "other").Spec.NodeName)
		require.Empty(t, get(c, "gated").Spec.NodeName)
		controllertest.Update(c, "default", "gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })
		c.Settle()
		require.Equal(t, "a", get(c, "gated").Spec.NodeName)
	})
}

func TestAPodThatFitsNowhereSaysWhyAndWaits(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		create(c, "p", "2")
		c.Settle()
		require.Equal(t, "no nodes available to schedule pods", scheduled(get(c, "p")).Message)
		addNode(c, "small", "1", "10")
		create(c, "occupant", "2", func(p *corev1.Pod) { p.Spec.NodeName = "busy" })
		c.Settle() // before the node
		addNode(c, "busy", "3", "10")
		c.Sleep(20 * time.Second)
		controllertest.Update(c, "", "small", func(n *corev1.Node) { n.Labels["x"] = "y" })
		c.Sleep(20 * time.Second)
		cond := scheduled(get(c, "p"))
		require.Equal(t, corev1.ConditionFalse, cond.Status)
		require.Equal(t, "Unschedulable", cond.Reason)
		require.Equal(t, "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.", cond.Message)
		require.Contains(t, events(c, "p"), "Warning FailedScheduling: "+cond.Message)
		controllertest.Delete[*corev1.Pod](c, "default", "occupant", client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		c.Sleep(11 * time.Second)
		require.Equal(t, "busy", get(c, "p").Spec.NodeName)
	})
}

// However fast pods come, no node ever gets more than it has.
func TestFiveHundredPodsNeverOvercommit(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		for i := range 20 {
			addNode(c, fmt.Sprintf("n%02d", i), "2", "30")
		}
		for i := range 500 {
			create(c, fmt.Sprintf("p%03d", i), "100m")
		}
		c.Sleep(time.Minute)
		load, bound := map[string]int64{}, 0
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			if p.Spec.NodeName != "" {
				bound++
				load[p.Spec.NodeName] += milliCPU(p)
			}
		}
		require.Equal(t, 400, bound, "twenty nodes take twenty each")
		for n, cpu := range load {
			require.LessOrEqual(t, cpu, int64(2000), n)
		}
	})
}

func TestPreemption(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		for name, value := range map[string]int32{"low": 10, "middle": 50, "high": 100} {
			controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", name), Value: value})
		}
		controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", "peaceful"), Value: 100, PreemptionPolicy: new(corev1.PreemptNever)})
		c.Settle()
		class := func(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.PriorityClassName = name } }
		addNode(c, "a", "4", "10")
		addNode(c, "b", "4", "10")
		create(c, "low", "3", class("low"), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "a"} })
		create(c, "middle", "3", class("middle"), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "b"} })
		c.Settle()
		require.Equal(t, "a", get(c, "low").Spec.NodeName)
		create(c, "peaceful", "3", class("peaceful"))
		c.Settle()
		require.Nil(t, get(c, "low").DeletionTimestamp)
		create(c, "high", "3", class("high"))
		c.Settle()
		victim := get(c, "low")
		require.NotNil(t, victim.DeletionTimestamp, "the least important pod goes")
		require.True(t, slices.ContainsFunc(victim.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Reason == "PreemptionByScheduler"
		}))
		require.Nil(t, get(c, "middle").DeletionTimestamp)
		require.Equal(t, "a", get(c, "high").Status.NominatedNodeName)
		controllertest.Delete[*corev1.Pod](c, "default", "peaceful", client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		controllertest.Delete[*corev1.Pod](c, "default", "low", client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		c.Sleep(time.Minute)
		require.Equal(t, "a", get(c, "high").Spec.NodeName)
	})
}

// A restarted scheduler counts what is placed already.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		add := func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) }
		addNode(c, "a", "2", "10")
		stop := c.Run(c.Manager("one", add))
		create(c, "p", "1500m")
		c.Settle()
		stop()
		create(c, "q", "1500m")
		create(c, "r", "500m")
		c.Run(c.Manager("two", add))
		c.Settle()
		require.Equal(t, "a", get(c, "p").Spec.NodeName)
		require.Empty(t, get(c, "q").Spec.NodeName)
		require.Equal(t, "a", get(c, "r").Spec.NodeName)
	})
}
