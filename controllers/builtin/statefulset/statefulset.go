// Package statefulset gives a StatefulSet its pods, each with a name, a number and claims of its own.
//
// A reconcile adopts pods and revisions, finds the revision of the template, decides from the pods what to do
// (decide.go, a pure function), does it (apply.go), and writes the status (status.go, pure). With the policy
// OrderedReady a plan is at most one creation or deletion, and the pods before are available; with Parallel
// all of them at once. Every write may be the last one of a process: pods have fixed names, claims are
// created before their pod, and revisions are found by their template.
//
// Upstream stops an update while more pods are unavailable than maxUnavailable allows, even if those are the
// ones with the old template; here these are replaced first, because it costs no availability and may be what
// repairs them.
package statefulset

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/controllers/revisions"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of StatefulSets reconciled concurrently; 0 means 5.
	Concurrency int
}

var kind = appsv1.GroupVersion.WithKind("StatefulSet")

type statefulSets struct {
	*podcontrol.Owners[*appsv1.StatefulSet]
	byClaimName informers.Index[*appsv1.StatefulSet]
	history     *revisions.History[*appsv1.StatefulSet]
	claims      informers.Lister[*corev1.PersistentVolumeClaim]
	claimsAPI   *client.Client[*corev1.PersistentVolumeClaim]
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	s := &statefulSets{
		Owners:      podcontrol.NewOwners(m, "statefulset", func(set *appsv1.StatefulSet) *metav1.LabelSelector { return set.Spec.Selector }),
		byClaimName: informers.For[*appsv1.StatefulSet](m.Informers()).Index(byClaimName),
		history:     revisions.New[*appsv1.StatefulSet](m, "controller.kubernetes.io/hash"),
		claims:      informers.For[*corev1.PersistentVolumeClaim](m.Informers()).Lister(),
		claimsAPI:   client.For[*corev1.PersistentVolumeClaim](m.Conn()),
	}
	return s.Register(m, opts.Concurrency, s.reconcile,
		controllers.Reads[*appsv1.ControllerRevision](), controllers.Watches(s.ofDeletedClaim))
}

func (s *statefulSets) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	set, err := s.List.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	selector, err := set.Spec.Selector.Selector()
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("statefulset: selector: %w", err))
	}
	r, err := s.read(ctx, set, selector)
	if err != nil {
		return reconcile.Result{}, err
	}
	var workErr error
	if set.DeletionTimestamp == nil {
		workErr = s.apply(ctx, r, decide(r.state))
		// With the pods as they are now, own writes included.
		if r.pods, err = s.podsOf(set, selector); err != nil {
			return reconcile.Result{}, err
		}
	}
	status, again := statusOf(r.state)
	if !codec.Equal(&status, &set.Status) {
		set.Status = status
		if _, err := s.API.UpdateStatus(ctx, set); err != nil && !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
	}
	if workErr == nil && set.DeletionTimestamp == nil {
		workErr = s.history.Truncate(ctx, r.history, inUse(&status, r.pods), set.Spec.RevisionHistoryLimit)
	}
	if apierrors.HasCause(workErr, "NamespaceTerminating") {
		workErr = nil // nothing more will come of this namespace
	}
	return reconcile.Result{RequeueAfter: again}, workErr
}

// reading is what a reconcile read: the state that decides, and what the writes need.
type reading struct {
	state
	current, update *appsv1.ControllerRevision
	history         []*appsv1.ControllerRevision
}

// read adopts and reads the pods and revisions of set and finds the revision of its template.
func (s *statefulSets) read(ctx context.Context, set *appsv1.StatefulSet, selector labels.Selector) (*reading, error) {
	pods, err := s.ClaimIf(ctx, set, selector, func(p *corev1.Pod) bool { return ordinalOf(set, p) >= 0 })
	if err != nil {
		return nil, err
	}
	history, err := s.history.List(ctx, set, selector)
	if err != nil {
		return nil, err
	}
	collisions := new(int32)
	if set.Status.CollisionCount != nil {
		*collisions = *set.Status.CollisionCount
	}
	r := &reading{state: state{set: set, pods: pods, collisions: collisions, now: time.Now()}, history: history}
	if set.DeletionTimestamp != nil {
		r.currentName, r.updateName = set.Status.CurrentRevision, set.Status.UpdateRevision
		return r, nil
	}
	if r.update, r.history, err = s.history.Ensure(ctx, set, &set.Spec.Template, history, collisions); err != nil {
		return nil, err
	}
	r.current = r.update
	for _, rev := range r.history {
		if rev.Name == set.Status.CurrentRevision {
			r.current = rev
		}
	}
	r.currentName, r.updateName = r.current.Name, r.update.Name
	return r, nil
}

// podsOf returns the pods of set, without adopting any.
func (s *statefulSets) podsOf(set *appsv1.StatefulSet, selector labels.Selector) ([]*corev1.Pod, error) {
	all, err := s.Pods.ControlledBy(set.UID)
	if err != nil {
		return nil, err
	}
	var out []*corev1.Pod
	for _, p := range all {
		if p.Namespace == set.Namespace && selector.Matches(p.Labels) && ordinalOf(set, p) >= 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// inUse returns whether a revision is that of the status or of a pod.
func inUse(status *appsv1.StatefulSetStatus, pods []*corev1.Pod) func(*appsv1.ControllerRevision) bool {
	names := map[string]bool{status.CurrentRevision: true, status.UpdateRevision: true}
	for _, p := range pods {
		names[revisionOf(p)] = true
	}
	return func(r *appsv1.ControllerRevision) bool { return names[r.Name] }
}
