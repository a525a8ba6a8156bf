// Package corev1 holds the core kinds: pods, services, nodes, volumes, configuration and events (v1).
package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AWSElasticBlockStoreVolumeSource is a disk of Amazon Elastic Block Store.
type AWSElasticBlockStoreVolumeSource struct {
	// Identifier of the volume in the storage system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Number of the partition to mount; 0 means the whole disk.
	Partition int32 `json:"partition,omitempty" protobuf:"varint,3,opt,name=partition"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
}

// Affinity groups the scheduling constraints of a pod.
type Affinity struct {
	// Required and preferred nodes, by label.
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty" protobuf:"bytes,1,opt,name=nodeAffinity"`
	// Required and preferred co-location with other pods.
	PodAffinity *PodAffinity `json:"podAffinity,omitempty" protobuf:"bytes,2,opt,name=podAffinity"`
	// Required and preferred separation from other pods.
	PodAntiAffinity *PodAntiAffinity `json:"podAntiAffinity,omitempty" protobuf:"bytes,3,opt,name=podAntiAffinity"`
}

// AppArmorProfile describes the AppArmor profile of a pod or container.
type AppArmorProfile struct {
	// Kind of profile: RuntimeDefault, Unconfined, or Localhost for a profile loaded on the node.
	Type AppArmorProfileType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required,enum=Localhost|RuntimeDefault|Unconfined"`
	// Name of the profile loaded on the node; required if type is Localhost, otherwise unset.
	LocalhostProfile *string `json:"localhostProfile,omitempty" protobuf:"bytes,2,opt,name=localhostProfile"`
}

// AttachedVolume describes a volume that is attached to a node.
type AttachedVolume struct {
	// Name of the attached volume, made of plugin and volume, such as kubernetes.io/csi/DRIVER^HANDLE.
	Name UniqueVolumeName `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Path of the device on the node, if available.
	DevicePath string `json:"devicePath" protobuf:"bytes,2,opt,name=devicePath" openapi:"required"`
}

// AvoidPods describes pods that should avoid a node.
type AvoidPods struct {
	// Pods that should avoid the node, by their controllers.
	PreferAvoidPods []PreferAvoidPodsEntry `json:"preferAvoidPods,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=preferAvoidPods"`
}

// AzureDiskVolumeSource is a disk of Azure.
type AzureDiskVolumeSource struct {
	// Name of the disk.
	DiskName string `json:"diskName" protobuf:"bytes,1,opt,name=diskName" openapi:"required"`
	// URI of the data disk in blob storage, or resource ID of a managed disk.
	DataDiskURI string `json:"diskURI" protobuf:"bytes,2,opt,name=diskURI" openapi:"required"`
	// Host caching mode: None, ReadOnly or ReadWrite (the default).
	CachingMode *AzureDataDiskCachingMode `json:"cachingMode,omitempty" default:"ReadWrite" protobuf:"bytes,3,opt,name=cachingMode" openapi:"enum=None|ReadOnly|ReadWrite"`
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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

// Binding assigns a pod to a node. Pods are bound by creating it through their binding subresource.
type Binding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Node to assign the pod to.
	Target ObjectReference `json:"target" protobuf:"bytes,2,opt,name=target" openapi:"required"`
}

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

// Capabilities lists Linux capabilities to add to or remove from the default set of the runtime.
type Capabilities struct {
	// Capabilities to add.
	Add []Capability `json:"add,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=add"`
	// Capabilities to remove; ALL removes all.
	Drop []Capability `json:"drop,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=drop"`
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Secret with the credentials for the storage system.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,4,opt,name=secretRef"`
}

// ClientIPConfig configures session affinity based on the client's IP address.
type ClientIPConfig struct {
	// Seconds after which the affinity of an idle client ends, 1 to 86400; defaults to 10800 (3 hours).
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`
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

// ComponentCondition describes one aspect of the state of a component.
type ComponentCondition struct {
	// Type of the condition; the only value is Healthy.
	Type ComponentConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Human-readable details.
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	// Error code of a failed health check.
	Error string `json:"error,omitempty" protobuf:"bytes,4,opt,name=error"`
}

// ComponentStatus reports the health of a component of the control plane. Deprecated.
type ComponentStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Observed conditions of the component.
	Conditions []ComponentCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,2,rep,name=conditions"`
}

// ConfigMap holds configuration data as key-value pairs.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Whether the data is immutable. Once true, neither it nor the data can be changed.
	Immutable *bool `json:"immutable,omitempty" protobuf:"varint,4,opt,name=immutable"`
	// Values that are UTF-8 text. At most 1 MiB together with binaryData.
	Data map[string]string `json:"data,omitempty" protobuf:"bytes,2,rep,name=data"`
	// Values that are arbitrary bytes, base64-encoded in JSON. Its keys must not be in data.
	BinaryData map[string][]byte `json:"binaryData,omitempty" protobuf:"bytes,3,rep,name=binaryData"`
}

// ConfigMapEnvSource selects a config map whose entries become environment variables.
type ConfigMapEnvSource struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Whether the referenced object may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,2,opt,name=optional"`
}

// ConfigMapKeySelector selects a key of a config map.
type ConfigMapKeySelector struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Key to select.
	Key string `json:"key" protobuf:"bytes,2,opt,name=key" openapi:"required"`
	// Whether the config map or its key may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,3,opt,name=optional"`
}

// ConfigMapNodeConfigSource references a config map with the configuration of a kubelet. Deprecated; not
// used.
type ConfigMapNodeConfigSource struct {
	// Namespace of the config map.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace" openapi:"required"`
	// Name of the config map.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	// UID of the config map; only in status.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,3,opt,name=uid"`
	// Resource version of the config map; only in status.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,4,opt,name=resourceVersion"`
	// Key of the config map that holds the configuration.
	KubeletConfigKey string `json:"kubeletConfigKey" protobuf:"bytes,5,opt,name=kubeletConfigKey" openapi:"required"`
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

// Container describes a container that runs in a pod.
type Container struct {
	// Name of the container, unique in the pod; a DNS label. Cannot be changed.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Name of the container image; the tag latest is implied if there is neither a tag nor a digest.
	Image string `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// Entrypoint to run, not in a shell; that of the image if unset. References $(VAR) are expanded from the
	// container's environment; $$(VAR) escapes one.
	Command []string `json:"command,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=command"`
	// Arguments of the entrypoint; those of the image if unset. References $(VAR) are expanded as in command.
	Args []string `json:"args,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=args"`
	// Working directory of the container; that of the image if unset.
	WorkingDir string `json:"workingDir,omitempty" protobuf:"bytes,5,opt,name=workingDir"`
	// Ports that the container exposes. Informational, except for names and host ports: a port that is not
	// listed can be reached, too.
	Ports []ContainerPort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"containerPort" listType:"map" listMapKey:"containerPort,protocol" protobuf:"bytes,6,rep,name=ports"`
	// Sources whose entries all become environment variables; if a key is in several, the last one takes
	// precedence.
	EnvFrom []EnvFromSource `json:"envFrom,omitempty" listType:"atomic" protobuf:"bytes,19,rep,name=envFrom"`
	// Environment variables; they take precedence over those of envFrom.
	Env []EnvVar `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,7,rep,name=env"`
	// Compute resources that the container requires.
	Resources ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,8,opt,name=resources"`
	// Whether a resize of a resource restarts the container.
	ResizePolicy []ContainerResizePolicy `json:"resizePolicy,omitempty" listType:"atomic" protobuf:"bytes,23,rep,name=resizePolicy"`
	// Restart policy of the container: Always, OnFailure or Never; that of the pod if unset. An init
	// container with Always is a sidecar: it is not waited for and runs until the other containers have
	// ended.
	RestartPolicy *ContainerRestartPolicy `json:"restartPolicy,omitempty" protobuf:"bytes,24,opt,name=restartPolicy"`
	// Rules, by exit code, that override restartPolicy; the first that matches applies.
	RestartPolicyRules []ContainerRestartRule `json:"restartPolicyRules,omitempty" listType:"atomic" protobuf:"bytes,25,rep,name=restartPolicyRules"`
	// Volumes to mount into the file system of the container.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath" listType:"map" listMapKey:"mountPath" protobuf:"bytes,9,rep,name=volumeMounts"`
	// Block volumes to provide as devices in the container.
	VolumeDevices []VolumeDevice `json:"volumeDevices,omitempty" patchStrategy:"merge" patchMergeKey:"devicePath" listType:"map" listMapKey:"devicePath" protobuf:"bytes,21,rep,name=volumeDevices"`
	// Periodic probe of liveness; the container is restarted if it fails.
	LivenessProbe *Probe `json:"livenessProbe,omitempty" protobuf:"bytes,10,opt,name=livenessProbe"`
	// Periodic probe of readiness; the pod is removed from the endpoints of services while it fails.
	ReadinessProbe *Probe `json:"readinessProbe,omitempty" protobuf:"bytes,11,opt,name=readinessProbe"`
	// Probe of successful startup; the other probes do not run until it succeeds, and the container is
	// restarted if it fails.
	StartupProbe *Probe `json:"startupProbe,omitempty" protobuf:"bytes,22,opt,name=startupProbe"`
	// Actions taken after the container starts and before it ends.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty" protobuf:"bytes,12,opt,name=lifecycle"`
	// Path of the file whose contents become the termination message; defaults to /dev/termination-log.
	// Cannot be changed.
	TerminationMessagePath string `json:"terminationMessagePath,omitempty" protobuf:"bytes,13,opt,name=terminationMessagePath"`
	// Source of the termination message: File (the default), or FallbackToLogsOnError to use the end of the
	// log if the file is empty and the container failed.
	TerminationMessagePolicy TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty" protobuf:"bytes,20,opt,name=terminationMessagePolicy" openapi:"enum=FallbackToLogsOnError|File"`
	// When the image is pulled: Always, IfNotPresent or Never. Defaults to Always if the tag is latest,
	// otherwise to IfNotPresent.
	ImagePullPolicy PullPolicy `json:"imagePullPolicy,omitempty" protobuf:"bytes,14,opt,name=imagePullPolicy" openapi:"enum=Always|IfNotPresent|Never"`
	// Security options of the container; they take precedence over those of the pod.
	SecurityContext *SecurityContext `json:"securityContext,omitempty" protobuf:"bytes,15,opt,name=securityContext"`
	// Whether standard input is kept open for clients that attach; otherwise reads return EOF.
	Stdin bool `json:"stdin,omitempty" protobuf:"varint,16,opt,name=stdin"`
	// Whether standard input is closed after the first client detaches.
	StdinOnce bool `json:"stdinOnce,omitempty" protobuf:"varint,17,opt,name=stdinOnce"`
	// Whether the container gets a terminal; requires stdin.
	TTY bool `json:"tty,omitempty" protobuf:"varint,18,opt,name=tty"`
}

// ContainerExtendedResourceRequest maps an extended resource of a container to a request of a resource claim.
type ContainerExtendedResourceRequest struct {
	// Name of the container that requests the resource.
	ContainerName string `json:"containerName" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Name of the extended resource, such as example.com/gpu.
	ResourceName string `json:"resourceName" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Name of the request in the resource claim.
	RequestName string `json:"requestName" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

// ContainerImage describes a container image on a node.
type ContainerImage struct {
	// Names by which the image is known.
	Names []string `json:"names" listType:"atomic" protobuf:"bytes,1,rep,name=names"`
	// Size of the image in bytes.
	SizeBytes int64 `json:"sizeBytes,omitempty" protobuf:"varint,2,opt,name=sizeBytes"`
}

// ContainerPort describes a network port of a container.
type ContainerPort struct {
	// Name of the port, to which services and probes can refer; unique in the pod, at most 15 characters.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Port of the node through which the container port is exposed; usually unset. With hostNetwork it must
	// equal containerPort.
	HostPort int32 `json:"hostPort,omitempty" protobuf:"varint,2,opt,name=hostPort"`
	// Port number, 1 to 65535, on the pod's IP address.
	ContainerPort int32 `json:"containerPort" protobuf:"varint,3,opt,name=containerPort" openapi:"required"`
	// Protocol of the port: TCP (the default), UDP or SCTP.
	Protocol Protocol `json:"protocol,omitempty" default:"TCP" protobuf:"bytes,4,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// IP address of the node that the host port is bound to; all addresses if unset.
	HostIP string `json:"hostIP,omitempty" protobuf:"bytes,5,opt,name=hostIP"`
}

// ContainerResizePolicy describes how a container is affected by a resize of a resource.
type ContainerResizePolicy struct {
	// Name of the resource: cpu or memory.
	ResourceName ResourceName `json:"resourceName" protobuf:"bytes,1,opt,name=resourceName" openapi:"required"`
	// Whether the container is restarted when the resource is resized: NotRequired (the default) or
	// RestartContainer.
	RestartPolicy ResourceResizeRestartPolicy `json:"restartPolicy" protobuf:"bytes,2,opt,name=restartPolicy" openapi:"required"`
}

// ContainerRestartRule describes what happens when a container ends in a certain way.
type ContainerRestartRule struct {
	// Action taken if the rule matches, such as Restart.
	Action ContainerRestartRuleAction `json:"action,omitempty" protobuf:"bytes,1,opt,name=action" openapi:"required"`
	// Exit codes that the rule matches.
	ExitCodes *ContainerRestartRuleOnExitCodes `json:"exitCodes,omitempty" protobuf:"bytes,2,opt,name=exitCodes"`
}

// ContainerRestartRuleOnExitCodes matches exit codes of a container.
type ContainerRestartRuleOnExitCodes struct {
	// Relation of the exit code to the values: In or NotIn.
	Operator ContainerRestartRuleOnExitCodesOperator `json:"operator,omitempty" protobuf:"bytes,1,opt,name=operator" openapi:"required"`
	// Exit codes; at most 255.
	Values []int32 `json:"values,omitempty" listType:"set" protobuf:"varint,2,rep,name=values"`
}

// ContainerState is the state of a container; exactly one of its fields is set, waiting if none is.
type ContainerState struct {
	// Details of a container that has not started yet.
	Waiting *ContainerStateWaiting `json:"waiting,omitempty" protobuf:"bytes,1,opt,name=waiting"`
	// Details of a running container.
	Running *ContainerStateRunning `json:"running,omitempty" protobuf:"bytes,2,opt,name=running"`
	// Details of a container that has ended.
	Terminated *ContainerStateTerminated `json:"terminated,omitempty" protobuf:"bytes,3,opt,name=terminated"`
}

// ContainerStateRunning describes a running container.
type ContainerStateRunning struct {
	// When the container was last started.
	StartedAt metav1.Time `json:"startedAt,omitempty" protobuf:"bytes,1,opt,name=startedAt"`
}

// ContainerStateTerminated describes a container that has ended.
type ContainerStateTerminated struct {
	// Exit status of the container's last termination.
	ExitCode int32 `json:"exitCode" protobuf:"varint,1,opt,name=exitCode" openapi:"required"`
	// Signal that ended the container, if any.
	Signal int32 `json:"signal,omitempty" protobuf:"varint,2,opt,name=signal"`
	// Brief reason in CamelCase, such as OOMKilled.
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// Termination message of the container, or human-readable details.
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
	// When this run of the container started.
	StartedAt metav1.Time `json:"startedAt,omitempty" protobuf:"bytes,5,opt,name=startedAt"`
	// When the container ended.
	FinishedAt metav1.Time `json:"finishedAt,omitempty" protobuf:"bytes,6,opt,name=finishedAt"`
	// ID of the container, as TYPE://ID.
	ContainerID string `json:"containerID,omitempty" protobuf:"bytes,7,opt,name=containerID"`
}

// ContainerStateWaiting describes a container that has not started yet.
type ContainerStateWaiting struct {
	// Brief reason in CamelCase, such as ImagePullBackOff.
	Reason string `json:"reason,omitempty" protobuf:"bytes,1,opt,name=reason"`
	// Human-readable details.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
}

// ContainerStatus is the observed state of a container.
type ContainerStatus struct {
	// Name of the container.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Current state of the container.
	State ContainerState `json:"state,omitempty" protobuf:"bytes,2,opt,name=state"`
	// State in which the container last ended; empty if it has not been restarted.
	LastTerminationState ContainerState `json:"lastState,omitempty" protobuf:"bytes,3,opt,name=lastState"`
	// Whether the container passes its readiness probe.
	Ready bool `json:"ready" protobuf:"varint,4,opt,name=ready" openapi:"required"`
	// Number of times the container has been restarted.
	RestartCount int32 `json:"restartCount" protobuf:"varint,5,opt,name=restartCount" openapi:"required"`
	// Name of the image that the container runs; may differ from that in the spec.
	Image string `json:"image" protobuf:"bytes,6,opt,name=image" openapi:"required"`
	// ID of the image, usually its digest.
	ImageID string `json:"imageID" protobuf:"bytes,7,opt,name=imageID" openapi:"required"`
	// ID of the container, as TYPE://ID.
	ContainerID string `json:"containerID,omitempty" protobuf:"bytes,8,opt,name=containerID"`
	// Whether the container has passed its startup probe and its postStart hook has finished.
	Started *bool `json:"started,omitempty" protobuf:"varint,9,opt,name=started"`
	// Requests that the node has allocated to the container.
	AllocatedResources ResourceList `json:"allocatedResources,omitempty" protobuf:"bytes,10,rep,name=allocatedResources"`
	// Requests and limits in effect.
	Resources *ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,11,opt,name=resources"`
	// Status of the volume mounts.
	VolumeMounts []VolumeMountStatus `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath" listType:"map" listMapKey:"mountPath" protobuf:"bytes,12,rep,name=volumeMounts"`
	// Identity of the first process of the container.
	User *ContainerUser `json:"user,omitempty" protobuf:"bytes,13,opt,name=user"`
	// Health of the devices allocated to the container.
	AllocatedResourcesStatus []ResourceStatus `json:"allocatedResourcesStatus,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,14,rep,name=allocatedResourcesStatus"`
	// Signal that is sent to end the container.
	StopSignal *Signal `json:"stopSignal,omitempty" protobuf:"bytes,15,opt,name=stopSignal" openapi:"enum=SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ"`
}

// ContainerUser is the identity of the first process of a container.
type ContainerUser struct {
	// User and groups, on Linux.
	Linux *LinuxContainerUser `json:"linux,omitempty" protobuf:"bytes,1,opt,name=linux"`
}

// DaemonEndpoint is the port of a daemon on a node.
type DaemonEndpoint struct {
	// Port number on the addresses of the node.
	Port int32 `json:"Port" protobuf:"varint,1,opt,name=Port" openapi:"required"`
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

// EndpointAddress is one address of an endpoint.
type EndpointAddress struct {
	// IP address; must not be loopback, link-local or link-local multicast.
	IP string `json:"ip" protobuf:"bytes,1,opt,name=ip" openapi:"required"`
	// Host name of the endpoint.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,3,opt,name=hostname"`
	// Name of the node that hosts the endpoint.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,4,opt,name=nodeName"`
	// Object that the endpoint represents, usually a pod.
	TargetRef *ObjectReference `json:"targetRef,omitempty" protobuf:"bytes,2,opt,name=targetRef"`
}

// EndpointPort is a port of the endpoints.
type EndpointPort struct {
	// Name of the port, that of the service's port; may be empty if there is only one.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Port number at the addresses.
	Port int32 `json:"port" protobuf:"varint,2,opt,name=port" openapi:"required"`
	// Protocol of the port: TCP (the default), UDP or SCTP.
	Protocol Protocol `json:"protocol,omitempty" protobuf:"bytes,3,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// Application protocol of the port, such as kubernetes.io/h2c.
	AppProtocol *string `json:"appProtocol,omitempty" protobuf:"bytes,4,opt,name=appProtocol"`
}

// EndpointSubset is a set of addresses with common ports; the endpoints are all their combinations.
type EndpointSubset struct {
	// Addresses that are ready.
	Addresses []EndpointAddress `json:"addresses,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=addresses"`
	// Addresses that are not ready.
	NotReadyAddresses []EndpointAddress `json:"notReadyAddresses,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=notReadyAddresses"`
	// Ports of the addresses.
	Ports []EndpointPort `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=ports"`
}

// Endpoints lists the endpoints of a service. Deprecated; use EndpointSlice.
type Endpoints struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Sets of addresses with common ports.
	Subsets []EndpointSubset `json:"subsets,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=subsets"`
}

// EnvFromSource is a source whose entries all become environment variables; exactly one of configMapRef and
// secretRef is set.
type EnvFromSource struct {
	// Prefix of the names of the variables.
	Prefix string `json:"prefix,omitempty" protobuf:"bytes,1,opt,name=prefix"`
	// Config map to use.
	ConfigMapRef *ConfigMapEnvSource `json:"configMapRef,omitempty" protobuf:"bytes,2,opt,name=configMapRef"`
	// Secret to use.
	SecretRef *SecretEnvSource `json:"secretRef,omitempty" protobuf:"bytes,3,opt,name=secretRef"`
}

// EnvVar is an environment variable of a container.
type EnvVar struct {
	// Name of the variable.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Value of the variable. References $(VAR) to earlier variables are expanded; $$(VAR) escapes one.
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// Source of the value; must be unset if value is not empty.
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty" protobuf:"bytes,3,opt,name=valueFrom"`
}

// EnvVarSource is the source of the value of an environment variable; exactly one of its fields is set.
type EnvVarSource struct {
	// Field of the pod, such as its name, namespace, labels or IP address.
	FieldRef *ObjectFieldSelector `json:"fieldRef,omitempty" protobuf:"bytes,1,opt,name=fieldRef"`
	// Resource request or limit of a container.
	ResourceFieldRef *ResourceFieldSelector `json:"resourceFieldRef,omitempty" protobuf:"bytes,2,opt,name=resourceFieldRef"`
	// Key of a config map in the namespace of the pod.
	ConfigMapKeyRef *ConfigMapKeySelector `json:"configMapKeyRef,omitempty" protobuf:"bytes,3,opt,name=configMapKeyRef"`
	// Key of a secret in the namespace of the pod.
	SecretKeyRef *SecretKeySelector `json:"secretKeyRef,omitempty" protobuf:"bytes,4,opt,name=secretKeyRef"`
	// Key of a file of environment variables in a volume of the pod.
	FileKeyRef *FileKeySelector `json:"fileKeyRef,omitempty" protobuf:"bytes,5,opt,name=fileKeyRef"`
}

// EphemeralContainer is a container that is added to a running pod, for debugging. It is never restarted and
// cannot be removed.
type EphemeralContainer struct {
	EphemeralContainerCommon `json:",inline" protobuf:"bytes,1,opt,name="`
	// Name of the container whose namespaces it shares; those of the pod if unset.
	TargetContainerName string `json:"targetContainerName,omitempty" protobuf:"bytes,2,opt,name=targetContainerName"`
}

// EphemeralContainerCommon holds the fields that an ephemeral container has in common with others.
type EphemeralContainerCommon struct {
	// Name of the container, unique in the pod; a DNS label. Cannot be changed.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Name of the container image; the tag latest is implied if there is neither a tag nor a digest.
	Image string `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// Entrypoint to run, not in a shell; that of the image if unset. References $(VAR) are expanded from the
	// container's environment; $$(VAR) escapes one.
	Command []string `json:"command,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=command"`
	// Arguments of the entrypoint; those of the image if unset. References $(VAR) are expanded as in command.
	Args []string `json:"args,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=args"`
	// Working directory of the container; that of the image if unset.
	WorkingDir string `json:"workingDir,omitempty" protobuf:"bytes,5,opt,name=workingDir"`
	// Ports that the container exposes. Informational, except for names and host ports: a port that is not
	// listed can be reached, too.
	Ports []ContainerPort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"containerPort" listType:"map" listMapKey:"containerPort,protocol" protobuf:"bytes,6,rep,name=ports"`
	// Sources whose entries all become environment variables; if a key is in several, the last one takes
	// precedence.
	EnvFrom []EnvFromSource `json:"envFrom,omitempty" listType:"atomic" protobuf:"bytes,19,rep,name=envFrom"`
	// Environment variables; they take precedence over those of envFrom.
	Env []EnvVar `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,7,rep,name=env"`
	// Compute resources that the container requires.
	Resources ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,8,opt,name=resources"`
	// Whether a resize of a resource restarts the container.
	ResizePolicy []ContainerResizePolicy `json:"resizePolicy,omitempty" listType:"atomic" protobuf:"bytes,23,rep,name=resizePolicy"`
	// Restart policy of the container: Always, OnFailure or Never; that of the pod if unset. An init
	// container with Always is a sidecar: it is not waited for and runs until the other containers have
	// ended.
	RestartPolicy *ContainerRestartPolicy `json:"restartPolicy,omitempty" protobuf:"bytes,24,opt,name=restartPolicy"`
	// Rules, by exit code, that override restartPolicy; the first that matches applies.
	RestartPolicyRules []ContainerRestartRule `json:"restartPolicyRules,omitempty" listType:"atomic" protobuf:"bytes,25,rep,name=restartPolicyRules"`
	// Volumes to mount into the file system of the container.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath" listType:"map" listMapKey:"mountPath" protobuf:"bytes,9,rep,name=volumeMounts"`
	// Block volumes to provide as devices in the container.
	VolumeDevices []VolumeDevice `json:"volumeDevices,omitempty" patchStrategy:"merge" patchMergeKey:"devicePath" listType:"map" listMapKey:"devicePath" protobuf:"bytes,21,rep,name=volumeDevices"`
	// Periodic probe of liveness; the container is restarted if it fails.
	LivenessProbe *Probe `json:"livenessProbe,omitempty" protobuf:"bytes,10,opt,name=livenessProbe"`
	// Periodic probe of readiness; the pod is removed from the endpoints of services while it fails.
	ReadinessProbe *Probe `json:"readinessProbe,omitempty" protobuf:"bytes,11,opt,name=readinessProbe"`
	// Probe of successful startup; the other probes do not run until it succeeds, and the container is
	// restarted if it fails.
	StartupProbe *Probe `json:"startupProbe,omitempty" protobuf:"bytes,22,opt,name=startupProbe"`
	// Actions taken after the container starts and before it ends.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty" protobuf:"bytes,12,opt,name=lifecycle"`
	// Path of the file whose contents become the termination message; defaults to /dev/termination-log.
	// Cannot be changed.
	TerminationMessagePath string `json:"terminationMessagePath,omitempty" protobuf:"bytes,13,opt,name=terminationMessagePath"`
	// Source of the termination message: File (the default), or FallbackToLogsOnError to use the end of the
	// log if the file is empty and the container failed.
	TerminationMessagePolicy TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty" protobuf:"bytes,20,opt,name=terminationMessagePolicy" openapi:"enum=FallbackToLogsOnError|File"`
	// When the image is pulled: Always, IfNotPresent or Never. Defaults to Always if the tag is latest,
	// otherwise to IfNotPresent.
	ImagePullPolicy PullPolicy `json:"imagePullPolicy,omitempty" protobuf:"bytes,14,opt,name=imagePullPolicy" openapi:"enum=Always|IfNotPresent|Never"`
	// Security options of the container; they take precedence over those of the pod.
	SecurityContext *SecurityContext `json:"securityContext,omitempty" protobuf:"bytes,15,opt,name=securityContext"`
	// Whether standard input is kept open for clients that attach; otherwise reads return EOF.
	Stdin bool `json:"stdin,omitempty" protobuf:"varint,16,opt,name=stdin"`
	// Whether standard input is closed after the first client detaches.
	StdinOnce bool `json:"stdinOnce,omitempty" protobuf:"varint,17,opt,name=stdinOnce"`
	// Whether the container gets a terminal; requires stdin.
	TTY bool `json:"tty,omitempty" protobuf:"varint,18,opt,name=tty"`
}

// EphemeralVolumeSource is a volume whose claim is created for one pod and deleted with it.
type EphemeralVolumeSource struct {
	// Template of the claim, which is named POD-VOLUME.
	VolumeClaimTemplate *PersistentVolumeClaimTemplate `json:"volumeClaimTemplate,omitempty" protobuf:"bytes,1,opt,name=volumeClaimTemplate"`
}

// Event reports an occurrence that concerns an object. Events are informational and expire after a limited
// time.
type Event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata" openapi:"required"`
	// Object that the event is about.
	InvolvedObject ObjectReference `json:"involvedObject" protobuf:"bytes,2,opt,name=involvedObject" openapi:"required"`
	// Short, machine-readable reason for the event.
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// Human-readable description.
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
	// Component that reports the event.
	Source EventSource `json:"source,omitempty" protobuf:"bytes,5,opt,name=source"`
	// When the event was first recorded.
	FirstTimestamp metav1.Time `json:"firstTimestamp,omitempty" protobuf:"bytes,6,opt,name=firstTimestamp"`
	// When the event was most recently recorded.
	LastTimestamp metav1.Time `json:"lastTimestamp,omitempty" protobuf:"bytes,7,opt,name=lastTimestamp"`
	// Number of occurrences.
	Count int32 `json:"count,omitempty" protobuf:"varint,8,opt,name=count"`
	// Type of the event: Normal or Warning.
	Type string `json:"type,omitempty" protobuf:"bytes,9,opt,name=type"`
	// When the event was first observed, with microsecond precision.
	EventTime metav1.MicroTime `json:"eventTime,omitempty" protobuf:"bytes,10,opt,name=eventTime"`
	// Data on the recurrence of the event; unset if it has occurred once.
	Series *EventSeries `json:"series,omitempty" protobuf:"bytes,11,opt,name=series"`
	// What was done or failed, machine-readable.
	Action string `json:"action,omitempty" protobuf:"bytes,12,opt,name=action"`
	// Secondary object, if the event involves one.
	Related *ObjectReference `json:"related,omitempty" protobuf:"bytes,13,opt,name=related"`
	// Name of the controller that reports the event.
	ReportingController string `json:"reportingComponent" protobuf:"bytes,14,opt,name=reportingComponent"`
	// Identity of the instance of the controller.
	ReportingInstance string `json:"reportingInstance" protobuf:"bytes,15,opt,name=reportingInstance"`
}

// EventSeries describes the recurrence of an event.
type EventSeries struct {
	// Number of occurrences so far.
	Count int32 `json:"count,omitempty" protobuf:"varint,1,opt,name="`
	// When the event last occurred.
	LastObservedTime metav1.MicroTime `json:"lastObservedTime,omitempty" protobuf:"bytes,2,opt,name="`
}

// EventSource identifies the reporter of an event.
type EventSource struct {
	// Name of the component.
	Component string `json:"component,omitempty" protobuf:"bytes,1,opt,name=component"`
	// Name of the node on which the event was generated.
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
}

// ExecAction runs a command in a container.
type ExecAction struct {
	// Command and arguments, not run in a shell; the working directory is the root of the container's file
	// system.
	Command []string `json:"command,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=command"`
}

// FCVolumeSource is a Fibre Channel volume; either wwids or both targetWWNs and lun are set.
type FCVolumeSource struct {
	// World wide names of the targets.
	TargetWWNs []string `json:"targetWWNs,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=targetWWNs"`
	// Logical unit number at the targets.
	Lun *int32 `json:"lun,omitempty" protobuf:"varint,2,opt,name=lun"`
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// World wide identifiers of the volume.
	WWIDs []string `json:"wwids,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=wwids"`
}

// FileKeySelector selects a key of a file with lines of the form KEY=value.
type FileKeySelector struct {
	// Name of an emptyDir volume of the pod that contains the file.
	VolumeName string `json:"volumeName" protobuf:"bytes,1,opt,name=volumeName" openapi:"required"`
	// Path of the file relative to the root of the volume; must not contain '..'.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// Key to select.
	Key string `json:"key" protobuf:"bytes,3,opt,name=key" openapi:"required"`
	// Whether the file or its key may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// FlexPersistentVolumeSource is a volume of a FlexVolume driver, with a secret in any namespace.
type FlexPersistentVolumeSource struct {
	// Name of the driver on the node.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Number of the partition to mount; 0 means the whole disk.
	Partition int32 `json:"partition,omitempty" protobuf:"varint,3,opt,name=partition"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
}

// GRPCAction queries a gRPC health service.
type GRPCAction struct {
	// Port number.
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port" openapi:"required"`
	// Service name of the health check request; empty for the server as a whole.
	Service *string `json:"service" protobuf:"bytes,2,opt,name=service"`
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

// HTTPGetAction sends an HTTP GET request to a container.
type HTTPGetAction struct {
	// Path of the request; defaults to /.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
	// Number or name of the port of the container.
	Port intstr.IntOrString `json:"port" protobuf:"bytes,2,opt,name=port" openapi:"required"`
	// Host to connect to; the pod's IP address if unset.
	Host string `json:"host,omitempty" protobuf:"bytes,3,opt,name=host"`
	// Scheme of the request: HTTP (the default), or HTTPS without verification of the certificate.
	Scheme URIScheme `json:"scheme,omitempty" protobuf:"bytes,4,opt,name=scheme" openapi:"enum=HTTP|HTTPS"`
	// Headers of the request; the same name may be repeated.
	HTTPHeaders []HTTPHeader `json:"httpHeaders,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=httpHeaders"`
}

// HTTPHeader is a header of an HTTP request.
type HTTPHeader struct {
	// Name of the header.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Value of the header.
	Value string `json:"value" protobuf:"bytes,2,opt,name=value" openapi:"required"`
}

// HostAlias is an entry of the file /etc/hosts of a pod.
type HostAlias struct {
	// IP address of the entry.
	IP string `json:"ip" protobuf:"bytes,1,opt,name=ip" openapi:"required"`
	// Host names of the IP address.
	Hostnames []string `json:"hostnames,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=hostnames"`
}

// HostIP is an IP address of a node.
type HostIP struct {
	// IP address of the node.
	IP string `json:"ip" protobuf:"bytes,1,opt,name=ip" openapi:"required"`
}

// HostPathVolumeSource is a file or directory of the node.
type HostPathVolumeSource struct {
	// Path on the node; symbolic links are followed.
	Path string `json:"path" protobuf:"bytes,1,opt,name=path" openapi:"required"`
	// Kind of file that must exist or is created before mounting, such as Directory or FileOrCreate; not
	// checked if empty.
	Type *HostPathType `json:"type,omitempty" protobuf:"bytes,2,opt,name=type" openapi:"enum=|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket"`
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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

// ImageVolumeSource is a volume that contains the files of an OCI image or artifact, read-only.
type ImageVolumeSource struct {
	// Name of the image or artifact, in the format of a container image.
	Reference string `json:"reference,omitempty" protobuf:"bytes,1,opt,name=reference"`
	// When the image is pulled: Always, IfNotPresent or Never. Defaults to Always if the tag is latest,
	// otherwise to IfNotPresent.
	PullPolicy PullPolicy `json:"pullPolicy,omitempty" protobuf:"bytes,2,opt,name=pullPolicy" openapi:"enum=Always|IfNotPresent|Never"`
}

// ImageVolumeStatus is the status of an image volume.
type ImageVolumeStatus struct {
	// Digest of the image that is mounted.
	ImageRef string `json:"imageRef,omitempty" protobuf:"bytes,1,opt,name=imageRef" openapi:"required"`
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

// Lifecycle describes actions taken on events in the life of a container.
type Lifecycle struct {
	// Action taken immediately after the container starts; if it fails, the container is ended and restarted
	// according to its restart policy.
	PostStart *LifecycleHandler `json:"postStart,omitempty" protobuf:"bytes,1,opt,name=postStart"`
	// Action taken before the container is ended because its pod is deleted or a probe failed; not if it ends
	// on its own. The grace period starts before the action.
	PreStop *LifecycleHandler `json:"preStop,omitempty" protobuf:"bytes,2,opt,name=preStop"`
	// Signal sent to end the container; that of the image, or SIGTERM, if unset. Requires os.name of the pod.
	StopSignal *Signal `json:"stopSignal,omitempty" protobuf:"bytes,3,opt,name=stopSignal" openapi:"enum=SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ"`
}

// LifecycleHandler describes an action; exactly one of exec, httpGet and sleep is set.
type LifecycleHandler struct {
	// Runs a command in the container.
	Exec *ExecAction `json:"exec,omitempty" protobuf:"bytes,1,opt,name=exec"`
	// Sends an HTTP request.
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty" protobuf:"bytes,2,opt,name=httpGet"`
	// Deprecated; not supported.
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" protobuf:"bytes,3,opt,name=tcpSocket"`
	// Waits for a number of seconds.
	Sleep *SleepAction `json:"sleep,omitempty" protobuf:"bytes,4,opt,name=sleep"`
}

// LimitRange limits the resource usage of each pod, container or claim in a namespace.
type LimitRange struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Limits to enforce.
	Spec LimitRangeSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// LimitRangeItem describes the limits for one type of object.
type LimitRangeItem struct {
	// Type of the objects: Pod, Container or PersistentVolumeClaim.
	Type LimitType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Maximum of each resource.
	Max ResourceList `json:"max,omitempty" protobuf:"bytes,2,rep,name=max"`
	// Minimum of each resource.
	Min ResourceList `json:"min,omitempty" protobuf:"bytes,3,rep,name=min"`
	// Default limits of containers.
	Default ResourceList `json:"default,omitempty" protobuf:"bytes,4,rep,name=default"`
	// Default requests of containers.
	DefaultRequest ResourceList `json:"defaultRequest,omitempty" protobuf:"bytes,5,rep,name=defaultRequest"`
	// Maximum ratio of limit to request of each resource.
	MaxLimitRequestRatio ResourceList `json:"maxLimitRequestRatio,omitempty" protobuf:"bytes,6,rep,name=maxLimitRequestRatio"`
}

// LimitRangeSpec describes the limits of a namespace.
type LimitRangeSpec struct {
	// Limits, one entry per type of object.
	Limits []LimitRangeItem `json:"limits" listType:"atomic" protobuf:"bytes,1,rep,name=limits" openapi:"required"`
}

// LinuxContainerUser is the identity of the first process of a container on Linux.
type LinuxContainerUser struct {
	// User ID of the process when it was started.
	UID int64 `json:"uid" protobuf:"varint,1,opt,name=" openapi:"required"`
	// Primary group ID of the process when it was started.
	GID int64 `json:"gid" protobuf:"varint,2,opt,name=" openapi:"required"`
	// Supplemental group IDs of the process when it was started.
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty" listType:"atomic" protobuf:"varint,3,rep,name=supplementalGroups"`
}

// LoadBalancerIngress is one ingress point of a load balancer.
type LoadBalancerIngress struct {
	// IP address, for load balancers that are reached by address.
	IP string `json:"ip,omitempty" protobuf:"bytes,1,opt,name=ip"`
	// Host name, for load balancers that are reached by name.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,2,opt,name=hostname"`
	// How traffic to the address is delivered: VIP if the destination is the load balancer's address, Proxy
	// if it is that of the node or pod.
	IPMode *LoadBalancerIPMode `json:"ipMode,omitempty" protobuf:"bytes,3,opt,name=ipMode"`
	// Status of the ports of the ingress point.
	Ports []PortStatus `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=ports"`
}

// LoadBalancerStatus is the status of a load balancer.
type LoadBalancerStatus struct {
	// Ingress points of the load balancer.
	Ingress []LoadBalancerIngress `json:"ingress,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ingress"`
}

// LocalObjectReference references an object in the same namespace.
type LocalObjectReference struct {
	// Name of the object.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
}

// LocalVolumeSource is a disk, partition or directory of one node.
type LocalVolumeSource struct {
	// Path of the directory or block device on the node.
	Path string `json:"path" protobuf:"bytes,1,opt,name=path" openapi:"required"`
	// File system type of the volume if path is a block device; determined automatically if unset.
	FSType *string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
}

// ModifyVolumeStatus is the status of a modification of a volume.
type ModifyVolumeStatus struct {
	// Name of the volume attributes class that is being applied.
	TargetVolumeAttributesClassName string `json:"targetVolumeAttributesClassName,omitempty" protobuf:"bytes,1,opt,name=targetVolumeAttributesClassName"`
	// Status of the modification: Pending, InProgress or Infeasible.
	Status PersistentVolumeClaimModifyVolumeStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required,enum=InProgress|Infeasible|Pending"`
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

// Namespace provides a scope for names, permissions and quotas.
type Namespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the namespace.
	Spec NamespaceSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status NamespaceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// NamespaceCondition describes one aspect of the state of a namespace.
type NamespaceCondition struct {
	// Type of the condition, a CamelCase name.
	Type NamespaceConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// NamespaceSpec describes the desired behavior of a namespace.
type NamespaceSpec struct {
	// Finalizers that must be removed before the namespace is removed from storage.
	Finalizers []FinalizerName `json:"finalizers,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=finalizers"`
}

// NamespaceStatus is the observed state of a namespace.
type NamespaceStatus struct {
	// Phase of the namespace: Active or Terminating.
	Phase NamespacePhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase" openapi:"enum=Active|Terminating"`
	// Conditions of the namespace, such as what delays its deletion.
	Conditions []NamespaceCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,2,rep,name=conditions"`
}

// Node is a machine that runs pods.
type Node struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the node.
	Spec NodeSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status NodeStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// NodeAddress is an address of a node.
type NodeAddress struct {
	// Type of the address: Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
	Type NodeAddressType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// IP address or DNS name, depending on the type.
	Address string `json:"address" protobuf:"bytes,2,opt,name=address" openapi:"required"`
}

// NodeAffinity describes the nodes that a pod requires or prefers.
type NodeAffinity struct {
	// Requirements a node must meet when the pod is scheduled; later changes of the node have no effect.
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" protobuf:"bytes,1,opt,name=requiredDuringSchedulingIgnoredDuringExecution"`
	// Preferences, each with a weight that is added to the score of a node that matches.
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=preferredDuringSchedulingIgnoredDuringExecution"`
}

// NodeAllocatableResourceClaimStatus describes the allocatable resources of the node that a resource claim
// consumes.
type NodeAllocatableResourceClaimStatus struct {
	// Name of the resource claim, in the namespace of the pod.
	ResourceClaimName string `json:"resourceClaimName" protobuf:"bytes,1,opt,name=resourceClaimName" openapi:"required"`
	// Names of the containers of the pod that use the claim.
	Containers []string `json:"containers,omitempty" listType:"set" protobuf:"bytes,2,rep,name=containers"`
	// Amounts of the node's allocatable resources.
	Resources map[ResourceName]resource.Quantity `json:"resources" protobuf:"bytes,3,rep,name=resources" openapi:"required"`
}

// NodeCondition describes one aspect of the state of a node.
type NodeCondition struct {
	// Type of the condition, such as Ready or MemoryPressure.
	Type NodeConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time the condition was last updated.
	LastHeartbeatTime metav1.Time `json:"lastHeartbeatTime,omitempty" protobuf:"bytes,3,opt,name=lastHeartbeatTime"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// NodeConfigSource is the source of a kubelet's configuration. Deprecated; not used.
type NodeConfigSource struct {
	// Config map that holds the configuration.
	ConfigMap *ConfigMapNodeConfigSource `json:"configMap,omitempty" protobuf:"bytes,2,opt,name=configMap"`
}

// NodeConfigStatus is the status of a kubelet's configuration. Deprecated; not used.
type NodeConfigStatus struct {
	// Configuration that the node is to use.
	Assigned *NodeConfigSource `json:"assigned,omitempty" protobuf:"bytes,1,opt,name=assigned"`
	// Configuration that the node uses.
	Active *NodeConfigSource `json:"active,omitempty" protobuf:"bytes,2,opt,name=active"`
	// Configuration that the node falls back to.
	LastKnownGood *NodeConfigSource `json:"lastKnownGood,omitempty" protobuf:"bytes,3,opt,name=lastKnownGood"`
	// Why the assigned configuration is not used.
	Error string `json:"error,omitempty" protobuf:"bytes,4,opt,name=error"`
}

// NodeDaemonEndpoints lists the ports of the daemons on a node.
type NodeDaemonEndpoints struct {
	// Endpoint of the kubelet.
	KubeletEndpoint DaemonEndpoint `json:"kubeletEndpoint,omitempty" protobuf:"bytes,1,opt,name=kubeletEndpoint"`
}

// NodeFeatures describes features of the container runtime of a node.
type NodeFeatures struct {
	// Whether the runtime supports supplementalGroupsPolicy.
	SupplementalGroupsPolicy *bool `json:"supplementalGroupsPolicy,omitempty" protobuf:"varint,1,opt,name=supplementalGroupsPolicy"`
}

// NodeProxyOptions are the query options of a request to the proxy subresource of a node.
type NodeProxyOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Path of the request to the kubelet.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
}

// NodeRuntimeHandler describes a runtime handler of a node.
type NodeRuntimeHandler struct {
	// Name of the handler, as used in a RuntimeClass; empty for the default handler.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// Features of the handler.
	Features *NodeRuntimeHandlerFeatures `json:"features,omitempty" protobuf:"bytes,2,opt,name=features"`
}

// NodeRuntimeHandlerFeatures describes features of a runtime handler.
type NodeRuntimeHandlerFeatures struct {
	// Whether the handler supports recursive read-only mounts.
	RecursiveReadOnlyMounts *bool `json:"recursiveReadOnlyMounts,omitempty" protobuf:"varint,1,opt,name=recursiveReadOnlyMounts"`
	// Whether the handler supports user namespaces.
	UserNamespaces *bool `json:"userNamespaces,omitempty" protobuf:"varint,2,opt,name=userNamespaces"`
}

// NodeSelector selects nodes that match at least one of its terms.
type NodeSelector struct {
	// Terms of the selector; at least one.
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms" listType:"atomic" protobuf:"bytes,1,rep,name=nodeSelectorTerms" openapi:"required"`
}

// NodeSelectorRequirement is a requirement on a label or field of a node.
type NodeSelectorRequirement struct {
	// Label key or field that the requirement applies to.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Relation of the label or field to the values: In, NotIn, Exists, DoesNotExist, Gt or Lt.
	Operator NodeSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required,enum=DoesNotExist|Exists|Gt|In|Lt|NotIn"`
	// Values to compare with: one or more for In and NotIn, a single integer for Gt and Lt, none otherwise.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// NodeSelectorTerm selects nodes that match all its requirements; an empty term matches no node.
type NodeSelectorTerm struct {
	// Requirements on labels.
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=matchExpressions"`
	// Requirements on fields; only metadata.name is supported.
	MatchFields []NodeSelectorRequirement `json:"matchFields,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=matchFields"`
}

// NodeSpec describes the desired behavior of a node.
type NodeSpec struct {
	// IP range of the pods on the node; the first of podCIDRs.
	PodCIDR string `json:"podCIDR,omitempty" protobuf:"bytes,1,opt,name=podCIDR"`
	// IP ranges of the pods on the node, at most one per address family.
	PodCIDRs []string `json:"podCIDRs,omitempty" patchStrategy:"merge" listType:"set" protobuf:"bytes,7,rep,name=podCIDRs"`
	// ID of the node assigned by the cloud provider, as PROVIDER://ID. Cannot be changed once set.
	ProviderID string `json:"providerID,omitempty" protobuf:"bytes,3,opt,name=providerID"`
	// Whether the node is cordoned: no new pods are scheduled to it.
	Unschedulable bool `json:"unschedulable,omitempty" protobuf:"varint,4,opt,name=unschedulable"`
	// Taints of the node.
	Taints []Taint `json:"taints,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=taints"`
	// Deprecated; not used.
	ConfigSource *NodeConfigSource `json:"configSource,omitempty" protobuf:"bytes,6,opt,name=configSource"`
	// Deprecated; not used.
	DoNotUseExternalID string `json:"externalID,omitempty" protobuf:"bytes,2,opt,name=externalID"`
}

// NodeStatus is the observed state of a node.
type NodeStatus struct {
	// Total resources of the node.
	Capacity ResourceList `json:"capacity,omitempty" protobuf:"bytes,1,rep,name=capacity"`
	// Resources of the node that are available to pods; defaults to capacity.
	Allocatable ResourceList `json:"allocatable,omitempty" protobuf:"bytes,2,rep,name=allocatable"`
	// Deprecated; not used.
	Phase NodePhase `json:"phase,omitempty" protobuf:"bytes,3,opt,name=phase" openapi:"enum=Pending|Running|Terminated"`
	// Conditions of the node, such as Ready.
	Conditions []NodeCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	// Addresses of the node.
	Addresses []NodeAddress `json:"addresses,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,5,rep,name=addresses"`
	// Endpoints of the daemons on the node.
	DaemonEndpoints NodeDaemonEndpoints `json:"daemonEndpoints,omitempty" protobuf:"bytes,6,opt,name=daemonEndpoints"`
	// Identifiers and versions of the node's system.
	NodeInfo NodeSystemInfo `json:"nodeInfo,omitempty" protobuf:"bytes,7,opt,name=nodeInfo"`
	// Container images on the node, largest first; at most 50 are reported.
	Images []ContainerImage `json:"images,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=images"`
	// Names of the attachable volumes that pods on the node use.
	VolumesInUse []UniqueVolumeName `json:"volumesInUse,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=volumesInUse"`
	// Volumes that are attached to the node.
	VolumesAttached []AttachedVolume `json:"volumesAttached,omitempty" listType:"atomic" protobuf:"bytes,10,rep,name=volumesAttached"`
	// Deprecated; not used.
	Config *NodeConfigStatus `json:"config,omitempty" protobuf:"bytes,11,opt,name=config"`
	// Runtime handlers of the node.
	RuntimeHandlers []NodeRuntimeHandler `json:"runtimeHandlers,omitempty" listType:"atomic" protobuf:"bytes,12,rep,name=runtimeHandlers"`
	// Features of the node's container runtime.
	Features *NodeFeatures `json:"features,omitempty" protobuf:"bytes,13,opt,name=features"`
	// Names of the kubelet's features that affect scheduling.
	DeclaredFeatures []string `json:"declaredFeatures,omitempty" listType:"atomic" protobuf:"bytes,14,rep,name=declaredFeatures"`
}

// NodeSwapStatus describes the swap memory of a node.
type NodeSwapStatus struct {
	// Total swap memory in bytes.
	Capacity *int64 `json:"capacity,omitempty" protobuf:"varint,1,opt,name=capacity"`
}

// NodeSystemInfo describes the system of a node.
type NodeSystemInfo struct {
	// Machine ID reported by the node; unique in the cluster.
	MachineID string `json:"machineID" protobuf:"bytes,1,opt,name=machineID" openapi:"required"`
	// UUID of the system, usually that of the hardware.
	SystemUUID string `json:"systemUUID" protobuf:"bytes,2,opt,name=systemUUID" openapi:"required"`
	// Boot ID; changes with each boot.
	BootID string `json:"bootID" protobuf:"bytes,3,opt,name=bootID" openapi:"required"`
	// Version of the kernel.
	KernelVersion string `json:"kernelVersion" protobuf:"bytes,4,opt,name=kernelVersion" openapi:"required"`
	// Name of the operating system image.
	OSImage string `json:"osImage" protobuf:"bytes,5,opt,name=osImage" openapi:"required"`
	// Container runtime and its version, as TYPE://VERSION.
	ContainerRuntimeVersion string `json:"containerRuntimeVersion" protobuf:"bytes,6,opt,name=containerRuntimeVersion" openapi:"required"`
	// Version of the kubelet.
	KubeletVersion string `json:"kubeletVersion" protobuf:"bytes,7,opt,name=kubeletVersion" openapi:"required"`
	// Deprecated; not populated.
	KubeProxyVersion string `json:"kubeProxyVersion" protobuf:"bytes,8,opt,name=kubeProxyVersion" openapi:"required"`
	// Operating system, such as linux.
	OperatingSystem string `json:"operatingSystem" protobuf:"bytes,9,opt,name=operatingSystem" openapi:"required"`
	// Processor architecture, such as amd64.
	Architecture string `json:"architecture" protobuf:"bytes,10,opt,name=architecture" openapi:"required"`
	// Swap memory of the node.
	Swap *NodeSwapStatus `json:"swap,omitempty" protobuf:"bytes,11,opt,name=swap"`
}

// ObjectFieldSelector selects a field of the pod.
type ObjectFieldSelector struct {
	// API version that fieldPath refers to; defaults to v1.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,1,opt,name=apiVersion"`
	// Path of the field, such as metadata.name or metadata.labels['app'].
	FieldPath string `json:"fieldPath" protobuf:"bytes,2,opt,name=fieldPath" openapi:"required"`
}

// ObjectReference references an object of any kind, or a part of it.
type ObjectReference struct {
	// Kind of the object.
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// Namespace of the object; empty if it is cluster-scoped.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// Name of the object.
	Name string `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	// UID of the object.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,4,opt,name=uid"`
	// API version of the object.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,5,opt,name=apiVersion"`
	// Resource version of the object.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,6,opt,name=resourceVersion"`
	// Path of the part of the object, such as spec.containers{name}.
	FieldPath string `json:"fieldPath,omitempty" protobuf:"bytes,7,opt,name=fieldPath"`
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

// PersistentVolumeClaimVolumeSource is the volume that a claim is bound to.
type PersistentVolumeClaimVolumeSource struct {
	// Name of the claim, in the namespace of the pod.
	ClaimName string `json:"claimName" protobuf:"bytes,1,opt,name=claimName" openapi:"required"`
	// Whether all mounts of the volume are read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,2,opt,name=readOnly"`
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

// PhotonPersistentDiskVolumeSource is a disk of Photon.
type PhotonPersistentDiskVolumeSource struct {
	// ID of the disk.
	PdID string `json:"pdID" protobuf:"bytes,1,opt,name=pdID" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
}

// Pod is a group of containers that run together on one node and share network and volumes.
type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the pod.
	Spec PodSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users. May lag behind the
	// actual state.
	Status PodStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PodAffinity describes the pods that a pod requires or prefers to be co-located with.
type PodAffinity struct {
	// Terms that must all be satisfied when the pod is scheduled; later changes have no effect.
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requiredDuringSchedulingIgnoredDuringExecution"`
	// Preferences, each with a weight that is added to the score of a node that satisfies it.
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=preferredDuringSchedulingIgnoredDuringExecution"`
}

// PodAffinityTerm selects pods, and the topology domain in which co-location is evaluated.
type PodAffinityTerm struct {
	// Label selector of the pods; none if unset.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty" protobuf:"bytes,1,opt,name=labelSelector"`
	// Names of the namespaces of the pods, in addition to those of namespaceSelector; the pod's own if both
	// are unset.
	Namespaces []string `json:"namespaces,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=namespaces"`
	// Key of node labels; nodes with the same value are in the same topology domain. Required.
	TopologyKey string `json:"topologyKey" protobuf:"bytes,3,opt,name=topologyKey" openapi:"required"`
	// Label selector of the namespaces of the pods, in addition to namespaces; an empty selector selects all.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,4,opt,name=namespaceSelector"`
	// Label keys whose values are taken from this pod and must be the same on the other pods.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=matchLabelKeys"`
	// Label keys whose values are taken from this pod and must differ on the other pods.
	MismatchLabelKeys []string `json:"mismatchLabelKeys,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=mismatchLabelKeys"`
}

// PodAntiAffinity describes the pods that a pod must or preferably should not be co-located with.
type PodAntiAffinity struct {
	// Terms of which none may apply to the chosen node when the pod is scheduled; later changes have no
	// effect.
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requiredDuringSchedulingIgnoredDuringExecution"`
	// Preferences, each with a weight that is subtracted from the score of a node that violates it.
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=preferredDuringSchedulingIgnoredDuringExecution"`
}

// PodAttachOptions are the query options of a request to attach to a container.
type PodAttachOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Whether to connect standard input.
	Stdin bool `json:"stdin,omitempty" protobuf:"varint,1,opt,name=stdin"`
	// Whether to connect standard output.
	Stdout bool `json:"stdout,omitempty" protobuf:"varint,2,opt,name=stdout"`
	// Whether to connect standard error.
	Stderr bool `json:"stderr,omitempty" protobuf:"varint,3,opt,name=stderr"`
	// Whether the container has a terminal, to which the streams are connected.
	TTY bool `json:"tty,omitempty" protobuf:"varint,4,opt,name=tty"`
	// Name of the container; may be unset if the pod has only one.
	Container string `json:"container,omitempty" protobuf:"bytes,5,opt,name=container"`
}

// PodCertificateProjection projects a private key, and a certificate issued for the pod, into files.
type PodCertificateProjection struct {
	// Name of the signer of the certificate, such as example.com/clients.
	SignerName string `json:"signerName,omitempty" protobuf:"bytes,1,opt,name=signerName" openapi:"required"`
	// Type of the key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.
	KeyType string `json:"keyType,omitempty" protobuf:"bytes,2,opt,name=keyType" openapi:"required"`
	// Maximum validity of the certificate in seconds; defaults to 86400 (24 hours).
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

// PodCondition describes one aspect of the state of a pod.
type PodCondition struct {
	// Type of the condition, such as Ready; types of other components are prefixed with a domain.
	Type PodConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Generation of the pod that the condition was computed from.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,7,opt,name=observedGeneration"`
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

// PodDNSConfig describes DNS parameters that are added to those of dnsPolicy.
type PodDNSConfig struct {
	// IP addresses of name servers, used before those of the policy; at most 3 in total.
	Nameservers []string `json:"nameservers,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=nameservers"`
	// Search domains, used before those of the policy.
	Searches []string `json:"searches,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=searches"`
	// Resolver options; they take precedence over those of the policy.
	Options []PodDNSConfigOption `json:"options,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=options"`
}

// PodDNSConfigOption is a resolver option.
type PodDNSConfigOption struct {
	// Name of the option, such as ndots.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Value of the option; unset for options without one.
	Value *string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
}

// PodExecOptions are the query options of a request to run a command in a container.
type PodExecOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Whether to connect standard input.
	Stdin bool `json:"stdin,omitempty" protobuf:"varint,1,opt,name=stdin"`
	// Whether to connect standard output.
	Stdout bool `json:"stdout,omitempty" protobuf:"varint,2,opt,name=stdout"`
	// Whether to connect standard error.
	Stderr bool `json:"stderr,omitempty" protobuf:"varint,3,opt,name=stderr"`
	// Whether to allocate a terminal for the command.
	TTY bool `json:"tty,omitempty" protobuf:"varint,4,opt,name=tty"`
	// Name of the container; may be unset if the pod has only one.
	Container string `json:"container,omitempty" protobuf:"bytes,5,opt,name=container"`
	// Command and arguments, not run in a shell.
	Command []string `json:"command" listType:"atomic" protobuf:"bytes,6,rep,name=command" openapi:"required"`
}

// PodExtendedResourceClaimStatus describes the resource claim created for the extended resources of a pod.
type PodExtendedResourceClaimStatus struct {
	// Mapping of the extended resources of containers to requests of the claim.
	RequestMappings []ContainerExtendedResourceRequest `json:"requestMappings" listType:"atomic" protobuf:"bytes,1,rep,name=requestMappings" openapi:"required"`
	// Name of the claim, in the namespace of the pod.
	ResourceClaimName string `json:"resourceClaimName" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// PodIP is an IP address of a pod.
type PodIP struct {
	// IP address of the pod.
	IP string `json:"ip" protobuf:"bytes,1,opt,name=ip" openapi:"required"`
}

// PodLogOptions are the query options of a request for the log of a container.
type PodLogOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Name of the container; may be unset if the pod has only one.
	Container string `json:"container,omitempty" protobuf:"bytes,1,opt,name=container"`
	// Whether to stream the log as it is written.
	Follow bool `json:"follow,omitempty" protobuf:"varint,2,opt,name=follow"`
	// Whether to return the log of the previous, ended instance of the container.
	Previous bool `json:"previous,omitempty" protobuf:"varint,3,opt,name=previous"`
	// Return only lines of the last so many seconds; excludes sinceTime.
	SinceSeconds *int64 `json:"sinceSeconds,omitempty" protobuf:"varint,4,opt,name=sinceSeconds"`
	// Return only lines since this time; excludes sinceSeconds.
	SinceTime *metav1.Time `json:"sinceTime,omitempty" protobuf:"bytes,5,opt,name=sinceTime"`
	// Whether to prefix each line with its time.
	Timestamps bool `json:"timestamps,omitempty" protobuf:"varint,6,opt,name=timestamps"`
	// Number of lines from the end of the log to return; the whole log if unset.
	TailLines *int64 `json:"tailLines,omitempty" protobuf:"varint,7,opt,name=tailLines"`
	// Maximum number of bytes to return.
	LimitBytes *int64 `json:"limitBytes,omitempty" protobuf:"varint,8,opt,name=limitBytes"`
	// Do not verify the certificate of the kubelet.
	InsecureSkipTLSVerifyBackend bool `json:"insecureSkipTLSVerifyBackend,omitempty" protobuf:"varint,9,opt,name=insecureSkipTLSVerifyBackend"`
	// Stream to return: All (the default), Stdout or Stderr.
	Stream *string `json:"stream,omitempty" protobuf:"bytes,10,opt,name=stream"`
}

// PodOS describes the operating system of a pod.
type PodOS struct {
	// Name of the operating system: linux or windows.
	Name OSName `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// PodPortForwardOptions are the query options of a request to forward ports of a pod.
type PodPortForwardOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Ports to forward; required by WebSocket clients.
	Ports []int32 `json:"ports,omitempty" listType:"atomic" protobuf:"varint,1,rep,name=ports"`
}

// PodProxyOptions are the query options of a request to the proxy subresource of a pod.
type PodProxyOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Path of the request to the pod.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
}

// PodReadinessGate is a condition that must be true for a pod to be ready.
type PodReadinessGate struct {
	// Type of the condition in the status of the pod.
	ConditionType PodConditionType `json:"conditionType" protobuf:"bytes,1,opt,name=conditionType" openapi:"required"`
}

// PodResourceClaim references a resource claim of a pod; exactly one of resourceClaimName and
// resourceClaimTemplateName is set.
type PodResourceClaim struct {
	// Name of the entry, unique in the pod; containers refer to it.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Name of an existing resource claim in the namespace of the pod.
	ResourceClaimName *string `json:"resourceClaimName,omitempty" protobuf:"bytes,3,opt,name=resourceClaimName"`
	// Name of the template, in the namespace of the pod, of a claim that is created for the pod.
	ResourceClaimTemplateName *string `json:"resourceClaimTemplateName,omitempty" protobuf:"bytes,4,opt,name=resourceClaimTemplateName"`
}

// PodResourceClaimStatus is the status of an entry of a pod's resourceClaims.
type PodResourceClaimStatus struct {
	// Name of the entry of resourceClaims.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Name of the claim created from the template; unset if none was needed.
	ResourceClaimName *string `json:"resourceClaimName,omitempty" protobuf:"bytes,2,opt,name=resourceClaimName"`
}

// PodSchedulingGate delays the scheduling of a pod.
type PodSchedulingGate struct {
	// Name of the gate, unique in the pod.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// PodSchedulingGroup identifies the group that a pod is scheduled with.
type PodSchedulingGroup struct {
	// Name of the PodGroup in the namespace of the pod.
	PodGroupName *string `json:"podGroupName,omitempty" protobuf:"bytes,1,opt,name=podGroupName"`
}

// PodSecurityContext holds security options of all containers of a pod, and of the pod itself.
type PodSecurityContext struct {
	// SELinux context of the containers; chosen by the runtime if unset.
	SELinuxOptions *SELinuxOptions `json:"seLinuxOptions,omitempty" protobuf:"bytes,1,opt,name=seLinuxOptions"`
	// Options that apply to Windows containers.
	WindowsOptions *WindowsSecurityContextOptions `json:"windowsOptions,omitempty" protobuf:"bytes,8,opt,name=windowsOptions"`
	// User ID of the containers' first processes; that of the image if unset.
	RunAsUser *int64 `json:"runAsUser,omitempty" protobuf:"varint,2,opt,name=runAsUser"`
	// Group ID of the containers' first processes; the default of the runtime if unset.
	RunAsGroup *int64 `json:"runAsGroup,omitempty" protobuf:"varint,6,opt,name=runAsGroup"`
	// Whether containers that would run as user 0 are refused.
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty" protobuf:"varint,3,opt,name=runAsNonRoot"`
	// Supplemental groups of the containers' first processes, in addition to the primary group and fsGroup.
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty" listType:"atomic" protobuf:"varint,4,rep,name=supplementalGroups"`
	// Whether the groups of the user in the image are added, too: Merge (the default) or Strict.
	SupplementalGroupsPolicy *SupplementalGroupsPolicy `json:"supplementalGroupsPolicy,omitempty" protobuf:"bytes,12,opt,name=supplementalGroupsPolicy" openapi:"enum=Merge|Strict"`
	// Group that owns the files of volumes that support it, and a supplemental group of all containers.
	FSGroup *int64 `json:"fsGroup,omitempty" protobuf:"varint,5,opt,name=fsGroup"`
	// Kernel parameters of the namespaces of the pod.
	Sysctls []Sysctl `json:"sysctls,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=sysctls"`
	// When ownership and permissions of a volume are changed: Always (the default), or OnRootMismatch only if
	// its root directory differs.
	FSGroupChangePolicy *PodFSGroupChangePolicy `json:"fsGroupChangePolicy,omitempty" protobuf:"bytes,9,opt,name=fsGroupChangePolicy" openapi:"enum=Always|OnRootMismatch"`
	// Seccomp profile of the containers.
	SeccompProfile *SeccompProfile `json:"seccompProfile,omitempty" protobuf:"bytes,10,opt,name=seccompProfile"`
	// AppArmor profile of the containers.
	AppArmorProfile *AppArmorProfile `json:"appArmorProfile,omitempty" protobuf:"bytes,11,opt,name=appArmorProfile"`
	// How volumes are labelled for SELinux: Recursive relabels all files, MountOption mounts the volume with
	// the label.
	SELinuxChangePolicy *PodSELinuxChangePolicy `json:"seLinuxChangePolicy,omitempty" protobuf:"bytes,13,opt,name=seLinuxChangePolicy"`
}

// PodSignature identifies the pods of a controller.
type PodSignature struct {
	// Controller of the pods.
	PodController *metav1.OwnerReference `json:"podController,omitempty" protobuf:"bytes,1,opt,name=podController"`
}

// PodSpec describes the desired behavior of a pod.
type PodSpec struct {
	// Volumes that the containers of the pod can mount.
	Volumes []Volume `json:"volumes,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,1,rep,name=volumes"`
	// Containers that run before the others, in order, each to successful completion. Those with
	// restartPolicy Always are sidecars, which keep running beside the others.
	InitContainers []Container `json:"initContainers,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,20,rep,name=initContainers"`
	// Containers of the pod; at least one. Cannot be added or removed.
	Containers []Container `json:"containers" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=containers" openapi:"required"`
	// Containers added to a running pod for debugging; only through the ephemeralcontainers subresource.
	EphemeralContainers []EphemeralContainer `json:"ephemeralContainers,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,34,rep,name=ephemeralContainers"`
	// When the containers of the pod are restarted: Always (the default), OnFailure or Never.
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty" protobuf:"bytes,3,opt,name=restartPolicy" openapi:"enum=Always|Never|OnFailure"`
	// Seconds the pod is given to terminate gracefully before its processes are killed; 0 kills them
	// immediately. Defaults to 30.
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,4,opt,name=terminationGracePeriodSeconds"`
	// Seconds the pod may be active, from startTime, before it is marked as failed and its containers are
	// ended.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,5,opt,name=activeDeadlineSeconds"`
	// DNS policy of the pod: ClusterFirst (the default), ClusterFirstWithHostNet, Default (as on the node) or
	// None (only dnsConfig).
	DNSPolicy DNSPolicy `json:"dnsPolicy,omitempty" protobuf:"bytes,6,opt,name=dnsPolicy" openapi:"enum=ClusterFirst|ClusterFirstWithHostNet|Default|None"`
	// Labels that a node must have for the pod to be scheduled to it.
	NodeSelector map[string]string `json:"nodeSelector,omitempty" mapType:"atomic" protobuf:"bytes,7,rep,name=nodeSelector"`
	// Name of the service account that the pod runs as.
	ServiceAccountName string `json:"serviceAccountName,omitempty" protobuf:"bytes,8,opt,name=serviceAccountName"`
	// Deprecated alias of serviceAccountName.
	DeprecatedServiceAccount string `json:"serviceAccount,omitempty" protobuf:"bytes,9,opt,name=serviceAccount"`
	// Whether a token of the service account is mounted automatically; overrides the setting of the service
	// account.
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty" protobuf:"varint,21,opt,name=automountServiceAccountToken"`
	// Name of the node that the pod is scheduled to, set by the scheduler. A pod created with a node name is
	// not scheduled.
	NodeName string `json:"nodeName,omitempty" protobuf:"bytes,10,opt,name=nodeName"`
	// Whether the pod uses the network namespace of the node.
	HostNetwork bool `json:"hostNetwork,omitempty" protobuf:"varint,11,opt,name=hostNetwork"`
	// Whether the pod uses the PID namespace of the node.
	HostPID bool `json:"hostPID,omitempty" protobuf:"varint,12,opt,name=hostPID"`
	// Whether the pod uses the IPC namespace of the node.
	HostIPC bool `json:"hostIPC,omitempty" protobuf:"varint,13,opt,name=hostIPC"`
	// Whether the containers share one PID namespace; excludes hostPID.
	ShareProcessNamespace *bool `json:"shareProcessNamespace,omitempty" protobuf:"varint,27,opt,name=shareProcessNamespace"`
	// Security options of the pod and its containers; those of a container take precedence.
	SecurityContext *PodSecurityContext `json:"securityContext,omitempty" protobuf:"bytes,14,opt,name=securityContext"`
	// Secrets, in the namespace of the pod, with credentials for pulling the images.
	ImagePullSecrets []LocalObjectReference `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,15,rep,name=imagePullSecrets"`
	// Host name of the pod; the name of the pod if unset.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,16,opt,name=hostname"`
	// Subdomain of the pod: its fully qualified name is HOSTNAME.SUBDOMAIN.NAMESPACE.svc.CLUSTER-DOMAIN. It
	// has no domain name if unset.
	Subdomain string `json:"subdomain,omitempty" protobuf:"bytes,17,opt,name=subdomain"`
	// Scheduling constraints of the pod.
	Affinity *Affinity `json:"affinity,omitempty" protobuf:"bytes,18,opt,name=affinity"`
	// Name of the scheduler of the pod; defaults to default-scheduler.
	SchedulerName string `json:"schedulerName,omitempty" protobuf:"bytes,19,opt,name=schedulerName"`
	// Taints of nodes that the pod tolerates.
	Tolerations []Toleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,22,rep,name=tolerations"`
	// Entries to add to the file /etc/hosts of the pod.
	HostAliases []HostAlias `json:"hostAliases,omitempty" patchStrategy:"merge" patchMergeKey:"ip" listType:"map" listMapKey:"ip" protobuf:"bytes,23,rep,name=hostAliases"`
	// Name of the priority class of the pod; the global default class, if there is one, if unset.
	PriorityClassName string `json:"priorityClassName,omitempty" protobuf:"bytes,24,opt,name=priorityClassName"`
	// Priority of the pod, set by the server from the priority class; a higher value takes precedence.
	Priority *int32 `json:"priority,omitempty" protobuf:"varint,25,opt,name=priority"`
	// DNS parameters, added to those of dnsPolicy.
	DNSConfig *PodDNSConfig `json:"dnsConfig,omitempty" protobuf:"bytes,26,opt,name=dnsConfig"`
	// Conditions that must be true, in addition to the readiness of all containers, for the pod to be ready.
	ReadinessGates []PodReadinessGate `json:"readinessGates,omitempty" listType:"atomic" protobuf:"bytes,28,rep,name=readinessGates"`
	// Name of the runtime class that runs the pod; the default runtime if unset.
	RuntimeClassName *string `json:"runtimeClassName,omitempty" protobuf:"bytes,29,opt,name=runtimeClassName"`
	// Whether information about the services of the namespace is provided as environment variables; defaults
	// to true.
	EnableServiceLinks *bool `json:"enableServiceLinks,omitempty" protobuf:"varint,30,opt,name=enableServiceLinks"`
	// Whether the pod preempts pods of lower priority: PreemptLowerPriority (the default) or Never.
	PreemptionPolicy *PreemptionPolicy `json:"preemptionPolicy,omitempty" protobuf:"bytes,31,opt,name=preemptionPolicy" openapi:"enum=Never|PreemptLowerPriority"`
	// Resource overhead of the runtime class; set by the server.
	Overhead ResourceList `json:"overhead,omitempty" protobuf:"bytes,32,rep,name=overhead"`
	// How matching pods are spread across topology domains; all constraints must be satisfied.
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty" patchStrategy:"merge" patchMergeKey:"topologyKey" listType:"map" listMapKey:"topologyKey,whenUnsatisfiable" protobuf:"bytes,33,rep,name=topologySpreadConstraints"`
	// Whether the host name of the pod is its fully qualified domain name.
	SetHostnameAsFQDN *bool `json:"setHostnameAsFQDN,omitempty" protobuf:"varint,35,opt,name=setHostnameAsFQDN"`
	// Operating system of the containers; fields that do not apply to it must be unset.
	OS *PodOS `json:"os,omitempty" protobuf:"bytes,36,opt,name=os"`
	// Whether the pod uses the user namespace of the node; defaults to true. If false, the pod gets a user
	// namespace in which root is not privileged on the node.
	HostUsers *bool `json:"hostUsers,omitempty" protobuf:"varint,37,opt,name=hostUsers"`
	// Gates that delay scheduling until all are removed; can be set only at creation.
	SchedulingGates []PodSchedulingGate `json:"schedulingGates,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,38,rep,name=schedulingGates"`
	// Resource claims that must be allocated before the pod starts; containers refer to them by name. Cannot
	// be changed.
	ResourceClaims []PodResourceClaim `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,39,rep,name=resourceClaims"`
	// Resources of the pod as a whole: cpu, memory and huge pages.
	Resources *ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,40,opt,name=resources"`
	// Host name of the pod, overriding hostname, subdomain and setHostnameAsFQDN.
	HostnameOverride *string `json:"hostnameOverride,omitempty" protobuf:"bytes,41,opt,name=hostnameOverride"`
	// Group of pods that the pod is scheduled with.
	SchedulingGroup *PodSchedulingGroup `json:"schedulingGroup,omitempty" protobuf:"bytes,43,opt,name=schedulingGroup"`
}

// PodStatus is the observed state of a pod; it may lag behind the actual state.
type PodStatus struct {
	// Generation of the pod that this status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,17,opt,name=observedGeneration"`
	// Summary of where the pod is in its lifecycle: Pending, Running, Succeeded, Failed or Unknown.
	Phase PodPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase" openapi:"enum=Failed|Pending|Running|Succeeded|Unknown"`
	// Conditions of the pod, such as PodScheduled and Ready.
	Conditions []PodCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,2,rep,name=conditions"`
	// Human-readable details of the state of the pod.
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	// Brief reason for the state of the pod, in CamelCase, such as Evicted.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Name of the node on which pods were preempted in favor of this pod; it may be scheduled to another
	// node.
	NominatedNodeName string `json:"nominatedNodeName,omitempty" protobuf:"bytes,11,opt,name=nominatedNodeName"`
	// IP address of the node; the first of hostIPs.
	HostIP string `json:"hostIP,omitempty" protobuf:"bytes,5,opt,name=hostIP"`
	// IP addresses of the node, at most one per address family.
	HostIPs []HostIP `json:"hostIPs,omitempty" patchStrategy:"merge" patchMergeKey:"ip" listType:"atomic" protobuf:"bytes,16,rep,name=hostIPs"`
	// IP address of the pod; the first of podIPs.
	PodIP string `json:"podIP,omitempty" protobuf:"bytes,6,opt,name=podIP"`
	// IP addresses of the pod, at most one per address family.
	PodIPs []PodIP `json:"podIPs,omitempty" patchStrategy:"merge" patchMergeKey:"ip" listType:"map" listMapKey:"ip" protobuf:"bytes,12,rep,name=podIPs"`
	// When the kubelet acknowledged the pod, before its images were pulled.
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,7,opt,name=startTime"`
	// Status of the init containers.
	InitContainerStatuses []ContainerStatus `json:"initContainerStatuses,omitempty" listType:"atomic" protobuf:"bytes,10,rep,name=initContainerStatuses"`
	// Status of the containers.
	ContainerStatuses []ContainerStatus `json:"containerStatuses,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=containerStatuses"`
	// Quality of service class, which follows from requests and limits: Guaranteed, Burstable or BestEffort.
	QOSClass PodQOSClass `json:"qosClass,omitempty" protobuf:"bytes,9,opt,name=qosClass" openapi:"enum=BestEffort|Burstable|Guaranteed"`
	// Status of the ephemeral containers.
	EphemeralContainerStatuses []ContainerStatus `json:"ephemeralContainerStatuses,omitempty" listType:"atomic" protobuf:"bytes,13,rep,name=ephemeralContainerStatuses"`
	// Status of a resize. Deprecated; replaced by the conditions PodResizePending and PodResizeInProgress.
	Resize PodResizeStatus `json:"resize,omitempty" protobuf:"bytes,14,opt,name=resize"`
	// Status of the entries of resourceClaims.
	ResourceClaimStatuses []PodResourceClaimStatus `json:"resourceClaimStatuses,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,15,rep,name=resourceClaimStatuses"`
	// Resource claim created for extended resources that are provided by devices.
	ExtendedResourceClaimStatus *PodExtendedResourceClaimStatus `json:"extendedResourceClaimStatus,omitempty" protobuf:"bytes,18,opt,name=extendedResourceClaimStatus"`
	// Requests that the node has allocated to the pod as a whole.
	AllocatedResources ResourceList `json:"allocatedResources,omitempty" protobuf:"bytes,19,rep,name=allocatedResources"`
	// Requests and limits in effect for the pod as a whole.
	Resources *ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,20,opt,name=resources"`
	// Allocatable resources of the node that resource claims of the pod consume.
	NodeAllocatableResourceClaimStatuses []NodeAllocatableResourceClaimStatus `json:"nodeAllocatableResourceClaimStatuses,omitempty" listType:"atomic" protobuf:"bytes,21,rep,name=nodeAllocatableResourceClaimStatuses"`
}

// PodStatusResult is the status of a pod. Deprecated; not used.
type PodStatusResult struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Most recently observed state of the pod.
	Status PodStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
}

// PodTemplate is a template of pods, stored as an object.
type PodTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Template of the pods.
	Template PodTemplateSpec `json:"template,omitempty" protobuf:"bytes,2,opt,name=template"`
}

// PodTemplateSpec describes the pods that a controller creates.
type PodTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the pods.
	Spec PodSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// PortStatus is the status of a port of a load balancer.
type PortStatus struct {
	// Port number of the service.
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port" openapi:"required"`
	// Protocol of the port: TCP, UDP or SCTP.
	Protocol Protocol `json:"protocol" protobuf:"bytes,2,opt,name=protocol" openapi:"required,enum=SCTP|TCP|UDP"`
	// Reason why the port does not work: a CamelCase name, or DOMAIN/NAME for a custom one; unset if the port
	// works.
	Error *string `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

// PortworxVolumeSource is a Portworx volume.
type PortworxVolumeSource struct {
	// Identifier of the volume in the storage system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
}

// PreferAvoidPodsEntry describes pods that should avoid a node.
type PreferAvoidPodsEntry struct {
	// Identifies the pods.
	PodSignature PodSignature `json:"podSignature" protobuf:"bytes,1,opt,name=podSignature" openapi:"required"`
	// When the entry was added.
	EvictionTime metav1.Time `json:"evictionTime,omitempty" protobuf:"bytes,2,opt,name=evictionTime"`
	// Brief reason for the entry, in CamelCase.
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// Human-readable reason for the entry.
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
}

// PreferredSchedulingTerm is a preference for nodes with a weight.
type PreferredSchedulingTerm struct {
	// Weight of the term, 1 to 100.
	Weight int32 `json:"weight" protobuf:"varint,1,opt,name=weight" openapi:"required"`
	// Selects the preferred nodes.
	Preference NodeSelectorTerm `json:"preference" protobuf:"bytes,2,opt,name=preference" openapi:"required"`
}

// Probe describes a periodic health check of a container.
type Probe struct {
	ProbeHandler `json:",inline" protobuf:"bytes,1,opt,name=handler"`
	// Seconds after the start of the container before the first check; defaults to 0.
	InitialDelaySeconds int32 `json:"initialDelaySeconds,omitempty" protobuf:"varint,2,opt,name=initialDelaySeconds"`
	// Seconds after which a check fails; defaults to 1.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,3,opt,name=timeoutSeconds"`
	// Seconds between checks; defaults to 10.
	PeriodSeconds int32 `json:"periodSeconds,omitempty" protobuf:"varint,4,opt,name=periodSeconds"`
	// Number of consecutive successes after a failure for the probe to be successful; defaults to 1, must be
	// 1 for liveness and startup probes.
	SuccessThreshold int32 `json:"successThreshold,omitempty" protobuf:"varint,5,opt,name=successThreshold"`
	// Number of consecutive failures for the probe to be failed; defaults to 3.
	FailureThreshold int32 `json:"failureThreshold,omitempty" protobuf:"varint,6,opt,name=failureThreshold"`
	// Seconds the container is given to terminate gracefully when the probe has failed; that of the pod if
	// unset. Not allowed for readiness probes.
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,7,opt,name=terminationGracePeriodSeconds"`
}

// ProbeHandler describes how a check is made; exactly one of its fields is set.
type ProbeHandler struct {
	// Runs a command in the container; exit code 0 means success.
	Exec *ExecAction `json:"exec,omitempty" protobuf:"bytes,1,opt,name=exec"`
	// Sends an HTTP request; a status from 200 to 399 means success.
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty" protobuf:"bytes,2,opt,name=httpGet"`
	// Opens a TCP connection; success if it is accepted.
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" protobuf:"bytes,3,opt,name=tcpSocket"`
	// Queries a gRPC health service.
	GRPC *GRPCAction `json:"grpc,omitempty" protobuf:"bytes,4,opt,name=grpc"`
}

// ProjectedVolumeSource is a volume that combines files of several sources in one directory.
type ProjectedVolumeSource struct {
	// Sources of the files; their paths must not conflict.
	Sources []VolumeProjection `json:"sources" listType:"atomic" protobuf:"bytes,1,rep,name=sources"`
	// Default permission bits of the files, in octal (YAML only) or decimal; defaults to 0644.
	DefaultMode *int32 `json:"defaultMode,omitempty" protobuf:"varint,2,opt,name=defaultMode"`
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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

// RangeAllocation records the allocated numbers of a range, for IP addresses and ports.
type RangeAllocation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Range of the numbers, such as 10.0.0.0/24 or 30000-32767.
	Range string `json:"range" protobuf:"bytes,2,opt,name=range" openapi:"required"`
	// Bitmap of the allocated numbers, relative to the start of the range.
	Data []byte `json:"data" protobuf:"bytes,3,opt,name=data" openapi:"required"`
}

// ReplicationController keeps a number of identical pods running. Prefer deployments.
type ReplicationController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the replication controller.
	Spec ReplicationControllerSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status ReplicationControllerStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ReplicationControllerCondition describes one aspect of the state of a replication controller.
type ReplicationControllerCondition struct {
	// Type of the condition, a CamelCase name.
	Type ReplicationControllerConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// ReplicationControllerSpec describes the desired behavior of a replication controller.
type ReplicationControllerSpec struct {
	// Number of desired pods; defaults to 1.
	Replicas *int32 `json:"replicas,omitempty" default:"1" protobuf:"varint,1,opt,name=replicas"`
	// Seconds a new pod must be ready, without any of its containers crashing, to be considered available;
	// defaults to 0.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,4,opt,name=minReadySeconds"`
	// Labels of the pods; those of the template if unset.
	Selector map[string]string `json:"selector,omitempty" mapType:"atomic" protobuf:"bytes,2,rep,name=selector"`
	// Template of new pods; a change does not affect existing pods.
	Template *PodTemplateSpec `json:"template,omitempty" protobuf:"bytes,3,opt,name=template"`
}

// ReplicationControllerStatus is the observed state of a replication controller.
type ReplicationControllerStatus struct {
	// Number of existing pods of the controller, not counting terminating pods.
	Replicas int32 `json:"replicas" protobuf:"varint,1,opt,name=replicas" openapi:"required"`
	// Number of pods that have all labels of the template.
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty" protobuf:"varint,2,opt,name=fullyLabeledReplicas"`
	// Number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`
	// Number of pods that have been ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`
	// Generation of the spec that this status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// Conditions of the replication controller, such as ReplicaFailure.
	Conditions []ReplicationControllerCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// ResourceClaim is the use of a pod's resource claim by a container.
type ResourceClaim struct {
	// Name of the entry of the pod's resourceClaims.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Name of a request of the claim whose devices are made available; all of them if unset.
	Request string `json:"request,omitempty" protobuf:"bytes,2,opt,name=request"`
}

// ResourceFieldSelector selects a resource request or limit of a container.
type ResourceFieldSelector struct {
	// Name of the container; required in volumes, optional in environment variables.
	ContainerName string `json:"containerName,omitempty" protobuf:"bytes,1,opt,name=containerName"`
	// Resource to select, such as limits.cpu or requests.memory.
	Resource string `json:"resource" protobuf:"bytes,2,opt,name=resource" openapi:"required"`
	// Unit of the output; defaults to 1.
	Divisor resource.Quantity `json:"divisor,omitempty" protobuf:"bytes,3,opt,name=divisor"`
}

// ResourceHealth is the health of one device of a resource.
type ResourceHealth struct {
	// Unique identifier of the device, assigned by its plugin or driver.
	ResourceID ResourceID `json:"resourceID" protobuf:"bytes,1,opt,name=resourceID" openapi:"required"`
	// Health of the device: Healthy, Unhealthy or Unknown.
	Health ResourceHealthStatus `json:"health,omitempty" protobuf:"bytes,2,opt,name="`
	// Human-readable details.
	Message *string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// ResourceQuota limits the total resource usage of a namespace.
type ResourceQuota struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired limits.
	Spec ResourceQuotaSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Observed usage; populated by the system and read-only for users.
	Status ResourceQuotaStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ResourceQuotaSpec describes the limits of a quota.
type ResourceQuotaSpec struct {
	// Limit of each resource, such as requests.cpu, or of the number of objects, as count/RESOURCE.GROUP.
	Hard ResourceList `json:"hard,omitempty" protobuf:"bytes,1,rep,name=hard"`
	// Scopes that an object must all match to be counted; all objects if empty.
	Scopes []ResourceQuotaScope `json:"scopes,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=scopes"`
	// Scopes with operators and values that an object must match to be counted.
	ScopeSelector *ScopeSelector `json:"scopeSelector,omitempty" protobuf:"bytes,3,opt,name=scopeSelector"`
}

// ResourceQuotaStatus is the observed usage of a quota.
type ResourceQuotaStatus struct {
	// Limits that are enforced.
	Hard ResourceList `json:"hard,omitempty" protobuf:"bytes,1,rep,name=hard"`
	// Observed usage of each resource.
	Used ResourceList `json:"used,omitempty" protobuf:"bytes,2,rep,name=used"`
}

// ResourceRequirements describes the compute resources of a container or pod.
type ResourceRequirements struct {
	// Maximum amount of each resource that may be used.
	Limits ResourceList `json:"limits,omitempty" protobuf:"bytes,1,rep,name=limits"`
	// Amount of each resource that is reserved, which determines scheduling; if unset, the limit of the
	// resource.
	Requests ResourceList `json:"requests,omitempty" protobuf:"bytes,2,rep,name=requests"`
	// Resource claims of the pod that the container uses.
	Claims []ResourceClaim `json:"claims,omitempty" listType:"map" listMapKey:"name" protobuf:"bytes,3,rep,name=claims"`
}

// ResourceStatus is the health of the devices of a resource.
type ResourceStatus struct {
	// Name of the resource, that of an extended resource or claim:NAME/REQUEST; unique in the pod.
	Name ResourceName `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Health of each device.
	Resources []ResourceHealth `json:"resources,omitempty" listType:"map" listMapKey:"resourceID" protobuf:"bytes,2,rep,name=resources"`
}

// SELinuxOptions is an SELinux context.
type SELinuxOptions struct {
	// SELinux user label.
	User string `json:"user,omitempty" protobuf:"bytes,1,opt,name=user"`
	// SELinux role label.
	Role string `json:"role,omitempty" protobuf:"bytes,2,opt,name=role"`
	// SELinux type label.
	Type string `json:"type,omitempty" protobuf:"bytes,3,opt,name=type"`
	// SELinux level label.
	Level string `json:"level,omitempty" protobuf:"bytes,4,opt,name=level"`
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
	FSType string `json:"fsType,omitempty" default:"xfs" protobuf:"bytes,9,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,10,opt,name=readOnly"`
}

// ScopeSelector selects the objects that a quota counts.
type ScopeSelector struct {
	// Requirements on scopes; all must be satisfied.
	MatchExpressions []ScopedResourceSelectorRequirement `json:"matchExpressions,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=matchExpressions"`
}

// ScopedResourceSelectorRequirement is a requirement on a scope.
type ScopedResourceSelectorRequirement struct {
	// Name of the scope that the requirement applies to.
	ScopeName ResourceQuotaScope `json:"scopeName" protobuf:"bytes,1,opt,name=scopeName" openapi:"required,enum=BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass"`
	// Relation of the scope to the values: In, NotIn, Exists or DoesNotExist.
	Operator ScopeSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required,enum=DoesNotExist|Exists|In|NotIn"`
	// Values to compare with; must not be empty for In and NotIn, must be empty otherwise.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// SeccompProfile describes the seccomp profile of a pod or container.
type SeccompProfile struct {
	// Kind of profile: RuntimeDefault, Unconfined, or Localhost for a file on the node.
	Type SeccompProfileType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required,enum=Localhost|RuntimeDefault|Unconfined"`
	// Path of the profile relative to the seccomp directory of the kubelet; required if type is Localhost,
	// otherwise unset.
	LocalhostProfile *string `json:"localhostProfile,omitempty" protobuf:"bytes,2,opt,name=localhostProfile"`
}

// Secret holds confidential data as key-value pairs.
type Secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Whether the data is immutable. Once true, neither it nor the data can be changed.
	Immutable *bool `json:"immutable,omitempty" protobuf:"varint,5,opt,name=immutable"`
	// Values, base64-encoded in JSON; at most 1 MiB in total.
	Data map[string][]byte `json:"data,omitempty" protobuf:"bytes,2,rep,name=data"`
	// Values as text, which are merged into data when the secret is written. Write-only: never returned.
	StringData map[string]string `json:"stringData,omitempty" protobuf:"bytes,4,rep,name=stringData"`
	// Type of the secret, such as kubernetes.io/tls; defaults to Opaque. Cannot be changed.
	Type SecretType `json:"type,omitempty" protobuf:"bytes,3,opt,name=type"`
}

// SecretEnvSource selects a secret whose entries become environment variables.
type SecretEnvSource struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Whether the referenced object may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,2,opt,name=optional"`
}

// SecretKeySelector selects a key of a secret.
type SecretKeySelector struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Key to select.
	Key string `json:"key" protobuf:"bytes,2,opt,name=key" openapi:"required"`
	// Whether the secret or its key may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,3,opt,name=optional"`
}

// SecretProjection projects the entries of a secret into a projected volume.
type SecretProjection struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Keys to project and the paths of their files; if unset, all keys, each under its own name.
	Items []KeyToPath `json:"items,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=items"`
	// Whether the secret or its keys may be missing.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// SecretReference references a secret in any namespace.
type SecretReference struct {
	// Name of the secret.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Namespace of the secret.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
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

// SecurityContext holds security options of a container; they take precedence over those of the pod.
type SecurityContext struct {
	// Capabilities to add to or remove from the default set of the runtime.
	Capabilities *Capabilities `json:"capabilities,omitempty" protobuf:"bytes,1,opt,name=capabilities"`
	// Whether the container is privileged: its processes are equivalent to root on the node. Defaults to
	// false.
	Privileged *bool `json:"privileged,omitempty" protobuf:"varint,2,opt,name=privileged"`
	// SELinux context of the container; chosen by the runtime if unset.
	SELinuxOptions *SELinuxOptions `json:"seLinuxOptions,omitempty" protobuf:"bytes,3,opt,name=seLinuxOptions"`
	// Options that apply to Windows containers.
	WindowsOptions *WindowsSecurityContextOptions `json:"windowsOptions,omitempty" protobuf:"bytes,10,opt,name=windowsOptions"`
	// User ID of the first process; that of the image if unset.
	RunAsUser *int64 `json:"runAsUser,omitempty" protobuf:"varint,4,opt,name=runAsUser"`
	// Group ID of the first process; the default of the runtime if unset.
	RunAsGroup *int64 `json:"runAsGroup,omitempty" protobuf:"varint,8,opt,name=runAsGroup"`
	// Whether the container is refused if it would run as user 0.
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty" protobuf:"varint,5,opt,name=runAsNonRoot"`
	// Whether the root file system of the container is read-only; defaults to false.
	ReadOnlyRootFilesystem *bool `json:"readOnlyRootFilesystem,omitempty" protobuf:"varint,6,opt,name=readOnlyRootFilesystem"`
	// Whether a process can gain more privileges than its parent. Always true if the container is privileged
	// or has CAP_SYS_ADMIN.
	AllowPrivilegeEscalation *bool `json:"allowPrivilegeEscalation,omitempty" protobuf:"varint,7,opt,name=allowPrivilegeEscalation"`
	// Type of proc mount: Default, or Unmasked to not mask any paths.
	ProcMount *ProcMountType `json:"procMount,omitempty" protobuf:"bytes,9,opt,name=procMount" openapi:"enum=Default|Unmasked"`
	// Seccomp profile of the container.
	SeccompProfile *SeccompProfile `json:"seccompProfile,omitempty" protobuf:"bytes,11,opt,name=seccompProfile"`
	// AppArmor profile of the container.
	AppArmorProfile *AppArmorProfile `json:"appArmorProfile,omitempty" protobuf:"bytes,12,opt,name=appArmorProfile"`
}

// SerializedReference is a reference to an object in the form used in annotations.
type SerializedReference struct {
	metav1.TypeMeta `json:",inline"`
	// Reference to the object.
	Reference ObjectReference `json:"reference,omitempty" protobuf:"bytes,1,opt,name=reference"`
}

// Service is a named network endpoint for a set of pods.
type Service struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the service.
	Spec ServiceSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status ServiceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ServiceAccount is an identity for processes in pods.
type ServiceAccount struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Secrets that pods of the service account may use; enforced only with the annotation
	// kubernetes.io/enforce-mountable-secrets. Deprecated.
	Secrets []ObjectReference `json:"secrets,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=secrets"`
	// Secrets for pulling images, added to pods that specify none.
	ImagePullSecrets []LocalObjectReference `json:"imagePullSecrets,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=imagePullSecrets"`
	// Whether a token is mounted automatically into pods of the service account; a pod can override it.
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty" protobuf:"varint,4,opt,name=automountServiceAccountToken"`
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

// ServicePort describes a port of a service.
type ServicePort struct {
	// Name of the port, a DNS label; required if there are several ports.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Protocol of the port: TCP (the default), UDP or SCTP.
	Protocol Protocol `json:"protocol,omitempty" default:"TCP" protobuf:"bytes,2,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// Application protocol of the port, such as kubernetes.io/h2c or the name of an IANA service.
	AppProtocol *string `json:"appProtocol,omitempty" protobuf:"bytes,6,opt,name=appProtocol"`
	// Port number of the service.
	Port int32 `json:"port" protobuf:"varint,3,opt,name=port" openapi:"required"`
	// Number or name of the port of the pods; the same as port if unset.
	TargetPort intstr.IntOrString `json:"targetPort,omitempty" protobuf:"bytes,4,opt,name=targetPort"`
	// Port number on every node, for the types NodePort and LoadBalancer; allocated by the server if unset.
	NodePort int32 `json:"nodePort,omitempty" protobuf:"varint,5,opt,name=nodePort"`
}

// ServiceProxyOptions are the query options of a request to the proxy subresource of a service.
type ServiceProxyOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Path of the request to the service.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
}

// ServiceSpec describes the desired behavior of a service.
type ServiceSpec struct {
	// Ports that the service exposes.
	Ports []ServicePort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port" listType:"map" listMapKey:"port,protocol" protobuf:"bytes,1,rep,name=ports"`
	// Labels of the pods that traffic is routed to; if empty, the endpoints are managed externally. Ignored
	// for the type ExternalName.
	Selector map[string]string `json:"selector,omitempty" mapType:"atomic" protobuf:"bytes,2,rep,name=selector"`
	// IP address of the service, allocated by the server if unset; None for a headless service. The first of
	// clusterIPs.
	ClusterIP string `json:"clusterIP,omitempty" protobuf:"bytes,3,opt,name=clusterIP"`
	// IP addresses of the service, at most one per address family; None for a headless service.
	ClusterIPs []string `json:"clusterIPs,omitempty" listType:"atomic" protobuf:"bytes,18,rep,name=clusterIPs"`
	// How the service is exposed: ClusterIP (the default), NodePort, LoadBalancer or ExternalName.
	Type ServiceType `json:"type,omitempty" protobuf:"bytes,4,opt,name=type" openapi:"enum=ClusterIP|ExternalName|LoadBalancer|NodePort"`
	// IP addresses for which nodes accept traffic of the service; routing traffic to the nodes is not managed
	// by Kubernetes.
	ExternalIPs []string `json:"externalIPs,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=externalIPs"`
	// None (the default), or ClientIP to route the connections of a client to the same pod.
	SessionAffinity ServiceAffinity `json:"sessionAffinity,omitempty" protobuf:"bytes,7,opt,name=sessionAffinity" openapi:"enum=ClientIP|None"`
	// Requested IP address of the load balancer; support depends on the implementation. Deprecated.
	LoadBalancerIP string `json:"loadBalancerIP,omitempty" protobuf:"bytes,8,opt,name=loadBalancerIP"`
	// IP ranges of clients that are allowed to use the load balancer, if it supports such a restriction.
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=loadBalancerSourceRanges"`
	// DNS name that the service is an alias of; required for the type ExternalName.
	ExternalName string `json:"externalName,omitempty" protobuf:"bytes,10,opt,name=externalName"`
	// How external traffic is routed: Cluster (the default) to all endpoints; Local only to endpoints on the
	// node that receives it, preserving the client's IP address.
	ExternalTrafficPolicy ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty" protobuf:"bytes,11,opt,name=externalTrafficPolicy" openapi:"enum=Cluster|Local"`
	// Port of the nodes at which load balancers check for endpoints on the node; only for the type
	// LoadBalancer with externalTrafficPolicy Local.
	HealthCheckNodePort int32 `json:"healthCheckNodePort,omitempty" protobuf:"varint,12,opt,name=healthCheckNodePort"`
	// Whether endpoints are treated as ready even if their pods are not.
	PublishNotReadyAddresses bool `json:"publishNotReadyAddresses,omitempty" protobuf:"varint,13,opt,name=publishNotReadyAddresses"`
	// Configuration of session affinity.
	SessionAffinityConfig *SessionAffinityConfig `json:"sessionAffinityConfig,omitempty" protobuf:"bytes,14,opt,name=sessionAffinityConfig"`
	// Address families of the service, IPv4 or IPv6 or both, in order of preference; assigned by the server
	// if unset.
	IPFamilies []IPFamily `json:"ipFamilies,omitempty" listType:"atomic" protobuf:"bytes,19,rep,name=ipFamilies"`
	// Whether the service uses one or two address families: SingleStack (the default), PreferDualStack or
	// RequireDualStack.
	IPFamilyPolicy *IPFamilyPolicy `json:"ipFamilyPolicy,omitempty" protobuf:"bytes,17,opt,name=ipFamilyPolicy" openapi:"enum=PreferDualStack|RequireDualStack|SingleStack"`
	// Whether node ports are allocated for the type LoadBalancer; defaults to true.
	AllocateLoadBalancerNodePorts *bool `json:"allocateLoadBalancerNodePorts,omitempty" protobuf:"varint,20,opt,name=allocateLoadBalancerNodePorts"`
	// Name of the load balancer implementation; the default one if unset. Cannot be changed once set.
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty" protobuf:"bytes,21,opt,name=loadBalancerClass"`
	// How traffic from within the cluster is routed: Cluster (the default) to all endpoints, Local only to
	// endpoints on the client's node.
	InternalTrafficPolicy *ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty" protobuf:"bytes,22,opt,name=internalTrafficPolicy" openapi:"enum=Cluster|Local"`
	// Preference for routing to close endpoints: PreferSameZone, PreferSameNode, or PreferClose (deprecated
	// alias of PreferSameZone).
	TrafficDistribution *string `json:"trafficDistribution,omitempty" protobuf:"bytes,23,opt,name=trafficDistribution"`
}

// ServiceStatus is the observed state of a service.
type ServiceStatus struct {
	// Status of the load balancer.
	LoadBalancer LoadBalancerStatus `json:"loadBalancer,omitempty" protobuf:"bytes,1,opt,name=loadBalancer"`
	// Conditions of the service.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,2,rep,name=conditions"`
}

// SessionAffinityConfig configures session affinity.
type SessionAffinityConfig struct {
	// Configuration of affinity based on the client's IP address.
	ClientIP *ClientIPConfig `json:"clientIP,omitempty" protobuf:"bytes,1,opt,name=clientIP"`
}

// SleepAction waits for a number of seconds.
type SleepAction struct {
	// Number of seconds to wait; must not exceed the grace period of the pod.
	Seconds int64 `json:"seconds" protobuf:"varint,1,opt,name=seconds" openapi:"required"`
}

// StorageOSPersistentVolumeSource is a StorageOS volume, with a secret in any namespace.
type StorageOSPersistentVolumeSource struct {
	// Name of the volume, unique within its StorageOS namespace.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,1,opt,name=volumeName"`
	// StorageOS namespace of the volume; that of the claim if unset.
	VolumeNamespace string `json:"volumeNamespace,omitempty" protobuf:"bytes,2,opt,name=volumeNamespace"`
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
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
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Whether the volume is mounted read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Secret with the credentials for the storage system.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`
}

// Sysctl is a kernel parameter to set.
type Sysctl struct {
	// Name of the parameter, such as net.core.somaxconn.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Value of the parameter.
	Value string `json:"value" protobuf:"bytes,2,opt,name=value" openapi:"required"`
}

// TCPSocketAction opens a TCP connection.
type TCPSocketAction struct {
	// Number or name of the port of the container.
	Port intstr.IntOrString `json:"port" protobuf:"bytes,1,opt,name=port" openapi:"required"`
	// Host to connect to; the pod's IP address if unset.
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
}

// Taint is a property of a node that affects pods which do not tolerate it.
type Taint struct {
	// Key of the taint, a label key.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Value of the taint, a label value.
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// Effect on pods that do not tolerate the taint: NoSchedule, PreferNoSchedule, or NoExecute to evict
	// running pods, too.
	Effect TaintEffect `json:"effect" protobuf:"bytes,3,opt,name=effect" openapi:"required,enum=NoExecute|NoSchedule|PreferNoSchedule"`
	// When the taint was added; set only for NoExecute taints.
	TimeAdded *metav1.Time `json:"timeAdded,omitempty" protobuf:"bytes,4,opt,name=timeAdded"`
}

// Toleration tolerates taints of nodes.
type Toleration struct {
	// Key of the tolerated taints; if empty, operator must be Exists and all keys match.
	Key string `json:"key,omitempty" protobuf:"bytes,1,opt,name=key"`
	// Relation of the taint's value to value: Equal (the default), Exists to match any value, or Lt or Gt to
	// compare integers.
	Operator TolerationOperator `json:"operator,omitempty" protobuf:"bytes,2,opt,name=operator" openapi:"enum=Equal|Exists|Gt|Lt"`
	// Value to compare with; must be empty if operator is Exists.
	Value string `json:"value,omitempty" protobuf:"bytes,3,opt,name=value"`
	// Effect of the tolerated taints; all effects if empty.
	Effect TaintEffect `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect" openapi:"enum=NoExecute|NoSchedule|PreferNoSchedule"`
	// How long a NoExecute taint is tolerated; forever if unset, not at all if zero or negative.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" protobuf:"varint,5,opt,name=tolerationSeconds"`
}

// TopologySelectorLabelRequirement is a requirement on a topology label.
type TopologySelectorLabelRequirement struct {
	// Label key that the requirement applies to.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Values of which the label must have one.
	Values []string `json:"values" listType:"atomic" protobuf:"bytes,2,rep,name=values" openapi:"required"`
}

// TopologySelectorTerm selects topologies by labels of nodes.
type TopologySelectorTerm struct {
	// Requirements on labels; all must be satisfied.
	MatchLabelExpressions []TopologySelectorLabelRequirement `json:"matchLabelExpressions,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=matchLabelExpressions"`
}

// TopologySpreadConstraint describes how pods are spread across topology domains.
type TopologySpreadConstraint struct {
	// Maximum difference between the number of matching pods in a domain and the minimum over all eligible
	// domains; at least 1.
	MaxSkew int32 `json:"maxSkew" protobuf:"varint,1,opt,name=maxSkew" openapi:"required"`
	// Key of node labels; nodes with the same value are in the same topology domain.
	TopologyKey string `json:"topologyKey" protobuf:"bytes,2,opt,name=topologyKey" openapi:"required"`
	// What happens if no node satisfies the constraint: DoNotSchedule leaves the pod pending, ScheduleAnyway
	// only prefers nodes that reduce the skew.
	WhenUnsatisfiable UnsatisfiableConstraintAction `json:"whenUnsatisfiable" protobuf:"bytes,3,opt,name=whenUnsatisfiable" openapi:"required,enum=DoNotSchedule|ScheduleAnyway"`
	// Label selector of the pods that are counted.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty" protobuf:"bytes,4,opt,name=labelSelector"`
	// Minimum number of eligible domains; while there are fewer, the minimum over all domains is taken as 0.
	// Defaults to 1.
	MinDomains *int32 `json:"minDomains,omitempty" protobuf:"varint,5,opt,name=minDomains"`
	// Whether nodes that do not match the node selector and node affinity of the pod are ignored: Honor (the
	// default) ignores them, Ignore includes them.
	NodeAffinityPolicy *NodeInclusionPolicy `json:"nodeAffinityPolicy,omitempty" protobuf:"bytes,6,opt,name=nodeAffinityPolicy" openapi:"enum=Honor|Ignore"`
	// Whether nodes with taints that the pod does not tolerate are ignored: Honor ignores them, Ignore (the
	// default) includes them.
	NodeTaintsPolicy *NodeInclusionPolicy `json:"nodeTaintsPolicy,omitempty" protobuf:"bytes,7,opt,name=nodeTaintsPolicy" openapi:"enum=Honor|Ignore"`
	// Label keys whose values are taken from this pod and must be the same on the counted pods.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=matchLabelKeys"`
}

// TypedLocalObjectReference references an object of any kind in the same namespace.
type TypedLocalObjectReference struct {
	// API group of the object; the core group if unset.
	APIGroup *string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	// Kind of the object.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	// Name of the object.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
}

// TypedObjectReference references an object of any kind.
type TypedObjectReference struct {
	// API group of the object; the core group if unset.
	APIGroup *string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	// Kind of the object.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	// Name of the object.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	// Namespace of the object; that of the referrer if unset.
	Namespace *string `json:"namespace,omitempty" protobuf:"bytes,4,opt,name=namespace"`
}

// Volume describes a volume that the containers of a pod can mount.
type Volume struct {
	// Name of the volume, unique in the pod; a DNS label.
	Name         string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	VolumeSource `json:",inline" protobuf:"bytes,2,opt,name=volumeSource"`
}

// VolumeDevice makes a block volume available as a device in a container.
type VolumeDevice struct {
	// Name of a persistent volume claim among the pod's volumes.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Path of the device in the container.
	DevicePath string `json:"devicePath" protobuf:"bytes,2,opt,name=devicePath" openapi:"required"`
}

// VolumeMount mounts a volume into a container.
type VolumeMount struct {
	// Name of the volume of the pod.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Whether the mount is read-only; defaults to false.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,2,opt,name=readOnly"`
	// Whether mounts below it are read-only, too: Disabled (the default), IfPossible or Enabled. The latter
	// two require readOnly.
	RecursiveReadOnly *RecursiveReadOnlyMode `json:"recursiveReadOnly,omitempty" protobuf:"bytes,7,opt,name=recursiveReadOnly"`
	// Path in the container; unique and without colons.
	MountPath string `json:"mountPath" protobuf:"bytes,3,opt,name=mountPath" openapi:"required"`
	// Path in the volume to mount; its root if empty.
	SubPath string `json:"subPath,omitempty" protobuf:"bytes,4,opt,name=subPath"`
	// Whether mounts are propagated between node and container: None (the default), HostToContainer or
	// Bidirectional.
	MountPropagation *MountPropagationMode `json:"mountPropagation,omitempty" protobuf:"bytes,5,opt,name=mountPropagation" openapi:"enum=Bidirectional|HostToContainer|None"`
	// Path in the volume to mount, in which references $(VAR) are expanded from the container's environment;
	// excludes subPath.
	SubPathExpr string `json:"subPathExpr,omitempty" protobuf:"bytes,6,opt,name=subPathExpr"`
}

// VolumeMountStatus is the status of a volume mount.
type VolumeMountStatus struct {
	// Name of the volume.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Path in the container.
	MountPath string `json:"mountPath" protobuf:"bytes,2,opt,name=mountPath" openapi:"required"`
	// Whether the mount is read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Whether mounts below it are read-only, too, as achieved: Disabled or Enabled; unset if not requested.
	RecursiveReadOnly *RecursiveReadOnlyMode `json:"recursiveReadOnly,omitempty" protobuf:"bytes,4,opt,name=recursiveReadOnly"`
	// Status of the volume.
	VolumeStatus *VolumeStatus `json:"volumeStatus,omitempty" protobuf:"bytes,5,opt,name=volumeStatus"`
}

// VolumeNodeAffinity describes the nodes from which a volume is accessible.
type VolumeNodeAffinity struct {
	// Requirements that a node must meet to access the volume.
	Required *NodeSelector `json:"required,omitempty" protobuf:"bytes,1,opt,name=required"`
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

// VolumeResourceRequirements describes the storage requirements of a claim.
type VolumeResourceRequirements struct {
	// Maximum size of the volume.
	Limits ResourceList `json:"limits,omitempty" protobuf:"bytes,1,rep,name=limits"`
	// Minimum size of the volume, under the name storage.
	Requests ResourceList `json:"requests,omitempty" protobuf:"bytes,2,rep,name=requests"`
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

// VolumeStatus is the status of a mounted volume.
type VolumeStatus struct {
	// Status of an image volume.
	Image *ImageVolumeStatus `json:"image,omitempty" protobuf:"bytes,1,opt,name=image"`
}

// VsphereVirtualDiskVolumeSource is a disk of vSphere.
type VsphereVirtualDiskVolumeSource struct {
	// Path of the disk in vSphere, including its datastore.
	VolumePath string `json:"volumePath" protobuf:"bytes,1,opt,name=volumePath" openapi:"required"`
	// File system type of the volume, such as ext4 or xfs; if unset, ext4 or the default of the storage
	// system.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Name of the storage policy profile.
	StoragePolicyName string `json:"storagePolicyName,omitempty" protobuf:"bytes,3,opt,name=storagePolicyName"`
	// ID of the storage policy profile.
	StoragePolicyID string `json:"storagePolicyID,omitempty" protobuf:"bytes,4,opt,name=storagePolicyID"`
}

// WeightedPodAffinityTerm is a preference with a weight.
type WeightedPodAffinityTerm struct {
	// Weight of the term, 1 to 100.
	Weight int32 `json:"weight" protobuf:"varint,1,opt,name=weight" openapi:"required"`
	// Selects the pods and the topology domain.
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm" protobuf:"bytes,2,opt,name=podAffinityTerm" openapi:"required"`
}

// WindowsSecurityContextOptions holds security options of Windows containers.
type WindowsSecurityContextOptions struct {
	// Name of the GMSA credential spec to use.
	GMSACredentialSpecName *string `json:"gmsaCredentialSpecName,omitempty" protobuf:"bytes,1,opt,name=gmsaCredentialSpecName"`
	// Contents of the GMSA credential spec named by gmsaCredentialSpecName.
	GMSACredentialSpec *string `json:"gmsaCredentialSpec,omitempty" protobuf:"bytes,2,opt,name=gmsaCredentialSpec"`
	// Name of the user that runs the first process; that of the image if unset.
	RunAsUserName *string `json:"runAsUserName,omitempty" protobuf:"bytes,3,opt,name=runAsUserName"`
	// Whether the container runs as a process of the host; the same for all containers of the pod, and
	// requires hostNetwork.
	HostProcess *bool `json:"hostProcess,omitempty" protobuf:"varint,4,opt,name=hostProcess"`
}

// ComponentStatusList is a list of ComponentStatus objects.
type ComponentStatusList = metav1.List[*ComponentStatus]

// ConfigMapList is a list of ConfigMap objects.
type ConfigMapList = metav1.List[*ConfigMap]

// EndpointsList is a list of Endpoints objects.
type EndpointsList = metav1.List[*Endpoints]

// EventList is a list of Event objects.
type EventList = metav1.List[*Event]

// LimitRangeList is a list of LimitRange objects.
type LimitRangeList = metav1.List[*LimitRange]

// NamespaceList is a list of Namespace objects.
type NamespaceList = metav1.List[*Namespace]

// NodeList is a list of Node objects.
type NodeList = metav1.List[*Node]

// PersistentVolumeClaimList is a list of PersistentVolumeClaim objects.
type PersistentVolumeClaimList = metav1.List[*PersistentVolumeClaim]

// PersistentVolumeList is a list of PersistentVolume objects.
type PersistentVolumeList = metav1.List[*PersistentVolume]

// PodList is a list of Pod objects.
type PodList = metav1.List[*Pod]

// PodTemplateList is a list of PodTemplate objects.
type PodTemplateList = metav1.List[*PodTemplate]

// ReplicationControllerList is a list of ReplicationController objects.
type ReplicationControllerList = metav1.List[*ReplicationController]

// ResourceQuotaList is a list of ResourceQuota objects.
type ResourceQuotaList = metav1.List[*ResourceQuota]

// SecretList is a list of Secret objects.
type SecretList = metav1.List[*Secret]

// ServiceAccountList is a list of ServiceAccount objects.
type ServiceAccountList = metav1.List[*ServiceAccount]

// ServiceList is a list of Service objects.
type ServiceList = metav1.List[*Service]

// AppArmorProfileType enumerates the values of AppArmorProfile.Type.
type AppArmorProfileType string

const (
	AppArmorProfileTypeLocalhost      AppArmorProfileType = "Localhost"
	AppArmorProfileTypeRuntimeDefault AppArmorProfileType = "RuntimeDefault"
	AppArmorProfileTypeUnconfined     AppArmorProfileType = "Unconfined"
)

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

// Capability is the type of Capabilities.Add and Capabilities.Drop.
type Capability string

// ClaimResourceStatus enumerates the values of PersistentVolumeClaimStatus.AllocatedResourceStatuses.
type ClaimResourceStatus string

const (
	PersistentVolumeClaimControllerResizeInProgress ClaimResourceStatus = "ControllerResizeInProgress"
	PersistentVolumeClaimControllerResizeInfeasible ClaimResourceStatus = "ControllerResizeInfeasible"
	PersistentVolumeClaimNodeResizeInProgress       ClaimResourceStatus = "NodeResizeInProgress"
	PersistentVolumeClaimNodeResizeInfeasible       ClaimResourceStatus = "NodeResizeInfeasible"
	PersistentVolumeClaimNodeResizePending          ClaimResourceStatus = "NodeResizePending"
)

// ComponentConditionType enumerates the values of ComponentCondition.Type.
type ComponentConditionType string

const (
	ComponentHealthy ComponentConditionType = "Healthy"
)

// ConditionStatus enumerates the values of ComponentCondition.Status, NamespaceCondition.Status and other
// fields.
type ConditionStatus string

const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// ContainerRestartPolicy enumerates the values of Container.RestartPolicy and
// EphemeralContainerCommon.RestartPolicy.
type ContainerRestartPolicy string

const (
	ContainerRestartPolicyAlways    ContainerRestartPolicy = "Always"
	ContainerRestartPolicyNever     ContainerRestartPolicy = "Never"
	ContainerRestartPolicyOnFailure ContainerRestartPolicy = "OnFailure"
)

// ContainerRestartRuleAction enumerates the values of ContainerRestartRule.Action.
type ContainerRestartRuleAction string

const (
	ContainerRestartRuleActionRestart              ContainerRestartRuleAction = "Restart"
	ContainerRestartRuleActionRestartAllContainers ContainerRestartRuleAction = "RestartAllContainers"
)

// ContainerRestartRuleOnExitCodesOperator enumerates the values of ContainerRestartRuleOnExitCodes.Operator.
type ContainerRestartRuleOnExitCodesOperator string

const (
	ContainerRestartRuleOnExitCodesOpIn    ContainerRestartRuleOnExitCodesOperator = "In"
	ContainerRestartRuleOnExitCodesOpNotIn ContainerRestartRuleOnExitCodesOperator = "NotIn"
)

// DNSPolicy enumerates the values of PodSpec.DNSPolicy.
type DNSPolicy string

const (
	DNSClusterFirst            DNSPolicy = "ClusterFirst"
	DNSClusterFirstWithHostNet DNSPolicy = "ClusterFirstWithHostNet"
	DNSDefault                 DNSPolicy = "Default"
	DNSNone                    DNSPolicy = "None"
)

// FinalizerName enumerates the values of NamespaceSpec.Finalizers.
type FinalizerName string

const (
	FinalizerKubernetes FinalizerName = "kubernetes"
)

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

// IPFamily enumerates the values of ServiceSpec.IPFamilies.
type IPFamily string

const (
	IPFamilyUnknown IPFamily = ""
	IPv4Protocol    IPFamily = "IPv4"
	IPv6Protocol    IPFamily = "IPv6"
)

// IPFamilyPolicy enumerates the values of ServiceSpec.IPFamilyPolicy.
type IPFamilyPolicy string

const (
	IPFamilyPolicyPreferDualStack  IPFamilyPolicy = "PreferDualStack"
	IPFamilyPolicyRequireDualStack IPFamilyPolicy = "RequireDualStack"
	IPFamilyPolicySingleStack      IPFamilyPolicy = "SingleStack"
)

// LimitType enumerates the values of LimitRangeItem.Type.
type LimitType string

const (
	LimitTypeContainer             LimitType = "Container"
	LimitTypePersistentVolumeClaim LimitType = "PersistentVolumeClaim"
	LimitTypePod                   LimitType = "Pod"
)

// LoadBalancerIPMode enumerates the values of LoadBalancerIngress.IPMode.
type LoadBalancerIPMode string

const (
	LoadBalancerIPModeProxy LoadBalancerIPMode = "Proxy"
	LoadBalancerIPModeVIP   LoadBalancerIPMode = "VIP"
)

// MountPropagationMode enumerates the values of VolumeMount.MountPropagation.
type MountPropagationMode string

const (
	MountPropagationBidirectional   MountPropagationMode = "Bidirectional"
	MountPropagationHostToContainer MountPropagationMode = "HostToContainer"
	MountPropagationNone            MountPropagationMode = "None"
)

// NamespaceConditionType enumerates the values of NamespaceCondition.Type.
type NamespaceConditionType string

const (
	NamespaceContentRemaining         NamespaceConditionType = "NamespaceContentRemaining"
	NamespaceDeletionContentFailure   NamespaceConditionType = "NamespaceDeletionContentFailure"
	NamespaceDeletionDiscoveryFailure NamespaceConditionType = "NamespaceDeletionDiscoveryFailure"
	NamespaceDeletionGVParsingFailure NamespaceConditionType = "NamespaceDeletionGroupVersionParsingFailure"
	NamespaceFinalizersRemaining      NamespaceConditionType = "NamespaceFinalizersRemaining"
)

// NamespacePhase enumerates the values of NamespaceStatus.Phase.
type NamespacePhase string

const (
	NamespaceActive      NamespacePhase = "Active"
	NamespaceTerminating NamespacePhase = "Terminating"
)

// NodeAddressType enumerates the values of NodeAddress.Type.
type NodeAddressType string

const (
	NodeExternalDNS NodeAddressType = "ExternalDNS"
	NodeExternalIP  NodeAddressType = "ExternalIP"
	NodeHostName    NodeAddressType = "Hostname"
	NodeInternalDNS NodeAddressType = "InternalDNS"
	NodeInternalIP  NodeAddressType = "InternalIP"
)

// NodeConditionType enumerates the values of NodeCondition.Type.
type NodeConditionType string

const (
	NodeDiskPressure       NodeConditionType = "DiskPressure"
	NodeMemoryPressure     NodeConditionType = "MemoryPressure"
	NodeNetworkUnavailable NodeConditionType = "NetworkUnavailable"
	NodePIDPressure        NodeConditionType = "PIDPressure"
	NodeReady              NodeConditionType = "Ready"
)

// NodeInclusionPolicy enumerates the values of TopologySpreadConstraint.NodeAffinityPolicy and
// TopologySpreadConstraint.NodeTaintsPolicy.
type NodeInclusionPolicy string

const (
	NodeInclusionPolicyHonor  NodeInclusionPolicy = "Honor"
	NodeInclusionPolicyIgnore NodeInclusionPolicy = "Ignore"
)

// NodePhase enumerates the values of NodeStatus.Phase.
type NodePhase string

const (
	NodePending    NodePhase = "Pending"
	NodeRunning    NodePhase = "Running"
	NodeTerminated NodePhase = "Terminated"
)

// NodeSelectorOperator enumerates the values of NodeSelectorRequirement.Operator.
type NodeSelectorOperator string

const (
	NodeSelectorOpDoesNotExist NodeSelectorOperator = "DoesNotExist"
	NodeSelectorOpExists       NodeSelectorOperator = "Exists"
	NodeSelectorOpGt           NodeSelectorOperator = "Gt"
	NodeSelectorOpIn           NodeSelectorOperator = "In"
	NodeSelectorOpLt           NodeSelectorOperator = "Lt"
	NodeSelectorOpNotIn        NodeSelectorOperator = "NotIn"
)

// OSName enumerates the values of PodOS.Name.
type OSName string

const (
	Linux   OSName = "linux"
	Windows OSName = "windows"
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

// PodConditionType enumerates the values of PodCondition.Type and PodReadinessGate.ConditionType.
type PodConditionType string

const (
	AllContainersRestarting   PodConditionType = "AllContainersRestarting"
	ContainersReady           PodConditionType = "ContainersReady"
	DisruptionTarget          PodConditionType = "DisruptionTarget"
	PodInitialized            PodConditionType = "Initialized"
	PodReady                  PodConditionType = "Ready"
	PodReadyToStartContainers PodConditionType = "PodReadyToStartContainers"
	PodResizeInProgress       PodConditionType = "PodResizeInProgress"
	PodResizePending          PodConditionType = "PodResizePending"
	PodScheduled              PodConditionType = "PodScheduled"
)

// PodFSGroupChangePolicy enumerates the values of PodSecurityContext.FSGroupChangePolicy.
type PodFSGroupChangePolicy string

const (
	FSGroupChangeAlways         PodFSGroupChangePolicy = "Always"
	FSGroupChangeOnRootMismatch PodFSGroupChangePolicy = "OnRootMismatch"
)

// PodPhase enumerates the values of PodStatus.Phase.
type PodPhase string

const (
	PodFailed    PodPhase = "Failed"
	PodPending   PodPhase = "Pending"
	PodRunning   PodPhase = "Running"
	PodSucceeded PodPhase = "Succeeded"
	PodUnknown   PodPhase = "Unknown"
)

// PodQOSClass enumerates the values of PodStatus.QOSClass.
type PodQOSClass string

const (
	PodQOSBestEffort PodQOSClass = "BestEffort"
	PodQOSBurstable  PodQOSClass = "Burstable"
	PodQOSGuaranteed PodQOSClass = "Guaranteed"
)

// PodResizeStatus enumerates the values of PodStatus.Resize.
type PodResizeStatus string

const (
	PodResizeStatusDeferred   PodResizeStatus = "Deferred"
	PodResizeStatusInProgress PodResizeStatus = "InProgress"
	PodResizeStatusInfeasible PodResizeStatus = "Infeasible"
)

// PodSELinuxChangePolicy enumerates the values of PodSecurityContext.SELinuxChangePolicy.
type PodSELinuxChangePolicy string

const (
	SELinuxChangePolicyMountOption PodSELinuxChangePolicy = "MountOption"
	SELinuxChangePolicyRecursive   PodSELinuxChangePolicy = "Recursive"
)

// PreemptionPolicy enumerates the values of PodSpec.PreemptionPolicy.
type PreemptionPolicy string

const (
	PreemptLowerPriority PreemptionPolicy = "PreemptLowerPriority"
	PreemptNever         PreemptionPolicy = "Never"
)

// ProcMountType enumerates the values of SecurityContext.ProcMount.
type ProcMountType string

const (
	DefaultProcMount  ProcMountType = "Default"
	UnmaskedProcMount ProcMountType = "Unmasked"
)

// Protocol enumerates the values of ContainerPort.Protocol, EndpointPort.Protocol and other fields.
type Protocol string

const (
	ProtocolSCTP Protocol = "SCTP"
	ProtocolTCP  Protocol = "TCP"
	ProtocolUDP  Protocol = "UDP"
)

// PullPolicy enumerates the values of Container.ImagePullPolicy, EphemeralContainerCommon.ImagePullPolicy and
// other fields.
type PullPolicy string

const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// RecursiveReadOnlyMode enumerates the values of VolumeMount.RecursiveReadOnly and
// VolumeMountStatus.RecursiveReadOnly.
type RecursiveReadOnlyMode string

const (
	RecursiveReadOnlyDisabled   RecursiveReadOnlyMode = "Disabled"
	RecursiveReadOnlyEnabled    RecursiveReadOnlyMode = "Enabled"
	RecursiveReadOnlyIfPossible RecursiveReadOnlyMode = "IfPossible"
)

// ReplicationControllerConditionType enumerates the values of ReplicationControllerCondition.Type.
type ReplicationControllerConditionType string

const (
	ReplicationControllerReplicaFailure ReplicationControllerConditionType = "ReplicaFailure"
)

// ResourceHealthStatus enumerates the values of ResourceHealth.Health.
type ResourceHealthStatus string

const (
	ResourceHealthStatusHealthy   ResourceHealthStatus = "Healthy"
	ResourceHealthStatusUnhealthy ResourceHealthStatus = "Unhealthy"
	ResourceHealthStatusUnknown   ResourceHealthStatus = "Unknown"
)

// ResourceID is the type of ResourceHealth.ResourceID.
type ResourceID string

// ResourceList is the type of ContainerStatus.AllocatedResources, LimitRangeItem.Max and other fields.
type ResourceList map[ResourceName]resource.Quantity

// ResourceName enumerates the values of ContainerResizePolicy.ResourceName,
// NodeAllocatableResourceClaimStatus.Resources and other fields.
type ResourceName string

const (
	ResourceCPU                      ResourceName = "cpu"
	ResourceConfigMaps               ResourceName = "configmaps"
	ResourceEphemeralStorage         ResourceName = "ephemeral-storage"
	ResourceLimitsCPU                ResourceName = "limits.cpu"
	ResourceLimitsEphemeralStorage   ResourceName = "limits.ephemeral-storage"
	ResourceLimitsMemory             ResourceName = "limits.memory"
	ResourceMemory                   ResourceName = "memory"
	ResourcePersistentVolumeClaims   ResourceName = "persistentvolumeclaims"
	ResourcePods                     ResourceName = "pods"
	ResourceQuotas                   ResourceName = "resourcequotas"
	ResourceReplicationControllers   ResourceName = "replicationcontrollers"
	ResourceRequestsCPU              ResourceName = "requests.cpu"
	ResourceRequestsEphemeralStorage ResourceName = "requests.ephemeral-storage"
	ResourceRequestsMemory           ResourceName = "requests.memory"
	ResourceRequestsStorage          ResourceName = "requests.storage"
	ResourceSecrets                  ResourceName = "secrets"
	ResourceServices                 ResourceName = "services"
	ResourceServicesLoadBalancers    ResourceName = "services.loadbalancers"
	ResourceServicesNodePorts        ResourceName = "services.nodeports"
	ResourceStorage                  ResourceName = "storage"
)

// ResourceQuotaScope enumerates the values of ResourceQuotaSpec.Scopes and
// ScopedResourceSelectorRequirement.ScopeName.
type ResourceQuotaScope string

const (
	ResourceQuotaScopeBestEffort                ResourceQuotaScope = "BestEffort"
	ResourceQuotaScopeCrossNamespacePodAffinity ResourceQuotaScope = "CrossNamespacePodAffinity"
	ResourceQuotaScopeNotBestEffort             ResourceQuotaScope = "NotBestEffort"
	ResourceQuotaScopeNotTerminating            ResourceQuotaScope = "NotTerminating"
	ResourceQuotaScopePriorityClass             ResourceQuotaScope = "PriorityClass"
	ResourceQuotaScopeTerminating               ResourceQuotaScope = "Terminating"
	ResourceQuotaScopeVolumeAttributesClass     ResourceQuotaScope = "VolumeAttributesClass"
)

// ResourceResizeRestartPolicy enumerates the values of ContainerResizePolicy.RestartPolicy.
type ResourceResizeRestartPolicy string

const (
	NotRequired      ResourceResizeRestartPolicy = "NotRequired"
	RestartContainer ResourceResizeRestartPolicy = "RestartContainer"
)

// RestartPolicy enumerates the values of PodSpec.RestartPolicy.
type RestartPolicy string

const (
	RestartPolicyAlways    RestartPolicy = "Always"
	RestartPolicyNever     RestartPolicy = "Never"
	RestartPolicyOnFailure RestartPolicy = "OnFailure"
)

// ScopeSelectorOperator enumerates the values of ScopedResourceSelectorRequirement.Operator.
type ScopeSelectorOperator string

const (
	ScopeSelectorOpDoesNotExist ScopeSelectorOperator = "DoesNotExist"
	ScopeSelectorOpExists       ScopeSelectorOperator = "Exists"
	ScopeSelectorOpIn           ScopeSelectorOperator = "In"
	ScopeSelectorOpNotIn        ScopeSelectorOperator = "NotIn"
)

// SeccompProfileType enumerates the values of SeccompProfile.Type.
type SeccompProfileType string

const (
	SeccompProfileTypeLocalhost      SeccompProfileType = "Localhost"
	SeccompProfileTypeRuntimeDefault SeccompProfileType = "RuntimeDefault"
	SeccompProfileTypeUnconfined     SeccompProfileType = "Unconfined"
)

// SecretType enumerates the values of Secret.Type.
type SecretType string

const (
	SecretTypeBasicAuth           SecretType = "kubernetes.io/basic-auth"
	SecretTypeBootstrapToken      SecretType = "bootstrap.kubernetes.io/token"
	SecretTypeDockerConfigJson    SecretType = "kubernetes.io/dockerconfigjson"
	SecretTypeDockercfg           SecretType = "kubernetes.io/dockercfg"
	SecretTypeOpaque              SecretType = "Opaque"
	SecretTypeSSHAuth             SecretType = "kubernetes.io/ssh-auth"
	SecretTypeServiceAccountToken SecretType = "kubernetes.io/service-account-token"
	SecretTypeTLS                 SecretType = "kubernetes.io/tls"
)

// ServiceAffinity enumerates the values of ServiceSpec.SessionAffinity.
type ServiceAffinity string

const (
	ServiceAffinityClientIP ServiceAffinity = "ClientIP"
	ServiceAffinityNone     ServiceAffinity = "None"
)

// ServiceExternalTrafficPolicy enumerates the values of ServiceSpec.ExternalTrafficPolicy.
type ServiceExternalTrafficPolicy string

const (
	ServiceExternalTrafficPolicyCluster     ServiceExternalTrafficPolicy = "Cluster"
	ServiceExternalTrafficPolicyLocal       ServiceExternalTrafficPolicy = "Local"
	ServiceExternalTrafficPolicyTypeCluster ServiceExternalTrafficPolicy = "Cluster"
	ServiceExternalTrafficPolicyTypeLocal   ServiceExternalTrafficPolicy = "Local"
)

// ServiceInternalTrafficPolicy enumerates the values of ServiceSpec.InternalTrafficPolicy.
type ServiceInternalTrafficPolicy string

const (
	ServiceInternalTrafficPolicyCluster ServiceInternalTrafficPolicy = "Cluster"
	ServiceInternalTrafficPolicyLocal   ServiceInternalTrafficPolicy = "Local"
)

// ServiceType enumerates the values of ServiceSpec.Type.
type ServiceType string

const (
	ServiceTypeClusterIP    ServiceType = "ClusterIP"
	ServiceTypeExternalName ServiceType = "ExternalName"
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
	ServiceTypeNodePort     ServiceType = "NodePort"
)

// Signal enumerates the values of ContainerStatus.StopSignal and Lifecycle.StopSignal.
type Signal string

const (
	SIGABRT         Signal = "SIGABRT"
	SIGALRM         Signal = "SIGALRM"
	SIGBUS          Signal = "SIGBUS"
	SIGCHLD         Signal = "SIGCHLD"
	SIGCLD          Signal = "SIGCLD"
	SIGCONT         Signal = "SIGCONT"
	SIGFPE          Signal = "SIGFPE"
	SIGHUP          Signal = "SIGHUP"
	SIGILL          Signal = "SIGILL"
	SIGINT          Signal = "SIGINT"
	SIGIO           Signal = "SIGIO"
	SIGIOT          Signal = "SIGIOT"
	SIGKILL         Signal = "SIGKILL"
	SIGPIPE         Signal = "SIGPIPE"
	SIGPOLL         Signal = "SIGPOLL"
	SIGPROF         Signal = "SIGPROF"
	SIGPWR          Signal = "SIGPWR"
	SIGQUIT         Signal = "SIGQUIT"
	SIGRTMAX        Signal = "SIGRTMAX"
	SIGRTMAXMINUS1  Signal = "SIGRTMAX-1"
	SIGRTMAXMINUS10 Signal = "SIGRTMAX-10"
	SIGRTMAXMINUS11 Signal = "SIGRTMAX-11"
	SIGRTMAXMINUS12 Signal = "SIGRTMAX-12"
	SIGRTMAXMINUS13 Signal = "SIGRTMAX-13"
	SIGRTMAXMINUS14 Signal = "SIGRTMAX-14"
	SIGRTMAXMINUS2  Signal = "SIGRTMAX-2"
	SIGRTMAXMINUS3  Signal = "SIGRTMAX-3"
	SIGRTMAXMINUS4  Signal = "SIGRTMAX-4"
	SIGRTMAXMINUS5  Signal = "SIGRTMAX-5"
	SIGRTMAXMINUS6  Signal = "SIGRTMAX-6"
	SIGRTMAXMINUS7  Signal = "SIGRTMAX-7"
	SIGRTMAXMINUS8  Signal = "SIGRTMAX-8"
	SIGRTMAXMINUS9  Signal = "SIGRTMAX-9"
	SIGRTMIN        Signal = "SIGRTMIN"
	SIGRTMINPLUS1   Signal = "SIGRTMIN+1"
	SIGRTMINPLUS10  Signal = "SIGRTMIN+10"
	SIGRTMINPLUS11  Signal = "SIGRTMIN+11"
	SIGRTMINPLUS12  Signal = "SIGRTMIN+12"
	SIGRTMINPLUS13  Signal = "SIGRTMIN+13"
	SIGRTMINPLUS14  Signal = "SIGRTMIN+14"
	SIGRTMINPLUS15  Signal = "SIGRTMIN+15"
	SIGRTMINPLUS2   Signal = "SIGRTMIN+2"
	SIGRTMINPLUS3   Signal = "SIGRTMIN+3"
	SIGRTMINPLUS4   Signal = "SIGRTMIN+4"
	SIGRTMINPLUS5   Signal = "SIGRTMIN+5"
	SIGRTMINPLUS6   Signal = "SIGRTMIN+6"
	SIGRTMINPLUS7   Signal = "SIGRTMIN+7"
	SIGRTMINPLUS8   Signal = "SIGRTMIN+8"
	SIGRTMINPLUS9   Signal = "SIGRTMIN+9"
	SIGSEGV         Signal = "SIGSEGV"
	SIGSTKFLT       Signal = "SIGSTKFLT"
	SIGSTOP         Signal = "SIGSTOP"
	SIGSYS          Signal = "SIGSYS"
	SIGTERM         Signal = "SIGTERM"
	SIGTRAP         Signal = "SIGTRAP"
	SIGTSTP         Signal = "SIGTSTP"
	SIGTTIN         Signal = "SIGTTIN"
	SIGTTOU         Signal = "SIGTTOU"
	SIGURG          Signal = "SIGURG"
	SIGUSR1         Signal = "SIGUSR1"
	SIGUSR2         Signal = "SIGUSR2"
	SIGVTALRM       Signal = "SIGVTALRM"
	SIGWINCH        Signal = "SIGWINCH"
	SIGXCPU         Signal = "SIGXCPU"
	SIGXFSZ         Signal = "SIGXFSZ"
)

// StorageMedium enumerates the values of EmptyDirVolumeSource.Medium.
type StorageMedium string

const (
	StorageMediumDefault         StorageMedium = ""
	StorageMediumHugePages       StorageMedium = "HugePages"
	StorageMediumHugePagesPrefix StorageMedium = "HugePages-"
	StorageMediumMemory          StorageMedium = "Memory"
)

// SupplementalGroupsPolicy enumerates the values of PodSecurityContext.SupplementalGroupsPolicy.
type SupplementalGroupsPolicy string

const (
	SupplementalGroupsPolicyMerge  SupplementalGroupsPolicy = "Merge"
	SupplementalGroupsPolicyStrict SupplementalGroupsPolicy = "Strict"
)

// TaintEffect enumerates the values of Taint.Effect and Toleration.Effect.
type TaintEffect string

const (
	TaintEffectNoExecute        TaintEffect = "NoExecute"
	TaintEffectNoSchedule       TaintEffect = "NoSchedule"
	TaintEffectPreferNoSchedule TaintEffect = "PreferNoSchedule"
)

// TerminationMessagePolicy enumerates the values of Container.TerminationMessagePolicy and
// EphemeralContainerCommon.TerminationMessagePolicy.
type TerminationMessagePolicy string

const (
	TerminationMessageFallbackToLogsOnError TerminationMessagePolicy = "FallbackToLogsOnError"
	TerminationMessageReadFile              TerminationMessagePolicy = "File"
)

// TolerationOperator enumerates the values of Toleration.Operator.
type TolerationOperator string

const (
	TolerationOpEqual  TolerationOperator = "Equal"
	TolerationOpExists TolerationOperator = "Exists"
	TolerationOpGt     TolerationOperator = "Gt"
	TolerationOpLt     TolerationOperator = "Lt"
)

// URIScheme enumerates the values of HTTPGetAction.Scheme.
type URIScheme string

const (
	URISchemeHTTP  URIScheme = "HTTP"
	URISchemeHTTPS URIScheme = "HTTPS"
)

// UniqueVolumeName is the type of AttachedVolume.Name and NodeStatus.VolumesInUse.
type UniqueVolumeName string

// UnsatisfiableConstraintAction enumerates the values of TopologySpreadConstraint.WhenUnsatisfiable.
type UnsatisfiableConstraintAction string

const (
	DoNotSchedule  UnsatisfiableConstraintAction = "DoNotSchedule"
	ScheduleAnyway UnsatisfiableConstraintAction = "ScheduleAnyway"
)

// Well-known names and values.
const (
	ConfigMapVolumeSourceDefaultMode                   int32            = 420
	DefaultClientIPServiceAffinitySeconds              int32            = 10800
	DefaultHardPodAffinitySymmetricWeight              int32            = 1
	DownwardAPIVolumeSourceDefaultMode                 int32            = 420
	ProjectedVolumeSourceDefaultMode                   int32            = 420
	SecretVolumeSourceDefaultMode                      int32            = 420
	DeprecatedSeccompProfileDockerDefault                               = "docker/default"
	EventTypeNormal                                                     = "Normal"
	EventTypeWarning                                                    = "Warning"
	ImagePolicyFailedOpenKey                                            = "alpha.image-policy.k8s.io/failed-open"
	MirrorPodAnnotationKey                                              = "kubernetes.io/config.mirror"
	NamespaceAll                                                        = ""
	NamespaceDefault                                                    = "default"
	NamespaceNodeLease                                                  = "kube-node-lease"
	ObjectTTLAnnotationKey                                              = "node.alpha.kubernetes.io/ttl"
	PreferAvoidPodsAnnotationKey                                        = "scheduler.alpha.kubernetes.io/preferAvoidPods"
	ResourceClaimsPerClass                                              = ".deviceclass.resource.k8s.io/devices"
	ResourceImplicitExtendedClaimsPerClass                              = "requests.deviceclass.resource.kubernetes.io/"
	SeccompContainerAnnotationKeyPrefix                                 = "container.seccomp.security.alpha.kubernetes.io/"
	SeccompPodAnnotationKey                                             = "seccomp.security.alpha.kubernetes.io/pod"
	SeccompProfileNameUnconfined                                        = "unconfined"
	SeccompProfileRuntimeDefault                                        = "runtime/default"
	TaintsAnnotationKey                                                 = "scheduler.alpha.kubernetes.io/taints"
	TerminationMessagePathDefault                                       = "/dev/termination-log"
	TolerationsAnnotationKey                                            = "scheduler.alpha.kubernetes.io/tolerations"
	DefaultEnableServiceLinks                                           = true
	DefaultTerminationGracePeriodSeconds                                = 30
	MaxSecretSize                                                       = 1048576
	ResourceHealthMessageMaxLength                                      = 1024
	AnnotationLoadBalancerSourceRangesKey                               = "service.beta.kubernetes.io/load-balancer-source-ranges"
	AnnotationPeerAdvertiseAddress                                      = "kubernetes.io/peer-advertise-address"
	AnnotationTopologyMode                                              = "service.kubernetes.io/topology-mode"
	BasicAuthPasswordKey                                                = "password"
	BasicAuthUsernameKey                                                = "username"
	BetaStorageClassAnnotation                                          = "volume.beta.kubernetes.io/storage-class"
	ClusterIPNone                                                       = "None"
	DefaultResourceRequestsPrefix                                       = "requests."
	DefaultSchedulerName                                                = "default-scheduler"
	DeprecatedAnnotationTopologyAwareHints                              = "service.kubernetes.io/topology-aware-hints"
	DeprecatedAppArmorBetaContainerAnnotationKeyPrefix                  = "container.apparmor.security.beta.kubernetes.io/"
	DeprecatedAppArmorBetaProfileNamePrefix                             = "localhost/"
	DeprecatedAppArmorBetaProfileNameUnconfined                         = "unconfined"
	DeprecatedAppArmorBetaProfileRuntimeDefault                         = "runtime/default"
	DockerConfigJsonKey                                                 = ".dockerconfigjson"
	DockerConfigKey                                                     = ".dockercfg"
	EndpointsLastChangeTriggerTime                                      = "endpoints.kubernetes.io/last-change-trigger-time"
	EndpointsOverCapacity                                               = "endpoints.kubernetes.io/over-capacity"
	ExecCommandParam                                                    = "command"
	ExecStderrParam                                                     = "error"
	ExecStdinParam                                                      = "input"
	ExecStdoutParam                                                     = "output"
	ExecTTYParam                                                        = "tty"
	IsHeadlessService                                                   = "service.kubernetes.io/headless"
	LabelArchStable                                                     = "kubernetes.io/arch"
	LabelFailureDomainBetaRegion                                        = "failure-domain.beta.kubernetes.io/region"
	LabelFailureDomainBetaZone                                          = "failure-domain.beta.kubernetes.io/zone"
	LabelHostname                                                       = "kubernetes.io/hostname"
	LabelInstanceType                                                   = "beta.kubernetes.io/instance-type"
	LabelInstanceTypeStable                                             = "node.kubernetes.io/instance-type"
	LabelMetadataName                                                   = "kubernetes.io/metadata.name"
	LabelNamespaceNodeRestriction                                       = "node-restriction.kubernetes.io"
	LabelNamespaceSuffixKubelet                                         = "kubelet.kubernetes.io"
	LabelNamespaceSuffixNode                                            = "node.kubernetes.io"
	LabelNodeExcludeBalancers                                           = "node.kubernetes.io/exclude-from-external-load-balancers"
	LabelOSStable                                                       = "kubernetes.io/os"
	LabelTopologyRegion                                                 = "topology.kubernetes.io/region"
	LabelTopologyZone                                                   = "topology.kubernetes.io/zone"
	LabelWindowsBuild                                                   = "node.kubernetes.io/windows-build"
	LabelZoneFailureDomain                                              = "failure-domain.beta.kubernetes.io/zone"
	LabelZoneFailureDomainStable                                        = "topology.kubernetes.io/zone"
	LabelZoneRegion                                                     = "failure-domain.beta.kubernetes.io/region"
	LabelZoneRegionStable                                               = "topology.kubernetes.io/region"
	LastAppliedConfigAnnotation                                         = "kubectl.kubernetes.io/last-applied-configuration"
	LoadBalancerPortsError                                              = "LoadBalancerPortsError"
	LoadBalancerPortsErrorReason                                        = "LoadBalancerMixedProtocolNotSupported"
	LogStreamAll                                                        = "All"
	LogStreamStderr                                                     = "Stderr"
	LogStreamStdout                                                     = "Stdout"
	MigratedPluginsAnnotationKey                                        = "storage.alpha.kubernetes.io/migrated-plugins"
	MixedProtocolNotSupported                                           = "MixedProtocolNotSupported"
	MountOptionAnnotation                                               = "volume.beta.kubernetes.io/mount-options"
	NonConvertibleAnnotationPrefix                                      = "non-convertible.kubernetes.io"
	PodDeletionCost                                                     = "controller.kubernetes.io/pod-deletion-cost"
	PodReasonDeferred                                                   = "Deferred"
	PodReasonError                                                      = "Error"
	PodReasonInfeasible                                                 = "Infeasible"
	PodReasonPreemptionByScheduler                                      = "PreemptionByScheduler"
	PodReasonSchedulerError                                             = "SchedulerError"
	PodReasonSchedulingGated                                            = "SchedulingGated"
	PodReasonTerminationByKubelet                                       = "TerminationByKubelet"
	PodReasonUnschedulable                                              = "Unschedulable"
	PortForwardRequestIDHeader                                          = "requestID"
	PortHeader                                                          = "port"
	ResourceAttachableVolumesPrefix                                     = "attachable-volumes-"
	ResourceDefaultNamespacePrefix                                      = "kubernetes.io/"
	ResourceHugePagesPrefix                                             = "hugepages-"
	ResourceRequestsHugePagesPrefix                                     = "requests.hugepages-"
	SSHAuthPrivateKey                                                   = "ssh-privatekey"
	SeccompLocalhostProfileNamePrefix                                   = "localhost/"
	ServiceAccountKubeconfigKey                                         = "kubernetes.kubeconfig"
	ServiceAccountNameKey                                               = "kubernetes.io/service-account.name"
	ServiceAccountNamespaceKey                                          = "namespace"
	ServiceAccountRootCAKey                                             = "ca.crt"
	ServiceAccountTokenKey                                              = "token"
	ServiceAccountUIDKey                                                = "kubernetes.io/service-account.uid"
	ServiceTrafficDistributionPreferClose                               = "PreferClose"
	ServiceTrafficDistributionPreferSameNode                            = "PreferSameNode"
	ServiceTrafficDistributionPreferSameZone                            = "PreferSameZone"
	StreamType                                                          = "streamType"
	StreamTypeData                                                      = "data"
	StreamTypeError                                                     = "error"
	StreamTypeResize                                                    = "resize"
	StreamTypeStderr                                                    = "stderr"
	StreamTypeStdin                                                     = "stdin"
	StreamTypeStdout                                                    = "stdout"
	TLSCertKey                                                          = "tls.crt"
	TLSPrivateKeyKey                                                    = "tls.key"
	TaintNodeDiskPressure                                               = "node.kubernetes.io/disk-pressure"
	TaintNodeMemoryPressure                                             = "node.kubernetes.io/memory-pressure"
	TaintNodeNetworkUnavailable                                         = "node.kubernetes.io/network-unavailable"
	TaintNodeNotReady                                                   = "node.kubernetes.io/not-ready"
	TaintNodeOutOfService                                               = "node.kubernetes.io/out-of-service"
	TaintNodePIDPressure                                                = "node.kubernetes.io/pid-pressure"
	TaintNodeUnreachable                                                = "node.kubernetes.io/unreachable"
	TaintNodeUnschedulable                                              = "node.kubernetes.io/unschedulable"
	NamespaceTerminatingCause                          metav1.CauseType = "NamespaceTerminating"
)
