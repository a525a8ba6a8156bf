package deployment

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// roll moves one step of a rolling update: up with the new set as far as the surge allows, or down with the
// old ones as far as availability allows. Every step leads to an event that brings the next.
func (r *rollout) roll(ctx context.Context) error {
	if err := r.ensureNew(ctx); err != nil {
		return err
	}
	if moved, err := r.resize(ctx, &r.new, r.newSetSize(r.new)); moved || err != nil {
		return err
	}
	if moved, err := r.shrinkOld(ctx); moved || err != nil {
		return err
	}
	if r.complete() {
		return r.cleanup(ctx)
	}
	return nil
}

// newSetSize is how large the new set may be now.
func (r *rollout) newSetSize(rs *appsv1.ReplicaSet) int32 {
	if r.dep.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return r.replicas()
	}
	have := size(rs)
	if have >= r.replicas() {
		return r.replicas()
	}
	total := sum(r.old, size) + have
	room := r.replicas() + r.maxSurge() - total
	if room <= 0 {
		return have
	}
	return have + min(room, r.replicas()-have)
}

// shrinkOld scales old sets down: unhealthy pods first, which costs no availability, then as many as may be
// missing.
func (r *rollout) shrinkOld(ctx context.Context) (moved bool, err error) {
	left := sum(r.old, size)
	if left == 0 {
		return false, nil
	}
	least := r.replicas() - r.maxUnavailable()
	// Pods of the new set that are not available yet count against what may be taken away.
	most := left + size(r.new) - least - (size(r.new) - steady(r.new))
	if most <= 0 {
		return false, nil
	}
	r.sortOld()
	cleaned, err := r.dropUnhealthy(ctx, most)
	if err != nil {
		return cleaned > 0, err
	}
	spare := sum(r.all(), steady) - least
	down := int32(0)
	for i := range r.old {
		if spare-down <= 0 {
			break
		}
		rs := &r.old[i]
		n := min(size(*rs), spare-down)
		if n == 0 {
			continue
		}
		if _, err := r.resize(ctx, rs, size(*rs)-n); err != nil {
			return true, err
		}
		down += n
	}
	return cleaned+down > 0, nil
}

// steady returns how many available pods a set will keep: its status may not show yet that it is being scaled
// down, which deletes pods that are not available first.
func steady(rs *appsv1.ReplicaSet) int32 { return min(available(rs), size(rs)) }

// dropUnhealthy removes up to most unavailable pods from old sets.
func (r *rollout) dropUnhealthy(ctx context.Context, most int32) (dropped int32, err error) {
	for i := range r.old {
		rs := &r.old[i]
		if dropped >= most {
			break
		}
		if size(*rs) == 0 || size(*rs) == steady(*rs) {
			continue
		}
		n := min(most-dropped, size(*rs)-steady(*rs))
		if n == 0 {
			continue
		}
		if _, err := r.resize(ctx, rs, size(*rs)-n); err != nil {
			return dropped, err
		}
		dropped += n
	}
	return dropped, nil
}

func (r *rollout) sortOld() {
	slices.SortStableFunc(r.old, func(a, b *appsv1.ReplicaSet) int {
		return a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time)
	})
}

// recreate ends every old pod before it starts a new one.
func (r *rollout) recreate(ctx context.Context) error {
	moved := false
	for i := range r.old {
		m, err := r.resize(ctx, &r.old[i], 0)
		if err != nil {
			return err
		}
		moved = moved || m
	}
	if moved {
		return nil
	}
	if run, err := r.oldPodsRun(); err != nil || run {
		return err
	}
	if err := r.ensureNew(ctx); err != nil {
		return err
	}
	if _, err := r.resize(ctx, &r.new, r.replicas()); err != nil {
		return err
	}
	if r.complete() {
		return r.cleanup(ctx)
	}
	return nil
}

func (r *rollout) oldPodsRun() (bool, error) {
	for _, rs := range r.old {
		pods, err := r.pods.ControlledBy(rs.UID)
		if err != nil {
			return false, err
		}
		for _, pod := range pods {
			// A pod that is being deleted still runs; one that has ended does not.
			if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
				return true, nil
			}
		}
	}
	return false, nil
}

// resize writes a new size into *rs, together with the sizes the Deployment had when it was decided.
func (r *rollout) resize(ctx context.Context, rs **appsv1.ReplicaSet, to int32) (moved bool, err error) {
	from := size(*rs)
	if from == to {
		return false, nil
	}
	next := codec.DeepCopy(*rs)
	next.Spec.Replicas = &to
	r.stampSizes(next)
	updated, err := r.setsAPI.Update(ctx, next)
	if err != nil {
		return false, err
	}
	*rs = updated
	direction := "up"
	if to < from {
		direction = "down"
	}
	r.recorder.Eventf(r.dep, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction, updated.Name, from, to)
	return true, nil
}

// stamp writes the sizes the Deployment has into a set whose own stays.
func (r *rollout) stamp(ctx context.Context, rs **appsv1.ReplicaSet) error {
	next := codec.DeepCopy(*rs)
	r.stampSizes(next)
	if next.Annotations[desiredAnnotation] == (*rs).Annotations[desiredAnnotation] && next.Annotations[maxAnnotation] == (*rs).Annotations[maxAnnotation] {
		return nil
	}
	updated, err := r.setsAPI.Update(ctx, next)
	if err != nil {
		return err
	}
	*rs = updated
	return nil
}

func (r *rollout) stampSizes(rs *appsv1.ReplicaSet) {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	rs.Annotations[desiredAnnotation] = strconv.Itoa(int(r.replicas()))
	rs.Annotations[maxAnnotation] = strconv.Itoa(int(r.replicas() + r.maxSurge()))
}

// resized reports whether the Deployment's size is another than the one its active sets were scaled for.
func (r *rollout) resized() bool {
	for _, rs := range r.all() {
		if size(rs) == 0 {
			continue
		}
		if n, err := strconv.Atoi(rs.Annotations[desiredAnnotation]); err == nil && int32(n) != r.replicas() {
			return true
		}
	}
	return false
}

// proportion brings a changed size to the sets without rolling: all of it to the one active set, or in
// proportion when a rollout is under way or paused.
func (r *rollout) proportion(ctx context.Context) error {
	if r.new != nil || len(r.old) > 0 {
		if one := r.onlyActive(); one != nil {
			if size(*one) == r.replicas() {
				return r.stamp(ctx, one)
			}
			_, err := r.resize(ctx, one, r.replicas())
			return err
		}
	}
	if r.new != nil && size(r.new) == r.replicas() && available(r.new) == r.replicas() && r.new.Status.ObservedGeneration >= r.new.Generation {
		for i := range r.old {
			if _, err := r.resize(ctx, &r.old[i], 0); err != nil {
				return err
			}
		}
		return nil
	}
	if r.dep.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return nil
	}
	var active []**appsv1.ReplicaSet
	for i := range r.old {
		if size(r.old[i]) > 0 {
			active = append(active, &r.old[i])
		}
	}
	if r.new != nil && size(r.new) > 0 {
		active = append(active, &r.new)
	}
	total := int32(0)
	for _, rs := range active {
		total += size(*rs)
	}
	allowed := int32(0)
	if r.replicas() > 0 {
		allowed = r.replicas() + r.maxSurge()
	}
	toAdd := allowed - total
	// The largest sets change most, so they come first; among equals, the newer when growing and the older
	// when shrinking.
	slices.SortStableFunc(active, func(a, b **appsv1.ReplicaSet) int {
		age := (*a).CreationTimestamp.Time.Compare((*b).CreationTimestamp.Time)
		if toAdd > 0 {
			age = -age
		}
		return cmp.Or(cmp.Compare(size(*b), size(*a)), age)
	})
	sizes := make([]int32, len(active))
	added := int32(0)
	for i, rs := range active {
		sizes[i] = size(*rs)
		if toAdd != 0 {
			part := r.share(*rs, toAdd, added)
			sizes[i] += part
			added += part
		}
	}
	for i, rs := range active {
		if i == 0 {
			sizes[i] = max(0, sizes[i]+toAdd-added) // rounding leftovers
		}
		if sizes[i] == size(*rs) {
			if err := r.stamp(ctx, rs); err != nil {
				return err
			}
			continue
		}
		if _, err := r.resize(ctx, rs, sizes[i]); err != nil {
			return err
		}
	}
	return nil
}

// onlyActive returns the one set to scale when there is no more than one with pods, else nil.
func (r *rollout) onlyActive() **appsv1.ReplicaSet {
	var one **appsv1.ReplicaSet
	for i := range r.old {
		if size(r.old[i]) > 0 {
			if one != nil {
				return nil
			}
			one = &r.old[i]
		}
	}
	if r.new != nil && size(r.new) > 0 {
		if one != nil {
			return nil
		}
		return &r.new
	}
	if one != nil {
		return one
	}
	if r.new != nil {
		return &r.new
	}
	return nil
}

// share is a set's part of toAdd, by its size relative to what all sets together were scaled for.
func (r *rollout) share(rs *appsv1.ReplicaSet, toAdd, added int32) int32 {
	if size(rs) == 0 || toAdd == added {
		return 0
	}
	if r.replicas() == 0 {
		return -size(rs)
	}
	before := r.dep.Status.Replicas
	if n, err := strconv.Atoi(rs.Annotations[maxAnnotation]); err == nil && n > 0 {
		before = int32(n)
	}
	if before == 0 {
		return 0
	}
	want := float64(size(rs)) * float64(r.replicas()+r.maxSurge()) / float64(before)
	part := int32(roundHalfAway(want)) - size(rs)
	if toAdd > 0 {
		return min(part, toAdd-added)
	}
	return max(part, toAdd-added)
}

func roundHalfAway(v float64) int64 {
	if v < 0 {
		return int64(v - 0.5)
	}
	return int64(v + 0.5)
}

// cleanup deletes the oldest sets without pods beyond the history limit.
func (r *rollout) cleanup(ctx context.Context) error {
	if r.dep.Spec.RevisionHistoryLimit == nil {
		return nil
	}
	var done []*appsv1.ReplicaSet
	for _, rs := range r.old {
		if rs.DeletionTimestamp == nil && size(rs) == 0 && rs.Status.Replicas == 0 && rs.Generation <= rs.Status.ObservedGeneration {
			done = append(done, rs)
		}
	}
	surplus := len(done) - int(*r.dep.Spec.RevisionHistoryLimit)
	if surplus <= 0 {
		return nil
	}
	slices.SortStableFunc(done, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Compare(revision(a.Annotations), revision(b.Annotations))
	})
	for _, rs := range done[:surplus] {
		if err := r.setsAPI.Delete(ctx, rs.Key()); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
