package manager_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// What runs on the leader alone starts when the informers have synced.
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
