package job

import (
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// facts are what a plan and a status are made of. Writes bring them up to date.
type facts struct {
	job  *batchv1.Job // as the API has it
	pods []*corev1.Pod
	now  time.Time

	// status is that of the job with its start, and with the noted pods counted whose finalizers are gone.
	status               batchv1.JobStatus
	active, terminating  []*corev1.Pod
	succeeded, failed    []*corev1.Pod // ended and tracked, not noted yet
	ignored              []*corev1.Pod // failed, and the policy says not to count
	policyFailure        string        // set when the policy fails the Job
	completed, failedIdx indexes       // Indexed: as counted, with the newly ended pods
}

// factsOf sorts the pods of a Job.
func factsOf(job *batchv1.Job, pods []*corev1.Pod, now time.Time) *facts {
	f := &facts{job: job, pods: pods, now: now, status: *codec.DeepCopy(&job.Status)}
	// One that is resumed has its deadline from now on.
	if !f.suspended() && (f.status.StartTime == nil || holds(&f.status, batchv1.JobSuspended)) {
		f.status.StartTime = f.second()
	}
	f.classify()
	f.settleNoted()
	return f
}

// second returns the time in the resolution of the API.
func (f *facts) second() *metav1.Time { return &metav1.Time{Time: f.now.Truncate(time.Second)} }

func (f *facts) suspended() bool { return f.job.Spec.Suspend != nil && *f.job.Spec.Suspend }

func (f *facts) indexed() bool {
	return f.job.Spec.CompletionMode != nil && *f.job.Spec.CompletionMode == batchv1.IndexedCompletion
}

func (f *facts) perIndex() bool { return f.indexed() && f.job.Spec.BackoffLimitPerIndex != nil }

// replaceFailedOnly reports whether a pod that is ending keeps its place until it has ended.
func (f *facts) replaceFailedOnly() bool {
	if p := f.job.Spec.PodReplacementPolicy; p != nil {
		return *p == batchv1.Failed
	}
	return f.job.Spec.PodFailurePolicy != nil
}

// hasFailed reports whether a pod counts as failed. One that is deleted counts at once, for it may never get
// a phase, unless its replacement must wait for its end.
func (f *facts) hasFailed(p *corev1.Pod) bool {
	switch {
	case p.Status.Phase == corev1.PodFailed:
		return true
	case p.Status.Phase == corev1.PodSucceeded || f.replaceFailedOnly() && p.Spec.NodeName != "":
		return false
	}
	return p.DeletionTimestamp != nil
}

// classify sorts the pods.
func (f *facts) classify() {
	noted := map[types.UID]bool{}
	if u := f.status.UncountedTerminatedPods; u != nil {
		for _, uid := range slices.Concat(u.Succeeded, u.Failed) {
			noted[uid] = true
		}
	}
	if f.indexed() {
		f.completed = parseIndexes(f.status.CompletedIndexes, f.completions())
		if f.perIndex() && f.status.FailedIndexes != nil {
			f.failedIdx = parseIndexes(*f.status.FailedIndexes, f.completions())
		}
	}
	for _, p := range f.pods {
		ended := p.HasEnded()
		switch {
		case !ended && p.DeletionTimestamp != nil:
			f.terminating = append(f.terminating, p)
		case !ended:
			f.active = append(f.active, p)
		}
		if !tracked(p) || noted[p.UID] {
			continue
		}
		switch {
		case p.Status.Phase == corev1.PodSucceeded:
			f.succeeded = append(f.succeeded, p)
		case f.hasFailed(p):
			f.judge(p)
		}
	}
	if !f.indexed() {
		return
	}
	var add indexes
	for _, p := range f.succeeded {
		if i := indexOf(p); i >= 0 && i < f.completions() {
			add = append(add, i)
		}
	}
	f.completed = f.completed.with(add)
	if f.perIndex() {
		f.failedIdx = f.failedIdx.with(f.exhausted()).without(f.completed)
	}
}

// judge sorts a failed pod by the failure policy.
func (f *facts) judge(p *corev1.Pod) {
	action, message := batchv1.PodFailurePolicyActionCount, ""
	if policy := f.job.Spec.PodFailurePolicy; policy != nil && p.Status.Phase == corev1.PodFailed {
		action, message = match(policy, p)
	}
	switch action {
	case batchv1.PodFailurePolicyActionIgnore:
		f.ignored = append(f.ignored, p)
		return
	case batchv1.PodFailurePolicyActionFailJob:
		if f.policyFailure == "" {
			f.policyFailure = message
		}
	case batchv1.PodFailurePolicyActionFailIndex:
		if i := indexOf(p); f.perIndex() && i >= 0 {
			f.failedIdx = f.failedIdx.with(indexes{i})
		}
	}
	f.failed = append(f.failed, p)
}

// settleNoted exchanges the noted uids whose pods have lost their finalizer, or are gone, for counts.
func (f *facts) settleNoted() {
	u := f.status.UncountedTerminatedPods
	if u == nil {
		return
	}
	held := map[types.UID]bool{}
	for _, p := range f.pods {
		held[p.UID] = tracked(p)
	}
	settle := func(uids []types.UID, counter *int32) []types.UID {
		return slices.DeleteFunc(slices.Clone(uids), func(uid types.UID) bool {
			if held[uid] {
				return false
			}
			*counter++
			return true
		})
	}
	next := &batchv1.UncountedTerminatedPods{}
	next.Failed = settle(u.Failed, &f.status.Failed)
	if f.indexed() {
		next.Succeeded = u.Succeeded // successes of indexes are counted by index
	} else {
		next.Succeeded = settle(u.Succeeded, &f.status.Succeeded)
	}
	f.status.UncountedTerminatedPods = next
}

// succeededTotal is all successes, counted, noted and new.
func (f *facts) succeededTotal() int32 {
	if f.indexed() {
		return int32(len(f.completed))
	}
	n := f.status.Succeeded + int32(len(f.succeeded))
	if u := f.status.UncountedTerminatedPods; u != nil {
		n += int32(len(u.Succeeded))
	}
	return n
}

// failedTotal is all failures that count.
func (f *facts) failedTotal() int32 {
	n := f.status.Failed + int32(len(f.failed))
	if u := f.status.UncountedTerminatedPods; u != nil {
		n += int32(len(u.Failed))
	}
	return n
}

// suspension notes in the status of a Job that goes on that it was suspended or resumed, and returns the
// event of that.
func (f *facts) suspension() (notes []note) {
	if f.suspended() {
		if set(&f.status, f.now, batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended") {
			f.status.StartTime = nil
			notes = append(notes, note{corev1.EventTypeNormal, "Suspended", "Job suspended"})
		}
	} else if set(&f.status, f.now, batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed") {
		notes = append(notes, note{corev1.EventTypeNormal, "Resumed", "Job resumed"})
	}
	return notes
}
