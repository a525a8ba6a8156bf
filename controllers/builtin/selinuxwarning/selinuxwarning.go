// Package selinuxwarning reports pods that would use a volume with different SELinux labels, or with and
// without a label, of which at most one could run on a node where volumes are mounted with the label of their
// pod (KEP-1710). It writes events about both pods and changes nothing.
//
// Only volumes of CSI drivers whose CSIDriver has seLinuxMount can conflict, by claims; volumes of in-tree
// types that Kubernetes migrates to a CSI driver are not followed. The controller cannot read the defaults of
// the nodes, so a user, role or type that one of two labels lacks is not compared; the level is. It looks at
// all pods that have not ended, whether or not they may run on the same node.
package selinuxwarning

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

type warnings struct {
	pods     informers.Lister[*corev1.Pod]
	byClaim  informers.Index[*corev1.Pod]
	claims   informers.Lister[*corev1.PersistentVolumeClaim]
	volumes  informers.Lister[*corev1.PersistentVolume]
	byDriver informers.Index[*corev1.PersistentVolume]
	drivers  informers.Lister[*storagev1.CSIDriver]
	recorder *events.Recorder
	uses     *Conflicts
}

// byDriver files volumes under their CSI driver.
var byDriver = informers.DefineIndex("selinuxwarning.driver", func(v *corev1.PersistentVolume) []string {
	if v.Spec.CSI == nil {
		return nil
	}
	return []string{v.Spec.CSI.Driver}
})

// Options of the controller.
type Options struct {
	// Conflicts has those that the controller finds; nil if they are not read.
	Conflicts *Conflicts
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Conflicts == nil {
		opts.Conflicts = &Conflicts{}
	}
	set := m.Informers()
	pods, volumes := informers.For[*corev1.Pod](set), informers.For[*corev1.PersistentVolume](set)
	w := &warnings{pods: pods.Lister(), byClaim: pods.Index(podindex.ByClaim), claims: informers.For[*corev1.PersistentVolumeClaim](set).Lister(),
		volumes: volumes.Lister(), byDriver: volumes.Index(byDriver), drivers: informers.For[*storagev1.CSIDriver](set).Lister(),
		recorder: m.Recorder("selinux_warning"), uses: opts.Conflicts}
	// One at a time, so that of two pods that conflict the second one finds the first.
	_, err := controllers.Add(m, "selinux-warning", reconcile.Func(w.reconcile), controllers.Options{Options: controller.Options{Concurrency: 1}},
		controllers.For(startsOrEnds), controllers.Watches(w.ofClaim), controllers.Watches(w.ofVolume), controllers.Watches(w.ofDriver))
	return err
}

// startsOrEnds passes pods that are new or have ended; nothing else that matters can change.
func startsOrEnds(e informers.Event[*corev1.Pod]) bool {
	return e.Type != informers.Updated || e.Old().UID != e.New().UID || e.Old().HasEnded() != e.New().HasEnded()
}

// usersOf returns the pods that use a claim. A pod that cannot be read now is reconciled when it can.
func (w *warnings) usersOf(namespace, claim string) []reconcile.Request {
	keys, _ := w.byClaim.Keys(namespace + "/" + claim)
	return keys
}

func (w *warnings) ofClaim(e informers.Event[*corev1.PersistentVolumeClaim]) []reconcile.Request {
	if e.Type == informers.Deleted || e.New().Spec.VolumeName == "" ||
		e.Type == informers.Updated && e.Old().UID == e.New().UID && e.Old().Spec.VolumeName == e.New().Spec.VolumeName {
		return nil
	}
	return w.usersOf(e.Key.Namespace, e.Key.Name)
}

func (w *warnings) ofVolume(e informers.Event[*corev1.PersistentVolume]) []reconcile.Request {
	if e.Type == informers.Deleted || e.New().Spec.ClaimRef == nil {
		return nil
	}
	ref := e.New().Spec.ClaimRef
	if e.Type == informers.Updated && e.Old().Spec.ClaimRef != nil && e.Old().Spec.ClaimRef.UID == ref.UID {
		return nil
	}
	return w.usersOf(ref.Namespace, ref.Name)
}

// ofDriver returns the pods with volumes of a driver that begins or ends to mount with labels.
func (w *warnings) ofDriver(e informers.Event[*storagev1.CSIDriver]) (out []reconcile.Request) {
	if e.Type == informers.Updated && labelled(e.Old()) == labelled(e.New()) {
		return nil
	}
	_ = w.byDriver.View(e.Key.Name, func(v *corev1.PersistentVolume) bool {
		if ref := v.Spec.ClaimRef; ref != nil {
			out = append(out, w.usersOf(ref.Namespace, ref.Name)...)
		}
		return true
	})
	return out
}

func labelled(d *storagev1.CSIDriver) bool { return d.Spec.SELinuxMount != nil && *d.Spec.SELinuxMount }

func (w *warnings) reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod, err := w.pods.Get(req)
	if apierrors.IsNotFound(err) || err == nil && pod.HasEnded() {
		w.uses.remove(req)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		labels, mounted := labelsOf(pod, volume.Name)
		if !mounted {
			continue // it is not used as a filesystem
		}
		id, mounts, there, err := w.identify(pod, volume)
		if err != nil {
			return reconcile.Result{}, err
		}
		if !there {
			continue // its event starts another reconcile
		}
		if len(labels) > 1 {
			w.recorder.Eventf(pod, corev1.EventTypeWarning, "MultipleSELinuxLabels", "Volume %q is mounted twice with different SELinux labels inside this pod", volume.Name)
			continue
		}
		if id == "" {
			continue
		}
		for _, c := range w.uses.add(id, req, useOf(pod, labels, mounts)) {
			w.warn(c)
		}
	}
	return reconcile.Result{}, nil
}

// identify returns the name of a volume that is equal for all who use it, empty if it cannot conflict,
// whether its driver mounts with labels, and whether the volume is there: a claim may have none yet.
func (w *warnings) identify(pod *corev1.Pod, volume *corev1.Volume) (id string, mounts, there bool, err error) {
	name, ephemeral := pod.ClaimOf(volume)
	if name == "" {
		return "", false, true, nil
	}
	claim, err := w.claims.Get(types.NamespacedName{Namespace: pod.Namespace, Name: name})
	if err != nil || claim.Spec.VolumeName == "" || ephemeral && !metav1.IsControlledBy(claim, pod.UID) {
		return "", false, false, apierrors.IgnoreNotFound(err)
	}
	pv, err := w.volumes.Get(types.NamespacedName{Name: claim.Spec.VolumeName})
	if err != nil || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
		return "", false, false, apierrors.IgnoreNotFound(err)
	}
	if pv.Spec.CSI == nil {
		return "", false, true, nil
	}
	err = w.drivers.View(types.NamespacedName{Name: pv.Spec.CSI.Driver}, func(d *storagev1.CSIDriver) { mounts = labelled(d) })
	return pv.Spec.CSI.Driver + "^" + pv.Spec.CSI.VolumeHandle, mounts, true, apierrors.IgnoreNotFound(err)
}

// warn writes an event about one pod of a conflict, if it still exists.
func (w *warnings) warn(c Conflict) {
	value, other := `"`+c.Value+`"`, `"`+c.OtherValue+`"`
	// In other namespaces nothing is said of the pod. kube-controller-manager writes no space there.
	text := c.Property + value + " conflicts with another pod that uses the same volume as this pod with a different " + c.Property
	if c.Pod.Namespace == c.Other.Namespace {
		text = c.Property + " " + value + " conflicts with pod " + c.Other.Name + " that uses the same volume as this pod with " + c.Property + " " + other
	}
	// Without the pod there is nothing to report.
	_ = w.pods.View(c.Pod, func(p *corev1.Pod) {
		w.recorder.Eventf(p, corev1.EventTypeNormal, c.Property+"Conflict", "%s", text+". If both pods land on the same node, only one of them may access the volume.")
	})
}
