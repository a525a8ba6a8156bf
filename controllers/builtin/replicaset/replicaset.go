// Package replicaset maintains the number of pods specified by a ReplicaSet or by its predecessor, a
// ReplicationController.
//
// A reconcile reads the matching pods, adopts and releases pods, creates or deletes the difference, and
// writes status. The controller's own writes are visible in the informers immediately, so it needs no
// expectations and never creates a pod twice because of a stale cache.
package replicaset

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// burst bounds how many pods one reconcile creates or deletes.
const burst = 500

// Options of the controller.
type Options struct {
	// Concurrency is the number of sets reconciled concurrently; 0 means 5.
	Concurrency int
}

var kind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}

// sets is the controller of one kind of sets of pods, T, which it reads as ReplicaSets.
type sets[T metav1.Object] struct {
	*podcontrol.Owners[T]
	kind     schema.GroupVersionKind
	siblings controllers.Controlled[T]
	// view returns the ReplicaSet that a set is or is read as.
	view func(set T) *appsv1.ReplicaSet
	// setStatus changes the status of a set and reports whether it was another one.
	setStatus func(set T, status *appsv1.ReplicaSetStatus) bool
}

// Add adds the controller of ReplicaSets to m.
func Add(m *manager.Manager, opts Options) error {
	r := &sets[*appsv1.ReplicaSet]{
		Owners: podcontrol.NewOwners(m, "replicaset", func(rs *appsv1.ReplicaSet) *metav1.LabelSelector { return rs.Spec.Selector }),
		kind:   kind, siblings: controllers.ControlledIn[*appsv1.ReplicaSet](m.Informers()),
		view: func(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet { return rs },
		setStatus: func(rs *appsv1.ReplicaSet, status *appsv1.ReplicaSetStatus) bool {
			if codec.Equal(status, &rs.Status) {
				return false
			}
			rs.Status = *status
			return true
		},
	}
	return r.Register(m, opts.Concurrency, r.reconcile)
}

func (r *sets[T]) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	set, err := r.List.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	rs := r.view(set)
	selector, err := rs.Spec.Selector.Selector()
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("selector: %w", err))
	}
	owned, claimErr := r.Claim(ctx, set, selector)
	var active []*corev1.Pod
	terminating := int32(0)
	for _, pod := range owned {
		if podcontrol.Active(pod) {
			active = append(active, pod)
		} else if pod.DeletionTimestamp != nil {
			terminating++
		}
	}
	var scaleErr error
	if rs.DeletionTimestamp == nil && claimErr == nil {
		active, scaleErr = r.scale(ctx, set, rs, active)
	}
	status, again := statusOf(rs, active, terminating, scaleErr, time.Now())
	if r.setStatus(set, &status) {
		if _, err := r.API.UpdateStatus(ctx, set); err != nil && !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
	}
	if scaleErr != nil {
		return reconcile.Result{}, scaleErr
	}
	return reconcile.Result{RequeueAfter: again}, claimErr
}

// scale creates or deletes the difference and returns the active pods that are left.
func (r *sets[T]) scale(ctx context.Context, set T, rs *appsv1.ReplicaSet, active []*corev1.Pod) ([]*corev1.Pod, error) {
	want := 1
	if rs.Spec.Replicas != nil {
		want = int(*rs.Spec.Replicas)
	}
	if missing := min(want-len(active), burst); missing > 0 {
		created := make([]*corev1.Pod, missing)
		_, err := controllers.Batches(missing, func(i int) error {
			pod, err := r.PodsAPI.Create(ctx, podcontrol.FromTemplate(&rs.Spec.Template, set, r.kind, rs.Name))
			if err != nil {
				if !apierrors.HasCause(err, "NamespaceTerminating") {
					r.Recorder.Eventf(set, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
				}
				return err
			}
			created[i] = pod
			r.Recorder.Eventf(set, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", pod.Name)
			return nil
		})
		for _, pod := range created {
			if pod != nil {
				active = append(active, pod)
			}
		}
		if apierrors.HasCause(err, "NamespaceTerminating") {
			return active, nil // nothing more will come of this namespace
		}
		return active, err
	}
	surplus := min(len(active)-want, burst)
	if surplus <= 0 {
		return active, nil
	}
	if surplus < len(active) {
		related, err := r.relatedByNode(rs)
		if err != nil {
			return active, err
		}
		podcontrol.RankForDeletion(active, related, time.Now())
	}
	err := podcontrol.DeleteAll(ctx, r.PodsAPI, active[:surplus], func(pod *corev1.Pod, err error) {
		if err != nil {
			r.Recorder.Eventf(set, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
			return
		}
		r.Recorder.Eventf(set, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
	})
	if err != nil {
		return active, err
	}
	return active[surplus:], nil
}

// relatedByNode counts, per node, the active pods of all sets with the same controller as rs, such as
// the old and new sets of one Deployment: pods are taken first from where there are more of them.
func (r *sets[T]) relatedByNode(rs *appsv1.ReplicaSet) (map[string]int, error) {
	family := []types.UID{rs.UID}
	if ref := metav1.ControllerOf(rs); ref != nil {
		siblings, err := r.siblings.ControlledBy(ref.UID)
		if err != nil {
			return nil, err
		}
		for _, other := range siblings {
			if uid := metav1.MetaOf(other).UID; uid != rs.UID {
				family = append(family, uid)
			}
		}
	}
	counts := map[string]int{}
	for _, uid := range family {
		pods, err := r.Pods.ControlledBy(uid)
		if err != nil {
			return nil, err
		}
		for _, pod := range pods {
			if podcontrol.Active(pod) {
				counts[pod.Spec.NodeName]++
			}
		}
	}
	return counts, nil
}

// statusOf computes the status, and when a ready pod will become available by itself.
func statusOf(rs *appsv1.ReplicaSet, active []*corev1.Pod, terminating int32, scaleErr error, now time.Time) (appsv1.ReplicaSetStatus, time.Duration) {
	s := appsv1.ReplicaSetStatus{ObservedGeneration: rs.Generation, Replicas: int32(len(active)), TerminatingReplicas: &terminating}
	var again time.Duration
	for _, pod := range active {
		if hasAll(pod.Labels, rs.Spec.Template.Labels) {
			s.FullyLabeledReplicas++
		}
		if !podcontrol.Ready(pod) {
			continue
		}
		s.ReadyReplicas++
		ok, in := podcontrol.Available(pod, rs.Spec.MinReadySeconds, now)
		if ok {
			s.AvailableReplicas++
		} else if again == 0 || in < again {
			again = in
		}
	}
	for _, c := range rs.Status.Conditions {
		if c.Type != appsv1.ReplicaSetReplicaFailure {
			s.Conditions = append(s.Conditions, c)
		}
	}
	if scaleErr != nil {
		reason := "FailedCreate"
		if rs.Spec.Replicas != nil && int(*rs.Spec.Replicas) < len(active) {
			reason = "FailedDelete"
		}
		failure := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: reason,
			Message: scaleErr.Error(), LastTransitionTime: metav1.Time{Time: now}}
		// The first failure stands until all is well: its text names a pod, and each attempt makes another
		// name.
		for _, c := range rs.Status.Conditions {
			if c.Type == failure.Type && c.Status == failure.Status && c.Reason == failure.Reason {
				failure = c
			}
		}
		s.Conditions = append(s.Conditions, failure)
	}
	return s, again
}

func hasAll(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}
