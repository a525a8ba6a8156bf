package disruption_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/disruption"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A budget counts the healthy pods that may go.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return disruption.Add(m, disruption.Options{}) },
		}})
		labels := map[string]string{"app": "web"}
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: controllertest.Name("default", "web")}
		budget.Spec.Selector, budget.Spec.MinAvailable = &metav1.LabelSelector{MatchLabels: labels}, new(intstr.FromInt32(1))
		controllertest.Create(c, budget)
		for _, name := range []string{"a", "b", "c"} {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
			p.Labels = labels
			p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
			controllertest.Create(c, p)
			controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			})
		}
		c.Settle()
		s := controllertest.Get[*policyv1.PodDisruptionBudget](c, "default", "web").Status
		fmt.Printf("%d healthy, %d may go\n", s.CurrentHealthy, s.DisruptionsAllowed)
	})
	// Output: 3 healthy, 2 may go
}
