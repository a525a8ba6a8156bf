package ttlafterfinished_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/ttlafterfinished"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// start starts a cluster whose controller has only its own rights.
func start(t *testing.T) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{
		As: client.User{Name: "system:serviceaccount:kube-system:ttl-after-finished-controller"},
		Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			return ttlafterfinished.Add(m, ttlafterfinished.Options{})
		}},
	})
}

func create(c *controllertest.Cluster, name string, ttl *int32) {
	j := &batchv1.Job{ObjectMeta: controllertest.Name("default", name)}
	j.Spec.TTLSecondsAfterFinished = ttl
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
	controllertest.Create(c, j)
}

func finish(c *controllertest.Cluster, name string) {
	controllertest.UpdateStatus(c, "default", name, func(j *batchv1.Job) {
		now := metav1.Now()
		j.Status.StartTime, j.Status.CompletionTime = &now, &now
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
		for _, typ := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: typ, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
	})
}

// gone reports whether a Job is being deleted, in the foreground, or has been.
func gone(c *controllertest.Cluster, name string) bool {
	return !controllertest.Exists[*batchv1.Job](c, "default", name) ||
		controllertest.Get[*batchv1.Job](c, "default", name).DeletionTimestamp != nil
}

// A Job that is deleted ten seconds after it has finished.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		create(c, "work", new(int32(10)))
		finish(c, "work")
		c.Sleep(9 * time.Second)
		fmt.Println("after 9 s:", gone(c, "work"))
		c.Sleep(time.Second)
		fmt.Println("after 10 s:", gone(c, "work"))
	})
	// Output:
	// after 9 s: false
	// after 10 s: true
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		create(c, "kept", nil)
		create(c, "now", new(int32(0)))
		create(c, "extended", new(int32(60)))
		create(c, "running", new(int32(60)))
		for _, name := range []string{"kept", "now", "extended"} {
			finish(c, name)
		}
		c.Settle()
		require.True(t, gone(c, "now"))
		require.Equal(t, []string{"foregroundDeletion"}, controllertest.Get[*batchv1.Job](c, "default", "now").Finalizers)
		c.Sleep(30 * time.Second)
		controllertest.Update(c, "default", "extended", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(3600)) })
		c.Sleep(10 * time.Minute)
		for _, name := range []string{"kept", "extended", "running"} {
			require.False(t, gone(c, name), name)
		}
		c.Sleep(50 * time.Minute)
		require.True(t, gone(c, "extended"))
		require.False(t, gone(c, "kept"))
		require.False(t, gone(c, "running"))
	})
}
