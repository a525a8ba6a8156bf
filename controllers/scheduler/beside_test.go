package scheduler_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// besideWorld is what .ci/upstream/decisions reads.
type besideWorld struct {
	Nodes       []*corev1.Node
	Placed      []*corev1.Pod
	Namespaces  []*corev1.Namespace
	Services    []*corev1.Service
	ReplicaSets []*appsv1.ReplicaSet
	Claims      []*corev1.PersistentVolumeClaim
	Volumes     []*corev1.PersistentVolume
	Classes     []*storagev1.StorageClass
	CSINodes    []*storagev1.CSINode
	CSIDrivers  []*storagev1.CSIDriver
	Capacities  []*storagev1.CSIStorageCapacity
	Devices     []*resourcev1.ResourceClaim
	Slices      []*resourcev1.ResourceSlice
	DeviceTypes []*resourcev1.DeviceClass
	Pods        []*corev1.Pod
}

type besideAnswer struct {
	Code, Plugin string
	Reasons      []string
}

// besideDecision is its answer about a pod.
type besideDecision struct {
	Refused *besideAnswer
	Only    []string
	Nodes   map[string]besideAnswer
	Scores  map[string]map[string]int64
	Totals  map[string]int64
	Devices map[string]map[string]*resourcev1.AllocationResult
	Error   string
}

// newBesideWorld makes a random cluster and pods.
func newBesideWorld(seed uint64) *besideWorld {
	w, b := newWorld(seed), &besideWorld{}
	nodes := map[string]*corev1.Node{}
	for range 2 + w.IntN(8) {
		n := w.node()
		nodes[n.Name] = n
		if w.seldom(4) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule})
		}
		if w.seldom(6) {
			n.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		b.Nodes = append(b.Nodes, nodes[name])
		if w.seldom(2) {
			b.CSINodes = append(b.CSINodes, limits(name, int32(w.IntN(3))))
		}
	}
	for _, name := range []string{"default", "other"} {
		b.Namespaces = append(b.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": w.one("x", "y")}}})
	}
	if w.seldom(2) {
		b.Services = append(b.Services, service("s", w.one("web", "db")))
	}
	if w.often(3) {
		b.ReplicaSets = append(b.ReplicaSets, replicaSet("web", w.one("web", "db")))
	}
	w.besideStorage(b)
	pods := func(n int) (out []*corev1.Pod) {
		for range n {
			out = append(out, w.besidePod(b))
		}
		return out
	}
	b.Placed = pods(w.IntN(14))
	for _, p := range b.Placed {
		p.Spec.NodeName = b.Nodes[w.IntN(len(b.Nodes))].Name
		w.resize(p)
	}
	b.Pods = pods(6)
	return b
}

// besideStorage adds classes, claims and volumes.
func (w *world) besideStorage(b *besideWorld) {
	b.Classes = []*storagev1.StorageClass{storageClass("static", volumematch.NoProvisioner), storageClass("made", "driver", func(c *storagev1.StorageClass) {
		if w.seldom(3) {
			c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{w.one("a", "b")}}}}}
		}
	})}
	for i := range w.IntN(5) {
		v := volume(fmt.Sprint("v", i), w.one("static", "made"), 1+w.IntN(4))
		switch w.IntN(3) {
		case 0:
			reachedBy(hostname, fmt.Sprint("n", w.IntN(7)))(v)
		case 1:
			reachedBy(corev1.LabelTopologyZone, w.one("a", "b", "c"))(v)
		}
		if w.seldom(4) {
			v.Labels = map[string]string{corev1.LabelTopologyZone: w.one("a", "b", "a__c")}
		}
		b.Volumes = append(b.Volumes, v)
	}
	for i := range 6 {
		c := claim(fmt.Sprint("c", i), w.one("static", "made", "immediate"), 1+w.IntN(4))
		if w.seldom(5) {
			onlyOne(c)
		}
		if i < len(b.Volumes) && w.seldom(2) {
			v := b.Volumes[i]
			boundTo(v.Name)(c)
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: c.Namespace, Name: c.Name, UID: c.UID}
			v.Status.Phase = corev1.VolumeBound
		} else if w.seldom(10) {
			boundTo("gone")(c)
		}
		b.Claims = append(b.Claims, c)
	}
}

func (w *world) besidePod(b *besideWorld) *corev1.Pod {
	p := w.pod()
	mergeLabelKeys(p)
	if p.Namespace == "default" && w.seldom(3) {
		uses(fmt.Sprint("c", w.IntN(7)))(p)
	}
	if w.seldom(10) {
		gce(w.one("d", "e"), w.seldom(2))(p)
	}
	if w.seldom(15) {
		p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
	}
	return p
}

// mergeLabelKeys adds the labels that the matchLabelKeys of a pod's affinity name to the selectors, as the
// API server does when the pod is created: kube-scheduler relies on that.
func mergeLabelKeys(p *corev1.Pod) {
	if p.Spec.Affinity == nil {
		return
	}
	var terms []*corev1.PodAffinityTerm
	collect := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			terms = append(terms, &required[i])
		}
		for i := range preferred {
			terms = append(terms, &preferred[i].PodAffinityTerm)
		}
	}
	if a := p.Spec.Affinity.PodAffinity; a != nil {
		collect(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := p.Spec.Affinity.PodAntiAffinity; a != nil {
		collect(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, t := range terms {
		for _, key := range t.MatchLabelKeys {
			t.LabelSelector.MatchExpressions = append(t.LabelSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{p.Labels[key]}})
		}
	}
}

// cluster is the world as ours has it.
func (b *besideWorld) cluster() *scheduler.Cluster {
	c := scheduler.NewCluster(nil)
	for _, n := range b.Namespaces {
		c.SetNamespace(n.Name, n.Labels)
	}
	add(c, b.Nodes)
	add(c, b.Services)
	add(c, b.ReplicaSets)
	add(c, b.Claims)
	add(c, b.Volumes)
	add(c, b.Classes)
	add(c, b.CSINodes)
	add(c, b.CSIDrivers)
	add(c, b.Capacities)
	add(c, b.Devices)
	add(c, b.Slices)
	add(c, b.DeviceTypes)
	add(c, b.Placed)
	return c
}

func add[T metav1.Object](c *scheduler.Cluster, list []T) {
	for _, o := range list {
		with(c, o)
	}
}

// compare says in what an explanation differs from the answer of upstream.
func (d *besideDecision) compare(x *scheduler.Explanation) (wrong []string) {
	differ := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if d.Refused != nil {
		if x.Failed == nil || x.Failed.Plugin != d.Refused.Plugin || !slices.Equal(x.Failed.Reasons, d.Refused.Reasons) {
			differ("upstream refuses all nodes: %+v; ours: %+v", *d.Refused, x.Failed)
		}
		return wrong
	}
	if x.Failed != nil {
		differ("ours fails: %+v", x.Failed)
		return wrong
	}
	for _, r := range x.Refused {
		a, ok := d.Nodes[r.Node]
		switch {
		case d.Only != nil && !slices.Contains(d.Only, r.Node):
		case !ok:
			differ("only ours refuses %s: %+v", r.Node, *r.Status)
		case a.Plugin != r.Status.Plugin || !slices.Equal(a.Reasons, r.Status.Reasons) || (a.Code == "Unschedulable") != (r.Status.Code == scheduler.Unschedulable):
			differ("%s: upstream %+v, ours %+v", r.Node, a, *r.Status)
		}
	}
	if len(d.Totals) != len(x.Feasible) {
		differ("feasible: upstream %v, ours %v", slices.Sorted(maps.Keys(d.Totals)), x.Feasible)
		return wrong
	}
	for i, f := range x.Feasible {
		ours := map[string]int64{}
		for _, s := range x.Scores {
			ours[s.Plugin] = s.Normalized[i] * s.Weight
		}
		for plugin, score := range d.Scores[f.Node] {
			if ours[plugin] != score {
				differ("%s of %s: upstream %d, ours %d", plugin, f.Node, score, ours[plugin])
			}
		}
		if f.Score != d.Totals[f.Node] {
			differ("total of %s: upstream %d, ours %d", f.Node, d.Totals[f.Node], f.Score)
		}
	}
	return wrong
}

// Random clusters beside the framework and the default plugins of kube-scheduler 1.36.3: which nodes are
// feasible, who refuses the others and why, and what each plugin scores.
func TestDecisionsBeside(t *testing.T) {
	decide := seeds.Beside[*besideWorld, []besideDecision](t, "scheduler-decisions")
	failed, pods := 0, 0
	for _, seed := range seeds.Of(t, 300) {
		w := newBesideWorld(seed)
		all := decide(w)
		c := w.cluster()
		for i := range all {
			pods++
			require.Empty(t, all[i].Error, "seed %d", seed)
			x := c.Explain(scheduler.Default(), w.Pods[i], true)
			for _, text := range all[i].compare(&x) {
				failed++
				t.Errorf("seed %d, pod %d: %s", seed, i, text)
			}
			if failed > 20 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d pods", pods)
}
