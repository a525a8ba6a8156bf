package controllers_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
)

// logged collects what is logged at level Warn and above.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// addSecrets adds a controller that owns a Secret for every ConfigMap.
func addSecrets(m *manager.Manager, note func(reconcile.Request)) error {
	configs, secrets := informers.For[*corev1.ConfigMap](m.Informers()).Lister(), informers.For[*corev1.Secret](m.Informers()).Lister()
	api, rec := client.For[*corev1.Secret](m.Conn()), m.Recorder("secrets")
	r := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		note(req)
		cm, err := configs.Get(req)
		if err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
		if there, err := secrets.Has(req); there || err != nil {
			return reconcile.Result{}, err
		}
		secret := &corev1.Secret{ObjectMeta: controllertest.Name(req.Namespace, req.Name)}
		if err := controllers.Own(m.Conn().Scheme(), cm, secret); err != nil {
			return reconcile.Result{}, err
		}
		rec.Eventf(cm, events.Normal, "Created", "created secret %s", req.Name)
		_, err = api.Create(ctx, secret)
		return reconcile.Result{}, err
	})
	_, err := controllers.Add(m, "secrets", r, controllers.Options{}, controllers.For[*corev1.ConfigMap](), controllers.Owns[*corev1.ConfigMap, *corev1.Secret]())
	return err
}

// grant gives user the rights of the operator in one namespace.
func grant(c *controllertest.Cluster, namespace, user string) {
	name := controllertest.Name(namespace, "operator")
	controllertest.Create(c, &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update", "watch"}},
	}})
	controllertest.Create(c, &rbacv1.RoleBinding{ObjectMeta: name,
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "operator"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: user}},
	})
}

// TestARoleIsEnough runs an operator that has a Role in two namespaces and no rights in the cluster: For,
// Owns, listers, events and leader election work in these, and it neither sees nor requests anything else.
func TestARoleIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		for _, ns := range []string{"blue", "green", "other"} {
			controllertest.Create(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name(ns, "first")})
		}
		user := client.User{Name: "operator"}
		grant(c, "blue", user.Name)
		grant(c, "green", user.Name)
		c.Settle() // the authorizer has seen the roles
		conn := c.Conn(user)
		var log logged
		elector, err := leaderelection.New(leaselock.New(conn, types.NamespacedName{Namespace: "blue", Name: "operator"}, leaselock.Options{}), leaderelection.Options{})
		require.NoError(t, err)
		m := manager.New(conn, manager.Options{
			Elector: elector, Logger: log.logger(),
			Informers: informers.SetOptions{Cache: informers.Cache{Namespaces: []string{"blue", "green"}}},
		})
		var mu sync.Mutex
		runs := map[string]int{}
		require.NoError(t, addSecrets(m, func(req reconcile.Request) {
			mu.Lock()
			defer mu.Unlock()
			runs[req.String()]++
		}))
		stop := c.Run(m)
		c.Sleep(time.Second)
		for _, ns := range []string{"blue", "green", "other"} {
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name(ns, "second")})
		}
		c.Settle()
		controllertest.Delete[*corev1.Secret](c, "green", "first")
		c.Sleep(10 * time.Second) // the events
		for _, ns := range []string{"blue", "green"} {
			require.Len(t, controllertest.List[*corev1.Secret](c, ns), 2, ns)
			require.NotEmpty(t, controllertest.List[*corev1.Event](c, ns), ns)
		}
		require.Empty(t, controllertest.List[*corev1.Secret](c, "other"))
		require.Empty(t, log.String())
		mu.Lock()
		// Each is reconciled for itself and for its Secret, and once more for the Secret that was deleted and
		// for the one made instead.
		require.Equal(t, map[string]int{"blue/first": 2, "blue/second": 2, "green/first": 4, "green/second": 2}, runs)
		mu.Unlock()
		require.Len(t, m.Informers().Status(), 2)
		stop()
	})
}

// TestInformersFollowTheirControllers adds and removes controllers at run time: an informer starts with the
// first controller that needs it and stops after the last, on a leader and on a standby.
func TestInformersFollowTheirControllers(t *testing.T) {
	for _, leads := range []bool{true, false} {
		t.Run(fmt.Sprint("leads=", leads), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := controllertest.Start(t, controllertest.Options{})
				opts := manager.Options{}
				if !leads {
					opts.Elector = never{}
				}
				m := manager.New(c.Conn(), opts)
				c.Run(m)
				held := func() (out []string) {
					for _, i := range m.Informers().Status() {
						out = append(out, fmt.Sprint(i.Resource, " ", i.Users))
					}
					slices.Sort(out)
					return out
				}
				ch := make(chan reconcile.Request)
				add := func(name string, sources ...controllers.Source) *seen {
					var s seen
					_, err := controllers.Add(m, name, &s, controllers.Options{}, sources...)
					require.NoError(t, err)
					return &s
				}
				one := add("one", controllers.For[*corev1.ConfigMap](), controllers.Reads[*corev1.Secret](), controllers.Channel(ch))
				add("two", controllers.For[*corev1.ConfigMap]())
				c.Settle()
				require.Equal(t, []string{"configmaps 2", "secrets 1"}, held())
				controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
				c.Settle()
				require.Equal(t, leads, slices.Contains(one.take(), "default/a"))
				found, err := m.Remove(t.Context(), "one")
				require.NoError(t, err)
				require.True(t, found)
				c.Settle()
				require.Equal(t, []string{"configmaps 1"}, held())
				controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "b")})
				c.Settle()
				require.Empty(t, one.take())
				found, err = m.Remove(t.Context(), "two")
				require.NoError(t, err)
				require.True(t, found)
				require.Empty(t, held())
				found, err = m.Remove(t.Context(), "two")
				require.NoError(t, err)
				require.False(t, found)
				again := add("one", controllers.For[*corev1.ConfigMap]())
				c.Settle()
				require.Equal(t, leads, slices.Contains(again.take(), "default/b"))
			})
		})
	}
}

// A runnable that does not return is an error of Remove, which does not wait longer than its context.
func TestRemoveWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := manager.New(c.Conn(), manager.Options{})
		free := make(chan struct{})
		m.AddWithoutLeaderElection("stuck", manager.Func(func(context.Context) error { <-free; return nil }))
		c.Run(m)
		c.Settle()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		found, err := m.Remove(ctx, "stuck")
		require.True(t, found)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "manager: stuck has not returned")
		close(free)
		_, err = m.Remove(t.Context(), "stuck")
		require.NoError(t, err)
	})
}

// never is an elector that is never elected.
type never struct{}

func (never) Run(ctx context.Context, _ func(context.Context) error) error {
	<-ctx.Done()
	return nil
}
