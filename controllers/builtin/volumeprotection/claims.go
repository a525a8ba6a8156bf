package volumeprotection

import (
	"context"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// ClaimOptions are the options of the controller that protects PersistentVolumeClaims.
type ClaimOptions struct {
	// Concurrency is the number of claims reconciled concurrently; 0 means 5.
	Concurrency int
	// UnusedSince maintains the condition Unused of claims: True since the last pod that names it has ended
	// or is gone. In Kubernetes it is the feature PersistentVolumeClaimUnusedSinceTime.
	UnusedSince bool
}

type claims struct {
	api  *client.Client[*corev1.PersistentVolumeClaim]
	list informers.Lister[*corev1.PersistentVolumeClaim]
	// holders are the pods that keep a claim from being deleted, namers those that make it used.
	holders, namers users
	condition       bool
}

// AddClaims adds the controller that protects PersistentVolumeClaims.
func AddClaims(m *manager.Manager, opts ClaimOptions) error {
	all := informers.For[*corev1.PersistentVolumeClaim](m.Informers())
	c := &claims{
		api: client.For[*corev1.PersistentVolumeClaim](m.Conn()), list: all.Lister(), condition: opts.UnusedSince,
		holders: usersIn(m, all.Index(byDeletion), holds),
	}
	if c.condition {
		c.namers = usersIn(m, all.Index(byDoubt), names)
	}
	_, err := controllers.Add(m, "persistentvolumeclaim-protection", reconcile.Func(c.reconcile), Options{Concurrency: opts.Concurrency}.controllers(),
		controllers.For(c.concerns), controllers.Watches(c.released))
	return err
}

// concerns passes the claims that may need a write whatever happens to pods.
func (c *claims) concerns(e informers.Event[*corev1.PersistentVolumeClaim]) bool {
	return lacks[*corev1.PersistentVolumeClaim](ClaimFinalizer)(e) || c.condition && e.Type != informers.Deleted && indexOfUnused(e.New()) < 0
}

func (c *claims) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim, err := c.list.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if c.condition && claim.DeletionTimestamp == nil {
		if claim, err = c.report(ctx, claim); err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
	}
	return reconcile.Result{}, protect(ctx, c.api, claim, ClaimFinalizer, func() (bool, error) { return c.holders.none(ctx, claim) })
}

// report writes the condition Unused if it says something new, and returns the claim as stored.
func (c *claims) report(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	unused, err := c.namers.none(ctx, claim)
	if err != nil {
		return nil, err
	}
	status, changed := statusOf(claim, unused, time.Now())
	if !changed {
		return claim, nil
	}
	claim.Status = status
	return c.api.UpdateStatus(ctx, claim)
}

// released returns the claims of a pod that has let them go, because it is gone, has been replaced, or is
// shut down; with the condition also those of one that is new.
func (c *claims) released(e informers.Event[*corev1.Pod]) []reconcile.Request {
	var out []reconcile.Request
	add := func(p *corev1.Pod) {
		if p != nil {
			out = append(out, p.VolumeClaims()...)
		}
	}
	before, after := e.Old(), e.New()
	switch {
	case e.Type == informers.Deleted:
		add(before)
		return out
	case e.Type == informers.Updated && before != nil && after != nil && before.UID != after.UID:
		add(before)
		before = nil
	}
	if e.Terminating || c.condition && after != nil && (before == nil || ended(before) != ended(after)) {
		add(after)
	}
	return out
}

// indexOfUnused returns which condition of a claim is Unused, negative if none is.
func indexOfUnused(claim *corev1.PersistentVolumeClaim) int {
	return slices.IndexFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimUnused
	})
}

// statusOf returns the status of a claim with the condition Unused, and whether it differs from what it was.
func statusOf(claim *corev1.PersistentVolumeClaim, unused bool, now time.Time) (corev1.PersistentVolumeClaimStatus, bool) {
	c := corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(now),
		Reason: "PodUsingPVC", Message: "A pod is currently referencing this PVC"}
	if unused {
		c.Status, c.Reason, c.Message = corev1.ConditionTrue, "NoPodsUsingPVC", "No pods are currently referencing this PVC"
	}
	status, i := claim.Status, indexOfUnused(claim)
	switch {
	case i < 0:
		status.Conditions = append(slices.Clip(status.Conditions), c)
	case (status.Conditions[i].Status == corev1.ConditionTrue) == unused:
		return status, false
	default:
		status.Conditions = slices.Clone(status.Conditions)
		status.Conditions[i] = c
	}
	return status, true
}
