package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// chaos makes the writes of a scheduler fail: some are not sent, the answers of some are lost, some arrive
// late, some the server refuses. What happens to a call depends on the calls like it alone, because calls run
// in any order.
type chaos struct {
	draws *seeds.Draws
	off   atomic.Bool
}

func (x *chaos) choose(name string, n int) int {
	if x.off.Load() {
		return n - 1
	}
	return x.draws.For(name).IntN(n)
}

func (x *chaos) do(_ context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
	if r.Resource.Resource != "pods" || r.Verb() == "list" || r.Verb() == "watch" {
		return send()
	}
	call := r.Verb() + " " + r.Name + "/" + r.Subresource
	// What follows a call must not depend on the order in which goroutines run at one instant. Sums of these
	// times are not in the middle of a microsecond, when the cluster chooses the next request.
	time.Sleep(time.Duration(7 * x.draws.For("duration of "+call).IntN(71)))
	switch x.choose(call, 20) {
	case 0:
		return nil, errLost
	case 1:
		_, _ = send()
		return nil, errLost
	case 2:
		if r.Verb() == "get" {
			return nil, errLost
		}
		go func() {
			time.Sleep(time.Duration(x.choose("late "+call, 1000)) * time.Millisecond)
			_, _ = send()
		}()
		return nil, errLost
	case 3:
		return nil, refuse(r.Name)
	case 4:
		return nil, apierrors.NewInternalError(errLost)
	}
	return send()
}

// ledger checks what every moment must satisfy, from the events of pods.
type ledger struct {
	t     *testing.T
	seed  uint64
	nodes map[string]int64 // milli CPU
	pods  map[types.UID]*corev1.Pod
	// ever are the nodes that pods were seen on.
	ever map[types.UID]string
}

func (l *ledger) see(e client.Event[*corev1.Pod]) {
	p := e.Object
	if e.Type == client.Deleted {
		delete(l.pods, p.UID)
		return
	}
	l.pods[p.UID] = p
	if p.Spec.NodeName != "" {
		if on := l.ever[p.UID]; on != "" && on != p.Spec.NodeName {
			l.t.Errorf("seed %d: pod %s moved from %s to %s", l.seed, p.Name, on, p.Spec.NodeName)
		}
		l.ever[p.UID] = p.Spec.NodeName
	}
	marks := 0
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget {
			marks++
		}
	}
	if marks > 1 || marks == 1 && *p.Spec.Priority == int32(len(classes)-1) {
		l.t.Errorf("seed %d: pod %s of priority %d has %d marks", l.seed, p.Name, *p.Spec.Priority, marks)
	}
	for on, cpu := range l.nodes {
		if used := l.used(on, -1); used > cpu {
			l.t.Errorf("seed %d: node %s is given %d of %d", l.seed, on, used, cpu)
		}
	}
}

// used is what the pods of a node use that are at least that important.
func (l *ledger) used(on string, priority int32) (sum int64) {
	for _, p := range l.pods {
		if p.Spec.NodeName == on && p.Status.Phase != corev1.PodSucceeded && *p.Spec.Priority >= priority {
			sum += milliCPU(p)
		}
	}
	return sum
}

var classes = []string{"p0", "p1", "p2", "p3"}

// Random pods of two scheduler names come and go while a fifth of the scheduler's calls fail in one of five
// ways. At no moment is a node given more than it has; at the end, when the faults are over, no pod waits
// that fits somewhere, be it beside more important pods only.
func TestHistoriesWithLostAnswers(t *testing.T) {
	for _, seed := range seeds.Of(t, 12, 16) {
		synctest.Test(t, func(t *testing.T) { history(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// watched makes nodes of random sizes, whose kubelets take a random time, and watches what they are given.
func watched(t *testing.T, c *controllertest.Cluster, seed uint64, r *rand.Rand, nodes int) (*chaos, *ledger) {
	l := &ledger{t: t, seed: seed, nodes: map[string]int64{}, pods: map[types.UID]*corev1.Pod{}, ever: map[types.UID]string{}}
	for i := range nodes {
		name, cpu := fmt.Sprintf("node-%d", i), int64(1+r.IntN(4))
		quickNode(c, name, fmt.Sprint(cpu))
		l.nodes[name] = 1000 * cpu
	}
	kubelets(c, time.Duration(r.IntN(3000))*time.Millisecond)
	controllertest.Watch(c, "default", l.see)
	return &chaos{draws: seeds.NewDraws(seed)}, l
}

func history(t *testing.T, seed uint64) {
	r := seeds.Rand(seed)
	c := controllertest.Start(t, controllertest.Options{Seed: seed})
	for i, name := range classes {
		priorities(c, map[string]int32{name: int32(i)})
	}
	x, l := watched(t, c, seed, r, 2+r.IntN(4))
	run := func() func() {
		return c.Run(c.ManagerOver(faulty{c.Conn(), x.do}, "scheduler", func(m *manager.Manager) error {
			return scheduler.Add(m, scheduler.Options{Names: []string{"one", "two"}, Random: func(n int) int { return x.choose("scheduler", n) }})
		}))
	}
	stop := run()
	names := []string{}
	for i := range 60 {
		switch n := r.IntN(10); {
		case n < 6:
			name := fmt.Sprintf("p%02d", i)
			names = append(names, name)
			create(c, name, fmt.Sprintf("%dm", 1+r.IntN(2000)), class(classes[r.IntN(len(classes))]), func(p *corev1.Pod) {
				p.Spec.SchedulerName = []string{"one", "two"}[r.IntN(2)]
			})
		case n < 8 && len(names) > 0:
			i := r.IntN(len(names))
			_ = client.For[*corev1.Pod](c.Admin()).Delete(t.Context(), types.NamespacedName{Namespace: "default", Name: names[i]})
			names = slices.Delete(names, i, i+1)
		case n == 8 && r.IntN(4) == 0:
			stop()
			stop = run()
		default:
			c.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		}
	}
	x.off.Store(true)
	c.Sleep(20 * time.Minute)
	for _, p := range controllertest.List[*corev1.Pod](c, "default") {
		if p.Spec.NodeName != "" {
			continue
		}
		for on, cpu := range l.nodes {
			require.Greater(t, milliCPU(p)+l.used(on, *p.Spec.Priority), cpu, "seed %d: pod %s of priority %d could be on %s; it says %q",
				seed, p.Name, *p.Spec.Priority, on, scheduled(p).Message)
		}
	}
	for _, p := range controllertest.List[*corev1.Pod](c, "default") {
		require.Nil(t, p.DeletionTimestamp, "seed %d: %s", seed, p.Name)
	}
}
