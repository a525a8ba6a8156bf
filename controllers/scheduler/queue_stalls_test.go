package scheduler_test

import (
	"fmt"
	"strings"
	"sync"
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

// queuer sorts the queue as PrioritySort does, and is a filter that looks at events.
type queuer struct{ everywhere }

func (*queuer) Name() string { return "Queuer" }

func (q *queuer) Less(a, b *scheduler.QueuedPod) bool {
	q.call("QueueSort")
	return scheduler.PrioritySort{}.Less(a, b)
}

func (*queuer) EventsToRegister() scheduler.EventKind { return scheduler.NodeEvents }

func (q *queuer) QueueingHint(*scheduler.Event, *scheduler.Pod) bool {
	return q.call("QueueingHint") == nil
}

// queued runs a scheduler with the plugin, whose calls at a point are limited by what is sent to a channel.
func queued(t *testing.T, q *queuer, point string, limit <-chan time.Time) (c *controllertest.Cluster, s *scheduler.Scheduler, failures func() int) {
	var mu sync.Mutex
	n := 0
	c = controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) (err error) {
		s, err = scheduler.New(m, scheduler.Options{InitialBackoff: 10 * time.Millisecond,
			Profiles: []*scheduler.Profile{scheduler.Default().With(q, 1).Without("PrioritySort")},
			Metrics: scheduler.Metrics{PluginFailed: func(_, plugin string) {
				mu.Lock()
				defer mu.Unlock()
				if n++; plugin != "Queuer" {
					t.Errorf("plugin %s has failed", plugin)
				}
			}}})
		s.PauseStalled(0)
		s.Overdue(func() <-chan time.Time { return nil })
		s.OverdueCalls(point, limit)
		return err
	}}})
	controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", "high"), Value: 5})
	return c, s, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// A plugin that panics, ends its goroutine or does not return when it compares pods, or when it looks at an
// event, is named in an event and counted. The pods are in the order of their priority then, or are tried,
// and others go on.
func TestFailuresInTheQueue(t *testing.T) {
	for _, point := range []string{"QueueSort", "QueueingHint"} {
		for _, how := range []string{"panicked: broken", "did not return within 1s"} {
			t.Run(point+" "+how, func(t *testing.T) {
				q, limit, release := &queuer{}, make(chan time.Time), make(chan struct{})
				c, s, failures := queued(t, q, point, limit)
				refuses := func() *scheduler.Status { return scheduler.NewStatus(scheduler.Unschedulable, "no") }
				q.set("PreFilter", refuses)
				controllertest.Create(c, node("a"))
				create(c, "low", "1")
				create(c, "high", "1", func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" })
				eventually(t, func() bool { return s.Pending() == scheduler.PendingPods{Unschedulable: 2} })
				t.Cleanup(func() {
					if t.Failed() {
						d := s.Dump()
						t.Log(d.String(), eventsOf(c, "low"), eventsOf(c, "high"))
					}
				})
				var once sync.Once
				q.set(point, func() *scheduler.Status {
					if how[0] == 'p' {
						panic("broken")
					}
					once.Do(func() {
						limit <- time.Time{}
						<-release
					})
					return nil
				})
				controllertest.UpdateStatus(c, "", "a", func(n *corev1.Node) { n.Status.Allocatable = amounts("4", "8Gi", "10") })
				controllertest.Update(c, "", "a", func(n *corev1.Node) { n.Spec.Taints = nil })
				for _, name := range []string{"low", "high"} {
					eventually(t, func() bool { return get(c, name).Spec.NodeName == "a" })
				}
				require.Positive(t, failures())
				eventually(t, func() bool {
					return strings.Contains(fmt.Sprint(eventsOf(c, "low"), eventsOf(c, "high")), "plugin Queuer "+how)
				})
				create(c, "later", "1")
				eventually(t, func() bool { return get(c, "later").Spec.NodeName == "a" })
				close(release)
			})
		}
	}
}

// A Reserve plugin that does not return when a placement is taken back is left behind: the pod is tried
// again. What it keeps for later placements is taken back when it has returned.
func TestUnreserveThatStalls(t *testing.T) {
	e := &everywhere{}
	var mu sync.Mutex
	unreserved := 0
	synctest.Test(t, func(t *testing.T) {
		var s *scheduler.Scheduler
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) (err error) {
			s, err = scheduler.New(m, scheduler.Options{Profiles: []*scheduler.Profile{scheduler.Default().With(e, 1)}})
			return err
		}}})
		addNode(c, "a", "4", "10")
		first := true
		e.answers(map[string]func() *scheduler.Status{
			"PreBind": func() *scheduler.Status { return scheduler.NewStatus(scheduler.Error, "not now") },
			"Unreserve": func() *scheduler.Status {
				mu.Lock()
				stalls := first
				first = false
				unreserved++
				mu.Unlock()
				if stalls {
					<-time.After(5 * time.Minute)
				}
				return nil
			}})
		create(c, "p", "1")
		c.Sleep(1500 * time.Millisecond)
		require.Contains(t, fmt.Sprint(eventsOf(c, "p")), "plugin Everywhere did not return within 1s")
		c.Sleep(time.Minute)
		mu.Lock()
		require.Equal(t, 1, unreserved)
		mu.Unlock()
		c.Sleep(10 * time.Minute)
		mu.Lock()
		require.Greater(t, unreserved, 2)
		mu.Unlock()
		e.set("", nil)
		c.Sleep(time.Minute)
		require.Equal(t, "a", get(c, "p").Spec.NodeName)
		require.Empty(t, s.Dump().Differences)
	})
}

// A plugin that never returns does not keep the scheduler from ending.
func TestTheEndDoesNotWaitForAPlugin(t *testing.T) {
	for _, point := range []string{"Reserve", "Unreserve", "PreBind"} {
		t.Run(point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, never := &everywhere{}, make(chan struct{})
				c := controllertest.Start(t, controllertest.Options{})
				stop := c.Run(c.Manager("scheduler", func(m *manager.Manager) error {
					return scheduler.Add(m, scheduler.Options{PluginTimeout: 5 * time.Second, Profiles: []*scheduler.Profile{scheduler.Default().With(e, 1)}})
				}))
				addNode(c, "a", "4", "10")
				c.Settle()
				e.answers(map[string]func() *scheduler.Status{
					"PreBind": func() *scheduler.Status { return scheduler.NewStatus(scheduler.Error, "not now") },
					point: func() *scheduler.Status {
						<-never
						return nil
					}})
				create(c, "p", "1")
				c.Sleep(time.Minute) // it is tried several times
				began := time.Now()
				stop()
				require.Less(t, time.Since(began), 5*time.Second)
				close(never)
			})
		})
	}
}
