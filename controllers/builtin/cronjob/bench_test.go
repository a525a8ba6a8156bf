package cronjob_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// BenchmarkDay is a virtual day of 1,000 CronJobs, each of which starts one Job, in process over memory: at
// most 2 s.
func BenchmarkDay(b *testing.B) {
	const n = 1000
	for b.Loop() {
		synctest.Test(new(testing.T), func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{add}})
			for i := range n {
				cj := report(func(s *batchv1.CronJobSpec) { s.Schedule = fmt.Sprintf("%d %d * * *", i%60, i/60) })
				cj.Name = fmt.Sprint("report-", i)
				controllertest.Create(c, cj)
			}
			c.Sleep(24 * time.Hour)
			if started := len(jobs(c)); started != n {
				b.Fatalf("%d jobs", started)
			}
		})
	}
}
