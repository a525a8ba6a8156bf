// Package volumebinder binds PersistentVolumeClaims to PersistentVolumes, has volumes made for claims that
// none fits, and handles volumes whose claim is gone as their reclaim policy says.
//
// A binding has two references, from the volume to the claim and back. The volume's is written first, with
// the claim's UID and the version that was read, so that of two claims only one gets it. Then follow the
// volume's phase, the claim's reference with the annotation pv.kubernetes.io/bind-completed, and the claim's
// status. The process may end after each of them: what is there says what is left (decide.go, pure).
//
// A claim whose class has the mode WaitForFirstConsumer is bound by the scheduler, which chooses a volume or
// a node (annotation volume.kubernetes.io/selected-node); this controller completes it. Volumes are made and
// deleted by provisioners of the class, which run beside it. Two things differ from kube-controller-manager,
// which has plug-ins for volumes of its own machine: the reclaim policy Recycle, which is deprecated, and the
// policy Delete of a volume that no provisioner made end in the phase Failed, with an event.
package volumebinder

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of claims, and of volumes, reconciled concurrently; 0 means 1. Claims that
	// compete for the same volume are tried again.
	Concurrency int
	// WithoutProvisioning leaves claims waiting that no volume fits.
	WithoutProvisioning bool
}

type binder struct {
	opts Options

	claims     informers.Lister[*corev1.PersistentVolumeClaim]
	claimIndex informers.Index[*corev1.PersistentVolumeClaim]
	claimsAPI  *client.Client[*corev1.PersistentVolumeClaim]

	volumes     informers.Lister[*corev1.PersistentVolume]
	volumeIndex informers.Index[*corev1.PersistentVolume]
	volumesAPI  *client.Client[*corev1.PersistentVolume]

	classes  informers.Lister[*storagev1.StorageClass]
	pods     informers.Index[*corev1.Pod]
	recorder *events.Recorder
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 1
	}
	set := m.Informers()
	claims, volumes := informers.For[*corev1.PersistentVolumeClaim](set), informers.For[*corev1.PersistentVolume](set)
	b := &binder{
		opts: opts, recorder: m.Recorder("persistentvolume-controller"),
		claims: claims.Lister(), claimIndex: claims.Index(waiting), claimsAPI: client.For[*corev1.PersistentVolumeClaim](m.Conn()),
		volumes: volumes.Lister(), volumeIndex: volumes.Index(offered), volumesAPI: client.For[*corev1.PersistentVolume](m.Conn()),
		classes: informers.For[*storagev1.StorageClass](set).Lister(), pods: informers.For[*corev1.Pod](set).Index(podindex.ByClaim),
	}
	options := controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}}
	_, err := controllers.Add(m, "persistentvolume-binder", reconcile.Func(b.reconcileClaim), options, controllers.For[*corev1.PersistentVolumeClaim](),
		controllers.Watches(b.claimsOfVolume), controllers.Watches(b.claimsOfClass), controllers.Watches(claimsOfPod))
	if err != nil {
		return err
	}
	_, err = controllers.Add(m, "persistentvolume-binder-volumes", reconcile.Func(b.reconcileVolume), options, controllers.For[*corev1.PersistentVolume](),
		controllers.Watches(b.volumesOfClaim))
	return err
}

// Values of the indexes.
func ofClaim(key types.NamespacedName) string { return "claim " + key.String() }
func ofClass(class string) string             { return "class " + class }
func ofVolume(name string) string             { return "volume " + name }

const withoutClass = "no class"

// waiting files claims that are not bound under their classes, and all others under the volumes they name.
var waiting = informers.DefineIndex("volumebinder.waiting", func(c *corev1.PersistentVolumeClaim) []string {
	switch {
	case c.Spec.VolumeName != "":
		return []string{ofVolume(c.Spec.VolumeName)}
	case !volumematch.HasClass(c):
		return []string{ofClass(""), withoutClass}
	}
	return []string{ofClass(c.StorageClass())}
})

// offered files available volumes under their classes, and those that refer to a claim under it.
var offered = informers.DefineIndex("volumebinder.offered", func(v *corev1.PersistentVolume) []string {
	switch ref := v.Spec.ClaimRef; {
	case ref != nil:
		return []string{ofClaim(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})}
	case v.Status.Phase == corev1.VolumeAvailable:
		return []string{ofClass(volumematch.VolumeClass(v))}
	}
	return nil
})

// claimsOfPod are the claims whose events name a pod that has just appeared.
func claimsOfPod(e informers.Event[*corev1.Pod]) []reconcile.Request {
	if e.Type != informers.Added || e.Initial {
		return nil
	}
	if p := e.New(); p.Spec.NodeName == "" {
		return p.VolumeClaims()
	}
	return nil
}

// claimsOfVolume are the claims that a change of a volume concerns: those that it refers to or that name it,
// and, if it is available, those that wait for a volume of its class.
func (b *binder) claimsOfVolume(e informers.Event[*corev1.PersistentVolume]) []reconcile.Request {
	values := []string{ofVolume(e.Key.Name)}
	var out []reconcile.Request
	for _, v := range []*corev1.PersistentVolume{e.Old(), e.New()} {
		if v == nil {
			continue
		}
		if ref := v.Spec.ClaimRef; ref != nil {
			out = append(out, reconcile.Request{Namespace: ref.Namespace, Name: ref.Name})
		} else if v.Status.Phase == corev1.VolumeAvailable && e.Type != informers.Deleted {
			values = append(values, ofClass(volumematch.VolumeClass(v)))
		}
	}
	return append(out, b.claimsUnder(values)...)
}

// claimsOfClass are the claims that wait for a class, or for one that is the default.
func (b *binder) claimsOfClass(e informers.Event[*storagev1.StorageClass]) []reconcile.Request {
	if e.Type == informers.Deleted || e.Initial {
		return nil
	}
	values := []string{ofClass(e.Key.Name)}
	if isDefault(e.New()) {
		values = append(values, withoutClass)
	}
	return b.claimsUnder(values)
}

func (b *binder) claimsUnder(values []string) (out []reconcile.Request) {
	for _, value := range values {
		// A claim that cannot be read now is reconciled when it can.
		keys, _ := b.claimIndex.Keys(value)
		out = append(out, keys...)
	}
	return out
}

// volumesOfClaim are the volumes that a change of a claim concerns.
func (b *binder) volumesOfClaim(e informers.Event[*corev1.PersistentVolumeClaim]) []reconcile.Request {
	// A volume that cannot be read now is reconciled when it can.
	out, _ := b.volumeIndex.Keys(ofClaim(e.Key))
	if c := e.New(); c != nil && c.Spec.VolumeName != "" {
		out = append(out, reconcile.Request{Name: c.Spec.VolumeName})
	}
	return out
}

// candidates are the volumes that refer to a claim, and the available ones of its class, shared and
// read-only.
func (b *binder) candidates(c *corev1.PersistentVolumeClaim) (out []*corev1.PersistentVolume, err error) {
	for _, value := range []string{ofClaim(c.Key()), ofClass(c.StorageClass())} {
		if err := b.volumeIndex.View(value, func(v *corev1.PersistentVolume) bool {
			out = append(out, v)
			return true
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isDefault reports whether a class is for claims that name none.
func isDefault(c *storagev1.StorageClass) bool {
	return c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// defaultClass returns the newest of the default classes, of equally old ones the first by name, or nil.
func (b *binder) defaultClass() (*storagev1.StorageClass, error) {
	all, err := b.classes.List(informers.ListOptions{})
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c *storagev1.StorageClass) bool { return !isDefault(c) })
	if len(all) == 0 {
		return nil, nil
	}
	return slices.MinFunc(all, func(a, b *storagev1.StorageClass) int {
		if c := b.CreationTimestamp.Time.Compare(a.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	}), nil
}
