package cronjob_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/cronjob"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A Job at noon in Berlin.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return cronjob.Add(m, cronjob.Options{}) },
		}})
		cj := &batchv1.CronJob{ObjectMeta: controllertest.Name("default", "report")}
		cj.Spec.Schedule, cj.Spec.TimeZone = "0 12 * * *", new("Europe/Berlin")
		cj.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		cj.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, cj)
		c.Sleep(24 * time.Hour)
		for _, job := range controllertest.List[*batchv1.Job](c, "default") {
			fmt.Println(job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
		}
	})
	// Output: 2000-01-01T12:00:00+01:00
}
