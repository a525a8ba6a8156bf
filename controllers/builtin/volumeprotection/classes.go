package volumeprotection

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// ClassFinalizer is that of VolumeAttributesClasses in use.
const ClassFinalizer = "kubernetes.io/vac-protection"

// AddClasses adds the controller that protects VolumeAttributesClasses: the deletion of one waits until no
// PersistentVolumeClaim and no PersistentVolume names it.
func AddClasses(m *manager.Manager, opts Options) error {
	api, list := client.For[*storagev1.VolumeAttributesClass](m.Conn()), informers.For[*storagev1.VolumeAttributesClass](m.Informers()).Lister()
	claims := informers.For[*corev1.PersistentVolumeClaim](m.Informers()).Index(claimsByClass)
	volumes := informers.For[*corev1.PersistentVolume](m.Informers()).Index(volumesByClass)
	_, err := controllers.Add(m, "volumeattributesclass-protection", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		class, err := list.Get(req)
		if err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
		unused := func() (bool, error) {
			for _, keys := range []func(string) ([]reconcile.Request, error){claims.Keys, volumes.Keys} {
				if used, err := keys(class.Name); err != nil || len(used) > 0 {
					return false, err
				}
			}
			return true, nil
		}
		return reconcile.Result{}, protect(ctx, api, class, ClassFinalizer, unused)
	}), opts.controllers(), controllers.For(lacks[*storagev1.VolumeAttributesClass](ClassFinalizer)),
		controllers.Watches(releasedClasses((*corev1.PersistentVolumeClaim).AttributesClasses)), controllers.Watches(releasedClasses(classesOfVolume)))
	return err
}

// claimsByClass and volumesByClass file claims and volumes under the classes that they name.
var (
	claimsByClass  = informers.DefineIndex("volumeprotection.claims of class", (*corev1.PersistentVolumeClaim).AttributesClasses)
	volumesByClass = informers.DefineIndex("volumeprotection.volumes of class", classesOfVolume)
)

func classesOfVolume(v *corev1.PersistentVolume) []string {
	if name := v.Spec.VolumeAttributesClassName; name != nil && *name != "" {
		return []string{*name}
	}
	return nil
}

// releasedClasses returns the classes that an object has named and does not name any more.
func releasedClasses[T metav1.Object](classes func(T) []string) func(informers.Event[T]) []reconcile.Request {
	return func(e informers.Event[T]) (out []reconcile.Request) {
		var none T
		before, after := e.Old(), e.New()
		if any(before) == any(none) {
			return nil
		}
		var still []string
		if any(after) != any(none) {
			still = classes(after)
		}
		for _, name := range classes(before) {
			if !slices.Contains(still, name) {
				out = append(out, reconcile.Request{Name: name})
			}
		}
		return out
	}
}
