package podgroupprotection_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// The deletion of a group waits for its pods.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, options(t))
		g := &group{ObjectMeta: controllertest.Name("default", "workers")}
		g.Finalizers = []string{schedulingv1alpha2.Finalizer} // which admission adds
		g.Spec.SchedulingPolicy.Basic = &schedulingv1alpha2.BasicSchedulingPolicy{}
		controllertest.Create(c, g)
		controllertest.Create(c, member("worker-0", "workers"))
		c.Settle() // the controller has seen the pod

		controllertest.Delete[*group](c, "default", "workers")
		c.Sleep(time.Minute)
		fmt.Println(len(controllertest.List[*group](c, "default")))
		controllertest.Delete[*corev1.Pod](c, "default", "worker-0")
		c.Sleep(time.Minute)
		fmt.Println(len(controllertest.List[*group](c, "default")))
	})
	// Output:
	// 1
	// 0
}
