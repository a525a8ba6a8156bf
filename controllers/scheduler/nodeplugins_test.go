package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// Tolerations compare the values of taints as numbers.
func TestTolerationsOfNumericTaints(t *testing.T) {
	reliability := func(v string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "reliability", Value: v, Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	c := cluster(node("a", reliability("950")), node("b", reliability("900")), node("c", reliability("good")))
	d := c.Schedule(pod("p", func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "reliability", Operator: corev1.TolerationOpGt, Value: "900"}}
	}))
	require.Equal(t, map[string]bool{"a": true}, feasible(d))
	require.Equal(t, map[string]int{"node(s) had untolerated taint(s)": 2}, d.Reasons)
}

// A pod that needs a feature of its node gets one that declares it.
func TestDeclaredFeatures(t *testing.T) {
	declares := func(names ...string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.DeclaredFeatures = names }
	}
	c := cluster(node("a"), node("b", declares("Other", "RestartAllContainersOnContainerExits")), node("c", declares("UserNamespacesHostNetworkSupport")))
	restarts := pod("p", func(p *corev1.Pod) {
		p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
	})
	d := c.Schedule(restarts)
	require.Equal(t, "b", d.Node)
	require.Equal(t, map[string]int{"node(s) didn't match Pod's required features": 2}, d.Reasons)
	require.Equal(t, "c", c.Schedule(pod("q", func(p *corev1.Pod) { p.Spec.HostNetwork, p.Spec.HostUsers = true, new(false) })).Node)
	require.Len(t, c.Schedule(pod("r")).Feasible, 3)
}

// A node that begins to declare a feature gets the pod that waits for it.
func TestAFeatureIsDeclaredLater(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "4", "10")
		create(c, "p", "1", func(p *corev1.Pod) {
			m := &p.Spec.Containers[0]
			m.RestartPolicy = new(corev1.ContainerRestartPolicyNever)
			m.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers,
				ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{1}}}}
		})
		c.Sleep(time.Minute)
		require.Empty(t, get(c, "p").Spec.NodeName)
		controllertest.UpdateStatus(c, "", "a", func(n *corev1.Node) { n.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"} })
		c.Settle()
		require.Equal(t, "a", get(c, "p").Spec.NodeName)
	})
}

// While a pod is resized, the larger of its requests, its allocation and what it has count; if its node has
// refused the resize, the requests do not.
func TestResizedPods(t *testing.T) {
	resized := func(spec, allocated, actual string, refused bool) *corev1.Pod {
		return pod("p", requests(spec, "1Gi"), on("a"), func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: amounts(allocated, "1Gi", ""),
				Resources: &corev1.ResourceRequirements{Requests: amounts(actual, "1Gi", "")}}}
			if refused {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
			}
		})
	}
	for _, c := range []struct {
		spec, allocated, actual string
		refused                 bool
		left                    string // of 4
	}{
		{"1", "1", "1", false, "3"}, {"3", "1", "1", false, "1"}, {"1", "2", "1", false, "2"}, {"1", "1", "3", false, "1"}, {"4", "1", "2", true, "2"},
	} {
		world := cluster(node("a"), resized(c.spec, c.allocated, c.actual, c.refused))
		require.Equal(t, "a", world.Schedule(pod("q", requests(c.left, "1Gi"))).Node, "%+v", c)
		require.Empty(t, world.Schedule(pod("q", requests(fmt.Sprint(c.left, "001m"), "1Gi"))).Node, "%+v", c)
	}
	// The status of a known pod changes; nothing else does.
	world := cluster(node("a"), resized("1", "1", "3", false))
	require.Empty(t, world.Schedule(pod("q", requests("2", "1Gi"))).Node)
	world.SetPod(resized("1", "1", "1", false))
	require.Equal(t, "a", world.Schedule(pod("q", requests("2", "1Gi"))).Node)
}

// A pod that is resized to less lets another in.
func TestAResizeFreesRoom(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "4", "10")
		create(c, "p", "3")
		c.Settle()
		set := func(cpu string) {
			controllertest.UpdateStatus(c, "default", "p", func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: amounts(cpu, "1Mi", ""),
					Resources: &corev1.ResourceRequirements{Requests: amounts(cpu, "1Mi", "")}}}
			})
		}
		set("4")
		create(c, "q", "1")
		c.Sleep(time.Minute)
		require.Empty(t, get(c, "q").Spec.NodeName)
		set("3")
		c.Settle()
		require.Equal(t, "a", get(c, "q").Spec.NodeName)
	})
}

// A search that stops early has looked at all zones, though their nodes came zone by zone.
func TestZonesTakeTurns(t *testing.T) {
	c := scheduler.NewCluster(nil)
	for i := range 300 {
		c.SetNode(node(fmt.Sprintf("n%d", i), zone(fmt.Sprint(i/100))))
	}
	d := c.ScheduleWith(scheduler.Default().Percentage(34), pod("p"))
	require.Len(t, d.Feasible, 102)
	zones := map[int]int{}
	for _, s := range d.Feasible {
		zones[numberOf(s.Node)/100]++
	}
	require.Equal(t, map[int]int{0: 34, 1: 34, 2: 34}, zones)
}

func numberOf(name string) (n int) {
	if _, err := fmt.Sscanf(name, "n%d", &n); err != nil {
		panic(err)
	}
	return n
}

// What a pod as a whole requests counts for filters, and once the pod is placed; its own score is that of its
// containers, as in kube-scheduler 1.36.3. A status counts for pods on nodes only.
func TestWholePodsInScores(t *testing.T) {
	whole := func(p *corev1.Pod) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("2", "1Gi", "")}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Resources: &corev1.ResourceRequirements{Requests: amounts("4", "1Gi", "")}}}
	}
	fit := func(c *scheduler.Cluster, p *corev1.Pod) int64 {
		x := c.Explain(scheduler.Default(), p, true)
		i := slices.IndexFunc(x.Scores, func(s scheduler.PluginScores) bool { return s.Plugin == "NodeResourcesFit" })
		return x.Scores[i].Raw[0]
	}
	c := cluster(node("a"))
	require.EqualValues(t, 97, fit(c, pod("p", whole)))
	c.SetPod(pod("q", on("a"), whole))
	require.EqualValues(t, (47+85)/2, fit(c, pod("p", whole)))
	require.Equal(t, "a", c.Schedule(pod("r", requests("2", "1Gi"))).Node)
	require.Empty(t, c.Schedule(pod("r", requests("2001m", "1Gi"))).Node)
}
