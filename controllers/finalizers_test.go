package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// An object with two finalizers is deleted when both have succeeded; one that fails is retried alone, and
// both are added and removed by as few writes as possible. A finalizer of another program stays.
func TestFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var mu sync.Mutex // guards what follows, which retries read and write while the test does
		var calls []string
		var failed error
		writes, broken := 0, true
		var cleanup controllers.Finalizers[*corev1.ConfigMap]
		require.NoError(t, cleanup.Add("example.com/dns", func(_ context.Context, cm *corev1.ConfigMap) error {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, "dns "+cm.Name)
			if broken {
				return errors.New("zone is locked")
			}
			return nil
		}))
		require.NoError(t, cleanup.Add("example.com/disk", func(_ context.Context, cm *corev1.ConfigMap) error {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, "disk "+cm.Name)
			return nil
		}))
		conn := client.Observe(c.Conn(), func(client.Write) {
			mu.Lock()
			defer mu.Unlock()
			writes++
		})
		m := manager.New(conn, manager.Options{})
		configs, api := informers.For[*corev1.ConfigMap](m.Informers()).Lister(), client.For[*corev1.ConfigMap](m.Conn())
		_, err := controllers.Add(m, "maps", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			cm, err := configs.Get(req)
			if err != nil || req.Namespace != "default" {
				return reconcile.Result{}, apierrors.IgnoreNotFound(err)
			}
			_, _, err = cleanup.Run(ctx, api, cm)
			mu.Lock()
			defer mu.Unlock()
			failed = err
			return reconcile.Result{}, err
		}), controllers.Options{}, controllers.For[*corev1.ConfigMap]())
		require.NoError(t, err)
		c.Run(m)
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		c.Settle()
		require.Equal(t, []string{"example.com/dns", "example.com/disk"}, controllertest.Get[*corev1.ConfigMap](c, "default", "a").Finalizers)
		require.Equal(t, 1, writes)
		controllertest.Update(c, "default", "a", func(cm *corev1.ConfigMap) { cm.Finalizers = append(cm.Finalizers, "other.com/keep") })
		c.Settle()
		require.Equal(t, 1, writes, "none is missing")

		controllertest.Delete[*corev1.ConfigMap](c, "default", "a")
		c.Sleep(time.Second)
		mu.Lock()
		made, err := slices.Clone(calls), failed
		broken = false
		mu.Unlock()
		require.Equal(t, []string{"dns a", "disk a"}, made[:2])
		require.NotContains(t, made[2:], "disk a", "it has succeeded")
		require.EqualError(t, err, "controllers: finalizer example.com/dns: zone is locked")
		require.Equal(t, []string{"example.com/dns", "other.com/keep"}, controllertest.Get[*corev1.ConfigMap](c, "default", "a").Finalizers)
		c.Sleep(time.Minute)
		require.NoError(t, failed)
		require.Equal(t, 3, writes)
		require.Equal(t, []string{"other.com/keep"}, controllertest.Get[*corev1.ConfigMap](c, "default", "a").Finalizers)
		controllertest.Update(c, "default", "a", func(cm *corev1.ConfigMap) { cm.Finalizers = nil })
		c.Settle()
		require.False(t, controllertest.Exists[*corev1.ConfigMap](c, "default", "a"))
		require.NoError(t, failed)
		require.Equal(t, 1, len(slices.DeleteFunc(calls, func(s string) bool { return s != "disk a" })))
	})
}

func TestFinalizersThatAreMistakes(t *testing.T) {
	var f controllers.Finalizers[*corev1.ConfigMap]
	ok := func(context.Context, *corev1.ConfigMap) error { return nil }
	require.NoError(t, f.Add("example.com/a", ok))
	require.EqualError(t, f.Add("example.com/a", ok), "controllers: finalizer example.com/a was added twice")
	require.EqualError(t, f.Add("a", ok), `controllers: finalizer "a" must have a domain and a name, as in example.com/dns`)
	require.EqualError(t, f.Add("example.com/b", nil), "controllers: the function of finalizer example.com/b must not be nil")
}

// A finalizer that removes what belongs to an object elsewhere.
func ExampleFinalizers() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		var cleanup controllers.Finalizers[*corev1.ConfigMap]
		_ = cleanup.Add("example.com/dns", func(_ context.Context, cm *corev1.ConfigMap) error {
			fmt.Println("records of", cm.Name, "are removed")
			return nil
		})
		configs := client.For[*corev1.ConfigMap](c.Conn())
		cm := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "site")})
		cm, deleting, err := cleanup.Run(t.Context(), configs, cm)
		fmt.Println(cm.Finalizers, deleting, err)
		controllertest.Delete[*corev1.ConfigMap](c, "default", "site")
		cm = controllertest.Get[*corev1.ConfigMap](c, "default", "site")
		_, deleting, err = cleanup.Run(t.Context(), configs, cm)
		fmt.Println(deleting, err, controllertest.Exists[*corev1.ConfigMap](c, "default", "site"))
	})
	// Output:
	// [example.com/dns] false <nil>
	// records of site are removed
	// true <nil> false
}
