package deployment

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// Annotations by which a Deployment and its ReplicaSets remember the history; kubectl rollout reads them.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history"
	desiredAnnotation  = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation      = "deployment.kubernetes.io/max-replicas"
	appliedAnnotation  = "kubectl.kubernetes.io/last-applied-configuration"
)

func revision(annotations map[string]string) int64 {
	n, _ := strconv.ParseInt(annotations[revisionAnnotation], 10, 64)
	return n
}

// ensureNew finds or creates the ReplicaSet of the current template and keeps its revision the highest.
func (r *rollout) ensureNew(ctx context.Context) error {
	next := int64(1)
	for _, rs := range r.old {
		next = max(next, revision(rs.Annotations)+1)
	}
	if r.new != nil {
		return r.adoptRevision(ctx, next)
	}
	hash := podcontrol.TemplateHash(&r.dep.Spec.Template, r.dep.Status.CollisionCount)
	template := codec.DeepCopy(&r.dep.Spec.Template)
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	selector := codec.DeepCopy(r.dep.Spec.Selector)
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	replicas := r.newSetSize(nil)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.dep.Namespace, Name: r.dep.Name + "-" + hash, Labels: maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(r.dep, kind)},
			Annotations:     r.setAnnotations(nil, next),
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, MinReadySeconds: r.dep.Spec.MinReadySeconds, Selector: selector, Template: *template},
	}
	created, err := r.setsAPI.Create(ctx, rs)
	if apierrors.IsAlreadyExists(err) {
		return r.collision(ctx, rs, err)
	}
	if err != nil {
		text := fmt.Sprintf("Failed to create new replica set %q: %v", rs.Name, err)
		r.recorder.Eventf(r.dep, corev1.EventTypeWarning, "ReplicaSetCreateError", "%s", text)
		r.condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError", text)
		_ = r.writeStatus(ctx, true) // the create error is the one to report
		return err
	}
	if replicas > 0 {
		r.recorder.Eventf(r.dep, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", created.Name, replicas)
	}
	r.new = created
	if r.dep.Spec.ProgressDeadlineSeconds != nil {
		r.condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", created.Name))
	}
	return r.annotateDeployment(ctx, next)
}

// collision handles a ReplicaSet that has the new one's name: ours after all, or a hash collision, which the
// collision count gets out of the way for the next attempt.
func (r *rollout) collision(ctx context.Context, rs *appsv1.ReplicaSet, conflict error) error {
	have, err := r.setsAPI.Get(ctx, rs.Key())
	if err != nil {
		return err
	}
	if metav1.IsControlledBy(have, r.dep.UID) && sameTemplate(&have.Spec.Template, &r.dep.Spec.Template) {
		r.new = have
		return nil
	}
	count := int32(0)
	if r.dep.Status.CollisionCount != nil {
		count = *r.dep.Status.CollisionCount
	}
	r.dep.Status.CollisionCount = new(count + 1)
	if _, err := r.client.UpdateStatus(ctx, r.dep); err != nil {
		return err
	}
	return conflict
}

// adoptRevision gives the existing new set the highest revision, the Deployment's annotations and its
// minReadySeconds.
func (r *rollout) adoptRevision(ctx context.Context, next int64) error {
	number := max(next, revision(r.new.Annotations))
	want := r.setAnnotations(r.new.Annotations, number)
	if !maps.Equal(want, r.new.Annotations) || r.new.Spec.MinReadySeconds != r.dep.Spec.MinReadySeconds {
		rs := codec.DeepCopy(r.new)
		rs.Annotations, rs.Spec.MinReadySeconds = want, r.dep.Spec.MinReadySeconds
		updated, err := r.setsAPI.Update(ctx, rs)
		if err != nil {
			return err
		}
		r.new = updated
	}
	if r.dep.Spec.ProgressDeadlineSeconds != nil && r.find(appsv1.DeploymentProgressing) == nil {
		r.condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", r.new.Name))
	}
	return r.annotateDeployment(ctx, number)
}

// setAnnotations are the annotations of the new set: the Deployment's own but for kubectl's, the sizes, and
// the revision with the ones it had before.
func (r *rollout) setAnnotations(have map[string]string, number int64) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	for k, v := range r.dep.Annotations {
		switch k {
		case revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation, appliedAnnotation:
		default:
			out[k] = v
		}
	}
	if before := revision(have); before > 0 && before != number {
		out[historyAnnotation] = lengthened(out[historyAnnotation], strconv.FormatInt(before, 10))
	}
	out[revisionAnnotation] = strconv.FormatInt(number, 10)
	out[desiredAnnotation] = strconv.Itoa(int(r.replicas()))
	out[maxAnnotation] = strconv.Itoa(int(r.replicas() + r.maxSurge()))
	return out
}

// historyLength bounds the list of revisions that a set has had, in bytes: all annotations of an object
// together have a limit.
const historyLength = 2000

// lengthened adds a revision to a list, whose oldest go when there is no room.
func lengthened(history, revision string) string {
	if history == "" {
		return revision
	}
	history += "," + revision
	for len(history) > historyLength {
		_, after, found := strings.Cut(history, ",")
		if !found {
			return revision
		}
		history = after
	}
	return history
}

// annotateDeployment notes the revision. It goes with the status, whose writes may change annotations and
// count as no new generation.
func (r *rollout) annotateDeployment(ctx context.Context, number int64) error {
	text := strconv.FormatInt(number, 10)
	if r.dep.Annotations[revisionAnnotation] == text {
		return nil
	}
	next := codec.DeepCopy(r.dep)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[revisionAnnotation] = text
	updated, err := r.client.UpdateStatus(ctx, next)
	if err != nil {
		return err
	}
	r.dep = updated
	return nil
}
