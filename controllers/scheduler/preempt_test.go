package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/disruption"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// kubelets removes pods that are being deleted, wait after their deletion was requested.
func kubelets(c *controllertest.Cluster, wait time.Duration) {
	api := client.For[*corev1.Pod](c.Admin())
	seen := map[types.UID]bool{}
	controllertest.Watch(c, "", func(e client.Event[*corev1.Pod]) {
		p := e.Object
		if e.Type == client.Deleted || p == nil || p.DeletionTimestamp == nil || seen[p.UID] {
			return
		}
		seen[p.UID] = true
		go func() {
			time.Sleep(wait)
			_ = api.Delete(context.Background(), p.Key(), client.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &p.UID}})
		}()
	})
}

// priorities creates a class for each name.
func priorities(c *controllertest.Cluster, values map[string]int32) {
	for name, value := range values {
		controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", name), Value: value})
	}
	c.Settle()
}

func class(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PriorityClassName = name }
}

func to(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{hostname: node} }
}

const hostname = "kubernetes.io/hostname"

func deleteNow(c *controllertest.Cluster, name string) {
	controllertest.Delete[*corev1.Pod](c, "default", name, client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
}

// preempted follows the pods that are preempted; the returned function counts them by node.
func preempted(c *controllertest.Cluster) func() map[string]int {
	victims := map[types.UID]string{}
	controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
		marks := 0
		for _, cond := range e.Object.Status.Conditions {
			if cond.Type == corev1.DisruptionTarget && cond.Reason == "PreemptionByScheduler" {
				marks++
			}
		}
		if marks == 1 && e.Object.DeletionTimestamp != nil {
			victims[e.Object.UID] = e.Object.Spec.NodeName
		}
		if marks > 1 || marks == 0 && e.Object.DeletionTimestamp != nil {
			victims[e.Object.UID] = "without the right condition"
		}
	})
	return func() map[string]int {
		out := map[string]int{}
		for _, n := range victims {
			out[n]++
		}
		return out
	}
}

// A hundred nodes full of unimportant pods, and a hundred important ones that need three quarters of a node
// each: every one is bound, on a node where exactly three pods went for it, and no other pod is touched.
func TestAHundredPodsPreemptThreePodsEach(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		priorities(c, map[string]int32{"low": 10, "high": 100})
		kubelets(c, time.Second)
		for i := range 100 {
			quickNode(c, fmt.Sprintf("n%02d", i), "4")
		}
		for i := range 400 {
			create(c, fmt.Sprintf("low%03d", i), "1", class("low"))
		}
		c.Sleep(time.Minute)
		gone := preempted(c)
		for i := range 100 {
			create(c, fmt.Sprintf("high%02d", i), "3", class("high"))
		}
		c.Sleep(time.Minute)
		want, low, high := map[string]int{}, map[string]int{}, map[string]int{}
		for i := range 100 {
			want[fmt.Sprintf("n%02d", i)] = 1
		}
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			if strings.HasPrefix(p.Name, "low") {
				low[p.Spec.NodeName]++
			} else {
				high[p.Spec.NodeName]++
			}
		}
		require.Equal(t, want, high, "one important pod on every node")
		require.Equal(t, want, low, "beside one that had not to go")
		for on, n := range gone() {
			require.Equal(t, 3, n, on)
		}
	})
}

// quickNode is addNode without waiting.
func quickNode(c *controllertest.Cluster, name, cpu string) {
	controllertest.Create(c, node(name))
	controllertest.UpdateStatus(c, "", name, func(n *corev1.Node) { n.Status.Allocatable = amounts(cpu, "8Gi", "110") })
	controllertest.Update(c, "", name, func(n *corev1.Node) { n.Spec.Taints = nil })
}

// The pods of ReplicaSets that are preempted come back at once and must not take the room that was made: each
// is preempted once, not again and again. Upstream's conformance suite counts the pods seen.
func TestReplacementsOfVictimsDoNotTakeTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) },
		}})
		priorities(c, map[string]int32{"p1": 1, "p2": 2, "p3": 3, "p4": 4})
		kubelets(c, 3*time.Second)
		seen := map[string]map[types.UID]bool{"rs1": {}, "rs2": {}, "rs3": {}}
		controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
			if rs := e.Object.Labels["rs"]; rs != "" {
				seen[rs][e.Object.UID] = true
			}
		})
		quickNode(c, "a", "10")
		for i, cpu := range []string{"2", "3", "4500m"} {
			name := fmt.Sprintf("rs%d", i+1)
			rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", name)}
			rs.Spec.Replicas, rs.Spec.Selector = new(int32(1)), &metav1.LabelSelector{MatchLabels: map[string]string{"rs": name}}
			rs.Spec.Template.Labels = rs.Spec.Selector.MatchLabels
			p := pod(name, requests(cpu, "1Mi"), class(fmt.Sprintf("p%d", i+1)))
			p.Spec.Containers[0].Image = "image"
			rs.Spec.Template.Spec = p.Spec
			controllertest.Create(c, rs)
			c.Sleep(time.Second)
		}
		create(c, "preemptor", "5", class("p4"))
		c.Sleep(5 * time.Minute)
		require.Equal(t, "a", get(c, "preemptor").Spec.NodeName)
		require.Len(t, seen["rs1"], 2)
		require.Len(t, seen["rs2"], 2)
		require.Len(t, seen["rs3"], 1, "the most important pod may stay")
	})
}

// Budgets are broken last: a more important pod without one goes instead, and only where nothing else helps
// does the protected one.
func TestPreemptionReadsDisruptionBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return disruption.Add(m, disruption.Options{}) },
		}})
		priorities(c, map[string]int32{"low": 10, "middle": 50, "high": 100})
		kubelets(c, time.Second)
		rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web")}
		rs.Spec.Replicas, rs.Spec.Selector = new(int32(4)), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		rs.Spec.Template.Labels = rs.Spec.Selector.MatchLabels
		rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		rs = controllertest.Create(c, rs)
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: controllertest.Name("default", "web")}
		budget.Spec.Selector, budget.Spec.MinAvailable = rs.Spec.Selector, new(intstr.FromInt32(3))
		controllertest.Create(c, budget)
		for _, n := range []string{"a", "b", "c"} {
			addNode(c, n, "4", "10")
		}
		protected := func(p *corev1.Pod) {
			app("web")(p)
			owned(p)
			p.OwnerReferences[0].UID = rs.UID
		}
		ready := func(name string) {
			controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
			})
		}
		for _, name := range []string{"a1", "a2", "b1", "b2"} {
			create(c, name, "2", class("low"), to(name[:1]), protected)
		}
		for _, name := range []string{"c1", "c2"} {
			create(c, name, "2", class("middle"), to("c"))
		}
		c.Settle()
		for _, name := range []string{"a1", "a2", "b1", "b2", "c1", "c2"} {
			ready(name)
		}
		c.Settle()
		require.EqualValues(t, 1, controllertest.Get[*policyv1.PodDisruptionBudget](c, "default", "web").Status.DisruptionsAllowed)
		gone := preempted(c)
		// One may go, two of one node may not.
		create(c, "first", "4", class("high"))
		c.Sleep(10 * time.Second)
		require.Equal(t, "c", get(c, "first").Spec.NodeName)
		require.Equal(t, map[string]int{"c": 2}, gone())
		// Two at once, of which each needs one: only one is covered by the budget, whatever its status says
		// in that moment.
		create(c, "second", "2", class("high"))
		create(c, "third", "2", class("high"), to("c"))
		c.Sleep(10 * time.Second)
		require.NotEmpty(t, get(c, "second").Spec.NodeName)
		require.Empty(t, get(c, "third").Spec.NodeName)
		total := gone()
		require.Equal(t, 1, total["a"]+total["b"])
		// Nothing else helps.
		create(c, "fourth", "4", class("high"))
		c.Sleep(10 * time.Second)
		require.NotEmpty(t, get(c, "fourth").Spec.NodeName)
	})
}

// Two pods that preempt in the same moment do not both count on the last disruption that a budget allows.
func TestABudgetIsNotSpentTwice(t *testing.T) {
	c := scheduler.NewCluster(nil)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	budget.Status.DisruptionsAllowed = 1
	c.SetBudget(budget)
	for _, n := range []string{"a", "b", "c"} {
		c.SetNode(node(n))
	}
	for _, n := range []string{"a", "b"} {
		c.SetPod(pod("low-"+n, requests("4", "1Mi"), app("web"), on(n), priority(1)))
	}
	c.SetPod(pod("low-c", requests("4", "1Mi"), on("c"), priority(2)))
	node, victims := c.Preempt(pod("p", requests("4", "1Mi"), priority(9)))
	require.Equal(t, "a", node)
	require.Len(t, victims, 1)
	node, victims = c.Preempt(pod("q", requests("4", "1Mi"), priority(9)))
	require.Equal(t, "c", node, "the budget is spent")
	require.Len(t, victims, 1)
	node, victims = c.Preempt(pod("p", requests("4", "1Mi"), priority(9)))
	require.Equal(t, "a", node, "the room that is being made is waited for")
	require.Empty(t, victims)
	require.Empty(t, c.Schedule(pod("r", requests("4", "1Mi"), priority(9))).Node)
}

// What was spent on a pod that stays is given back: it is protected as before.
func TestABudgetIsGivenBack(t *testing.T) {
	c := scheduler.NewCluster(nil)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	budget.Status.DisruptionsAllowed = 1
	c.SetBudget(budget)
	c.SetNode(node("a"))
	c.SetNode(node("b"))
	c.SetPod(pod("low-a", requests("4", "1Mi"), app("web"), on("a"), priority(1)))
	c.SetPod(pod("low-b", requests("4", "1Mi"), on("b"), priority(2)))
	on, _ := c.Preempt(pod("p", requests("4", "1Mi"), priority(9)))
	require.Equal(t, "a", on)
	c.RemovePod("p")
	none := *budget
	none.Status.DisruptionsAllowed = 0
	c.SetBudget(&none)
	on, _ = c.Preempt(pod("q", requests("4", "1Mi"), priority(9)))
	require.Equal(t, "b", on)
}

func priority(v int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &v } }

// The room that is being made is kept, even against pods that come while its owner's back-off lasts, and
// given up when its owner goes.
func TestTheRoomOfANominatedPodIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		priorities(c, map[string]int32{"low": 1, "high": 2, "highest": 3})
		kubelets(c, 500*time.Millisecond)
		addNode(c, "a", "4", "10")
		create(c, "victim", "4", class("low"))
		c.Settle()
		create(c, "high", "4", class("high"))
		c.Sleep(400 * time.Millisecond)
		require.Equal(t, "a", get(c, "high").Status.NominatedNodeName)
		create(c, "late", "1", class("low"))
		c.Sleep(200 * time.Millisecond)
		require.Equal(t, "a", get(c, "high").Spec.NodeName, "at once when the last victim is gone")
		require.Empty(t, get(c, "high").Status.NominatedNodeName)
		require.Empty(t, get(c, "late").Spec.NodeName)
		create(c, "highest", "4", class("highest"))
		c.Sleep(100 * time.Millisecond)
		require.NotNil(t, get(c, "high").DeletionTimestamp)
		deleteNow(c, "highest")
		c.Sleep(20 * time.Second)
		require.Equal(t, "a", get(c, "late").Spec.NodeName, "the nominated pod was deleted")
	})
}

// A nomination that no longer helps is taken back in the API too.
func TestANominationIsCleared(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		priorities(c, map[string]int32{"low": 1, "high": 2})
		addNode(c, "a", "4", "10")
		create(c, "victim", "4", class("low"))
		c.Settle()
		create(c, "high", "4", class("high"))
		c.Sleep(time.Second)
		require.Equal(t, "a", get(c, "high").Status.NominatedNodeName)
		controllertest.UpdateStatus(c, "", "a", func(n *corev1.Node) { n.Status.Allocatable = amounts("3", "8Gi", "10") })
		c.Sleep(20 * time.Second)
		require.Empty(t, get(c, "high").Status.NominatedNodeName)
		require.Empty(t, get(c, "high").Spec.NodeName)
	})
}

// A node that goes may make others fit: here it was the emptiest domain.
func TestADeletedNodeWakesPods(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "4", "10")
		addNode(c, "b", "4", "0")
		spread := func(p *corev1.Pod) {
			p.Labels["app"] = "web"
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: hostname,
				WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
		}
		create(c, "p", "1", spread)
		c.Settle()
		create(c, "q", "1", spread)
		c.Sleep(30 * time.Second)
		require.Empty(t, get(c, "q").Spec.NodeName)
		controllertest.Delete[*corev1.Node](c, "", "b")
		c.Sleep(time.Second)
		require.Equal(t, "a", get(c, "q").Spec.NodeName)
	})
}

// Pods that request nothing are not all sent to the node that is best balanced.
func TestBestEffortPodsSpread(t *testing.T) {
	c := scheduler.NewCluster(nil)
	for _, n := range []string{"b", "a"} {
		c.SetNode(node(n))
	}
	c.SetPod(pod("unbalanced", requests("2", "1Mi"), on("a")))
	c.SetPod(pod("balanced", requests("2", "4Gi"), on("b")))
	d := c.Schedule(pod("p"))
	require.Equal(t, "a", d.Node, "%v", d.Feasible)
}

// Every victim has one event that names the pod it was preempted by, however many there are at once.
func TestEveryVictimHasItsEvent(t *testing.T) {
	const nodes, perNode = 30, 10
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		priorities(c, map[string]int32{"low": 1, "high": 1000})
		for i := range nodes {
			addNode(c, fmt.Sprintf("n%02d", i), fmt.Sprint(perNode), "110")
		}
		for i := range nodes * perNode {
			create(c, fmt.Sprintf("low-%03d", i), "1", class("low"))
		}
		c.Sleep(time.Minute)
		kubelets(c, 2*time.Second)
		preemptors := map[string]bool{}
		for i := range nodes * perNode {
			preemptors[string(create(c, fmt.Sprintf("high-%03d", i), "1", class("high")).UID)] = true
		}
		c.Sleep(10 * time.Minute)
		for i := range nodes * perNode {
			require.NotEmpty(t, get(c, fmt.Sprintf("high-%03d", i)).Spec.NodeName)
			victim := fmt.Sprintf("low-%03d", i)
			var messages []string
			for _, e := range events(c, victim) {
				if text, ok := strings.CutPrefix(e, "Normal Preempted: "); ok {
					messages = append(messages, text)
				}
			}
			require.Len(t, messages, 1, victim)
			uid, ok := strings.CutPrefix(messages[0], "Preempted by pod ")
			require.True(t, ok, messages[0])
			uid, node, ok := strings.Cut(uid, " on node n")
			require.True(t, ok && len(node) == 2 && preemptors[uid], messages[0])
		}
	})
}
