package job

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// count brings the ended pods into the status: note, untrack, exchange. outcome is nil while the Job goes on.
func (s *sync) count(ctx context.Context, outcome *batchv1.JobCondition) error {
	over := outcome != nil
	succeeds := over && outcome.Type == batchv1.JobSuccessCriteriaMet
	st := &s.job.Status
	if st.UncountedTerminatedPods == nil {
		st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	u := st.UncountedTerminatedPods
	room := maxUncounted - len(u.Succeeded) - len(u.Failed)
	noted := map[string]bool{}
	for _, uid := range u.Succeeded {
		noted[string(uid)] = true
	}
	for _, uid := range u.Failed {
		noted[string(uid)] = true
	}
	var untrack []*corev1.Pod
	for _, p := range s.pods {
		if tracked(p) && noted[string(p.UID)] { // left by a reconcile that did not come to its end
			untrack = append(untrack, p)
		}
	}
	more := false
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
	failed := s.failed
	if over {
		// Those that had to end with the Job count as failed if it fails, and not at all if it succeeds.
		failed = slices.Clone(failed)
		for _, p := range s.terminating {
			if tracked(p) && !noted[string(p.UID)] && !slices.ContainsFunc(failed, func(f *corev1.Pod) bool { return f.UID == p.UID }) {
				failed = append(failed, p)
			}
		}
	}
	for _, p := range failed {
		if succeeds && p.Status.Phase != corev1.PodFailed {
			untrack = append(untrack, p)
			continue
		}
		if room == 0 {
			more = true
			break
		}
		if s.perIndex() && !over && s.remembered(p) {
			continue // its count of failures is needed for the pod that takes its place
		}
		untrack = append(untrack, p)
		u.Failed = append(u.Failed, p.UID)
		room--
	}
	for _, p := range s.ignored {
		if s.perIndex() && !over && s.remembered(p) {
			continue
		}
		untrack = append(untrack, p)
	}
	if s.job.DeletionTimestamp != nil {
		untrack = s.pods // nobody will count them
	}
	if s.indexed() {
		st.CompletedIndexes = s.completed.String()
		st.Succeeded = int32(len(s.completed))
		if s.perIndex() {
			text := s.failedIdx.String()
			st.FailedIndexes = &text
		}
	}
	if len(untrack) == 0 {
		if over && !more {
			s.conclude()
		}
		return s.write(ctx)
	}
	if err := s.write(ctx); err != nil {
		return err
	}
	if err := s.untrack(ctx, untrack); err != nil {
		return err
	}
	// Their finalizers are gone for good, so they may be counted.
	st = &s.job.Status
	if u := st.UncountedTerminatedPods; u != nil {
		st.Failed += int32(len(u.Failed))
		if !s.indexed() {
			st.Succeeded += int32(len(u.Succeeded))
		}
		st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	if over && !more {
		s.conclude()
	}
	if more {
		s.lookAgain(1)
	}
	return s.write(ctx)
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
