package daemonset_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/daemonset"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// A pod on each of three nodes.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return daemonset.Add(m, daemonset.Options{}) },
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 3}) },
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		}})
		ds := &appsv1.DaemonSet{ObjectMeta: controllertest.Name("default", "agent")}
		ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
		ds.Spec.Template.Labels = ds.Spec.Selector.MatchLabels
		ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "agent:1"}}
		controllertest.Create(c, ds)
		c.Sleep(time.Minute)
		s := controllertest.Get[*appsv1.DaemonSet](c, "default", "agent").Status
		fmt.Println("desired:", s.DesiredNumberScheduled, "ready:", s.NumberReady)
	})
	// Output: desired: 3 ready: 3
}
