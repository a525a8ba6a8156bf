// Package ephemeralvolume creates the claims of the generic ephemeral volumes of pods. A claim is named after
// the pod and the volume, and is owned by the pod, with which it is deleted.
package ephemeralvolume

import (
	"context"
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
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
	// Concurrency is the number of pods reconciled concurrently; 0 means 5.
	Concurrency int
}

var podKind = corev1.GroupVersion.WithKind("Pod")

type volumes struct {
	pods      informers.Lister[*corev1.Pod]
	byClaim   informers.Index[*corev1.Pod]
	claims    informers.Lister[*corev1.PersistentVolumeClaim]
	claimsAPI *client.Client[*corev1.PersistentVolumeClaim]
	recorder  *events.Recorder
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	pods := informers.For[*corev1.Pod](m.Informers())
	v := &volumes{
		pods: pods.Lister(), byClaim: pods.Index(podindex.ByClaim), claims: informers.For[*corev1.PersistentVolumeClaim](m.Informers()).Lister(),
		claimsAPI: client.For[*corev1.PersistentVolumeClaim](m.Conn()), recorder: m.Recorder("ephemeral_volume"),
	}
	_, err := controllers.Add(m, "ephemeral-volume", reconcile.Func(v.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For(func(e informers.Event[*corev1.Pod]) bool {
			return e.Type == informers.Added && !e.Terminating
		}), controllers.Watches(v.ofDeletedClaim))
	return err
}

// ofDeletedClaim returns the pods that may wait for another claim of the name.
func (v *volumes) ofDeletedClaim(e informers.Event[*corev1.PersistentVolumeClaim]) []reconcile.Request {
	if e.Type != informers.Deleted {
		return nil
	}
	keys, err := v.byClaim.Keys(e.Key.String())
	if err != nil {
		return nil // a pod that cannot be read now is reconciled when it can
	}
	return keys
}

func (v *volumes) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod, err := v.pods.Get(req)
	if err != nil || pod.DeletionTimestamp != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	var errs []error
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Ephemeral == nil {
			continue
		}
		if err := v.provide(ctx, pod, volume); err != nil {
			v.recorder.Eventf(pod, corev1.EventTypeWarning, "FailedBinding", "ephemeral volume %s: %v", volume.Name, err)
			errs = append(errs, err)
		}
	}
	err = errors.Join(errs...)
	if apierrors.HasCause(err, "NamespaceTerminating") {
		err = nil // nothing more will come of this namespace
	}
	return reconcile.Result{}, err
}

// provide creates the claim of a volume if it is missing. One that is not the pod's is an error.
func (v *volumes) provide(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) error {
	name, _ := pod.ClaimOf(volume)
	key := types.NamespacedName{Namespace: pod.Namespace, Name: name}
	have, err := v.claims.Get(key)
	if err == nil {
		if !metav1.IsControlledBy(have, pod.UID) {
			return fmt.Errorf("PVC %q was not created for pod %q (pod is not owner)", key, pod.Key())
		}
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	t := codec.DeepCopy(volume.Ephemeral.VolumeClaimTemplate)
	_, err = v.claimsAPI.Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: t.Labels, Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(pod, podKind)}},
		Spec: t.Spec,
	})
	if err != nil {
		return fmt.Errorf("create PVC %s: %w", key.Name, err)
	}
	return nil
}
