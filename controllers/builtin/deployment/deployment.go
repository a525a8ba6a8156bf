// Package deployment updates the pods of a Deployment to a new template by scaling ReplicaSets, one per
// template, within the surge and unavailability that the strategy allows.
//
// A reconcile adopts ReplicaSets, decides from their sizes and statuses what to do (decide.go, a pure
// function): create the one of the current template, scale if only the size changed or the Deployment is
// paused, else roll out by one step, and delete old ones. It does that (apply.go), and writes the status
// (status.go, pure). Every write may be the last one of a process: a set is found by its template, and each
// holds the size and surge that it was scaled for.
//
// It does what upstream's controller does, but for this. Pods that are available now, of a set that is being
// scaled down, do not count as available for the next step, so that a rollout never has fewer than it may.
// Old sets are deleted as soon as the rollout is complete, not with the next change after its status says so.
// The annotation of a rollback of the API extensions/v1beta1 has no effect: the API is not served.
package deployment

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
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
	api        *client.Client[*appsv1.Deployment]
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
		pods: podindex.Of(m.Informers()), api: client.For[*appsv1.Deployment](m.Conn()),
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
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	selector, err := dep.Spec.Selector.Selector()
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("selector: %w", err))
	}
	if selector.Empty() {
		d.recorder.Eventf(dep, corev1.EventTypeWarning, "SelectingAll", "This deployment is selecting all pods. A non-empty selector is required.")
		if dep.Status.ObservedGeneration < dep.Generation {
			dep.Status.ObservedGeneration = dep.Generation
			_, err = d.api.UpdateStatus(ctx, dep)
		}
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	sets, err := d.dependents.Claim(ctx, dep, controllers.ClaimOptions[*appsv1.ReplicaSet]{Selector: selector})
	if err != nil {
		return reconcile.Result{}, err
	}
	f := split(dep, sets, time.Now())
	if dep.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		if f.oldRun, err = d.podsRun(f.old); err != nil {
			return reconcile.Result{}, err
		}
	}
	p := decide(f)
	err = d.apply(ctx, f, p)
	if err == nil && p.create != nil { // which another replica may have created, with another size
		p = decide(f)
		err = d.apply(ctx, f, p)
	}
	if apierrors.HasCause(err, "NamespaceTerminating") {
		return reconcile.Result{}, nil // nothing more will come of this namespace
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	again, err := d.writeStatus(ctx, f, p.rolling)
	return reconcile.Result{RequeueAfter: again}, err
}

// podsRun reports whether pods of sets have not ended. One that is being deleted still runs.
func (d *deployments) podsRun(sets []*appsv1.ReplicaSet) (bool, error) {
	for _, rs := range sets {
		pods, err := d.pods.ControlledBy(rs.UID)
		if err != nil {
			return false, err
		}
		for _, pod := range pods {
			if !pod.HasEnded() {
				return true, nil
			}
		}
	}
	return false, nil
}
