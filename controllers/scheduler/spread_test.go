package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/controllers/scheduler/internal/naive"
)

// Equal pods on equal nodes: no node has more than one pod more than another, however ties are broken, if a
// decision looks at all nodes. If it looks at a part of them it is at most one more, because the next one
// begins where it has ended. Each pod is large enough to change the score of its node.
func TestEqualNodesShareThePods(t *testing.T) {
	ties := map[string]func() func(n int) int{
		"by the UID":   func() func(int) int { return nil },
		"always first": func() func(int) int { return func(int) int { return 0 } },
		"at random":    func() func(int) int { return rand.New(rand.NewPCG(17, 23)).IntN },
	}
	for _, v := range []struct{ nodes, percent, looksAt, within int }{
		{7, 0, 7, 1}, {40, 5, 40, 1}, {99, 5, 99, 1}, {250, 100, 250, 1}, {300, 5, 100, 2},
		{120, 50, 100, 2}, {150, 0, 100, 2}, {300, 0, 144, 2}, {300, 40, 120, 2},
	} {
		for name, tie := range ties {
			t.Run(fmt.Sprintf("%d nodes, %d %%, ties %s", v.nodes, v.percent, name), func(t *testing.T) {
				c, profile := scheduler.NewCluster(nil), scheduler.Default().Percentage(v.percent)
				c.BreakTies(tie())
				count := map[string]int{}
				for i := range v.nodes {
					n := node(fmt.Sprintf("n%03d", i))
					n.Status.Allocatable = amounts("16", "32Gi", "500")
					c.SetNode(n)
					count[n.Name] = 0
				}
				for i := range 300 {
					p := pod(fmt.Sprint("p", i), requests("250m", "512Mi"))
					d := c.ScheduleWith(profile, p)
					require.NotEmpty(t, d.Node)
					require.Len(t, d.Feasible, v.looksAt)
					p.Spec.NodeName = d.Node
					c.SetPod(p)
					count[d.Node]++
				}
				least, most := 300, 0
				for _, n := range count {
					least, most = min(least, n), max(most, n)
				}
				require.LessOrEqual(t, most-least, v.within, "%v", count)
			})
		}
	}
}

// The same decisions as those of the naive scheduler, one by one, with ties broken by the same numbers.
func TestEqualNodesAsTheNaive(t *testing.T) {
	one, other := rand.New(rand.NewPCG(3, 5)), rand.New(rand.NewPCG(3, 5))
	fast, slow := scheduler.NewCluster(one.IntN), naive.NewCluster(other.IntN)
	for i := range 25 {
		n := node(fmt.Sprintf("n%03d", i))
		n.Status.Allocatable = amounts("16", "32Gi", "500")
		for _, c := range []interface{ SetNode(*corev1.Node) }{fast, slow} {
			c.SetNode(n)
		}
	}
	for i := range 300 {
		p := pod(fmt.Sprint("p", i), requests("250m", "512Mi"))
		want, got := slow.Schedule(p), fast.Schedule(p)
		require.Equal(t, want.Node, got.Node, "pod %d", i)
		p.Spec.NodeName = got.Node
		fast.SetPod(p)
		slow.SetPod(p)
	}
}
