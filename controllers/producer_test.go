package controllers_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// A producer enqueues while its controller runs, ends with it, and its error ends the manager.
func TestProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := controllertest.Start(t, controllertest.Options{})
		m := manager.New(hub.Conn(), manager.Options{})
		var got seen
		var ended bool
		var late func(reconcile.Request)
		hourly := controllers.Producer(func(ctx context.Context, enqueue func(reconcile.Request)) error {
			defer func() { ended = true }()
			late = enqueue
			for tick := time.NewTicker(time.Hour); ; {
				select {
				case <-tick.C:
					enqueue(reconcile.Request{Name: "all"})
				case <-ctx.Done():
					tick.Stop()
					return nil
				}
			}
		})
		_, err := controllers.Add(m, "hourly", &got, controllers.Options{}, hourly)
		require.NoError(t, err)
		_, err = controllers.Add(m, "none", &got, controllers.Options{}, controllers.Producer[reconcile.Request](nil))
		require.ErrorContains(t, err, "the function of a Producer must not be nil")
		hub.Run(m)
		hub.Sleep(2*time.Hour + time.Minute)
		require.Equal(t, []string{"/all", "/all"}, got.take())
		found, err := m.Remove(t.Context(), "hourly")
		require.NoError(t, err)
		require.True(t, found)
		hub.Settle()
		require.True(t, ended)
		late(reconcile.Request{Name: "late"})
		hub.Sleep(2 * time.Hour)
		require.Empty(t, got.take())

		broken := errors.New("the queue of orders is gone")
		m = manager.New(hub.Conn(), manager.Options{})
		_, err = controllers.Add(m, "broken", &got, controllers.Options{}, controllers.Producer(func(context.Context, func(reconcile.Request)) error { return broken }))
		require.NoError(t, err)
		require.ErrorIs(t, m.Run(t.Context()), broken)
	})
}

// All owners of a kind are enqueued, those of the state before a change as well.
func TestAnyOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owners seen
		gk := schema.GroupKind{Group: "apps", Kind: "Deployment"}
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			_, err := controllers.Add(m, "owners", &owners, controllers.Options{}, controllers.Watches(controllers.AnyOwner[*corev1.ConfigMap](gk, true)))
			return err
		}}})
		refer := func(kind string, names ...string) (refs []metav1.OwnerReference) {
			for _, name := range names {
				refs = append(refs, metav1.OwnerReference{APIVersion: appsv1.GroupVersion.String(), Kind: kind, Name: name, UID: "1"})
			}
			return refs
		}
		cm := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")}
		cm.OwnerReferences = append(refer("Deployment", "one", "two"), refer("ReplicaSet", "no")...)
		controllertest.Create(c, cm)
		c.Settle()
		require.ElementsMatch(t, []string{"default/one", "default/two"}, owners.take())
		controllertest.Update(c, "default", "a", func(cm *corev1.ConfigMap) { cm.OwnerReferences = refer("Deployment", "two", "three") })
		c.Settle()
		require.ElementsMatch(t, []string{"default/one", "default/two", "default/three"}, owners.take())
		controllertest.Delete[*corev1.ConfigMap](c, "default", "a")
		c.Settle()
		require.ElementsMatch(t, []string{"default/two", "default/three"}, owners.take())
	})
}

// WithObject reads the object first; one that is gone causes no call, one that cannot be decoded an error.
func TestWithObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var images []string
		var explain func(name string) string
		c := preserving(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			r := controllers.WithObject(informers.For[*Website](m.Informers()).Lister(), func(_ context.Context, site *Website) (reconcile.Result, error) {
				images = append(images, site.Name)
				return reconcile.Result{}, nil
			})
			added, err := controllers.Add(m, "sites", r, controllers.Options{}, controllers.For[*Website]())
			explain = func(name string) string {
				return added.Explain(reconcile.Request{Namespace: "default", Name: name}).String()
			}
			return err
		}}})
		controllertest.Create(c, &Website{ObjectMeta: controllertest.Name("default", "a")})
		c.Settle()
		require.Equal(t, []string{"a"}, images)
		controllertest.Delete[*Website](c, "default", "a")
		raw := dynamic.For(c.Admin(), websiteKind.GroupVersion().WithResource("websites"))
		_, err := raw.Create(t.Context(), &metav1.Unstructured{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Website"}, ObjectMeta: controllertest.Name("default", "bad"),
			Fields: map[string]any{"spec": map[string]any{"replicas": "many"}}})
		require.NoError(t, err)
		c.Settle()
		require.Equal(t, []string{"a"}, images)
		require.NotContains(t, explain("a"), "error")
		require.Contains(t, explain("bad"), "cannot decode")
	})
}

// A manager decides on the options of its controllers by name.
func TestConfigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := controllertest.Start(t, controllertest.Options{})
		m := manager.New(hub.Conn(), manager.Options{Configure: func(name string, opts controller.Options) controller.Options {
			if name == "wide" {
				opts.Concurrency = 3
			}
			return opts
		}})
		var mu sync.Mutex
		most, running := map[string]int{}, map[string]int{}
		add := func(name string) {
			r := reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
				count := func(delta int) {
					mu.Lock()
					defer mu.Unlock()
					running[name] += delta
					most[name] = max(most[name], running[name])
				}
				count(1)
				time.Sleep(time.Second)
				count(-1)
				return reconcile.Result{}, nil
			})
			_, err := controllers.Add(m, name, r, controllers.Options{Options: controller.Options{Concurrency: 2}}, controllers.For[*corev1.ConfigMap]())
			require.NoError(t, err)
		}
		add("wide")
		add("other")
		hub.Run(m)
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			controllertest.Create(hub, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
		}
		hub.Sleep(time.Minute)
		require.Equal(t, map[string]int{"wide": 3, "other": 2}, most)
	})
}
