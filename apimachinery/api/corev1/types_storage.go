package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ModifyVolumeStatus is the status of a modification of a volume.
type ModifyVolumeStatus struct {
	// Name of the volume attributes class that is being applied.
	TargetVolumeAttributesClassName string `json:"targetVolumeAttributesClassName,omitempty" protobuf:"bytes,1,opt,name=targetVolumeAttributesClassName"`
	// Status of the modification: Pending, InProgress or Infeasible.
	Status PersistentVolumeClaimModifyVolumeStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required,enum=InProgress|Infeasible|Pending"`
}

// PersistentVolume is a piece of storage that claims can be bound to; it is cluster-scoped.
type PersistentVolume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Properties of the volume.
	Spec PersistentVolumeSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status PersistentVolumeStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PersistentVolumeClaim requests storage and represents the volume it is bound to.
type PersistentVolumeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Requested properties of the volume.
	Spec PersistentVolumeClaimSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status PersistentVolumeClaimStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PersistentVolumeClaimCondition describes one aspect of the state of a claim.
type PersistentVolumeClaimCondition struct {
	// Type of the condition, a CamelCase name.
	Type PersistentVolumeClaimConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time the condition was last checked.
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// PersistentVolumeClaimSpec describes the requested volume.
type PersistentVolumeClaimSpec struct {
	// Access modes that the volume must support: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or
	// ReadWriteOncePod.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=accessModes"`
	// Label selector of volumes to consider; prevents dynamic provisioning.
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,4,opt,name=selector"`
	// Required storage. requests.storage can be increased if the storage class allows expansion.
	Resources VolumeResourceRequirements `json:"resources,omitempty" protobuf:"bytes,2,opt,name=resources"`
	// Name of the volume the claim is bound to, or is to be bound to.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,3,opt,name=volumeName"`
	// Name of the required storage class; the default class if unset. The empty string requests a volume
	// without a class.
	StorageClassName *string `json:"storageClassName,omitempty" protobuf:"bytes,5,opt,name=storageClassName"`
	// Whether the volume is used as a file system or a block device: Filesystem (the default) or Block.
	VolumeMode *PersistentVolumeMode `json:"volumeMode,omitempty" protobuf:"bytes,6,opt,name=volumeMode" openapi:"enum=Block|Filesystem"`
	// Claim or volume snapshot, in the same namespace, to populate the volume from.
	DataSource *TypedLocalObjectReference `json:"dataSource,omitempty" protobuf:"bytes,7,opt,name=dataSource"`
	// Object of any supported kind to populate the volume from; in another namespace only if a ReferenceGrant
	// there allows it.
	DataSourceRef *TypedObjectReference `json:"dataSourceRef,omitempty" protobuf:"bytes,8,opt,name=dataSourceRef"`
	// Name of the volume attributes class to apply; can be changed after creation.
	VolumeAttributesClassName *string `json:"volumeAttributesClassName,omitempty" protobuf:"bytes,9,opt,name=volumeAttributesClassName"`
}

// PersistentVolumeClaimStatus is the observed state of a claim.
type PersistentVolumeClaimStatus struct {
	// Phase of the claim: Pending, Bound or Lost.
	Phase PersistentVolumeClaimPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase" openapi:"enum=Bound|Lost|Pending"`
	// Access modes of the volume.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=accessModes"`
	// Actual resources of the volume.
	Capacity ResourceList `json:"capacity,omitempty" protobuf:"bytes,3,rep,name=capacity"`
	// Conditions of the claim, such as Resizing.
	Conditions []PersistentVolumeClaimCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	// Resources allocated to the claim, which may exceed capacity while the volume is being expanded.
	AllocatedResources ResourceList `json:"allocatedResources,omitempty" protobuf:"bytes,5,rep,name=allocatedResources"`
	// Status of the expansion of each resource.
	AllocatedResourceStatuses map[ResourceName]ClaimResourceStatus `json:"allocatedResourceStatuses,omitempty" mapType:"granular" protobuf:"bytes,7,rep,name=allocatedResourceStatuses"`
	// Name of the volume attributes class in effect.
	CurrentVolumeAttributesClassName *string `json:"currentVolumeAttributesClassName,omitempty" protobuf:"bytes,8,opt,name=currentVolumeAttributesClassName"`
	// Status of the modification to another volume attributes class.
	ModifyVolumeStatus *ModifyVolumeStatus `json:"modifyVolumeStatus,omitempty" protobuf:"bytes,9,opt,name=modifyVolumeStatus"`
}

// PersistentVolumeClaimTemplate is the template of a claim that is created for a pod.
type PersistentVolumeClaimTemplate struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Requested properties of the volume.
	Spec PersistentVolumeClaimSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// PersistentVolumeSource is the location of a persistent volume; exactly one of its fields is set.
type PersistentVolumeSource struct {
	// Disk of Google Compute Engine. Deprecated; use csi.
	GCEPersistentDisk *GCEPersistentDiskVolumeSource `json:"gcePersistentDisk,omitempty" protobuf:"bytes,1,opt,name=gcePersistentDisk"`
	// Disk of Amazon Elastic Block Store. Deprecated; use csi.
	AWSElasticBlockStore *AWSElasticBlockStoreVolumeSource `json:"awsElasticBlockStore,omitempty" protobuf:"bytes,2,opt,name=awsElasticBlockStore"`
	// Directory of the node; only for tests on a single node.
	HostPath *HostPathVolumeSource `json:"hostPath,omitempty" protobuf:"bytes,3,opt,name=hostPath"`
	// GlusterFS volume. No longer supported by nodes.
	Glusterfs *GlusterfsPersistentVolumeSource `json:"glusterfs,omitempty" protobuf:"bytes,4,opt,name=glusterfs"`
	// Directory exported by an NFS server.
	NFS *NFSVolumeSource `json:"nfs,omitempty" protobuf:"bytes,5,opt,name=nfs"`
	// Ceph block device. No longer supported by nodes.
	RBD *RBDPersistentVolumeSource `json:"rbd,omitempty" protobuf:"bytes,6,opt,name=rbd"`
	// iSCSI disk.
	ISCSI *ISCSIPersistentVolumeSource `json:"iscsi,omitempty" protobuf:"bytes,7,opt,name=iscsi"`
	// OpenStack Cinder disk. Deprecated; use csi.
	Cinder *CinderPersistentVolumeSource `json:"cinder,omitempty" protobuf:"bytes,8,opt,name=cinder"`
	// Ceph file system. No longer supported by nodes.
	CephFS *CephFSPersistentVolumeSource `json:"cephfs,omitempty" protobuf:"bytes,9,opt,name=cephfs"`
	// Fibre Channel volume.
	FC *FCVolumeSource `json:"fc,omitempty" protobuf:"bytes,10,opt,name=fc"`
	// Flocker dataset. No longer supported by nodes.
	Flocker *FlockerVolumeSource `json:"flocker,omitempty" protobuf:"bytes,11,opt,name=flocker"`
	// Volume of a FlexVolume driver. Deprecated; use csi.
	FlexVolume *FlexPersistentVolumeSource `json:"flexVolume,omitempty" protobuf:"bytes,12,opt,name=flexVolume"`
	// Azure Files share. Deprecated; use csi.
	AzureFile *AzureFilePersistentVolumeSource `json:"azureFile,omitempty" protobuf:"bytes,13,opt,name=azureFile"`
	// Disk of vSphere. Deprecated; use csi.
	VsphereVolume *VsphereVirtualDiskVolumeSource `json:"vsphereVolume,omitempty" protobuf:"bytes,14,opt,name=vsphereVolume"`
	// Quobyte volume. No longer supported by nodes.
	Quobyte *QuobyteVolumeSource `json:"quobyte,omitempty" protobuf:"bytes,15,opt,name=quobyte"`
	// Disk of Azure. Deprecated; use csi.
	AzureDisk *AzureDiskVolumeSource `json:"azureDisk,omitempty" protobuf:"bytes,16,opt,name=azureDisk"`
	// Disk of Photon. No longer supported by nodes.
	PhotonPersistentDisk *PhotonPersistentDiskVolumeSource `json:"photonPersistentDisk,omitempty" protobuf:"bytes,17,opt,name=photonPersistentDisk"`
	// Portworx volume. Deprecated; use csi.
	PortworxVolume *PortworxVolumeSource `json:"portworxVolume,omitempty" protobuf:"bytes,18,opt,name=portworxVolume"`
	// ScaleIO volume. No longer supported by nodes.
	ScaleIO *ScaleIOPersistentVolumeSource `json:"scaleIO,omitempty" protobuf:"bytes,19,opt,name=scaleIO"`
	// Disk, partition or directory of one node; requires nodeAffinity.
	Local *LocalVolumeSource `json:"local,omitempty" protobuf:"bytes,20,opt,name=local"`
	// StorageOS volume. No longer supported by nodes.
	StorageOS *StorageOSPersistentVolumeSource `json:"storageos,omitempty" protobuf:"bytes,21,opt,name=storageos"`
	// Volume managed by a CSI driver.
	CSI *CSIPersistentVolumeSource `json:"csi,omitempty" protobuf:"bytes,22,opt,name=csi"`
}

// PersistentVolumeSpec describes the properties of a persistent volume.
type PersistentVolumeSpec struct {
	// Capacity of the volume, under the name storage.
	Capacity               ResourceList `json:"capacity,omitempty" protobuf:"bytes,1,rep,name=capacity"`
	PersistentVolumeSource `json:",inline" protobuf:"bytes,2,opt,name=persistentVolumeSource"`
	// Access modes that the volume supports: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=accessModes"`
	// Claim that the volume is bound to, or reserved for.
	ClaimRef *ObjectReference `json:"claimRef,omitempty" mapType:"granular" protobuf:"bytes,4,opt,name=claimRef"`
	// What happens to the volume when its claim is deleted: Retain, Delete, or Recycle (deprecated). Defaults
	// to Retain for volumes created manually.
	PersistentVolumeReclaimPolicy PersistentVolumeReclaimPolicy `json:"persistentVolumeReclaimPolicy,omitempty" protobuf:"bytes,5,opt,name=persistentVolumeReclaimPolicy" openapi:"enum=Delete|Recycle|Retain"`
	// Name of the storage class that the volume belongs to; empty for none.
	StorageClassName string `json:"storageClassName,omitempty" protobuf:"bytes,6,opt,name=storageClassName"`
	// Mount options of the volume; not validated.
	MountOptions []string `json:"mountOptions,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=mountOptions"`
	// Whether the volume is used as a file system or a block device: Filesystem (the default) or Block.
	VolumeMode *PersistentVolumeMode `json:"volumeMode,omitempty" protobuf:"bytes,8,opt,name=volumeMode" openapi:"enum=Block|Filesystem"`
	// Nodes from which the volume is accessible; all nodes if unset.
	NodeAffinity *VolumeNodeAffinity `json:"nodeAffinity,omitempty" protobuf:"bytes,9,opt,name=nodeAffinity"`
	// Name of the volume attributes class of the volume.
	VolumeAttributesClassName *string `json:"volumeAttributesClassName,omitempty" protobuf:"bytes,10,opt,name=volumeAttributesClassName"`
}

// PersistentVolumeStatus is the observed state of a persistent volume.
type PersistentVolumeStatus struct {
	// Phase of the volume: Pending, Available, Bound, Released or Failed.
	Phase PersistentVolumePhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase" openapi:"enum=Available|Bound|Failed|Pending|Released"`
	// Human-readable details of the phase.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// Brief reason for the phase, in CamelCase.
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// When the phase last changed.
	LastPhaseTransitionTime *metav1.Time `json:"lastPhaseTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastPhaseTransitionTime"`
}

// VolumeNodeAffinity describes the nodes from which a volume is accessible.
type VolumeNodeAffinity struct {
	// Requirements that a node must meet to access the volume.
	Required *NodeSelector `json:"required,omitempty" protobuf:"bytes,1,opt,name=required"`
}

// VolumeResourceRequirements describes the storage requirements of a claim.
type VolumeResourceRequirements struct {
	// Maximum size of the volume.
	Limits ResourceList `json:"limits,omitempty" protobuf:"bytes,1,rep,name=limits"`
	// Minimum size of the volume, under the name storage.
	Requests ResourceList `json:"requests,omitempty" protobuf:"bytes,2,rep,name=requests"`
}

// PersistentVolumeClaimList is a list of PersistentVolumeClaim objects.
type PersistentVolumeClaimList = metav1.List[*PersistentVolumeClaim]

// PersistentVolumeList is a list of PersistentVolume objects.
type PersistentVolumeList = metav1.List[*PersistentVolume]

// ClaimResourceStatus enumerates the values of PersistentVolumeClaimStatus.AllocatedResourceStatuses.
type ClaimResourceStatus string

const (
	PersistentVolumeClaimControllerResizeInProgress ClaimResourceStatus = "ControllerResizeInProgress"
	PersistentVolumeClaimControllerResizeInfeasible ClaimResourceStatus = "ControllerResizeInfeasible"
	PersistentVolumeClaimNodeResizeInProgress       ClaimResourceStatus = "NodeResizeInProgress"
	PersistentVolumeClaimNodeResizeInfeasible       ClaimResourceStatus = "NodeResizeInfeasible"
	PersistentVolumeClaimNodeResizePending          ClaimResourceStatus = "NodeResizePending"
)

// PersistentVolumeAccessMode enumerates the values of PersistentVolumeClaimSpec.AccessModes,
// PersistentVolumeClaimStatus.AccessModes and other fields.
type PersistentVolumeAccessMode string

const (
	ReadOnlyMany     PersistentVolumeAccessMode = "ReadOnlyMany"
	ReadWriteMany    PersistentVolumeAccessMode = "ReadWriteMany"
	ReadWriteOnce    PersistentVolumeAccessMode = "ReadWriteOnce"
	ReadWriteOncePod PersistentVolumeAccessMode = "ReadWriteOncePod"
)

// PersistentVolumeClaimConditionType enumerates the values of PersistentVolumeClaimCondition.Type.
type PersistentVolumeClaimConditionType string

const (
	PersistentVolumeClaimControllerResizeError   PersistentVolumeClaimConditionType = "ControllerResizeError"
	PersistentVolumeClaimFileSystemResizePending PersistentVolumeClaimConditionType = "FileSystemResizePending"
	PersistentVolumeClaimNodeResizeError         PersistentVolumeClaimConditionType = "NodeResizeError"
	PersistentVolumeClaimResizing                PersistentVolumeClaimConditionType = "Resizing"
	PersistentVolumeClaimUnused                  PersistentVolumeClaimConditionType = "Unused"
	PersistentVolumeClaimVolumeModifyVolumeError PersistentVolumeClaimConditionType = "ModifyVolumeError"
	PersistentVolumeClaimVolumeModifyingVolume   PersistentVolumeClaimConditionType = "ModifyingVolume"
)

// PersistentVolumeClaimModifyVolumeStatus enumerates the values of ModifyVolumeStatus.Status.
type PersistentVolumeClaimModifyVolumeStatus string

const (
	PersistentVolumeClaimModifyVolumeInProgress PersistentVolumeClaimModifyVolumeStatus = "InProgress"
	PersistentVolumeClaimModifyVolumeInfeasible PersistentVolumeClaimModifyVolumeStatus = "Infeasible"
	PersistentVolumeClaimModifyVolumePending    PersistentVolumeClaimModifyVolumeStatus = "Pending"
)

// PersistentVolumeClaimPhase enumerates the values of PersistentVolumeClaimStatus.Phase.
type PersistentVolumeClaimPhase string

const (
	ClaimBound   PersistentVolumeClaimPhase = "Bound"
	ClaimLost    PersistentVolumeClaimPhase = "Lost"
	ClaimPending PersistentVolumeClaimPhase = "Pending"
)

// PersistentVolumeMode enumerates the values of PersistentVolumeClaimSpec.VolumeMode and
// PersistentVolumeSpec.VolumeMode.
type PersistentVolumeMode string

const (
	PersistentVolumeBlock      PersistentVolumeMode = "Block"
	PersistentVolumeFilesystem PersistentVolumeMode = "Filesystem"
)

// PersistentVolumePhase enumerates the values of PersistentVolumeStatus.Phase.
type PersistentVolumePhase string

const (
	VolumeAvailable PersistentVolumePhase = "Available"
	VolumeBound     PersistentVolumePhase = "Bound"
	VolumeFailed    PersistentVolumePhase = "Failed"
	VolumePending   PersistentVolumePhase = "Pending"
	VolumeReleased  PersistentVolumePhase = "Released"
)

// PersistentVolumeReclaimPolicy enumerates the values of PersistentVolumeSpec.PersistentVolumeReclaimPolicy.
type PersistentVolumeReclaimPolicy string

const (
	PersistentVolumeReclaimDelete  PersistentVolumeReclaimPolicy = "Delete"
	PersistentVolumeReclaimRecycle PersistentVolumeReclaimPolicy = "Recycle"
	PersistentVolumeReclaimRetain  PersistentVolumeReclaimPolicy = "Retain"
)
