package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// CSIPersistentVolumeSource is a volume managed by a CSI driver.
type CSIPersistentVolumeSource struct {
	// Name of the CSI driver.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// Identifier of the volume, assigned by the driver. Cannot be changed.
	VolumeHandle string `json:"volumeHandle" protobuf:"bytes,2,opt,name=volumeHandle" openapi:"required"`
	// Whether the volume is always mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// File system type of the volume, such as ext4 or xfs.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,4,opt,name=fsType"`
	// Attributes of the volume, returned by the driver when it was created.
	VolumeAttributes map[string]string `json:"volumeAttributes,omitempty" protobuf:"bytes,5,rep,name=volumeAttributes"`
	// Secret for attaching and detaching the volume.
	ControllerPublishSecretRef *SecretReference `json:"controllerPublishSecretRef,omitempty" protobuf:"bytes,6,opt,name=controllerPublishSecretRef"`
	// Secret for staging the volume on a node.
	NodeStageSecretRef *SecretReference `json:"nodeStageSecretRef,omitempty" protobuf:"bytes,7,opt,name=nodeStageSecretRef"`
	// Secret for mounting the volume into a pod.
	NodePublishSecretRef *SecretReference `json:"nodePublishSecretRef,omitempty" protobuf:"bytes,8,opt,name=nodePublishSecretRef"`
	// Secret for expanding the volume in the storage system.
	ControllerExpandSecretRef *SecretReference `json:"controllerExpandSecretRef,omitempty" protobuf:"bytes,9,opt,name=controllerExpandSecretRef"`
	// Secret for expanding the volume on a node.
	NodeExpandSecretRef *SecretReference `json:"nodeExpandSecretRef,omitempty" protobuf:"bytes,10,opt,name=nodeExpandSecretRef"`
}

// CSIVolumeSource is an ephemeral volume that a CSI driver provides for one pod.
type CSIVolumeSource struct {
	// Name of the CSI driver.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// Whether the volume is mounted read-only.
	ReadOnly *bool `json:"readOnly,omitempty" protobuf:"varint,2,opt,name=readOnly"`
	// File system type passed to the driver; the driver's default if unset.
	FSType *string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Driver-specific attributes of the volume.
	VolumeAttributes map[string]string `json:"volumeAttributes,omitempty" protobuf:"bytes,4,rep,name=volumeAttributes"`
	// Secret, in the namespace of the pod, for mounting the volume.
	NodePublishSecretRef *LocalObjectReference `json:"nodePublishSecretRef,omitempty" protobuf:"bytes,5,opt,name=nodePublishSecretRef"`
}

// ClusterTrustBundleProjection projects the certificates of cluster trust bundles into a file; exactly one of
// name and signerName is set.
type ClusterTrustBundleProjection struct {
	// Name of a single trust bundle.
	Name *string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Name of a signer, whose trust bundles are all selected.
	SignerName *string `json:"signerName,omitempty" protobuf:"bytes,2,opt,name=signerName"`
	// Selects trust bundles of the signer by label; none if unset, all if empty. Only with signerName.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty" protobuf:"bytes,3,opt,name=labelSelector"`
	// Whether the trust bundles may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,5,opt,name=optional"`
	// Path of the file relative to the root of the volume; must not contain '..'.
	Path string `json:"path" protobuf:"bytes,4,opt,name=path" openapi:"required"`
}

// ConfigMapProjection projects the entries of a config map into a projected volume.
type ConfigMapProjection struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Keys to project and the paths of their files; if unset, all keys, each under its own name.
	Items []KeyToPath `json:"items,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=items"`
	// Whether the config map or its keys may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// ConfigMapVolumeSource is a volume whose files are the entries of a config map.
type ConfigMapVolumeSource struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Keys to project and the paths of their files; if unset, all keys, each under its own name.
	Items []KeyToPath `json:"items,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=items"`
	// Default permission bits of the files, in octal (YAML only) or decimal; defaults to 0644.
	DefaultMode *int32 `json:"defaultMode,omitempty" protobuf:"varint,3,opt,name=defaultMode"`
	// Whether the config map or its keys may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// DownwardAPIProjection projects fields of the pod into a projected volume.
type DownwardAPIProjection struct {
	// Files and the fields they contain.
	Items []DownwardAPIVolumeFile `json:"items,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=items"`
}

// DownwardAPIVolumeFile describes a file that contains a field of the pod; exactly one of fieldRef and
// resourceFieldRef is set.
type DownwardAPIVolumeFile struct {
	// Path of the file relative to the root of the volume; must not contain '..'.
	Path string `json:"path" protobuf:"bytes,1,opt,name=path" openapi:"required"`
	// Field of the pod: its annotations, labels, name, namespace or uid.
	FieldRef *ObjectFieldSelector `json:"fieldRef,omitempty" protobuf:"bytes,2,opt,name=fieldRef"`
	// Resource request or limit of a container.
	ResourceFieldRef *ResourceFieldSelector `json:"resourceFieldRef,omitempty" protobuf:"bytes,3,opt,name=resourceFieldRef"`
	// Permission bits of the file, in octal (YAML only) or decimal; if unset, those of the volume.
	Mode *int32 `json:"mode,omitempty" protobuf:"varint,4,opt,name=mode"`
}

// DownwardAPIVolumeSource is a volume whose files contain fields of the pod.
type DownwardAPIVolumeSource struct {
	// Files and the fields they contain.
	Items []DownwardAPIVolumeFile `json:"items,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=items"`
	// Default permission bits of the files, in octal (YAML only) or decimal; defaults to 0644.
	DefaultMode *int32 `json:"defaultMode,omitempty" protobuf:"varint,2,opt,name=defaultMode"`
}

// EmptyDirVolumeSource is a temporary directory that exists as long as the pod.
type EmptyDirVolumeSource struct {
	// Storage medium: empty for that of the node, Memory for a tmpfs, or HugePages.
	Medium StorageMedium `json:"medium,omitempty" protobuf:"bytes,1,opt,name=medium"`
	// Maximum size of the contents; the pod is evicted if it is exceeded. Not limited if unset.
	SizeLimit *resource.Quantity `json:"sizeLimit,omitempty" protobuf:"bytes,2,opt,name=sizeLimit"`
}

// EphemeralVolumeSource is a volume whose claim is created for one pod and deleted with it.
type EphemeralVolumeSource struct {
	// Template of the claim, which is named POD-VOLUME.
	VolumeClaimTemplate *PersistentVolumeClaimTemplate `json:"volumeClaimTemplate,omitempty" protobuf:"bytes,1,opt,name=volumeClaimTemplate"`
}

// HostPathVolumeSource is a file or directory of the node.
type HostPathVolumeSource struct {
	// Path on the node; symbolic links are followed.
	Path string `json:"path" protobuf:"bytes,1,opt,name=path" openapi:"required"`
	// Kind of file that must exist or is created before mounting, such as Directory or FileOrCreate; not
	// checked if empty.
	Type *HostPathType `json:"type,omitempty" protobuf:"bytes,2,opt,name=type" openapi:"enum=|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket"`
}

// ImageVolumeSource is a volume that contains the files of an OCI image or artifact, read-only.
type ImageVolumeSource struct {
	// Name of the image or artifact, in the format of a container image.
	Reference string `json:"reference,omitempty" protobuf:"bytes,1,opt,name=reference"`
	// When the image is pulled: Always, IfNotPresent or Never. Defaults to Always if the tag is latest,
	// otherwise to IfNotPresent.
	PullPolicy PullPolicy `json:"pullPolicy,omitempty" protobuf:"bytes,2,opt,name=pullPolicy" openapi:"enum=Always|IfNotPresent|Never"`
}

// KeyToPath maps a key to the path of a file.
type KeyToPath struct {
	// Key to project.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Path of the file relative to the root of the volume; must not contain '..'.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// Permission bits of the file, in octal (YAML only) or decimal; if unset, those of the volume.
	Mode *int32 `json:"mode,omitempty" protobuf:"varint,3,opt,name=mode"`
}

// LocalVolumeSource is a disk, partition or directory of one node.
type LocalVolumeSource struct {
	// Path of the directory or block device on the node.
	Path string `json:"path" protobuf:"bytes,1,opt,name=path" openapi:"required"`
	// File system type of the volume if path is a block device; determined automatically if unset.
	FSType *string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
}

// NFSVolumeSource is a directory exported by an NFS server.
type NFSVolumeSource struct {
	// Host name or IP address of the server.
	Server string `json:"server" protobuf:"bytes,1,opt,name=server" openapi:"required"`
	// Path exported by the server.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
}

// PersistentVolumeClaimVolumeSource is the volume that a claim is bound to.
type PersistentVolumeClaimVolumeSource struct {
	// Name of the claim, in the namespace of the pod.
	ClaimName string `json:"claimName" protobuf:"bytes,1,opt,name=claimName" openapi:"required"`
	// Whether all mounts of the volume are read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,2,opt,name=readOnly"`
}

// PodCertificateProjection projects a private key, and a certificate issued for the pod, into files.
type PodCertificateProjection struct {
	// Name of the signer of the certificate, such as example.com/clients.
	SignerName string `json:"signerName,omitempty" protobuf:"bytes,1,opt,name=signerName" openapi:"required"`
	// Type of the key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.
	KeyType string `json:"keyType,omitempty" protobuf:"bytes,2,opt,name=keyType" openapi:"required"`
	// Maximum validity of the certificate in seconds, 3600 (1 hour) to 7862400 (91 days); defaults to 86400
	// (24 hours).
	MaxExpirationSeconds *int32 `json:"maxExpirationSeconds,omitempty" protobuf:"varint,3,opt,name=maxExpirationSeconds"`
	// Path of the file with private key and certificate chain.
	CredentialBundlePath string `json:"credentialBundlePath,omitempty" protobuf:"bytes,4,opt,name=credentialBundlePath"`
	// Path of the file with the private key alone; prefer credentialBundlePath.
	KeyPath string `json:"keyPath,omitempty" protobuf:"bytes,5,opt,name=keyPath"`
	// Path of the file with the certificate chain alone; prefer credentialBundlePath.
	CertificateChainPath string `json:"certificateChainPath,omitempty" protobuf:"bytes,6,opt,name=certificateChainPath"`
	// Additional information for the signer, defined by it.
	UserAnnotations map[string]string `json:"userAnnotations,omitempty" protobuf:"bytes,7,rep,name=userAnnotations"`
}

// ProjectedVolumeSource is a volume that combines files of several sources in one directory.
type ProjectedVolumeSource struct {
	// Sources of the files; their paths must not conflict.
	Sources []VolumeProjection `json:"sources" listType:"atomic" protobuf:"bytes,1,rep,name=sources"`
	// Default permission bits of the files, in octal (YAML only) or decimal; defaults to 0644.
	DefaultMode *int32 `json:"defaultMode,omitempty" protobuf:"varint,2,opt,name=defaultMode"`
}

// SecretProjection projects the entries of a secret into a projected volume.
type SecretProjection struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Keys to project and the paths of their files; if unset, all keys, each under its own name.
	Items []KeyToPath `json:"items,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=items"`
	// Whether the secret or its keys may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// SecretVolumeSource is a volume whose files are the entries of a secret.
type SecretVolumeSource struct {
	// Name of the secret, in the namespace of the pod.
	SecretName string `json:"secretName,omitempty" protobuf:"bytes,1,opt,name=secretName"`
	// Keys to project and the paths of their files; if unset, all keys, each under its own name.
	Items []KeyToPath `json:"items,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=items"`
	// Default permission bits of the files, in octal (YAML only) or decimal; defaults to 0644.
	DefaultMode *int32 `json:"defaultMode,omitempty" protobuf:"varint,3,opt,name=defaultMode"`
	// Whether the secret or its keys may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// ServiceAccountTokenProjection projects a token of the pod's service account into a file.
type ServiceAccountTokenProjection struct {
	// Intended audience of the token; that of the API server if unset.
	Audience string `json:"audience,omitempty" protobuf:"bytes,1,opt,name=audience"`
	// Requested validity of the token in seconds, at least 600; defaults to 3600 (1 hour). The token is
	// renewed before it expires.
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty" protobuf:"varint,2,opt,name=expirationSeconds"`
	// Path of the file relative to the root of the volume; must not contain '..'.
	Path string `json:"path" protobuf:"bytes,3,opt,name=path" openapi:"required"`
}

// Volume describes a volume that the containers of a pod can mount.
type Volume struct {
	// Name of the volume, unique in the pod; a DNS label.
	Name         string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	VolumeSource `json:",inline" protobuf:"bytes,2,opt,name=volumeSource"`
}

// VolumeProjection is one source of a projected volume; exactly one of its fields is set.
type VolumeProjection struct {
	// Projects entries of a secret.
	Secret *SecretProjection `json:"secret,omitempty" protobuf:"bytes,1,opt,name=secret"`
	// Projects fields of the pod.
	DownwardAPI *DownwardAPIProjection `json:"downwardAPI,omitempty" protobuf:"bytes,2,opt,name=downwardAPI"`
	// Projects entries of a config map.
	ConfigMap *ConfigMapProjection `json:"configMap,omitempty" protobuf:"bytes,3,opt,name=configMap"`
	// Projects a token of the pod's service account.
	ServiceAccountToken *ServiceAccountTokenProjection `json:"serviceAccountToken,omitempty" protobuf:"bytes,4,opt,name=serviceAccountToken"`
	// Projects certificates of cluster trust bundles.
	ClusterTrustBundle *ClusterTrustBundleProjection `json:"clusterTrustBundle,omitempty" protobuf:"bytes,5,opt,name=clusterTrustBundle"`
	// Projects a private key and a certificate issued for the pod.
	PodCertificate *PodCertificateProjection `json:"podCertificate,omitempty" protobuf:"bytes,6,opt,name=podCertificate"`
}

// VolumeSource is the source of a volume; exactly one of its fields is set, emptyDir if none is.
type VolumeSource struct {
	// File or directory of the node.
	HostPath *HostPathVolumeSource `json:"hostPath,omitempty" protobuf:"bytes,1,opt,name=hostPath"`
	// Temporary directory that exists as long as the pod.
	EmptyDir *EmptyDirVolumeSource `json:"emptyDir,omitempty" protobuf:"bytes,2,opt,name=emptyDir"`
	// Disk of Google Compute Engine. Deprecated; use persistentVolumeClaim.
	GCEPersistentDisk *GCEPersistentDiskVolumeSource `json:"gcePersistentDisk,omitempty" protobuf:"bytes,3,opt,name=gcePersistentDisk"`
	// Disk of Amazon Elastic Block Store. Deprecated; use persistentVolumeClaim.
	AWSElasticBlockStore *AWSElasticBlockStoreVolumeSource `json:"awsElasticBlockStore,omitempty" protobuf:"bytes,4,opt,name=awsElasticBlockStore"`
	// Clone of a git repository. No longer supported by nodes.
	GitRepo *GitRepoVolumeSource `json:"gitRepo,omitempty" protobuf:"bytes,5,opt,name=gitRepo"`
	// Entries of a secret as files.
	Secret *SecretVolumeSource `json:"secret,omitempty" protobuf:"bytes,6,opt,name=secret"`
	// Directory exported by an NFS server.
	NFS *NFSVolumeSource `json:"nfs,omitempty" protobuf:"bytes,7,opt,name=nfs"`
	// iSCSI disk.
	ISCSI *ISCSIVolumeSource `json:"iscsi,omitempty" protobuf:"bytes,8,opt,name=iscsi"`
	// GlusterFS volume. No longer supported by nodes.
	Glusterfs *GlusterfsVolumeSource `json:"glusterfs,omitempty" protobuf:"bytes,9,opt,name=glusterfs"`
	// Volume that a claim in the namespace of the pod is bound to.
	PersistentVolumeClaim *PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty" protobuf:"bytes,10,opt,name=persistentVolumeClaim"`
	// Ceph block device. No longer supported by nodes.
	RBD *RBDVolumeSource `json:"rbd,omitempty" protobuf:"bytes,11,opt,name=rbd"`
	// Volume of a FlexVolume driver. Deprecated; use csi.
	FlexVolume *FlexVolumeSource `json:"flexVolume,omitempty" protobuf:"bytes,12,opt,name=flexVolume"`
	// OpenStack Cinder disk. Deprecated; use persistentVolumeClaim.
	Cinder *CinderVolumeSource `json:"cinder,omitempty" protobuf:"bytes,13,opt,name=cinder"`
	// Ceph file system. No longer supported by nodes.
	CephFS *CephFSVolumeSource `json:"cephfs,omitempty" protobuf:"bytes,14,opt,name=cephfs"`
	// Flocker dataset. No longer supported by nodes.
	Flocker *FlockerVolumeSource `json:"flocker,omitempty" protobuf:"bytes,15,opt,name=flocker"`
	// Fields of the pod as files.
	DownwardAPI *DownwardAPIVolumeSource `json:"downwardAPI,omitempty" protobuf:"bytes,16,opt,name=downwardAPI"`
	// Fibre Channel volume.
	FC *FCVolumeSource `json:"fc,omitempty" protobuf:"bytes,17,opt,name=fc"`
	// Azure Files share. Deprecated; use persistentVolumeClaim.
	AzureFile *AzureFileVolumeSource `json:"azureFile,omitempty" protobuf:"bytes,18,opt,name=azureFile"`
	// Entries of a config map as files.
	ConfigMap *ConfigMapVolumeSource `json:"configMap,omitempty" protobuf:"bytes,19,opt,name=configMap"`
	// Disk of vSphere. Deprecated; use persistentVolumeClaim.
	VsphereVolume *VsphereVirtualDiskVolumeSource `json:"vsphereVolume,omitempty" protobuf:"bytes,20,opt,name=vsphereVolume"`
	// Quobyte volume. No longer supported by nodes.
	Quobyte *QuobyteVolumeSource `json:"quobyte,omitempty" protobuf:"bytes,21,opt,name=quobyte"`
	// Disk of Azure. Deprecated; use persistentVolumeClaim.
	AzureDisk *AzureDiskVolumeSource `json:"azureDisk,omitempty" protobuf:"bytes,22,opt,name=azureDisk"`
	// Disk of Photon. No longer supported by nodes.
	PhotonPersistentDisk *PhotonPersistentDiskVolumeSource `json:"photonPersistentDisk,omitempty" protobuf:"bytes,23,opt,name=photonPersistentDisk"`
	// Files of several sources in one directory.
	Projected *ProjectedVolumeSource `json:"projected,omitempty" protobuf:"bytes,26,opt,name=projected"`
	// Portworx volume. Deprecated; use persistentVolumeClaim.
	PortworxVolume *PortworxVolumeSource `json:"portworxVolume,omitempty" protobuf:"bytes,24,opt,name=portworxVolume"`
	// ScaleIO volume. No longer supported by nodes.
	ScaleIO *ScaleIOVolumeSource `json:"scaleIO,omitempty" protobuf:"bytes,25,opt,name=scaleIO"`
	// StorageOS volume. No longer supported by nodes.
	StorageOS *StorageOSVolumeSource `json:"storageos,omitempty" protobuf:"bytes,27,opt,name=storageos"`
	// Ephemeral volume that a CSI driver provides for the pod.
	CSI *CSIVolumeSource `json:"csi,omitempty" protobuf:"bytes,28,opt,name=csi"`
	// Volume whose claim is created for the pod and deleted with it.
	Ephemeral *EphemeralVolumeSource `json:"ephemeral,omitempty" protobuf:"bytes,29,opt,name=ephemeral"`
	// Files of an OCI image or artifact, read-only.
	Image *ImageVolumeSource `json:"image,omitempty" protobuf:"bytes,30,opt,name=image"`
}

// HostPathType enumerates the values of HostPathVolumeSource.Type.
type HostPathType string

const (
	HostPathBlockDev          HostPathType = "BlockDevice"
	HostPathCharDev           HostPathType = "CharDevice"
	HostPathDirectory         HostPathType = "Directory"
	HostPathDirectoryOrCreate HostPathType = "DirectoryOrCreate"
	HostPathFile              HostPathType = "File"
	HostPathFileOrCreate      HostPathType = "FileOrCreate"
	HostPathSocket            HostPathType = "Socket"
	HostPathUnset             HostPathType = ""
)

// StorageMedium enumerates the values of EmptyDirVolumeSource.Medium.
type StorageMedium string

const (
	StorageMediumDefault         StorageMedium = ""
	StorageMediumHugePages       StorageMedium = "HugePages"
	StorageMediumHugePagesPrefix StorageMedium = "HugePages-"
	StorageMediumMemory          StorageMedium = "Memory"
)
