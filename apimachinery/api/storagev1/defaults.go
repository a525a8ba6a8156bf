package storagev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"
)

// DefaultStorageClass fills the unset fields of a class.
func DefaultStorageClass(c *StorageClass) {
	defaults.IfNil(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	defaults.IfNil(&c.VolumeBindingMode, VolumeBindingImmediate)
}

// DefaultCSIDriver fills the unset fields of a driver.
func DefaultCSIDriver(d *CSIDriver) {
	s := &d.Spec
	defaults.IfNil(&s.AttachRequired, true)
	defaults.IfNil(&s.PodInfoOnMount, false)
	defaults.IfNil(&s.StorageCapacity, false)
	defaults.IfNil(&s.FSGroupPolicy, ReadWriteOnceWithFSTypeFSGroupPolicy)
	defaults.IfNil(&s.RequiresRepublish, false)
	defaults.IfNil(&s.SELinuxMount, false)
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
