package storagev1

import "github.com/keelson-dev/keelson/apimachinery/api/corev1"

func setIfNil[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

// DefaultStorageClass fills the unset fields of a class.
func DefaultStorageClass(c *StorageClass) {
	setIfNil(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	setIfNil(&c.VolumeBindingMode, VolumeBindingImmediate)
}

// DefaultCSIDriver fills the unset fields of a driver.
func DefaultCSIDriver(d *CSIDriver) {
	s := &d.Spec
	setIfNil(&s.AttachRequired, true)
	setIfNil(&s.PodInfoOnMount, false)
	setIfNil(&s.StorageCapacity, false)
	setIfNil(&s.FSGroupPolicy, ReadWriteOnceWithFSTypeFSGroupPolicy)
	setIfNil(&s.RequiresRepublish, false)
	setIfNil(&s.SELinuxMount, false)
	if len(s.VolumeLifecycleModes) == 0 {
		s.VolumeLifecycleModes = []VolumeLifecycleMode{VolumeLifecyclePersistent}
	}
}

// DefaultVolumeAttachment fills the unset fields of an inline volume.
func DefaultVolumeAttachment(a *VolumeAttachment) {
	if s := a.Spec.Source.InlineVolumeSpec; s != nil {
		corev1.DefaultPersistentVolumeSpec(s)
	}
}
