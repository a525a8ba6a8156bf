package podgc_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/podgc"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A pod whose node does not exist is removed after a while.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return podgc.Add(m, podgc.Options{}) },
		}})
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "orphan")}
		p.Spec.NodeName = "gone"
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, p)
		c.Settle()
		fmt.Println("at first:", controllertest.Exists[*corev1.Pod](c, "default", "orphan"))
		c.Sleep(2 * time.Minute)
		fmt.Println("after two minutes:", controllertest.Exists[*corev1.Pod](c, "default", "orphan"))
	})
	// Output:
	// at first: true
	// after two minutes: false
}
