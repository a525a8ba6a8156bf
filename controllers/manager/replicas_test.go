package manager_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// replica returns one of several managers that compete for a lease. Each has its own conn, so that a test can
// observe its requests.
func replica(t *testing.T, conn client.Conn, name string) *manager.Manager {
	return manager.New(conn, manager.Options{Elector: electorOf(t, conn, "operator", name)})
}

// electorOf returns an elector of a lease.
func electorOf(t *testing.T, conn client.Conn, lease, identity string) *leaderelection.Elector {
	lock := leaselock.New(conn, types.NamespacedName{Namespace: "default", Name: lease}, leaselock.Options{})
	e, err := leaderelection.New(lock, leaderelection.Options{Identity: identity})
	require.NoError(t, err)
	return e
}

// leaseOf is the lease of the replicas.
func leaseOf(c *controllertest.Cluster) *coordinationv1.Lease {
	return controllertest.Get[*coordinationv1.Lease](c, "default", "operator")
}

// hooked is a webhook server over memory and a function that calls it.
func hooked(t *testing.T, name string) (*webhook.Server, func() string) {
	ca, err := certs.NewAuthority("ca")
	require.NoError(t, err)
	pair, err := ca.Serving("hooks", "hooks")
	require.NoError(t, err)
	cert, l := pair.TLS(), pipenet.New()
	server := webhook.New(webhook.Options{Listener: l, Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &cert, nil }})
	server.Handle("/who", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
	return server, func() string {
		tr := &http.Transport{DialContext: l.Dial, TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get("https://hooks/who")
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(text)
	}
}

// Webhooks are served on the leader and on the standby; reconcilers run on the leader only, and on the
// standby after the leader has stopped.
func TestStandbysServeWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := &diary{}
		var ask []func() string
		var stop []func()
		for _, name := range []string{"one", "two"} {
			m := replica(t, c.Conn(), name)
			server, call := hooked(t, name)
			m.AddWithoutLeaderElection("webhooks", server)
			reconciler := reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
				if req.Namespace == "default" {
					d.add("%s %s", name, req.Name)
				}
				return reconcile.Result{}, nil
			})
			_, err := controllers.Add(m, "maps", reconciler, controllers.Options{}, controllers.For[*corev1.ConfigMap]())
			require.NoError(t, err)
			stop, ask = append(stop, c.Run(m)), append(ask, call)
			c.Sleep(5 * time.Second) // the first one leads
		}
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		c.Settle()
		require.Equal(t, []string{"one a"}, d.all())
		require.Equal(t, "one", ask[0]())
		require.Equal(t, "two", ask[1]())
		stop[0]()
		c.Sleep(time.Second)
		require.Equal(t, []string{"one a", "two a"}, d.all())
		require.Equal(t, "two", ask[1]())
	})
}

// lists counts what one replica reads.
type lists struct {
	client.Conn
	streams atomic.Int64
}

func (l *lists) Stream(ctx context.Context, r *client.Request) (*client.Stream, error) {
	l.streams.Add(1)
	return l.Conn.Stream(ctx, r)
}

// A standby fills its caches before it leads: the first reconcile starts within a second of the leader's end.
// What may lack the leader's last writes is read once more.
func TestStandbysAreWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 5000
		c := controllertest.Start(t, controllertest.Options{})
		api := client.For[*corev1.ConfigMap](c.Admin())
		for i := range objects {
			_, err := api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprint("m", i))})
			require.NoError(t, err)
		}
		var handled atomic.Int64
		var first atomic.Pointer[time.Time]
		conn := &lists{Conn: c.Conn()}
		var stops []func()
		for i, name := range []string{"one", "two"} {
			m := replica(t, c.Conn(), name)
			if i == 1 {
				m = replica(t, conn, name)
			}
			reconciler := reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
				if name == "two" && req.Namespace == "default" {
					if handled.Add(1) == 1 {
						first.Store(new(time.Now()))
					}
				}
				return reconcile.Result{}, nil
			})
			_, err := controllers.Add(m, "maps", reconciler, controllers.Options{}, controllers.For[*corev1.ConfigMap]())
			require.NoError(t, err)
			stops = append(stops, c.Run(m))
			c.Sleep(10 * time.Second)
		}
		require.Zero(t, handled.Load())
		opened := conn.streams.Load()
		require.Positive(t, opened, "the standby watches")
		ended := time.Now()
		stops[0]()
		c.Sleep(5 * time.Second)
		require.EqualValues(t, objects, handled.Load())
		require.Less(t, first.Load().Sub(ended), time.Second)
		require.Equal(t, opened+1, conn.streams.Load())
	})
}
