// Package storagev1 holds StorageClass, CSI and volume attachment kinds (storage.k8s.io/v1).
package storagev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// CSIDriver describes a CSI volume driver; its name is that of the driver.
type CSIDriver struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Capabilities and requirements of the driver.
	Spec CSIDriverSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// CSIDriverSpec describes the capabilities and requirements of a driver.
type CSIDriverSpec struct {
	// Whether volumes must be attached to a node before they are mounted; defaults to true. Cannot be
	// changed.
	AttachRequired *bool `json:"attachRequired,omitempty" protobuf:"varint,1,opt,name=attachRequired"`
	// Whether information on the pod, such as its name and namespace, is passed to the driver when a volume
	// is mounted.
	PodInfoOnMount *bool `json:"podInfoOnMount,omitempty" protobuf:"varint,2,opt,name=podInfoOnMount"`
	// Kinds of volumes that the driver supports: Persistent (the default), Ephemeral or both. Cannot be
	// changed.
	VolumeLifecycleModes []VolumeLifecycleMode `json:"volumeLifecycleModes,omitempty" listType:"set" protobuf:"bytes,3,rep,name=volumeLifecycleModes"`
	// Whether the scheduler considers the storage capacity that the driver reports in CSIStorageCapacity
	// objects.
	StorageCapacity *bool `json:"storageCapacity,omitempty" protobuf:"varint,4,opt,name=storageCapacity"`
	// Whether ownership and permissions of volumes are changed to match fsGroup: ReadWriteOnceWithFSType (the
	// default), File or None.
	FSGroupPolicy *FSGroupPolicy `json:"fsGroupPolicy,omitempty" protobuf:"bytes,5,opt,name=fsGroupPolicy"`
	// Service account tokens of the pod that are passed to the driver when a volume is mounted.
	TokenRequests []TokenRequest `json:"tokenRequests,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tokenRequests"`
	// Whether the driver is called periodically for mounted volumes, to refresh their contents.
	RequiresRepublish *bool `json:"requiresRepublish,omitempty" protobuf:"varint,7,opt,name=requiresRepublish"`
	// Whether the driver supports mounting volumes with an SELinux label as mount option.
	SELinuxMount *bool `json:"seLinuxMount,omitempty" protobuf:"varint,8,opt,name=seLinuxMount"`
	// Interval in seconds at which the number of attachable volumes per node is updated, also after an
	// attachment failed for lack of capacity; at least 10. Never updated if unset.
	NodeAllocatableUpdatePeriodSeconds *int64 `json:"nodeAllocatableUpdatePeriodSeconds,omitempty" protobuf:"varint,9,opt,name=nodeAllocatableUpdatePeriodSeconds"`
	// Pass the service account tokens in the secrets field of the call instead of the volume context.
	// Requires tokenRequests.
	ServiceAccountTokenInSecrets *bool `json:"serviceAccountTokenInSecrets,omitempty" protobuf:"varint,10,opt,name=serviceAccountTokenInSecrets"`
	// Whether pods that use the driver are scheduled only to nodes where it is registered.
	PreventPodSchedulingIfMissing *bool `json:"preventPodSchedulingIfMissing,omitempty" protobuf:"varint,11,opt,name=preventPodSchedulingIfMissing"`
}

// CSINode describes the CSI drivers installed on a node; its name is that of the node.
type CSINode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Drivers installed on the node.
	Spec CSINodeSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// CSINodeDriver describes a CSI driver installed on a node.
type CSINodeDriver struct {
	// Name of the driver.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// ID of the node from the driver's point of view.
	NodeID string `json:"nodeID" protobuf:"bytes,2,opt,name=nodeID" openapi:"required"`
	// Keys of the node labels that describe the topology the driver supports.
	TopologyKeys []string `json:"topologyKeys" listType:"atomic" protobuf:"bytes,3,rep,name=topologyKeys"`
	// Volume resources of the node that are available to the driver.
	Allocatable *VolumeNodeResources `json:"allocatable,omitempty" protobuf:"bytes,4,opt,name=allocatable"`
}

// CSINodeSpec lists the CSI drivers installed on a node.
type CSINodeSpec struct {
	// Drivers registered with the kubelet of the node.
	Drivers []CSINodeDriver `json:"drivers" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,1,rep,name=drivers" openapi:"required"`
}

// CSIStorageCapacity reports the capacity available to a storage class in one topology segment.
type CSIStorageCapacity struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Selects the nodes that have access to the storage; no nodes if unset, all nodes if empty. Cannot be
	// changed.
	NodeTopology *metav1.LabelSelector `json:"nodeTopology,omitempty" protobuf:"bytes,2,opt,name=nodeTopology"`
	// Name of the storage class that the capacity is reported for. Cannot be changed.
	StorageClassName string `json:"storageClassName" protobuf:"bytes,3,opt,name=" openapi:"required"`
	// Available capacity in bytes; unknown if unset.
	Capacity *resource.Quantity `json:"capacity,omitempty" protobuf:"bytes,4,opt,name=capacity"`
	// Largest size of a volume that can be created, in bytes; unknown if unset.
	MaximumVolumeSize *resource.Quantity `json:"maximumVolumeSize,omitempty" protobuf:"bytes,5,opt,name=maximumVolumeSize"`
}

// StorageClass describes a class of storage and how its volumes are provisioned.
type StorageClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Name of the provisioner that creates the volumes. Cannot be changed.
	Provisioner string `json:"provisioner" protobuf:"bytes,2,opt,name=provisioner" openapi:"required"`
	// Parameters for the provisioner. Cannot be changed.
	Parameters map[string]string `json:"parameters,omitempty" protobuf:"bytes,3,rep,name=parameters"`
	// What happens to a dynamically provisioned volume when its claim is deleted: Delete (the default) or
	// Retain. Cannot be changed.
	ReclaimPolicy *corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy,omitempty" protobuf:"bytes,4,opt,name=reclaimPolicy" openapi:"enum=Delete|Recycle|Retain"`
	// Mount options of the volumes.
	MountOptions []string `json:"mountOptions,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=mountOptions"`
	// Whether claims of the class can be expanded.
	AllowVolumeExpansion *bool `json:"allowVolumeExpansion,omitempty" protobuf:"varint,6,opt,name=allowVolumeExpansion"`
	// When claims are bound and provisioned: Immediate (the default), or WaitForFirstConsumer when a pod that
	// uses the claim is scheduled. Cannot be changed.
	VolumeBindingMode *VolumeBindingMode `json:"volumeBindingMode,omitempty" protobuf:"bytes,7,opt,name=volumeBindingMode" openapi:"enum=Immediate|WaitForFirstConsumer"`
	// Topologies in which volumes may be provisioned; any if empty.
	AllowedTopologies []corev1.TopologySelectorTerm `json:"allowedTopologies,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=allowedTopologies"`
}

// TokenRequest describes a service account token that a driver receives.
type TokenRequest struct {
	// Audience of the token; that of the API server if empty.
	Audience string `json:"audience" protobuf:"bytes,1,opt,name=audience" openapi:"required"`
	// Lifetime of the token in seconds; at least 600, defaults to 3600.
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty" protobuf:"varint,2,opt,name=expirationSeconds"`
}

// VolumeAttachment represents the intent to attach a volume to a node, or detach it.
type VolumeAttachment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Volume, driver and node. Cannot be changed.
	Spec VolumeAttachmentSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Observed state of the attachment; populated by the driver.
	Status VolumeAttachmentStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VolumeAttachmentSource identifies the volume to attach; exactly one of its fields is set.
type VolumeAttachmentSource struct {
	// Name of the persistent volume.
	PersistentVolumeName *string `json:"persistentVolumeName,omitempty" protobuf:"bytes,1,opt,name=persistentVolumeName"`
	// Specification of a volume that a pod defines inline, used while migrating from in-tree drivers to CSI.
	InlineVolumeSpec *corev1.PersistentVolumeSpec `json:"inlineVolumeSpec,omitempty" protobuf:"bytes,2,opt,name=inlineVolumeSpec"`
}

// VolumeAttachmentSpec describes an attachment; it cannot be changed.
type VolumeAttachmentSpec struct {
	// Name of the driver that handles the attachment.
	Attacher string `json:"attacher" protobuf:"bytes,1,opt,name=attacher" openapi:"required"`
	// Volume to attach.
	Source VolumeAttachmentSource `json:"source" protobuf:"bytes,2,opt,name=source" openapi:"required"`
	// Name of the node to attach the volume to.
	NodeName string `json:"nodeName" protobuf:"bytes,3,opt,name=nodeName" openapi:"required"`
}

// VolumeAttachmentStatus is the observed state of an attachment.
type VolumeAttachmentStatus struct {
	// Whether the volume is attached to the node.
	Attached bool `json:"attached" protobuf:"varint,1,opt,name=attached" openapi:"required"`
	// Information returned by the driver when attaching, passed on when mounting.
	AttachmentMetadata map[string]string `json:"attachmentMetadata,omitempty" protobuf:"bytes,2,rep,name=attachmentMetadata"`
	// Last error while attaching.
	AttachError *VolumeError `json:"attachError,omitempty" protobuf:"bytes,3,opt,name=attachError"`
	// Last error while detaching.
	DetachError *VolumeError `json:"detachError,omitempty" protobuf:"bytes,4,opt,name=detachError"`
}

// VolumeAttributesClass describes volume attributes that can be changed while the volume is in use.
type VolumeAttributesClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Name of the CSI driver that the class applies to. Cannot be changed.
	DriverName string `json:"driverName" protobuf:"bytes,2,opt,name=driverName" openapi:"required"`
	// Attributes of the volumes, defined by the driver. Cannot be changed.
	Parameters map[string]string `json:"parameters,omitempty" protobuf:"bytes,3,rep,name=parameters"`
}

// VolumeError describes an error of a volume operation.
type VolumeError struct {
	// When the error occurred.
	Time metav1.Time `json:"time,omitempty" protobuf:"bytes,1,opt,name=time"`
	// Human-readable description of the error.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// gRPC status code returned by the driver.
	ErrorCode *int32 `json:"errorCode,omitempty" protobuf:"varint,3,opt,name=errorCode"`
}

// VolumeNodeResources describes the volume resources of a node for one driver.
type VolumeNodeResources struct {
	// Maximum number of volumes of the driver that can be attached to the node at the same time; not limited
	// if unset.
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

// FSGroupPolicy enumerates the values of CSIDriverSpec.FSGroupPolicy.
type FSGroupPolicy string

const (
	FileFSGroupPolicy                    FSGroupPolicy = "File"
	NoneFSGroupPolicy                    FSGroupPolicy = "None"
	ReadWriteOnceWithFSTypeFSGroupPolicy FSGroupPolicy = "ReadWriteOnceWithFSType"
)

// VolumeBindingMode enumerates the values of StorageClass.VolumeBindingMode.
type VolumeBindingMode string

const (
	VolumeBindingImmediate            VolumeBindingMode = "Immediate"
	VolumeBindingWaitForFirstConsumer VolumeBindingMode = "WaitForFirstConsumer"
)

// VolumeLifecycleMode enumerates the values of CSIDriverSpec.VolumeLifecycleModes.
type VolumeLifecycleMode string

const (
	VolumeLifecycleEphemeral  VolumeLifecycleMode = "Ephemeral"
	VolumeLifecyclePersistent VolumeLifecycleMode = "Persistent"
)
