package leaselock_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/leaderelection/locktest"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/pipenet"
)

var key = types.NamespacedName{Namespace: "kube-system", Name: "my-operator"}

// serve runs f with an API server, in a bubble. connect makes a connection to it.
func serve(t *testing.T, f func(t *testing.T, connect func() *rest.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := apiserver.New(apiserver.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		listener := pipenet.New()
		server := &http.Server{Handler: s}
		var running sync.WaitGroup
		running.Go(func() { _ = s.Run(ctx) })
		running.Go(func() { _ = server.Serve(listener) })
		var conns []*rest.Conn
		connect := func() *rest.Conn {
			c, err := rest.New(rest.Config{Host: "http://memory", Dial: listener.Dial}, rest.Options{})
			require.NoError(t, err)
			conns = append(conns, c)
			return c
		}
		time.Sleep(time.Second) // bootstrap
		f(t, connect)
		for _, c := range conns {
			require.NoError(t, c.Close())
		}
		cancel()
		require.NoError(t, server.Close())
		running.Wait()
	})
}

func TestLock(t *testing.T) {
	serve(t, func(t *testing.T, connect func() *rest.Conn) {
		a, b := connect(), connect()
		leases := client.For[*coordinationv1.Lease](a)
		for name, suite := range locktest.Suite() {
			err := leases.Delete(t.Context(), key)
			require.True(t, err == nil || apierrors.IsNotFound(err), err)
			t.Log(name)
			suite(t, leaselock.New(a, key, leaselock.Options{}), leaselock.New(b, key, leaselock.Options{}))
		}
	})
}

func TestLeaseLooksAsKubernetesWritesIt(t *testing.T) {
	serve(t, func(t *testing.T, connect func() *rest.Conn) {
		conn := connect()
		leases := client.For[*coordinationv1.Lease](conn)
		var events []string
		lock := leaselock.New(conn, key, leaselock.Options{
			Labels: map[string]string{"app": "my-operator"},
			Event: func(lease *coordinationv1.Lease, reason, message string) {
				require.Equal(t, key.Name, lease.Name)
				events = append(events, reason+": "+message)
			},
		})
		e, err := leaderelection.New(lock, leaderelection.Options{Identity: "pod-1"})
		require.NoError(t, err)
		require.NoError(t, e.Run(t.Context(), func(ctx context.Context) error {
			lease, err := leases.Get(ctx, key)
			require.NoError(t, err)
			require.Equal(t, "pod-1", *lease.Spec.HolderIdentity)
			require.Equal(t, int32(15), *lease.Spec.LeaseDurationSeconds)
			require.Equal(t, int32(0), *lease.Spec.LeaseTransitions)
			require.Equal(t, "my-operator", lease.Labels["app"])
			require.Equal(t, lease.Spec.AcquireTime.Time, lease.Spec.RenewTime.Time)

			// Changes of other clients to the Lease are kept.
			lease.Annotations = map[string]string{"note": "mine"}
			lease.Labels["team"] = "ours"
			_, err = leases.Update(ctx, lease)
			require.NoError(t, err)
			time.Sleep(20 * time.Second)
			require.True(t, e.IsLeader())
			lease, err = leases.Get(ctx, key)
			require.NoError(t, err)
			require.Equal(t, "mine", lease.Annotations["note"])
			require.Equal(t, "ours", lease.Labels["team"])
			require.Less(t, time.Since(lease.Spec.RenewTime.Time), 2*time.Second)
			return nil
		}))
		lease, err := leases.Get(t.Context(), key)
		require.NoError(t, err)
		require.Nil(t, lease.Spec.HolderIdentity)
		require.Equal(t, int32(1), *lease.Spec.LeaseDurationSeconds)
		require.Equal(t, []string{
			"LeaderElection: pod-1 became leader", "LeaderElection: pod-1 stopped leading",
		}, events)
	})
}

func TestHandOverThroughTheServer(t *testing.T) {
	serve(t, func(t *testing.T, connect func() *rest.Conn) {
		var leading atomic.Int32
		led := make(chan int, 10)
		var stops []context.CancelFunc
		var all sync.WaitGroup
		for i := range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			stops = append(stops, cancel)
			e, err := leaderelection.New(leaselock.New(connect(), key, leaselock.Options{}), leaderelection.Options{})
			require.NoError(t, err)
			all.Go(func() {
				err := e.Run(ctx, func(ctx context.Context) error {
					if leading.Add(1) != 1 {
						t.Error("two leaders")
					}
					led <- i
					<-ctx.Done()
					time.Sleep(500 * time.Millisecond)
					leading.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			time.Sleep(10 * time.Second)
		}
		for range stops {
			stopped := time.Now()
			leader := <-led
			require.Less(t, time.Since(stopped), time.Second)
			time.Sleep(time.Minute)
			stops[leader]()
		}
		all.Wait()
	})
}

// noWatch is a connection that may not watch.
type noWatch struct{ client.Conn }

func (noWatch) Stream(context.Context, *client.Request) (*client.Stream, error) {
	return nil, apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "", nil)
}

func TestWithoutWatchCandidatesPoll(t *testing.T) {
	serve(t, func(t *testing.T, connect func() *rest.Conn) {
		run := func(ctx context.Context, led chan<- time.Time) <-chan error {
			e, err := leaderelection.New(leaselock.New(noWatch{connect()}, key, leaselock.Options{}), leaderelection.Options{})
			require.NoError(t, err)
			result := make(chan error, 1)
			go func() {
				result <- e.Run(ctx, func(ctx context.Context) error {
					led <- time.Now()
					<-ctx.Done()
					return nil
				})
			}()
			return result
		}
		led := make(chan time.Time)
		first, stop := context.WithCancel(t.Context())
		a := run(first, led)
		<-led
		second, stopSecond := context.WithCancel(t.Context())
		b := run(second, led)
		time.Sleep(time.Minute)
		stopped := time.Now()
		stop()
		require.LessOrEqual(t, (<-led).Sub(stopped), leaderelection.DefaultRetryPeriod)
		stopSecond()
		require.NoError(t, <-a)
		require.NoError(t, <-b)
	})
}

// answering adds a header to every answer.
type answering struct {
	client.Conn
	value string
}

func (c *answering) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	resp, err := c.Conn.Do(ctx, r)
	if err == nil {
		resp.Header = map[string]string{fence.Header: c.value}
	}
	return resp, err
}

func TestFencedIsWhatTheServerSays(t *testing.T) {
	serve(t, func(t *testing.T, connect func() *rest.Conn) {
		conn := &answering{Conn: connect()}
		lock := leaselock.New(conn, key, leaselock.Options{})
		_, err := lock.Create(t.Context(), leaderelection.Record{HolderIdentity: "a", LeaseDuration: time.Second})
		require.NoError(t, err)
		require.False(t, lock.Fenced())
		conn.value = fence.Enforced
		_, err = lock.Get(t.Context())
		require.NoError(t, err)
		require.True(t, lock.Fenced())
	})
}

func TestAMissingNamespaceIsReported(t *testing.T) {
	serve(t, func(t *testing.T, connect func() *rest.Conn) {
		missing := answeringNotFound{connect()}
		lock := leaselock.New(missing, key, leaselock.Options{})
		_, err := lock.Create(t.Context(), leaderelection.Record{HolderIdentity: "a", LeaseDuration: time.Second})
		require.Error(t, err)
		require.NotErrorIs(t, err, leaderelection.ErrNotFound)
		require.ErrorContains(t, err, "nowhere")
	})
}

type answeringNotFound struct{ client.Conn }

func (answeringNotFound) Do(context.Context, *client.Request) (*client.Response, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "nowhere")
}
