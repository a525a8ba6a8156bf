package cronjob_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/cronjob"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func add(m *manager.Manager) error { return cronjob.Add(m, cronjob.Options{}) }

// account is the user as which the controller runs in a cluster.
var account = client.User{Name: "system:serviceaccount:kube-system:cronjob-controller"}

// bubble runs f with a cluster whose controller has only its own rights. The time is midnight UTC.
func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, controllertest.Start(t, controllertest.Options{As: account, Controllers: []controllertest.Adder{add}}))
	})
}

// report is a CronJob that starts a Job in each minute.
func report(edit ...func(*batchv1.CronJobSpec)) *batchv1.CronJob {
	cj := &batchv1.CronJob{ObjectMeta: controllertest.Name("default", "report")}
	cj.Spec.Schedule = "* * * * *"
	cj.Spec.JobTemplate.Labels = map[string]string{"app": "report"}
	cj.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	cj.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
	for _, e := range edit {
		e(&cj.Spec)
	}
	return cj
}

func get(c *controllertest.Cluster) *batchv1.CronJob {
	return controllertest.Get[*batchv1.CronJob](c, "default", "report")
}

func edit(c *controllertest.Cluster, f func(*batchv1.CronJobSpec)) {
	controllertest.Update(c, "default", "report", func(cj *batchv1.CronJob) { f(&cj.Spec) })
}

func jobs(c *controllertest.Cluster) []*batchv1.Job {
	return controllertest.List[*batchv1.Job](c, "default")
}

// finish ends a Job.
func finish(c *controllertest.Cluster, name string, as batchv1.JobConditionType) {
	controllertest.UpdateStatus(c, "default", name, func(j *batchv1.Job) {
		now := metav1.Now()
		if j.Status.StartTime == nil {
			j.Status.StartTime = &now
		}
		before := batchv1.JobFailureTarget
		if as == batchv1.JobComplete {
			j.Status.CompletionTime = &now
			before = batchv1.JobSuccessCriteriaMet
		}
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
		for _, typ := range []batchv1.JobConditionType{before, as} {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: typ, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
	})
}

// reasons returns how often each event was recorded.
func reasons(c *controllertest.Cluster) map[string]int32 {
	out := map[string]int32{}
	for _, e := range controllertest.List[*corev1.Event](c, "default") {
		out[e.Reason] += e.Count
	}
	return out
}

func TestStarts(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		cj := controllertest.Create(c, report())
		c.Sleep(59 * time.Second)
		require.Empty(t, jobs(c))
		c.Sleep(time.Second)
		all := jobs(c)
		require.Len(t, all, 1)
		job := all[0]
		require.Equal(t, fmt.Sprint("report-", time.Now().Unix()/60), job.Name)
		require.Equal(t, "2000-01-01T00:01:00Z", job.Annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"])
		require.Equal(t, "report", job.Labels["app"])
		require.Equal(t, cj.UID, metav1.ControllerOf(job).UID)
		s := get(c).Status
		require.Len(t, s.Active, 1)
		require.Equal(t, job.UID, s.Active[0].UID)
		require.True(t, s.LastScheduleTime.Time.Equal(time.Now().Truncate(time.Second)))
		require.Nil(t, s.LastSuccessfulTime)
		c.Sleep(time.Minute)
		require.Len(t, jobs(c), 2, "Allow starts the next one beside it")
		finish(c, job.Name, batchv1.JobComplete)
		c.Settle()
		s = get(c).Status
		require.Len(t, s.Active, 1)
		require.True(t, s.LastSuccessfulTime.Time.Equal(time.Now()))
		controllertest.Delete[*batchv1.Job](c, "default", s.Active[0].Name, client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground})
		c.Settle()
		require.Empty(t, get(c).Status.Active)
		require.Equal(t, map[string]int32{"SuccessfulCreate": 2, "SawCompletedJob": 1, "MissingJob": 1}, reasons(c))
	})
}

func TestForbid(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, report(func(s *batchv1.CronJobSpec) { s.ConcurrencyPolicy = batchv1.ForbidConcurrent }))
		c.Sleep(150 * time.Second)
		require.Len(t, jobs(c), 1)
		require.EqualValues(t, 1, reasons(c)["JobAlreadyActive"])
		finish(c, jobs(c)[0].Name, batchv1.JobFailed)
		c.Settle()
		require.Len(t, jobs(c), 2, "the start that was due is made up for")
		require.Equal(t, "2000-01-01T00:02:00Z", jobs(c)[1].Annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"])
	})
}

func TestReplace(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, report(func(s *batchv1.CronJobSpec) { s.ConcurrencyPolicy = batchv1.ReplaceConcurrent }))
		c.Sleep(time.Minute)
		first := jobs(c)[0].Name
		c.Sleep(time.Minute)
		require.Len(t, jobs(c), 1)
		require.NotEqual(t, first, jobs(c)[0].Name)
		require.Len(t, get(c).Status.Active, 1)
		require.EqualValues(t, 1, reasons(c)["SuccessfulDelete"])
	})
}

// While suspended nothing starts; afterwards the latest time that was missed does, if its deadline allows.
func TestSuspendAndDeadline(t *testing.T) {
	for deadline, want := range map[int64]int{-1: 1, 40: 1, 20: 0} {
		bubble(t, func(t *testing.T, c *controllertest.Cluster) {
			controllertest.Create(c, report(func(s *batchv1.CronJobSpec) {
				s.Suspend = new(true)
				if deadline > 0 {
					s.StartingDeadlineSeconds = &deadline
				}
			}))
			c.Sleep(10*time.Hour + 30*time.Second)
			require.Empty(t, jobs(c))
			edit(c, func(s *batchv1.CronJobSpec) { s.Suspend = new(false) })
			c.Settle()
			require.Len(t, jobs(c), want, "deadline %d", deadline)
			if deadline < 0 {
				require.EqualValues(t, 1, reasons(c)["TooManyMissedTimes"])
			}
			c.Sleep(30 * time.Second)
			require.Len(t, jobs(c), want+1, "deadline %d", deadline)
		})
	}
}

func TestHistoryLimits(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, report(func(s *batchv1.CronJobSpec) {
			s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit = new(int32(2)), new(int32(1))
		}))
		for i := range 8 {
			c.Sleep(time.Minute)
			for _, job := range jobs(c) {
				if len(job.Status.Conditions) == 0 {
					finish(c, job.Name, []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed}[i%2])
				}
			}
			c.Settle()
		}
		var times []string
		for _, job := range jobs(c) {
			times = append(times, job.Annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"][14:16])
		}
		require.Equal(t, []string{"05", "07", "08"}, times)
	})
}

// A Job that a user makes of a CronJob is not one of its starts.
func TestManualJobs(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		cj := controllertest.Create(c, report(func(s *batchv1.CronJobSpec) { s.ConcurrencyPolicy = batchv1.ForbidConcurrent }))
		manual := &batchv1.Job{ObjectMeta: controllertest.Name("default", "by-hand"), Spec: cj.Spec.JobTemplate.Spec}
		manual.OwnerReferences = []metav1.OwnerReference{metav1.NewControllerRef(cj, batchv1.GroupVersion.WithKind("CronJob"))}
		controllertest.Create(c, manual)
		c.Sleep(time.Minute)
		require.Len(t, jobs(c), 2, "a Job made by hand holds up nothing")
		require.Len(t, get(c).Status.Active, 1)
		require.NotZero(t, reasons(c)["UnexpectedJob"])
	})
}

// A process that ends after the Job was created, or that does not get the answer, starts no second one.
func TestLostAnswers(t *testing.T) {
	for _, sent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{})
			lost := 0
			conn := client.Intercept(c.Conn(account), func(ctx context.Context, call client.Call, send func(context.Context) error) error {
				write := call.Verb == "create" && call.Resource.Resource == "jobs" || call.Verb == "update" && call.Subresource == "status"
				if !write || lost >= 2 {
					return send(ctx)
				}
				lost++
				if sent {
					if err := send(ctx); err != nil {
						return err
					}
				}
				return apierrors.NewInternalError(context.DeadlineExceeded)
			})
			c.Run(c.ManagerOver(conn, "m", add))
			controllertest.Create(c, report(func(s *batchv1.CronJobSpec) { s.ConcurrencyPolicy = batchv1.ForbidConcurrent }))
			c.Sleep(100 * time.Second)
			require.Len(t, jobs(c), 1)
			s := get(c).Status
			require.Len(t, s.Active, 1)
			require.Equal(t, jobs(c)[0].UID, s.Active[0].UID)
			require.Equal(t, 2, lost)
		})
	}
}

// A name that another object has is left alone.
func TestForeignJob(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		cj := report()
		foreign := &batchv1.Job{ObjectMeta: controllertest.Name("default", fmt.Sprint("report-", time.Now().Unix()/60+1)), Spec: cj.Spec.JobTemplate.Spec}
		controllertest.Create(c, foreign)
		controllertest.Create(c, cj)
		c.Sleep(90 * time.Second)
		require.Len(t, jobs(c), 1)
		require.Empty(t, get(c).Status.Active)
		c.Sleep(time.Minute)
		require.Len(t, jobs(c), 2)
		require.False(t, strings.HasSuffix(jobs(c)[1].Name, foreign.Name))
	})
}

// Jobs of which none are kept complete without an event, and a day that never comes is one.
func TestImpossibleDay(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, report(func(s *batchv1.CronJobSpec) { s.SuccessfulJobsHistoryLimit = new(int32(0)) }))
		c.Sleep(time.Minute)
		finish(c, jobs(c)[0].Name, batchv1.JobComplete)
		c.Settle()
		require.Empty(t, jobs(c))
		require.Empty(t, get(c).Status.Active)
		edit(c, func(s *batchv1.CronJobSpec) { s.Schedule = "0 0 30 2 *" })
		c.Sleep(10 * time.Minute)
		first := reasons(c)
		require.Positive(t, first["InvalidSchedule"])
		require.Zero(t, first["SawCompletedJob"])
		c.Sleep(10 * time.Minute)
		require.Equal(t, first, reasons(c), "nothing looks at it again")
	})
}
