// Package fakestorage simulates a storage driver, without hardware: what provisioners, attachers and resizers
// do in a cluster. A StorageClass names it as its provisioner:
//
//	apiVersion: storage.k8s.io/v1
//	kind: StorageClass
//	metadata: {name: fake}
//	provisioner: fake.keelson.dev
//	allowVolumeExpansion: true
//
// A claim that the controller of claims hands to it gets a volume of the requested size, which is deleted
// after the claim unless the class retains it. A VolumeAttachment is attached at once. Nodes of package
// fakenode mount nothing, so that pods with such volumes run there.
//
// The volume of a claim that requests more grows at once, and its file system when a pod runs that uses it:
// without one the claim has the condition FileSystemResizePending. Volumes with volumeMode Block do not wait.
//
// It uses only the API and package time, and nothing is remembered but in the API.
package fakestorage

import (
	"cmp"
	"context"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Driver is the default name of the driver.
const Driver = "fake.keelson.dev"

// LocalParameter of a StorageClass makes volumes local if it is "true": a volume can be used only on the node
// that the scheduler has selected. The class must have the mode WaitForFirstConsumer.
const LocalParameter = "keelson.dev/local"

// Options of the simulation.
type Options struct {
	// Driver is the name by which StorageClasses, volumes and attachments refer to it; empty means the
	// constant Driver.
	Driver string
	// Concurrency is the number of objects reconciled concurrently, of each kind; 0 means 5.
	Concurrency int
}

type driver struct {
	name        string
	claims      informers.Lister[*corev1.PersistentVolumeClaim]
	byClass     informers.Index[*corev1.PersistentVolumeClaim]
	claimsAPI   *client.Client[*corev1.PersistentVolumeClaim]
	volumes     informers.Lister[*corev1.PersistentVolume]
	volumesAPI  *client.Client[*corev1.PersistentVolume]
	classes     informers.Lister[*storagev1.StorageClass]
	attached    informers.Index[*storagev1.VolumeAttachment]
	attachments informers.Lister[*storagev1.VolumeAttachment]
	attachAPI   *client.Client[*storagev1.VolumeAttachment]
	users       informers.Index[*corev1.Pod]
	recorder    *events.Recorder
	kubelet     *events.Recorder // of what kubelets report
}

// byVolume files attachments under their volumes.
var byVolume = informers.DefineIndex("fakestorage.volume", func(a *storagev1.VolumeAttachment) []string {
	if name := a.Spec.Source.PersistentVolumeName; name != nil {
		return []string{*name}
	}
	return nil
})

// byClass files the claims that have no volume under their class.
var byClass = informers.DefineIndex("fakestorage.class", func(c *corev1.PersistentVolumeClaim) []string {
	if c.Spec.VolumeName != "" {
		return nil
	}
	return []string{c.StorageClass()}
})

// Add adds the simulation to m. It needs permission to write claims, volumes, attachments and their statuses.
func Add(m *manager.Manager, opts Options) error {
	set := m.Informers()
	claims, attachments := informers.For[*corev1.PersistentVolumeClaim](set), informers.For[*storagev1.VolumeAttachment](set)
	d := &driver{
		name:   cmp.Or(opts.Driver, Driver),
		claims: claims.Lister(), byClass: claims.Index(byClass), claimsAPI: client.For[*corev1.PersistentVolumeClaim](m.Conn()),
		volumes: informers.For[*corev1.PersistentVolume](set).Lister(), volumesAPI: client.For[*corev1.PersistentVolume](m.Conn()),
		classes:  informers.For[*storagev1.StorageClass](set).Lister(),
		attached: attachments.Index(byVolume), attachments: attachments.Lister(), attachAPI: client.For[*storagev1.VolumeAttachment](m.Conn()),
	}
	d.users = informers.For[*corev1.Pod](set).Index(byUser)
	d.recorder, d.kubelet = m.Recorder(d.name), m.Recorder("kubelet")
	options := controllers.Options{Options: controller.Options{Concurrency: cmp.Or(opts.Concurrency, 5)}}
	_, err := controllers.Add(m, "fake-claims", reconcile.Func(d.reconcileClaim), options,
		controllers.For(controllers.Matching(d.concerns)), controllers.Watches(d.claimsOfClass), controllers.Watches(claimsOfPod),
		controllers.Watches(claimOfVolume))
	if err != nil {
		return err
	}
	_, err = controllers.Add(m, "fake-volumes", reconcile.Func(d.reconcileVolume), options, controllers.For(controllers.Matching(d.made)),
		controllers.Watches(func(e informers.Event[*storagev1.VolumeAttachment]) []reconcile.Request {
			if a := e.Old(); e.Type == informers.Deleted && a.Spec.Source.PersistentVolumeName != nil {
				return []reconcile.Request{{Name: *a.Spec.Source.PersistentVolumeName}}
			}
			return nil
		}))
	if err != nil {
		return err
	}
	_, err = controllers.Add(m, "fake-attachments", reconcile.Func(d.reconcileAttachment), options,
		controllers.For(controllers.Matching(func(a *storagev1.VolumeAttachment) bool { return a.Spec.Attacher == d.name })))
	return err
}

// concerns reports whether a claim is one to make a volume for, or may be one whose volume is to grow.
func (d *driver) concerns(c *corev1.PersistentVolumeClaim) bool {
	return c.Annotations[volumematch.Provisioner] == d.name || c.Spec.VolumeName != ""
}

// made reports whether a volume is one of the driver.
func (d *driver) made(v *corev1.PersistentVolume) bool {
	return v.Annotations[volumematch.ProvisionedBy] == d.name
}

// claimsOfClass are the claims without a volume that wait for a class. The volume binder names the driver in
// a claim as soon as its own informer has the class, so the claim may come here first.
func (d *driver) claimsOfClass(e informers.Event[*storagev1.StorageClass]) []reconcile.Request {
	if e.Type != informers.Added || e.Initial {
		return nil
	}
	keys, _ := d.byClass.Keys(e.Key.Name) // a claim that cannot be read now is reconciled when it can
	return keys
}

// reconcileClaim makes the volume of a claim, or lets it grow.
func (d *driver) reconcileClaim(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c, err := d.claims.Get(req)
	if err != nil || c.DeletionTimestamp != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if c.Spec.VolumeName != "" {
		return reconcile.Result{}, d.grow(ctx, c)
	}
	if c.Annotations[volumematch.Provisioner] != d.name {
		return reconcile.Result{}, nil
	}
	class, err := d.classes.Get(types.NamespacedName{Name: c.StorageClass()})
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err) // see claimsOfClass
	}
	v, problem := d.volumeFor(c, class)
	if problem != "" {
		d.recorder.Event(c, corev1.EventTypeWarning, "ProvisioningFailed", problem)
		return reconcile.Result{}, nil
	}
	_, err = d.volumesAPI.Create(ctx, v)
	if apierrors.IsAlreadyExists(err) {
		return reconcile.Result{}, nil // made before; the claim is going to be bound to it
	}
	if err == nil {
		d.recorder.Eventf(c, corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume %s", v.Name)
	}
	return reconcile.Result{}, err
}

// volumeFor returns the volume of a claim, or why there cannot be one.
func (d *driver) volumeFor(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) (v *corev1.PersistentVolume, problem string) {
	if c.Spec.Selector != nil {
		return nil, "claim Selector is not supported"
	}
	v = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(c.UID), Annotations: map[string]string{volumematch.ProvisionedBy: d.name}}}
	v.Spec = corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]}, AccessModes: c.Spec.AccessModes,
		ClaimRef:         &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion},
		StorageClassName: class.Name, MountOptions: class.MountOptions, VolumeMode: c.Spec.VolumeMode,
		VolumeAttributesClassName: c.Spec.VolumeAttributesClassName, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
	}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: d.name, VolumeHandle: v.Name}
	if class.ReclaimPolicy != nil {
		v.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if class.Parameters[LocalParameter] != "true" {
		return v, ""
	}
	node := c.Annotations[volumematch.SelectedNode]
	if node == "" {
		return nil, "local volumes need a node: the class must have volumeBindingMode WaitForFirstConsumer"
	}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}
	return v, ""
}

// reconcileVolume deletes a volume whose claim is gone and that no node uses.
func (d *driver) reconcileVolume(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	v, err := d.volumes.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if !d.made(v) || v.DeletionTimestamp != nil || v.Status.Phase != corev1.VolumeReleased || v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return reconcile.Result{}, nil
	}
	if used, err := d.attached.Keys(v.Name); err != nil || len(used) > 0 {
		return reconcile.Result{}, err
	}
	err = d.volumesAPI.Delete(ctx, req, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID, ResourceVersion: &v.ResourceVersion}})
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}

// reconcileAttachment reports an attachment as attached, or lets it go.
func (d *driver) reconcileAttachment(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	a, err := d.attachments.Get(req)
	if err != nil || a.Spec.Attacher != d.name {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	finalizer := "external-attacher/" + strings.ReplaceAll(d.name, ".", "-")
	next := codec.DeepCopy(a)
	if a.DeletionTimestamp != nil {
		if metav1.RemoveFinalizer(next, finalizer) {
			_, err = d.attachAPI.Update(ctx, next)
		}
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if metav1.AddFinalizer(next, finalizer) {
		if next, err = d.attachAPI.Update(ctx, next); err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
	}
	if !next.Status.Attached {
		next.Status.Attached = true
		_, err = d.attachAPI.UpdateStatus(ctx, next)
	}
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}
