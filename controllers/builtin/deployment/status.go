package deployment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func (r *rollout) find(t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range r.dep.Status.Conditions {
		if c := &r.dep.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// condition sets a condition. Nothing changes, times included, while status and reason stay.
func (r *rollout) condition(t appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) {
	now := metav1.Now()
	next := appsv1.DeploymentCondition{Type: t, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now}
	if have := r.find(t); have != nil {
		if have.Status == status && have.Reason == reason {
			return
		}
		if have.Status == status {
			next.LastTransitionTime = have.LastTransitionTime
		}
	}
	r.drop(t)
	r.dep.Status.Conditions = append(r.dep.Status.Conditions, next)
}

func (r *rollout) drop(t appsv1.DeploymentConditionType) {
	r.dep.Status.Conditions = slices.DeleteFunc(r.dep.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == t })
}

// pausedCondition notes that a rollout was paused or resumed, so that the time paused does not count as time
// without progress.
func (r *rollout) pausedCondition(ctx context.Context) error {
	if r.dep.Spec.ProgressDeadlineSeconds == nil {
		return nil
	}
	c := r.find(appsv1.DeploymentProgressing)
	if c != nil && c.Reason == "ProgressDeadlineExceeded" {
		return nil
	}
	noted := c != nil && c.Reason == "DeploymentPaused"
	switch {
	case r.dep.Spec.Paused && !noted:
		r.condition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentPaused", "Deployment is paused")
	case !r.dep.Spec.Paused && noted:
		r.condition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed")
	default:
		return nil
	}
	updated, err := r.client.UpdateStatus(ctx, r.dep)
	if err == nil {
		r.dep = updated
	}
	return err
}

// complete reports whether every pod is of the current template and available.
func (r *rollout) complete() bool {
	s := r.computed()
	return s.UpdatedReplicas == r.replicas() && s.Replicas == r.replicas() && s.AvailableReplicas == r.replicas()
}

// computed is the status as the sets say; conditions as they stand.
func (r *rollout) computed() appsv1.DeploymentStatus {
	all := r.all()
	s := appsv1.DeploymentStatus{
		ObservedGeneration: r.dep.Generation, Replicas: sum(all, statusReplicas), ReadyReplicas: sum(all, statusReady),
		AvailableReplicas: sum(all, available), CollisionCount: r.dep.Status.CollisionCount,
		Conditions: slices.Clone(r.dep.Status.Conditions),
	}
	if r.new != nil {
		s.UpdatedReplicas = r.new.Status.Replicas
	}
	terminating, known := int32(0), false
	for _, rs := range all {
		if rs.Status.TerminatingReplicas != nil {
			terminating, known = terminating+*rs.Status.TerminatingReplicas, true
		}
	}
	if known {
		s.TerminatingReplicas = &terminating
	}
	s.UnavailableReplicas = max(sum(all, size)-s.AvailableReplicas, 0)
	return s
}

func (r *rollout) writeStatus(ctx context.Context, rolling bool) error {
	before := r.dep.Status
	r.dep.Status = r.computed()
	if r.dep.Status.AvailableReplicas >= r.replicas()-r.maxUnavailable() {
		r.condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	} else {
		r.condition(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	// A Deployment that is paused, resized or deleted makes no progress that could be judged.
	if rolling {
		r.progress(before)
		r.failure()
	}
	live, err := r.list.Get(r.dep.Key())
	if err == nil && codec.Equal(&live.Status, &r.dep.Status) {
		return nil
	}
	_, err = r.client.UpdateStatus(ctx, r.dep)
	return apierrors.IgnoreNotFound(err)
}

// progress keeps the Progressing condition: complete, moving, or stuck for longer than the deadline.
func (r *rollout) progress(before appsv1.DeploymentStatus) {
	if r.dep.Spec.ProgressDeadlineSeconds == nil || *r.dep.Spec.ProgressDeadlineSeconds == 1<<31-1 {
		r.drop(appsv1.DeploymentProgressing)
		return
	}
	var had appsv1.DeploymentCondition // a copy: the conditions are rewritten below
	if c := r.find(appsv1.DeploymentProgressing); c != nil {
		had = *c
	}
	s := &r.dep.Status
	// A completed rollout whose pods later fail is not a new rollout.
	if s.Replicas == s.UpdatedReplicas && had.Reason == "NewReplicaSetAvailable" {
		return
	}
	name := "Deployment " + fmt.Sprintf("%q", r.dep.Name)
	if r.new != nil {
		name = "ReplicaSet " + fmt.Sprintf("%q", r.new.Name)
	}
	switch {
	case r.complete():
		r.condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetAvailable", name+" has successfully progressed.")
	case moved(before, *s):
		r.drop(appsv1.DeploymentProgressing) // the times start again with every step
		r.condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", name+" is progressing.")
		if had.Status == corev1.ConditionTrue {
			r.find(appsv1.DeploymentProgressing).LastTransitionTime = had.LastTransitionTime
		}
	case r.overdue(time.Now()):
		r.condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", name+" has timed out progressing.")
	}
}

// moved compares the numbers a rollout is to improve.
func moved(before, now appsv1.DeploymentStatus) bool {
	return now.UpdatedReplicas > before.UpdatedReplicas ||
		now.Replicas-now.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		now.ReadyReplicas > before.ReadyReplicas || now.AvailableReplicas > before.AvailableReplicas
}

func (r *rollout) overdue(now time.Time) bool {
	c := r.find(appsv1.DeploymentProgressing)
	switch {
	case c == nil || c.Reason == "NewReplicaSetAvailable" || c.Reason == "DeploymentPaused":
		return false
	case c.Reason == "ProgressDeadlineExceeded":
		return true
	}
	return !now.Before(c.LastUpdateTime.Add(time.Duration(*r.dep.Spec.ProgressDeadlineSeconds) * time.Second))
}

// checkAgain is when a rollout that stands still must be looked at for its deadline; 0 if never.
func (r *rollout) checkAgain(now time.Time) time.Duration {
	c := r.find(appsv1.DeploymentProgressing)
	if r.dep.Spec.ProgressDeadlineSeconds == nil || c == nil || c.Reason == "NewReplicaSetAvailable" || c.Reason == "ProgressDeadlineExceeded" || r.dep.Spec.Paused {
		return 0
	}
	deadline := c.LastUpdateTime.Add(time.Duration(*r.dep.Spec.ProgressDeadlineSeconds)*time.Second + time.Second)
	return max(deadline.Sub(now), time.Second)
}

// failure carries over what the newest set that cannot create its pods reports.
func (r *rollout) failure() {
	var found *appsv1.ReplicaSetCondition
	for _, rs := range r.all() {
		for i := range rs.Status.Conditions {
			if c := &rs.Status.Conditions[i]; c.Type == appsv1.ReplicaSetReplicaFailure && (found == nil || rs == r.new) {
				found = c
			}
		}
	}
	if found == nil {
		r.drop(appsv1.DeploymentReplicaFailure)
		return
	}
	r.condition(appsv1.DeploymentReplicaFailure, found.Status, found.Reason, found.Message)
}
