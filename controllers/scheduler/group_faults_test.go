package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// runGroups runs a scheduler of groups whose calls go through do.
func runGroups(c *controllertest.Cluster, opts scheduler.Options, do func(ctx context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error)) (stop func()) {
	opts.PodGroups = true
	if opts.Profiles == nil {
		opts.Profiles = []*scheduler.Profile{gangs()}
	}
	return c.Run(c.ManagerOver(faulty{c.Conn(), do}, "scheduler", func(m *manager.Manager) error { return scheduler.Add(m, opts) }))
}

func direct(_ context.Context, _ *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
	return send()
}

// The scheduler ends when half of a gang is bound; the next one counts these, and binds the others.
func TestAHalfBoundGangIsCompletedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, servesGroups(t, controllertest.Options{}))
		var sent atomic.Int32
		stop := runGroups(c, scheduler.Options{}, func(ctx context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
			if isBinding(r) && sent.Add(1) > 2 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return send()
		})
		addNode(c, "a", "4", "10")
		controllertest.Create(c, newGroup("g", 4))
		createMembers(c, "g", 4, "1")
		c.Sleep(time.Second)
		require.Equal(t, 2, boundMembers(c, "g"))
		stop()
		runGroups(c, scheduler.Options{}, direct)
		c.Sleep(time.Minute)
		require.Equal(t, 4, boundMembers(c, "g"))
		require.Equal(t, metav1.ConditionTrue, groupCondition(c, "g").Status)
	})
}

// A binding of a gang is refused: the others are bound, and the next try is about that pod alone.
func TestARefusedBindingOfAGangIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, servesGroups(t, controllertest.Options{}))
		var once atomic.Bool
		runGroups(c, scheduler.Options{}, func(_ context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
			if isBinding(r) && r.Name == "g-1" && once.CompareAndSwap(false, true) {
				return nil, refuse(r.Name)
			}
			return send()
		})
		addNode(c, "a", "3", "10")
		controllertest.Create(c, newGroup("g", 3))
		createMembers(c, "g", 3, "1")
		c.Sleep(500 * time.Millisecond)
		require.Equal(t, 2, boundMembers(c, "g"))
		c.Sleep(5 * time.Second)
		require.Equal(t, 3, boundMembers(c, "g"))
	})
}

// Random gangs and single pods come and go, members are deleted at any moment, the scheduler is restarted,
// and a fifth of its calls fail. No node is ever given more than it has; at the end no gang waits that fits.
func TestHistoriesOfGangs(t *testing.T) {
	for _, seed := range seeds.Of(t, 12) {
		synctest.Test(t, func(t *testing.T) { gangHistory(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func gangHistory(t *testing.T, seed uint64) {
	r := seeds.Rand(seed)
	c := controllertest.Start(t, servesGroups(t, controllertest.Options{Seed: seed}))
	priorities(c, map[string]int32{"p0": 0})
	x, l := watched(t, c, seed, r, 2+r.IntN(3))
	run := func() func() {
		return runGroups(c, scheduler.Options{Random: func(n int) int { return x.choose("scheduler", n) }}, x.do)
	}
	stop := run()
	least := map[string]int{}
	var names []string
	for i := range 40 {
		switch n := r.IntN(10); {
		case n < 3:
			group := fmt.Sprintf("g%02d", i)
			count := 1 + r.IntN(4)
			least[group] = 1 + r.IntN(count)
			controllertest.Create(c, newGroup(group, int32(least[group])))
			for k := range count {
				name := fmt.Sprint(group, "-", k)
				names = append(names, name)
				create(c, name, "1", class("p0"), memberOf(group))
			}
		case n < 5:
			name := fmt.Sprintf("p%02d", i)
			names = append(names, name)
			create(c, name, "1", class("p0"))
		case n < 8 && len(names) > 0:
			k := r.IntN(len(names))
			_ = client.For[*corev1.Pod](c.Admin()).Delete(t.Context(), types.NamespacedName{Namespace: "default", Name: names[k]})
			names = slices.Delete(names, k, k+1)
		case n == 8 && r.IntN(3) == 0:
			stop()
			stop = run()
		default:
			c.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		}
	}
	x.off.Store(true)
	c.Sleep(20 * time.Minute)
	free := int64(0)
	for on, cpu := range l.nodes {
		free += (cpu - l.used(on, -1)) / 1000
	}
	bound, waiting := map[string]int{}, map[string]int{}
	for _, p := range controllertest.List[*corev1.Pod](c, "default") {
		group := p.Name
		if g := p.Spec.SchedulingGroup; g != nil {
			group = *g.PodGroupName
		}
		if p.Spec.NodeName != "" {
			bound[group]++
		} else {
			waiting[group]++
		}
	}
	for group, n := range waiting {
		need := max(least[group]-bound[group], 1)
		require.True(t, need > n || int64(need) > free, "seed %d: %d of %s wait, %d are bound of at least %d, and there is room for %d",
			seed, n, group, bound[group], least[group], free)
	}
}
