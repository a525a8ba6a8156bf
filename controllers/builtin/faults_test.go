package builtin_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/store/authz"
)

// writes selects the writes of processes that are steps of their work.
var writes = controllertest.Requests{Verbs: []string{"create", "update", "patch", "delete", "deletecollection"}, Matches: func(a authz.Attributes) bool {
	return process.Matches(a) && a.Resource != "events" && a.Resource != "leases"
}}

// A process that gets no answer to some of its writes, and cannot know that they were made, makes each of
// them once all the same.
func TestLostAnswers(t *testing.T) {
	all, opts := histories(t)
	for _, r := range all {
		t.Run(r.controller, func(t *testing.T) {
			want := r.undisturbed(t, opts)
			for _, even := range []bool{true, false} { // so that each write is lost in one of them
				got := r.play(t, func(c *controllertest.Cluster) func() {
					lose(c, func(n int64) bool { return (n%2 == 0) == even })
					r.start(c, "first", opts)
					return nil
				})
				require.Equal(t, want, got, "the answers to even writes, counted from 0, are lost: %t", even)
			}
		})
	}
}

// A process whose watches are late does what one does whose copies are current.
func TestLateWatches(t *testing.T) {
	all, opts := histories(t)
	for _, r := range all {
		t.Run(r.controller, func(t *testing.T) {
			want := r.undisturbed(t, opts)
			got := r.play(t, func(c *controllertest.Cluster) func() {
				late(c, "first", 2*time.Second)
				r.start(c, "first", opts)
				c.Sleep(10 * time.Second)
				return nil
			})
			require.Equal(t, want, got)
		})
	}
}

// A process that gets no answer to some of its writes, and whose watches are late, so that it does not see
// what it wrote either, makes each of them once all the same. Which writes and how late depends on the seed.
func TestFaultsOfLostAnswersAndLateWatches(t *testing.T) {
	all, opts := histories(t)
	for _, seed := range seeds.Slow(t, 1, 5828439454) {
		for i, r := range all {
			t.Run(fmt.Sprint(r.controller, "/seed=", seed), func(t *testing.T) {
				draw := seeds.Stream(seed, uint64(i))
				every, first, by := 2+draw.Int64N(3), draw.Int64N(4), time.Duration(1+draw.Int64N(5000))*time.Millisecond
				want := r.undisturbed(t, opts)
				got := r.play(t, func(c *controllertest.Cluster) func() {
					late(c, "first", by)
					lose(c, func(n int64) bool { return n%every == first%every })
					r.start(c, "first", opts)
					c.Sleep(2 * by)
					return func() { c.Sleep(time.Minute) }
				})
				require.Equal(t, want, got, "of every %d writes one is lost, %d of them before; watches are %s late", every, first%every, by)
			})
		}
	}
}

// lose loses the answers to the writes of processes whose numbers, counted from 0, are chosen.
func lose(c *controllertest.Cluster, chosen func(n int64) bool) {
	var next atomic.Int64
	reply := controllertest.LoseReply()
	c.Inject(controllertest.Fault{Requests: writes, Optional: true, Effect: func(w http.ResponseWriter, req *http.Request, handle http.HandlerFunc) {
		if chosen(next.Add(1) - 1) {
			reply(w, req, handle)
			return
		}
		handle(w, req)
	}})
}

// oldCopies is how late the watches of the replica that takes over are.
const oldCopies = 5 * time.Second

// A replica whose copies are behind, because its watches are late, takes over from a leader that ends at one
// of its writes, before it has got the last ones: it makes none of them again.
func TestTakeOverWithOldCopies(t *testing.T) {
	all, opts := histories(t)
	for _, r := range all {
		t.Run(r.controller, func(t *testing.T) {
			r.takenOver(t, opts, func(c *controllertest.Cluster, name string, crash *controllertest.Crashed) manager.Elector {
				if name == "first" {
					return &turn{c: c}
				}
				return &turn{c: c, after: crash}
			})
		})
	}
}

// The same with a Lease.
func TestTakeOverByALease(t *testing.T) {
	_, opts := histories(t)
	i := slices.IndexFunc(restarts, func(r restart) bool { return r.controller == "replicaset-controller" })
	restarts[i].takenOver(t, opts, func(c *controllertest.Cluster, name string, _ *controllertest.Crashed) manager.Elector {
		lock := leaselock.New(c.Conn(of(name, starter)), types.NamespacedName{Namespace: "kube-system", Name: "controllers"}, leaselock.Options{})
		elector, err := leaderelection.New(lock, leaderelection.Options{Identity: name, LeaseDuration: 2 * time.Second, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: 300 * time.Millisecond})
		require.NoError(t, err)
		return elector
	})
}

// takenOver plays the history with a leader that ends at each of its writes. elector returns that of a
// process.
func (r *restart) takenOver(t *testing.T, opts builtin.Options, elector func(*controllertest.Cluster, string, *controllertest.Crashed) manager.Elector) {
	want := r.undisturbed(t, opts)
	for n, ended := 0, true; ended && !((r.long || testing.Short()) && n == 2); n++ {
		got := r.play(t, func(c *controllertest.Cluster) func() {
			late(c, "second", oldCopies)
			crash := c.Crash(from("first"), n, true)
			for _, name := range []string{"first", "second"} {
				r.stand(c, name, opts, elector(c, name, crash))
				c.Sleep(2 * oldCopies)
			}
			return func() {
				if ended = crash.Happened(); ended {
					c.Sleep(time.Minute)
				}
			}
		})
		require.Equal(t, want, got, "the leader ended after its write %d", n)
	}
}

// turn is an election that a process wins at once, or a second after the crash of another one.
type turn struct {
	c     *controllertest.Cluster
	after *controllertest.Crashed
	since string
}

func (e *turn) Run(ctx context.Context, lead func(context.Context) error) error {
	if e.after != nil {
		for !e.after.Happened() {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil
			}
		}
		list, err := client.For[*corev1.Namespace](e.c.Admin()).List(ctx, client.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		e.since = list.ResourceVersion
	}
	return lead(ctx)
}

// Since is the version that the server has when the process wins, as with a Lease.
func (e *turn) Since() string { return e.since }

// from selects the requests of a process.
func from(name string) controllertest.Requests {
	return controllertest.Requests{Matches: func(a authz.Attributes) bool {
		return process.Matches(a) && slices.Equal(a.User.Extra["process"], []string{name})
	}}
}

// late makes the watches of a process late, but for those of Leases.
func late(c *controllertest.Cluster, name string, by time.Duration) {
	of := from(name)
	// The garbage collector watches only while it leads.
	c.Inject(controllertest.Fault{Effect: controllertest.Lag(by), Optional: name == "second", Requests: controllertest.Requests{Verbs: []string{"watch"}, Matches: func(a authz.Attributes) bool {
		return of.Matches(a) && a.Resource != "leases"
	}}})
}

// stand starts a process that runs the controller while it leads. It may lose that.
func (r *restart) stand(c *controllertest.Cluster, name string, opts builtin.Options, elector manager.Elector) {
	m := c.ManagerOver(c.Conn(of(name, starter)), name, func(m *manager.Manager) error { return r.add(c, m.Under("lease", elector), name, opts) })
	c.Run(manager.Func(func(ctx context.Context) error {
		_ = m.Run(ctx)
		<-ctx.Done()
		return nil
	}))
}
