package manager_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
)

// A runnable that fails because its own context ended, such as the timeout of a request, stops the manager
// like any other failure, and the error names it.
func TestATimeoutOfARunnableIsAFailure(t *testing.T) {
	for _, led := range []bool{true, false} {
		for _, elect := range []bool{true, false} {
			for _, cause := range []error{context.DeadlineExceeded, context.Canceled} {
				t.Run(fmt.Sprintf("led %v, elector %v, %v", led, elect, cause), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := controllertest.Start(t, controllertest.Options{})
						d := &diary{}
						opts := manager.Options{}
						if elect {
							e := &elector{d: d, start: make(chan struct{}), lose: make(chan struct{})}
							close(e.start)
							opts.Elector = e
						}
						m := manager.New(c.Conn(), opts)
						add := m.AddWithoutLeaderElection
						if led {
							add = m.Add
						}
						add("sync", manager.Func(func(context.Context) error {
							time.Sleep(time.Minute)
							return fmt.Errorf("get settings: %w", cause)
						}))
						m.Add("other", d.runnable("other"))
						ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
						defer cancel()
						err := m.Run(ctx)
						require.NoError(t, ctx.Err(), "it stops by itself")
						require.ErrorIs(t, err, cause)
						require.ErrorContains(t, err, "sync: get settings: ")
						require.Contains(t, d.all(), "other ends")
					})
				})
			}
		}
	}
}

// Errors during the stop are returned together with the error that caused it.
func TestFailuresOfTheStopAreReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := manager.New(c.Conn(), manager.Options{})
		flush, broken := errors.New("cannot flush"), errors.New("broken")
		m.AddWithoutLeaderElection("buffer", manager.Func(func(ctx context.Context) error {
			<-ctx.Done()
			return flush
		}))
		m.AddWithoutLeaderElection("quiet", manager.Func(func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("watch: %w", ctx.Err()) // what an ended context looks like
		}))
		m.Add("bad", manager.Func(func(context.Context) error { return broken }))
		err := m.Run(t.Context())
		require.ErrorIs(t, err, broken)
		require.ErrorIs(t, err, flush)
		require.NotErrorIs(t, err, context.Canceled)
	})
}

// While reconciles in progress finish, webhooks are served, events are written and informers deliver changes.
// The lease is released after that.
func TestTheStopIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := &diary{}
		m := replica(t, c.Conn(), "one")
		server, ask := hooked(t, "one")
		m.AddWithoutLeaderElection("webhooks", server)
		m.AddWithoutLeaderElection("web", d.runnable("web"))
		recorder := m.Recorder("maps")
		maps := client.For[*corev1.ConfigMap](m.Conn())
		list := informers.For[*corev1.ConfigMap](m.Informers()).Lister()
		reconciler := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			if req.Namespace != "default" || req.Name != "a" || d.has("begun") {
				return reconcile.Result{}, nil
			}
			d.add("begun")
			time.Sleep(4 * time.Second) // the manager is stopped meanwhile
			require.NoError(t, ctx.Err())
			require.Equal(t, "one", ask())
			cm, err := client.Update(ctx, maps, req, func(cm *corev1.ConfigMap) error {
				cm.Data = map[string]string{"done": "yes"}
				return nil
			})
			if err != nil {
				return reconcile.Result{}, err
			}
			// A change of another writer is delivered by the watch.
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "b")})
			time.Sleep(time.Second)
			there, err := list.Has(types.NamespacedName{Namespace: "default", Name: "b"})
			require.NoError(t, err)
			require.True(t, there)
			recorder.Event(cm, events.Normal, "Done", "it is done")
			d.add("finished")
			return reconcile.Result{}, nil
		})
		_, err := controllers.Add(m, "maps", reconciler, controllers.Options{}, controllers.For[*corev1.ConfigMap]())
		require.NoError(t, err)
		stop := runManager(m)
		c.Sleep(5 * time.Second)
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		c.Sleep(time.Second)
		require.NoError(t, stop())
		require.Equal(t, []string{"web starts", "begun", "finished", "web ends"}, d.all())
		require.Equal(t, "yes", controllertest.Get[*corev1.ConfigMap](c, "default", "a").Data["done"])
		require.Len(t, controllertest.List[*corev1.Event](c, "default"), 1)
		require.Empty(t, leaseOf(c).Spec.HolderIdentity)
	})
}

// A reconcile that takes longer than the grace period is cancelled.
func TestGraceIsBounded(t *testing.T) {
	for grace, want := range map[time.Duration]time.Duration{0: manager.DefaultGrace, time.Minute: time.Minute, -1: 0} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{})
			m := manager.New(c.Conn(), manager.Options{Grace: grace, StopTimeout: time.Hour})
			var cut time.Time
			_, err := controllers.Add(m, "maps", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
				<-ctx.Done()
				cut = time.Now()
				return reconcile.Result{}, ctx.Err()
			}), controllers.Options{}, controllers.For[*corev1.Namespace]())
			require.NoError(t, err)
			stop := runManager(m)
			c.Sleep(time.Second)
			began := time.Now()
			require.NoError(t, stop())
			require.Equal(t, want, cut.Sub(began))
		})
	}
}

// Runnables that do not return in time are abandoned and named; the others are stopped in order nevertheless.
func TestNotDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := &diary{}
		m := replica(t, c.Conn(), "one")
		let := make(chan struct{})
		m.Add("stuck", manager.Func(func(context.Context) error { <-let; return nil }))
		m.Add("good", d.runnable("good"))
		m.AddWithoutLeaderElection("web", d.runnable("web"))
		stop := runManager(m)
		c.Sleep(5 * time.Second)
		began := time.Now()
		err := stop()
		require.Equal(t, manager.DefaultStopTimeout, time.Since(began))
		require.ErrorIs(t, err, manager.ErrNotDrained)
		require.ErrorContains(t, err, "stuck")
		require.NotContains(t, err.Error(), "good")
		require.Contains(t, d.all(), "web ends")
		require.Equal(t, "one", *leaseOf(c).Spec.HolderIdentity, "the work may continue, so no other replica may start")
		close(let)
		c.Sleep(time.Minute)
	})
}

// A leader that is replaced stops immediately, without a grace period.
func TestALostLeaseCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := replica(t, c.Conn(), "one")
		var cause error
		var at time.Time
		_, err := controllers.Add(m, "maps", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			<-ctx.Done()
			cause, at = context.Cause(ctx), time.Now()
			return reconcile.Result{}, ctx.Err()
		}), controllers.Options{}, controllers.For[*corev1.Namespace]())
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- m.Run(t.Context()) }()
		c.Sleep(5 * time.Second)
		controllertest.Update(c, "default", "operator", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("two") })
		taken := time.Now()
		require.ErrorIs(t, <-done, leaderelection.ErrLost)
		require.ErrorIs(t, cause, leaderelection.ErrLost)
		require.LessOrEqual(t, at.Sub(taken), leaderelection.DefaultRetryPeriod)
	})
}

// The reconciles of a manager within a manager have the grace period of both.
func TestGraceOfAManagerInAManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		hub, member := manager.New(c.Conn(), manager.Options{Grace: 3 * time.Second}), manager.New(c.Conn(), manager.Options{})
		var cut time.Time
		_, err := controllers.Add(member, "maps", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			<-ctx.Done()
			cut = time.Now()
			return reconcile.Result{}, ctx.Err()
		}), controllers.Options{}, controllers.For[*corev1.Namespace]())
		require.NoError(t, err)
		hub.Add("member", member)
		stop := runManager(hub)
		c.Sleep(time.Second)
		began := time.Now()
		require.NoError(t, stop())
		require.Equal(t, 3*time.Second, cut.Sub(began))
	})
}

// A runnable that has returned, such as the manager of a removed cluster, is dropped.
func TestReturnedRunnablesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := manager.New(c.Conn(), manager.Options{})
		stop := runManager(m)
		kept := func() weak.Pointer[manager.Manager] {
			member := manager.New(c.Conn(), manager.Options{})
			ctx, leave := context.WithCancel(t.Context())
			m.Add("member", manager.Func(func(outer context.Context) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(outer, cancel)()
				return member.Run(ctx)
			}))
			c.Sleep(time.Second)
			leave()
			c.Sleep(time.Second)
			return weak.Make(member)
		}()
		for range 10 {
			runtime.GC()
		}
		require.Nil(t, kept.Value())
		require.NoError(t, stop())
	})
}

// What is added to a view of As starts and stops with its manager.
func TestWhatAsReturnsIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := manager.New(c.Conn(), manager.Options{})
		require.ErrorContains(t, m.As(c.Conn()).Run(t.Context()), "returned by As or Under runs with its parent")
	})
}

// An informer that cannot sync for lack of a permission blocks the controllers that need it, and no others.
func TestAMissingRightHoldsUpOneController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		role := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "maps"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}}}
		controllertest.Create(c, role)
		controllertest.Create(c, &rbacv1.ClusterRoleBinding{ObjectMeta: controllertest.Name("", "maps"),
			RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "maps"},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "ops"}}})
		c.Settle() // the authorizer knows the binding: a refused list would be tried again later
		var log logged
		debug := &slog.HandlerOptions{Level: slog.LevelDebug} // of a cause that was logged before
		m := manager.New(c.Conn(client.User{Name: "ops"}), manager.Options{Logger: slog.New(slog.NewTextHandler(&log, debug))})
		d := &diary{}
		add := func(name string, sources ...controllers.Source) {
			_, err := controllers.Add(m, name, reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				if !d.has(name) {
					d.add("%s", name)
				}
				return reconcile.Result{}, nil
			}), controllers.Options{}, sources...)
			require.NoError(t, err)
		}
		secrets := informers.For[*corev1.Secret](m.Informers()).Lister()
		add("maps", controllers.For[*corev1.ConfigMap]())
		add("reads secrets", controllers.For[*corev1.ConfigMap](), controllers.Reads[*corev1.Secret]())
		add("of secrets", controllers.For[*corev1.Secret]())
		_, err := controllers.Add(m, "tries to read secrets", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			_, err := secrets.List(informers.ListOptions{})
			if req.Name == "a" {
				d.add("list: %t", err == nil)
			}
			return reconcile.Result{}, err
		}), controllers.Options{}, controllers.For[*corev1.ConfigMap]())
		require.NoError(t, err)
		c.Run(m)
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		c.Sleep(9 * time.Second)
		require.Empty(t, d.all())
		c.Sleep(2 * time.Second)
		require.Contains(t, d.all(), "maps")
		require.Contains(t, d.all(), "list: false")
		require.NotContains(t, d.all(), "reads secrets")
		require.NotContains(t, d.all(), "list: true")
		require.Regexp(t, `sync of some informers failed.*controller=maps.*secrets`, log.String())
		controllertest.Update(c, "", "maps", func(r *rbacv1.ClusterRole) {
			r.Rules[0].Resources = append(r.Rules[0].Resources, "secrets")
		})
		c.Sleep(5 * time.Minute)
		require.Contains(t, d.all(), "reads secrets")
		require.Contains(t, d.all(), "list: true")
	})
}

// A channel source of a controller that runs on all replicas delivers on all of them.
func TestChannelsOfAllReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := &diary{}
		standby := &elector{d: d, start: make(chan struct{}), lose: make(chan struct{})}
		m := manager.New(c.Conn(), manager.Options{Elector: standby})
		ch := make(chan reconcile.Request)
		_, err := controllers.Add(m, "everywhere", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			d.add("%s", req.Name)
			return reconcile.Result{}, nil
		}), controllers.Options{WithoutLeaderElection: true}, controllers.Channel(ch))
		require.NoError(t, err)
		c.Run(m)
		c.Sleep(time.Second)
		select {
		case ch <- reconcile.Request{Name: "a"}:
		case <-time.After(time.Minute):
			require.Fail(t, "the sender is blocked")
		}
		c.Settle()
		require.Equal(t, []string{"a"}, d.all())
	})
}

// Without a configured logger warnings and errors are logged, and nothing else.
func TestWarningsAreLoggedByDefault(t *testing.T) {
	var log logged
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := manager.New(c.Conn(client.User{Name: "stranger"}), manager.Options{})
		require.False(t, m.Logger().Enabled(t.Context(), slog.LevelInfo))
		m.Logger().With("a", 1).WithGroup("g").Warn("look", "b", 2)
		require.Contains(t, log.String(), "msg=look a=1 g.b=2")
		_, err := controllers.Add(m, "maps", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }), controllers.Options{}, controllers.For[*corev1.ConfigMap]())
		require.NoError(t, err)
		c.Run(m)
		c.Sleep(time.Second)
		require.Contains(t, log.String(), `User \"stranger\" cannot watch resource \"configmaps\"`)
		require.NotContains(t, log.String(), "level=INFO")
	})
}

// Reconcilers get the logger and the id of their run from the context.
func TestReconcilersHaveALogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var log logged
		var mu sync.Mutex
		ids := map[string]bool{}
		for range 2 {
			m := manager.New(c.Conn(), manager.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			_, err := controllers.Add(m, "maps", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				if req.Name != "a" {
					return reconcile.Result{}, nil
				}
				id := reconcile.ID(ctx)
				require.NotEmpty(t, id)
				mu.Lock()
				require.False(t, ids[id], "two replicas have one id")
				ids[id] = true
				mu.Unlock()
				reconcile.Logger(ctx).Info("looking")
				require.Contains(t, log.String(), "msg=looking controller=maps namespace=default name=a reconcileID="+id)
				return reconcile.Result{}, nil
			}), controllers.Options{Options: controller.Options{Timeout: time.Minute}}, controllers.For[*corev1.ConfigMap]())
			require.NoError(t, err)
			c.Run(m)
		}
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		c.Settle()
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, ids, 2)
		require.Empty(t, reconcile.ID(t.Context()))
		require.Equal(t, slog.Default(), reconcile.Logger(t.Context()))
	})
}
