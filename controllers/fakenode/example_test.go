package fakenode_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A simulated node runs a pod that fails after a minute. The example returns at once: time is virtual.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{}) },
		}})
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "task")}
		p.Annotations = map[string]string{fakenode.RunForAnnotation: "1m", fakenode.ExitCodeAnnotation: "3"}
		p.Spec.NodeName, p.Spec.RestartPolicy = "node-0", corev1.RestartPolicyNever
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, p)
		c.Settle()
		fmt.Println(controllertest.Get[*corev1.Pod](c, "default", "task").Status.Phase)
		c.Sleep(2 * time.Minute)
		status := controllertest.Get[*corev1.Pod](c, "default", "task").Status
		fmt.Println(status.Phase, status.ContainerStatuses[0].State.Terminated.ExitCode)
	})
	// Output:
	// Running
	// Failed 3
}
