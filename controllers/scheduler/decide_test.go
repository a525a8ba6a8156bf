package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

func amounts(cpu, memory, pods string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, v := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory, corev1.ResourcePods: pods} {
		if v != "" {
			out[name] = resource.MustParse(v)
		}
	}
	return out
}

func node(name string, edit ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}}}
	n.Status.Allocatable = amounts("4", "8Gi", "110")
	for _, e := range edit {
		e(n)
	}
	return n
}

func zone(z string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = z }
}

func taint(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: "v", Effect: effect})
	}
}

func pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{}}}
	p.Spec.Containers = []corev1.Container{{Name: "main"}}
	for _, e := range edit {
		e(p)
	}
	return p
}

func requests(cpu, memory string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = amounts(cpu, memory, "") }
}

func app(v string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels["app"] = v } }

func on(n string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = n } }

func hostPort(port int32, ip string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{HostPort: port, ContainerPort: port, HostIP: ip, Protocol: corev1.ProtocolTCP})
	}
}

func term(v, topology string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": v}}, TopologyKey: topology}
}

func near(v, topology string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(v, topology)}}}
	}
}

func apart(v, topology string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(v, topology)}}}
	}
}

func cluster(objs ...metav1.Object) *scheduler.Cluster {
	c := scheduler.NewCluster(nil)
	for _, o := range objs {
		switch o := o.(type) {
		case *corev1.Node:
			c.SetNode(o)
		case *corev1.Pod:
			c.SetPod(o)
		default:
			c.SetObject(o)
		}
	}
	return c
}

// feasible are the nodes that can take the pod.
func feasible(d scheduler.Decision) map[string]bool {
	out := map[string]bool{}
	for _, s := range d.Feasible {
		out[s.Node] = true
	}
	return out
}

func TestFilters(t *testing.T) {
	notIn := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "topology.kubernetes.io/zone", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}}}}}}}}
	}
	named := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}}}}}}}
	}
	for _, v := range []struct {
		name    string
		objs    []metav1.Object
		pod     *corev1.Pod
		fits    []string
		message string
	}{
		{"no nodes", nil, pod("p"), nil, "no nodes available to schedule pods"},
		{"everything fits", []metav1.Object{node("a"), node("b")}, pod("p"), []string{"a", "b"}, ""},
		{"cpu and memory", []metav1.Object{node("a"), node("b"), pod("x", on("a"), requests("3", "1Gi")), pod("y", on("b"), requests("1", "8Gi"))}, pod("p", requests("2", "1Gi")),
			nil, "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."},
		{"number of pods", []metav1.Object{node("a", func(n *corev1.Node) { n.Status.Allocatable = amounts("4", "8Gi", "1") }), pod("x", on("a"))}, pod("p"), nil, "0/1 nodes are available: 1 Too many pods."},
		{"pods that ended take no room", []metav1.Object{node("a"), pod("x", on("a"), requests("4", "1Gi"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })}, pod("p", requests("4", "1Gi")), []string{"a"}, ""},
		{"node selector", []metav1.Object{node("a", zone("a")), node("b", zone("b"))}, pod("p", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "b"} }), []string{"b"}, ""},
		{"no node selected", []metav1.Object{node("a")}, pod("p", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"x": "y"} }), nil, "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."},
		{"node affinity", []metav1.Object{node("a", zone("a")), node("b", zone("b")), node("c")}, pod("p", notIn), []string{"b", "c"}, ""},
		{"node affinity by name", []metav1.Object{node("a"), node("b")}, pod("p", named), []string{"b"}, ""},
		{"taints", []metav1.Object{node("a", taint("k", corev1.TaintEffectNoSchedule)), node("b", taint("k", corev1.TaintEffectPreferNoSchedule)), node("c", taint("k", corev1.TaintEffectNoExecute))}, pod("p"), []string{"b"}, ""},
		{"tolerations", []metav1.Object{node("a", taint("k", corev1.TaintEffectNoSchedule)), node("b", taint("l", corev1.TaintEffectNoSchedule))},
			pod("p", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Value: "v"}} }), []string{"a"}, ""},
		{"cordoned", []metav1.Object{node("a", func(n *corev1.Node) { n.Spec.Unschedulable = true })}, pod("p"), nil, "0/1 nodes are available: 1 node(s) were unschedulable."},
		{"host ports", []metav1.Object{node("a"), node("b"), pod("x", on("a"), hostPort(80, ""))}, pod("p", hostPort(80, "")), []string{"b"}, ""},
		{"host ports of other addresses", []metav1.Object{node("a"), pod("x", on("a"), hostPort(80, "10.0.0.1"))}, pod("p", hostPort(80, "10.0.0.2")), []string{"a"}, ""},
		{"a host port of all addresses", []metav1.Object{node("a"), pod("x", on("a"), hostPort(80, "10.0.0.1"))}, pod("p", hostPort(80, "")), nil, "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."},
		{"affinity", []metav1.Object{node("a", zone("a")), node("b", zone("a")), node("c", zone("c")), pod("x", on("a"), app("db"))}, pod("p", near("db", corev1.LabelTopologyZone)), []string{"a", "b"}, ""},
		{"affinity to nobody", []metav1.Object{node("a", zone("a"))}, pod("p", near("db", corev1.LabelTopologyZone)), nil, "0/1 nodes are available: 1 node(s) didn't match pod affinity rules."},
		{"affinity to itself", []metav1.Object{node("a", zone("a")), node("b")}, pod("p", app("db"), near("db", corev1.LabelTopologyZone)), []string{"a"}, ""},
		{"anti-affinity", []metav1.Object{node("a"), node("b"), pod("x", on("a"), app("db"))}, pod("p", apart("db", "kubernetes.io/hostname")), []string{"b"}, ""},
		{"anti-affinity of those there", []metav1.Object{node("a"), node("b"), pod("x", on("a"), apart("web", "kubernetes.io/hostname"))}, pod("p", app("web")), []string{"b"}, ""},
	} {
		t.Run(v.name, func(t *testing.T) {
			d := cluster(v.objs...).Schedule(v.pod)
			want := map[string]bool{}
			for _, n := range v.fits {
				want[n] = true
			}
			require.Equal(t, want, feasible(d))
			if len(v.fits) == 0 {
				require.Empty(t, d.Node)
				require.Equal(t, v.message, d.Message())
			} else {
				require.Contains(t, want, d.Node)
			}
		})
	}
}

func TestRequestsOfInitContainersAndSidecars(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := pod("p", requests("1", "1Gi"), func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{
			{Name: "side", RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: amounts("1", "", "")}},
			{Name: "init", Resources: corev1.ResourceRequirements{Requests: amounts("2", "", "")}},
		}
		p.Spec.Overhead = amounts("500m", "", "")
	})
	// The init container beside the sidecar (3) is more than the main one beside it (2); plus overhead.
	fits := func(cpu string) bool {
		return cluster(node("a", func(n *corev1.Node) { n.Status.Allocatable = amounts(cpu, "8Gi", "10") })).Schedule(p).Node != ""
	}
	require.True(t, fits("3500m"))
	require.False(t, fits("3499m"))
}

func TestSpread(t *testing.T) {
	spread := func(skew int32, when corev1.UnsatisfiableConstraintAction) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: skew, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: when,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
		}
	}
	objs := []metav1.Object{node("a", zone("a")), node("b", zone("b")), node("c"), pod("x", on("a"), app("web")), pod("y", on("a"), app("web")), pod("z", on("b"), app("web"))}
	require.Equal(t, map[string]bool{"b": true}, feasible(cluster(objs...).Schedule(pod("p", app("web"), spread(1, corev1.DoNotSchedule)))))
	require.Equal(t, map[string]bool{"a": true, "b": true}, feasible(cluster(objs...).Schedule(pod("p", app("web"), spread(2, corev1.DoNotSchedule)))))
	d := cluster(objs...).Schedule(pod("p", app("web"), spread(1, corev1.ScheduleAnyway)))
	require.Len(t, d.Feasible, 3)
	require.Equal(t, "b", d.Node, "%v", d.Feasible)
}

// Preferences decide among feasible nodes.
func TestScores(t *testing.T) {
	prefer := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}}}}}}}
	}
	likes := func(v string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: term(v, "kubernetes.io/hostname")}}}}
		}
	}
	for name, v := range map[string]struct {
		objs []metav1.Object
		pod  *corev1.Pod
	}{
		"the emptier node":     {[]metav1.Object{node("a"), node("b"), pod("x", on("a"), requests("2", "4Gi"))}, pod("p", requests("1", "2Gi"))},
		"the untainted node":   {[]metav1.Object{node("a", taint("k", corev1.TaintEffectPreferNoSchedule)), node("b")}, pod("p")},
		"the preferred zone":   {[]metav1.Object{node("a", zone("a")), node("b", zone("b"))}, pod("p", prefer)},
		"the node of a friend": {[]metav1.Object{node("a"), node("b"), pod("x", on("b"), app("db"))}, pod("p", likes("db"))},
		"the node with image": {[]metav1.Object{node("a"), node("b", func(n *corev1.Node) {
			n.Status.Images = []corev1.ContainerImage{{Names: []string{"big:1"}, SizeBytes: 2000 << 20}}
		})}, pod("p", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "big:1" })},
		"the node without kins":      {[]metav1.Object{node("a"), node("b"), replicaSet("web", "web"), pod("x", on("a"), app("web"), owned)}, pod("p", app("web"), owned)},
		"the node without endpoints": {[]metav1.Object{node("a"), node("b"), service("s", "web"), pod("x", on("a"), app("web"))}, pod("p", app("web"))},
	} {
		t.Run(name, func(t *testing.T) {
			d := cluster(v.objs...).Schedule(v.pod)
			require.Equal(t, "b", d.Node, "%v", d.Feasible)
		})
	}
}

func replicaSet(name, app string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	return rs
}

func service(name, app string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	s.Spec.Selector = map[string]string{"app": app}
	return s
}

func owned(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}}
}

// modelNode is a node of the model of [TestHistories], which adds up by hand.
type modelNode struct {
	cpu, pods, free int64
	port            bool
	zone            string
	hard            bool
	web             int
	noWeb           int
}

// takes reports whether the node has room for a pod and is allowed for it.
func (n *modelNode) takes(p *randomPod) bool {
	return milliCPU(p.Pod) <= n.free && n.pods > 0 && !(p.port && n.port) && (p.tolerant || !n.hard) && !(p.shy && n.web > 0) && !(p.web && n.noWeb > 0)
}

func (n *modelNode) add(p *randomPod) {
	n.free -= milliCPU(p.Pod)
	n.pods--
	n.port = n.port || p.port
	if p.web {
		n.web++
	}
	if p.shy {
		n.noWeb++
	}
}

func (n *modelNode) remove(p *randomPod) {
	n.free += milliCPU(p.Pod)
	n.pods++
	if p.port {
		n.port = false
	}
	if p.web {
		n.web--
	}
	if p.shy {
		n.noWeb--
	}
}

func randomNodes(r *rand.Rand, c *scheduler.Cluster) map[string]*modelNode {
	nodes := map[string]*modelNode{}
	for i := range 2 + r.IntN(6) {
		name := "n" + strconv.Itoa(i)
		s := &modelNode{cpu: int64(1 + r.IntN(8)), pods: int64(1 + r.IntN(6)), zone: string(rune('a' + r.IntN(3))), hard: r.IntN(5) == 0}
		s.free = s.cpu * 1000
		nodes[name] = s
		n := node(name, zone(s.zone), func(n *corev1.Node) {
			n.Status.Allocatable = amounts(fmt.Sprint(s.cpu), "100Gi", fmt.Sprint(s.pods))
		})
		if s.hard {
			taint("k", corev1.TaintEffectNoSchedule)(n)
		}
		c.SetNode(n)
	}
	return nodes
}

// randomPod is a pod with what the model must know of it.
type randomPod struct {
	*corev1.Pod
	port, tolerant bool // it has a host port, it tolerates all taints
	web, shy       bool // it is of the app web, it avoids nodes of that app
}

func newRandomPod(r *rand.Rand, name string) *randomPod {
	p := &randomPod{Pod: pod(name, requests(fmt.Sprintf("%dm", r.IntN(3000)), "1Mi"))}
	p.port, p.tolerant, p.web, p.shy = r.IntN(4) == 0, r.IntN(3) == 0, r.IntN(3) == 0, r.IntN(6) == 0
	if p.port {
		hostPort(80, "")(p.Pod)
	}
	if p.tolerant {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	if p.web {
		app("web")(p.Pod)
	}
	if p.shy {
		apart("web", "kubernetes.io/hostname")(p.Pod)
	}
	return p
}

// Random pods on random nodes, against a model.
func TestHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 200) {
		r := seeds.Rand(seed)
		c := scheduler.NewCluster(r.IntN)
		nodes := randomNodes(r, c)
		var placed []*randomPod
		for i := range 60 {
			if len(placed) > 0 && r.IntN(4) == 0 {
				n := r.IntN(len(placed))
				p := placed[n]
				nodes[p.Spec.NodeName].remove(p)
				c.RemovePod(p.UID)
				placed = slices.Delete(placed, n, n+1)
				continue
			}
			p := newRandomPod(r, "p"+strconv.Itoa(i))
			want := map[string]bool{}
			for name, n := range nodes {
				if n.takes(p) {
					want[name] = true
				}
			}
			d := c.Schedule(p.Pod)
			require.Equal(t, want, feasible(d), "seed %d, pod %d: %s", seed, i, d.Message())
			if d.Node == "" {
				continue
			}
			p.Spec.NodeName = d.Node
			c.SetPod(p.Pod)
			placed = append(placed, p)
			nodes[d.Node].add(p)
		}
	}
}

func milliCPU(p *corev1.Pod) int64 {
	q := p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
	return q.MilliValue()
}
