package job_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/job"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// Three pieces of work, two at a time, on a node without a machine.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return job.Add(m, job.Options{}) },
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{}) },
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		}})
		j := &batchv1.Job{ObjectMeta: controllertest.Name("default", "work")}
		j.Spec.Completions, j.Spec.Parallelism = new(int32(3)), new(int32(2))
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, j)
		c.Settle()
		fmt.Println("active:", controllertest.Get[*batchv1.Job](c, "default", "work").Status.Active)
		c.Sleep(time.Minute)
		s := controllertest.Get[*batchv1.Job](c, "default", "work").Status
		fmt.Println("succeeded:", s.Succeeded, s.Conditions[len(s.Conditions)-1].Type)
	})
	// Output:
	// active: 2
	// succeeded: 3 Complete
}
