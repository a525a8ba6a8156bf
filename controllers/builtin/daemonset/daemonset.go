// Package daemonset runs a pod of a DaemonSet on each node that its template admits.
//
// A reconcile adopts pods and revisions, finds the revision of the template, decides node by node what to
// create and delete (decide.go, a pure function), does it, and writes the status (status.go, pure). A pod is
// bound to its node by the scheduler: it requires the node by name. Every write may be the last one of a
// process, since the pods themselves say for which node they are. Only the back-off of nodes whose pods fail
// is kept in memory; losing it costs one early attempt.
package daemonset

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
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/controllers/revisions"
	"github.com/keelson-dev/keelson/informers"
)

// burst bounds how many pods one reconcile creates or deletes.
const burst = 250

// Options of the controller.
type Options struct {
	// Concurrency is the number of DaemonSets reconciled concurrently; 0 means 2.
	Concurrency int
}

var kind = appsv1.GroupVersion.WithKind("DaemonSet")

type daemonSets struct {
	*podcontrol.Owners[*appsv1.DaemonSet]
	nodes   informers.Lister[*corev1.Node]
	history *revisions.History[*appsv1.DaemonSet]
	failed  failures
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 2
	}
	d := &daemonSets{
		Owners:  podcontrol.NewOwners(m, "daemonset", func(ds *appsv1.DaemonSet) *metav1.LabelSelector { return ds.Spec.Selector }),
		nodes:   informers.For[*corev1.Node](m.Informers()).Lister(),
		history: revisions.New[*appsv1.DaemonSet](m, appsv1.DefaultDaemonSetUniqueLabelKey),
		failed:  failures{byNode: map[failure]*attempt{}},
	}
	return d.Register(m, opts.Concurrency, d.reconcile,
		controllers.Reads[*appsv1.ControllerRevision](), controllers.Watches(d.ofNode))
}

// ofNode returns the sets for which a change of a node matters.
func (d *daemonSets) ofNode(e informers.Event[*corev1.Node]) []reconcile.Request {
	var old, now *corev1.Node
	if e.Type != informers.Added {
		old = e.Old()
	}
	if e.Type != informers.Deleted {
		now = e.New()
	}
	var out []reconcile.Request
	// A set that cannot be read now is reconciled when it can.
	_ = d.List.ViewAll(informers.ListOptions{}, func(ds *appsv1.DaemonSet) bool {
		r := compile(ds)
		if r.of(old) != r.of(now) {
			out = append(out, ds.Key())
		}
		return true
	})
	return out
}

func (d *daemonSets) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ds, err := d.List.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	selector, err := ds.Spec.Selector.Selector()
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("daemonset: selector: %w", err))
	}
	if selector.Empty() {
		d.Recorder.Eventf(ds, corev1.EventTypeWarning, "SelectingAll", "This daemon set is selecting all pods. A non-empty selector is required.")
		return reconcile.Result{}, nil
	}
	if ds.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // the garbage collector deletes the pods
	}
	s, history, err := d.read(ctx, ds, selector)
	if err != nil {
		return reconcile.Result{}, err
	}
	wait, workErr := d.apply(ctx, s, decide(s))
	// With the pods as they are now, own writes included.
	if s.pods, err = d.podsOf(ds, selector); err != nil {
		return reconcile.Result{}, err
	}
	status, again := statusOf(s)
	if !codec.Equal(&status, &ds.Status) {
		ds.Status = status
		if _, err := d.API.UpdateStatus(ctx, ds); err != nil && !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
	}
	if workErr == nil {
		workErr = d.history.Truncate(ctx, history, inUse(s), ds.Spec.RevisionHistoryLimit)
	}
	if apierrors.HasCause(workErr, "NamespaceTerminating") {
		workErr = nil // nothing more will come of this namespace
	}
	if wait > 0 && (again == 0 || wait < again) {
		again = wait
	}
	return reconcile.Result{RequeueAfter: again}, workErr
}

// read adopts and reads the pods and revisions of ds, and finds the revision of its template.
func (d *daemonSets) read(ctx context.Context, ds *appsv1.DaemonSet, selector labels.Selector) (*state, []*appsv1.ControllerRevision, error) {
	nodes, err := d.nodes.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	s := &state{set: ds, reaches: map[string]reach{}, collisions: new(int32), now: time.Now()}
	rule := compile(ds)
	if err := nodes.View(func(n *corev1.Node) bool {
		s.nodes = append(s.nodes, n.Name)
		s.reaches[n.Name] = rule.of(n)
		return true
	}); err != nil {
		return nil, nil, err
	}
	if s.pods, err = d.ClaimIf(ctx, ds, selector, nil); err != nil {
		return nil, nil, err
	}
	history, err := d.history.List(ctx, ds, selector)
	if err != nil {
		return nil, nil, err
	}
	if ds.Status.CollisionCount != nil {
		*s.collisions = *ds.Status.CollisionCount
	}
	current, history, err := d.history.Ensure(ctx, ds, &ds.Spec.Template, history, s.collisions)
	if err != nil {
		return nil, nil, err
	}
	s.hash = current.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	return s, history, nil
}

// podsOf returns the pods of ds, without adopting any.
func (d *daemonSets) podsOf(ds *appsv1.DaemonSet, selector labels.Selector) ([]*corev1.Pod, error) {
	all, err := d.Pods.ControlledBy(ds.UID)
	if err != nil {
		return nil, err
	}
	var out []*corev1.Pod
	for _, p := range all {
		if p.Namespace == ds.Namespace && selector.Matches(p.Labels) {
			out = append(out, p)
		}
	}
	return out, nil
}

// inUse returns whether a revision is the current one or that of a pod.
func inUse(s *state) func(*appsv1.ControllerRevision) bool {
	hashes := map[string]bool{s.hash: true}
	for _, p := range s.pods {
		hashes[hashOf(p)] = true
	}
	return func(r *appsv1.ControllerRevision) bool {
		return hashes[r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]]
	}
}
