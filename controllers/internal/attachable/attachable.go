// Package attachable names the volumes without CSI drivers that are attached to nodes. Nothing is done at the
// storage to attach one: the status of a node that has a volume keeps it from other nodes, if its access
// modes allow one only. Its tests are those of attachdetach and the kubelet.
package attachable

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Inline returns the name in the status of nodes of a volume that is part of a pod; empty if it is not
// attached to nodes.
func Inline(v *corev1.VolumeSource) corev1.UniqueVolumeName {
	switch {
	case v.ISCSI != nil:
		return ISCSI(v.ISCSI.TargetPortal, v.ISCSI.IQN, v.ISCSI.Lun)
	case v.FC != nil:
		return FC(v.FC)
	}
	return ""
}

// Persistent returns the name in the status of nodes of a PersistentVolume; empty if it is not attached to
// nodes, or has a CSI driver.
func Persistent(v *corev1.PersistentVolumeSource) corev1.UniqueVolumeName {
	switch {
	case v.ISCSI != nil:
		return ISCSI(v.ISCSI.TargetPortal, v.ISCSI.IQN, v.ISCSI.Lun)
	case v.FC != nil:
		return FC(v.FC)
	}
	return ""
}

// ISCSI returns the name of a disk of an iSCSI target.
func ISCSI(portal, iqn string, lun int32) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName(fmt.Sprintf("kubernetes.io/iscsi/%s:%s:%d", portal, iqn, lun))
}

// FC returns the name of a disk that is reached over Fibre Channel; empty if nothing identifies it.
func FC(v *corev1.FCVolumeSource) corev1.UniqueVolumeName {
	switch {
	case len(v.TargetWWNs) > 0 && v.Lun != nil:
		return corev1.UniqueVolumeName(fmt.Sprintf("kubernetes.io/fc/%v:%d", v.TargetWWNs, *v.Lun))
	case len(v.WWIDs) > 0:
		return corev1.UniqueVolumeName(fmt.Sprintf("kubernetes.io/fc/%v", v.WWIDs))
	}
	return ""
}

// Named reports whether a name in the status of a node is one of this package.
func Named(name corev1.UniqueVolumeName) bool {
	return strings.HasPrefix(string(name), "kubernetes.io/iscsi/") || strings.HasPrefix(string(name), "kubernetes.io/fc/")
}
