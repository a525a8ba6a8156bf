// Package storagev1 holds StorageClass, CSI and volume attachment kinds (storage.k8s.io/v1).
package storagev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

type CSIDriver struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              CSIDriverSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

type CSIDriverSpec struct {
	AttachRequired                     *bool                 `json:"attachRequired,omitempty" protobuf:"varint,1,opt,name=attachRequired"`
	PodInfoOnMount                     *bool                 `json:"podInfoOnMount,omitempty" protobuf:"varint,2,opt,name=podInfoOnMount"`
	VolumeLifecycleModes               []VolumeLifecycleMode `json:"volumeLifecycleModes,omitempty" listType:"set" protobuf:"bytes,3,rep,name=volumeLifecycleModes"`
	StorageCapacity                    *bool                 `json:"storageCapacity,omitempty" protobuf:"varint,4,opt,name=storageCapacity"`
	FSGroupPolicy                      *FSGroupPolicy        `json:"fsGroupPolicy,omitempty" protobuf:"bytes,5,opt,name=fsGroupPolicy"`
	TokenRequests                      []TokenRequest        `json:"tokenRequests,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tokenRequests"`
	RequiresRepublish                  *bool                 `json:"requiresRepublish,omitempty" protobuf:"varint,7,opt,name=requiresRepublish"`
	SELinuxMount                       *bool                 `json:"seLinuxMount,omitempty" protobuf:"varint,8,opt,name=seLinuxMount"`
	NodeAllocatableUpdatePeriodSeconds *int64                `json:"nodeAllocatableUpdatePeriodSeconds,omitempty" protobuf:"varint,9,opt,name=nodeAllocatableUpdatePeriodSeconds"`
	ServiceAccountTokenInSecrets       *bool                 `json:"serviceAccountTokenInSecrets,omitempty" protobuf:"varint,10,opt,name=serviceAccountTokenInSecrets"`
	PreventPodSchedulingIfMissing      *bool                 `json:"preventPodSchedulingIfMissing,omitempty" protobuf:"varint,11,opt,name=preventPodSchedulingIfMissing"`
}

type CSINode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              CSINodeSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

type CSINodeDriver struct {
	Name         string               `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	NodeID       string               `json:"nodeID" protobuf:"bytes,2,opt,name=nodeID" openapi:"required"`
	TopologyKeys []string             `json:"topologyKeys" listType:"atomic" protobuf:"bytes,3,rep,name=topologyKeys"`
	Allocatable  *VolumeNodeResources `json:"allocatable,omitempty" protobuf:"bytes,4,opt,name=allocatable"`
}

type CSINodeSpec struct {
	Drivers []CSINodeDriver `json:"drivers" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,1,rep,name=drivers" openapi:"required"`
}

type CSIStorageCapacity struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	NodeTopology      *metav1.LabelSelector `json:"nodeTopology,omitempty" protobuf:"bytes,2,opt,name=nodeTopology"`
	StorageClassName  string                `json:"storageClassName" protobuf:"bytes,3,opt,name=" openapi:"required"`
	Capacity          *resource.Quantity    `json:"capacity,omitempty" protobuf:"bytes,4,opt,name=capacity"`
	MaximumVolumeSize *resource.Quantity    `json:"maximumVolumeSize,omitempty" protobuf:"bytes,5,opt,name=maximumVolumeSize"`
}

type StorageClass struct {
	metav1.TypeMeta      `json:",inline"`
	metav1.ObjectMeta    `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Provisioner          string                                `json:"provisioner" protobuf:"bytes,2,opt,name=provisioner" openapi:"required"`
	Parameters           map[string]string                     `json:"parameters,omitempty" protobuf:"bytes,3,rep,name=parameters"`
	ReclaimPolicy        *corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy,omitempty" protobuf:"bytes,4,opt,name=reclaimPolicy" openapi:"enum=Delete|Recycle|Retain"`
	MountOptions         []string                              `json:"mountOptions,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=mountOptions"`
	AllowVolumeExpansion *bool                                 `json:"allowVolumeExpansion,omitempty" protobuf:"varint,6,opt,name=allowVolumeExpansion"`
	VolumeBindingMode    *VolumeBindingMode                    `json:"volumeBindingMode,omitempty" protobuf:"bytes,7,opt,name=volumeBindingMode" openapi:"enum=Immediate|WaitForFirstConsumer"`
	AllowedTopologies    []corev1.TopologySelectorTerm         `json:"allowedTopologies,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=allowedTopologies"`
}

type TokenRequest struct {
	Audience          string `json:"audience" protobuf:"bytes,1,opt,name=audience" openapi:"required"`
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty" protobuf:"varint,2,opt,name=expirationSeconds"`
}

type VolumeAttachment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              VolumeAttachmentSpec   `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	Status            VolumeAttachmentStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type VolumeAttachmentSource struct {
	PersistentVolumeName *string                      `json:"persistentVolumeName,omitempty" protobuf:"bytes,1,opt,name=persistentVolumeName"`
	InlineVolumeSpec     *corev1.PersistentVolumeSpec `json:"inlineVolumeSpec,omitempty" protobuf:"bytes,2,opt,name=inlineVolumeSpec"`
}

type VolumeAttachmentSpec struct {
	Attacher string                 `json:"attacher" protobuf:"bytes,1,opt,name=attacher" openapi:"required"`
	Source   VolumeAttachmentSource `json:"source" protobuf:"bytes,2,opt,name=source" openapi:"required"`
	NodeName string                 `json:"nodeName" protobuf:"bytes,3,opt,name=nodeName" openapi:"required"`
}

type VolumeAttachmentStatus struct {
	Attached           bool              `json:"attached" protobuf:"varint,1,opt,name=attached" openapi:"required"`
	AttachmentMetadata map[string]string `json:"attachmentMetadata,omitempty" protobuf:"bytes,2,rep,name=attachmentMetadata"`
	AttachError        *VolumeError      `json:"attachError,omitempty" protobuf:"bytes,3,opt,name=attachError"`
	DetachError        *VolumeError      `json:"detachError,omitempty" protobuf:"bytes,4,opt,name=detachError"`
}

type VolumeAttributesClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	DriverName        string            `json:"driverName" protobuf:"bytes,2,opt,name=driverName" openapi:"required"`
	Parameters        map[string]string `json:"parameters,omitempty" protobuf:"bytes,3,rep,name=parameters"`
}

type VolumeError struct {
	Time      metav1.Time `json:"time,omitempty" protobuf:"bytes,1,opt,name=time"`
	Message   string      `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	ErrorCode *int32      `json:"errorCode,omitempty" protobuf:"varint,3,opt,name=errorCode"`
}

type VolumeNodeResources struct {
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

type FSGroupPolicy string

// The values of FSGroupPolicy.
const (
	FileFSGroupPolicy                    FSGroupPolicy = "File"
	NoneFSGroupPolicy                    FSGroupPolicy = "None"
	ReadWriteOnceWithFSTypeFSGroupPolicy FSGroupPolicy = "ReadWriteOnceWithFSType"
)

type VolumeBindingMode string

// The values of VolumeBindingMode.
const (
	VolumeBindingImmediate            VolumeBindingMode = "Immediate"
	VolumeBindingWaitForFirstConsumer VolumeBindingMode = "WaitForFirstConsumer"
)

type VolumeLifecycleMode string

// The values of VolumeLifecycleMode.
const (
	VolumeLifecycleEphemeral  VolumeLifecycleMode = "Ephemeral"
	VolumeLifecyclePersistent VolumeLifecycleMode = "Persistent"
)
