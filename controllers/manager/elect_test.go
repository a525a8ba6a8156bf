package manager_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
)

var operatorLease = types.NamespacedName{Namespace: "default", Name: "operator"}

// Two replicas whose managers make the elector: one leads, with events about the Lease; the other takes over
// at once when the leader stops, and is warm.
func TestAManagerMakesItsElector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var ran []time.Time
		var stops []func()
		var managers []*manager.Manager
		measured := metrics.New()
		for _, name := range []string{"one", "two"} {
			m := manager.New(c.Conn(), manager.Options{Lease: operatorLease, Election: leaderelection.Options{Identity: name}, Monitor: measured})
			r := reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
				if req.Name == "a" {
					ran = append(ran, time.Now())
				}
				return reconcile.Result{}, nil
			})
			_, err := controllers.Add(m, "maps", r, controllers.Options{}, controllers.For[*corev1.ConfigMap]())
			require.NoError(t, err)
			managers, stops = append(managers, m), append(stops, c.Run(m))
			c.Sleep(5 * time.Second)
		}
		require.True(t, managers[0].LeaderElector().IsLeader())
		require.NoError(t, managers[0].LeaderElector().Healthy(time.Second))
		require.False(t, managers[1].LeaderElector().IsLeader())
		require.True(t, managers[1].Informers().HasSynced(), "the standby is warm")
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		c.Settle()
		require.Len(t, ran, 1)
		ended := time.Now()
		stops[0]()
		c.Sleep(time.Second)
		require.Len(t, ran, 2)
		require.LessOrEqual(t, ran[1].Sub(ended), 30*time.Millisecond)
		require.True(t, managers[1].LeaderElector().IsLeader())
		c.Sleep(10 * time.Second)
		var messages []string
		for _, e := range controllertest.List[*corev1.Event](c, "default") {
			if e.InvolvedObject.Kind == "Lease" {
				messages = append(messages, e.Message)
			}
		}
		require.ElementsMatch(t, []string{"one became leader", "one stopped leading", "two became leader"}, messages)
	})
}

// A candidate that is cold does not take the lease, unless its informers cannot sync within 10 s.
func TestColdReplicasDoNotLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var slow time.Duration
		conn := client.Intercept(c.Conn(), func(ctx context.Context, call client.Call, send func(context.Context) error) error {
			if call.Resource.Resource == "secrets" {
				select {
				case <-time.After(slow):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return send(ctx)
		})
		for _, slow = range []time.Duration{5 * time.Second, time.Hour} {
			m := manager.New(conn, manager.Options{Lease: operatorLease, Logger: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))})
			informers.For[*corev1.Secret](m.Informers())
			stop := c.Run(m)
			c.Sleep(4 * time.Second)
			require.False(t, m.LeaderElector().IsLeader())
			c.Sleep(min(slow, 10*time.Second))
			require.True(t, m.LeaderElector().IsLeader())
			stop()
		}
	})
}

// Options that contradict each other or are invalid are the error of Run.
func TestElectionsThatAreMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		for want, o := range map[string]manager.Options{
			"both a Lease and an Elector": {Lease: operatorLease, Elector: &elector{}},
			"manager: Options.Election: leaderelection: Options.LeaseDuration (1s) must be longer than RenewDeadline": {
				Lease: operatorLease, Election: leaderelection.Options{LeaseDuration: time.Second}},
		} {
			require.ErrorContains(t, manager.New(c.Conn(), o).Run(t.Context()), want)
		}
	})
}
