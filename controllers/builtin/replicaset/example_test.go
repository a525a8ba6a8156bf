package replicaset_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A pod that is deleted is replaced.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) },
		}})
		labels := map[string]string{"app": "web"}
		rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web")}
		rs.Spec.Replicas, rs.Spec.Selector = new(int32(3)), &metav1.LabelSelector{MatchLabels: labels}
		rs.Spec.Template.Labels = labels
		rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, rs)
		c.Settle()
		first := controllertest.List[*corev1.Pod](c, "default")[0].Name
		controllertest.Delete[*corev1.Pod](c, "default", first)
		c.Settle()
		fmt.Println("the same:", controllertest.Exists[*corev1.Pod](c, "default", first))
		fmt.Println("pods:", len(controllertest.List[*corev1.Pod](c, "default")))
	})
	// Output:
	// the same: false
	// pods: 3
}

// A ReplicationController has pods as a ReplicaSet has them; its selector is that of its template by default.
func ExampleAddReplicationControllers() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return replicaset.AddReplicationControllers(m, replicaset.Options{}) },
		}})
		rc := &corev1.ReplicationController{ObjectMeta: controllertest.Name("default", "web")}
		rc.Spec.Replicas, rc.Spec.Template = new(int32(2)), &corev1.PodTemplateSpec{}
		rc.Spec.Template.Labels = map[string]string{"app": "web"}
		rc.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, rc)
		c.Settle()
		fmt.Println("pods:", len(controllertest.List[*corev1.Pod](c, "default")))
	})
	// Output: pods: 2
}
