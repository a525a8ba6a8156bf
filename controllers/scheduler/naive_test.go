package scheduler_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/controllers/scheduler/internal/naive"
)

// usual is the default profile.
var usual = scheduler.Default()

// world makes random objects and gives them to both schedulers.
type world struct {
	*rand.Rand
	fast  *scheduler.Cluster
	naive *naive.Cluster
	nodes map[string]bool
	pods  []*corev1.Pod // on nodes
	// plain leaves out what makes pods look at each other.
	plain bool
	n     int
}

// state is what can change in a cluster; both have it.
type state interface {
	SetNode(*corev1.Node)
	RemoveNode(string)
	SetPod(*corev1.Pod)
	RemovePod(types.UID)
	SetNamespace(string, map[string]string)
	SetBudget(*policyv1.PodDisruptionBudget)
	RemoveBudget(types.NamespacedName)
	SetObject(metav1.Object) bool
	RemoveObject(metav1.Object) bool
}

func newWorld(seed uint64) *world {
	w := &world{Rand: seeds.Rand(seed), nodes: map[string]bool{}}
	last := func(n int) int { return n - 1 }
	w.fast, w.naive = scheduler.NewCluster(last), naive.NewCluster(last)
	return w
}

func (w *world) one(of ...string) string { return of[w.IntN(len(of))] }
func (w *world) often(n int) bool        { return w.IntN(n) > 0 }
func (w *world) seldom(n int) bool       { return w.IntN(n) == 0 }

func (w *world) node() *corev1.Node {
	n := node(w.one("n0", "n1", "n2", "n3", "n4", "n5", "n6"))
	n.Status.Allocatable = amounts(fmt.Sprint(1+w.IntN(6)), fmt.Sprintf("%dGi", 1+w.IntN(6)), fmt.Sprint(2+w.IntN(8)))
	if w.seldom(3) {
		n.Status.Allocatable["example.com/gpu"] = resource.MustParse(fmt.Sprint(w.IntN(4)))
	}
	if w.often(4) {
		zone(w.one("a", "b", "c"))(n)
	}
	if w.seldom(4) {
		n.Labels["disk"] = w.one("ssd", "hdd")
	}
	if w.seldom(6) {
		taint("k", corev1.TaintEffect(w.one("NoSchedule", "PreferNoSchedule", "NoExecute")))(n)
	}
	n.Spec.Unschedulable = w.seldom(12)
	for _, name := range []string{"web:1", "db:latest", "reg:5000/big:latest"} {
		if w.seldom(3) {
			n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{name}, SizeBytes: int64(w.IntN(900)) << 20})
		}
	}
	return n
}

func (w *world) term() corev1.PodAffinityTerm {
	t := term(w.one("web", "db", "cache"), w.one("kubernetes.io/hostname", corev1.LabelTopologyZone, "disk"))
	switch w.IntN(5) {
	case 0:
		t.Namespaces = []string{w.one("default", "other")}
	case 1:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": w.one("x", "y")}}
	case 2:
		t.MatchLabelKeys = []string{"version"}
	}
	return t
}

func (w *world) affinity(p *corev1.Pod) {
	a := &corev1.Affinity{}
	if w.seldom(3) {
		a.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{w.term()}}
		if w.seldom(3) {
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, w.term())
		}
	} else if w.seldom(2) {
		a.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: int32(1 + w.IntN(100)), PodAffinityTerm: w.term()}}}
	}
	if w.seldom(3) {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{w.term()}}
	} else if w.seldom(2) {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: int32(1 + w.IntN(100)), PodAffinityTerm: w.term()}}}
	}
	if w.seldom(4) {
		req := corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpNotIn, Values: []string{w.one("a", "b")}}
		t := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{req}}
		if w.seldom(3) {
			t = corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{w.one("n0", "n1", "n2")}}}}
		}
		a.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{t}}}
	}
	if w.seldom(4) {
		if a.NodeAffinity == nil {
			a.NodeAffinity = &corev1.NodeAffinity{}
		}
		a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: int32(1 + w.IntN(100)), Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}}}}}
	}
	p.Spec.Affinity = a
}

func (w *world) spread(p *corev1.Pod) {
	for range 1 + w.IntN(2) {
		c := corev1.TopologySpreadConstraint{MaxSkew: int32(1 + w.IntN(3)), TopologyKey: w.one("kubernetes.io/hostname", corev1.LabelTopologyZone, "disk"),
			WhenUnsatisfiable: corev1.UnsatisfiableConstraintAction(w.one("DoNotSchedule", "ScheduleAnyway")),
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.one("web", "db")}}}
		if w.seldom(4) && c.WhenUnsatisfiable == corev1.DoNotSchedule {
			c.MinDomains = new(int32(1 + w.IntN(4)))
		}
		if w.seldom(3) {
			c.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore)
		}
		if w.seldom(3) {
			c.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
		}
		if w.seldom(4) {
			c.MatchLabelKeys = []string{"version"}
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

func (w *world) pod() *corev1.Pod {
	p := w.anyPod()
	if w.plain {
		p.Spec.Affinity, p.Spec.TopologySpreadConstraints = nil, nil
	}
	return p
}

func (w *world) anyPod() *corev1.Pod {
	w.n++
	p := pod(fmt.Sprintf("p%d", w.n), app(w.one("web", "db", "cache")), priority(int32(w.IntN(4))))
	p.Namespace = w.one("default", "default", "other")
	p.Labels["version"] = w.one("1", "2")
	if w.often(4) {
		requests(fmt.Sprintf("%dm", w.IntN(2500)), fmt.Sprintf("%dMi", w.IntN(2500)))(p)
	}
	if w.seldom(5) {
		p.Spec.Containers[0].Resources.Requests = amounts("100m", "", "")
		p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	}
	p.Spec.Containers[0].Image = w.one("web:1", "db", "reg:5000/big", "none")
	if w.seldom(4) {
		hostPort(int32(80+w.IntN(2)), w.one("", "10.0.0.1"))(p)
	}
	if w.seldom(3) {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	if w.seldom(8) {
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: w.one("a", "b")}
	}
	if w.seldom(2) {
		w.affinity(p)
	}
	if w.seldom(3) {
		w.spread(p)
	} else if w.seldom(2) {
		owned(p)
	}
	if w.seldom(20) {
		p.Spec.PreemptionPolicy = new(corev1.PreemptNever)
	}
	w.weigh(p)
	return p
}

// weigh gives a pod requests beyond those of its containers.
func (w *world) weigh(p *corev1.Pod) {
	if w.seldom(6) {
		p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "web:1"}, {Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		p.Spec.InitContainers[w.IntN(2)].Resources.Requests = amounts("1", "500Mi", "")
		if w.seldom(2) {
			slices.Reverse(p.Spec.InitContainers) // beside the sidecar
		}
	}
	if w.seldom(8) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts(w.one("", "2"), "1Gi", "")}
	}
	if w.seldom(8) {
		p.Spec.Overhead = amounts("100m", "50Mi", "")
	}
}

// resize gives a placed pod the status of a resize.
func (w *world) resize(p *corev1.Pod) {
	if !w.seldom(6) {
		return
	}
	has := &corev1.ResourceRequirements{Requests: amounts(w.one("", "500m", "2"), "1Gi", "")}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: amounts("1", "1Gi", ""), Resources: has}}
	if p.Spec.Resources != nil && w.seldom(2) {
		p.Status.Resources, p.Status.AllocatedResources = has, amounts("1", "2Gi", "")
	}
	if w.seldom(2) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: w.one("Infeasible", "Deferred")}}
	}
}

// change makes a random change to the states.
func (w *world) change(states ...state) {
	each := func(f func(s state)) {
		for _, s := range states {
			f(s)
		}
	}
	switch w.IntN(10) {
	case 8:
		var obj metav1.Object = replicaSet("web", w.one("web", "db"))
		if w.seldom(2) {
			s := service(w.one("s1", "s2"), w.one("web", "db"))
			if w.seldom(3) {
				s.Spec.Selector["version"] = w.one("1", "2")
			}
			obj = s
		}
		if w.seldom(3) {
			each(func(s state) { s.RemoveObject(obj) })
		} else {
			each(func(s state) { s.SetObject(obj) })
		}
	case 0, 1:
		n := w.node()
		w.nodes[n.Name] = true
		each(func(s state) { s.SetNode(n) })
	case 2:
		name := w.one("n0", "n1", "n2", "n3", "n4", "n5", "n6")
		if w.seldom(3) {
			each(func(s state) { s.RemoveNode(name) })
		}
	case 3, 4:
		if len(w.pods) > 0 {
			i := w.IntN(len(w.pods))
			uid := w.pods[i].UID
			w.pods = slices.Delete(w.pods, i, i+1)
			each(func(s state) { s.RemovePod(uid) })
		}
	case 5:
		if len(w.pods) > 0 {
			i := w.IntN(len(w.pods))
			p := *w.pods[i]
			p.Labels = map[string]string{"app": w.one("web", "db"), "version": "2"}
			if w.seldom(3) {
				p.DeletionTimestamp = &metav1.Time{}
			}
			w.pods[i] = &p
			each(func(s state) { s.SetPod(&p) })
		}
	case 6:
		name, team := w.one("default", "other"), w.one("x", "y")
		each(func(s state) { s.SetNamespace(name, map[string]string{"team": team}) })
	case 7:
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: w.one("b1", "b2")}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.one("web", "db")}}
		b.Status.DisruptionsAllowed = int32(w.IntN(2))
		each(func(s state) { s.SetBudget(b) })
	default:
		p := w.pod()
		p.Spec.NodeName = w.one("n0", "n1", "n2", "n3", "n4", "n5", "n6")
		w.resize(p)
		w.pods = append(w.pods, p)
		each(func(s state) { s.SetPod(p) })
	}
}

// decide compares the decisions about a random pod, and what they preempt for it.
func (w *world) decide(t *testing.T) {
	p := w.pod()
	x := w.fast.Explain(usual, p, false)
	want, got := w.naive.Schedule(p), w.fast.Schedule(p)
	require.Equal(t, got.Node, x.Node, "an explanation is the decision that comes next")
	require.Equal(t, got.Feasible, x.Feasible)
	require.Equal(t, want.Node, got.Node, "%v\n%v", want, got)
	require.Equal(t, want.Feasible == nil, got.Feasible == nil)
	for i, f := range want.Feasible {
		require.Equal(t, f.Node, got.Feasible[i].Node)
		require.Equal(t, f.Score, got.Feasible[i].Score, "%v\n%v", want, got)
	}
	require.Equal(t, want.Nodes, got.Nodes)
	if want.Node == "" {
		require.Equal(t, want.Reasons, got.Reasons)
		before := w.fast.Dump()
		m := w.fast.Mark()
		w.fast.Preempt(p)
		w.fast.Rollback(m)
		require.Equal(t, before, w.fast.Dump())
		node, victims := w.naive.Preempt(p)
		node2, victims2 := w.fast.Preempt(p)
		text, _ := json.Marshal(p)
		require.Equal(t, node, node2, "%s\n%s\n%v %v", text, before, want, names(victims))
		require.Equal(t, names(victims), names(victims2))
		if w.seldom(3) {
			w.naive.RemovePod(p.UID)
			w.fast.RemovePod(p.UID)
		}
		return
	}
	p.Spec.NodeName = want.Node
	w.pods = append(w.pods, p)
	w.naive.SetPod(p)
	w.fast.SetPod(p)
}

func names(pods []*corev1.Pod) (out []string) {
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

// try makes random changes and decisions and takes them back: the state is as it was, to the last count.
func (w *world) try(t *testing.T) {
	before, pods := w.fast.Dump(), slices.Clone(w.pods)
	m := w.fast.Mark()
	for range w.IntN(12) {
		if w.seldom(3) {
			w.fast.Preempt(w.pod())
			continue
		}
		w.change(w.fast)
	}
	w.fast.Rollback(m)
	w.pods = pods
	require.Equal(t, before, w.fast.Dump())
}

// Random states and histories: the scheduler decides as one that looks at everything each time, and forks
// decide as what they were made of.
func TestDecisionsEqualTheNaive(t *testing.T) {
	var current uint64
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", current)
		}
	})
	for _, seed := range seeds.Of(t, 150, 6205020190, 5440697861, 4971323130) {
		current = seed
		w := newWorld(seed)
		for step := range 120 {
			switch {
			case w.seldom(3):
				w.decide(t)
			case w.seldom(12):
				w.try(t)
			case w.seldom(40):
				p := w.pod()
				fork, x := w.fast.Fork(), w.fast.Explain(usual, p, true)
				require.Equal(t, x.Feasible == nil, fork.Schedule(p).Feasible == nil)
				w.naive.RemovePod(p.UID)
			default:
				w.change(w.fast, w.naive)
			}
			if wrong := w.fast.Check(); len(wrong) > 0 || t.Failed() {
				t.Fatalf("seed %d, step %d: %v", seed, step, wrong)
			}
		}
	}
}
