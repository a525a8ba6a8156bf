// Package podcontrol holds what the controllers that own pods share: creating a pod from a template, claiming
// pods by selector, and evaluating readiness.
package podcontrol

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/internal/parallel"
)

// FromTemplate returns the pod that a template describes, owned by owner. prefix is the generateName without
// its dash.
func FromTemplate(template *corev1.PodTemplateSpec, owner metav1.Object, gvk schema.GroupVersionKind, prefix string) *corev1.Pod {
	t := codec.DeepCopy(template)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), GenerateName: prefix + "-",
			Labels: t.Labels, Annotations: t.Annotations, Finalizers: t.Finalizers,
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(owner, gvk)},
		},
		Spec: t.Spec,
	}
}

// Active reports whether a pod neither ended nor is being deleted.
func Active(pod *corev1.Pod) bool {
	return !pod.HasEnded() && pod.DeletionTimestamp == nil
}

// Condition returns the condition of type t, or nil. The pointer is into the pod.
func Condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// Ready reports whether the Ready condition is true.
func Ready(pod *corev1.Pod) bool {
	c := Condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Available reports whether the pod has been ready for minReadySeconds, and if it is ready but not yet
// available, how long it still takes.
func Available(pod *corev1.Pod, minReadySeconds int32, now time.Time) (ok bool, in time.Duration) {
	if !Ready(pod) {
		return false, 0
	}
	if minReadySeconds == 0 {
		return true, 0
	}
	since := Condition(pod, corev1.PodReady).LastTransitionTime.Time
	at := since.Add(time.Duration(minReadySeconds) * time.Second)
	if since.IsZero() || now.Before(at) {
		return false, at.Sub(now)
	}
	return true, 0
}

// DropFinalizer removes a finalizer from a pod. A pod that is deleted or was replaced is no error.
func DropFinalizer(ctx context.Context, c *client.Client[*corev1.Pod], pod *corev1.Pod, finalizer string) error {
	_, err := patch(ctx, c, pod, map[string]any{"metadata": map[string]any{"$deleteFromPrimitiveList/finalizers": []string{finalizer}, "uid": pod.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func patch(ctx context.Context, c *client.Client[*corev1.Pod], pod *corev1.Pod, body map[string]any) (*corev1.Pod, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.Patch(ctx, metav1.KeyOf(pod), client.Patch{Type: types.StrategicMergePatchType, Data: data})
}

// Evict sets the condition DisruptionTarget of a pod, with a reason and a message, unless the pod has that
// reason already, and deletes it. A pod that is deleted or was replaced is no error; deleted is false then.
func Evict(ctx context.Context, c *client.Client[*corev1.Pod], pod *corev1.Pod, reason, message string) (deleted bool, err error) {
	if have := Condition(pod, corev1.DisruptionTarget); have == nil || have.Status != corev1.ConditionTrue || have.Reason != reason {
		next := codec.DeepCopy(pod)
		next.Status.Conditions = slices.DeleteFunc(next.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
		next.Status.Conditions = append(next.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: reason, Message: message, LastTransitionTime: metav1.Now(), ObservedGeneration: pod.Generation})
		if _, err := c.UpdateStatus(ctx, next); err != nil {
			return false, apierrors.IgnoreNotFound(err)
		}
	}
	err = c.Delete(ctx, metav1.KeyOf(pod), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

// DeleteAll deletes pods concurrently and returns the first error; a pod that is already deleted is no error.
// each is called with what became of a pod, also concurrently.
func DeleteAll(ctx context.Context, c *client.Client[*corev1.Pod], pods []*corev1.Pod, each func(pod *corev1.Pod, err error)) error {
	return parallel.First(len(pods), func(i int) error {
		pod := pods[i]
		err := c.Delete(ctx, metav1.KeyOf(pod), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			err = nil
		}
		each(pod, err)
		return err
	})
}

// WithLabel returns a copy of m with one more entry.
func WithLabel(m map[string]string, key, value string) map[string]string {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]string{}
	}
	out[key] = value
	return out
}

// RankForDeletion orders pods so that the ones to delete first come first: unassigned before assigned,
// pending before unknown before running, not ready before ready, lower deletion cost first, on nodes with
// more of the related pods first, ready for a shorter time (by powers of two) first, more restarts first,
// of containers and then of sidecars, newer first. Upstream lets the uid decide between times of ready pods
// that differ by less than a power of two; then three pods can each come before the next.
func RankForDeletion(pods []*corev1.Pod, related map[string]int, now time.Time) {
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return compareForDeletion(a, b, related, now) })
}

// RankActive orders pods so that the ones that have come least far come first: unassigned before assigned,
// pending before unknown before running, not ready before ready, ready for a shorter time first, more
// restarts first, newer first.
func RankActive(pods []*corev1.Pod) { slices.SortStableFunc(pods, compareActive) }
