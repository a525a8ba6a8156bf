// Package storagev1 holds StorageClass, CSI and volume attachment kinds (storage.k8s.io/v1).
package storagev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// CSIDriver describes a storage driver; its name is the driver's.
type CSIDriver struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What the driver needs.
	Spec CSIDriverSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// CSIDriverSpec is what a driver needs.
type CSIDriverSpec struct {
	// Whether volumes must be attached to nodes; true unless set, and fixed.
	AttachRequired *bool `json:"attachRequired,omitempty" protobuf:"varint,1,opt,name=attachRequired"`
	// Pass name and namespace of the pod when mounting.
	PodInfoOnMount *bool `json:"podInfoOnMount,omitempty" protobuf:"varint,2,opt,name=podInfoOnMount"`
	// Persistent (the default), Ephemeral, or both; fixed.
	VolumeLifecycleModes []VolumeLifecycleMode `json:"volumeLifecycleModes,omitempty" listType:"set" protobuf:"bytes,3,rep,name=volumeLifecycleModes"`
	// Whether the scheduler looks at the capacity the driver reports.
	StorageCapacity *bool `json:"storageCapacity,omitempty" protobuf:"varint,4,opt,name=storageCapacity"`
	// Whether ownership of volumes can be set: ReadWriteOnceWithFSType (the default), File or None.
	FSGroupPolicy *FSGroupPolicy `json:"fsGroupPolicy,omitempty" protobuf:"bytes,5,opt,name=fsGroupPolicy"`
	// Tokens of the pod's account passed when mounting.
	TokenRequests []TokenRequest `json:"tokenRequests,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tokenRequests"`
	// Call the mount again from time to time.
	RequiresRepublish *bool `json:"requiresRepublish,omitempty" protobuf:"varint,7,opt,name=requiresRepublish"`
	// Whether the driver can mount with an SELinux label.
	SELinuxMount *bool `json:"seLinuxMount,omitempty" protobuf:"varint,8,opt,name=seLinuxMount"`
	// How often nodes ask how many volumes they can have; at least 10.
	NodeAllocatableUpdatePeriodSeconds *int64 `json:"nodeAllocatableUpdatePeriodSeconds,omitempty" protobuf:"varint,9,opt,name=nodeAllocatableUpdatePeriodSeconds"`
	// Pass the tokens as secrets instead of among the attributes.
	ServiceAccountTokenInSecrets *bool `json:"serviceAccountTokenInSecrets,omitempty" protobuf:"varint,10,opt,name=serviceAccountTokenInSecrets"`
	// Keep pods off nodes that do not have the driver.
	PreventPodSchedulingIfMissing *bool `json:"preventPodSchedulingIfMissing,omitempty" protobuf:"varint,11,opt,name=preventPodSchedulingIfMissing"`
}

// CSINode is what drivers a node has.
type CSINode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Drivers on the node.
	Spec CSINodeSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// CSINodeDriver is a driver on a node.
type CSINodeDriver struct {
	// Name of the driver.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// The driver's own name of the node.
	NodeID string `json:"nodeID" protobuf:"bytes,2,opt,name=nodeID" openapi:"required"`
	// Node labels that say where the node is for the driver.
	TopologyKeys []string `json:"topologyKeys" listType:"atomic" protobuf:"bytes,3,rep,name=topologyKeys"`
	// How many volumes the node can have.
	Allocatable *VolumeNodeResources `json:"allocatable,omitempty" protobuf:"bytes,4,opt,name=allocatable"`
}

// CSINodeSpec is the drivers of a node.
type CSINodeSpec struct {
	// One entry per driver registered on the node.
	Drivers []CSINodeDriver `json:"drivers" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,1,rep,name=drivers" openapi:"required"`
}

// CSIStorageCapacity is how much storage a driver has in a place.
type CSIStorageCapacity struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Nodes that can reach it; none unless set.
	NodeTopology *metav1.LabelSelector `json:"nodeTopology,omitempty" protobuf:"bytes,2,opt,name=nodeTopology"`
	// Class it is about; cannot change.
	StorageClassName string `json:"storageClassName" protobuf:"bytes,3,opt,name=" openapi:"required"`
	// What is left for new volumes, in bytes; unknown unless set.
	Capacity *resource.Quantity `json:"capacity,omitempty" protobuf:"bytes,4,opt,name=capacity"`
	// The largest volume.
	MaximumVolumeSize *resource.Quantity `json:"maximumVolumeSize,omitempty" protobuf:"bytes,5,opt,name=maximumVolumeSize"`
}

// StorageClass describes a kind of storage and who makes volumes of it.
type StorageClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Who makes the volumes; cannot change.
	Provisioner string `json:"provisioner" protobuf:"bytes,2,opt,name=provisioner" openapi:"required"`
	// Settings for it; cannot change.
	Parameters map[string]string `json:"parameters,omitempty" protobuf:"bytes,3,rep,name=parameters"`
	// What becomes of volumes whose claim is gone: Delete (the default) or Retain.
	ReclaimPolicy *corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy,omitempty" protobuf:"bytes,4,opt,name=reclaimPolicy" openapi:"enum=Delete|Recycle|Retain"`
	// Options for mounting the volumes.
	MountOptions []string `json:"mountOptions,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=mountOptions"`
	// Whether claims can grow.
	AllowVolumeExpansion *bool `json:"allowVolumeExpansion,omitempty" protobuf:"varint,6,opt,name=allowVolumeExpansion"`
	// Immediate (the default), or WaitForFirstConsumer to choose a place near the pod.
	VolumeBindingMode *VolumeBindingMode `json:"volumeBindingMode,omitempty" protobuf:"bytes,7,opt,name=volumeBindingMode" openapi:"enum=Immediate|WaitForFirstConsumer"`
	// Where volumes may be made; anywhere unless set.
	AllowedTopologies []corev1.TopologySelectorTerm `json:"allowedTopologies,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=allowedTopologies"`
}

// TokenRequest is a token that a driver gets.
type TokenRequest struct {
	// Who it is for; the API server if empty.
	Audience string `json:"audience" protobuf:"bytes,1,opt,name=audience" openapi:"required"`
	// How long it is valid; at least 600.
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty" protobuf:"varint,2,opt,name=expirationSeconds"`
}

// VolumeAttachment asks to attach a volume to a node.
type VolumeAttachment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which volume, which node.
	Spec VolumeAttachmentSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Whether it is attached; written by the driver's side.
	Status VolumeAttachmentStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VolumeAttachmentSource is a volume; one of its fields is set.
type VolumeAttachmentSource struct {
	// Name of the volume.
	PersistentVolumeName *string `json:"persistentVolumeName,omitempty" protobuf:"bytes,1,opt,name=persistentVolumeName"`
	// The volume itself.
	InlineVolumeSpec *corev1.PersistentVolumeSpec `json:"inlineVolumeSpec,omitempty" protobuf:"bytes,2,opt,name=inlineVolumeSpec"`
}

// VolumeAttachmentSpec is what to attach where; it cannot change.
type VolumeAttachmentSpec struct {
	// Name of the driver.
	Attacher string `json:"attacher" protobuf:"bytes,1,opt,name=attacher" openapi:"required"`
	// Volume to attach.
	Source VolumeAttachmentSource `json:"source" protobuf:"bytes,2,opt,name=source" openapi:"required"`
	// Node to attach it to.
	NodeName string `json:"nodeName" protobuf:"bytes,3,opt,name=nodeName" openapi:"required"`
}

// VolumeAttachmentStatus is whether a volume is attached.
type VolumeAttachmentStatus struct {
	// The volume is attached to the node.
	Attached bool `json:"attached" protobuf:"varint,1,opt,name=attached" openapi:"required"`
	// What the driver said, for mounting.
	AttachmentMetadata map[string]string `json:"attachmentMetadata,omitempty" protobuf:"bytes,2,rep,name=attachmentMetadata"`
	// The last error of attaching.
	AttachError *VolumeError `json:"attachError,omitempty" protobuf:"bytes,3,opt,name=attachError"`
	// The last error of detaching.
	DetachError *VolumeError `json:"detachError,omitempty" protobuf:"bytes,4,opt,name=detachError"`
}

// VolumeAttributesClass describes attributes of volumes that can be changed.
type VolumeAttributesClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Driver it is for; cannot change.
	DriverName string `json:"driverName" protobuf:"bytes,2,opt,name=driverName" openapi:"required"`
	// The attributes; cannot change.
	Parameters map[string]string `json:"parameters,omitempty" protobuf:"bytes,3,rep,name=parameters"`
}

// VolumeError is what went wrong with a volume.
type VolumeError struct {
	// When it happened.
	Time metav1.Time `json:"time,omitempty" protobuf:"bytes,1,opt,name=time"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// gRPC code of the driver's answer.
	ErrorCode *int32 `json:"errorCode,omitempty" protobuf:"varint,3,opt,name=errorCode"`
}

// VolumeNodeResources is how many volumes of a driver a node can have.
type VolumeNodeResources struct {
	// Volumes that can be attached at once; as many as one likes unless set, none at 0.
	Count *int32 `json:"count,omitempty" protobuf:"varint,1,opt,name=count"`
}

// CSIDriverList is a list of CSIDriver objects.
type CSIDriverList = metav1.List[*CSIDriver]

// CSINodeList is a list of CSINode objects.
type CSINodeList = metav1.List[*CSINode]

// CSIStorageCapacityList is a list of CSIStorageCapacity objects.
type CSIStorageCapacityList = metav1.List[*CSIStorageCapacity]

// StorageClassList is a list of StorageClass objects.
type StorageClassList = metav1.List[*StorageClass]

// VolumeAttachmentList is a list of VolumeAttachment objects.
type VolumeAttachmentList = metav1.List[*VolumeAttachment]

// VolumeAttributesClassList is a list of VolumeAttributesClass objects.
type VolumeAttributesClassList = metav1.List[*VolumeAttributesClass]

// FSGroupPolicy is what CSIDriverSpec.FSGroupPolicy can be.
type FSGroupPolicy string

// The values of FSGroupPolicy.
const (
	FileFSGroupPolicy                    FSGroupPolicy = "File"
	NoneFSGroupPolicy                    FSGroupPolicy = "None"
	ReadWriteOnceWithFSTypeFSGroupPolicy FSGroupPolicy = "ReadWriteOnceWithFSType"
)

// VolumeBindingMode is what StorageClass.VolumeBindingMode can be.
type VolumeBindingMode string

// The values of VolumeBindingMode.
const (
	VolumeBindingImmediate            VolumeBindingMode = "Immediate"
	VolumeBindingWaitForFirstConsumer VolumeBindingMode = "WaitForFirstConsumer"
)

// VolumeLifecycleMode is what CSIDriverSpec.VolumeLifecycleModes can be.
type VolumeLifecycleMode string

// The values of VolumeLifecycleMode.
const (
	VolumeLifecycleEphemeral  VolumeLifecycleMode = "Ephemeral"
	VolumeLifecyclePersistent VolumeLifecycleMode = "Persistent"
)
