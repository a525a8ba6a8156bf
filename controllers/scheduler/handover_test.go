package scheduler_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
)

// Two schedulers of one name elect a leader. Now and then one is cut off from the server, loses responses, or
// is started again, while pods come. No pod is ever given another node, and no node more than it has; at the
// end no pod waits that fits.
func TestHandOver(t *testing.T) {
	for _, seed := range seeds.Of(t, 8) {
		synctest.Test(t, func(t *testing.T) { handOver(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

var schedulerLease = types.NamespacedName{Namespace: "kube-system", Name: "kube-scheduler"}

// replica runs a scheduler that takes part in the election, again and again, as a process that is started
// again when it has lost the lease.
func replica(c *controllertest.Cluster, name string) (stop func()) {
	conn := c.Conn(client.User{Name: name, Groups: []string{"system:masters"}})
	return c.Run(manager.Func(func(ctx context.Context) error {
		for ctx.Err() == nil {
			m := manager.New(conn, manager.Options{Lease: schedulerLease, Election: leaderelection.Options{Identity: name},
				Logger: slog.New(slog.DiscardHandler), Informers: informers.SetOptions{Timeout: 24 * time.Hour}})
			if err := scheduler.Add(m, scheduler.Options{}); err != nil {
				return err
			}
			if err := m.Run(ctx); err != nil {
				time.Sleep(time.Second)
			}
		}
		return nil
	}))
}

func handOver(t *testing.T, seed uint64) {
	r := seeds.Rand(seed)
	c := controllertest.Start(t, controllertest.Options{Seed: seed})
	priorities(c, map[string]int32{"p0": 0})
	_, l := watched(t, c, seed, r, 3+r.IntN(3))
	stops := map[string]func(){}
	for _, name := range []string{"first", "second"} {
		stops[name] = replica(c, name)
	}
	c.Sleep(10 * time.Second)
	leader := func() string {
		for {
			holder := controllertest.Get[*coordinationv1.Lease](c, schedulerLease.Namespace, schedulerLease.Name).Spec.HolderIdentity
			if holder != nil && *holder != "" {
				return *holder
			}
			c.Sleep(time.Second)
		}
	}
	leaders := map[string]bool{}
	for i := range 30 {
		create(c, fmt.Sprintf("p%02d", i), fmt.Sprintf("%dm", 100+r.IntN(900)), class("p0"))
		leaders[leader()] = true
		of := controllertest.Requests{User: []string{"first", "second"}[r.IntN(2)]}
		switch r.IntN(6) {
		case 0:
			of.User = leader()
			cut := c.Partition(of)
			c.Sleep(time.Duration(5+r.IntN(40)) * time.Second)
			cut.Remove()
		case 1:
			of.Verbs, of.Resource = []string{"create"}, "pods/binding"
			lost := c.Inject(controllertest.Fault{Requests: of, Effect: controllertest.LoseReply(), Optional: true})
			c.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
			lost.Remove()
		case 2:
			stops[of.User]()
			stops[of.User] = replica(c, of.User)
		default:
			c.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		}
	}
	cut := c.Partition(controllertest.Requests{User: leader()})
	create(c, "last", "1m", class("p0"))
	c.Sleep(time.Minute)
	leaders[leader()] = true
	cut.Remove()
	c.Sleep(10 * time.Minute)
	require.Len(t, leaders, 2, "seed %d", seed)
	for _, p := range controllertest.List[*corev1.Pod](c, "default") {
		if p.Spec.NodeName != "" {
			continue
		}
		for on, cpu := range l.nodes {
			require.Greater(t, milliCPU(p)+l.used(on, -1), cpu, "seed %d: pod %s could be on %s; it says %q", seed, p.Name, on, scheduled(p).Message)
		}
	}
}
