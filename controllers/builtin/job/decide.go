package job

import (
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// plan is what to do next.
type plan struct {
	// outcome is what decides the Job, nil if it goes on. Once decided, it stays.
	outcome *batchv1.JobCondition
	// remove are the active pods to delete. With spare they are not wanted any more, which is no failure:
	// they lose their finalizer first.
	remove []*corev1.Pod
	spare  bool
	create []*corev1.Pod // after the removals
	again  time.Duration // when to look again; 0: not by itself
}

// note is an event to record.
type note struct{ typ, reason, message string }

// lookAgain plans another reconcile after d.
func (p *plan) lookAgain(d time.Duration) {
	if d > 0 && (p.again == 0 || d < p.again) {
		p.again = d
	}
}

// planner makes a plan. Its active and terminating pods are those after the removals of the plan.
type planner struct {
	facts
	plan
}

// decide returns what to do.
func decide(f *facts) plan {
	p := &planner{facts: *f}
	p.outcome = p.ending()
	switch {
	case p.outcome != nil:
		p.remove = f.active
	case f.job.DeletionTimestamp == nil:
		p.spare = true
		p.manage()
	}
	return p.plan
}

// The pause after a failure: 10 s after the first, doubling up to ten minutes.
const (
	backoffInitial = 10 * time.Second
	backoffMax     = 10 * time.Minute
)

func backoff(failures int32) time.Duration {
	if failures <= 0 {
		return 0
	}
	d := backoffInitial
	for range min(failures-1, 10) {
		d = min(2*d, backoffMax)
	}
	return d
}

// manage plans the pods that are missing and the end of those too many.
func (p *planner) manage() {
	if p.suspended() {
		p.drop(p.active)
		return
	}
	if p.indexed() {
		p.drop(p.surplusIndexes())
	}
	want := p.wanted()
	if surplus := len(p.active) - want; surplus > 0 {
		ranked := slices.Clone(p.active)
		podcontrol.RankActive(ranked)
		p.drop(ranked[:min(surplus, burst)])
		return
	}
	missing := want - len(p.active)
	if p.replaceFailedOnly() {
		missing -= len(p.terminating)
	}
	if missing = min(missing, burst); missing <= 0 {
		return
	}
	if !p.perIndex() {
		if pause := p.pause(); pause > 0 {
			p.lookAgain(pause)
			return
		}
	}
	p.create = p.newPods(missing)
}

// drop plans the end of pods.
func (p *planner) drop(pods []*corev1.Pod) {
	p.remove = append(p.remove, pods...)
	p.terminating = append(slices.Clone(p.terminating), pods...)
	p.active = slices.DeleteFunc(slices.Clone(p.active), func(a *corev1.Pod) bool { return slices.Contains(pods, a) })
}

// wanted is how many pods should be active.
func (f *facts) wanted() int {
	parallelism := int(*orDefault(f.job.Spec.Parallelism, 1))
	done := int(f.succeededTotal())
	if f.job.Spec.Completions == nil {
		if done > 0 {
			return len(f.active) // the rest may end, none is replaced
		}
		return parallelism
	}
	left := int(*f.job.Spec.Completions) - done
	if f.perIndex() {
		left -= len(f.failedIdx)
	}
	return max(min(left, parallelism), 0)
}

// surplusIndexes are active pods of indexes there are not, that are done, or on which another pod has come
// further.
func (f *facts) surplusIndexes() (out []*corev1.Pod) {
	seen := map[int32]bool{}
	ranked := slices.Clone(f.active)
	podcontrol.RankActive(ranked)
	for _, p := range slices.Backward(ranked) {
		i := indexOf(p)
		if i < 0 || i >= f.completions() || seen[i] || f.completed.has(i) || f.failedIdx.has(i) {
			out = append(out, p)
			continue
		}
		seen[i] = true
	}
	return out
}

// pause is how long no pod is made because the last ones failed.
func (f *facts) pause() time.Duration {
	var success time.Time
	for _, p := range f.pods {
		if p.Status.Phase == corev1.PodSucceeded {
			if at := endedAt(p); at.After(success) {
				success = at
			}
		}
	}
	failures, last := int32(0), time.Time{}
	for _, p := range f.pods {
		// One we deleted did not fail.
		if !f.hasFailed(p) || p.Status.Phase != corev1.PodFailed && !tracked(p) {
			continue
		}
		at := endedAt(p)
		if !at.After(success) {
			continue
		}
		failures++
		if at.After(last) {
			last = at
		}
	}
	return last.Add(backoff(failures)).Sub(f.now)
}

// endedAt is when a pod's last container ended, as far as is known.
func endedAt(p *corev1.Pod) time.Time {
	var at time.Time
	for i := range p.Status.ContainerStatuses {
		if t := p.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(at) {
			at = t.FinishedAt.Time
		}
	}
	if !at.IsZero() {
		return at
	}
	if c := podcontrol.Condition(p, corev1.PodReady); c != nil && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	if p.DeletionTimestamp != nil {
		grace := time.Duration(0)
		if p.DeletionGracePeriodSeconds != nil {
			grace = time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
		}
		return p.DeletionTimestamp.Add(-grace)
	}
	return p.CreationTimestamp.Time
}

// ending is what decides the Job now, before any more pods are made: a failure first, then an early success.
// Nil means that it goes on. Once decided, an outcome stays.
func (p *planner) ending() *batchv1.JobCondition {
	for _, t := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if c := find(&p.status, t); c != nil && c.Status == corev1.ConditionTrue {
			return new(*c)
		}
	}
	failure := func(reason, message string) *batchv1.JobCondition {
		return &batchv1.JobCondition{Type: batchv1.JobFailureTarget, Reason: reason, Message: message}
	}
	if p.policyFailure != "" {
		return failure(batchv1.JobReasonPodFailurePolicy, p.policyFailure)
	}
	if limit := *orDefault(p.job.Spec.BackoffLimit, 6); p.failedTotal() > limit || p.restartsExceed(limit) {
		return failure(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	}
	if p.deadline() {
		return failure(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	}
	if p.perIndex() {
		if most := p.job.Spec.MaxFailedIndexes; most != nil && int32(len(p.failedIdx)) > *most {
			return failure(batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
		}
		if len(p.failedIdx) > 0 && int32(len(p.failedIdx)+len(p.completed)) >= p.completions() {
			return failure(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
		}
	}
	if policy := p.job.Spec.SuccessPolicy; policy != nil && p.indexed() {
		if rule, ok := meets(policy, p.completed, p.completions()); ok {
			return &batchv1.JobCondition{Type: batchv1.JobSuccessCriteriaMet, Reason: batchv1.JobReasonSuccessPolicy, Message: fmt.Sprintf("Matched rules at index %d", rule)}
		}
	}
	return nil
}

func orDefault(v *int32, unset int32) *int32 {
	if v == nil {
		return &unset
	}
	return v
}

// restartsExceed counts the restarts in place of pods that are restarted on failure.
func (f *facts) restartsExceed(limit int32) bool {
	if f.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := int32(0)
	for _, p := range f.pods {
		if p.Status.Phase != corev1.PodRunning && p.Status.Phase != corev1.PodPending {
			continue
		}
		for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
			for i := range list {
				restarts += list[i].RestartCount
			}
		}
	}
	if limit == 0 {
		return restarts > 0
	}
	return restarts >= limit
}

// deadline reports whether the Job's time is up, and plans another reconcile for when it will be.
func (p *planner) deadline() bool {
	limit := p.job.Spec.ActiveDeadlineSeconds
	if limit == nil || p.suspended() || p.status.StartTime == nil {
		return false
	}
	left := p.status.StartTime.Add(time.Duration(*limit) * time.Second).Sub(p.now)
	p.lookAgain(left)
	return left <= 0
}

// success is the outcome when enough pods have succeeded, with events about pods too many; nil if not enough
// have.
func success(f *facts) (outcome *batchv1.JobCondition, notes []note) {
	total := f.succeededTotal()
	if f.job.Spec.Completions == nil {
		// The first pod that succeeds decides for all; the others are waited for.
		if total == 0 || len(f.active) > 0 {
			return nil, nil
		}
	} else if total < *f.job.Spec.Completions || len(f.active) > 0 {
		return nil, nil
	}
	if n := f.job.Spec.Completions; n != nil && total > *n {
		notes = append(notes, note{corev1.EventTypeWarning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached"})
	}
	return &batchv1.JobCondition{Type: batchv1.JobSuccessCriteriaMet, Reason: batchv1.JobReasonCompletionsReached, Message: "Reached expected number of succeeded pods"}, notes
}
