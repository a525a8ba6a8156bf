package deployment

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// apply does what a plan says and brings f up to date. After an error the next reconcile makes another plan.
func (d *deployments) apply(ctx context.Context, f *facts, p plan) error {
	if p.pause != nil {
		f.dep.Status.Conditions = with(f.dep.Status.Conditions, p.pause, f.now)
		if err := d.updateStatus(ctx, f, f.dep); err != nil {
			return err
		}
	}
	if p.create != nil {
		if err := d.create(ctx, f, p.create); err != nil {
			return err
		}
	}
	if p.progress != nil {
		f.dep.Status.Conditions = with(f.dep.Status.Conditions, p.progress, f.now)
	}
	// The sets by what a plan has of them: one may change more than once.
	now := map[*appsv1.ReplicaSet]*appsv1.ReplicaSet{}
	if p.adopt != nil {
		if err := d.change(ctx, f, now, *p.adopt); err != nil {
			return err
		}
	}
	if p.revision != 0 {
		if err := d.setRevision(ctx, f, p.revision); err != nil {
			return err
		}
	}
	for _, c := range p.resize {
		if err := d.change(ctx, f, now, c); err != nil {
			return err
		}
	}
	for _, rs := range p.remove {
		if err := d.setsAPI.Delete(ctx, rs.Key()); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// updateStatus writes the status of next, and annotations, which a write of the status may change without
// counting as a new generation.
func (d *deployments) updateStatus(ctx context.Context, f *facts, next *appsv1.Deployment) error {
	updated, err := d.api.UpdateStatus(ctx, next)
	if err == nil {
		f.dep = updated
	}
	return err
}

// setRevision writes the revision of the Deployment.
func (d *deployments) setRevision(ctx context.Context, f *facts, number int64) error {
	next := codec.DeepCopy(f.dep)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[revisionAnnotation] = strconv.FormatInt(number, 10)
	return d.updateStatus(ctx, f, next)
}

// create creates the set of the current template. A set that has its name is it, or its hash is the same by
// chance: then the collision count makes it another one for the next reconcile.
func (d *deployments) create(ctx context.Context, f *facts, rs *appsv1.ReplicaSet) error {
	created, err := d.setsAPI.Create(ctx, rs)
	if apierrors.IsAlreadyExists(err) {
		return d.collision(ctx, f, rs, err)
	}
	if apierrors.HasCause(err, "NamespaceTerminating") {
		return err
	}
	if err != nil {
		text := fmt.Sprintf("Failed to create new replica set %q: %v", rs.Name, err)
		if f.judged() {
			f.dep.Status.Conditions = with(f.dep.Status.Conditions, condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError", text), f.now)
			_ = d.updateStatus(ctx, f, f.dep) // the create error is the one to report
		}
		d.recorder.Eventf(f.dep, corev1.EventTypeWarning, "ReplicaSetCreateError", "%s", text)
		return err
	}
	if size(rs) > 0 {
		d.recorder.Eventf(f.dep, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", created.Name, size(rs))
	}
	f.new = created
	return nil
}

func (d *deployments) collision(ctx context.Context, f *facts, rs *appsv1.ReplicaSet, conflict error) error {
	have, err := d.setsAPI.Get(ctx, rs.Key())
	if err != nil {
		return err
	}
	if metav1.IsControlledBy(have, f.dep.UID) && sameTemplate(&have.Spec.Template, &f.dep.Spec.Template) {
		f.new = have
		return nil
	}
	count := int32(0)
	if f.dep.Status.CollisionCount != nil {
		count = *f.dep.Status.CollisionCount
	}
	f.dep.Status.CollisionCount = new(count + 1)
	if err := d.updateStatus(ctx, f, f.dep); err != nil {
		return err
	}
	return conflict
}

// change writes a change of a set, of which now has the current states.
func (d *deployments) change(ctx context.Context, f *facts, now map[*appsv1.ReplicaSet]*appsv1.ReplicaSet, c change) error {
	have := c.set
	if now[c.set] != nil {
		have = now[c.set]
	}
	from := size(have)
	next := codec.DeepCopy(have)
	next.Annotations, next.Spec.MinReadySeconds = c.annotations, c.minReadySeconds
	next.Spec.Replicas = new(c.replicas)
	updated, err := d.setsAPI.Update(ctx, next)
	if err != nil {
		return err
	}
	now[c.set] = updated
	f.replace(have, updated)
	direction := "up"
	switch {
	case from == c.replicas:
		return nil
	case from > c.replicas:
		direction = "down"
	}
	d.recorder.Eventf(f.dep, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction, updated.Name, from, c.replicas)
	return nil
}

// replace replaces a set by its new state.
func (f *facts) replace(have, by *appsv1.ReplicaSet) {
	if f.new == have {
		f.new = by
	}
	for i := range f.old {
		if f.old[i] == have {
			f.old[i] = by
		}
	}
}

// writeStatus writes the status, if it is another one, and returns when to look at it again.
func (d *deployments) writeStatus(ctx context.Context, f *facts, rolling bool) (again time.Duration, err error) {
	status, again := statusOf(f, rolling)
	live, err := d.list.Get(f.dep.Key())
	if err == nil && codec.Equal(&live.Status, &status) {
		return again, nil
	}
	f.dep.Status = status
	_, err = d.api.UpdateStatus(ctx, f.dep)
	return again, apierrors.IgnoreNotFound(err)
}
