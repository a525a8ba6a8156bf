package deployment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func find(list []appsv1.DeploymentCondition, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range list {
		if c := &list[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// condition returns a condition without times.
func condition(t appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) *appsv1.DeploymentCondition {
	return &appsv1.DeploymentCondition{Type: t, Status: status, Reason: reason, Message: message}
}

// with returns conditions with one set at a time, unless it has one. Nothing changes, times included, while
// its status and reason stay.
func with(list []appsv1.DeploymentCondition, c *appsv1.DeploymentCondition, now time.Time) []appsv1.DeploymentCondition {
	next := *c
	if next.LastUpdateTime.IsZero() {
		next.LastUpdateTime = metav1.Time{Time: now}
	}
	next.LastTransitionTime = next.LastUpdateTime
	if have := find(list, c.Type); have != nil {
		if have.Status == c.Status && have.Reason == c.Reason {
			return list
		}
		if have.Status == c.Status {
			next.LastTransitionTime = have.LastTransitionTime
		}
	}
	return append(without(list, c.Type), next)
}

func without(list []appsv1.DeploymentCondition, t appsv1.DeploymentConditionType) []appsv1.DeploymentCondition {
	return slices.DeleteFunc(slices.Clone(list), func(c appsv1.DeploymentCondition) bool { return c.Type == t })
}

// complete reports whether every pod is of the current template and available.
func (f *facts) complete() bool {
	s := f.computed()
	return s.UpdatedReplicas == f.replicas() && s.Replicas == f.replicas() && s.AvailableReplicas == f.replicas()
}

// computed is the status as the sets say; conditions as they stand.
func (f *facts) computed() appsv1.DeploymentStatus {
	all := f.all()
	s := appsv1.DeploymentStatus{
		ObservedGeneration: f.dep.Generation, Replicas: sum(all, statusReplicas), ReadyReplicas: sum(all, statusReady),
		AvailableReplicas: sum(all, available), CollisionCount: f.dep.Status.CollisionCount, Conditions: f.dep.Status.Conditions,
	}
	if f.new != nil {
		s.UpdatedReplicas = f.new.Status.Replicas
	}
	s.TerminatingReplicas = terminating(all)
	s.UnavailableReplicas = max(sum(all, size)-s.AvailableReplicas, 0)
	return s
}

// terminating sums up what the sets report; nil if one has a status that does not say.
func terminating(sets []*appsv1.ReplicaSet) *int32 {
	total := int32(0)
	for _, rs := range sets {
		switch n := rs.Status.TerminatingReplicas; {
		case n != nil:
			total += *n
		case rs.Status.ObservedGeneration != 0:
			return nil
		}
	}
	return &total
}

// judged reports whether the Deployment has a deadline for progress. kubectl writes the highest number for
// none.
func (f *facts) judged() bool {
	d := f.dep.Spec.ProgressDeadlineSeconds
	return d != nil && *d != math.MaxInt32
}

// statusOf returns the status, and when a rollout that stands still must be looked at for its deadline; 0 if
// never. rolling is that of the plan.
func statusOf(f *facts, rolling bool) (appsv1.DeploymentStatus, time.Duration) {
	s := f.computed()
	enough := condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	if s.AvailableReplicas < f.replicas()-f.maxUnavailable() {
		enough = condition(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	s.Conditions = with(s.Conditions, enough, f.now)
	// A Deployment that is paused, resized or deleted makes no progress that could be judged.
	if rolling {
		s.Conditions = f.progressing(&s)
		s.Conditions = f.failure(s.Conditions)
	}
	return s, f.checkAgain(s.Conditions)
}

// progressing returns the conditions of s with that of the progress: complete, moving, or stuck for longer
// than the deadline.
func (f *facts) progressing(s *appsv1.DeploymentStatus) []appsv1.DeploymentCondition {
	if !f.judged() {
		return without(s.Conditions, appsv1.DeploymentProgressing)
	}
	var had appsv1.DeploymentCondition
	if c := find(s.Conditions, appsv1.DeploymentProgressing); c != nil {
		had = *c
	}
	// A completed rollout whose pods later fail is not a new rollout.
	if s.Replicas == s.UpdatedReplicas && had.Reason == "NewReplicaSetAvailable" {
		return s.Conditions
	}
	name := fmt.Sprintf("Deployment %q", f.dep.Name)
	if f.new != nil {
		name = fmt.Sprintf("ReplicaSet %q", f.new.Name)
	}
	switch {
	case f.complete():
		return with(s.Conditions, condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetAvailable", name+" has successfully progressed."), f.now)
	case moved(&f.dep.Status, s):
		// The times start again with every step.
		out := without(s.Conditions, appsv1.DeploymentProgressing)
		out = with(out, condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", name+" is progressing."), f.now)
		if had.Status == corev1.ConditionTrue {
			find(out, appsv1.DeploymentProgressing).LastTransitionTime = had.LastTransitionTime
		}
		return out
	case f.overdue(had):
		return with(s.Conditions, condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", name+" has timed out progressing."), f.now)
	}
	return s.Conditions
}

// moved compares the numbers a rollout is to improve.
func moved(before, now *appsv1.DeploymentStatus) bool {
	return now.UpdatedReplicas > before.UpdatedReplicas ||
		now.Replicas-now.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		now.ReadyReplicas > before.ReadyReplicas || now.AvailableReplicas > before.AvailableReplicas
}

// overdue reports whether the deadline has passed since the last progress, of which c is the condition.
func (f *facts) overdue(c appsv1.DeploymentCondition) bool {
	switch c.Reason {
	case "", "NewReplicaSetAvailable", "DeploymentPaused":
		return false
	case "ProgressDeadlineExceeded":
		return true
	}
	return !f.now.Before(c.LastUpdateTime.Add(time.Duration(*f.dep.Spec.ProgressDeadlineSeconds) * time.Second))
}

func (f *facts) checkAgain(conditions []appsv1.DeploymentCondition) time.Duration {
	c := find(conditions, appsv1.DeploymentProgressing)
	if !f.judged() || c == nil || c.Reason == "NewReplicaSetAvailable" || c.Reason == "ProgressDeadlineExceeded" || f.dep.Spec.Paused {
		return 0
	}
	deadline := c.LastUpdateTime.Add(time.Duration(*f.dep.Spec.ProgressDeadlineSeconds)*time.Second + time.Second)
	return max(deadline.Sub(f.now), time.Second)
}

// failure returns conditions with what the newest set that cannot create its pods reports.
func (f *facts) failure(conditions []appsv1.DeploymentCondition) []appsv1.DeploymentCondition {
	var found *appsv1.ReplicaSetCondition
	for _, rs := range f.all() {
		for i := range rs.Status.Conditions {
			if c := &rs.Status.Conditions[i]; c.Type == appsv1.ReplicaSetReplicaFailure && (found == nil || rs == f.new) {
				found = c
			}
		}
	}
	if found == nil {
		return without(conditions, appsv1.DeploymentReplicaFailure)
	}
	c := condition(appsv1.DeploymentReplicaFailure, found.Status, found.Reason, found.Message)
	c.LastUpdateTime = found.LastTransitionTime
	return with(conditions, c, f.now)
}
