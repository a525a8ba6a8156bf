package corev1

import "slices"

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
