package garbagecollector_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// What belongs to an object goes with it.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
		}})
		owner := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "owner")})
		kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
		part := &corev1.Secret{ObjectMeta: controllertest.Name("default", "part")}
		part.OwnerReferences = []metav1.OwnerReference{metav1.NewControllerRef(owner, kind)}
		controllertest.Create(c, part)
		controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "other")})
		controllertest.Delete[*corev1.ConfigMap](c, "default", "owner")
		c.Sleep(time.Second)
		fmt.Println("part:", controllertest.Exists[*corev1.Secret](c, "default", "part"))
		fmt.Println("other:", controllertest.Exists[*corev1.Secret](c, "default", "other"))
	})
	// Output:
	// part: false
	// other: true
}
