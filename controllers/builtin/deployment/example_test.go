package deployment_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A new template means a new ReplicaSet; the old one is scaled to nothing as its pods are replaced.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return deployment.Add(m, deployment.Options{}) },
			func(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) },
		}})
		labels := map[string]string{"app": "web"}
		d := &appsv1.Deployment{ObjectMeta: controllertest.Name("default", "web")}
		d.Spec.Replicas, d.Spec.Selector = new(int32(2)), &metav1.LabelSelector{MatchLabels: labels}
		d.Spec.Template.Labels = labels
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, d)
		c.Settle()
		controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "app:2" })
		c.Settle()
		images := map[string]int32{}
		for _, rs := range controllertest.List[*appsv1.ReplicaSet](c, "default") {
			images[rs.Spec.Template.Spec.Containers[0].Image] = *rs.Spec.Replicas
		}
		fmt.Println("revision", controllertest.Get[*appsv1.Deployment](c, "default", "web").Annotations["deployment.kubernetes.io/revision"])
		fmt.Println(images) // no pod is ready yet, so no old one may go
	})
	// Output:
	// revision 2
	// map[app:1:2 app:2:1]
}
