package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// Simulations go on while the scheduler binds pods: each sees one moment, and the scheduler nothing of them.
// The race detector watches over that.
func TestSimulationsBesideTheScheduler(t *testing.T) {
	var s *scheduler.Scheduler
	c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) (err error) {
		s, err = scheduler.New(m, scheduler.Options{})
		return err
	}}})
	quickNode(c, "a", "20")
	eventually(t, func() bool { return len(s.Dump().Nodes) == 1 })
	for i := range 60 {
		create(c, fmt.Sprintf("p%02d", i), "333m")
	}
	bound := func() (n int) {
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			if p.Spec.NodeName == "a" {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(time.Minute); bound() < 60; {
		require.True(t, time.Now().Before(end))
		now := s.Simulate()
		fork := now.Fork()
		n := node("more")
		n.Status.Allocatable = amounts("10", "64Gi", "110")
		fork.SetNode(n)
		var pods []*corev1.Pod
		for i := range 40 {
			pods = append(pods, pod(fmt.Sprint("new", i), requests("1", "1Mi")))
		}
		placed := 0
		for _, node := range fork.PlaceAll(usual, pods) {
			if node != "" {
				placed++
			}
		}
		moved := now.Diff(fork)
		require.Len(t, moved, placed)
		require.GreaterOrEqual(t, placed, 10)
		for _, m := range moved {
			require.Empty(t, m.From)
			fork.RemovePod(m.Pod.UID)
		}
		require.Empty(t, now.Diff(fork))
	}
	eventually(t, func() bool { return len(s.Dump().Differences) == 0 })
}
