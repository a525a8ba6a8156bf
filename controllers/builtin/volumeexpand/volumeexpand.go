// Package volumeexpand reports which PersistentVolumeClaims wait for their volumes to be expanded. All
// volumes are expanded by the resizer of their driver, which runs beside it: what kube-controller-manager
// does here is to say so in an event, since its in-tree drivers are gone. Package fakestorage has a resizer.
package volumeexpand

import (
	"cmp"
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of claims reconciled concurrently; 0 means 10.
	Concurrency int
}

type expander struct {
	claims   informers.Lister[*corev1.PersistentVolumeClaim]
	volumes  informers.Lister[*corev1.PersistentVolume]
	recorder *events.Recorder
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	x := &expander{claims: informers.For[*corev1.PersistentVolumeClaim](m.Informers()).Lister(),
		volumes: informers.For[*corev1.PersistentVolume](m.Informers()).Lister(), recorder: m.Recorder("volume_expand")}
	_, err := controllers.Add(m, "persistentvolume-expander", reconcile.Func(x.reconcile),
		controllers.Options{Options: controller.Options{Concurrency: cmp.Or(opts.Concurrency, 10)}},
		controllers.For(requested), controllers.Reads[*corev1.PersistentVolume]())
	return err
}

// requested passes claims that request more than before, and those that do when the controller begins.
func requested(e informers.Event[*corev1.PersistentVolumeClaim]) bool {
	switch e.Type {
	case informers.Added:
		return grows(e.New())
	case informers.Updated:
		before, now := e.Old().Spec.Resources.Requests[corev1.ResourceStorage], e.New().Spec.Resources.Requests[corev1.ResourceStorage]
		return before.Cmp(now) < 0 && grows(e.New())
	}
	return false
}

// grows reports whether a bound claim requests more than its volume has.
func grows(c *corev1.PersistentVolumeClaim) bool {
	want, have := c.Spec.Resources.Requests[corev1.ResourceStorage], c.Status.Capacity[corev1.ResourceStorage]
	return c.Status.Phase == corev1.ClaimBound && want.Cmp(have) > 0
}

func (x *expander) reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	c, err := x.claims.Get(req)
	if err != nil || !grows(c) {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	v, err := x.volumes.Get(types.NamespacedName{Name: c.Spec.VolumeName})
	if err != nil || v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID != c.UID {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	x.recorder.Event(c, corev1.EventTypeNormal, "ExternalExpanding", "waiting for an external controller to expand this PVC")
	return reconcile.Result{}, nil
}
