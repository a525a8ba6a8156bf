package job

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// count brings the ended pods into the status: note, untrack, exchange. outcome is nil while the Job goes on.
func (s *sync) count(ctx context.Context, outcome *batchv1.JobCondition) error {
	untrack, more := s.note(outcome)
	if s.job.DeletionTimestamp != nil {
		untrack = s.pods // they are not counted
	}
	s.noteIndexes()
	if len(untrack) > 0 {
		if err := s.write(ctx); err != nil {
			return err
		}
		if err := s.untrack(ctx, untrack); err != nil {
			return err
		}
		s.exchange()
	}
	if more {
		s.lookAgain(1)
	} else if outcome != nil {
		s.conclude()
	}
	return s.write(ctx)
}

// note puts the uids of newly ended pods into the status as far as there is room, and returns the pods whose
// finalizer may go when that is written, and whether others have to wait for room.
func (s *sync) note(outcome *batchv1.JobCondition) (untrack []*corev1.Pod, more bool) {
	st := &s.job.Status
	if st.UncountedTerminatedPods == nil {
		st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	u := st.UncountedTerminatedPods
	room := maxUncounted - len(u.Succeeded) - len(u.Failed)
	noted := map[types.UID]bool{}
	for _, uid := range slices.Concat(u.Succeeded, u.Failed) {
		noted[uid] = true
	}
	for _, p := range s.pods {
		if tracked(p) && noted[p.UID] { // left by a reconcile that did not come to its end
			untrack = append(untrack, p)
		}
	}
	for _, p := range s.succeeded {
		if room == 0 {
			more = true
			break
		}
		untrack = append(untrack, p)
		if !s.indexed() {
			u.Succeeded = append(u.Succeeded, p.UID)
			room--
		}
	}
	succeeds := outcome != nil && outcome.Type == batchv1.JobSuccessCriteriaMet
	// For the pod that takes its place.
	needed := func(p *corev1.Pod) bool { return s.perIndex() && outcome == nil && s.remembered(p) }
	for _, p := range s.failures(outcome, noted) {
		if succeeds && p.Status.Phase != corev1.PodFailed {
			untrack = append(untrack, p)
			continue
		}
		if room == 0 {
			more = true
			break
		}
		if !needed(p) {
			untrack = append(untrack, p)
			u.Failed = append(u.Failed, p.UID)
			room--
		}
	}
	for _, p := range s.ignored {
		if !needed(p) {
			untrack = append(untrack, p)
		}
	}
	return untrack, more
}

// failures are the failed pods, and at the end of the Job those that had to end with it: they count as failed
// if it fails, and not at all if it succeeds.
func (s *sync) failures(outcome *batchv1.JobCondition, noted map[types.UID]bool) []*corev1.Pod {
	if outcome == nil {
		return s.failed
	}
	failed := slices.Clone(s.failed)
	for _, p := range s.terminating {
		if tracked(p) && !noted[p.UID] && !slices.ContainsFunc(failed, func(f *corev1.Pod) bool { return f.UID == p.UID }) {
			failed = append(failed, p)
		}
	}
	return failed
}

// noteIndexes writes what is known of the indexes, which are counted by themselves.
func (s *sync) noteIndexes() {
	if !s.indexed() {
		return
	}
	st := &s.job.Status
	st.CompletedIndexes, st.Succeeded = s.completed.String(), int32(len(s.completed))
	if s.perIndex() {
		st.FailedIndexes = new(s.failedIdx.String())
	}
}

// exchange counts the noted pods, whose finalizers are gone for good.
func (s *sync) exchange() {
	st := &s.job.Status
	u := st.UncountedTerminatedPods
	if u == nil {
		return
	}
	st.Failed += int32(len(u.Failed))
	if !s.indexed() {
		st.Succeeded += int32(len(u.Succeeded))
	}
	st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
}

// remembered reports whether a failed pod is the one by which the next pod of its index knows how often the
// index failed: the index is not done and no later pod has taken over.
func (s *sync) remembered(p *corev1.Pod) bool {
	i := indexOf(p)
	if i < 0 || i >= s.completions() || s.completed.has(i) || s.failedIdx.has(i) {
		return false
	}
	counted, ignored := failuresOf(p)
	for _, other := range s.pods {
		if other.UID == p.UID || indexOf(other) != i {
			continue
		}
		if c, n := failuresOf(other); c+n > counted+ignored {
			return false
		}
	}
	return true
}
