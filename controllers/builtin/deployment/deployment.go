// Package deployment updates the pods of a Deployment to a new template by scaling ReplicaSets, one per
// template, within the surge and unavailability that the strategy allows.
//
// A reconcile is a fixed sequence of steps: adopt ReplicaSets, find or create the one of the current
// template, then scale (if only the size changed or the Deployment is paused) or roll out, write status, and
// delete old ReplicaSets.
package deployment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of Deployments reconciled concurrently; 0 means 5.
	Concurrency int
}

var kind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// selectors are those by which Deployments adopt; an empty one adopts nothing.
var selectors = controllers.DefineSelector(func(d *appsv1.Deployment) (labels.Selector, error) {
	s, err := d.Spec.Selector.Selector()
	if s.Empty() {
		return labels.Nothing(), err
	}
	return s, err
})

type deployments struct {
	list       informers.Lister[*appsv1.Deployment]
	sets       informers.Lister[*appsv1.ReplicaSet]
	dependents controllers.Dependents[*appsv1.Deployment, *appsv1.ReplicaSet]
	selectors  controllers.Selectors[*appsv1.Deployment]
	pods       podindex.Pods
	client     *client.Client[*appsv1.Deployment]
	setsAPI    *client.Client[*appsv1.ReplicaSet]
	recorder   *events.Recorder
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	d := &deployments{
		list: informers.For[*appsv1.Deployment](m.Informers()).Lister(), sets: informers.For[*appsv1.ReplicaSet](m.Informers()).Lister(),
		dependents: controllers.NewDependents[*appsv1.Deployment, *appsv1.ReplicaSet](m), selectors: controllers.SelectorsIn(m.Informers(), selectors),
		pods: podindex.Of(m.Informers()), client: client.For[*appsv1.Deployment](m.Conn()),
		setsAPI: client.For[*appsv1.ReplicaSet](m.Conn()), recorder: m.Recorder("deployment-controller"),
	}
	_, err := controllers.Add(m, "deployment", reconcile.Func(d.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For[*appsv1.Deployment](),
		controllers.Owns[*appsv1.Deployment, *appsv1.ReplicaSet](),
		controllers.Watches(d.adopters),
		// A Recreate rollout goes on when the last old pod is gone.
		controllers.Watches(d.ofDeletedPod))
	return err
}

func (d *deployments) adopters(e informers.Event[*appsv1.ReplicaSet]) []reconcile.Request {
	if e.Type == informers.Deleted || metav1.ControllerOf(e.New()) != nil {
		return nil
	}
	// A Deployment that cannot be read now is reconciled when it can.
	out, _ := d.selectors.Of(e.Key.Namespace, e.Labels)
	return out
}

func (d *deployments) ofDeletedPod(e informers.Event[*corev1.Pod]) []reconcile.Request {
	if e.Type != informers.Deleted {
		return nil
	}
	ref := metav1.ControllerOf(e.Old())
	if ref == nil || ref.Kind != "ReplicaSet" {
		return nil
	}
	rs, err := d.sets.Get(types.NamespacedName{Namespace: e.Key.Namespace, Name: ref.Name})
	if err != nil || rs.UID != ref.UID {
		return nil
	}
	owner := metav1.ControllerOf(rs)
	if owner == nil || owner.Kind != kind.Kind {
		return nil
	}
	return []reconcile.Request{{Namespace: e.Key.Namespace, Name: owner.Name}}
}

func (d *deployments) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	dep, err := d.list.Get(req)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	selector, err := dep.Spec.Selector.Selector()
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("selector: %w", err))
	}
	if selector.Empty() {
		d.recorder.Eventf(dep, corev1.EventTypeWarning, "SelectingAll", "This deployment is selecting all pods. A non-empty selector is required.")
		return reconcile.Result{}, nil
	}
	sets, err := d.dependents.Claim(ctx, dep, controllers.ClaimOptions[*appsv1.ReplicaSet]{Selector: selector})
	if err != nil {
		return reconcile.Result{}, err
	}
	r := &rollout{deployments: d, dep: dep, sets: sets}
	again, err := r.sync(ctx)
	return reconcile.Result{RequeueAfter: again}, err
}

// rollout is one reconcile of one Deployment.
type rollout struct {
	*deployments
	dep  *appsv1.Deployment
	sets []*appsv1.ReplicaSet // all that dep controls
	new  *appsv1.ReplicaSet   // of the current template; nil if there is none yet
	old  []*appsv1.ReplicaSet // the others, oldest first
}

func (r *rollout) sync(ctx context.Context) (time.Duration, error) {
	r.split()
	if r.dep.DeletionTimestamp != nil {
		return 0, r.writeStatus(ctx, false)
	}
	if err := r.pausedCondition(ctx); err != nil {
		return 0, err
	}
	var err error
	rolling := false
	switch {
	case r.dep.Spec.Paused:
		if err = r.proportion(ctx); err == nil {
			err = r.cleanup(ctx)
		}
	case r.resized():
		err = r.proportion(ctx)
	case r.dep.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		rolling, err = true, r.recreate(ctx)
	default:
		rolling, err = true, r.roll(ctx)
	}
	if err != nil {
		return 0, err
	}
	if err := r.writeStatus(ctx, rolling); err != nil {
		return 0, err
	}
	return r.checkAgain(time.Now()), nil
}

// split sorts the sets into the one of the current template and the rest.
func (r *rollout) split() {
	slices.SortFunc(r.sets, func(a, b *appsv1.ReplicaSet) int {
		if c := a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	r.new, r.old = nil, nil
	for _, rs := range r.sets {
		// Of several sets with the template the oldest counts, so that the choice is stable.
		if r.new == nil && sameTemplate(&rs.Spec.Template, &r.dep.Spec.Template) {
			r.new = rs
			continue
		}
		r.old = append(r.old, rs)
	}
}

// sameTemplate compares templates without the hash label that distinguishes ReplicaSets.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = codec.DeepCopy(a), codec.DeepCopy(b)
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return codec.Equal(a, b)
}

func (r *rollout) replicas() int32 {
	if r.dep.Spec.Replicas == nil {
		return 1
	}
	return *r.dep.Spec.Replicas
}

func size(rs *appsv1.ReplicaSet) int32 {
	if rs == nil {
		return 0
	}
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}

func sum(sets []*appsv1.ReplicaSet, of func(*appsv1.ReplicaSet) int32) (n int32) {
	for _, rs := range sets {
		n += of(rs)
	}
	return n
}

func statusReplicas(rs *appsv1.ReplicaSet) int32 { return rs.Status.Replicas }
func statusReady(rs *appsv1.ReplicaSet) int32    { return rs.Status.ReadyReplicas }
func available(rs *appsv1.ReplicaSet) int32      { return rs.Status.AvailableReplicas }

// all is old and new.
func (r *rollout) all() []*appsv1.ReplicaSet {
	if r.new == nil {
		return r.old
	}
	return append(slices.Clone(r.old), r.new)
}
