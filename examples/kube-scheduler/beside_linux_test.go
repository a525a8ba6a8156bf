package main

import (
	"cmp"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// groupsWorld is a cluster with a scheduler of groups, and what is compared.
type groupsWorld struct {
	t   *testing.T
	c   *controllertest.Cluster
	log []string
}

func newGroupsWorld(t *testing.T) *groupsWorld {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, schedulingv1alpha2.AddToScheme(served))
	require.NoError(t, schedulingv1alpha2.AddRules(served))
	known := api.Scheme().Clone()
	require.NoError(t, schedulingv1alpha2.AddToScheme(known))
	opts := controllertest.Options{Scheme: known, Server: apiserver.Options{Scheme: served}}
	opts.Server.Builtin.TopologyConstraints, opts.Server.Builtin.GroupPriority = true, true
	return &groupsWorld{t: t, c: controllertest.Start(t, opts)}
}

// ours runs this scheduler, upstream kube-scheduler, with the gates.
func (w *groupsWorld) ours(gates string) {
	o := options{Options: component.Options{Name: "kube-scheduler"}}
	f := newFlags(&o)
	require.NoError(w.t, f.Parse([]string{gates}))
	opts, err := o.complete(f)
	require.NoError(w.t, err)
	w.c.Run(w.c.Manager("scheduler", func(m *manager.Manager) error { return scheduler.Add(m, opts) }))
}

func (w *groupsWorld) upstream(program, gates string) {
	cmd := exec.Command(program, "--kubeconfig="+w.c.Kubeconfig(), "--leader-elect=false", "--secure-port=0", gates)
	component.EndWithParent(cmd)
	require.NoError(w.t, cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func (w *groupsWorld) node(name, cpu, rack string) {
	n := &corev1.Node{ObjectMeta: controllertest.Name("", name)}
	n.Labels = map[string]string{"rack": rack}
	if name == "a" {
		n.Labels["row"] = "1"
	}
	controllertest.Create(w.c, n)
	controllertest.UpdateStatus(w.c, "", name, func(n *corev1.Node) {
		n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	})
	controllertest.Update(w.c, "", name, func(n *corev1.Node) { n.Spec.Taints = nil })
}

func (w *groupsWorld) pod(name, group, cpu, class string) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
	p.Spec.PriorityClassName = class
	if group != "" {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	controllertest.Create(w.c, p)
}

func (w *groupsWorld) pods(group string, n int, class string) {
	for i := range n {
		w.pod(fmt.Sprint(group, "-", i), group, "1", class)
	}
}

func (w *groupsWorld) group(name string, minCount int32, key string) {
	g := &schedulingv1alpha2.PodGroup{ObjectMeta: controllertest.Name("default", name)}
	if minCount > 0 {
		g.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: minCount}
	} else {
		g.Spec.SchedulingPolicy.Basic = &schedulingv1alpha2.BasicSchedulingPolicy{}
	}
	if key != "" {
		g.Spec.SchedulingConstraints = &schedulingv1alpha2.PodGroupSchedulingConstraints{Topology: []schedulingv1alpha2.TopologyConstraint{{Key: key}}}
	}
	controllertest.Create(w.c, g)
}

func (w *groupsWorld) end(names ...string) {
	for _, name := range names {
		controllertest.Delete[*corev1.Pod](w.c, "default", name, client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	}
}

// claims is what kube-scheduler says of pods without claims too when they fit nowhere.
const claims = "no new claims to deallocate, "

// state is what the cluster shows of pods and groups. Which of the pods of a group is tried last is chance in
// kube-scheduler, so they are named alike.
func (w *groupsWorld) state() (out []string) {
	for _, p := range controllertest.List[*corev1.Pod](w.c, "default") {
		name, _, _ := strings.Cut(p.Name, "-")
		line := "pod " + name
		if p.Spec.NodeName != "" {
			line += " bound"
		}
		if p.Status.NominatedNodeName != "" && p.Spec.NodeName == "" {
			line += " nominated"
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse || c.Type == corev1.DisruptionTarget {
				line += fmt.Sprintf(" %s=%s %s %q", c.Type, c.Status, c.Reason, strings.Replace(c.Message, claims, "", 1))
			}
		}
		out = append(out, line)
	}
	for _, g := range controllertest.List[*schedulingv1alpha2.PodGroup](w.c, "default") {
		line := "group " + g.Name
		for _, c := range g.Status.Conditions {
			line += fmt.Sprintf(" %s=%s %s %q", c.Type, c.Status, c.Reason, c.Message)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// settle notes what the cluster shows when that has been the same for a while; a group is tried again within
// ten seconds.
func (w *groupsWorld) settle(step string) {
	last, since := w.state(), time.Now()
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for time.Since(since) < 12*time.Second {
		<-ticks.C
		if now := w.state(); !slices.Equal(now, last) {
			last, since = now, time.Now()
		}
	}
	w.log = append(w.log, "-- "+step)
	w.log = append(w.log, last...)
}

// walk is what both schedulers are given.
func (w *groupsWorld) walk() {
	for name, v := range map[string]int32{"low": -10, "high": 10} {
		controllertest.Create(w.c, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: v})
	}
	w.node("a", "3", "r1")
	w.pods("early", 2, "")
	w.settle("no PodGroup")
	w.group("early", 3, "")
	w.settle("too few pods")
	w.pod("early-2", "early", "1", "")
	w.settle("complete")
	w.end("early-0", "early-1", "early-2")
	w.pods("g", 4, "")
	w.group("g", 4, "")
	w.settle("four for three places")
	w.pod("single", "", "2", "")
	w.settle("the places are free for others")
	w.node("b", "4", "r2")
	w.settle("room")
	w.pod("g-4", "g", "1", "")
	w.settle("one too many")
	w.end("single", "g-0", "g-1", "g-2", "g-3", "g-4")
	w.group("basic", 0, "")
	w.pods("basic", 8, "")
	w.settle("no gang")
	w.end(slices.Collect(func(yield func(string) bool) {
		for i := range 8 {
			yield(fmt.Sprint("basic-", i))
		}
	})...)
	w.pods("rack", 4, "")
	w.group("rack", 4, "rack")
	w.settle("one domain has room")
	// Of several domains kube-scheduler says why one of them has no room, now this one and now that.
	w.pods("row", 4, "")
	w.group("row", 4, "row")
	w.settle("no domain has room")
	w.group("unlabelled", 1, "nowhere")
	w.pods("unlabelled", 1, "")
	w.settle("no domain")
}

// walkBeside runs kube-scheduler and this scheduler with gates, does the same with both at a time, and
// returns the two worlds, kube-scheduler's first.
func walkBeside(t *testing.T, gates string, walk func(*groupsWorld)) []*groupsWorld {
	worlds := []*groupsWorld{newGroupsWorld(t), newGroupsWorld(t)}
	gates = "--feature-gates=" + gates
	worlds[0].upstream(seeds.Peer(t, "kube-scheduler"), gates)
	worlds[1].ours(gates)
	var walks sync.WaitGroup
	for _, w := range worlds {
		walks.Go(func() { walk(w) })
	}
	walks.Wait()
	return worlds
}

// TestGroupsBeside runs kube-scheduler and this scheduler with the features for groups through one walk: at
// every step the same pods must be bound, and conditions must be the same to the letter.
func TestGroupsBeside(t *testing.T) {
	worlds := walkBeside(t, "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true", (*groupsWorld).walk)
	for i := range min(len(worlds[0].log), len(worlds[1].log)) {
		if worlds[0].log[i] != worlds[1].log[i] {
			t.Errorf("%s\nkube-scheduler: %s\nthis scheduler: %s", worlds[0].log[cmp.Or(i, 1)-1], worlds[0].log[i], worlds[1].log[i])
		}
	}
	require.Len(t, worlds[1].log, len(worlds[0].log))
}

// priority creates a group of a priority class, with its pods.
func (w *groupsWorld) priority(name string, minCount int32, class string, mode schedulingv1alpha2.DisruptionMode) {
	g := &schedulingv1alpha2.PodGroup{ObjectMeta: controllertest.Name("default", name)}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: minCount}
	g.Spec.PriorityClassName, g.Spec.DisruptionMode = class, &mode
	controllertest.Create(w.c, g)
	w.pods(name, int(minCount), "")
}

// TestGroupPreemptionBeside runs both with WorkloadAwarePreemption: groups preempt by their own priority, and
// are ended as their mode of disruption says. Pods end without kubelets, as soon as they are to.
func TestGroupPreemptionBeside(t *testing.T) {
	worlds := walkBeside(t, "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true", (*groupsWorld).preempt)
	require.Equal(t, strings.Join(worlds[0].log, "\n"), strings.Join(worlds[1].log, "\n"))
}

func (w *groupsWorld) preempt() {
	for name, v := range map[string]int32{"low": -10, "middle": 5, "high": 10} {
		controllertest.Create(w.c, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: v})
	}
	w.node("a", "4", "r1")
	const together, singly = schedulingv1alpha2.DisruptionModePodGroup, schedulingv1alpha2.DisruptionModePod
	step := func(name string) {
		w.settle(name)
		for _, p := range controllertest.List[*corev1.Pod](w.c, "default") {
			if p.DeletionTimestamp != nil {
				w.end(p.Name)
			}
		}
		w.settle(name + ", when victims are gone")
	}
	w.priority("whole", 2, "low", together)
	step("room")
	w.priority("middle", 2, "middle", together)
	step("room too")
	w.priority("same", 1, "low", singly)
	step("of the same priority")
	w.end("same-0")
	w.priority("one", 1, "high", together)
	step("of a higher one")
	w.priority("two", 2, "high", singly)
	step("two of a higher one")
	w.priority("three", 3, "high", together)
	step("pods that are disrupted singly")
}
