package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
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

// set writes a condition and reports whether its status changed.
func (s *sync) set(t batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) bool {
	now := metav1.Time{Time: s.now.Truncate(time.Second)}
	next := batchv1.JobCondition{Type: t, Status: status, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now}
	have := find(&s.job.Status, t)
	switch {
	case have == nil && status != corev1.ConditionTrue:
		return false // what never held need not be denied
	case have == nil:
		s.job.Status.Conditions = append(s.job.Status.Conditions, next)
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

// suspension notes that the Job was suspended or resumed. The deadline starts again at a resumption.
func (s *sync) suspension() {
	if s.suspended() {
		if s.set(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended") {
			s.Recorder.Eventf(s.job, corev1.EventTypeNormal, "Suspended", "Job suspended")
		}
		return
	}
	if s.set(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed") {
		s.job.Status.StartTime = &metav1.Time{Time: s.now.Truncate(time.Second)}
		s.Recorder.Eventf(s.job, corev1.EventTypeNormal, "Resumed", "Job resumed")
	}
}

// outcome is what decides the Job now, before any more pods are made: a failure first, then an early success.
// Nil means that it goes on. Once decided, an outcome stays.
func (s *sync) outcome() *batchv1.JobCondition {
	for _, t := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if c := find(&s.job.Status, t); c != nil && c.Status == corev1.ConditionTrue {
			return new(*c)
		}
	}
	failure := func(reason, message string) *batchv1.JobCondition {
		return &batchv1.JobCondition{Type: batchv1.JobFailureTarget, Reason: reason, Message: message}
	}
	if s.policyFailure != "" {
		return failure(batchv1.JobReasonPodFailurePolicy, s.policyFailure)
	}
	if limit := *orDefault(s.job.Spec.BackoffLimit, 6); len(s.failed) > 0 && s.failedTotal() > limit || s.restartsExceed(limit) {
		return failure(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	}
	if s.deadline() {
		return failure(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	}
	if s.perIndex() {
		if most := s.job.Spec.MaxFailedIndexes; most != nil && int32(len(s.failedIdx)) > *most {
			return failure(batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
		}
		if len(s.failedIdx) > 0 && int32(len(s.failedIdx)+len(s.completed)) >= s.completions() {
			return failure(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
		}
	}
	if p := s.job.Spec.SuccessPolicy; p != nil && s.indexed() {
		if rule, ok := meets(p, s.completed, s.completions()); ok {
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
func (s *sync) restartsExceed(limit int32) bool {
	if s.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := int32(0)
	for _, p := range s.active {
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

// deadline reports whether the Job's time is up, and asks to be called when it will be.
func (s *sync) deadline() bool {
	limit := s.job.Spec.ActiveDeadlineSeconds
	if limit == nil || s.suspended() || s.job.Status.StartTime == nil {
		return false
	}
	left := s.job.Status.StartTime.Add(time.Duration(*limit) * time.Second).Sub(s.now)
	s.lookAgain(left)
	return left <= 0
}

// success is the outcome when enough pods have succeeded.
func (s *sync) success() *batchv1.JobCondition {
	total := s.succeededTotal()
	if s.job.Spec.Completions == nil {
		// The first pod that succeeds decides for all; the others are waited for.
		if total == 0 || len(s.active) > 0 {
			return nil
		}
	} else if total < *s.job.Spec.Completions {
		return nil
	}
	if n := s.job.Spec.Completions; n != nil && !s.indexed() {
		if len(s.active) > 0 {
			s.Recorder.Eventf(s.job, corev1.EventTypeWarning, "TooManyActivePods", "Too many active pods running after completion count reached")
		}
		if total > *n {
			s.Recorder.Eventf(s.job, corev1.EventTypeWarning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
		}
	}
	return &batchv1.JobCondition{Type: batchv1.JobSuccessCriteriaMet, Reason: batchv1.JobReasonCompletionsReached, Message: "Reached expected number of succeeded pods"}
}

// stop deletes the active pods of a Job whose outcome is known.
func (s *sync) stop(ctx context.Context) error { return s.remove(ctx, s.active) }

// drop is remove for pods that are not wanted any more, which is no failure: they lose their finalizer first.
func (s *sync) drop(ctx context.Context, pods []*corev1.Pod) error {
	if err := s.untrack(ctx, pods); err != nil {
		return err
	}
	return s.remove(ctx, pods)
}

// remove deletes active pods and moves them to where deleted ones belong.
func (s *sync) remove(ctx context.Context, pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	gone := map[string]bool{}
	err := podcontrol.DeleteAll(ctx, s.PodsAPI, pods, func(p *corev1.Pod, err error) {
		if err != nil {
			s.Recorder.Eventf(s.job, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
			return
		}
		s.Recorder.Eventf(s.job, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", p.Name)
	})
	if err != nil {
		return err
	}
	for _, p := range pods {
		gone[p.Name] = true
		s.terminating = append(s.terminating, p)
	}
	s.active = slices.DeleteFunc(slices.Clone(s.active), func(p *corev1.Pod) bool { return gone[p.Name] })
	return nil
}

// conclude writes the last condition when the outcome is known and no pod is left that could change a number.
func (s *sync) conclude() {
	if len(s.active) > 0 || len(s.terminating) > 0 {
		return
	}
	now := metav1.Time{Time: s.now.Truncate(time.Second)}
	if c := find(&s.job.Status, batchv1.JobFailureTarget); c != nil && c.Status == corev1.ConditionTrue {
		reason, message := c.Reason, c.Message
		if s.set(batchv1.JobFailed, corev1.ConditionTrue, reason, message) {
			s.Recorder.Eventf(s.job, corev1.EventTypeWarning, reason, "%s", message)
		}
		return
	}
	if c := find(&s.job.Status, batchv1.JobSuccessCriteriaMet); c != nil && c.Status == corev1.ConditionTrue {
		reason, message := c.Reason, c.Message
		if s.set(batchv1.JobComplete, corev1.ConditionTrue, reason, message) {
			s.job.Status.CompletionTime = &now
			s.Recorder.Eventf(s.job, corev1.EventTypeNormal, "Completed", "Job completed")
		}
	}
}
