package job

import (
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

func find(st *batchv1.JobStatus, t batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range st.Conditions {
		if c := &st.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

func holds(st *batchv1.JobStatus, t batchv1.JobConditionType) bool {
	c := find(st, t)
	return c != nil && c.Status == corev1.ConditionTrue
}

// set sets a condition in a status and reports whether its status changed.
func set(st *batchv1.JobStatus, at time.Time, t batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) bool {
	now := metav1.Time{Time: at.Truncate(time.Second)}
	next := batchv1.JobCondition{Type: t, Status: status, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now}
	have := find(st, t)
	switch {
	case have == nil && status != corev1.ConditionTrue:
		return false // what never held need not be denied
	case have == nil:
		st.Conditions = append(st.Conditions, next)
	case have.Status == status && have.Reason == reason && have.Message == message:
		return false
	case have.Status == status:
		next.LastTransitionTime = have.LastTransitionTime
		*have = next
		return false
	default:
		*have = next
	}
	return true
}

// counting is how a status comes to be: it is written as it is first, then the pods lose their finalizer,
// then it is exchanged.
type counting struct {
	status  batchv1.JobStatus
	untrack []*corev1.Pod // the pods that the status has noted
	more    bool          // others wait for room
}

// statusOf returns the status after what was done. outcome is nil while the Job goes on.
func statusOf(f *facts, outcome *batchv1.JobCondition) counting {
	c := counting{status: *codec.DeepCopy(&f.status)}
	if outcome != nil {
		set(&c.status, f.now, outcome.Type, corev1.ConditionTrue, outcome.Reason, outcome.Message)
	}
	c.live(f)
	c.note(f, outcome)
	if f.job.DeletionTimestamp != nil {
		c.untrack = f.pods // they are not counted
	}
	c.indexes(f)
	return c
}

// live fills the numbers of pods that live.
func (c *counting) live(f *facts) {
	ready, terminating := int32(0), int32(len(f.terminating))
	for _, p := range f.active {
		if podcontrol.Ready(p) {
			ready++
		}
	}
	c.status.Active, c.status.Ready, c.status.Terminating = int32(len(f.active)), &ready, &terminating
}

// note puts the uids of newly ended pods into the status as far as there is room.
func (c *counting) note(f *facts, outcome *batchv1.JobCondition) {
	st := &c.status
	if st.UncountedTerminatedPods == nil {
		st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	u := st.UncountedTerminatedPods
	room := maxUncounted - len(u.Succeeded) - len(u.Failed)
	noted := map[types.UID]bool{}
	for _, uid := range slices.Concat(u.Succeeded, u.Failed) {
		noted[uid] = true
	}
	for _, p := range f.pods {
		if tracked(p) && noted[p.UID] { // left by a reconcile that did not come to its end
			c.untrack = append(c.untrack, p)
		}
	}
	for _, p := range f.succeeded {
		if room == 0 {
			c.more = true
			break
		}
		c.untrack = append(c.untrack, p)
		if !f.indexed() {
			u.Succeeded = append(u.Succeeded, p.UID)
			room--
		}
	}
	succeeds := outcome != nil && outcome.Type == batchv1.JobSuccessCriteriaMet
	// For the pod that takes its place.
	needed := func(p *corev1.Pod) bool { return f.perIndex() && outcome == nil && f.remembered(p) }
	for _, p := range f.failures(outcome, noted) {
		if succeeds && p.Status.Phase != corev1.PodFailed {
			c.untrack = append(c.untrack, p)
			continue
		}
		if room == 0 {
			c.more = true
			break
		}
		if !needed(p) {
			c.untrack = append(c.untrack, p)
			u.Failed = append(u.Failed, p.UID)
			room--
		}
	}
	for _, p := range f.ignored {
		if !needed(p) {
			c.untrack = append(c.untrack, p)
		}
	}
}

// failures are the failed pods, and at the end of the Job those that had to end with it: they count as failed
// if it fails, and not at all if it succeeds.
func (f *facts) failures(outcome *batchv1.JobCondition, noted map[types.UID]bool) []*corev1.Pod {
	if outcome == nil {
		return f.failed
	}
	failed := slices.Clone(f.failed)
	for _, p := range f.terminating {
		if tracked(p) && !noted[p.UID] && !slices.ContainsFunc(failed, func(f *corev1.Pod) bool { return f.UID == p.UID }) {
			failed = append(failed, p)
		}
	}
	return failed
}

// indexes fills what is known of the indexes, which are counted by themselves.
func (c *counting) indexes(f *facts) {
	if !f.indexed() {
		return
	}
	st := &c.status
	st.CompletedIndexes, st.Succeeded = f.completed.String(), int32(len(f.completed))
	if f.perIndex() {
		st.FailedIndexes = new(f.failedIdx.String())
	}
}

// exchange counts the noted pods, whose finalizers are gone for good.
func (c *counting) exchange(f *facts) {
	st := &c.status
	u := st.UncountedTerminatedPods
	if u == nil {
		return
	}
	st.Failed += int32(len(u.Failed))
	if !f.indexed() {
		st.Succeeded += int32(len(u.Succeeded))
	}
	st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
}

// remembered reports whether a failed pod is the one by which the next pod of its index knows how often the
// index failed: the index is not done and no later pod has taken over.
func (f *facts) remembered(p *corev1.Pod) bool {
	i := indexOf(p)
	if i < 0 || i >= f.completions() || f.completed.has(i) || f.failedIdx.has(i) {
		return false
	}
	counted, ignored := failuresOf(p)
	for _, other := range f.pods {
		if other.UID == p.UID || indexOf(other) != i {
			continue
		}
		if c, n := failuresOf(other); c+n > counted+ignored {
			return false
		}
	}
	return true
}

// conclude sets the last condition when the outcome is known and no pod is left that could change a number,
// and returns the events of it.
func (c *counting) conclude(f *facts) (notes []note) {
	if len(f.active) > 0 || len(f.terminating) > 0 {
		return nil
	}
	st := &c.status
	switch {
	case holds(st, batchv1.JobFailureTarget):
		why := *find(st, batchv1.JobFailureTarget)
		if set(st, f.now, batchv1.JobFailed, corev1.ConditionTrue, why.Reason, why.Message) {
			notes = append(notes, note{corev1.EventTypeWarning, why.Reason, why.Message})
		}
	case holds(st, batchv1.JobSuccessCriteriaMet):
		why := *find(st, batchv1.JobSuccessCriteriaMet)
		if set(st, f.now, batchv1.JobComplete, corev1.ConditionTrue, why.Reason, why.Message) {
			st.CompletionTime = f.second()
			notes = append(notes, note{corev1.EventTypeNormal, "Completed", "Job completed"})
		}
	}
	return notes
}
