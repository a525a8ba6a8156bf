package leaseelection_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/leaseelection"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/candidate"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/store/apiserver"
)

func add(m *manager.Manager) error { return leaseelection.Add(m, leaseelection.Options{}) }

// start starts a cluster that serves LeaseCandidates.
func start(t testing.TB, o controllertest.Options) *controllertest.Cluster {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, errors.Join(coordinationv1beta1.AddToScheme(served), coordinationv1beta1.AddRules(served)))
	o.Scheme = api.Scheme().Clone()
	require.NoError(t, coordinationv1beta1.AddToScheme(o.Scheme))
	o.Server.Scheme = served
	return controllertest.Start(t, o)
}

// fleet are processes that compete for the lease default/work.
type fleet struct {
	t     *testing.T
	c     *controllertest.Cluster
	draws *seeds.Draws // nil: waits are not repeated

	mu      sync.Mutex
	leaders []string
	most    int // leaders at a time
}

type process struct {
	name, emulates string
	stop           func()
	silent         chan struct{} // closed: its requests are lost
}

// start starts a process. It is a candidate, and leads while it is the leader, again and again.
func (f *fleet) start(name, binary, emulates string) *process {
	p := &process{name: name, emulates: emulates, silent: make(chan struct{})}
	conn := client.Intercept(f.c.Conn(), func(ctx context.Context, _ client.Call, send func(context.Context) error) error {
		select {
		case <-p.silent:
			<-ctx.Done()
			return ctx.Err()
		default:
			return send(ctx)
		}
	})
	one, err := candidate.New(conn, types.NamespacedName{Namespace: "default", Name: name}, "work", candidate.Options{BinaryVersion: binary, EmulationVersion: emulates})
	require.NoError(f.t, err)
	lock := leaselock.New(conn, types.NamespacedName{Namespace: "default", Name: "work"}, leaselock.Options{})
	elector, err := leaderelection.New(lock, leaderelection.Options{Identity: name, Coordinated: true})
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = one.Run(f.jitter(ctx, name+" candidate")) })
	running.Go(func() {
		ctx := f.jitter(ctx, name)
		for ctx.Err() == nil {
			err := elector.Run(ctx, func(ctx context.Context) error {
				f.lead(name, true)
				<-ctx.Done()
				f.lead(name, false)
				return nil
			})
			if err != nil && !errors.Is(err, leaderelection.ErrLost) {
				f.t.Errorf("%s: %v", name, err)
			}
		}
	})
	p.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	f.t.Cleanup(p.stop)
	return p
}

// jitter returns a context whose random waits follow from the seed.
func (f *fleet) jitter(ctx context.Context, name string) context.Context {
	if f.draws == nil {
		return ctx
	}
	return backoff.WithJitter(ctx, func() float64 { return f.draws.For(name).Float64() })
}

func (f *fleet) lead(name string, leads bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !leads {
		f.leaders = slices.DeleteFunc(f.leaders, func(n string) bool { return n == name })
		return
	}
	f.leaders = append(f.leaders, name)
	f.most = max(f.most, len(f.leaders))
}

func (f *fleet) leader() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	require.LessOrEqual(f.t, f.most, 1, "two leaders at a time")
	if len(f.leaders) == 0 {
		return ""
	}
	return f.leaders[0]
}

func (f *fleet) lease() *coordinationv1.Lease {
	return controllertest.Get[*coordinationv1.Lease](f.c, "default", "work")
}

// Of two versions of a component the older one leads, whichever came first, until it is gone.
func TestTheOlderVersionLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, c: start(t, controllertest.Options{Controllers: []controllertest.Adder{add}})}
		f.start("newer", "1.36.0", "1.36.0")
		time.Sleep(5 * time.Second)
		require.Equal(t, "newer", f.leader())
		require.Equal(t, coordinationv1.OldestEmulationVersion, *f.lease().Spec.Strategy)

		older := f.start("older", "1.36.1", "1.35.0")
		time.Sleep(15 * time.Second)
		require.Equal(t, "older", f.leader(), "the holder has handed over")
		l := f.lease()
		require.Equal(t, "older", *l.Spec.HolderIdentity)
		require.Nil(t, l.Spec.PreferredHolder)
		require.EqualValues(t, 15, *l.Spec.LeaseDurationSeconds, "the holder's own")

		// One of the same version that is younger changes nothing.
		f.start("younger", "1.36.1", "1.35.0")
		time.Sleep(time.Minute)
		require.Equal(t, "older", f.leader())
		transitions := *f.lease().Spec.LeaseTransitions

		older.stop()
		require.False(t, controllertest.Exists[*coordinationv1beta1.LeaseCandidate](f.c, "default", "older"))
		time.Sleep(15 * time.Second)
		require.Equal(t, "younger", f.leader())
		require.Greater(t, *f.lease().Spec.LeaseTransitions, transitions)
	})
}

// A leader that is lost is replaced when its lease has expired, and its candidate is deleted after half an
// hour. One that says nothing is not elected.
func TestALostLeaderIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, c: start(t, controllertest.Options{Controllers: []controllertest.Adder{add}})}
		lost := f.start("lost", "1.35.0", "1.35.0")
		f.start("other", "1.36.0", "1.36.0")
		time.Sleep(15 * time.Second)
		require.Equal(t, "lost", f.leader())
		close(lost.silent)
		time.Sleep(45 * time.Second)
		require.Equal(t, "other", f.leader())
		require.True(t, controllertest.Exists[*coordinationv1beta1.LeaseCandidate](f.c, "default", "lost"))
		time.Sleep(31 * time.Minute)
		require.False(t, controllertest.Exists[*coordinationv1beta1.LeaseCandidate](f.c, "default", "lost"))
		require.True(t, controllertest.Exists[*coordinationv1beta1.LeaseCandidate](f.c, "default", "other"))
		require.Equal(t, "other", f.leader())
	})
}

// The strategy of a name with a domain is left to its own controller, and candidates of one version that
// differ in it elect no leader.
func TestOtherStrategies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, controllertest.Options{})
		make := func(name, lease string, strategy coordinationv1.CoordinatedLeaseStrategy) {
			one, err := candidate.New(c.Conn(), types.NamespacedName{Namespace: "default", Name: name}, lease, candidate.Options{BinaryVersion: "1.36.0", Strategy: strategy})
			require.NoError(t, err)
			c.Run(one)
		}
		make("a", "own", "example.com/Random")
		make("b", "both", "example.com/Random")
		make("c", "both", coordinationv1.OldestEmulationVersion)
		time.Sleep(time.Second)
		c.Run(c.Manager("server", add)) // or the first candidate might be elected before the second comes
		time.Sleep(10 * time.Second)
		l := controllertest.Get[*coordinationv1.Lease](c, "default", "own")
		require.EqualValues(t, "example.com/Random", *l.Spec.Strategy)
		require.Nil(t, l.Spec.HolderIdentity)
		require.False(t, controllertest.Exists[*coordinationv1.Lease](c, "default", "both"))
	})
}

// Random histories: processes come, go and fall silent, and the server that elects is replaced. There is
// never more than one leader, and in the end the one with the oldest version leads.
func TestHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { history(t, seed) })
		})
	}
}

func history(t *testing.T, seed uint64) {
	f := &fleet{t: t, c: start(t, controllertest.Options{Seed: seed}), draws: seeds.NewDraws(seed)}
	rng := f.draws.For("history")
	server := f.c.Run(f.c.Manager("server", add))
	versions := []string{"1.33.0", "1.34.0", "1.35.0", "1.36.0"}
	var running []*process
	for step := range 40 {
		time.Sleep(time.Duration(rng.IntN(20_000)) * time.Millisecond)
		_ = f.leader()
		switch n := rng.IntN(10); {
		case n < 4 && len(running) < 5 || len(running) == 0:
			v := rng.IntN(len(versions))
			running = append(running, f.start(fmt.Sprintf("p%d", step), versions[v+rng.IntN(len(versions)-v)], versions[v]))
		case n < 7:
			i := rng.IntN(len(running))
			running[i].stop()
			running = slices.Delete(running, i, i+1)
		case n < 9:
			i := rng.IntN(len(running))
			close(running[i].silent)
			running = slices.Delete(running, i, i+1)
		default:
			server()
			server = f.c.Run(f.c.Manager("server", add))
		}
	}
	if len(running) == 0 {
		running = append(running, f.start("last", "1.36.0", "1.36.0"))
	}
	time.Sleep(2 * time.Minute)
	oldest := slices.MinFunc(running, func(a, b *process) int { return strings.Compare(a.emulates, b.emulates) }).emulates
	leader := f.leader()
	i := slices.IndexFunc(running, func(p *process) bool { return p.name == leader })
	require.GreaterOrEqual(t, i, 0, "%q leads, and is no longer there", leader)
	require.Equal(t, oldest, running[i].emulates)
}

// The replicas of an operator elect the one of the oldest version.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t, controllertest.Options{Controllers: []controllertest.Adder{add}})
		for _, version := range []string{"2.1.0", "2.0.0"} {
			m := manager.New(c.Conn(), manager.Options{
				Lease: types.NamespacedName{Namespace: "default", Name: "operator"}, Election: leaderelection.Options{Identity: "operator-" + version},
				Candidate: &candidate.Options{BinaryVersion: version},
			})
			c.Run(manager.Func(func(ctx context.Context) error {
				if err := m.Run(ctx); !errors.Is(err, leaderelection.ErrLost) {
					return err
				}
				<-ctx.Done() // a program exits, and is started again
				return nil
			}))
		}
		time.Sleep(time.Minute)
		fmt.Println(*controllertest.Get[*coordinationv1.Lease](c, "default", "operator").Spec.HolderIdentity)
	})
	// Output: operator-2.0.0
}

func TestACandidateNeedsALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, controllertest.Options{})
		err := manager.New(c.Conn(), manager.Options{Candidate: &candidate.Options{BinaryVersion: "1.0.0"}}).Run(t.Context())
		require.ErrorContains(t, err, "needs a Lease")
		err = manager.New(c.Conn(), manager.Options{Lease: types.NamespacedName{Namespace: "default", Name: "x"}, Candidate: &candidate.Options{}}).Run(t.Context())
		require.ErrorContains(t, err, "spec.binaryVersion")
	})
}
