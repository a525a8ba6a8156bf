package scheduler_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// eventually waits in real time: the goroutines that wait for the lock of a decision do not let virtual time
// go on.
func eventually(t *testing.T, f func() bool) {
	t.Helper()
	require.Eventually(t, f, time.Minute, 5*time.Millisecond)
}

// limitByHand is a limit of decisions that is over when now is closed; none while it is off.
type limitByHand struct {
	on  atomic.Bool
	now chan time.Time
}

func (l *limitByHand) overdue() <-chan time.Time {
	if l.on.Load() {
		return l.now
	}
	return nil
}

// A plugin that does not return from a point of the decision fails the attempt of its own pod, and others are
// scheduled while it still does not. What the decision had changed is as before, at whichever call that was,
// also in the trials of preemption and with room kept for others. When the plugin has returned it is called
// again.
func TestStallsInDecisions(t *testing.T) {
	for _, v := range []struct {
		point string
		calls int // before the one that stalls
		big   bool
	}{{"PreFilter", 0, false}, {"Filter", 0, false}, {"Filter", 1, false}, {"PreScore", 0, false}, {"Score", 1, false}, {"NormalizeScore", 0, false},
		{"Reserve", 0, false}, {"PostFilter", 0, true}, {"PreFilter", 1, true}, {"Filter", 0, true}, {"Filter", 1, true}, {"Filter", 2, true}, {"Filter", 3, true}} {
		t.Run(fmt.Sprint(v.point, v.calls, v.big), func(t *testing.T) {
			e := &everywhere{}
			limit := &limitByHand{now: make(chan time.Time)}
			var s *scheduler.Scheduler
			c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) (err error) {
				s, err = scheduler.New(m, scheduler.Options{InitialBackoff: 10 * time.Millisecond,
					Profiles: []*scheduler.Profile{scheduler.Default(), scheduler.Default().Named("broken").With(e, 1).Order(scheduler.AtPostFilter, e.Name())}})
				s.PauseStalled(0)
				s.Overdue(limit.overdue)
				return err
			}}})
			t.Cleanup(func() {
				if t.Failed() {
					d := s.Dump()
					t.Log(d.String())
				}
			})
			controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", "high"), Value: 5})
			high := func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }
			for _, name := range []string{"a", "b", "c"} {
				controllertest.Create(c, node(name))
				controllertest.UpdateStatus(c, "", name, func(n *corev1.Node) { n.Status.Allocatable = amounts("4", "8Gi", "10") })
				controllertest.Update(c, "", name, func(n *corev1.Node) { n.Spec.Taints = nil })
			}
			on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
			create(c, "small-1", "1", app("x"), on("a"))
			create(c, "small-2", "1", on("b"))
			create(c, "small-3", "1", on("c"))
			// Not before: an attempt that has not seen all nodes names fewer, and is not made again. A dump
			// has those too that are known by their pods only.
			eventually(t, func() bool { return s.Sizes().Nodes == 3 && len(s.Dump().Differences) == 0 })
			create(c, "nominee", "50", high, near("x", corev1.LabelHostname))
			eventually(t, func() bool {
				return strings.Contains(scheduled(get(c, "nominee")).Message, "3 Insufficient cpu")
			})
			controllertest.UpdateStatus(c, "default", "nominee", func(p *corev1.Pod) { p.Status.NominatedNodeName = "a" })
			var before string
			state := func() (text string) {
				s.Spoil(func(c *scheduler.Cluster) { text = c.Dump() })
				return regexp.MustCompile("0x[0-9a-f]+").ReplaceAllString(text, "") // a status may be newer
			}
			eventually(t, func() bool {
				before = state()
				return strings.Contains(before, "\nnominated ") && len(s.Dump().Differences) == 0
			})

			release, stalled := make(chan struct{}), sync.OnceFunc(func() { close(limit.now) })
			limit.on.Store(true)
			calls := 0
			e.set(v.point, func() *scheduler.Status {
				if calls++; calls > v.calls {
					stalled()
					<-release
				}
				return nil
			})
			create(c, "bad", map[bool]string{false: "1", true: "4"}[v.big], high, func(p *corev1.Pod) { p.Spec.SchedulerName = "broken" })
			eventually(t, func() bool { return scheduled(get(c, "bad")).Message != "" })
			require.Equal(t, "SchedulerError", scheduled(get(c, "bad")).Reason)
			require.Contains(t, scheduled(get(c, "bad")).Message, "plugin Everywhere ")
			eventually(t, func() bool {
				return strings.Contains(fmt.Sprint(eventsOf(c, "bad")), "plugin Everywhere did not return within 1s")
			})
			require.Equal(t, before, state())
			x, err := s.Explain(pod("why", func(p *corev1.Pod) { p.Spec.SchedulerName = "broken" }), true)
			require.NoError(t, err)
			require.Contains(t, x.Failed.Message(), "plugin Everywhere is not called")
			create(c, "good", "1")
			eventually(t, func() bool { return get(c, "good").Spec.NodeName != "" })
			require.Empty(t, get(c, "bad").Spec.NodeName)
			limit.on.Store(false)
			e.set("", nil)
			close(release)
			eventually(t, func() bool {
				if v.point == "Reserve" && get(c, "bad").Spec.NodeName != "" {
					require.Contains(t, e.called(), "Unreserve")
				}
				return get(c, "bad").Spec.NodeName != "" || get(c, "bad").Status.NominatedNodeName != ""
			})
			eventually(t, func() bool { return len(s.Dump().Differences) == 0 })
		})
	}
}
