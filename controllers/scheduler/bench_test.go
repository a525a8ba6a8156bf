package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// full is a cluster whose nodes are full of four unimportant pods each.
func full(nodes int) *scheduler.Cluster {
	c := scheduler.NewCluster(nil)
	c.SetObject(replicaSet("web", "high"))
	for i := range nodes {
		name := fmt.Sprintf("n%04d", i)
		c.SetNode(node(name, zone(fmt.Sprint(i%3))))
		for j := range 4 {
			c.SetPod(pod(fmt.Sprintf("%s-%d", name, j), requests("1", "1Mi"), app("low"), on(name), priority(1)))
		}
	}
	return c
}

// BenchmarkPreempt decides what to preempt for pods that need three quarters of a node: plain ones, ones that
// belong to a ReplicaSet, and ones that must be apart.
func BenchmarkPreempt(b *testing.B) {
	for _, nodes := range []int{100, 1000} {
		c := full(nodes)
		for i, what := range []string{"plain", "owned", "apart"} {
			b.Run(fmt.Sprintf("%d/%s", nodes, what), func(b *testing.B) {
				p := pod("high", requests("3", "1Mi"), app("high"), priority(100))
				if i > 0 {
					owned(p)
				}
				if i > 1 {
					apart("high", "kubernetes.io/hostname")(p)
				}
				for b.Loop() {
					if on, victims := c.Preempt(p); on == "" || len(victims) != 3 {
						b.Fatal(on, len(victims))
					}
					c.RemovePod(p.UID)
				}
			})
		}
	}
}

// BenchmarkSchedule decides about plain pods on a thousand nodes.
func BenchmarkSchedule(b *testing.B) {
	c := scheduler.NewCluster(nil)
	for i := range 1000 {
		c.SetNode(node(fmt.Sprintf("n%04d", i)))
	}
	p := pod("p", requests("100m", "1Mi"))
	b.ReportAllocs()
	for b.Loop() {
		c.Schedule(p)
	}
}
