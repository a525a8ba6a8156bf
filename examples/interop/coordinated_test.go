package interop

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/builtin/leaseelection"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	elections "github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/candidate"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// Candidates and electors of client-go and ours take part in one coordinated election of our server: the
// older version leads, and when it is gone the newer one.
func TestCoordinatedElection(t *testing.T) {
	for name, oldIsOurs := range map[string]bool{"ours is older": true, "client-go's is older": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				served, err := apiserver.BuiltinScheme()
				require.NoError(t, err)
				require.NoError(t, errors.Join(coordinationv1beta1.AddToScheme(served), coordinationv1beta1.AddRules(served)))
				known := api.Scheme().Clone()
				require.NoError(t, coordinationv1beta1.AddToScheme(known))
				c := controllertest.Start(t, controllertest.Options{Scheme: known, Server: apiserver.Options{Scheme: served},
					Controllers: []controllertest.Adder{func(m *manager.Manager) error { return leaseelection.Add(m, leaseelection.Options{}) }}})
				e := &coordinated{t: t, c: c}
				stop := map[bool]func(){}
				for _, our := range []bool{!oldIsOurs, oldIsOurs} { // the newer one first
					version := "1.36.0"
					if our == oldIsOurs {
						version = "1.35.0"
					}
					ctx, cancel := context.WithCancel(t.Context())
					var running sync.WaitGroup
					running.Go(func() { e.run(ctx, our, version) })
					stop[our] = sync.OnceFunc(func() { cancel(); running.Wait() })
					defer stop[our]()
					time.Sleep(30 * time.Second)
					require.Equal(t, []string{version}, e.leaders())
				}
				stop[oldIsOurs]()
				time.Sleep(time.Minute)
				require.Equal(t, []string{"1.36.0"}, e.leaders())
			})
		})
	}
}

type coordinated struct {
	t *testing.T
	c *controllertest.Cluster

	mu   sync.Mutex
	lead []string
}

func (e *coordinated) leaders() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.lead...)
}

func (e *coordinated) leading(version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lead = append(e.lead, version)
}

func (e *coordinated) stopped(version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, v := range e.lead {
		if v == version {
			e.lead = append(e.lead[:i:i], e.lead[i+1:]...)
			return
		}
	}
}

// run is a process of a version: a candidate, and an elector that tries again when it has lost.
func (e *coordinated) run(ctx context.Context, our bool, version string) {
	var running sync.WaitGroup
	defer running.Wait()
	if our {
		name := "keelson-" + version
		one, err := candidate.New(e.c.Conn(), types.NamespacedName{Namespace: "default", Name: name}, "work", candidate.Options{BinaryVersion: version})
		require.NoError(e.t, err)
		running.Go(func() { _ = one.Run(ctx) })
		elector, err := elections.New(leaselock.New(e.c.Conn(), types.NamespacedName{Namespace: "default", Name: "work"}, leaselock.Options{}), elections.Options{Identity: name, Coordinated: true})
		require.NoError(e.t, err)
		for ctx.Err() == nil {
			_ = elector.Run(ctx, func(ctx context.Context) error { // it ends with ctx, or has lost
				e.leading(version)
				defer e.stopped(version)
				<-ctx.Done()
				return nil
			})
		}
		return
	}
	name, cs := "client-go-"+version, clientset(e.t, clientGo(e.c, protoType))
	one, informers, err := leaderelection.NewCandidate(cs, "default", name, "work", version, version, coordinationv1.OldestEmulationVersion)
	require.NoError(e.t, err)
	running.Go(func() { one.Run(ctx) })
	defer informers.WaitForCacheSync(ctx.Done())
	for ctx.Err() == nil {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "work"}, Client: cs.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: name}},
			Coordinated: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { e.leading(version) },
				OnStoppedLeading: func() { e.stopped(version) },
			},
		})
	}
}
