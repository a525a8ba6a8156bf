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
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// A plugin that panics, stalls or answers nonsense fails the attempt of its own pod only. The condition and
// the event name it, and it is counted.
func TestFailuresOfPlugins(t *testing.T) {
	panics := func() *scheduler.Status { panic("broken") }
	stalls := func() *scheduler.Status {
		<-time.After(10 * time.Minute)
		return nil
	}
	for point, c := range map[string]struct {
		fails func() *scheduler.Status
		text  string
	}{
		"PreFilter": {panics, "plugin Everywhere panicked: broken"},
		"Filter":    {panics, "plugin Everywhere panicked: broken"},
		"PreScore":  {panics, "plugin Everywhere panicked: broken"},
		"Score":     {func() *scheduler.Status { return scheduler.NewStatus(scheduler.Error) }, "the score 1000: want 0 to 100"},
		"Reserve":   {panics, "plugin Everywhere panicked: broken"},
		"Permit":    {stalls, "plugin Everywhere did not return within 5s"},
		"PreBind":   {stalls, "plugin Everywhere did not return within 5s"},
		"Bind":      {stalls, "plugin Everywhere did not return within 5s"},
	} {
		t.Run(point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				failures := map[string]int{}
				e := &everywhere{}
				e.set(point, c.fails)
				cluster := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
					return scheduler.Add(m, scheduler.Options{PluginTimeout: 5 * time.Second,
						Profiles: []*scheduler.Profile{scheduler.Default(), scheduler.Default().Named("broken").With(e, 1)},
						Metrics: scheduler.Metrics{PluginFailed: func(profile, plugin string) {
							mu.Lock()
							defer mu.Unlock()
							failures[profile+" "+plugin]++
						}}})
				}}})
				addNode(cluster, "a", "4", "10")
				addNode(cluster, "b", "4", "10")
				bad := create(cluster, "bad", "1", func(p *corev1.Pod) { p.Spec.SchedulerName = "broken" })
				create(cluster, "good", "1")
				cluster.Sleep(100 * time.Millisecond)
				require.NotEmpty(t, get(cluster, "good").Spec.NodeName)
				cluster.Sleep(7 * time.Second)
				require.Empty(t, get(cluster, bad.Name).Spec.NodeName)
				require.Contains(t, scheduled(get(cluster, bad.Name)).Message, c.text)
				require.Equal(t, "SchedulerError", scheduled(get(cluster, bad.Name)).Reason)
				mu.Lock()
				require.Positive(t, failures["broken Everywhere"], failures)
				require.Len(t, failures, 1)
				mu.Unlock()
				e.set("", nil) // it recovers
				cluster.Sleep(time.Minute)
				require.NotEmpty(t, get(cluster, bad.Name).Spec.NodeName)
				cluster.Sleep(10 * time.Minute) // those that stall end
			})
		})
	}
}

// slowBinder binds each pod, but only after a while.
type slowBinder struct {
	conn client.Conn
	wait time.Duration
}

func (*slowBinder) Name() string { return "SlowBinder" }

func (b *slowBinder) Bind(_ context.Context, p *scheduler.Pod, node string) *scheduler.Status {
	<-time.After(b.wait)
	pod := p.Object()
	_, _ = client.Subresource[*corev1.Binding](client.For[*corev1.Pod](b.conn), "binding").Create(context.Background(), pod.Key(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: node}})
	return nil
}

// A plugin that binds long after its time, when its pod's attempt has failed, does not overcommit the node:
// no other pod has got the room. Once it has returned without a binding, the room is free.
func TestLateBindingsHaveTheirRoom(t *testing.T) {
	for _, binds := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := &slowBinder{wait: 10 * time.Minute}
			c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
				return scheduler.Add(m, scheduler.Options{PluginTimeout: 5 * time.Second,
					Profiles: []*scheduler.Profile{scheduler.Default(), scheduler.Default().Named("slow").With(b, 1)}})
			}}})
			b.conn = c.Admin()
			addNode(c, "a", "4", "10")
			create(c, "slow", "3", func(p *corev1.Pod) { p.Spec.SchedulerName = "slow" })
			c.Sleep(7 * time.Second)
			require.Contains(t, fmt.Sprint(eventsOf(c, "slow")), "plugin SlowBinder did not return within 5s")
			create(c, "other", "3", func(p *corev1.Pod) { p.Spec.Priority = new(int32(0)) })
			c.Sleep(5 * time.Minute)
			require.Empty(t, get(c, "other").Spec.NodeName)
			require.Empty(t, get(c, "slow").Spec.NodeName)
			if !binds {
				controllertest.Delete[*corev1.Pod](c, "default", "slow") // what is written late is refused
				c.Sleep(10 * time.Second)
				require.Equal(t, "a", get(c, "other").Spec.NodeName)
			}
			c.Sleep(30 * time.Minute)
			if binds {
				require.Equal(t, "a", get(c, "slow").Spec.NodeName)
				require.Empty(t, get(c, "other").Spec.NodeName)
			}
		})
	}
}
