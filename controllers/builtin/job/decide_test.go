package job

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// jobOf returns a Job that has started.
func jobOf(completions, parallelism int32) *batchv1.Job {
	j := &batchv1.Job{}
	j.Name, j.UID = "work", "1"
	j.Spec.Completions, j.Spec.Parallelism, j.Spec.BackoffLimit = &completions, &parallelism, new(int32(6))
	j.Status.StartTime = &metav1.Time{Time: start}
	return j
}

// podOf returns a pod of an index, below 0 for none, that has the finalizer and a phase, whose containers, if
// they have ended, did so at the start.
func podOf(name string, index int, phase corev1.PodPhase) *corev1.Pod {
	p := &corev1.Pod{}
	p.Name, p.UID, p.Finalizers, p.Status.Phase = name, types.UID(name), []string{batchv1.JobTrackingFinalizer}, phase
	if index >= 0 {
		p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(index)}
	}
	if phase == corev1.PodFailed || phase == corev1.PodSucceeded {
		end := &corev1.ContainerStateTerminated{FinishedAt: metav1.Time{Time: start}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: end}}}
	}
	return p
}

// restarted returns a pod that is being deleted and whose container was restarted.
func restarted(name string) *corev1.Pod {
	p := podOf(name, -1, corev1.PodRunning)
	p.DeletionTimestamp = &metav1.Time{Time: start}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}}
	return p
}

// text is a plan in short.
func (p plan) text() (out []string) {
	if p.outcome != nil {
		out = append(out, string(p.outcome.Type)+" "+p.outcome.Reason)
	}
	for _, pod := range p.remove {
		out = append(out, "remove "+pod.Name)
	}
	for _, pod := range p.create {
		out = append(out, "create "+pod.GenerateName)
	}
	if p.again > 0 {
		out = append(out, "again in "+p.again.String())
	}
	return out
}

func TestDecide(t *testing.T) {
	const running, succeeded, failed = corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed
	indexed := func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.IndexedCompletion) }
	suspended := func(j *batchv1.Job) { j.Spec.Suspend = new(true) }
	for name, c := range map[string]struct {
		job    *batchv1.Job
		change func(*batchv1.Job)
		pods   []*corev1.Pod
		want   []string
	}{
		"as many as run at once":   {job: jobOf(5, 2), want: []string{"create work-", "create work-"}},
		"no more than are left":    {job: jobOf(2, 2), pods: []*corev1.Pod{podOf("a", -1, succeeded)}, want: []string{"create work-"}},
		"less parallelism":         {job: jobOf(5, 1), pods: []*corev1.Pod{podOf("a", -1, running), podOf("b", -1, corev1.PodPending)}, want: []string{"remove b"}},
		"a pause after a failure":  {job: jobOf(1, 1), pods: []*corev1.Pod{podOf("a", -1, failed)}, want: []string{"again in 10s"}},
		"suspended":                {job: jobOf(5, 1), change: suspended, pods: []*corev1.Pod{podOf("a", -1, running)}, want: []string{"remove a"}},
		"the indexes in order":     {job: jobOf(3, 2), change: indexed, pods: []*corev1.Pod{podOf("a", 0, succeeded)}, want: []string{"create work-1-", "create work-2-"}},
		"two pods of an index":     {job: jobOf(3, 1), change: indexed, pods: []*corev1.Pod{podOf("a", 0, corev1.PodPending), podOf("b", 0, running)}, want: []string{"remove a"}},
		"a limit that was lowered": {job: jobOf(2, 2), change: func(j *batchv1.Job) { j.Spec.BackoffLimit, j.Status.Failed = new(int32(1)), 2 }, want: []string{"FailureTarget BackoffLimitExceeded"}},
		"a restart in a pod that ends": {job: jobOf(1, 1), change: func(j *batchv1.Job) {
			j.Spec.BackoffLimit, j.Spec.Template.Spec.RestartPolicy = new(int32(1)), corev1.RestartPolicyOnFailure
		}, pods: []*corev1.Pod{restarted("a")}, want: []string{"FailureTarget BackoffLimitExceeded"}},
		"an index there is not":     {job: jobOf(1, 1), change: indexed, pods: []*corev1.Pod{podOf("a", 7, running)}, want: []string{"remove a", "create work-0-"}},
		"a deadline that has come":  {job: jobOf(1, 1), change: func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(0)) }, pods: []*corev1.Pod{podOf("a", -1, running)}, want: []string{"FailureTarget DeadlineExceeded", "remove a"}},
		"a deadline that will come": {job: jobOf(1, 1), change: func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(5)) }, pods: []*corev1.Pod{podOf("a", -1, running)}, want: []string{"again in 5s"}},
		"too many failures": {job: jobOf(2, 2), change: func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(0)) },
			pods: []*corev1.Pod{podOf("a", -1, failed), podOf("b", -1, running)}, want: []string{"FailureTarget BackoffLimitExceeded", "remove b"}},
		"a failure that decides": {job: jobOf(2, 2), change: func(j *batchv1.Job) {
			j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionFailJob,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{1}}}}}
		}, pods: []*corev1.Pod{failedWith("a", 42), podOf("b", -1, running)}, want: []string{"FailureTarget PodFailurePolicy", "remove b"}},
		"enough indexes": {job: jobOf(5, 5), change: func(j *batchv1.Job) {
			indexed(j)
			j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("1")}}}
		}, pods: []*corev1.Pod{podOf("a", 1, succeeded), podOf("b", 2, running)}, want: []string{"SuccessCriteriaMet SuccessPolicy", "remove b"}},
		"being deleted": {job: jobOf(5, 2), change: func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: start} }},
	} {
		t.Run(name, func(t *testing.T) {
			if c.change != nil {
				c.change(c.job)
			}
			require.Equal(t, c.want, decide(factsOf(c.job, c.pods, start)).text())
		})
	}
}

// failedWith returns a pod that failed with an exit code.
func failedWith(name string, code int32) *corev1.Pod {
	p := podOf(name, -1, corev1.PodFailed)
	p.Status.ContainerStatuses[0].State.Terminated.ExitCode = code
	return p
}

// world is a Job and its pods, without a server.
type world struct {
	r    *rand.Rand
	job  *batchv1.Job
	pods []*corev1.Pod
	now  time.Time
	made int
	// how the pods that the Job did not delete have ended
	succeeded, failed int32
}

// TestEachPodCountsOnce plans and writes a Job whose pods end at random, with a process that ends at random
// between two writes. Each pod counts once, and no more run than may.
func TestEachPodCountsOnce(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &world{r: rand.New(rand.NewPCG(seed, 2)), now: start}
			w.job = jobOf(1+w.r.Int32N(6), 1+w.r.Int32N(4))
			w.job.Spec.BackoffLimit = new(int32(1000))
			for range 1000 {
				w.now = w.now.Add(time.Minute)
				w.reconcile()
				active := slices.DeleteFunc(slices.Clone(w.pods), func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
				require.LessOrEqual(t, len(active), int(*w.job.Spec.Parallelism))
				if finished(w.job) {
					break
				}
				for _, p := range active {
					w.end(p)
				}
			}
			require.True(t, finished(w.job))
			require.Equal(t, []int32{w.succeeded, w.failed}, []int32{w.job.Status.Succeeded, w.job.Status.Failed})
			require.Equal(t, *w.job.Spec.Completions, w.job.Status.Succeeded)
			uncounted := w.job.Status.UncountedTerminatedPods
			require.Empty(t, slices.Concat(uncounted.Succeeded, uncounted.Failed))
		})
	}
}

// end lets a pod run on, succeed or fail.
func (w *world) end(p *corev1.Pod) {
	switch w.r.IntN(4) {
	case 0:
		p.Status.Phase, w.failed = corev1.PodFailed, w.failed+1
	case 1:
		p.Status.Phase, w.succeeded = corev1.PodSucceeded, w.succeeded+1
	}
}

// reconcile does what the controller does, and ends early in one of four writes.
func (w *world) reconcile() {
	f := factsOf(codec.DeepCopy(w.job), slices.Clone(w.pods), w.now)
	p := decide(f)
	for range p.create {
		if w.r.IntN(4) == 0 {
			return
		}
		w.made++
		pod := podOf(fmt.Sprint("pod-", w.made), -1, corev1.PodRunning)
		w.pods, f.pods, f.active = append(w.pods, pod), append(f.pods, pod), append(f.active, pod)
	}
	outcome := p.outcome
	if outcome == nil {
		outcome, _ = success(f)
	}
	c := statusOf(f, outcome)
	if len(c.untrack) > 0 {
		if w.r.IntN(4) == 0 {
			return
		}
		w.job.Status = *codec.DeepCopy(&c.status)
		for _, pod := range c.untrack {
			if w.r.IntN(4) == 0 {
				return
			}
			pod.Finalizers = nil
			if w.r.IntN(2) == 0 { // which some other program waited for
				w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p == pod })
			}
		}
		c.exchange(f)
	}
	if !c.more && outcome != nil {
		c.conclude(f)
	}
	if w.r.IntN(4) > 0 {
		w.job.Status = c.status
	}
}
