package scheduler_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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
