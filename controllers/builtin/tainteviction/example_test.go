package tainteviction_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/tainteviction"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// How long a pod may stay on a node that is not ready.
func ExampleTolerated() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	taints := []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.NewTime(now))}}
	for _, tolerations := range [][]corev1.Toleration{
		nil,
		{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(300))}},
		{{Operator: corev1.TolerationOpExists}},
	} {
		fmt.Println(tainteviction.Tolerated(tolerations, taints, now.Add(-time.Hour), now))
	}
	// Output:
	// false 0s
	// true 5m0s
	// true 0s
}

// A pod leaves a node that gets a taint which it does not tolerate.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{tainteviction.Add}})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		create(c, "leaves")
		create(c, "stays", corev1.Toleration{Operator: corev1.TolerationOpExists})
		controllertest.Update(c, "", "n", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
		})
		c.Settle()
		for _, name := range []string{"leaves", "stays"} {
			fmt.Println(name, "is being deleted:", deleted(c, name))
		}
	})
	// Output:
	// leaves is being deleted: true
	// stays is being deleted: false
}
