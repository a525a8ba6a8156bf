package job

import (
	"context"
	"slices"
	gosync "sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// sync is one reconcile of one Job.
type sync struct {
	*jobs
	job    *batchv1.Job
	stored *batchv1.JobStatus // as the API has it
	pods   []*corev1.Pod
	now    time.Time
	again  time.Duration // when to look again; 0: not by itself

	active, terminating  []*corev1.Pod
	succeeded, failed    []*corev1.Pod // ended and tracked, not noted yet
	ignored              []*corev1.Pod // failed, and the policy says not to count
	policyFailure        string        // set when the policy fails the Job
	completed, failedIdx indexes       // Indexed: as counted, with the newly ended pods
}

func (s *sync) run(ctx context.Context) error {
	if s.job.Status.StartTime == nil && !s.suspended() {
		s.job.Status.StartTime = &metav1.Time{Time: s.now.Truncate(time.Second)}
	}
	s.classify()
	s.settleNoted()
	s.suspension()
	outcome := s.outcome()
	var workErr error
	if outcome != nil {
		workErr = s.stop(ctx)
	} else if s.job.DeletionTimestamp == nil {
		workErr = s.manage(ctx)
		outcome = s.success()
	}
	if outcome != nil {
		s.set(outcome.Type, corev1.ConditionTrue, outcome.Reason, outcome.Message)
	}
	s.counts()
	if err := s.count(ctx, outcome); err != nil {
		return err
	}
	return workErr
}

func (s *sync) suspended() bool { return s.job.Spec.Suspend != nil && *s.job.Spec.Suspend }

func (s *sync) indexed() bool {
	return s.job.Spec.CompletionMode != nil && *s.job.Spec.CompletionMode == batchv1.IndexedCompletion
}

func (s *sync) perIndex() bool { return s.indexed() && s.job.Spec.BackoffLimitPerIndex != nil }

// replaceFailedOnly reports whether a pod that is ending keeps its place until it has ended.
func (s *sync) replaceFailedOnly() bool {
	if p := s.job.Spec.PodReplacementPolicy; p != nil {
		return *p == batchv1.Failed
	}
	return s.job.Spec.PodFailurePolicy != nil
}

// lookAgain asks for another reconcile after d.
func (s *sync) lookAgain(d time.Duration) {
	if d > 0 && (s.again == 0 || d < s.again) {
		s.again = d
	}
}

// hasFailed reports whether a pod counts as failed. One that is deleted counts at once, for it may never get
// a phase, unless its replacement must wait for its end.
func (s *sync) hasFailed(p *corev1.Pod) bool {
	switch {
	case p.Status.Phase == corev1.PodFailed:
		return true
	case p.Status.Phase == corev1.PodSucceeded || s.replaceFailedOnly() && p.Spec.NodeName != "":
		return false
	}
	return p.DeletionTimestamp != nil
}

// classify sorts the pods.
func (s *sync) classify() {
	noted := map[types.UID]bool{}
	if u := s.job.Status.UncountedTerminatedPods; u != nil {
		for _, uid := range slices.Concat(u.Succeeded, u.Failed) {
			noted[uid] = true
		}
	}
	if s.indexed() {
		s.completed = parseIndexes(s.job.Status.CompletedIndexes, s.completions())
		if s.perIndex() && s.job.Status.FailedIndexes != nil {
			s.failedIdx = parseIndexes(*s.job.Status.FailedIndexes, s.completions())
		}
	}
	for _, p := range s.pods {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		switch {
		case !ended && p.DeletionTimestamp != nil:
			s.terminating = append(s.terminating, p)
		case !ended:
			s.active = append(s.active, p)
		}
		if !tracked(p) || noted[p.UID] {
			continue
		}
		switch {
		case p.Status.Phase == corev1.PodSucceeded:
			s.succeeded = append(s.succeeded, p)
		case s.hasFailed(p):
			s.judge(p)
		}
	}
	if !s.indexed() {
		return
	}
	var add indexes
	for _, p := range s.succeeded {
		if i := indexOf(p); i >= 0 && i < s.completions() {
			add = append(add, i)
		}
	}
	s.completed = s.completed.with(add)
	if s.perIndex() {
		s.failedIdx = s.failedIdx.with(s.exhausted()).without(s.completed)
	}
}

// judge asks the failure policy what a failed pod means.
func (s *sync) judge(p *corev1.Pod) {
	action, message := batchv1.PodFailurePolicyActionCount, ""
	if policy := s.job.Spec.PodFailurePolicy; policy != nil && p.Status.Phase == corev1.PodFailed {
		action, message = match(policy, p)
	}
	switch action {
	case batchv1.PodFailurePolicyActionIgnore:
		s.ignored = append(s.ignored, p)
		return
	case batchv1.PodFailurePolicyActionFailJob:
		if s.policyFailure == "" {
			s.policyFailure = message
		}
	case batchv1.PodFailurePolicyActionFailIndex:
		if i := indexOf(p); s.perIndex() && i >= 0 {
			s.failedIdx = s.failedIdx.with(indexes{i})
		}
	}
	s.failed = append(s.failed, p)
}

// settleNoted exchanges the noted uids whose pods have lost their finalizer, or are gone, for counts.
func (s *sync) settleNoted() {
	u := s.job.Status.UncountedTerminatedPods
	if u == nil {
		return
	}
	held := map[types.UID]bool{}
	for _, p := range s.pods {
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
	next.Failed = settle(u.Failed, &s.job.Status.Failed)
	if s.indexed() {
		next.Succeeded = u.Succeeded // successes of indexes are counted by index
	} else {
		next.Succeeded = settle(u.Succeeded, &s.job.Status.Succeeded)
	}
	s.job.Status.UncountedTerminatedPods = next
}

// succeededTotal is all successes, counted, noted and new.
func (s *sync) succeededTotal() int32 {
	if s.indexed() {
		return int32(len(s.completed))
	}
	n := s.job.Status.Succeeded + int32(len(s.succeeded))
	if u := s.job.Status.UncountedTerminatedPods; u != nil {
		n += int32(len(u.Succeeded))
	}
	return n
}

// failedTotal is all failures that count.
func (s *sync) failedTotal() int32 {
	n := s.job.Status.Failed + int32(len(s.failed))
	if u := s.job.Status.UncountedTerminatedPods; u != nil {
		n += int32(len(u.Failed))
	}
	return n
}

// counts fills the numbers of pods that live.
func (s *sync) counts() {
	s.job.Status.Active = int32(len(s.active))
	ready := int32(0)
	for _, p := range s.active {
		if podcontrol.Ready(p) {
			ready++
		}
	}
	terminating := int32(len(s.terminating))
	s.job.Status.Ready, s.job.Status.Terminating = &ready, &terminating
}

// write stores the status if it changed.
func (s *sync) write(ctx context.Context) error {
	if codec.Equal(&s.job.Status, s.stored) {
		return nil
	}
	updated, err := s.API.UpdateStatus(ctx, s.job)
	if err != nil {
		return err
	}
	s.job = updated
	s.stored = codec.DeepCopy(&updated.Status)
	return nil
}

// each calls f for all pods side by side, in portions, and returns the first error.
func each(pods []*corev1.Pod, f func(*corev1.Pod) error) error {
	for portion := range slices.Chunk(pods, 50) {
		errs := make([]error, len(portion))
		var wg gosync.WaitGroup
		for i, p := range portion {
			wg.Go(func() { errs[i] = f(p) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
	}
	return nil
}
