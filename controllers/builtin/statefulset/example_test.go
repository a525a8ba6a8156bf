package statefulset_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/statefulset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// Three pods with names of their own, created one after another.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return statefulset.Add(m, statefulset.Options{}) },
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{}) },
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		}})
		set := &appsv1.StatefulSet{ObjectMeta: controllertest.Name("default", "db")}
		set.Spec.Replicas = new(int32(3))
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
		set.Spec.Template.Labels = map[string]string{"app": "db"}
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "db:1"}}
		controllertest.Create(c, set)
		c.Sleep(time.Minute)
		for _, pod := range controllertest.List[*corev1.Pod](c, "default") {
			fmt.Println(pod.Name, pod.Status.Phase)
		}
	})
	// Output:
	// db-0 Running
	// db-1 Running
	// db-2 Running
}
