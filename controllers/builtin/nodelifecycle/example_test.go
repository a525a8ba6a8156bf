package nodelifecycle_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A node whose kubelet falls silent is marked, and then tainted.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		}})
		kubelet := c.Run(c.Manager("kubelet", func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{}) }))
		c.Sleep(time.Minute)
		kubelet() // stops it
		c.Sleep(2 * time.Minute)
		node := controllertest.Get[*corev1.Node](c, "", "node-0")
		for _, cond := range node.Status.Conditions {
			if cond.Type == corev1.NodeReady {
				fmt.Println(cond.Type, cond.Status, cond.Reason)
			}
		}
		for _, taint := range node.Spec.Taints {
			fmt.Println(taint.Key, taint.Effect)
		}
	})
	// Output:
	// Ready Unknown NodeStatusUnknown
	// node.kubernetes.io/unreachable NoSchedule
}
