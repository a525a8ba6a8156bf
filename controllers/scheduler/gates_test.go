package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// A pod that a PreEnqueue plugin refuses is gated: it is not tried, and no attempt counts. Events that may
// satisfy the plugin, and changes of the pod, let the plugin be called again. Scheduling gates open only with
// a change of the pod.
func TestGatedPods(t *testing.T) {
	e := &everywhere{}
	plugged(t, e, func(c *controllertest.Cluster, s *scheduler.Scheduler) {
		e.set("PreEnqueue", func() *scheduler.Status {
			return scheduler.NewStatus(scheduler.UnschedulableAndUnresolvable, "not yet")
		})
		create(c, "p", "1")
		create(c, "closed", "1", func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
		})
		c.Settle()
		require.Equal(t, scheduler.PendingPods{Gated: 2}, s.Pending())
		d := s.Dump()
		require.Empty(t, d.Differences)
		require.Contains(t, d.String(), "gated")
		require.Empty(t, eventsOf(c, "p"))
		s.Wake()
		c.Settle()
		require.Equal(t, scheduler.PendingPods{Gated: 2}, s.Pending())
		e.set("", nil)
		addNode(c, "c", "4", "10")
		c.Settle()
		require.NotEmpty(t, get(c, "p").Spec.NodeName)
		require.Equal(t, scheduler.PendingPods{Gated: 1}, s.Pending())
		controllertest.Update(c, "default", "closed", func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })
		c.Settle()
		require.NotEmpty(t, get(c, "closed").Spec.NodeName)

		require.Equal(t, scheduler.Sizes{Nodes: 3, Pods: 2, Refused: map[scheduler.Refuser]int{}}, s.Sizes())

		// A pod that was tried is gated again when it would be tried again.
		create(c, "large", "20")
		c.Settle()
		require.Equal(t, scheduler.PendingPods{Unschedulable: 1}, s.Pending())
		require.Equal(t, map[scheduler.Refuser]int{{Plugin: "NodeResourcesFit", Profile: "default-scheduler"}: 1}, s.Sizes().Refused)
		e.set("PreEnqueue", func() *scheduler.Status { return scheduler.NewStatus(scheduler.Unschedulable, "wait") })
		addNode(c, "huge", "40", "10")
		c.Settle()
		require.Equal(t, scheduler.PendingPods{Gated: 1}, s.Pending())
		e.set("", nil)
		s.Wake()
		c.Sleep(2 * time.Second)
		require.Equal(t, "huge", get(c, "large").Spec.NodeName)
		require.Zero(t, s.Pending())

		// One that is deleted is forgotten.
		e.set("PreEnqueue", func() *scheduler.Status { return scheduler.NewStatus(scheduler.Unschedulable, "wait") })
		create(c, "gone", "1")
		c.Settle()
		deleteNow(c, "gone")
		c.Settle()
		require.Zero(t, s.Pending())
	})
}

// A PreEnqueue plugin that fails fails the attempt of its pod, which is tried again after its back-off,
// without an event.
func TestPreEnqueueThatFails(t *testing.T) {
	for text, fails := range map[string]func() *scheduler.Status{
		"plugin Everywhere panicked: broken": func() *scheduler.Status { panic("broken") },
		"cannot say":                         func() *scheduler.Status { return scheduler.NewStatus(scheduler.Error, "cannot say") },
		"plugin Everywhere did not return within 1s": func() *scheduler.Status {
			<-time.After(10 * time.Minute)
			return nil
		},
	} {
		e := &everywhere{}
		plugged(t, e, func(c *controllertest.Cluster, s *scheduler.Scheduler) {
			e.set("PreEnqueue", fails)
			create(c, "p", "1")
			c.Sleep(1500 * time.Millisecond)
			require.Equal(t, scheduler.PendingPods{Backoff: 1}, s.Pending(), text)
			require.Contains(t, fmt.Sprint(eventsOf(c, "p")), text)
			e.set("", nil)
			c.Sleep(20 * time.Minute)
			require.NotEmpty(t, get(c, "p").Spec.NodeName, text)
			require.Empty(t, s.Dump().Differences)
		})
	}
}
