package controllertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// When Settle returns, work that is due now is done, however often it reschedules itself without delay, and
// its writes have been delivered.
func TestSettleWaitsForWhatIsDueNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var seen []string
		controllertest.Watch(c, "default", func(e client.Event[*corev1.ConfigMap]) { seen = append(seen, e.Object.Name) })
		began := time.Now()
		var fired atomic.Int64
		var again func()
		again = func() {
			n := fired.Add(1)
			if n%2 == 0 {
				controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprint(n))})
			}
			if n < 6 {
				time.AfterFunc(0, again)
			}
		}
		time.AfterFunc(0, again)
		c.Settle()
		require.EqualValues(t, 6, fired.Load())
		require.Equal(t, []string{"2", "4", "6"}, seen)
		var late atomic.Bool
		time.AfterFunc(1, func() { late.Store(true) })
		c.Settle()
		require.False(t, late.Load())
		require.Zero(t, time.Since(began), "time has not advanced")
		c.Sleep(1)
		require.True(t, late.Load(), "it was due when the sleep ended")
	})
}

// Events that the client does not read are not delivered: Settle fails with a report instead of returning.
func TestSettleNoticesBlockedWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		c := controllertest.Start(r, controllertest.Options{})
		proceed := make(chan struct{})
		unblock := sync.OnceFunc(func() { close(proceed) })
		stream, err := c.Conn().Stream(t.Context(), &client.Request{Method: "GET", Path: "/api/v1/configmaps", Query: map[string][]string{"watch": {"1"}}})
		require.NoError(t, err)
		defer unblock()
		read := make(chan struct{})
		go func() {
			defer close(read)
			<-proceed
			for buf := make([]byte, 64<<10); err == nil; {
				_, err = stream.Body.Read(buf)
			}
		}()
		big := strings.Repeat("x", 900<<10)
		for i := range 8 {
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprint(i)), Data: map[string]string{"big": big}})
		}
		require.Contains(t, r.fatal(c.Settle), "the server's watches of /configmaps/ have not delivered revision")
		unblock()
		require.Empty(t, r.fatal(c.Settle))
		require.NoError(t, stream.Body.Close())
		<-read
	})
}

// Random changes by two clients: after Settle a watch has delivered exactly the current state.
func TestSettleAfterRandomChanges(t *testing.T) {
	for _, seed := range seeds.Of(t, 20) {
		synctest.Test(t, func(t *testing.T) {
			r := seeds.Rand(seed)
			c := controllertest.Start(t, controllertest.Options{})
			have := map[string]string{}
			controllertest.Watch(c, "", func(e client.Event[*corev1.ConfigMap]) {
				if have[e.Object.Name] = e.Object.ResourceVersion; e.Type == client.Deleted {
					delete(have, e.Object.Name)
				}
			})
			for range 20 {
				var writers sync.WaitGroup
				for range 1 + r.IntN(4) {
					name, remove, wait := fmt.Sprint(r.IntN(5)), r.IntN(3) == 0, time.Duration(r.IntN(2))
					writers.Go(func() {
						time.Sleep(wait)
						change(t, c, name, remove)
					})
				}
				if r.IntN(2) == 0 {
					c.Sleep(1)
				}
				writers.Wait() // after a conflict they wait a little before they retry
				c.Settle()
				want := map[string]string{}
				for _, m := range controllertest.List[*corev1.ConfigMap](c, "") {
					want[m.Name] = m.ResourceVersion
				}
				require.Equal(t, want, have, "seed %d", seed)
			}
		})
	}
}

// change writes or deletes one object and retries on conflicts.
func change(t *testing.T, c *controllertest.Cluster, name string, remove bool) {
	api := client.For[*corev1.ConfigMap](c.Admin())
	key := types.NamespacedName{Namespace: "default", Name: name}
	_, err := api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
	switch {
	case err == nil:
		return
	case !apierrors.IsAlreadyExists(err):
	case remove:
		err = api.Delete(t.Context(), key)
	default:
		_, err = client.Update(t.Context(), api, key, func(m *corev1.ConfigMap) error {
			m.Data = map[string]string{"v": m.ResourceVersion}
			return nil
		})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("%s: %v", name, err)
	}
}

// endless adds a controller that never ends with default/loop.
func endless(write bool) controllertest.Adder {
	return func(m *manager.Manager) error {
		maps := client.For[*corev1.ConfigMap](m.Conn())
		var c *controller.Controller[reconcile.Request]
		r := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			if req.Namespace != "default" || req.Name != "loop" {
				return reconcile.Result{}, nil
			}
			if !write {
				c.Enqueue(req)
				return reconcile.Result{}, nil
			}
			_, err := client.Update(ctx, maps, req, func(m *corev1.ConfigMap) error {
				m.Data = map[string]string{"v": m.ResourceVersion}
				return nil
			})
			return reconcile.Result{}, err
		})
		var err error
		c, err = controllers.Add(m, "looper", r, controllers.Options{}, controllers.For[*corev1.ConfigMap]())
		return err
	}
}

// A reconcile that never ends fails the test with its name and its last write, instead of blocking virtual
// time.
func TestAnEndlessReconcileFailsTheTest(t *testing.T) {
	for name, run := range map[string]func(c *controllertest.Cluster){
		"settle": func(c *controllertest.Cluster) { c.Settle() },
		"sleep":  func(c *controllertest.Cluster) { c.Sleep(time.Hour) },
	} {
		for write, want := range map[bool]string{true: "its last write was PUT /api/v1/namespaces/default/configmaps/loop:", false: "it has written nothing"} {
			t.Run(fmt.Sprint(name, write), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &recorder{TB: t}
					c := controllertest.Start(r, controllertest.Options{MaxRuns: 200, Controllers: []controllertest.Adder{endless(write)}})
					controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "loop")})
					text := r.fatal(func() { run(c) })
					require.Contains(t, text, "the controller looper has reconciled default/loop 200 times at one instant and would never stop")
					require.Contains(t, text, want)
				})
			})
		}
	}
}

// A test that only sleeps fails at its end, and a manager created by the test is detected by its writes.
func TestAnEndlessReconcileFailsATestThatSleeps(t *testing.T) {
	r := &recorder{TB: t}
	synctest.Test(t, func(t *testing.T) {
		r.TB = t
		c := controllertest.Start(r, controllertest.Options{MaxRuns: 200})
		m := manager.New(c.Conn(), manager.Options{})
		require.NoError(t, endless(true)(m))
		c.Run(m)
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "loop")})
		time.Sleep(time.Hour)
	})
	require.Len(t, r.errors, 1)
	require.Contains(t, r.errors[0], "the controller looper has reconciled default/loop 200 times")
}

// Work that takes many runs of a key at one instant, and ends, is accepted.
func TestManyRunsAtOneInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		c := controllertest.Start(t, controllertest.Options{MaxRuns: 100, Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			var c *controller.Controller[reconcile.Request]
			var err error
			c, err = controllers.Add(m, "busy", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
				if req.Name != "a" {
					return reconcile.Result{}, nil
				}
				if n.Add(1)%100 != 0 {
					c.Enqueue(req)
				}
				return reconcile.Result{RequeueAfter: time.Second}, nil
			}), controllers.Options{}, controllers.For[*corev1.ConfigMap]())
			return err
		}}})
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		c.Settle()
		require.EqualValues(t, 100, n.Load())
		c.Sleep(time.Second)
		require.EqualValues(t, 200, n.Load())
	})
}

// When a test fails, the last failures of its controllers are in its log, each once, whether it has a logger
// or not.
func TestFailuresAreShownWhenATestFails(t *testing.T) {
	for _, failed := range []bool{true, false} {
		r := &recorder{TB: t, failed: failed}
		synctest.Test(t, func(t *testing.T) {
			r.TB = t
			c := controllertest.Start(r, controllertest.Options{As: client.User{Name: "nurse"}, Controllers: []controllertest.Adder{func(m *manager.Manager) error {
				_, err := controllers.Add(m, "maps", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }), controllers.Options{}, controllers.For[*corev1.ConfigMap]())
				return err
			}}})
			m := c.ManagerOver(c.Conn(), "other", func(m *manager.Manager) error {
				_, err := controllers.Add(m, "spaces", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
					if req.Name == "default" {
						panic("no such luck")
					}
					return reconcile.Result{}, errors.New("out of tea")
				}), controllers.Options{}, controllers.For[*corev1.Namespace]())
				return err
			})
			c.Run(m)
			c.Sleep(time.Minute)
		})
		if !failed {
			require.Empty(t, r.logs)
			continue
		}
		require.NotEmpty(t, r.logs)
		log := r.logs[len(r.logs)-1] // after the place of the page, with -artifacts
		require.Contains(t, log, `User "nurse" cannot watch resource "configmaps"`)
		require.Regexp(t, `\(for the \d+th time\) WARN reconcile failed manager=other controller=spaces namespace= name=kube-system err=out of tea`, log)
		require.Contains(t, log, "reconciler panicked: no such luck (controllertest_test.")
		require.Equal(t, 1, strings.Count(log, "name=kube-system err=out of tea"))
	}
}

// A folder that holds no definitions is refused, with the option's name.
func TestWrongFolders(t *testing.T) {
	object := fstest.MapFS{"a.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}}
	for want, o := range map[string]controllertest.Options{
		"Options.CRDs (testdata/absent): stat .: no such file or directory":        {CRDs: os.DirFS("testdata/absent")},
		"Options.CRDs contains no objects in files":                                {CRDs: fstest.MapFS{"doc.md": {}}},
		"Options.CRDs contains no CustomResourceDefinition: use Options.Manifests": {CRDs: object},
		"Options.Manifests contains no objects":                                    {Manifests: fstest.MapFS{}},
		"Options.Webhooks.Config contains no objects":                              {Webhooks: controllertest.Webhooks{Config: object}},
		"Options.Manifests: manifest: a.yaml:1 (document 1): the object":           {Manifests: fstest.MapFS{"a.yaml": {Data: []byte("kind: ConfigMap\n")}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{TB: t}
			require.Contains(t, r.fatal(func() { controllertest.Start(r, o) }), want)
		})
	}
}
