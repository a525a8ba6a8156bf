// Package replicaset maintains the number of pods specified by a ReplicaSet or by its predecessor, a
// ReplicationController.
//
// A reconcile adopts and releases pods, decides from their number what to create or delete (decide.go, a
// pure function), does it (apply.go), and writes the status (status.go, pure). The controller's own writes
// are visible in the informers immediately, so it needs no expectations and never creates a pod twice
// because of a stale cache; and a process may end after any write, because the next one counts the
// pods again.
//
// It does what upstream's controller does, but for this. Of pods that are equally good to delete, those on
// nodes with more of them go first also if the set has no controller; upstream counts the pods of a node only
// for the sets of a Deployment.
package replicaset

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
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
	s := stateOf(rs, owned, time.Now())
	var workErr error
	if rs.DeletionTimestamp == nil && claimErr == nil {
		if s.chooses() {
			if s.related, err = r.relatedByNode(rs); err != nil {
				return reconcile.Result{}, err
			}
		}
		p := decide(s)
		workErr = r.apply(ctx, set, s, p)
		if p.writes() {
			set = r.latest(set)
		}
	}
	status, again := statusOf(s, workErr)
	if r.setStatus(set, &status) {
		// A set that is scaled at the same moment refuses this. Its next reconcile, which is due anyway,
		// writes the status; another attempt here would be one more write.
		if _, err := r.API.UpdateStatus(ctx, set); err != nil && !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
	}
	if workErr != nil {
		return reconcile.Result{}, workErr
	}
	return reconcile.Result{RequeueAfter: again}, claimErr
}

// latest returns a set as it is after pods were written, which takes time: its Deployment may have scaled it
// meanwhile, and a status for the version before would be refused. The status still is of the generation that
// was acted on.
func (r *sets[T]) latest(set T) T {
	now, err := r.List.Get(metav1.KeyOf(set))
	if err != nil || metav1.MetaOf(now).UID != metav1.MetaOf(set).UID {
		return set
	}
	return now
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
