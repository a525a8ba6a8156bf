package corev1

// AWSElasticBlockStoreVolumeSource is a disk of Amazon Elastic Block Store.
type AWSElasticBlockStoreVolumeSource struct {
	// Identifier of the volume in the storage system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Number of the partition to mount; 0 means the whole disk.
	Partition int32 `json:"partition,omitempty" protobuf:"varint,3,opt,name=partition"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
}

// AzureDiskVolumeSource is a disk of Azure.
type AzureDiskVolumeSource struct {
	// Name of the disk.
	DiskName string `json:"diskName" protobuf:"bytes,1,opt,name=diskName" openapi:"required"`
	// URI of the data disk in blob storage, or resource ID of a managed disk.
	DataDiskURI string `json:"diskURI" protobuf:"bytes,2,opt,name=diskURI" openapi:"required"`
	// Host caching mode: None, ReadOnly or ReadWrite (the default).
	CachingMode *AzureDataDiskCachingMode `json:"cachingMode,omitempty" default:"ReadWrite" protobuf:"bytes,3,opt,name=cachingMode" openapi:"enum=None|ReadOnly|ReadWrite"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType *string `json:"fsType,omitempty" default:"ext4" protobuf:"bytes,4,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly *bool `json:"readOnly,omitempty" protobuf:"varint,5,opt,name=readOnly"`
	// Kind of disk: Shared (the default), Dedicated or Managed.
	Kind *AzureDataDiskKind `json:"kind,omitempty" default:"Shared" protobuf:"bytes,6,opt,name=kind" openapi:"enum=Dedicated|Managed|Shared"`
}

// AzureFilePersistentVolumeSource is an Azure Files share, with a secret in any namespace.
type AzureFilePersistentVolumeSource struct {
	// Name of the secret that contains the storage account's name and key.
	SecretName string `json:"secretName" protobuf:"bytes,1,opt,name=secretName" openapi:"required"`
	// Name of the share.
	ShareName string `json:"shareName" protobuf:"bytes,2,opt,name=shareName" openapi:"required"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Namespace of the secret; that of the claim if unset.
	SecretNamespace *string `json:"secretNamespace" protobuf:"bytes,4,opt,name=secretNamespace"`
}

// AzureFileVolumeSource is an Azure Files share.
type AzureFileVolumeSource struct {
	// Name of the secret, in the namespace of the pod, that contains the storage account's name and key.
	SecretName string `json:"secretName" protobuf:"bytes,1,opt,name=secretName" openapi:"required"`
	// Name of the share.
	ShareName string `json:"shareName" protobuf:"bytes,2,opt,name=shareName" openapi:"required"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
}

// CephFSPersistentVolumeSource is a Ceph file system, with a secret in any namespace.
type CephFSPersistentVolumeSource struct {
	// Addresses of the Ceph monitors.
	Monitors []string `json:"monitors" listType:"atomic" protobuf:"bytes,1,rep,name=monitors" openapi:"required"`
	// Root of the mounted tree; defaults to /.
	Path string `json:"path,omitempty" protobuf:"bytes,2,opt,name=path"`
	// Ceph user name; defaults to admin.
	User string `json:"user,omitempty" protobuf:"bytes,3,opt,name=user"`
	// Path of the key ring on the node; defaults to /etc/ceph/user.secret.
	SecretFile string `json:"secretFile,omitempty" protobuf:"bytes,4,opt,name=secretFile"`
	// Secret with the credentials for the storage system.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,6,opt,name=readOnly"`
}

// CephFSVolumeSource is a Ceph file system.
type CephFSVolumeSource struct {
	// Addresses of the Ceph monitors.
	Monitors []string `json:"monitors" listType:"atomic" protobuf:"bytes,1,rep,name=monitors" openapi:"required"`
	// Root of the mounted tree; defaults to /.
	Path string `json:"path,omitempty" protobuf:"bytes,2,opt,name=path"`
	// Ceph user name; defaults to admin.
	User string `json:"user,omitempty" protobuf:"bytes,3,opt,name=user"`
	// Path of the key ring on the node; defaults to /etc/ceph/user.secret.
	SecretFile string `json:"secretFile,omitempty" protobuf:"bytes,4,opt,name=secretFile"`
	// Secret with the credentials for the storage system.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,6,opt,name=readOnly"`
}

// CinderPersistentVolumeSource is an OpenStack Cinder disk, with a secret in any namespace.
type CinderPersistentVolumeSource struct {
	// Identifier of the volume in the storage system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Secret with the credentials for the storage system.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,4,opt,name=secretRef"`
}

// CinderVolumeSource is an OpenStack Cinder disk.
type CinderVolumeSource struct {
	// Identifier of the volume in the storage system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Secret with the credentials for the storage system.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,4,opt,name=secretRef"`
}

// FCVolumeSource is a Fibre Channel volume; either wwids or both targetWWNs and lun are set.
type FCVolumeSource struct {
	// World wide names of the targets.
	TargetWWNs []string `json:"targetWWNs,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=targetWWNs"`
	// Logical unit number at the targets.
	Lun *int32 `json:"lun,omitempty" protobuf:"varint,2,opt,name=lun"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// World wide identifiers of the volume; excludes targetWWNs and lun.
	WWIDs []string `json:"wwids,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=wwids"`
}

// FlexPersistentVolumeSource is a volume of a FlexVolume driver, with a secret in any namespace.
type FlexPersistentVolumeSource struct {
	// Name of the driver on the node.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; if unset, the default of the driver.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Secret with the credentials for the storage system.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,3,opt,name=secretRef"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Driver-specific options.
	Options map[string]string `json:"options,omitempty" protobuf:"bytes,5,rep,name=options"`
}

// FlexVolumeSource is a volume of a FlexVolume driver.
type FlexVolumeSource struct {
	// Name of the driver on the node.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; if unset, the default of the driver.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Secret with the credentials for the storage system.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,3,opt,name=secretRef"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Driver-specific options.
	Options map[string]string `json:"options,omitempty" protobuf:"bytes,5,rep,name=options"`
}

// FlockerVolumeSource is a Flocker dataset; exactly one of its fields is set.
type FlockerVolumeSource struct {
	// Name of the dataset in its metadata. Deprecated.
	DatasetName string `json:"datasetName,omitempty" protobuf:"bytes,1,opt,name=datasetName"`
	// UUID of the dataset.
	DatasetUUID string `json:"datasetUUID,omitempty" protobuf:"bytes,2,opt,name=datasetUUID"`
}

// GCEPersistentDiskVolumeSource is a persistent disk of Google Compute Engine.
type GCEPersistentDiskVolumeSource struct {
	// Name of the disk.
	PDName string `json:"pdName" protobuf:"bytes,1,opt,name=pdName" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Number of the partition to mount; 0 means the whole disk.
	Partition int32 `json:"partition,omitempty" protobuf:"varint,3,opt,name=partition"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
}

// GitRepoVolumeSource is a volume that contains a clone of a git repository. Deprecated.
type GitRepoVolumeSource struct {
	// URL of the repository.
	Repository string `json:"repository" protobuf:"bytes,1,opt,name=repository" openapi:"required"`
	// Commit hash to check out; the default branch if unset.
	Revision string `json:"revision,omitempty" protobuf:"bytes,2,opt,name=revision"`
	// Directory of the clone, without '..': the root of the volume if '.', a directory named after the
	// repository if unset.
	Directory string `json:"directory,omitempty" protobuf:"bytes,3,opt,name=directory"`
}

// GlusterfsPersistentVolumeSource is a GlusterFS volume, with endpoints in any namespace.
type GlusterfsPersistentVolumeSource struct {
	// Name of the Endpoints object that lists the servers.
	EndpointsName string `json:"endpoints" protobuf:"bytes,1,opt,name=endpoints" openapi:"required"`
	// Path of the volume.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Namespace of the Endpoints object; that of the claim if unset.
	EndpointsNamespace *string `json:"endpointsNamespace,omitempty" protobuf:"bytes,4,opt,name=endpointsNamespace"`
}

// GlusterfsVolumeSource is a GlusterFS volume.
type GlusterfsVolumeSource struct {
	// Name of the Endpoints object, in the namespace of the pod, that lists the servers.
	EndpointsName string `json:"endpoints" protobuf:"bytes,1,opt,name=endpoints" openapi:"required"`
	// Path of the volume.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
}

// ISCSIPersistentVolumeSource is an iSCSI disk, with a secret in any namespace.
type ISCSIPersistentVolumeSource struct {
	// Address of the target portal, IP:PORT; the port may be omitted if it is 860 or 3260.
	TargetPortal string `json:"targetPortal" protobuf:"bytes,1,opt,name=targetPortal" openapi:"required"`
	// Qualified name of the target.
	IQN string `json:"iqn" protobuf:"bytes,2,opt,name=iqn" openapi:"required"`
	// Logical unit number at the target.
	Lun int32 `json:"lun" protobuf:"varint,3,opt,name=lun" openapi:"required"`
	// Name of the iSCSI interface; defaults to default (TCP).
	ISCSIInterface string `json:"iscsiInterface,omitempty" default:"default" protobuf:"bytes,4,opt,name=iscsiInterface"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,5,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,6,opt,name=readOnly"`
	// Further portals of the target, for multipath.
	Portals []string `json:"portals,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=portals"`
	// Whether discovery uses CHAP authentication.
	DiscoveryCHAPAuth bool `json:"chapAuthDiscovery,omitempty" protobuf:"varint,8,opt,name=chapAuthDiscovery"`
	// Whether sessions use CHAP authentication.
	SessionCHAPAuth bool `json:"chapAuthSession,omitempty" protobuf:"varint,11,opt,name=chapAuthSession"`
	// Secret for CHAP authentication.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,10,opt,name=secretRef"`
	// Qualified name of the initiator; that of the node if unset.
	InitiatorName *string `json:"initiatorName,omitempty" protobuf:"bytes,12,opt,name=initiatorName"`
}

// ISCSIVolumeSource is an iSCSI disk.
type ISCSIVolumeSource struct {
	// Address of the target portal, IP:PORT; the port may be omitted if it is 860 or 3260.
	TargetPortal string `json:"targetPortal" protobuf:"bytes,1,opt,name=targetPortal" openapi:"required"`
	// Qualified name of the target.
	IQN string `json:"iqn" protobuf:"bytes,2,opt,name=iqn" openapi:"required"`
	// Logical unit number at the target.
	Lun int32 `json:"lun" protobuf:"varint,3,opt,name=lun" openapi:"required"`
	// Name of the iSCSI interface; defaults to default (TCP).
	ISCSIInterface string `json:"iscsiInterface,omitempty" default:"default" protobuf:"bytes,4,opt,name=iscsiInterface"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,5,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,6,opt,name=readOnly"`
	// Further portals of the target, for multipath.
	Portals []string `json:"portals,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=portals"`
	// Whether discovery uses CHAP authentication.
	DiscoveryCHAPAuth bool `json:"chapAuthDiscovery,omitempty" protobuf:"varint,8,opt,name=chapAuthDiscovery"`
	// Whether sessions use CHAP authentication.
	SessionCHAPAuth bool `json:"chapAuthSession,omitempty" protobuf:"varint,11,opt,name=chapAuthSession"`
	// Secret for CHAP authentication.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,10,opt,name=secretRef"`
	// Qualified name of the initiator; that of the node if unset.
	InitiatorName *string `json:"initiatorName,omitempty" protobuf:"bytes,12,opt,name=initiatorName"`
}

// PhotonPersistentDiskVolumeSource is a disk of Photon.
type PhotonPersistentDiskVolumeSource struct {
	// ID of the disk.
	PdID string `json:"pdID" protobuf:"bytes,1,opt,name=pdID" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
}

// PortworxVolumeSource is a Portworx volume.
type PortworxVolumeSource struct {
	// Identifier of the volume in the storage system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
}

// QuobyteVolumeSource is a Quobyte volume.
type QuobyteVolumeSource struct {
	// Addresses of the Quobyte registry, as HOST:PORT separated by commas.
	Registry string `json:"registry" protobuf:"bytes,1,opt,name=registry" openapi:"required"`
	// Name of an existing volume.
	Volume string `json:"volume" protobuf:"bytes,2,opt,name=volume" openapi:"required"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// User to mount the volume as; that of the service if unset.
	User string `json:"user,omitempty" protobuf:"bytes,4,opt,name=user"`
	// Group to mount the volume as; none if unset.
	Group string `json:"group,omitempty" protobuf:"bytes,5,opt,name=group"`
	// Tenant that owns the volume.
	Tenant string `json:"tenant,omitempty" protobuf:"bytes,6,opt,name=tenant"`
}

// RBDPersistentVolumeSource is a Ceph block device, with a secret in any namespace.
type RBDPersistentVolumeSource struct {
	// Addresses of the Ceph monitors.
	CephMonitors []string `json:"monitors" listType:"atomic" protobuf:"bytes,1,rep,name=monitors" openapi:"required"`
	// Name of the RADOS image.
	RBDImage string `json:"image" protobuf:"bytes,2,opt,name=image" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Name of the RADOS pool; defaults to rbd.
	RBDPool string `json:"pool,omitempty" default:"rbd" protobuf:"bytes,4,opt,name=pool"`
	// RADOS user name; defaults to admin.
	RadosUser string `json:"user,omitempty" default:"admin" protobuf:"bytes,5,opt,name=user"`
	// Path of the key ring on the node; defaults to /etc/ceph/keyring.
	Keyring string `json:"keyring,omitempty" default:"/etc/ceph/keyring" protobuf:"bytes,6,opt,name=keyring"`
	// Secret with the credentials for the storage system.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,7,opt,name=secretRef"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,8,opt,name=readOnly"`
}

// RBDVolumeSource is a Ceph block device.
type RBDVolumeSource struct {
	// Addresses of the Ceph monitors.
	CephMonitors []string `json:"monitors" listType:"atomic" protobuf:"bytes,1,rep,name=monitors" openapi:"required"`
	// Name of the RADOS image.
	RBDImage string `json:"image" protobuf:"bytes,2,opt,name=image" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Name of the RADOS pool; defaults to rbd.
	RBDPool string `json:"pool,omitempty" default:"rbd" protobuf:"bytes,4,opt,name=pool"`
	// RADOS user name; defaults to admin.
	RadosUser string `json:"user,omitempty" default:"admin" protobuf:"bytes,5,opt,name=user"`
	// Path of the key ring on the node; defaults to /etc/ceph/keyring.
	Keyring string `json:"keyring,omitempty" default:"/etc/ceph/keyring" protobuf:"bytes,6,opt,name=keyring"`
	// Secret with the credentials for the storage system.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,7,opt,name=secretRef"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,8,opt,name=readOnly"`
}

// ScaleIOPersistentVolumeSource is a ScaleIO volume, with a secret in any namespace.
type ScaleIOPersistentVolumeSource struct {
	// Address of the ScaleIO API gateway.
	Gateway string `json:"gateway" protobuf:"bytes,1,opt,name=gateway" openapi:"required"`
	// Name of the storage system.
	System string `json:"system" protobuf:"bytes,2,opt,name=system" openapi:"required"`
	// Secret with the credentials for the storage system.
	SecretRef *SecretReference `json:"secretRef" protobuf:"bytes,3,opt,name=secretRef" openapi:"required"`
	// Whether communication with the gateway uses TLS.
	SSLEnabled bool `json:"sslEnabled,omitempty" protobuf:"varint,4,opt,name=sslEnabled"`
	// Name of the protection domain of the volume.
	ProtectionDomain string `json:"protectionDomain,omitempty" protobuf:"bytes,5,opt,name=protectionDomain"`
	// Name of the storage pool in the protection domain.
	StoragePool string `json:"storagePool,omitempty" protobuf:"bytes,6,opt,name=storagePool"`
	// Provisioning of the volume: ThickProvisioned or ThinProvisioned (the default).
	StorageMode string `json:"storageMode,omitempty" default:"ThinProvisioned" protobuf:"bytes,7,opt,name=storageMode"`
	// Name of an existing volume.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,8,opt,name=volumeName"`
	// File system type of the volume, such as ext4 or xfs; defaults to xfs.
	FSType string `json:"fsType,omitempty" default:"xfs" protobuf:"bytes,9,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,10,opt,name=readOnly"`
}

// ScaleIOVolumeSource is a ScaleIO volume.
type ScaleIOVolumeSource struct {
	// Address of the ScaleIO API gateway.
	Gateway string `json:"gateway" protobuf:"bytes,1,opt,name=gateway" openapi:"required"`
	// Name of the storage system.
	System string `json:"system" protobuf:"bytes,2,opt,name=system" openapi:"required"`
	// Secret with the credentials for the storage system.
	SecretRef *LocalObjectReference `json:"secretRef" protobuf:"bytes,3,opt,name=secretRef" openapi:"required"`
	// Whether communication with the gateway uses TLS.
	SSLEnabled bool `json:"sslEnabled,omitempty" protobuf:"varint,4,opt,name=sslEnabled"`
	// Name of the protection domain of the volume.
	ProtectionDomain string `json:"protectionDomain,omitempty" protobuf:"bytes,5,opt,name=protectionDomain"`
	// Name of the storage pool in the protection domain.
	StoragePool string `json:"storagePool,omitempty" protobuf:"bytes,6,opt,name=storagePool"`
	// Provisioning of the volume: ThickProvisioned or ThinProvisioned (the default).
	StorageMode string `json:"storageMode,omitempty" default:"ThinProvisioned" protobuf:"bytes,7,opt,name=storageMode"`
	// Name of an existing volume.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,8,opt,name=volumeName"`
	// File system type of the volume, such as ext4 or xfs; defaults to xfs.
	FSType string `json:"fsType,omitempty" default:"xfs" protobuf:"bytes,9,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,10,opt,name=readOnly"`
}

// StorageOSPersistentVolumeSource is a StorageOS volume, with a secret in any namespace.
type StorageOSPersistentVolumeSource struct {
	// Name of the volume, unique within its StorageOS namespace.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,1,opt,name=volumeName"`
	// StorageOS namespace of the volume; that of the claim if unset.
	VolumeNamespace string `json:"volumeNamespace,omitempty" protobuf:"bytes,2,opt,name=volumeNamespace"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Secret with the credentials for the storage system.
	SecretRef *ObjectReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`
}

// StorageOSVolumeSource is a StorageOS volume.
type StorageOSVolumeSource struct {
	// Name of the volume, unique within its StorageOS namespace.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,1,opt,name=volumeName"`
	// StorageOS namespace of the volume; that of the pod if unset.
	VolumeNamespace string `json:"volumeNamespace,omitempty" protobuf:"bytes,2,opt,name=volumeNamespace"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Secret with the credentials for the storage system.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`
}

// VsphereVirtualDiskVolumeSource is a disk of vSphere.
type VsphereVirtualDiskVolumeSource struct {
	// Path of the disk in vSphere, including its datastore.
	VolumePath string `json:"volumePath" protobuf:"bytes,1,opt,name=volumePath" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; defaults to ext4.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Name of the storage policy profile.
	StoragePolicyName string `json:"storagePolicyName,omitempty" protobuf:"bytes,3,opt,name=storagePolicyName"`
	// ID of the storage policy profile.
	StoragePolicyID string `json:"storagePolicyID,omitempty" protobuf:"bytes,4,opt,name=storagePolicyID"`
}

// AzureDataDiskCachingMode enumerates the values of AzureDiskVolumeSource.CachingMode.
type AzureDataDiskCachingMode string

const (
	AzureDataDiskCachingNone      AzureDataDiskCachingMode = "None"
	AzureDataDiskCachingReadOnly  AzureDataDiskCachingMode = "ReadOnly"
	AzureDataDiskCachingReadWrite AzureDataDiskCachingMode = "ReadWrite"
)

// AzureDataDiskKind enumerates the values of AzureDiskVolumeSource.Kind.
type AzureDataDiskKind string

const (
	AzureDedicatedBlobDisk AzureDataDiskKind = "Dedicated"
	AzureManagedDisk       AzureDataDiskKind = "Managed"
	AzureSharedBlobDisk    AzureDataDiskKind = "Shared"
)
