package scheduler_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// A dump has the nodes with their pods, the queue, and each difference between the scheduler and its
// informers.
func TestDump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *scheduler.Scheduler
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) (err error) {
			s, err = scheduler.New(m, scheduler.Options{})
			return err
		}}})
		addNode(c, "a", "4", "10")
		placed := create(c, "placed", "3")
		create(c, "waits", "2")
		create(c, "gated", "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "x.y/z"}} })
		create(c, "other", "1", func(p *corev1.Pod) { p.Spec.SchedulerName = "other" })
		c.Settle()
		d := s.Dump()
		require.Empty(t, d.Differences)
		require.Len(t, d.Nodes, 1)
		require.Equal(t, "default/placed", d.Nodes[0].Pods[0].String())
		require.Equal(t, int64(3000), d.Nodes[0].Requested["cpu"])
		require.Equal(t, int64(4000), d.Nodes[0].Allocatable["cpu"])
		require.Len(t, d.Queue, 2)
		require.Equal(t, "default/gated gated SchedulingGates", d.Queue[1].Pod.String()+" "+d.Queue[1].State+" "+d.Queue[1].RefusedBy[0])
		require.Equal(t, "default/waits unschedulable NodeResourcesFit", d.Queue[0].Pod.String()+" "+d.Queue[0].State+" "+d.Queue[0].RefusedBy[0])
		require.Contains(t, d.String(), "  default/waits: unschedulable since 2000-01-01T00:00:0")

		s.Spoil(func(c *scheduler.Cluster) {
			c.RemovePod(placed.UID)
			c.SetNode(node("ghost"))
			c.SetPod(pod("alien", on("ghost")))
			c.SetUsed("a", 7)
		})
		d = s.Dump()
		require.Equal(t, []string{
			"node ghost: the scheduler has it and the informer does not",
			"pod default/alien: the scheduler has it and the informer does not on node ghost",
			"pod default/placed: the informer has it and the scheduler does not on node a",
			"node a: its requests are map[cpu:7], those of its pods map[]",
		}, d.Differences)
	})
}
