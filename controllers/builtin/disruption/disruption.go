// Package disruption maintains the status of PodDisruptionBudgets: how many of the selected pods are healthy,
// how many must be, and how many may be evicted. The API server's eviction subresource decrements that
// number; this controller recomputes it.
//
// A budget whose status is of the current generation never allows more disruptions than the observed pods
// permit. An allowed eviction counts as a missing pod immediately, through status.disruptedPods, until the
// deletion of the pod is observed or two minutes have passed. If the number cannot be computed, no disruption
// is allowed until a pod or the budget changes. If the reason is a request that failed, it is also tried
// again with back-off; upstream waits for a change then too.
package disruption

import (
	"context"
	"errors"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of budgets reconciled concurrently; 0 means 1.
	Concurrency int
}

type budgets struct {
	list     informers.Lister[*policyv1.PodDisruptionBudget]
	selects  controllers.Selectors[*policyv1.PodDisruptionBudget]
	pods     controllers.Labelled[*corev1.Pod]
	api      *client.Client[*policyv1.PodDisruptionBudget]
	recorder *events.Recorder
	owners   owners
}

var selectors = controllers.DefineSelector(func(pdb *policyv1.PodDisruptionBudget) (labels.Selector, error) {
	return pdb.Spec.Selector.Selector()
})

// Add adds the controllers "disruption" and "stale-pod-disruption" to m.
func Add(m *manager.Manager, opts Options) error {
	set := m.Informers()
	b := &budgets{
		list: informers.For[*policyv1.PodDisruptionBudget](set).Lister(), selects: controllers.SelectorsIn(set, selectors),
		pods: controllers.LabelledIn[*corev1.Pod](set), api: client.For[*policyv1.PodDisruptionBudget](m.Conn()), recorder: m.Recorder("controllermanager"),
		owners: owners{
			conn: m.Conn(), find: discovery.New(m.Conn(), discovery.Options{}),
			sets:        informers.For[*appsv1.ReplicaSet](set).Lister(),
			deployments: informers.For[*appsv1.Deployment](set).Lister(),
			stateful:    informers.For[*appsv1.StatefulSet](set).Lister(),
			controllers: informers.For[*corev1.ReplicationController](set).Lister(),
		},
	}
	if _, err := controllers.Add(m, "disruption", reconcile.Func(b.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For[*policyv1.PodDisruptionBudget](), controllers.Watches(b.selecting)); err != nil {
		return err
	}
	return addStale(m)
}

// selecting returns the budgets that select a pod, or did before it changed.
func (b *budgets) selecting(e informers.Event[*corev1.Pod]) []reconcile.Request {
	// A budget that cannot be read now is reconciled when it can.
	out, _ := b.selects.Of(e.Key.Namespace, labelsOf(e)...)
	if len(out) > 1 {
		b.reportSeveral(e)
	}
	return out
}

// reportSeveral says in an event if several budgets select a pod, which then cannot be evicted.
func (b *budgets) reportSeveral(e informers.Event[*corev1.Pod]) {
	if now, _ := b.selects.Of(e.Key.Namespace, e.Labels); len(now) > 1 {
		b.recorder.Eventf(e.Object(), corev1.EventTypeWarning, "MultiplePodDisruptionBudgets", "Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", e.Key.Namespace, e.Key.Name, now[0].Name)
	}
}

// labelsOf returns the labels of a pod, and those that it had before it was changed.
func labelsOf(e informers.Event[*corev1.Pod]) []map[string]string {
	sets := []map[string]string{e.Labels}
	if e.Type == informers.Updated {
		sets = append(sets, e.OldLabels())
	}
	return sets
}

func (b *budgets) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pdb, err := b.list.Get(req)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	again, err := b.sync(ctx, pdb)
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return reconcile.Result{RequeueAfter: again}, nil
	case apierrors.IsConflict(err): // an eviction has just spent some of it
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, b.failSafe(ctx, pdb, err)
}

// sync brings the status up to date and returns after which time it must be looked at again, or 0.
func (b *budgets) sync(ctx context.Context, pdb *policyv1.PodDisruptionBudget) (time.Duration, error) {
	selector, err := pdb.Spec.Selector.Selector()
	if err != nil {
		return 0, err
	}
	pods, err := b.pods.Select(pdb.Namespace, selector)
	if err != nil {
		return 0, err
	}
	if len(pods) == 0 {
		b.recorder.Eventf(pdb, corev1.EventTypeNormal, "NoPods", "No matching pods found")
	}
	n, unmanaged, err := b.needs(ctx, pdb, pods)
	if err != nil {
		b.recorder.Eventf(pdb, corev1.EventTypeWarning, "CalculateExpectedPodCountFailed", "Failed to calculate the number of expected pods: %v", err)
		return 0, err
	}
	if unmanaged {
		b.recorder.Eventf(pdb, corev1.EventTypeWarning, "UnmanagedPods", "Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. "+
			"As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
			"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", selector)
	}
	disrupted, again := b.disrupted(pdb, pods, time.Now())
	return again, b.write(ctx, pdb, statusOf(pdb, n, healthy(pods, disrupted), disrupted))
}

// write stores the status if it has changed.
func (b *budgets) write(ctx context.Context, pdb *policyv1.PodDisruptionBudget, next policyv1.PodDisruptionBudgetStatus) error {
	if codec.Equal(&pdb.Status, &next) {
		return nil
	}
	pdb.Status = next
	_, err := b.api.UpdateStatus(ctx, pdb)
	return err
}

// failSafe allows no disruption because their number is not known, and returns why, as a terminal error if
// only a change of the objects helps. The generation is not observed by that.
func (b *budgets) failSafe(ctx context.Context, pdb *policyv1.PodDisruptionBudget, why error) error {
	next := codec.DeepCopy(pdb.Status)
	next.DisruptionsAllowed = 0
	metav1.SetCondition(&next.Conditions, metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
		Reason: policyv1.SyncFailedReason, Message: why.Error(), ObservedGeneration: next.ObservedGeneration})
	if err := b.write(ctx, pdb, next); err != nil {
		return err
	}
	if isLasting(why) {
		return reconcile.TerminalError(why)
	}
	return why
}

// isLasting reports whether an error is about what the objects say, or their kinds, and not about a request.
func isLasting(err error) bool {
	if _, ok := errors.AsType[uncountable](err); ok {
		return true
	}
	missing, ok := errors.AsType[*discovery.NoMatchError](err)
	return ok && len(missing.Stale) == 0
}
