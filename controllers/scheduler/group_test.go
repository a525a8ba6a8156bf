package scheduler_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/builtin"
)

type podGroup = schedulingv1alpha2.PodGroup

// gangs is the default profile with the plugins for groups.
func gangs() *scheduler.Profile {
	return scheduler.Default().With(scheduler.GangScheduling{}, 0).
		With(scheduler.TopologyPlacementGenerator{}, 0).With(scheduler.PodGroupPodsCount{}, 0)
}

// servesGroups are the options of a cluster that serves PodGroups.
func servesGroups(t testing.TB, opts controllertest.Options) controllertest.Options {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, schedulingv1alpha2.AddToScheme(served))
	require.NoError(t, schedulingv1alpha2.AddRules(served))
	known := api.Scheme().Clone()
	require.NoError(t, schedulingv1alpha2.AddToScheme(known))
	opts.Scheme, opts.Server.Scheme, opts.Server.Builtin = known, served, builtin.Options{TopologyConstraints: true, GroupPriority: true}
	return opts
}

// withGroups runs a scheduler of groups.
func withGroups(t *testing.T, opts scheduler.Options, f func(t *testing.T, c *controllertest.Cluster)) {
	opts.PodGroups = true
	if opts.Profiles == nil {
		opts.Profiles = []*scheduler.Profile{gangs()}
	}
	synctest.Test(t, func(t *testing.T) {
		f(t, controllertest.Start(t, servesGroups(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return scheduler.Add(m, opts) }}})))
	})
}

func newGroup(name string, minCount int32) *podGroup {
	g := &podGroup{ObjectMeta: controllertest.Name("default", name)}
	if minCount > 0 {
		g.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: minCount}
	} else {
		g.Spec.SchedulingPolicy.Basic = &schedulingv1alpha2.BasicSchedulingPolicy{}
	}
	return g
}

func memberOf(group string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group} }
}

func createMembers(c *controllertest.Cluster, group string, n int, cpu string) {
	for i := range n {
		create(c, fmt.Sprint(group, "-", i), cpu, memberOf(group))
	}
}

// boundMembers is how many pods of a group are on nodes.
func boundMembers(c *controllertest.Cluster, group string) (n int) {
	for _, p := range controllertest.List[*corev1.Pod](c, "default") {
		if g := p.Spec.SchedulingGroup; g != nil && *g.PodGroupName == group && p.Spec.NodeName != "" {
			n++
		}
	}
	return n
}

func groupCondition(c *controllertest.Cluster, name string) metav1.Condition {
	g := controllertest.Get[*podGroup](c, "default", name)
	if found := metav1.FindCondition(g.Status.Conditions, schedulingv1alpha2.PodGroupScheduled); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// A gang of four on a cluster with room for three is not bound, and holds nothing that others need. When
// there is room, all are.
func TestAGangIsBoundAllOrNothing(t *testing.T) {
	withGroups(t, scheduler.Options{}, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "3", "10")
		controllertest.Create(c, newGroup("g", 4))
		createMembers(c, "g", 4, "1")
		c.Sleep(time.Minute)
		require.Zero(t, boundMembers(c, "g"))
		cond := groupCondition(c, "g")
		require.Equal(t, metav1.ConditionFalse, cond.Status)
		require.Equal(t, "Unschedulable", cond.Reason)
		require.Equal(t, "0/1 placements are available, first placement status: pod group is unschedulable", cond.Message)
		waits, last := scheduled(get(c, "g-0")), scheduled(get(c, "g-3"))
		require.Equal(t, "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or more plugins asked to wait and no plugin rejected pod", waits.Message)
		require.Equal(t, "Unschedulable", waits.Reason)
		require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.", last.Message)
		require.Contains(t, events(c, "g-0"), "Warning FailedScheduling: "+waits.Message)
		for _, p := range []string{"x", "y", "z"} {
			create(c, p, "1")
		}
		c.Sleep(time.Second)
		for _, p := range []string{"x", "y", "z"} {
			require.Equal(t, "a", get(c, p).Spec.NodeName, "nothing is held for the gang")
		}
		addNode(c, "b", "4", "10")
		c.Sleep(11 * time.Second)
		require.Equal(t, 4, boundMembers(c, "g"))
		cond = groupCondition(c, "g")
		require.Equal(t, metav1.ConditionTrue, cond.Status)
		require.Equal(t, "Scheduled", cond.Reason)
		create(c, "g-more", "1", memberOf("g"))
		c.Sleep(time.Minute)
		require.Equal(t, "Unschedulable", scheduled(get(c, "g-more")).Reason)
		require.Equal(t, metav1.ConditionTrue, groupCondition(c, "g").Status, "what was scheduled stays so")
	})
}

// Pods wait outside the queue until their PodGroup and enough of them exist, whatever comes first.
func TestAGangWaitsForItsPods(t *testing.T) {
	withGroups(t, scheduler.Options{}, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "8", "10")
		createMembers(c, "g", 2, "1")
		c.Sleep(time.Minute)
		require.Empty(t, get(c, "g-0").Status.Conditions, "it is not tried")
		controllertest.Create(c, newGroup("g", 3))
		c.Sleep(time.Minute)
		require.Empty(t, get(c, "g-0").Status.Conditions)
		create(c, "g-2", "1", memberOf("g"))
		c.Settle()
		require.Equal(t, 3, boundMembers(c, "g"))
		controllertest.Delete[*corev1.Pod](c, "default", "g-1")
		create(c, "g-3", "1", memberOf("g"))
		c.Settle()
		require.NotEmpty(t, get(c, "g-3").Spec.NodeName, "two that are bound count")
	})
}

// What a gang can only have if others are ended is made for all of it, and for none if that is not enough.
func TestAGangPreemptsAllOrNothing(t *testing.T) {
	withGroups(t, scheduler.Options{Profiles: []*scheduler.Profile{scheduler.Default().With(scheduler.GangScheduling{}, 0)}}, func(t *testing.T, c *controllertest.Cluster) {
		priorities(c, map[string]int32{"high": 10})
		kubelets(c, 5*time.Second)
		addNode(c, "a", "3", "10")
		for _, name := range []string{"x", "y"} {
			create(c, name, "1")
		}
		c.Settle()
		controllertest.Create(c, newGroup("large", 4))
		for i := range 4 {
			create(c, fmt.Sprint("large-", i), "1", class("high"), memberOf("large"))
		}
		c.Sleep(time.Minute)
		require.Zero(t, boundMembers(c, "large"))
		require.Equal(t, "a", get(c, "x").Spec.NodeName, "ending others is not enough")
		require.Equal(t, "a", get(c, "y").Spec.NodeName)
		for i := range 4 {
			deleteNow(c, fmt.Sprint("large-", i))
		}
		controllertest.Create(c, newGroup("g", 3))
		for i := range 3 {
			create(c, fmt.Sprint("g-", i), "1", class("high"), memberOf("g"))
		}
		c.Sleep(time.Second)
		cond := groupCondition(c, "g")
		require.Equal(t, "pod group is unschedulable, pod group is waiting for preemption to complete", cond.Message)
		require.Equal(t, "Unschedulable", cond.Reason)
		require.Equal(t, cond.Message, scheduled(get(c, "g-0")).Message)
		for i := range 3 {
			require.Equal(t, "a", get(c, fmt.Sprint("g-", i)).Status.NominatedNodeName)
		}
		create(c, "late", "1")
		c.Sleep(20 * time.Second)
		require.Equal(t, 3, boundMembers(c, "g"))
		require.Empty(t, get(c, "late").Spec.NodeName)
	})
}

// All pods of a group with a topology constraint are on nodes with one value of the label, where most of them
// have room, and further ones come to them.
func TestAGroupStaysInOneDomain(t *testing.T) {
	withGroups(t, scheduler.Options{}, func(t *testing.T, c *controllertest.Cluster) {
		for _, name := range []string{"a1", "a2", "b1", "b2"} {
			v := name[:1]
			addNode(c, name, map[string]string{"a": "1", "b": "2"}[v], "10")
			controllertest.Update(c, "", name, func(n *corev1.Node) { n.Labels["rack"] = v })
		}
		addNode(c, "norack", "9", "10")
		g := newGroup("g", 2)
		g.Spec.SchedulingConstraints = &schedulingv1alpha2.PodGroupSchedulingConstraints{Topology: []schedulingv1alpha2.TopologyConstraint{{Key: "rack"}}}
		createMembers(c, "g", 3, "1")
		c.Settle()                  // nodes and members come by other watches than the group,
		controllertest.Create(c, g) // which is the last, so that all are tried together
		c.Settle()
		racks := func() (out []string) {
			for _, p := range controllertest.List[*corev1.Pod](c, "default") {
				if p.Spec.NodeName != "" {
					out = append(out, p.Spec.NodeName[:1])
				}
			}
			return out
		}
		require.Equal(t, []string{"b", "b", "b"}, racks())
		create(c, "g-3", "1", memberOf("g"))
		create(c, "g-4", "1", memberOf("g"))
		c.Sleep(time.Minute)
		require.Equal(t, []string{"b", "b", "b", "b"}, racks())
	})
}

// A plugin that refuses the binding of one pod, or its reservation, keeps the others of a gang from being
// bound.
func TestAPluginRefusesAMemberOfAGang(t *testing.T) {
	for _, point := range []string{"Permit", "Reserve"} {
		e := &everywhere{}
		withGroups(t, scheduler.Options{Profiles: []*scheduler.Profile{gangs().With(e, 1)}}, func(t *testing.T, c *controllertest.Cluster) {
			var calls atomic.Int32 // Permit is called concurrently
			e.set(point, func() *scheduler.Status {
				if calls.Add(1) == 2 {
					return scheduler.NewStatus(scheduler.Unschedulable, "not this one")
				}
				return nil
			})
			addNode(c, "a", "3", "10")
			controllertest.Create(c, newGroup("g", 3))
			createMembers(c, "g", 3, "1")
			c.Sleep(500 * time.Millisecond)
			require.Zero(t, boundMembers(c, "g"), point)
			c.Sleep(time.Minute)
			require.Equal(t, 3, boundMembers(c, "g"), point)
		})
	}
}

// Pods of a group that different profiles would place cannot be scheduled together.
func TestAGroupOfSeveralSchedulers(t *testing.T) {
	withGroups(t, scheduler.Options{Profiles: []*scheduler.Profile{gangs(), gangs().Named("other")}}, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "3", "10")
		controllertest.Create(c, newGroup("g", 2))
		create(c, "g-0", "1", memberOf("g"))
		create(c, "g-1", "1", memberOf("g"), func(p *corev1.Pod) { p.Spec.SchedulerName = "other" })
		c.Sleep(time.Minute)
		require.Zero(t, boundMembers(c, "g"))
		cond := scheduled(get(c, "g-0"))
		require.Equal(t, `all pods in a single pod group should have the same .spec.schedulerName set, got: "default-scheduler" and "other"`, cond.Message)
		require.Equal(t, "SchedulerError", cond.Reason)
	})
}

// Without a policy of a gang, pods of a group are bound as far as they fit.
func TestAGroupThatIsNoGang(t *testing.T) {
	withGroups(t, scheduler.Options{}, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "2", "10")
		controllertest.Create(c, newGroup("g", 0))
		createMembers(c, "g", 3, "1")
		c.Sleep(time.Second)
		require.Equal(t, 2, boundMembers(c, "g"))
		require.Equal(t, metav1.ConditionTrue, groupCondition(c, "g").Status)
	})
}

// Extenders take part in the decisions about groups, while others are scheduled.
func TestExtendersChooseForGroups(t *testing.T) {
	p := &program{delay: time.Second, answers: map[string]func(map[string]any) (int, any){
		"filter": func(map[string]any) (int, any) { return 200, map[string]any{"NodeNames": []string{"b"}} },
	}}
	opts := scheduler.Options{Extenders: []scheduler.Extender{{URL: "http://x", Filter: "filter", NodeCacheCapable: true,
		Resources: []corev1.ResourceName{"example.com/x"}, Client: &http.Client{Transport: p}}}}
	withGroups(t, opts, func(t *testing.T, c *controllertest.Cluster) {
		for _, name := range []string{"a", "b"} {
			addNode(c, name, "4", "10")
			controllertest.UpdateStatus(c, "", name, func(n *corev1.Node) { n.Status.Allocatable["example.com/x"] = resource.MustParse("9") })
		}
		controllertest.Create(c, newGroup("g", 3))
		for i := range 3 {
			create(c, fmt.Sprint("g-", i), "1", memberOf("g"), func(p *corev1.Pod) {
				for _, list := range []corev1.ResourceList{p.Spec.Containers[0].Resources.Requests} {
					list["example.com/x"] = resource.MustParse("1")
				}
				p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"example.com/x": resource.MustParse("1")}
			})
		}
		create(c, "alone", "1")
		c.Sleep(500 * time.Millisecond)
		require.NotEmpty(t, get(c, "alone").Spec.NodeName, "it does not wait for the extender")
		c.Sleep(10 * time.Second)
		for i := range 3 {
			require.Equal(t, "b", get(c, fmt.Sprint("g-", i)).Spec.NodeName)
		}
	})
}

// With PodGroupPreemption a group ends others as a whole, by its own priority, and its pods end none.
func TestAGroupPreemptsAsAWhole(t *testing.T) {
	withGroups(t, scheduler.Options{PodGroupPreemption: true}, func(t *testing.T, c *controllertest.Cluster) {
		priorities(c, map[string]int32{"low": -10, "high": 10})
		addNode(c, "a", "3", "10")
		for i := range 3 {
			create(c, fmt.Sprint("x", i), "1", class([]string{"low", "low", "high"}[i]))
		}
		c.Settle()
		controllertest.Create(c, newGroup("none", 3))
		createMembers(c, "none", 3, "1")
		c.Sleep(time.Minute)
		require.Equal(t, "0/1 placements are available, first placement status: pod group is unschedulable, pod group is unschedulable", groupCondition(c, "none").Message)
		require.Contains(t, scheduled(get(c, "none-0")).Message, "preemption: not eligible due to workload aware preemption enabled")
		for i := range 3 {
			require.Nil(t, get(c, fmt.Sprint("x", i)).DeletionTimestamp)
			deleteNow(c, fmt.Sprint("none-", i))
		}
		kubelets(c, time.Second)
		controllertest.Create(c, newGroup("g", 2))
		createMembers(c, "g", 2, "1")
		c.Sleep(30 * time.Second)
		require.Equal(t, 2, boundMembers(c, "g"))
		require.Equal(t, "a", get(c, "x2").Spec.NodeName)
		group := controllertest.Get[*podGroup](c, "default", "g")
		require.Contains(t, events(c, "x0"), fmt.Sprintf("Normal Preempted: Preempted by podgroup %s on node cluster", group.UID))
	})
}

// With WorkloadAwarePreemption a group has a priority of its own, by which it preempts, whatever those of its
// pods are, and groups that are disrupted as a whole are ended as a whole or not at all.
func TestGroupsPreemptByTheirOwnPriority(t *testing.T) {
	withGroups(t, scheduler.Options{PodGroupPreemption: true}, func(t *testing.T, c *controllertest.Cluster) {
		priorities(c, map[string]int32{"low": -10, "middle": 5, "high": 10})
		addNode(c, "a", "4", "10")
		with := func(name string, minCount int32, class string, mode schedulingv1alpha2.DisruptionMode) {
			g := newGroup(name, minCount)
			g.Spec.PriorityClassName, g.Spec.DisruptionMode = class, &mode
			controllertest.Create(c, g)
			createMembers(c, name, int(minCount), "1")
			c.Sleep(30 * time.Second)
		}
		with("whole", 2, "low", schedulingv1alpha2.DisruptionModePodGroup)
		with("middle", 2, "middle", schedulingv1alpha2.DisruptionModePodGroup)
		require.Equal(t, []int{2, 2}, []int{boundMembers(c, "whole"), boundMembers(c, "middle")})
		kubelets(c, time.Second)

		// Its pods are of no higher priority than those of the others: it is the group's that counts.
		with("same", 1, "low", schedulingv1alpha2.DisruptionModePod)
		require.Equal(t, []int{0, 2, 2}, []int{boundMembers(c, "same"), boundMembers(c, "whole"), boundMembers(c, "middle")})
		deleteNow(c, "same-0")
		with("one", 1, "high", schedulingv1alpha2.DisruptionModePodGroup)
		require.Equal(t, []int{1, 0, 2}, []int{boundMembers(c, "one"), boundMembers(c, "whole"), boundMembers(c, "middle")})
		with("two", 2, "high", schedulingv1alpha2.DisruptionModePod)
		require.Equal(t, []int{1, 2, 0}, []int{boundMembers(c, "one"), boundMembers(c, "two"), boundMembers(c, "middle")})
	})
}
