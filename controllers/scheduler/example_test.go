package scheduler_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// What if: a decision without a cluster.
func ExampleCluster_Schedule() {
	node := func(name, cpu string) *corev1.Node {
		room := corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
		return &corev1.Node{ObjectMeta: controllertest.Name("", name), Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
	}
	pod := func(cpu string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "p")}
		p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
		return p
	}
	c := scheduler.NewCluster(nil)
	c.SetNode(node("small", "1"))
	c.SetNode(node("large", "4"))
	fmt.Println(c.Schedule(pod("2")).Node)
	fmt.Println(c.Schedule(pod("8")).Reasons)
	// Output:
	// large
	// map[Insufficient cpu:2]
}

// warm prefers nodes whose cache has what the pod needs.
type warm struct{}

func (warm) Name() string { return "Warm" }

func (warm) Score(p *scheduler.Pod, n *scheduler.Node) int64 {
	if n.Label("cache") == p.Label("cache") {
		return scheduler.MaxNodeScore
	}
	return 0
}

// A scheduler of your own: the default plugins and one more that scores.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		profile := scheduler.Default().Named("warm-scheduler").With(warm{}, 5)
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error {
				return scheduler.Add(m, scheduler.Options{Profiles: []*scheduler.Profile{profile}})
			},
		}})
		for _, name := range []string{"a", "b", "c"} {
			addNode(c, name, "4", "10")
			controllertest.Update(c, "", name, func(n *corev1.Node) { n.Labels["cache"] = name })
		}
		create(c, "p", "1", func(p *corev1.Pod) {
			p.Spec.SchedulerName = "warm-scheduler"
			p.Labels["cache"] = "b"
		})
		c.Settle()
		fmt.Println(get(c, "p").Spec.NodeName)
	})
	// Output: b
}

// Why a pod goes where it goes: who refuses a node, and what each plugin thinks of the others.
func ExampleCluster_Explain() {
	c := cluster(node("a"), node("b", zone("x")), node("c", taint("dedicated", corev1.TaintEffectNoSchedule)), pod("x", on("a"), requests("2", "1Gi")))
	why := c.Explain(scheduler.Default(), pod("p", requests("1", "1Gi")), true)
	for _, r := range why.Refused {
		fmt.Println(r.Node, "is refused by", r.Status.Plugin+":", r.Status.Message())
	}
	fmt.Println("selected:", why.Node)
	for _, s := range why.Scores {
		fmt.Println(s.Plugin, s.Weight, s.Raw, s.Normalized)
	}
	// Output:
	// c is refused by TaintToleration: node(s) had untolerated taint(s)
	// selected: b
	// TaintToleration 3 [0 0] [100 100]
	// NodeResourcesFit 1 [50 81] [50 81]
	// NodeResourcesBalancedAllocation 1 [72 71] [72 71]
}

// What if there were another node? The state that is asked does not change.
func ExampleCluster_Fork() {
	c := cluster(node("a"))
	pods := []*corev1.Pod{pod("p", requests("3", "1Gi")), pod("q", requests("3", "1Gi"))}
	fork := c.Fork()
	fmt.Printf("%q\n", fork.PlaceAll(scheduler.Default(), pods))
	fork.SetNode(node("b"))
	fmt.Printf("%q\n", fork.PlaceAll(scheduler.Default(), pods[1:]))
	fmt.Println(c.Schedule(pods[0]).Node)
	// Output:
	// ["a" ""]
	// ["b"]
	// a
}
