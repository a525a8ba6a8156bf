package scheduler_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// run decides about several pods that are the same, and places them. Now and then something changes between
// two of them, or a pod is placed elsewhere than where it was decided.
func (w *world) run(t *testing.T) {
	first := w.pod()
	for range 2 + w.IntN(8) {
		w.n++
		p := codec.DeepCopy(first)
		p.Name, p.UID = fmt.Sprint("run", w.n), types.UID(fmt.Sprint("run", w.n))
		want, got := w.naive.Schedule(p), w.fast.Schedule(p)
		require.Equal(t, want.Node, got.Node, "%v\n%v", want, got)
		require.Equal(t, want.Nodes, got.Nodes)
		require.Len(t, got.Feasible, len(want.Feasible))
		for i, f := range want.Feasible {
			require.Equal(t, scheduler.Scored(f), got.Feasible[i])
		}
		if want.Node == "" || first.Spec.Affinity == nil {
			require.Equal(t, want.Reasons, got.Reasons)
		}
		if want.Node == "" {
			return
		}
		p.Spec.NodeName = want.Node
		switch w.IntN(12) {
		case 0:
			w.change(w.fast, w.naive)
		case 1:
			p.Spec.NodeName = w.one("n0", "n1", "n2")
		case 2:
			w.try(t)
		}
		w.pods = append(w.pods, p)
		w.naive.SetPod(p)
		w.fast.SetPod(p)
		if w.seldom(3) { // it is seen again, as a bound pod is
			again := *p
			again.ResourceVersion = "2"
			w.naive.SetPod(&again)
			w.fast.SetPod(&again)
			w.pods[len(w.pods)-1] = &again
		}
	}
}

// Pods that are the same are decided about faster, and as if each were decided about from the start.
func TestBatchesDecideAsTheNaive(t *testing.T) {
	batched := 0
	for _, seed := range seeds.Of(t, 100) {
		w := newWorld(seed)
		w.plain = seed%4 > 0
		for i := range 7 {
			n := w.node()
			n.Name, n.Labels[hostname] = fmt.Sprint("n", i), fmt.Sprint("n", i)
			n.Status.Allocatable = amounts(fmt.Sprint(4+w.IntN(12)), fmt.Sprintf("%dGi", 4+w.IntN(12)), "20")
			w.naive.SetNode(n)
			w.fast.SetNode(n)
		}
		for step := range 60 {
			switch {
			case w.seldom(2):
				w.run(t)
			case w.seldom(6):
				w.decide(t)
			default:
				w.change(w.fast, w.naive)
			}
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
		batched += w.fast.Batched()
	}
	require.Greater(t, batched, 1000, "batches are rare")
}

// identical are pods that are the same.
func identical(n int, cpu string) (out []*scheduler.Pod) {
	for i := range n {
		out = append(out, scheduler.NewPod(pod(fmt.Sprint("p", i), requests(cpu, "1Mi"))))
	}
	return out
}

func largeCluster(nodes int) *scheduler.Cluster {
	c := scheduler.NewCluster(nil)
	for i := range nodes {
		n := node(fmt.Sprintf("n%05d", i), zone(fmt.Sprint(i%3)))
		n.Status.Allocatable = amounts("64", "256Gi", "110")
		c.SetNode(n)
	}
	return c
}

// In a large cluster, of which each search sees a part, equal pods are spread as without batches: no node has
// two more than another.
func TestBatchesInLargeClustersSpread(t *testing.T) {
	c := largeCluster(300)
	on := map[string]int{}
	for _, p := range identical(900, "8") {
		node := c.Select(scheduler.Default(), p)
		require.NotEmpty(t, node)
		c.Place(p, node)
		on[node]++
	}
	require.Len(t, on, 300)
	for name, n := range on {
		require.InDelta(t, 3, n, 1, name)
	}
}

// A decision in a batch allocates nothing.
func TestBatchesAllocateNothing(t *testing.T) {
	c := largeCluster(200)
	profile, pods := scheduler.Default(), identical(1001, "100m")
	i := 0
	c.Place(pods[0], c.Select(profile, pods[0]))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		i++
		c.Select(profile, pods[i])
		c.Follow()
	}))
}

// crowd is a plugin of another package: what it says depends on an annotation of the pod, which it signs, and
// on how many pods the node has. It gives up on pods that are odd, and cannot sign those that are rare.
type crowd struct{}

func (crowd) Name() string { return "Crowd" }

func (crowd) Sign(p *scheduler.Pod, signature []byte) []byte {
	kind := p.Object().Annotations["kind"]
	if kind == "rare" {
		return nil
	}
	return append(signature, kind...)
}

func (crowd) PreFilter(cy *scheduler.Cycle) (scheduler.NodeFilter, *scheduler.Status) {
	return crowdFor{cy.Pod().Object().Annotations["kind"]}, nil
}

func (crowd) Score(p *scheduler.Pod, n *scheduler.Node) int64 {
	return crowdFor{p.Object().Annotations["kind"]}.score(pods(n))
}

type crowdFor struct{ kind string }

func (f crowdFor) Filter(n *scheduler.Node) *scheduler.Status {
	if f.kind == "few" && pods(n) > 3 {
		return scheduler.NewStatus(scheduler.Unschedulable, "too many")
	}
	return nil
}

func (f crowdFor) score(pods int64) int64 {
	switch {
	case f.kind == "odd" && pods == 4:
		panic("four is odd")
	case f.kind == "odd" && pods == 6:
		return 1000
	case f.kind == "pack":
		return 5 * pods
	}
	return 100 - 5*pods
}

func pods(n *scheduler.Node) (count int64) {
	for range n.Pods {
		count++
	}
	return count
}

// silent is crowd without signatures.
type silent struct{ crowd }

func (silent) Sign() {}

// Plugins of others take part in batches if they sign pods: the decisions are those that are made from the
// start, also about pods that differ in nothing but what such a plugin signs.
func TestBatchesWithPluginsOfOthers(t *testing.T) {
	hits := map[string]int{}
	for _, seed := range seeds.Of(t, 40) {
		for _, plugin := range []scheduler.Plugin{crowd{}, silent{}} {
			r := seeds.Rand(seed)
			profile, batches, alone := scheduler.Default().With(plugin, 5), largeCluster(12), largeCluster(12)
			alone.Unbatch(true)
			kind := "few"
			for i := range 150 {
				if r.IntN(6) == 0 {
					kind = []string{"few", "pack", "spread", "odd", "rare"}[r.IntN(5)]
				}
				p := pod(fmt.Sprint("p", i), requests("1", "1Mi"))
				p.Annotations = map[string]string{"kind": kind}
				info := scheduler.NewPod(p)
				want, got := alone.Select(profile, info), batches.Select(profile, info)
				require.Equal(t, want, got, "seed %d, pod %d, %s", seed, i, kind)
				if got != "" {
					batches.Place(info, got)
					alone.Place(info, got)
				}
			}
			hits[fmt.Sprintf("%T", plugin)] += batches.Batched()
		}
	}
	require.Greater(t, hits["scheduler_test.crowd"], 1000)
	require.Zero(t, hits["scheduler_test.silent"])
}

// A pod that differs from the one before in something that a plugin looks at is decided about from the start.
func TestPodsThatDifferAreNoBatch(t *testing.T) {
	inOrder := scheduler.Default().Order(scheduler.AtFilter, "NodeResourcesFit", "TaintToleration")
	for name, v := range map[string]struct {
		profile *scheduler.Profile
		edit    func(p *corev1.Pod)
	}{
		"prefers": {scheduler.Default(), func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}}}}}}}
		}},
		"needs a feature": {scheduler.Default(), func(p *corev1.Pod) { p.Spec.HostNetwork, p.Spec.HostUsers = true, new(false) }},
		"tolerates": {inOrder, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
		}},
		"attaches": {scheduler.Default(), func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "disk", VolumeSource: corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{VolumeID: "v"}}}}
		}},
		"selects": {inOrder, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }},
	} {
		decide := func(batches bool) (nodes [2]string, batched int) {
			c := scheduler.NewCluster(nil)
			c.Unbatch(!batches)
			for i, cpu := range []string{"8", "9", "4", "64"} {
				n := node(fmt.Sprint("n", i))
				n.Status.Allocatable = amounts(cpu, "64Gi", "110")
				if i == 2 {
					n.Labels["disk"] = "ssd"
				}
				if i == 3 {
					taint("k", corev1.TaintEffectNoSchedule)(n)
				}
				c.SetNode(n)
				full := limits(n.Name, 0) // no volume can be attached
				full.Spec.Drivers[0].Name = "cinder.csi.openstack.org"
				full.Annotations = map[string]string{corev1.MigratedPluginsAnnotationKey: "kubernetes.io/cinder"}
				c.SetObject(full)
			}
			for i := range nodes {
				p := pod(fmt.Sprint("p", i), requests("1", "1Gi"))
				if i == 1 {
					v.edit(p)
				}
				info := scheduler.NewPod(p)
				if nodes[i] = c.Select(v.profile, info); nodes[i] != "" {
					c.Place(info, nodes[i])
				}
			}
			return nodes, c.Batched()
		}
		t.Run(name, func(t *testing.T) {
			want, _ := decide(false)
			got, batched := decide(true)
			require.Equal(t, want, got)
			require.NotEqual(t, "n1", got[1], "the same as without")
			require.Zero(t, batched)
		})
	}
}

// BenchmarkIdenticalPods decides about a thousand equal pods and places them, in batches and one by one.
func BenchmarkIdenticalPods(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		for _, how := range []string{"batches", "one by one"} {
			b.Run(fmt.Sprintf("%d/%s", nodes, how), func(b *testing.B) {
				c, profile, pods := largeCluster(nodes), scheduler.Default(), identical(1000, "100m")
				c.Unbatch(how != "batches")
				b.ReportAllocs()
				for b.Loop() {
					m := c.Mark()
					for _, p := range pods {
						node := c.Select(profile, p)
						c.Place(p, node)
					}
					c.Rollback(m)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(pods)), "us/pod")
			})
		}
	}
}

// In a running scheduler, whose bindings come back as events meanwhile, most of a burst of equal pods are
// decided about in batches.
func TestABurstIsDecidedInBatches(t *testing.T) {
	for _, off := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{})
			for i := range 5 {
				addNode(c, fmt.Sprint("n", i), "64", "110")
			}
			for i := range 200 {
				create(c, fmt.Sprintf("p%03d", i), "100m")
			}
			var mu sync.Mutex
			results, ends, kept := map[string]int{}, map[string]int{}, 0
			c.Run(c.Manager("scheduler", func(m *manager.Manager) error {
				return scheduler.Add(m, scheduler.Options{NoBatching: off, Metrics: scheduler.Metrics{Batch: func(_, result string, _ time.Duration) {
					mu.Lock()
					defer mu.Unlock()
					results[result]++
				}, BatchEnded: func(_, reason string) {
					mu.Lock()
					defer mu.Unlock()
					ends[reason]++
				}, BatchKept: func(string, time.Duration) {
					mu.Lock()
					defer mu.Unlock()
					kept++
				}}})
			}))
			c.Sleep(time.Minute)
			for i := range 200 {
				require.NotEmpty(t, get(c, fmt.Sprintf("p%03d", i)).Spec.NodeName)
			}
			require.Equal(t, 200, results["hint_used"]+results["no_hint"])
			require.Equal(t, results["no_hint"], kept)
			for reason := range ends {
				require.Contains(t, []string{"cluster_changed", "empty_list"}, reason)
			}
			if off {
				require.Zero(t, results["hint_used"])
			} else {
				require.Greater(t, results["hint_used"], 150, results)
			}
		})
	}
}
