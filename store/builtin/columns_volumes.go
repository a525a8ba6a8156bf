package builtin

import (
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/columns"
)

var claimTable = columns.Of(func(c *corev1.PersistentVolumeClaim, now time.Time) []any {
	phase := string(c.Status.Phase)
	if c.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	capacity, modes := "", ""
	if c.Spec.VolumeName != "" {
		size := c.Status.Capacity[corev1.ResourceStorage]
		capacity, modes = size.String(), accessModes(c.Status.AccessModes)
	}
	return []any{
		c.Name, phase, c.Spec.VolumeName, capacity, modes, storageClass(c, value(c.Spec.StorageClassName)),
		orElse(value(c.Spec.VolumeAttributesClassName), unset), columns.AgeOf(c, now), volumeMode(c.Spec.VolumeMode),
	}
}, columns.Name(), columns.Text("Status", "Pending, Bound, Lost or Terminating."), columns.Text("Volume", "Volume bound to the claim."),
	columns.Text("Capacity", "Size of the bound volume."), columns.Text("Access Modes", "Ways the bound volume can be mounted."),
	columns.Text("StorageClass", "Class of the claim."), columns.Text("VolumeAttributesClass", "Attributes class of the claim."),
	columns.Age(), columns.Wide(columns.Text("VolumeMode", "Filesystem or Block.")))

var volumeTable = columns.Of(func(v *corev1.PersistentVolume, now time.Time) []any {
	phase := string(v.Status.Phase)
	if v.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	claim := ""
	if ref := v.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	size := v.Spec.Capacity[corev1.ResourceStorage]
	return []any{
		v.Name, size.String(), accessModes(v.Spec.AccessModes), string(v.Spec.PersistentVolumeReclaimPolicy), phase, claim,
		storageClass(v, v.Spec.StorageClassName), orElse(value(v.Spec.VolumeAttributesClassName), unset),
		v.Status.Reason, columns.AgeOf(v, now), volumeMode(v.Spec.VolumeMode),
	}
}, columns.Name(), columns.Text("Capacity", "Size of the volume."), columns.Text("Access Modes", "Ways the volume can be mounted."),
	columns.Text("Reclaim Policy", "What happens to the volume when its claim is gone."), columns.Text("Status", "Pending, Available, Bound, Released, Failed or Terminating."),
	columns.Text("Claim", "Claim the volume is bound to."), columns.Text("StorageClass", "Class of the volume."),
	columns.Text("VolumeAttributesClass", "Attributes class of the volume."), columns.Text("Reason", "Why the volume is in its state."),
	columns.Age(), columns.Wide(columns.Text("VolumeMode", "Filesystem or Block.")))

func volumeMode(m *corev1.PersistentVolumeMode) string { return orElse(string(value(m)), unset) }

// storageClass prefers the annotation that named the class before the field existed.
func storageClass(obj metav1.Object, field string) string {
	if class, ok := obj.GetAnnotations()[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	return field
}

func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, m := range []struct {
		mode  corev1.PersistentVolumeAccessMode
		short string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"},
		{corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, m.mode) {
			short = append(short, m.short)
		}
	}
	return strings.Join(short, ",")
}

// marked appends (default) to the name of the class that an annotation makes the default one.
func marked(obj metav1.Object, annotations ...string) string {
	for _, a := range annotations {
		if obj.GetAnnotations()[a] == "true" {
			return obj.GetName() + " (default)"
		}
	}
	return obj.GetName()
}

var storageClassTable = columns.Of(func(c *storagev1.StorageClass, now time.Time) []any {
	reclaim, binding := "Delete", "Immediate"
	if c.ReclaimPolicy != nil {
		reclaim = string(*c.ReclaimPolicy)
	}
	if c.VolumeBindingMode != nil {
		binding = string(*c.VolumeBindingMode)
	}
	named := marked(c, "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
	return []any{named, c.Provisioner, reclaim, binding, value(c.AllowVolumeExpansion), columns.AgeOf(c, now)}
}, columns.Name(), columns.Text("Provisioner", "Who makes the volumes."), columns.Text("ReclaimPolicy", "What happens to a volume when its claim is gone."),
	columns.Text("VolumeBindingMode", "When a claim is bound."), columns.Text("AllowVolumeExpansion", "Whether volumes can grow."), columns.Age())

var attributesClassTable = columns.Of(func(c *storagev1.VolumeAttributesClass, now time.Time) []any {
	return []any{marked(c, "volumeattributesclass.alpha.kubernetes.io/is-default-class"), c.DriverName, columns.AgeOf(c, now)}
}, columns.Name(), columns.Text("DriverName", "Driver the attributes are for."), columns.Age())

var attachmentTable = columns.Of(func(a *storagev1.VolumeAttachment, now time.Time) []any {
	return []any{a.Name, a.Spec.Attacher, value(a.Spec.Source.PersistentVolumeName), a.Spec.NodeName, a.Status.Attached, columns.AgeOf(a, now)}
}, columns.Name(), attacher(), columns.Text("PV", "Volume to attach."), columns.Text("Node", "Node to attach to."), columns.Bool("Attached", "Whether it is attached."), columns.Age())

func attacher() metav1.TableColumnDefinition {
	c := columns.Text("Attacher", "Driver that attaches the volume.")
	c.Format = "name"
	return c
}

var csiNodeTable = columns.Of(func(n *storagev1.CSINode, now time.Time) []any {
	return []any{n.Name, int64(len(n.Spec.Drivers)), columns.AgeOf(n, now)}
}, columns.Name(), columns.Number("Drivers", "Number of drivers on the node."), columns.Age())

var csiDriverTable = columns.Of(func(d *storagev1.CSIDriver, now time.Time) []any {
	attach := d.Spec.AttachRequired == nil || *d.Spec.AttachRequired
	modes := make([]string, len(d.Spec.VolumeLifecycleModes))
	for i, m := range d.Spec.VolumeLifecycleModes {
		modes[i] = string(m)
	}
	audiences := make([]string, len(d.Spec.TokenRequests))
	for i, r := range d.Spec.TokenRequests {
		audiences[i] = r.Audience
	}
	tokens := unset
	if len(audiences) > 0 {
		tokens = strings.Join(audiences, ",")
	}
	return []any{
		d.Name, attach, value(d.Spec.PodInfoOnMount), value(d.Spec.StorageCapacity), tokens,
		value(d.Spec.RequiresRepublish), orElse(strings.Join(modes, ","), none), columns.AgeOf(d, now),
	}
}, columns.Name(), columns.Bool("AttachRequired", "Whether volumes are attached before they are mounted."),
	columns.Bool("PodInfoOnMount", "Whether the driver receives information about the pod."),
	columns.Bool("StorageCapacity", "Whether the scheduler looks at capacities."),
	columns.Text("TokenRequests", "Audiences of the tokens the driver gets."),
	columns.Bool("RequiresRepublish", "Whether volumes are published again from time to time."),
	columns.Text("Modes", "Lifecycles of volumes the driver supports."), columns.Age())
