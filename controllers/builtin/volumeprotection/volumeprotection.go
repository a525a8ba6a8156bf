// Package volumeprotection protects volumes in use from deletion: the deletion of a PersistentVolumeClaim
// waits until no pod on a node uses it, that of a PersistentVolume until it is no longer bound, and that of a
// VolumeAttributesClass until no claim and no volume names it. They have finalizers, which the admission
// plugin StorageObjectInUseProtection adds at creation; the controllers add missing finalizers and remove
// those no longer needed.
package volumeprotection

import (
	"context"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
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

// AddClaims adds the controller that protects PersistentVolumeClaims.
func AddClaims(m *manager.Manager, opts Options) error {
	all := informers.For[*corev1.PersistentVolumeClaim](m.Informers())
	c := &claims{
		api: client.For[*corev1.PersistentVolumeClaim](m.Conn()), list: all.Lister(),
		pods: informers.For[*corev1.Pod](m.Informers()).Index(byClaim),
		live: &reviews{pods: client.For[*corev1.Pod](m.Conn()), deleting: all.Index(byDeletion), of: map[string]*review{}},
	}
	_, err := controllers.Add(m, "persistentvolumeclaim-protection", reconcile.Func(c.reconcile), opts.controllers(),
		controllers.For(lacks[*corev1.PersistentVolumeClaim](ClaimFinalizer)), controllers.Watches(c.released))
	return err
}

type claims struct {
	api  *client.Client[*corev1.PersistentVolumeClaim]
	list informers.Lister[*corev1.PersistentVolumeClaim]
	pods informers.Index[*corev1.Pod]
	live *reviews
}

func (c *claims) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim, err := c.list.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	return reconcile.Result{}, protect(ctx, c.api, claim, ClaimFinalizer, func() (bool, error) { return c.unused(ctx, claim) })
}

// unused reports whether no pod uses a claim, first by the copy of pods.
func (c *claims) unused(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	used := false
	err := c.pods.View(claim.Key().String(), func(p *corev1.Pod) bool {
		used = uses(p, claim)
		return !used
	})
	if used || err != nil {
		return false, err
	}
	return c.live.unused(ctx, claim)
}

// released has the claims looked at that a pod has let go: it is gone, has been replaced, or is shut down.
func (c *claims) released(e informers.Event[*corev1.Pod]) []reconcile.Request {
	var out []reconcile.Request
	add := func(p *corev1.Pod) {
		if p == nil {
			return
		}
		for _, name := range claimNames(p) {
			out = append(out, types.NamespacedName{Namespace: p.Namespace, Name: name})
		}
	}
	switch {
	case e.Type == informers.Deleted:
		add(e.Old())
	case e.Terminating:
		add(e.New())
	case e.Type == informers.Updated:
		if before, after := e.Old(), e.New(); before != nil && after != nil && before.UID != after.UID {
			add(before)
		}
	}
	return out
}

// byClaim files pods under the claims that they name.
var byClaim = informers.DefineIndex("volumeprotection.claims", func(p *corev1.Pod) []string {
	var out []string
	for _, name := range claimNames(p) {
		out = append(out, types.NamespacedName{Namespace: p.Namespace, Name: name}.String())
	}
	return out
})

// claimNames are the claims of a pod, those made for its ephemeral volumes included.
func claimNames(p *corev1.Pod) []string {
	var out []string
	for i := range p.Spec.Volumes {
		if name, _ := p.ClaimOf(&p.Spec.Volumes[i]); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// uses reports whether a pod uses a claim. One without a node does not: no kubelet lets it begin to when the
// claim is being deleted.
func uses(p *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	// The kubelet is done with such a pod; the claims of its ephemeral volumes are to go with it.
	down := p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
	for i := range p.Spec.Volumes {
		name, ephemeral := p.ClaimOf(&p.Spec.Volumes[i])
		if name == claim.Name && (!ephemeral || !down && metav1.IsControlledBy(claim, p.UID)) {
			return true
		}
	}
	return false
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
