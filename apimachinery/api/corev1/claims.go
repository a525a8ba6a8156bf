package corev1

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// StorageClass returns the storage class of a claim, empty for none. The annotation that named it before the
// field existed has precedence.
func (c *PersistentVolumeClaim) StorageClass() string {
	if class, ok := c.Annotations[BetaStorageClassAnnotation]; ok {
		return class
	}
	if c.Spec.StorageClassName != nil {
		return *c.Spec.StorageClassName
	}
	return ""
}

// ClaimOf returns the name of the PersistentVolumeClaim of one of the pod's volumes, empty if it has none.
// ephemeral is true for a claim that is made for the pod.
func (p *Pod) ClaimOf(v *Volume) (name string, ephemeral bool) {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName, false
	case v.Ephemeral != nil:
		return p.Name + "-" + v.Name, true
	}
	return "", false
}

// VolumeClaims returns the keys of the PersistentVolumeClaims of the pod's volumes, in their order, those
// made for the pod included.
func (p *Pod) VolumeClaims() []types.NamespacedName {
	var out []types.NamespacedName
	for i := range p.Spec.Volumes {
		if name, _ := p.ClaimOf(&p.Spec.Volumes[i]); name != "" {
			out = append(out, types.NamespacedName{Namespace: p.Namespace, Name: name})
		}
	}
	return out
}

// AttributesClasses returns the names of the VolumeAttributesClasses of a claim, each once: the wanted one,
// the current one and that to which the volume is being changed.
func (c *PersistentVolumeClaim) AttributesClasses() []string {
	var all []string
	add := func(name *string) {
		if name != nil && *name != "" && !slices.Contains(all, *name) {
			all = append(all, *name)
		}
	}
	add(c.Spec.VolumeAttributesClassName)
	add(c.Status.CurrentVolumeAttributesClassName)
	if m := c.Status.ModifyVolumeStatus; m != nil {
		add(&m.TargetVolumeAttributesClassName)
	}
	return all
}
