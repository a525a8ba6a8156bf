package job_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/job"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

func addJobs(m *manager.Manager) error { return job.Add(m, job.Options{}) }

// nodes run pods; the Jobs' controller is not among them.
var nodes = []controllertest.Adder{
	func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
	func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{}) },
	func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
	func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
}

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: append(slices.Clone(nodes), addJobs)})
		f(t, c)
	})
}

// work is a Job whose pods run for ten seconds and succeed.
func work(edit ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: controllertest.Name("default", "work")}
	j.Spec.Template.Annotations = map[string]string{fakenode.RunForAnnotation: "10s"}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	for _, e := range edit {
		e(j)
	}
	return j
}

func numbers(completions, parallelism int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Spec.Parallelism = &parallelism
		if completions > 0 {
			j.Spec.Completions = &completions
		}
	}
}

func indexed(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.IndexedCompletion) }

func exits(code int) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.Template.Annotations[fakenode.ExitCodeAnnotation] = fmt.Sprint(code) }
}

func backoffLimit(n int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.BackoffLimit = &n }
}

func get(c *controllertest.Cluster) *batchv1.Job {
	return controllertest.Get[*batchv1.Job](c, "default", "work")
}

func pods(c *controllertest.Cluster) []*corev1.Pod {
	return controllertest.List[*corev1.Pod](c, "default")
}

func condition(c *controllertest.Cluster, t batchv1.JobConditionType) *batchv1.JobCondition {
	for _, cond := range get(c).Status.Conditions {
		if cond.Type == t {
			return &cond
		}
	}
	return nil
}

func requireCondition(t *testing.T, c *controllertest.Cluster, typ batchv1.JobConditionType, reason, message string) {
	t.Helper()
	cond := condition(c, typ)
	require.NotNil(t, cond, "%s is missing: %+v", typ, get(c).Status)
	require.Equal(t, corev1.ConditionTrue, cond.Status)
	require.Equal(t, reason, cond.Reason)
	require.Equal(t, message, cond.Message)
}

// settled checks what must hold when a Job is over.
func settled(t *testing.T, c *controllertest.Cluster) {
	t.Helper()
	s := get(c).Status
	require.Zero(t, s.Active)
	require.Zero(t, *s.Ready)
	require.Zero(t, *s.Terminating)
	require.Empty(t, s.UncountedTerminatedPods.Succeeded)
	require.Empty(t, s.UncountedTerminatedPods.Failed)
	for _, p := range pods(c) {
		require.NotContains(t, p.Finalizers, batchv1.JobTrackingFinalizer)
	}
}

const reached = "Reached expected number of succeeded pods"

func TestCompletions(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		most := int32(0)
		controllertest.Watch(c, "default", func(e client.Event[*batchv1.Job]) { most = max(most, e.Object.Status.Active) })
		controllertest.Create(c, work(numbers(5, 2)))
		c.Sleep(5 * time.Second)
		s := get(c).Status
		require.Equal(t, int32(2), s.Active)
		require.Equal(t, int32(2), *s.Ready)
		require.NotNil(t, s.StartTime)
		for _, p := range pods(c) {
			require.Contains(t, p.Finalizers, batchv1.JobTrackingFinalizer)
			require.Equal(t, "work", p.Labels[batchv1.JobNameLabel])
		}
		c.Sleep(time.Minute)
		require.Equal(t, int32(5), get(c).Status.Succeeded)
		require.Zero(t, get(c).Status.Failed)
		require.Equal(t, int32(2), most)
		require.NotNil(t, get(c).Status.CompletionTime)
		require.Len(t, pods(c), 5)
		requireCondition(t, c, batchv1.JobSuccessCriteriaMet, "CompletionsReached", reached)
		requireCondition(t, c, batchv1.JobComplete, "CompletionsReached", reached)
		settled(t, c)
		var reasons []string
		for _, e := range controllertest.List[*corev1.Event](c, "default") {
			if e.InvolvedObject.Kind == "Job" && e.Reason != "SuccessfulCreate" {
				reasons = append(reasons, e.Reason+": "+e.Message)
			}
		}
		require.Equal(t, []string{"Completed: Job completed"}, reasons)
	})
}

// Without completions the first success speaks for all, and the others may end.
func TestWorkQueue(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(0, 3)))
		c.Sleep(time.Minute)
		require.Equal(t, int32(3), get(c).Status.Succeeded)
		requireCondition(t, c, batchv1.JobComplete, "CompletionsReached", reached)
		require.Len(t, pods(c), 3)
		settled(t, c)
	})
}

func TestIndexed(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(4, 3), indexed))
		c.Sleep(5 * time.Second)
		seen := map[string]bool{}
		for _, p := range pods(c) {
			i := p.Annotations[batchv1.JobCompletionIndexAnnotation]
			seen[i] = true
			require.Equal(t, i, p.Labels[batchv1.JobCompletionIndexAnnotation])
			require.Equal(t, "work-"+i, p.Spec.Hostname)
			require.Equal(t, "work-"+i+"-", p.GenerateName)
			require.Equal(t, "JOB_COMPLETION_INDEX", p.Spec.Containers[0].Env[0].Name)
			require.Equal(t, "metadata.labels['batch.kubernetes.io/job-completion-index']", p.Spec.Containers[0].Env[0].ValueFrom.FieldRef.FieldPath)
		}
		require.Equal(t, map[string]bool{"0": true, "1": true, "2": true}, seen)
		c.Sleep(time.Minute)
		s := get(c).Status
		require.Equal(t, "0-3", s.CompletedIndexes)
		require.Equal(t, int32(4), s.Succeeded)
		require.Nil(t, s.FailedIndexes)
		requireCondition(t, c, batchv1.JobComplete, "CompletionsReached", reached)
		settled(t, c)
	})
}

// Failures are retried after 10, 20, 40 seconds, until the limit.
func TestBackoffLimit(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		var made []time.Time
		controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
			if e.Type == client.Added {
				made = append(made, time.Now())
			}
		})
		controllertest.Create(c, work(exits(1), backoffLimit(3)))
		c.Sleep(10 * time.Minute)
		require.Len(t, made, 4)
		for i, pause := range []time.Duration{10, 20, 40} {
			require.WithinDuration(t, made[i].Add(10*time.Second+pause*time.Second), made[i+1], 2*time.Second)
		}
		require.Equal(t, int32(4), get(c).Status.Failed)
		require.Nil(t, get(c).Status.CompletionTime)
		requireCondition(t, c, batchv1.JobFailureTarget, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
		requireCondition(t, c, batchv1.JobFailed, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
		settled(t, c)
	})
}

func TestRestartsInPlaceCount(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(exits(1), backoffLimit(2), func(j *batchv1.Job) {
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		}))
		c.Sleep(10 * time.Minute)
		requireCondition(t, c, batchv1.JobFailed, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
		settled(t, c)
	})
}

func TestBackoffLimitPerIndex(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(3, 3), indexed, exits(1), func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(1)) }))
		c.Sleep(15 * time.Second)
		for _, p := range pods(c) {
			require.Equal(t, "0", p.Annotations[batchv1.JobIndexFailureCountAnnotation])
		}
		c.Sleep(5 * time.Minute)
		s := get(c).Status
		require.Equal(t, "0-2", *s.FailedIndexes)
		require.Empty(t, s.CompletedIndexes)
		require.Equal(t, int32(6), s.Failed)
		require.Len(t, pods(c), 6)
		requireCondition(t, c, batchv1.JobFailed, "FailedIndexes", "Job has failed indexes")
		settled(t, c)
	})
}

func TestMaxFailedIndexes(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(10, 2), indexed, exits(1), func(j *batchv1.Job) {
			j.Spec.BackoffLimitPerIndex, j.Spec.MaxFailedIndexes = new(int32(0)), new(int32(3))
		}))
		c.Sleep(5 * time.Minute)
		requireCondition(t, c, batchv1.JobFailed, "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
		require.Equal(t, "0-3", *get(c).Status.FailedIndexes)
		settled(t, c)
	})
}

func failurePolicy(action batchv1.PodFailurePolicyAction, codes ...int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: action,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: codes}}}}
	}
}

func TestPodFailurePolicyFailsTheJob(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(2, 2), exits(42), failurePolicy(batchv1.PodFailurePolicyActionFailJob, 41, 42)))
		c.Sleep(time.Minute)
		cond := condition(c, batchv1.JobFailed)
		require.Equal(t, "PodFailurePolicy", cond.Reason)
		require.Regexp(t, `^Container main for pod default/work-\w+ failed with exit code 42 matching FailJob rule at index 0$`, cond.Message)
		settled(t, c)
	})
}

func TestIgnoredFailuresDoNotCount(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(exits(42), backoffLimit(0), failurePolicy(batchv1.PodFailurePolicyActionIgnore, 42)))
		c.Sleep(3 * time.Minute)
		require.Zero(t, get(c).Status.Failed)
		require.Nil(t, condition(c, batchv1.JobFailed))
		require.Greater(t, len(pods(c)), 2)
	})
}

func TestFailIndex(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(2, 2), indexed, exits(42), func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(5)) },
			failurePolicy(batchv1.PodFailurePolicyActionFailIndex, 42)))
		c.Sleep(time.Minute)
		require.Equal(t, "0,1", *get(c).Status.FailedIndexes)
		require.Len(t, pods(c), 2, "no second try")
		requireCondition(t, c, batchv1.JobFailed, "FailedIndexes", "Job has failed indexes")
	})
}

func TestSuccessPolicy(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(5, 2), indexed, func(j *batchv1.Job) {
			j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("0,4")}, {SucceededIndexes: new("0-2"), SucceededCount: new(int32(1))}}}
		}))
		c.Sleep(2 * time.Minute)
		requireCondition(t, c, batchv1.JobSuccessCriteriaMet, "SuccessPolicy", "Matched rules at index 1")
		requireCondition(t, c, batchv1.JobComplete, "SuccessPolicy", "Matched rules at index 1")
		require.Less(t, get(c).Status.Succeeded, int32(5))
		require.Zero(t, get(c).Status.Failed)
		settled(t, c)
	})
}

func TestActiveDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(2, 2), func(j *batchv1.Job) {
			j.Spec.ActiveDeadlineSeconds = new(int64(30))
			j.Spec.Template.Annotations[fakenode.RunForAnnotation] = "10h"
		}))
		c.Sleep(25 * time.Second)
		require.Nil(t, condition(c, batchv1.JobFailureTarget))
		c.Sleep(10 * time.Second)
		requireCondition(t, c, batchv1.JobFailed, "DeadlineExceeded", "Job was active longer than specified deadline")
		require.Empty(t, pods(c))
		settled(t, c)
	})
}

func TestSuspendAndResume(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(2, 2), func(j *batchv1.Job) { j.Spec.Suspend = new(true); j.Spec.ActiveDeadlineSeconds = new(int64(60)) }))
		c.Sleep(time.Hour)
		require.Empty(t, pods(c))
		require.Nil(t, get(c).Status.StartTime)
		requireCondition(t, c, batchv1.JobSuspended, "JobSuspended", "Job suspended")
		suspend := func(v bool) {
			controllertest.Update(c, "default", "work", func(j *batchv1.Job) { j.Spec.Suspend = &v })
		}
		suspend(false)
		c.Sleep(5 * time.Second)
		require.Len(t, pods(c), 2)
		require.Equal(t, "JobResumed", condition(c, batchv1.JobSuspended).Reason)
		require.Equal(t, corev1.ConditionFalse, condition(c, batchv1.JobSuspended).Status)
		suspend(true)
		c.Sleep(5 * time.Minute)
		require.Empty(t, pods(c))
		require.Zero(t, get(c).Status.Active)
		require.Nil(t, get(c).Status.StartTime)
		require.Zero(t, get(c).Status.Failed, "pods that were not wanted any more did not fail")
		require.Nil(t, get(c).Status.StartTime)
		controllertest.Update(c, "default", "work", func(j *batchv1.Job) { // as a queue of Jobs does
			j.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "pool", Operator: corev1.TolerationOpExists}}
			j.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}
		})
		suspend(false)
		resumed := time.Now()
		c.Sleep(time.Minute)
		require.WithinDuration(t, resumed, get(c).Status.StartTime.Time, time.Second)
		requireCondition(t, c, batchv1.JobComplete, "CompletionsReached", reached)
		require.Equal(t, int32(2), get(c).Status.Succeeded)
		settled(t, c)
	})
}

func TestManagedByAnother(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") }))
		c.Sleep(time.Hour)
		require.Empty(t, pods(c))
		require.Equal(t, batchv1.JobStatus{}, get(c).Status)
	})
}

// A pod deleted by another client is a failure and is replaced; with the policy Failed only when it has
// ended.
func TestPodReplacementPolicy(t *testing.T) {
	for _, policy := range []batchv1.PodReplacementPolicy{batchv1.TerminatingOrFailed, batchv1.Failed} {
		t.Run(string(policy), func(t *testing.T) {
			bubble(t, func(t *testing.T, c *controllertest.Cluster) {
				controllertest.Create(c, work(func(j *batchv1.Job) {
					j.Spec.PodReplacementPolicy = &policy
					j.Spec.Template.Annotations[fakenode.RunForAnnotation] = "1h"
					// It is killed when its grace is over.
					j.Spec.Template.Annotations[fakenode.StopAfterAnnotation] = "1h"
					j.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(100))
				}))
				c.Sleep(5 * time.Second)
				first := pods(c)[0].Name
				controllertest.Delete[*corev1.Pod](c, "default", first)
				c.Sleep(50 * time.Second)
				if policy == batchv1.Failed {
					require.Len(t, pods(c), 1)
					require.Equal(t, int32(1), *get(c).Status.Terminating)
				} else {
					require.Len(t, pods(c), 2)
				}
				c.Sleep(2 * time.Minute)
				require.Len(t, pods(c), 1)
				require.NotEqual(t, first, pods(c)[0].Name)
				require.Equal(t, int32(1), get(c).Status.Failed)
				require.Equal(t, int32(1), get(c).Status.Active)
			})
		})
	}
}

func TestParallelismChanges(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, work(numbers(8, 1)))
		c.Sleep(5 * time.Second)
		scale := func(n int32) {
			controllertest.Update(c, "default", "work", func(j *batchv1.Job) { j.Spec.Parallelism = &n })
			c.Sleep(2 * time.Second)
		}
		scale(4)
		require.Equal(t, int32(4), get(c).Status.Active)
		scale(2)
		require.Equal(t, int32(2), get(c).Status.Active)
		scale(0)
		require.Zero(t, get(c).Status.Active)
		require.Zero(t, get(c).Status.Failed)
		scale(8)
		c.Sleep(time.Minute)
		require.Equal(t, int32(8), get(c).Status.Succeeded)
		settled(t, c)
	})
}

// A Job deleted in the middle of its work leaves no pod behind, although its pods carry a finalizer.
func TestDeletionFreesThePods(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			bubble(t, func(t *testing.T, c *controllertest.Cluster) {
				controllertest.Create(c, work(numbers(3, 3)))
				c.Sleep(5 * time.Second)
				require.Len(t, pods(c), 3)
				controllertest.Delete[*batchv1.Job](c, "default", "work", client.DeleteOptions{PropagationPolicy: policy})
				c.Sleep(time.Minute)
				require.Empty(t, pods(c))
				require.False(t, controllertest.Exists[*batchv1.Job](c, "default", "work"))
			})
		})
	}
}

// A Job that is deleted without its pods, which is what a DELETE without a policy means, leaves pods that can
// be deleted, whether the controller or the garbage collector was there first.
func TestOrphansAreFreed(t *testing.T) {
	for _, down := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{Controllers: nodes})
			run := func() func() {
				return c.Run(c.Manager("jobs", func(m *manager.Manager) error { return job.Add(m, job.Options{}) }))
			}
			stop := run()
			c.Settle()
			controllertest.Create(c, work(numbers(3, 3)))
			c.Sleep(5 * time.Second)
			require.Len(t, pods(c), 3)
			if down {
				stop()
			}
			controllertest.Delete[*batchv1.Job](c, "default", "work")
			c.Sleep(time.Second)
			if down {
				run()
			}
			c.Sleep(time.Minute)
			require.False(t, controllertest.Exists[*batchv1.Job](c, "default", "work"))
			for _, p := range pods(c) {
				require.Empty(t, p.OwnerReferences)
				require.Empty(t, p.Finalizers)
				controllertest.Delete[*corev1.Pod](c, "default", p.Name)
			}
			c.Sleep(time.Minute)
			require.Empty(t, pods(c))
		})
	}
}

// The controller is killed again and again in the middle of its counting, and nothing is lost or counted
// twice.
func TestCountingSurvivesCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: nodes})
		controllertest.Create(c, work(numbers(40, 7)))
		for i := range 200 {
			if s := get(c).Status; s.CompletionTime != nil {
				break
			}
			conn := &mortal{Conn: c.Conn(), left: 3 + i%11}
			stop := c.Run(c.ManagerOver(conn, "job", addJobs))
			c.Sleep(3 * time.Second)
			stop()
		}
		require.Equal(t, int32(40), get(c).Status.Succeeded)
		require.Zero(t, get(c).Status.Failed)
		require.Len(t, pods(c), 40)
		settled(t, c)
	})
}

// A drain evicts the pods of a Job: with a policy that ignores disruptions they are replaced and the Job
// completes, without one they count against the backoff limit.
func TestADrainDoesNotFailAJobThatIgnoresDisruptions(t *testing.T) {
	ignore := func(j *batchv1.Job) {
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
			{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0}}},
		}}
	}
	for name, test := range map[string]struct {
		edit []func(*batchv1.Job)
		want batchv1.JobConditionType
	}{
		"ignored": {[]func(*batchv1.Job){numbers(2, 2), backoffLimit(0), ignore}, batchv1.JobComplete},
		"counted": {[]func(*batchv1.Job){numbers(2, 2), backoffLimit(0)}, batchv1.JobFailed},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *controllertest.Cluster) {
				j := work(test.edit...)
				j.Spec.Template.Annotations[fakenode.StopAfterAnnotation] = "2s"
				controllertest.Create(c, j)
				c.Sleep(5 * time.Second)
				first := pods(c)
				require.Len(t, first, 2)
				for _, p := range first {
					require.Equal(t, corev1.PodRunning, p.Status.Phase)
					_, err := client.Subresource[*policyv1.Eviction](client.For[*corev1.Pod](c.Admin()), "eviction").Create(t.Context(), p.Key(),
						&policyv1.Eviction{ObjectMeta: controllertest.Name(p.Namespace, p.Name)})
					require.NoError(t, err)
					mark := slices.IndexFunc(controllertest.Get[*corev1.Pod](c, p.Namespace, p.Name).Status.Conditions, func(cond corev1.PodCondition) bool {
						return cond.Type == corev1.DisruptionTarget && cond.Status == corev1.ConditionTrue && cond.Reason == "EvictionByEvictionAPI"
					})
					require.GreaterOrEqual(t, mark, 0)
				}
				c.Sleep(5 * time.Minute)
				cond := condition(c, test.want)
				require.NotNil(t, cond, "%+v", get(c).Status)
				require.Equal(t, corev1.ConditionTrue, cond.Status)
				if test.want == batchv1.JobComplete {
					require.EqualValues(t, 2, get(c).Status.Succeeded)
					require.Zero(t, get(c).Status.Failed, "disruptions do not count")
				}
				settled(t, c)
			})
		})
	}
}

// A Job that is suspended when it has its completions completes; it is not suspended.
func TestSuspendedWhenComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		stop := c.Run(c.Manager("jobs", addJobs))
		controllertest.Create(c, work(numbers(1, 1)))
		c.Settle()
		stop()
		controllertest.UpdateStatus(c, "default", pods(c)[0].Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		controllertest.Update(c, "default", "work", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
		c.Run(c.Manager("jobs", addJobs))
		c.Sleep(time.Minute)
		requireCondition(t, c, batchv1.JobComplete, "CompletionsReached", reached)
		require.Nil(t, condition(c, batchv1.JobSuspended))
	})
}

// The names of the pods of an index have the index, however long the name of the Job is.
func TestLongNamesKeepTheIndex(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		name := strings.Repeat("n", 58)
		controllertest.Create(c, work(numbers(2, 2), indexed, func(j *batchv1.Job) { j.Name = name }))
		c.Settle()
		require.Len(t, pods(c), 2)
		for _, p := range pods(c) {
			require.Equal(t, name[:55]+"-"+p.Annotations[batchv1.JobCompletionIndexAnnotation]+"-", p.Name[:58])
		}
	})
}
