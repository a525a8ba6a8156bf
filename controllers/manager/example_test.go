package manager_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// Runnables of the leader start when the informers have synced.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		m := manager.New(c.Admin(), manager.Options{})
		namespaces := informers.For[*corev1.Namespace](m.Informers()).Lister()
		ctx, stop := context.WithCancel(t.Context())
		m.Add("look", manager.Func(func(ctx context.Context) error {
			defer stop()
			ns, err := namespaces.Get(types.NamespacedName{Name: "kube-system"})
			fmt.Println(ns.Name, ns.Status.Phase, err)
			return nil
		}))
		fmt.Println(m.Run(ctx))
	})
	// Output:
	// kube-system Active <nil>
	// <nil>
}

// A manager whose informers, and so its controllers and listers, are limited to two namespaces and to what
// they need of each object. A Role in each of the namespaces is enough to run it.
func ExampleOptions() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		m := manager.New(c.Admin(), manager.Options{Informers: informers.SetOptions{Cache: informers.Cache{
			Namespaces: []string{"kube-system", "default"},
			Types: []informers.TypeCache{informers.CacheOf(informers.Options[*corev1.ConfigMap]{
				LabelSelector: labels.MustParse("app=shop"),
				Transform:     func(cm *corev1.ConfigMap) error { cm.BinaryData = nil; return nil },
			})},
		}}})
		configs := informers.For[*corev1.ConfigMap](m.Informers()).Lister()
		ctx, stop := context.WithCancel(t.Context())
		m.Add("look", manager.Func(func(ctx context.Context) error {
			defer stop()
			_, err := configs.Get(types.NamespacedName{Namespace: "other", Name: "settings"})
			found, advice, _ := strings.Cut(err.Error(), ": add ")
			fmt.Println(found)
			fmt.Println("add", advice)
			return nil
		}))
		fmt.Println(m.Run(ctx))
	})
	// Output: informers: the cache of configmaps does not hold namespace "other", only ["default" "kube-system"]
	// add it to Cache.Namespaces or Options.Namespaces
	// <nil>
}
