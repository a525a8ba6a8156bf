package scheduler_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// A pod whose back-off is not over is tried at once when a node comes, because no other pod is active
// (SchedulerPopFromBackoffQ): no second passes here. One whose attempt failed, rather than being refused,
// waits.
func TestANodeSchedulesAWaitingPodAtOnce(t *testing.T) {
	e := &everywhere{}
	plugged(t, e, func(c *controllertest.Cluster, s *scheduler.Scheduler) {
		for i := range 5 {
			create(c, "p", "10")
			c.Settle()
			require.Contains(t, scheduled(get(c, "p")).Message, "Insufficient cpu")
			require.Equal(t, scheduler.PendingPods{Unschedulable: 1}, s.Pending())
			name := fmt.Sprint("large-", i)
			began := time.Now()
			addNode(c, name, "10", "10")
			c.Settle()
			require.Equal(t, name, get(c, "p").Spec.NodeName)
			require.Less(t, time.Since(began), time.Second)
			deleteNow(c, "p")
			controllertest.Delete[*corev1.Node](c, "", name)
			c.Settle()
		}
		e.set("PreFilter", func() *scheduler.Status { return scheduler.NewStatus(scheduler.Error, "broken") })
		create(c, "q", "1")
		c.Settle()
		require.Equal(t, "SchedulerError", scheduled(get(c, "q")).Reason)
		e.set("", nil)
		addNode(c, "late", "10", "10")
		c.Settle()
		require.Empty(t, get(c, "q").Spec.NodeName)
		require.Equal(t, scheduler.PendingPods{Backoff: 1}, s.Pending())
		c.Sleep(time.Second)
		require.NotEmpty(t, get(c, "q").Spec.NodeName)
	})
}

// Of the pods that back off, the one of the highest priority is tried first, whenever it came.
func TestPodsThatBackOffAreInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) }}})
		names := []string{"low", "high", "middle"}
		for i, name := range []string{"low", "middle", "high"} {
			controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", name), Value: int32(i+1) * 100})
		}
		addNode(c, "a", "4", "10")
		for _, name := range names {
			create(c, name, "10", class(name))
		}
		c.Settle()
		// A node with room for one of them comes in one event, for which all of them wait.
		controllertest.Create(c, node("b"))
		controllertest.UpdateStatus(c, "", "b", func(n *corev1.Node) { n.Status.Allocatable = amounts("10", "8Gi", "10") })
		c.Settle()
		controllertest.Update(c, "", "b", func(n *corev1.Node) { n.Spec.Taints = nil })
		c.Settle()
		for _, name := range names {
			require.Equal(t, name == "high", get(c, name).Spec.NodeName != "", name)
		}
	})
}

// A pod that something refuses after it was placed does not wake itself: the room that it gives up is no
// reason to try it again, and other pods that were refused before do not take turns with it.
func TestARefusedPlacementDoesNotWakeItself(t *testing.T) {
	for _, point := range []string{"Reserve", "Permit", "PreBind"} {
		t.Run(point, func(t *testing.T) {
			e := &everywhere{}
			plugged(t, e, func(c *controllertest.Cluster, s *scheduler.Scheduler) {
				e.set(point, func() *scheduler.Status { return scheduler.NewStatus(scheduler.Unschedulable, "not today") })
				for _, name := range []string{"p", "q", "r"} {
					create(c, name, "1")
					c.Sleep(20 * time.Second)
				}
				attempts := map[string]int{}
				for _, q := range s.Dump().Queue {
					require.Equal(t, "unschedulable", fmt.Sprint(q.State))
					attempts[fmt.Sprint(q.Pod)] = q.Attempts
				}
				require.Equal(t, map[string]int{"default/p": 1, "default/q": 1, "default/r": 1}, attempts)
				e.set("", nil)
				s.Wake()
				c.Settle()
				require.Equal(t, 3, placed(c, "p", "q", "r"))
			})
		})
	}
}
