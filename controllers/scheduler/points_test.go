package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// everywhere is a plugin at every point, which notes its calls, and answers as the test says.
type everywhere struct {
	mu     sync.Mutex
	calls  []string
	answer map[string]func() *scheduler.Status
	// idle says before PreBind that it does nothing, so that the pod is not updated meanwhile.
	idle bool
}

func (e *everywhere) Name() string { return "Everywhere" }

func (e *everywhere) call(point string) *scheduler.Status {
	e.mu.Lock()
	if len(e.calls) == 0 || e.calls[len(e.calls)-1] != point {
		e.calls = append(e.calls, point)
	}
	f := e.answer[point]
	e.mu.Unlock()
	if f == nil {
		return nil
	}
	return f()
}

func (e *everywhere) set(point string, f func() *scheduler.Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer, e.calls = map[string]func() *scheduler.Status{point: f}, nil
}

func (e *everywhere) answers(all map[string]func() *scheduler.Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = all
}

func (e *everywhere) called() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls
}

func (e *everywhere) PreBindPreFlight(*scheduler.Pod, string) bool { return !e.idle }
func (e *everywhere) PreEnqueue(*scheduler.Pod) *scheduler.Status  { return e.call("PreEnqueue") }
func (e *everywhere) PreFilter(*scheduler.Cycle) (scheduler.NodeFilter, *scheduler.Status) {
	return e, e.call("PreFilter")
}
func (e *everywhere) Filter(*scheduler.Node) *scheduler.Status { return e.call("Filter") }
func (e *everywhere) PostFilter(*scheduler.Cycle) (string, []*corev1.Pod, *scheduler.Status) {
	return "", nil, e.call("PostFilter")
}
func (e *everywhere) PreScore(*scheduler.Cycle, []*scheduler.Node) (scheduler.NodeScore, *scheduler.Status) {
	return score{e}, e.call("PreScore")
}
func (e *everywhere) Reserve(*scheduler.Pod, string) *scheduler.Status { return e.call("Reserve") }
func (e *everywhere) Unreserve(*scheduler.Pod, string)                 { e.call("Unreserve") }
func (e *everywhere) Permit(context.Context, *scheduler.Pod, string) (*scheduler.Status, time.Duration) {
	return e.call("Permit"), time.Minute
}
func (e *everywhere) PreBind(context.Context, *scheduler.Pod, string) *scheduler.Status {
	return e.call("PreBind")
}
func (e *everywhere) Bind(context.Context, *scheduler.Pod, string) *scheduler.Status {
	if st := e.call("Bind"); st != nil {
		return st
	}
	return scheduler.NewStatus(scheduler.Skip)
}
func (e *everywhere) PostBind(context.Context, *scheduler.Pod, string) { e.call("PostBind") }

// score is what the plugin scores with.
type score struct{ e *everywhere }

func (s score) Score(*scheduler.Node) int64 {
	if st := s.e.call("Score"); st != nil {
		return 1000
	}
	return 1
}
func (s score) NormalizeScore([]int64) { s.e.call("NormalizeScore") }

// plugged runs a scheduler with the plugin on a cluster of two nodes.
func plugged(t *testing.T, e *everywhere, f func(c *controllertest.Cluster, s *scheduler.Scheduler)) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var s *scheduler.Scheduler
		c.Run(c.Manager("scheduler", func(m *manager.Manager) (err error) {
			s, err = scheduler.New(m, scheduler.Options{Profiles: []*scheduler.Profile{scheduler.Default().With(e, 2)}})
			return err
		}))
		addNode(c, "a", "4", "10")
		addNode(c, "b", "4", "10")
		f(c, s)
	})
}

// A pod passes every point in the order of the framework.
func TestPluginsAtEveryPoint(t *testing.T) {
	e := &everywhere{idle: true}
	plugged(t, e, func(c *controllertest.Cluster, _ *scheduler.Scheduler) {
		create(c, "p", "1")
		c.Settle()
		require.NotEmpty(t, get(c, "p").Spec.NodeName)
		require.Equal(t, []string{"PreEnqueue", "PreFilter", "Filter", "PreScore", "Score", "NormalizeScore", "Reserve", "Permit", "PreBind", "Bind", "PostBind"}, e.called())
		create(c, "large", "40")
		c.Settle()
		require.Contains(t, e.called(), "PostFilter")
	})
}

// What a plugin refuses, and where it fails, is the fate of its own pod only: the event and the condition
// name the plugin, the placement is taken back, and the pod is placed when the plugin allows it.
func TestPluginsThatRefuse(t *testing.T) {
	no := scheduler.NewStatus(scheduler.Unschedulable, "not today")
	for point, reason := range map[string]string{"PreFilter": "Unschedulable", "Filter": "Unschedulable", "Score": "SchedulerError",
		"Reserve": "Unschedulable", "Permit": "Unschedulable", "PreBind": "Unschedulable", "Bind": "SchedulerError"} {
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprint(point, panics), func(t *testing.T) {
				e := &everywhere{}
				plugged(t, e, func(c *controllertest.Cluster, s *scheduler.Scheduler) {
					e.set(point, func() *scheduler.Status {
						if panics {
							panic("oops")
						}
						return no
					})
					create(c, "p", "3")
					c.Sleep(30 * time.Second)
					p := get(c, "p")
					require.Empty(t, p.Spec.NodeName)
					if panics {
						reason = "SchedulerError"
						require.Contains(t, scheduled(p).Message, "Everywhere panicked: oops")
					}
					require.Equal(t, reason, scheduled(p).Reason, scheduled(p).Message)
					e.set("", nil)
					create(c, "q", "3")
					create(c, "r", "3")
					c.Settle()
					s.Wake()
					c.Sleep(time.Minute)
					bound := 0
					for _, name := range []string{"p", "q", "r"} {
						if get(c, name).Spec.NodeName != "" {
							bound++
						}
					}
					require.Equal(t, 2, bound, "nothing that was reserved is lost")
				})
			})
		}
	}
}

// A pod waits for its permission, holds its room meanwhile, and others do not wait for it.
func TestPermitDelaysAPod(t *testing.T) {
	for name, v := range map[string]struct {
		decide func(c *controllertest.Cluster, s *scheduler.Scheduler)
		bound  bool
		text   string
	}{
		"allowed": {func(_ *controllertest.Cluster, s *scheduler.Scheduler) {
			s.Allow(s.Waiting()[0].Object().UID, "Everywhere")
		}, true, ""},
		"rejected": {func(_ *controllertest.Cluster, s *scheduler.Scheduler) {
			s.Reject(s.Waiting()[0].Object().UID, "Everywhere", "too late")
		}, false, "too late"},
		"time is up": {func(c *controllertest.Cluster, _ *scheduler.Scheduler) { c.Sleep(time.Minute) }, false, "pod was not permitted within 1m0s by Everywhere"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &everywhere{}
			plugged(t, e, func(c *controllertest.Cluster, s *scheduler.Scheduler) {
				e.set("Permit", func() *scheduler.Status { return scheduler.NewStatus(scheduler.Wait) })
				create(c, "p", "3")
				c.Settle()
				require.Len(t, s.Waiting(), 1)
				e.set("", nil)
				create(c, "q", "3")
				create(c, "r", "3")
				c.Settle()
				require.Equal(t, 1, placed(c, "q", "r"), "the room of the waiting pod is taken")
				e.set("Permit", func() *scheduler.Status { return scheduler.NewStatus(scheduler.Unschedulable, "no more") })
				v.decide(c, s)
				c.Settle()
				require.Empty(t, s.Waiting())
				require.Equal(t, v.bound, get(c, "p").Spec.NodeName != "")
				if !v.bound {
					// What happened while it waited lets it be tried again at once, which changes the
					// condition.
					require.Contains(t, fmt.Sprint(eventsOf(c, "p")), v.text)
				}
			})
		})
	}
}

func placed(c *controllertest.Cluster, names ...string) (n int) {
	for _, name := range names {
		if get(c, name).Spec.NodeName != "" {
			n++
		}
	}
	return n
}

// Only events that may help the plugin which refused a pod let it be tried again.
func TestQueueingHints(t *testing.T) {
	attempts := 0
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			return scheduler.Add(m, scheduler.Options{Metrics: scheduler.Metrics{Attempt: func(_, result string, _ time.Duration) {
				if result == "unschedulable" {
					attempts++
				}
			}}})
		}}})
		addNode(c, "a", "4", "10")
		create(c, "large", "8")
		c.Sleep(time.Minute)
		require.Equal(t, 1, attempts)
		controllertest.Update(c, "", "a", func(n *corev1.Node) { n.Labels["color"] = "blue" })
		create(c, "other", "1")
		addNode(c, "small", "2", "10")
		c.Sleep(time.Minute)
		require.Equal(t, 1, attempts, "labels, pods that come and nodes that are too small do not help")
		addNode(c, "large", "8", "10")
		c.Sleep(time.Minute) // a try while the node has its taint costs a back-off
		require.Equal(t, 1, placed(c, "large"))
	})
}

// An explanation of the live state is the decision that comes next.
func TestExplainEqualsTheNextDecision(t *testing.T) {
	e := &everywhere{}
	plugged(t, e, func(c *controllertest.Cluster, s *scheduler.Scheduler) {
		for i := range 6 {
			name := fmt.Sprint("p", i)
			e.set("PreEnqueue", func() *scheduler.Status { return scheduler.NewStatus(scheduler.Unschedulable) })
			create(c, name, "100m")
			c.Settle()
			p := get(c, name)
			why, err := s.Explain(p, false)
			require.NoError(t, err)
			require.Len(t, s.Simulate().PlaceAll(scheduler.Default(), []*corev1.Pod{p}), 1)
			e.set("", nil)
			controllertest.Update(c, "default", name, func(p *corev1.Pod) { p.Labels = map[string]string{"go": "1"} })
			c.Settle()
			require.Equal(t, why.Node, get(c, name).Spec.NodeName)
		}
	})
}
