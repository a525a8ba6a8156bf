// Package volumeprotection protects volumes in use from deletion: the deletion of a PersistentVolumeClaim
// waits until no pod on a node uses it, that of a PersistentVolume until it is no longer bound, and that of a
// VolumeAttributesClass until no claim and no volume names it. They have finalizers, which the admission
// plugin StorageObjectInUseProtection adds at creation; the controllers add missing finalizers and remove
// those no longer needed.
//
// Whether a pod uses a claim is read from the copy of pods, which must not be older than the deletion of the
// claim. A server that reports the last change of pods (see client.Client.LastChange) makes that a request of
// one object; of others the pods of the namespace are listed, once for many claims.
package volumeprotection

import (
	"context"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// The finalizers of claims and volumes in use.
const (
	ClaimFinalizer  = "kubernetes.io/pvc-protection"
	VolumeFinalizer = "kubernetes.io/pv-protection"
)

// Options of a controller.
type Options struct {
	// Concurrency is the number of objects reconciled concurrently; 0 means 5.
	Concurrency int
}

func (opts Options) controllers() controllers.Options {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	return controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}}
}

// AddVolumes adds the controller that protects PersistentVolumes.
func AddVolumes(m *manager.Manager, opts Options) error {
	api, list := client.For[*corev1.PersistentVolume](m.Conn()), informers.For[*corev1.PersistentVolume](m.Informers()).Lister()
	_, err := controllers.Add(m, "persistentvolume-protection", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		pv, err := list.Get(req)
		if err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
		unused := func() (bool, error) { return pv.Status.Phase != corev1.VolumeBound, nil }
		return reconcile.Result{}, protect(ctx, api, pv, VolumeFinalizer, unused)
	}), opts.controllers(), controllers.For(lacks[*corev1.PersistentVolume](VolumeFinalizer)))
	return err
}

// lacks passes what may need its finalizer set or removed.
func lacks[T metav1.Object](finalizer string) controllers.Predicate[T] {
	return func(e informers.Event[T]) bool {
		if e.Type == informers.Deleted {
			return false
		}
		obj := e.New()
		var none T
		return any(obj) != any(none) && metav1.HasFinalizer(obj, finalizer) == metav1.IsTerminating(obj)
	}
}

// protect sets the finalizer of an object that lives, and removes that of one that is being deleted and is
// unused.
func protect[T metav1.Object](ctx context.Context, api *client.Client[T], obj T, finalizer string, unused func() (bool, error)) error {
	next := codec.DeepCopy(obj)
	switch metav1.IsTerminating(obj) {
	case false:
		if !metav1.AddFinalizer(next, finalizer) {
			return nil
		}
	case true:
		if !metav1.RemoveFinalizer(next, finalizer) {
			return nil
		}
		if ok, err := unused(); err != nil || !ok {
			return err
		}
	}
	if _, err := api.Update(ctx, next); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("volumeprotection: finalizer %s of %s: %w", strings.TrimPrefix(finalizer, "kubernetes.io/"), metav1.KeyOf(obj), err)
	}
	return nil
}
