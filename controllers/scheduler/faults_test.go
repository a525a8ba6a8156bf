package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/informers"
)

// faulty is a connection whose calls go through do.
type faulty struct {
	client.Conn
	do func(ctx context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error)
}

func (f faulty) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	return f.do(ctx, r, func() (*client.Response, error) { return f.Conn.Do(ctx, r) })
}

var errLost = errors.New("the connection was reset")

func isBinding(r *client.Request) bool { return r.Verb() == "create" && r.Subresource == "binding" }

func refuse(name string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, name, errors.New("a policy says so"))
}

// withFaults runs a scheduler whose calls go through do.
func withFaults(t *testing.T, opts scheduler.Options, do func(ctx context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error),
	f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		c.Run(c.ManagerOver(faulty{c.Conn(), do}, "scheduler", func(m *manager.Manager) error { return scheduler.Add(m, opts) }))
		f(t, c)
	})
}

// The answer to a binding is lost and the binding lands later: until the API says what became of it, its room
// is not given away.
func TestALostAnswerKeepsTheRoom(t *testing.T) {
	first := true
	withFaults(t, scheduler.Options{}, func(ctx context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
		if isBinding(r) && first {
			first = false
			go func() {
				time.Sleep(time.Second)
				_, _ = send()
			}()
			return nil, errLost
		}
		return send()
	}, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "1", "10")
		create(c, "p", "1")
		c.Sleep(50 * time.Millisecond)
		create(c, "q", "1")
		c.Sleep(time.Minute)
		require.Equal(t, "a", get(c, "p").Spec.NodeName)
		require.Empty(t, get(c, "q").Spec.NodeName, "there is room for one")
	})
}

// What was changed in a pod while its binding was being written, and refused, counts in the next try.
func TestARefusedBindingIsTriedWithTheNewPod(t *testing.T) {
	withFaults(t, scheduler.Options{}, func(ctx context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
		if isBinding(r) && bytes.Contains(r.Body, []byte("node-a")) {
			time.Sleep(2 * time.Second)
			return nil, refuse(r.Name)
		}
		return send()
	}, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "node-a", "2", "10")
		addNode(c, "node-b", "16", "10")
		controllertest.Update(c, "", "node-b", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		})
		c.Settle()
		create(c, "p", "1")
		c.Sleep(time.Second)
		controllertest.Update(c, "default", "p", func(p *corev1.Pod) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists})
		})
		c.Sleep(10 * time.Second)
		require.Equal(t, "node-b", get(c, "p").Spec.NodeName)
	})
}

// Pods of two scheduler names are placed by one account of what is free.
func TestTwoNamesShareOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := c.Manager("scheduler", func(m *manager.Manager) error {
			return scheduler.Add(m, scheduler.Options{Names: []string{"one", "two"}})
		})
		require.ErrorContains(t, scheduler.Add(m, scheduler.Options{Names: []string{"three"}}), "already has a scheduler")
		require.ErrorContains(t, scheduler.Add(c.Manager("other"), scheduler.Options{Names: []string{"one", "one"}}), "each once")
		addNode(c, "a", "10", "100")
		for i := range 40 {
			create(c, fmt.Sprintf("p%02d", i), "1", func(p *corev1.Pod) { p.Spec.SchedulerName = []string{"one", "two", "three"}[i%3] })
		}
		c.Run(m)
		c.Sleep(time.Minute)
		on := map[string]int{}
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			if p.Spec.NodeName != "" {
				on[p.Spec.SchedulerName]++
			}
		}
		require.Equal(t, 10, on["one"]+on["two"], "ten pods have room")
		require.Zero(t, on["three"])
		require.NotZero(t, on["one"]*on["two"])
	})
}

// A pod whose marking or whose deletion the API refuses is not deleted, and neither is any other for the same
// end; others make room.
func TestPodsThatMayNotBePreemptedAreSpared(t *testing.T) {
	for _, verb := range []string{"patch", "delete"} {
		withFaults(t, scheduler.Options{}, func(ctx context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
			if r.Resource.Resource == "pods" && r.Name == "protected" && r.Verb() == verb {
				return nil, refuse(r.Name)
			}
			return send()
		}, func(t *testing.T, c *controllertest.Cluster) {
			priorities(c, map[string]int32{"low": 1, "lower": 0, "high": 2})
			kubelets(c, time.Second)
			addNode(c, "a", "4", "10")
			addNode(c, "b", "4", "10")
			create(c, "protected", "4", class("lower"), to("a"))
			create(c, "other", "4", class("low"), to("b"))
			c.Settle()
			gone := preempted(c)
			create(c, "high", "4", class("high"))
			c.Sleep(time.Minute)
			require.Equal(t, "a", get(c, "protected").Spec.NodeName)
			require.Equal(t, "b", get(c, "high").Spec.NodeName)
			require.Equal(t, map[string]int{"b": 1}, gone())
		})
	}
}

// A delete that fails is tried again for the same victims; nothing else goes.
func TestEvictionsThatFailGoOn(t *testing.T) {
	failures := 0
	withFaults(t, scheduler.Options{}, func(ctx context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
		if v := r.Verb(); r.Resource.Resource == "pods" && (v == "patch" || v == "delete" || v == "update") && failures < 8 {
			failures++
			if v == "delete" && failures%2 == 0 {
				_, _ = send()
			}
			return nil, errLost
		}
		return send()
	}, func(t *testing.T, c *controllertest.Cluster) {
		priorities(c, map[string]int32{"low": 1, "high": 2})
		kubelets(c, time.Second)
		for _, n := range []string{"a", "b", "c"} {
			addNode(c, n, "4", "10")
			for i := range 4 {
				create(c, fmt.Sprintf("low-%s-%d", n, i), "1", class("low"), to(n))
			}
		}
		c.Settle()
		gone := preempted(c)
		create(c, "high", "3", class("high"))
		c.Sleep(3 * time.Minute)
		require.Equal(t, 8, failures)
		require.Equal(t, map[string]int{get(c, "high").Spec.NodeName: 3}, gone())
	})
}

// A scheduler that takes over knows for whom room is being made.
func TestNominationsOutliveTheScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		add := func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) }
		stop := c.Run(c.Manager("one", add))
		priorities(c, map[string]int32{"low": 1, "middle": 2, "high": 3})
		kubelets(c, time.Minute)
		addNode(c, "a", "4", "10")
		addNode(c, "b", "4", "10")
		create(c, "low-a", "4", class("low"), to("a"))
		create(c, "low-b", "4", class("middle"), to("b"))
		c.Settle()
		gone := preempted(c)
		create(c, "high", "4", class("high"))
		c.Sleep(time.Second)
		require.Equal(t, "a", get(c, "high").Status.NominatedNodeName)
		stop()
		create(c, "middle", "1", class("middle"))
		c.Run(c.Manager("two", add))
		c.Sleep(2 * time.Minute)
		require.Equal(t, "a", get(c, "high").Spec.NodeName)
		require.Empty(t, get(c, "middle").Spec.NodeName)
		require.Equal(t, map[string]int{"a": 1}, gone())
	})
}

// Changes of pods that are being tried are taken in beside the try, which goes on with the pod that it began
// with. The race detector watches over that.
func TestPodsChangeWhileTheyAreTried(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "10", "100")
		for i := range 60 {
			name := fmt.Sprintf("p%02d", i)
			create(c, name, "1")
			for n := range 3 {
				controllertest.Update(c, "default", name, func(p *corev1.Pod) { p.Labels = map[string]string{"n": fmt.Sprint(n)} })
			}
		}
		c.Sleep(time.Minute)
		placed := 0
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			if p.Spec.NodeName != "" {
				placed++
			}
		}
		require.Equal(t, 10, placed)
	})
}

// An informer of another part of the program that cannot sync does not delay the scheduler.
func TestOtherInformersDoNotDelayTheScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		c.Run(c.ManagerOver(c.Conn(client.User{Name: "system:kube-scheduler"}), "scheduler", func(m *manager.Manager) error {
			informers.For[*corev1.Secret](m.Informers()) // which the user may not read
			return scheduler.Add(m, scheduler.Options{})
		}))
		addNode(c, "n", "4", "10")
		create(c, "web", "1")
		c.Sleep(5 * time.Second)
		require.Equal(t, "n", get(c, "web").Spec.NodeName)
	})
}
