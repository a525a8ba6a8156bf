// Package corev1 holds the core kinds: pods, services, nodes, volumes, configuration and events (v1).
package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AWSElasticBlockStoreVolumeSource is a disk of Amazon EC2.
type AWSElasticBlockStoreVolumeSource struct {
	// Identity of the volume at its system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Partition to mount; the whole disk if 0.
	Partition int32 `json:"partition,omitempty" protobuf:"varint,3,opt,name=partition"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
}

// Affinity is what attracts a pod to nodes and to other pods, or keeps it away.
type Affinity struct {
	// Labels of nodes the pod must or would rather run on.
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty" protobuf:"bytes,1,opt,name=nodeAffinity"`
	// Pods it must or would rather be near to.
	PodAffinity *PodAffinity `json:"podAffinity,omitempty" protobuf:"bytes,2,opt,name=podAffinity"`
	// Pods it must or would rather keep away from.
	PodAntiAffinity *PodAntiAffinity `json:"podAntiAffinity,omitempty" protobuf:"bytes,3,opt,name=podAntiAffinity"`
}

// AppArmorProfile is an AppArmor profile.
type AppArmorProfile struct {
	// RuntimeDefault, Unconfined or Localhost.
	Type AppArmorProfileType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required,enum=Localhost|RuntimeDefault|Unconfined"`
	// Name of a profile loaded on the node; for Localhost only.
	LocalhostProfile *string `json:"localhostProfile,omitempty" protobuf:"bytes,2,opt,name=localhostProfile"`
}

// AttachedVolume is a volume attached to a node.
type AttachedVolume struct {
	// Plugin and volume, such as kubernetes.io/csi/DRIVER^HANDLE.
	Name UniqueVolumeName `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Where the node finds it, if it is a device.
	DevicePath string `json:"devicePath" protobuf:"bytes,2,opt,name=devicePath" openapi:"required"`
}

// AvoidPods is what pods a node would rather not run.
type AvoidPods struct {
	// Pods by their controllers.
	PreferAvoidPods []PreferAvoidPodsEntry `json:"preferAvoidPods,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=preferAvoidPods"`
}

// AzureDiskVolumeSource is a disk of Azure.
type AzureDiskVolumeSource struct {
	// Name of the disk.
	DiskName string `json:"diskName" protobuf:"bytes,1,opt,name=diskName" openapi:"required"`
	// Where the disk is: its blob, or its resource id if managed.
	DataDiskURI string `json:"diskURI" protobuf:"bytes,2,opt,name=diskURI" openapi:"required"`
	// None, ReadOnly or ReadWrite; ReadWrite unless set.
	CachingMode *AzureDataDiskCachingMode `json:"cachingMode,omitempty" default:"ReadWrite" protobuf:"bytes,3,opt,name=cachingMode" openapi:"enum=None|ReadOnly|ReadWrite"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType *string `json:"fsType,omitempty" default:"ext4" protobuf:"bytes,4,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly *bool `json:"readOnly,omitempty" protobuf:"varint,5,opt,name=readOnly"`
	// Shared, Dedicated or Managed; Shared unless set.
	Kind *AzureDataDiskKind `json:"kind,omitempty" default:"Shared" protobuf:"bytes,6,opt,name=kind" openapi:"enum=Dedicated|Managed|Shared"`
}

// AzureFilePersistentVolumeSource is a share of Azure Files with a secret in any namespace.
type AzureFilePersistentVolumeSource struct {
	// Secret with the storage account's name and key.
	SecretName string `json:"secretName" protobuf:"bytes,1,opt,name=secretName" openapi:"required"`
	// Name of the share.
	ShareName string `json:"shareName" protobuf:"bytes,2,opt,name=shareName" openapi:"required"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Namespace of the secret; the claim's unless set.
	SecretNamespace *string `json:"secretNamespace" protobuf:"bytes,4,opt,name=secretNamespace"`
}

// AzureFileVolumeSource is a share of Azure Files.
type AzureFileVolumeSource struct {
	// Secret with the storage account's name and key, in the pod's namespace.
	SecretName string `json:"secretName" protobuf:"bytes,1,opt,name=secretName" openapi:"required"`
	// Name of the share.
	ShareName string `json:"shareName" protobuf:"bytes,2,opt,name=shareName" openapi:"required"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
}

// Binding assigns a pod to a node.
type Binding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Node to run the pod on.
	Target ObjectReference `json:"target" protobuf:"bytes,2,opt,name=target" openapi:"required"`
}

// CSIPersistentVolumeSource is a volume of a CSI driver.
type CSIPersistentVolumeSource struct {
	// Name of the driver.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// The driver's own name of the volume.
	VolumeHandle string `json:"volumeHandle" protobuf:"bytes,2,opt,name=volumeHandle" openapi:"required"`
	// Always mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// File system type to mount, or to make.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,4,opt,name=fsType"`
	// What the driver said when it made the volume.
	VolumeAttributes map[string]string `json:"volumeAttributes,omitempty" protobuf:"bytes,5,rep,name=volumeAttributes"`
	// Secret for attaching.
	ControllerPublishSecretRef *SecretReference `json:"controllerPublishSecretRef,omitempty" protobuf:"bytes,6,opt,name=controllerPublishSecretRef"`
	// Secret for staging on a node.
	NodeStageSecretRef *SecretReference `json:"nodeStageSecretRef,omitempty" protobuf:"bytes,7,opt,name=nodeStageSecretRef"`
	// Secret for mounting into a pod.
	NodePublishSecretRef *SecretReference `json:"nodePublishSecretRef,omitempty" protobuf:"bytes,8,opt,name=nodePublishSecretRef"`
	// Secret for growing on the controller's side.
	ControllerExpandSecretRef *SecretReference `json:"controllerExpandSecretRef,omitempty" protobuf:"bytes,9,opt,name=controllerExpandSecretRef"`
	// Secret for growing on the node.
	NodeExpandSecretRef *SecretReference `json:"nodeExpandSecretRef,omitempty" protobuf:"bytes,10,opt,name=nodeExpandSecretRef"`
}

// CSIVolumeSource is a volume that a CSI driver makes for one pod.
type CSIVolumeSource struct {
	// Name of the driver.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// Mount it read-only.
	ReadOnly *bool `json:"readOnly,omitempty" protobuf:"varint,2,opt,name=readOnly"`
	// File system type passed to the driver.
	FSType *string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Settings passed to the driver.
	VolumeAttributes map[string]string `json:"volumeAttributes,omitempty" protobuf:"bytes,4,rep,name=volumeAttributes"`
	// Secret passed to the driver when it mounts.
	NodePublishSecretRef *LocalObjectReference `json:"nodePublishSecretRef,omitempty" protobuf:"bytes,5,opt,name=nodePublishSecretRef"`
}

// Capabilities are Linux capabilities beyond or below the runtime's default set.
type Capabilities struct {
	// Capabilities to add.
	Add []Capability `json:"add,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=add"`
	// Capabilities to drop; ALL drops all.
	Drop []Capability `json:"drop,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=drop"`
}

// CephFSPersistentVolumeSource is a Ceph file system with a secret in any namespace.
type CephFSPersistentVolumeSource struct {
	// Addresses of the cluster's monitors.
	Monitors []string `json:"monitors" listType:"atomic" protobuf:"bytes,1,rep,name=monitors" openapi:"required"`
	// Directory of the file system to mount; / unless set.
	Path string `json:"path,omitempty" protobuf:"bytes,2,opt,name=path"`
	// Ceph user; admin unless set.
	User string `json:"user,omitempty" protobuf:"bytes,3,opt,name=user"`
	// Key file on the node; /etc/ceph/user.secret unless set.
	SecretFile string `json:"secretFile,omitempty" protobuf:"bytes,4,opt,name=secretFile"`
	// Secret with credentials.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,6,opt,name=readOnly"`
}

// CephFSVolumeSource is a Ceph file system.
type CephFSVolumeSource struct {
	// Addresses of the cluster's monitors.
	Monitors []string `json:"monitors" listType:"atomic" protobuf:"bytes,1,rep,name=monitors" openapi:"required"`
	// Directory of the file system to mount; / unless set.
	Path string `json:"path,omitempty" protobuf:"bytes,2,opt,name=path"`
	// Ceph user; admin unless set.
	User string `json:"user,omitempty" protobuf:"bytes,3,opt,name=user"`
	// Key file on the node; /etc/ceph/user.secret unless set.
	SecretFile string `json:"secretFile,omitempty" protobuf:"bytes,4,opt,name=secretFile"`
	// Secret with credentials.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,6,opt,name=readOnly"`
}

// CinderPersistentVolumeSource is a disk of OpenStack with a secret in any namespace.
type CinderPersistentVolumeSource struct {
	// Identity of the volume at its system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Secret with credentials.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,4,opt,name=secretRef"`
}

// CinderVolumeSource is a disk of OpenStack.
type CinderVolumeSource struct {
	// Identity of the volume at its system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Secret with credentials.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,4,opt,name=secretRef"`
}

// ClientIPConfig is affinity by client address.
type ClientIPConfig struct {
	// Seconds after which an idle client is forgotten, at most 86400; three hours unless set.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`
}

// ClusterTrustBundleProjection is certificates of trust bundles as a file.
type ClusterTrustBundleProjection struct {
	// Name of one bundle; this or signerName is set.
	Name *string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// All bundles of this signer.
	SignerName *string `json:"signerName,omitempty" protobuf:"bytes,2,opt,name=signerName"`
	// Labels that narrow the signer's bundles.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty" protobuf:"bytes,3,opt,name=labelSelector"`
	// Start even if there is none.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,5,opt,name=optional"`
	// The file, relative to the volume's root.
	Path string `json:"path" protobuf:"bytes,4,opt,name=path" openapi:"required"`
}

// ComponentCondition is one fact about a component.
type ComponentCondition struct {
	// Name of the fact.
	Type ComponentConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	// Code of what went wrong.
	Error string `json:"error,omitempty" protobuf:"bytes,4,opt,name=error"`
}

// ComponentStatus is the health of a part of the control plane; no longer kept.
type ComponentStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Healthy or not, and why.
	Conditions []ComponentCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,2,rep,name=conditions"`
}

// ConfigMap is configuration as keys and values.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Nobody can change the data any more; only deletion remains.
	Immutable *bool `json:"immutable,omitempty" protobuf:"varint,4,opt,name=immutable"`
	// Values that are UTF-8 text; at most 1 MiB in all.
	Data map[string]string `json:"data,omitempty" protobuf:"bytes,2,rep,name=data"`
	// Values that are any bytes, base64 in JSON; no key may be in both.
	BinaryData map[string][]byte `json:"binaryData,omitempty" protobuf:"bytes,3,rep,name=binaryData"`
}

// ConfigMapEnvSource is a config map as a source of variables.
type ConfigMapEnvSource struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Start even if it does not exist.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,2,opt,name=optional"`
}

// ConfigMapKeySelector picks a key of a config map.
type ConfigMapKeySelector struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Entry of the config map's data.
	Key string `json:"key" protobuf:"bytes,2,opt,name=key" openapi:"required"`
	// Start even if the config map or the key does not exist.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,3,opt,name=optional"`
}

// ConfigMapNodeConfigSource is a config map with a node's configuration; no longer used.
type ConfigMapNodeConfigSource struct {
	// Namespace of the config map.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace" openapi:"required"`
	// Name of the config map.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	// Which config map of that name; only in status.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,3,opt,name=uid"`
	// Which version of it; only in status.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,4,opt,name=resourceVersion"`
	// Key that holds the configuration.
	KubeletConfigKey string `json:"kubeletConfigKey" protobuf:"bytes,5,opt,name=kubeletConfigKey" openapi:"required"`
}

// ConfigMapProjection is keys of a config map in a projected volume.
type ConfigMapProjection struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Which keys, and as which files; all unless set.
	Items []KeyToPath `json:"items,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=items"`
	// Start even if the config map or a key does not exist.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// ConfigMapVolumeSource is a config map as files.
type ConfigMapVolumeSource struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Which keys, and as which files; all keys under their own names unless set.
	Items []KeyToPath `json:"items,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=items"`
	// Permission bits of the files, 0644 unless set; decimal in JSON.
	DefaultMode *int32 `json:"defaultMode,omitempty" protobuf:"varint,3,opt,name=defaultMode"`
	// Start even if the config map or a key does not exist.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// Container is one program with its image, environment and mounts.
type Container struct {
	// Unique name within the pod, a DNS label; cannot change.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Image to run; the tag latest is implied when neither tag nor digest is given.
	Image string `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// Program to run instead of the image's entry point; $(VAR) is replaced from the environment, $$ stands
	// for a dollar sign.
	Command []string `json:"command,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=command"`
	// Arguments instead of the image's own; replaced as in command.
	Args []string `json:"args,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=args"`
	// Directory the program starts in; the image's unless set.
	WorkingDir string `json:"workingDir,omitempty" protobuf:"bytes,5,opt,name=workingDir"`
	// Ports the program listens on. For information and for names; a port not listed is reachable too.
	Ports []ContainerPort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"containerPort" listType:"map" listMapKey:"containerPort,protocol" protobuf:"bytes,6,rep,name=ports"`
	// Config maps and secrets all of whose keys become environment variables.
	EnvFrom []EnvFromSource `json:"envFrom,omitempty" listType:"atomic" protobuf:"bytes,19,rep,name=envFrom"`
	// Environment variables; they win over those of envFrom.
	Env []EnvVar `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,7,rep,name=env"`
	// Requests and limits of cpu, memory and other resources.
	Resources ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,8,opt,name=resources"`
	// Whether a change of a resource restarts the container.
	ResizePolicy []ContainerResizePolicy `json:"resizePolicy,omitempty" listType:"atomic" protobuf:"bytes,23,rep,name=resizePolicy"`
	// In an init container, Always makes it a sidecar; elsewhere it overrides the pod's policy.
	RestartPolicy *ContainerRestartPolicy `json:"restartPolicy,omitempty" protobuf:"bytes,24,opt,name=restartPolicy"`
	// Rules by exit code that override the restart policy.
	RestartPolicyRules []ContainerRestartRule `json:"restartPolicyRules,omitempty" listType:"atomic" protobuf:"bytes,25,rep,name=restartPolicyRules"`
	// Where volumes appear in the file system.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath" listType:"map" listMapKey:"mountPath" protobuf:"bytes,9,rep,name=volumeMounts"`
	// Where block volumes appear as devices.
	VolumeDevices []VolumeDevice `json:"volumeDevices,omitempty" patchStrategy:"merge" patchMergeKey:"devicePath" listType:"map" listMapKey:"devicePath" protobuf:"bytes,21,rep,name=volumeDevices"`
	// Check whose failure restarts the container.
	LivenessProbe *Probe `json:"livenessProbe,omitempty" protobuf:"bytes,10,opt,name=livenessProbe"`
	// Check that decides whether services send traffic here.
	ReadinessProbe *Probe `json:"readinessProbe,omitempty" protobuf:"bytes,11,opt,name=readinessProbe"`
	// Check that must succeed first; until then the other two are not made.
	StartupProbe *Probe `json:"startupProbe,omitempty" protobuf:"bytes,22,opt,name=startupProbe"`
	// Actions after the start and before the end.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty" protobuf:"bytes,12,opt,name=lifecycle"`
	// File whose contents are reported when the container ends; /dev/termination-log unless set.
	TerminationMessagePath string `json:"terminationMessagePath,omitempty" protobuf:"bytes,13,opt,name=terminationMessagePath"`
	// Whether the end of the log is reported when that file is empty after a failure: File or
	// FallbackToLogsOnError.
	TerminationMessagePolicy TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty" protobuf:"bytes,20,opt,name=terminationMessagePolicy" openapi:"enum=FallbackToLogsOnError|File"`
	// When to pull: Always (the default for the tag latest), IfNotPresent or Never.
	ImagePullPolicy PullPolicy `json:"imagePullPolicy,omitempty" protobuf:"bytes,14,opt,name=imagePullPolicy" openapi:"enum=Always|IfNotPresent|Never"`
	// Identity and permissions of this container; they win over the pod's.
	SecurityContext *SecurityContext `json:"securityContext,omitempty" protobuf:"bytes,15,opt,name=securityContext"`
	// Keep standard input open for attach; otherwise reads end at once.
	Stdin bool `json:"stdin,omitempty" protobuf:"varint,16,opt,name=stdin"`
	// Close standard input after the first attach has ended.
	StdinOnce bool `json:"stdinOnce,omitempty" protobuf:"varint,17,opt,name=stdinOnce"`
	// Give the container a terminal; needs stdin.
	TTY bool `json:"tty,omitempty" protobuf:"varint,18,opt,name=tty"`
}

// ContainerExtendedResourceRequest says which request of a claim stands for an extended resource of a
// container.
type ContainerExtendedResourceRequest struct {
	// Container that asks for the resource.
	ContainerName string `json:"containerName" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Extended resource, such as example.com/gpu.
	ResourceName string `json:"resourceName" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Request in the claim.
	RequestName string `json:"requestName" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

// ContainerImage is an image a node has.
type ContainerImage struct {
	// Names it is known by.
	Names []string `json:"names" listType:"atomic" protobuf:"bytes,1,rep,name=names"`
	// Size of the image on the node, in bytes.
	SizeBytes int64 `json:"sizeBytes,omitempty" protobuf:"varint,2,opt,name=sizeBytes"`
}

// ContainerPort is a port of a container.
type ContainerPort struct {
	// Name that services and probes can use; unique in the pod, at most 15 characters.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Port on the node to expose it at; leave it out unless you must.
	HostPort int32 `json:"hostPort,omitempty" protobuf:"varint,2,opt,name=hostPort"`
	// Number of the port, 1 to 65535.
	ContainerPort int32 `json:"containerPort" protobuf:"varint,3,opt,name=containerPort" openapi:"required"`
	// TCP (the default), UDP or SCTP.
	Protocol Protocol `json:"protocol,omitempty" default:"TCP" protobuf:"bytes,4,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// Address of the node to bind the host port to.
	HostIP string `json:"hostIP,omitempty" protobuf:"bytes,5,opt,name=hostIP"`
}

// ContainerResizePolicy says what a change of a resource does to the container.
type ContainerResizePolicy struct {
	// cpu or memory.
	ResourceName ResourceName `json:"resourceName" protobuf:"bytes,1,opt,name=resourceName" openapi:"required"`
	// NotRequired (the default) or RestartContainer.
	RestartPolicy ResourceResizeRestartPolicy `json:"restartPolicy" protobuf:"bytes,2,opt,name=restartPolicy" openapi:"required"`
}

// ContainerRestartRule overrides the restart policy for some ends.
type ContainerRestartRule struct {
	// What to do when the rule matches, such as Restart.
	Action ContainerRestartRuleAction `json:"action,omitempty" protobuf:"bytes,1,opt,name=action" openapi:"required"`
	// Exit codes it matches.
	ExitCodes *ContainerRestartRuleOnExitCodes `json:"exitCodes,omitempty" protobuf:"bytes,2,opt,name=exitCodes"`
}

// ContainerRestartRuleOnExitCodes selects exit codes.
type ContainerRestartRuleOnExitCodes struct {
	// In or NotIn the values.
	Operator ContainerRestartRuleOnExitCodesOperator `json:"operator,omitempty" protobuf:"bytes,1,opt,name=operator" openapi:"required"`
	// Up to 255 exit codes.
	Values []int32 `json:"values,omitempty" listType:"set" protobuf:"varint,2,rep,name=values"`
}

// ContainerState is what a container is doing; one of its fields is set.
type ContainerState struct {
	// It is not running yet, and why.
	Waiting *ContainerStateWaiting `json:"waiting,omitempty" protobuf:"bytes,1,opt,name=waiting"`
	// Set while it runs.
	Running *ContainerStateRunning `json:"running,omitempty" protobuf:"bytes,2,opt,name=running"`
	// It has ended, and how.
	Terminated *ContainerStateTerminated `json:"terminated,omitempty" protobuf:"bytes,3,opt,name=terminated"`
}

// ContainerStateRunning says since when a container runs.
type ContainerStateRunning struct {
	// When it was last started.
	StartedAt metav1.Time `json:"startedAt,omitempty" protobuf:"bytes,1,opt,name=startedAt"`
}

// ContainerStateTerminated says how a container ended.
type ContainerStateTerminated struct {
	// Exit code of its last process; 128 and more by convention for a signal.
	ExitCode int32 `json:"exitCode" protobuf:"varint,1,opt,name=exitCode" openapi:"required"`
	// Signal that ended it, if any.
	Signal int32 `json:"signal,omitempty" protobuf:"varint,2,opt,name=signal"`
	// Reason in one word, such as OOMKilled.
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
	// When it had been started.
	StartedAt metav1.Time `json:"startedAt,omitempty" protobuf:"bytes,5,opt,name=startedAt"`
	// When its last process ended.
	FinishedAt metav1.Time `json:"finishedAt,omitempty" protobuf:"bytes,6,opt,name=finishedAt"`
	// Identity at the runtime, as type://id.
	ContainerID string `json:"containerID,omitempty" protobuf:"bytes,7,opt,name=containerID"`
}

// ContainerStateWaiting says why a container does not run yet.
type ContainerStateWaiting struct {
	// Reason in one word, such as ImagePullBackOff.
	Reason string `json:"reason,omitempty" protobuf:"bytes,1,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
}

// ContainerStatus is the state of one container.
type ContainerStatus struct {
	// Name of the container.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// What it is doing now.
	State ContainerState `json:"state,omitempty" protobuf:"bytes,2,opt,name=state"`
	// How it ended the last time.
	LastTerminationState ContainerState `json:"lastState,omitempty" protobuf:"bytes,3,opt,name=lastState"`
	// Whether its readiness check succeeds.
	Ready bool `json:"ready" protobuf:"varint,4,opt,name=ready" openapi:"required"`
	// How often it was started again.
	RestartCount int32 `json:"restartCount" protobuf:"varint,5,opt,name=restartCount" openapi:"required"`
	// Image the container runs, as the runtime names it; may differ from the spec's.
	Image string `json:"image" protobuf:"bytes,6,opt,name=image" openapi:"required"`
	// Digest of that image.
	ImageID string `json:"imageID" protobuf:"bytes,7,opt,name=imageID" openapi:"required"`
	// Identity at the runtime, as type://id.
	ContainerID string `json:"containerID,omitempty" protobuf:"bytes,8,opt,name=containerID"`
	// Whether its startup check has succeeded and its start hook is done.
	Started *bool `json:"started,omitempty" protobuf:"varint,9,opt,name=started"`
	// Requests the node has set aside.
	AllocatedResources ResourceList `json:"allocatedResources,omitempty" protobuf:"bytes,10,rep,name=allocatedResources"`
	// Requests and limits in force.
	Resources *ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,11,opt,name=resources"`
	// State of its mounts.
	VolumeMounts []VolumeMountStatus `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath" listType:"map" listMapKey:"mountPath" protobuf:"bytes,12,rep,name=volumeMounts"`
	// Identity of its first process.
	User *ContainerUser `json:"user,omitempty" protobuf:"bytes,13,opt,name=user"`
	// Health of the devices it uses.
	AllocatedResourcesStatus []ResourceStatus `json:"allocatedResourcesStatus,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,14,rep,name=allocatedResourcesStatus"`
	// Signal that ends it.
	StopSignal *Signal `json:"stopSignal,omitempty" protobuf:"bytes,15,opt,name=stopSignal" openapi:"enum=SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ"`
}

// ContainerUser is the identity of a container's first process.
type ContainerUser struct {
	// User and groups on Linux.
	Linux *LinuxContainerUser `json:"linux,omitempty" protobuf:"bytes,1,opt,name=linux"`
}

// DaemonEndpoint is the port of a service of a node.
type DaemonEndpoint struct {
	// Port number on the node's addresses.
	Port int32 `json:"Port" protobuf:"varint,1,opt,name=Port" openapi:"required"`
}

// DownwardAPIProjection is fields of the pod in a projected volume.
type DownwardAPIProjection struct {
	// Files, and which field or resource each holds.
	Items []DownwardAPIVolumeFile `json:"items,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=items"`
}

// DownwardAPIVolumeFile is a field of the pod as a file; one of the two sources is set.
type DownwardAPIVolumeFile struct {
	// The file, relative to the volume's root.
	Path string `json:"path" protobuf:"bytes,1,opt,name=path" openapi:"required"`
	// A field of the pod: annotations, labels, name, namespace or uid.
	FieldRef *ObjectFieldSelector `json:"fieldRef,omitempty" protobuf:"bytes,2,opt,name=fieldRef"`
	// A request or limit of a container.
	ResourceFieldRef *ResourceFieldSelector `json:"resourceFieldRef,omitempty" protobuf:"bytes,3,opt,name=resourceFieldRef"`
	// Permission bits of this file instead of the volume's.
	Mode *int32 `json:"mode,omitempty" protobuf:"varint,4,opt,name=mode"`
}

// DownwardAPIVolumeSource is fields of the pod as files.
type DownwardAPIVolumeSource struct {
	// Files, and which field or resource each holds.
	Items []DownwardAPIVolumeFile `json:"items,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=items"`
	// Permission bits of the files, 0644 unless set; decimal in JSON.
	DefaultMode *int32 `json:"defaultMode,omitempty" protobuf:"varint,2,opt,name=defaultMode"`
}

// EmptyDirVolumeSource is a directory for the life of the pod.
type EmptyDirVolumeSource struct {
	// Where it is kept: empty for the node's disk, Memory, or HugePages.
	Medium StorageMedium `json:"medium,omitempty" protobuf:"bytes,1,opt,name=medium"`
	// The most it may hold; the pod is evicted beyond.
	SizeLimit *resource.Quantity `json:"sizeLimit,omitempty" protobuf:"bytes,2,opt,name=sizeLimit"`
}

// EndpointAddress is one address.
type EndpointAddress struct {
	// Address; not loopback, link-local or multicast.
	IP string `json:"ip" protobuf:"bytes,1,opt,name=ip" openapi:"required"`
	// Name of the endpoint.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,3,opt,name=hostname"`
	// Node that the endpoint is on.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,4,opt,name=nodeName"`
	// Object behind it, normally a pod.
	TargetRef *ObjectReference `json:"targetRef,omitempty" protobuf:"bytes,2,opt,name=targetRef"`
}

// EndpointPort is one port.
type EndpointPort struct {
	// Name of the service's port.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Port number at the addresses.
	Port int32 `json:"port" protobuf:"varint,2,opt,name=port" openapi:"required"`
	// TCP (the default), UDP or SCTP.
	Protocol Protocol `json:"protocol,omitempty" protobuf:"bytes,3,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// What is spoken there.
	AppProtocol *string `json:"appProtocol,omitempty" protobuf:"bytes,4,opt,name=appProtocol"`
}

// EndpointSubset is addresses that share ports.
type EndpointSubset struct {
	// Addresses that are ready.
	Addresses []EndpointAddress `json:"addresses,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=addresses"`
	// Addresses that are not.
	NotReadyAddresses []EndpointAddress `json:"notReadyAddresses,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=notReadyAddresses"`
	// Ports that every address of the subset has.
	Ports []EndpointPort `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=ports"`
}

// Endpoints is the addresses behind a service; EndpointSlice has replaced it.
type Endpoints struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Addresses with the ports they have in common.
	Subsets []EndpointSubset `json:"subsets,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=subsets"`
}

// EnvFromSource makes variables of all keys of a config map or secret.
type EnvFromSource struct {
	// Put in front of every name.
	Prefix string `json:"prefix,omitempty" protobuf:"bytes,1,opt,name=prefix"`
	// Config map whose entries become variables.
	ConfigMapRef *ConfigMapEnvSource `json:"configMapRef,omitempty" protobuf:"bytes,2,opt,name=configMapRef"`
	// Secret whose entries become variables.
	SecretRef *SecretEnvSource `json:"secretRef,omitempty" protobuf:"bytes,3,opt,name=secretRef"`
}

// EnvVar is an environment variable.
type EnvVar struct {
	// Name of the variable.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Its value; $(VAR) is replaced from variables before it.
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// Source of the value; not together with value.
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty" protobuf:"bytes,3,opt,name=valueFrom"`
}

// EnvVarSource is where a variable's value comes from; one of its fields is set.
type EnvVarSource struct {
	// A field of the pod: name, namespace, labels, addresses and a few more.
	FieldRef *ObjectFieldSelector `json:"fieldRef,omitempty" protobuf:"bytes,1,opt,name=fieldRef"`
	// A request or limit of a container.
	ResourceFieldRef *ResourceFieldSelector `json:"resourceFieldRef,omitempty" protobuf:"bytes,2,opt,name=resourceFieldRef"`
	// A key of a config map in the namespace.
	ConfigMapKeyRef *ConfigMapKeySelector `json:"configMapKeyRef,omitempty" protobuf:"bytes,3,opt,name=configMapKeyRef"`
	// A key of a secret in the namespace.
	SecretKeyRef *SecretKeySelector `json:"secretKeyRef,omitempty" protobuf:"bytes,4,opt,name=secretKeyRef"`
	// A key of a file that an init container wrote to a volume.
	FileKeyRef *FileKeySelector `json:"fileKeyRef,omitempty" protobuf:"bytes,5,opt,name=fileKeyRef"`
}

// EphemeralContainer is a container added to a running pod.
type EphemeralContainer struct {
	EphemeralContainerCommon `json:",inline" protobuf:"bytes,1,opt,name="`
	// Container whose process namespace it shares.
	TargetContainerName string `json:"targetContainerName,omitempty" protobuf:"bytes,2,opt,name=targetContainerName"`
}

// EphemeralContainerCommon is what an ephemeral container has in common with others.
type EphemeralContainerCommon struct {
	// Unique name within the pod, a DNS label; cannot change.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Image to run; the tag latest is implied when neither tag nor digest is given.
	Image string `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// Program to run instead of the image's entry point; $(VAR) is replaced from the environment, $$ stands
	// for a dollar sign.
	Command []string `json:"command,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=command"`
	// Arguments instead of the image's own; replaced as in command.
	Args []string `json:"args,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=args"`
	// Directory the program starts in; the image's unless set.
	WorkingDir string `json:"workingDir,omitempty" protobuf:"bytes,5,opt,name=workingDir"`
	// Ports the program listens on. For information and for names; a port not listed is reachable too.
	Ports []ContainerPort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"containerPort" listType:"map" listMapKey:"containerPort,protocol" protobuf:"bytes,6,rep,name=ports"`
	// Config maps and secrets all of whose keys become environment variables.
	EnvFrom []EnvFromSource `json:"envFrom,omitempty" listType:"atomic" protobuf:"bytes,19,rep,name=envFrom"`
	// Environment variables; they win over those of envFrom.
	Env []EnvVar `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,7,rep,name=env"`
	// Requests and limits of cpu, memory and other resources.
	Resources ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,8,opt,name=resources"`
	// Whether a change of a resource restarts the container.
	ResizePolicy []ContainerResizePolicy `json:"resizePolicy,omitempty" listType:"atomic" protobuf:"bytes,23,rep,name=resizePolicy"`
	// In an init container, Always makes it a sidecar; elsewhere it overrides the pod's policy.
	RestartPolicy *ContainerRestartPolicy `json:"restartPolicy,omitempty" protobuf:"bytes,24,opt,name=restartPolicy"`
	// Rules by exit code that override the restart policy.
	RestartPolicyRules []ContainerRestartRule `json:"restartPolicyRules,omitempty" listType:"atomic" protobuf:"bytes,25,rep,name=restartPolicyRules"`
	// Where volumes appear in the file system.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath" listType:"map" listMapKey:"mountPath" protobuf:"bytes,9,rep,name=volumeMounts"`
	// Where block volumes appear as devices.
	VolumeDevices []VolumeDevice `json:"volumeDevices,omitempty" patchStrategy:"merge" patchMergeKey:"devicePath" listType:"map" listMapKey:"devicePath" protobuf:"bytes,21,rep,name=volumeDevices"`
	// Check whose failure restarts the container.
	LivenessProbe *Probe `json:"livenessProbe,omitempty" protobuf:"bytes,10,opt,name=livenessProbe"`
	// Check that decides whether services send traffic here.
	ReadinessProbe *Probe `json:"readinessProbe,omitempty" protobuf:"bytes,11,opt,name=readinessProbe"`
	// Check that must succeed first; until then the other two are not made.
	StartupProbe *Probe `json:"startupProbe,omitempty" protobuf:"bytes,22,opt,name=startupProbe"`
	// Actions after the start and before the end.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty" protobuf:"bytes,12,opt,name=lifecycle"`
	// File whose contents are reported when the container ends; /dev/termination-log unless set.
	TerminationMessagePath string `json:"terminationMessagePath,omitempty" protobuf:"bytes,13,opt,name=terminationMessagePath"`
	// Whether the end of the log is reported when that file is empty after a failure: File or
	// FallbackToLogsOnError.
	TerminationMessagePolicy TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty" protobuf:"bytes,20,opt,name=terminationMessagePolicy" openapi:"enum=FallbackToLogsOnError|File"`
	// When to pull: Always (the default for the tag latest), IfNotPresent or Never.
	ImagePullPolicy PullPolicy `json:"imagePullPolicy,omitempty" protobuf:"bytes,14,opt,name=imagePullPolicy" openapi:"enum=Always|IfNotPresent|Never"`
	// Identity and permissions of this container; they win over the pod's.
	SecurityContext *SecurityContext `json:"securityContext,omitempty" protobuf:"bytes,15,opt,name=securityContext"`
	// Keep standard input open for attach; otherwise reads end at once.
	Stdin bool `json:"stdin,omitempty" protobuf:"varint,16,opt,name=stdin"`
	// Close standard input after the first attach has ended.
	StdinOnce bool `json:"stdinOnce,omitempty" protobuf:"varint,17,opt,name=stdinOnce"`
	// Give the container a terminal; needs stdin.
	TTY bool `json:"tty,omitempty" protobuf:"varint,18,opt,name=tty"`
}

// EphemeralVolumeSource makes a claim for one pod.
type EphemeralVolumeSource struct {
	// The claim, named after pod and volume.
	VolumeClaimTemplate *PersistentVolumeClaimTemplate `json:"volumeClaimTemplate,omitempty" protobuf:"bytes,1,opt,name=volumeClaimTemplate"`
}

// Event is a report about an object.
type Event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata" openapi:"required"`
	// Object the event is about.
	InvolvedObject ObjectReference `json:"involvedObject" protobuf:"bytes,2,opt,name=involvedObject" openapi:"required"`
	// Why, in one word for programs.
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// What happened, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
	// Component that reports it.
	Source EventSource `json:"source,omitempty" protobuf:"bytes,5,opt,name=source"`
	// When it happened first.
	FirstTimestamp metav1.Time `json:"firstTimestamp,omitempty" protobuf:"bytes,6,opt,name=firstTimestamp"`
	// When it happened last.
	LastTimestamp metav1.Time `json:"lastTimestamp,omitempty" protobuf:"bytes,7,opt,name=lastTimestamp"`
	// How often it happened.
	Count int32 `json:"count,omitempty" protobuf:"varint,8,opt,name=count"`
	// Normal or Warning.
	Type string `json:"type,omitempty" protobuf:"bytes,9,opt,name=type"`
	// When it was first observed, to the microsecond.
	EventTime metav1.MicroTime `json:"eventTime,omitempty" protobuf:"bytes,10,opt,name=eventTime"`
	// How often since, when it goes on.
	Series *EventSeries `json:"series,omitempty" protobuf:"bytes,11,opt,name=series"`
	// What was done or failed.
	Action string `json:"action,omitempty" protobuf:"bytes,12,opt,name=action"`
	// A second object it is about.
	Related *ObjectReference `json:"related,omitempty" protobuf:"bytes,13,opt,name=related"`
	// Name of the controller that reports it.
	ReportingController string `json:"reportingComponent" protobuf:"bytes,14,opt,name=reportingComponent"`
	// Which of its instances.
	ReportingInstance string `json:"reportingInstance" protobuf:"bytes,15,opt,name=reportingInstance"`
}

// EventSeries is an event that goes on.
type EventSeries struct {
	// How often it happened.
	Count int32 `json:"count,omitempty" protobuf:"varint,1,opt,name="`
	// When it happened last.
	LastObservedTime metav1.MicroTime `json:"lastObservedTime,omitempty" protobuf:"bytes,2,opt,name="`
}

// EventSource is who reports an event.
type EventSource struct {
	// Name of the program.
	Component string `json:"component,omitempty" protobuf:"bytes,1,opt,name=component"`
	// Node the reporter runs on.
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
}

// ExecAction runs a command.
type ExecAction struct {
	// Program and arguments, not interpreted by a shell.
	Command []string `json:"command,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=command"`
}

// FCVolumeSource is a Fibre Channel disk.
type FCVolumeSource struct {
	// Names of the targets; with lun.
	TargetWWNs []string `json:"targetWWNs,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=targetWWNs"`
	// Number of the unit.
	Lun *int32 `json:"lun,omitempty" protobuf:"varint,2,opt,name=lun"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Names of the disk, instead of targets.
	WWIDs []string `json:"wwids,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=wwids"`
}

// FileKeySelector picks a key of a file with lines KEY=value.
type FileKeySelector struct {
	// An emptyDir volume that holds the file.
	VolumeName string `json:"volumeName" protobuf:"bytes,1,opt,name=volumeName" openapi:"required"`
	// File in the volume, relative to its root.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// The key in the file.
	Key string `json:"key" protobuf:"bytes,3,opt,name=key" openapi:"required"`
	// Start even if the file or the key does not exist.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// FlexPersistentVolumeSource is a volume of a FlexVolume driver with a secret in any namespace.
type FlexPersistentVolumeSource struct {
	// Name of the driver on the node.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Secret with credentials.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,3,opt,name=secretRef"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Passed to the driver as they are.
	Options map[string]string `json:"options,omitempty" protobuf:"bytes,5,rep,name=options"`
}

// FlexVolumeSource is a volume of a FlexVolume driver.
type FlexVolumeSource struct {
	// Name of the driver on the node.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Secret with credentials.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,3,opt,name=secretRef"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Passed to the driver as they are.
	Options map[string]string `json:"options,omitempty" protobuf:"bytes,5,rep,name=options"`
}

// FlockerVolumeSource is a Flocker dataset; one of name and UUID is set.
type FlockerVolumeSource struct {
	// Name of the dataset in its metadata; outdated.
	DatasetName string `json:"datasetName,omitempty" protobuf:"bytes,1,opt,name=datasetName"`
	// Identity of the dataset.
	DatasetUUID string `json:"datasetUUID,omitempty" protobuf:"bytes,2,opt,name=datasetUUID"`
}

// GCEPersistentDiskVolumeSource is a disk of Google Compute Engine.
type GCEPersistentDiskVolumeSource struct {
	// Name of the disk in the project.
	PDName string `json:"pdName" protobuf:"bytes,1,opt,name=pdName" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Partition to mount; the whole disk if 0.
	Partition int32 `json:"partition,omitempty" protobuf:"varint,3,opt,name=partition"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
}

// GRPCAction asks a gRPC health service.
type GRPCAction struct {
	// Number of the port.
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port" openapi:"required"`
	// Service name to ask about; empty asks about the server.
	Service *string `json:"service" protobuf:"bytes,2,opt,name=service"`
}

// GitRepoVolumeSource is a checkout of a git repository.
type GitRepoVolumeSource struct {
	// URL to clone.
	Repository string `json:"repository" protobuf:"bytes,1,opt,name=repository" openapi:"required"`
	// Commit to check out; the default branch unless set.
	Revision string `json:"revision,omitempty" protobuf:"bytes,2,opt,name=revision"`
	// Where in the volume the checkout goes, without ..; the volume itself if ".", a directory named after
	// the repository if empty.
	Directory string `json:"directory,omitempty" protobuf:"bytes,3,opt,name=directory"`
}

// GlusterfsPersistentVolumeSource is a Gluster volume with endpoints in any namespace.
type GlusterfsPersistentVolumeSource struct {
	// Endpoints object that lists the servers.
	EndpointsName string `json:"endpoints" protobuf:"bytes,1,opt,name=endpoints" openapi:"required"`
	// Name of the volume on them.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Namespace of the Endpoints; the claim's unless set.
	EndpointsNamespace *string `json:"endpointsNamespace,omitempty" protobuf:"bytes,4,opt,name=endpointsNamespace"`
}

// GlusterfsVolumeSource is a Gluster volume.
type GlusterfsVolumeSource struct {
	// Endpoints object that lists the servers, in the pod's namespace.
	EndpointsName string `json:"endpoints" protobuf:"bytes,1,opt,name=endpoints" openapi:"required"`
	// Name of the volume on them.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
}

// HTTPGetAction is an HTTP request to a container.
type HTTPGetAction struct {
	// Path to ask for; / unless set.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
	// Number or name of the port.
	Port intstr.IntOrString `json:"port" protobuf:"bytes,2,opt,name=port" openapi:"required"`
	// Host to connect to; the pod's address unless set.
	Host string `json:"host,omitempty" protobuf:"bytes,3,opt,name=host"`
	// HTTP (the default) or HTTPS, whose certificate is not checked.
	Scheme URIScheme `json:"scheme,omitempty" protobuf:"bytes,4,opt,name=scheme" openapi:"enum=HTTP|HTTPS"`
	// Headers to send; the same name may be repeated.
	HTTPHeaders []HTTPHeader `json:"httpHeaders,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=httpHeaders"`
}

// HTTPHeader is a header of a request.
type HTTPHeader struct {
	// Name of the header.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Value of the header.
	Value string `json:"value" protobuf:"bytes,2,opt,name=value" openapi:"required"`
}

// HostAlias is a line of /etc/hosts.
type HostAlias struct {
	// Address the names stand for.
	IP string `json:"ip" protobuf:"bytes,1,opt,name=ip" openapi:"required"`
	// Names for the address.
	Hostnames []string `json:"hostnames,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=hostnames"`
}

// HostIP is one address of a node.
type HostIP struct {
	// An address of the node.
	IP string `json:"ip" protobuf:"bytes,1,opt,name=ip" openapi:"required"`
}

// HostPathVolumeSource is a file or directory of the node.
type HostPathVolumeSource struct {
	// Path on the node; a link is followed.
	Path string `json:"path" protobuf:"bytes,1,opt,name=path" openapi:"required"`
	// What must be there before the mount, such as Directory or FileOrCreate; nothing is checked when empty.
	Type *HostPathType `json:"type,omitempty" protobuf:"bytes,2,opt,name=type" openapi:"enum=|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket"`
}

// ISCSIPersistentVolumeSource is a disk of an iSCSI target with a secret in any namespace.
type ISCSIPersistentVolumeSource struct {
	// Address of the target, with its port unless that is 860 or 3260.
	TargetPortal string `json:"targetPortal" protobuf:"bytes,1,opt,name=targetPortal" openapi:"required"`
	// Qualified name of the target.
	IQN string `json:"iqn" protobuf:"bytes,2,opt,name=iqn" openapi:"required"`
	// Number of the disk at the target.
	Lun int32 `json:"lun" protobuf:"varint,3,opt,name=lun" openapi:"required"`
	// Transport the node uses; default (TCP) unless set.
	ISCSIInterface string `json:"iscsiInterface,omitempty" default:"default" protobuf:"bytes,4,opt,name=iscsiInterface"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,5,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,6,opt,name=readOnly"`
	// Further addresses of the same target, for several paths.
	Portals []string `json:"portals,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=portals"`
	// Authenticate by CHAP when looking for targets.
	DiscoveryCHAPAuth bool `json:"chapAuthDiscovery,omitempty" protobuf:"varint,8,opt,name=chapAuthDiscovery"`
	// Authenticate by CHAP when opening a session.
	SessionCHAPAuth bool `json:"chapAuthSession,omitempty" protobuf:"varint,11,opt,name=chapAuthSession"`
	// Secret with credentials.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,10,opt,name=secretRef"`
	// Qualified name the node gives itself; the node's own unless set.
	InitiatorName *string `json:"initiatorName,omitempty" protobuf:"bytes,12,opt,name=initiatorName"`
}

// ISCSIVolumeSource is a disk of an iSCSI target.
type ISCSIVolumeSource struct {
	// Address and port of the target.
	TargetPortal string `json:"targetPortal" protobuf:"bytes,1,opt,name=targetPortal" openapi:"required"`
	// Name of the target.
	IQN string `json:"iqn" protobuf:"bytes,2,opt,name=iqn" openapi:"required"`
	// Number of the unit.
	Lun int32 `json:"lun" protobuf:"varint,3,opt,name=lun" openapi:"required"`
	// Interface to use; default unless set.
	ISCSIInterface string `json:"iscsiInterface,omitempty" default:"default" protobuf:"bytes,4,opt,name=iscsiInterface"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,5,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,6,opt,name=readOnly"`
	// Further addresses of the target.
	Portals []string `json:"portals,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=portals"`
	// Authenticate discovery.
	DiscoveryCHAPAuth bool `json:"chapAuthDiscovery,omitempty" protobuf:"varint,8,opt,name=chapAuthDiscovery"`
	// Authenticate sessions.
	SessionCHAPAuth bool `json:"chapAuthSession,omitempty" protobuf:"varint,11,opt,name=chapAuthSession"`
	// Secret with credentials.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,10,opt,name=secretRef"`
	// Qualified name the node gives itself; the node's own unless set.
	InitiatorName *string `json:"initiatorName,omitempty" protobuf:"bytes,12,opt,name=initiatorName"`
}

// ImageVolumeSource is the files of an image.
type ImageVolumeSource struct {
	// Image or artifact to mount, named as a container's image is.
	Reference string `json:"reference,omitempty" protobuf:"bytes,1,opt,name=reference"`
	// When to pull: Always (the default for the tag latest), IfNotPresent or Never.
	PullPolicy PullPolicy `json:"pullPolicy,omitempty" protobuf:"bytes,2,opt,name=pullPolicy" openapi:"enum=Always|IfNotPresent|Never"`
}

// ImageVolumeStatus is the state of a mounted image.
type ImageVolumeStatus struct {
	// Digest of the image that was mounted.
	ImageRef string `json:"imageRef,omitempty" protobuf:"bytes,1,opt,name=imageRef" openapi:"required"`
}

// KeyToPath puts a key into a file.
type KeyToPath struct {
	// Entry of the data to make a file of.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// The file, relative to the volume's root.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// Permission bits of this file instead of the volume's.
	Mode *int32 `json:"mode,omitempty" protobuf:"varint,3,opt,name=mode"`
}

// Lifecycle is what happens after a container starts and before it ends.
type Lifecycle struct {
	// Done right after the start; its failure ends the container.
	PostStart *LifecycleHandler `json:"postStart,omitempty" protobuf:"bytes,1,opt,name=postStart"`
	// Done before the container is asked to end; the grace period is running already.
	PreStop *LifecycleHandler `json:"preStop,omitempty" protobuf:"bytes,2,opt,name=preStop"`
	// Signal that asks the container to end; needs the pod's os.name.
	StopSignal *Signal `json:"stopSignal,omitempty" protobuf:"bytes,3,opt,name=stopSignal" openapi:"enum=SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ"`
}

// LifecycleHandler is an action; one of its fields is set.
type LifecycleHandler struct {
	// Run a command in the container.
	Exec *ExecAction `json:"exec,omitempty" protobuf:"bytes,1,opt,name=exec"`
	// Make an HTTP request.
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty" protobuf:"bytes,2,opt,name=httpGet"`
	// Has no effect; kept for compatibility.
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" protobuf:"bytes,3,opt,name=tcpSocket"`
	// Wait for some seconds.
	Sleep *SleepAction `json:"sleep,omitempty" protobuf:"bytes,4,opt,name=sleep"`
}

// LimitRange bounds what single pods, containers and claims ask for.
type LimitRange struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Bounds and defaults for objects of the namespace.
	Spec LimitRangeSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// LimitRangeItem is the bounds for one type of object.
type LimitRangeItem struct {
	// Pod, Container or PersistentVolumeClaim.
	Type LimitType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// The most of each resource.
	Max ResourceList `json:"max,omitempty" protobuf:"bytes,2,rep,name=max"`
	// The least of each resource.
	Min ResourceList `json:"min,omitempty" protobuf:"bytes,3,rep,name=min"`
	// Limits for containers that set none.
	Default ResourceList `json:"default,omitempty" protobuf:"bytes,4,rep,name=default"`
	// Requests for containers that set none.
	DefaultRequest ResourceList `json:"defaultRequest,omitempty" protobuf:"bytes,5,rep,name=defaultRequest"`
	// The most times a limit may be its request.
	MaxLimitRequestRatio ResourceList `json:"maxLimitRequestRatio,omitempty" protobuf:"bytes,6,rep,name=maxLimitRequestRatio"`
}

// LimitRangeSpec is a list of bounds.
type LimitRangeSpec struct {
	// Bounds, one entry for each type.
	Limits []LimitRangeItem `json:"limits" listType:"atomic" protobuf:"bytes,1,rep,name=limits" openapi:"required"`
}

// LinuxContainerUser is the identity of a process on Linux.
type LinuxContainerUser struct {
	// User id the first process started with.
	UID int64 `json:"uid" protobuf:"varint,1,opt,name=" openapi:"required"`
	// Primary group id it started with.
	GID int64 `json:"gid" protobuf:"varint,2,opt,name=" openapi:"required"`
	// Further group ids it started with.
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty" listType:"atomic" protobuf:"varint,3,rep,name=supplementalGroups"`
}

// LoadBalancerIngress is one address of a load balancer.
type LoadBalancerIngress struct {
	// Address, of load balancers known by address.
	IP string `json:"ip,omitempty" protobuf:"bytes,1,opt,name=ip"`
	// A name instead of an address.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,2,opt,name=hostname"`
	// VIP when traffic arrives with that destination, Proxy when with the node's.
	IPMode *LoadBalancerIPMode `json:"ipMode,omitempty" protobuf:"bytes,3,opt,name=ipMode"`
	// State of the ports.
	Ports []PortStatus `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=ports"`
}

// LoadBalancerStatus is where a load balancer listens.
type LoadBalancerStatus struct {
	// Points at which traffic enters.
	Ingress []LoadBalancerIngress `json:"ingress,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ingress"`
}

// LocalObjectReference names an object in the same namespace.
type LocalObjectReference struct {
	// Name of the object.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
}

// LocalVolumeSource is a disk or directory of one node.
type LocalVolumeSource struct {
	// Directory or block device on the node.
	Path string `json:"path" protobuf:"bytes,1,opt,name=path" openapi:"required"`
	// File system to make on a block device that has none.
	FSType *string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
}

// ModifyVolumeStatus is the state of a change of a volume's attributes.
type ModifyVolumeStatus struct {
	// Class the volume is being changed to.
	TargetVolumeAttributesClassName string `json:"targetVolumeAttributesClassName,omitempty" protobuf:"bytes,1,opt,name=targetVolumeAttributesClassName"`
	// What there is; written by the system.
	Status PersistentVolumeClaimModifyVolumeStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required,enum=InProgress|Infeasible|Pending"`
}

// NFSVolumeSource is a directory of an NFS server.
type NFSVolumeSource struct {
	// Name or address of the server.
	Server string `json:"server" protobuf:"bytes,1,opt,name=server" openapi:"required"`
	// Path that the server exports.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path" openapi:"required"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
}

// Namespace is a space for names, rights and quotas.
type Namespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What must happen before it is gone.
	Spec NamespaceSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Its state; written by the system.
	Status NamespaceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// NamespaceCondition is one fact about a namespace.
type NamespaceCondition struct {
	// Name of the fact.
	Type NamespaceConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// NamespaceSpec is what must happen before a namespace is gone.
type NamespaceSpec struct {
	// Who still has to clean up.
	Finalizers []FinalizerName `json:"finalizers,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=finalizers"`
}

// NamespaceStatus is the state of a namespace.
type NamespaceStatus struct {
	// Active or Terminating.
	Phase NamespacePhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase" openapi:"enum=Active|Terminating"`
	// What keeps it from being gone.
	Conditions []NamespaceCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,2,rep,name=conditions"`
}

// Node is a machine that runs pods.
type Node struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// How the cluster uses it.
	Spec NodeSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What it is and how it is doing.
	Status NodeStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// NodeAddress is a name or address of a node.
type NodeAddress struct {
	// Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
	Type NodeAddressType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// IP address or DNS name, as its type says.
	Address string `json:"address" protobuf:"bytes,2,opt,name=address" openapi:"required"`
}

// NodeAffinity says which nodes a pod must or should run on.
type NodeAffinity struct {
	// What a node must have when the pod is placed; later changes of the node do not matter.
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" protobuf:"bytes,1,opt,name=requiredDuringSchedulingIgnoredDuringExecution"`
	// What makes a node better; weights of what matches are added up.
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=preferredDuringSchedulingIgnoredDuringExecution"`
}

// NodeAllocatableResourceClaimStatus is what a claim takes from a node's own resources.
type NodeAllocatableResourceClaimStatus struct {
	// Claim in the pod's namespace.
	ResourceClaimName string `json:"resourceClaimName" protobuf:"bytes,1,opt,name=resourceClaimName" openapi:"required"`
	// Containers of the pod that use the claim.
	Containers []string `json:"containers,omitempty" listType:"set" protobuf:"bytes,2,rep,name=containers"`
	// Amounts of the node's allocatable resources.
	Resources map[ResourceName]resource.Quantity `json:"resources" protobuf:"bytes,3,rep,name=resources" openapi:"required"`
}

// NodeCondition is one fact about a node.
type NodeCondition struct {
	// Name of the fact.
	Type NodeConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When it was last confirmed.
	LastHeartbeatTime metav1.Time `json:"lastHeartbeatTime,omitempty" protobuf:"bytes,3,opt,name=lastHeartbeatTime"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// NodeConfigSource is where a node's configuration is; no longer used.
type NodeConfigSource struct {
	// The config map that holds it.
	ConfigMap *ConfigMapNodeConfigSource `json:"configMap,omitempty" protobuf:"bytes,2,opt,name=configMap"`
}

// NodeConfigStatus is the state of a node's configuration; no longer used.
type NodeConfigStatus struct {
	// What the node is told to use.
	Assigned *NodeConfigSource `json:"assigned,omitempty" protobuf:"bytes,1,opt,name=assigned"`
	// What the node uses.
	Active *NodeConfigSource `json:"active,omitempty" protobuf:"bytes,2,opt,name=active"`
	// What it falls back to.
	LastKnownGood *NodeConfigSource `json:"lastKnownGood,omitempty" protobuf:"bytes,3,opt,name=lastKnownGood"`
	// Why it does not use what it is told to.
	Error string `json:"error,omitempty" protobuf:"bytes,4,opt,name=error"`
}

// NodeDaemonEndpoints is the ports of a node's services.
type NodeDaemonEndpoints struct {
	// Where the kubelet serves its API.
	KubeletEndpoint DaemonEndpoint `json:"kubeletEndpoint,omitempty" protobuf:"bytes,1,opt,name=kubeletEndpoint"`
}

// NodeFeatures is what a node's runtime can do.
type NodeFeatures struct {
	// The runtime obeys supplementalGroupsPolicy of pods.
	SupplementalGroupsPolicy *bool `json:"supplementalGroupsPolicy,omitempty" protobuf:"varint,1,opt,name=supplementalGroupsPolicy"`
}

// NodeProxyOptions is a request to a node's own service.
type NodeProxyOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Path below the node's service.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
}

// NodeRuntimeHandler is a runtime a node offers.
type NodeRuntimeHandler struct {
	// Name that a RuntimeClass gives as its handler; the default runtime if empty.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// What it can do.
	Features *NodeRuntimeHandlerFeatures `json:"features,omitempty" protobuf:"bytes,2,opt,name=features"`
}

// NodeRuntimeHandlerFeatures is what a runtime can do.
type NodeRuntimeHandlerFeatures struct {
	// Mounts below a read-only mount can be made read-only too.
	RecursiveReadOnlyMounts *bool `json:"recursiveReadOnlyMounts,omitempty" protobuf:"varint,1,opt,name=recursiveReadOnlyMounts"`
	// Pods can have a user namespace of their own.
	UserNamespaces *bool `json:"userNamespaces,omitempty" protobuf:"varint,2,opt,name=userNamespaces"`
}

// NodeSelector selects nodes that match any of its terms.
type NodeSelector struct {
	// The terms; at least one.
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms" listType:"atomic" protobuf:"bytes,1,rep,name=nodeSelectorTerms" openapi:"required"`
}

// NodeSelectorRequirement is one requirement on a node.
type NodeSelectorRequirement struct {
	// Label key or field.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// In, NotIn, Exists, DoesNotExist, Gt or Lt.
	Operator NodeSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required,enum=DoesNotExist|Exists|Gt|In|Lt|NotIn"`
	// Values for In and NotIn, one number for Gt and Lt, none otherwise.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// NodeSelectorTerm selects nodes that match all its requirements; an empty term matches none.
type NodeSelectorTerm struct {
	// Requirements on labels.
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=matchExpressions"`
	// Requirements on fields; only metadata.name is supported.
	MatchFields []NodeSelectorRequirement `json:"matchFields,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=matchFields"`
}

// NodeSpec is how the cluster uses a node.
type NodeSpec struct {
	// Addresses for its pods, the first of podCIDRs.
	PodCIDR string `json:"podCIDR,omitempty" protobuf:"bytes,1,opt,name=podCIDR"`
	// Addresses for its pods, one range for each family.
	PodCIDRs []string `json:"podCIDRs,omitempty" patchStrategy:"merge" listType:"set" protobuf:"bytes,7,rep,name=podCIDRs"`
	// Name of the machine at the cloud provider; set once.
	ProviderID string `json:"providerID,omitempty" protobuf:"bytes,3,opt,name=providerID"`
	// Keep new pods away.
	Unschedulable bool `json:"unschedulable,omitempty" protobuf:"varint,4,opt,name=unschedulable"`
	// Marks that keep away pods which do not tolerate them.
	Taints []Taint `json:"taints,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=taints"`
	// No longer used.
	ConfigSource *NodeConfigSource `json:"configSource,omitempty" protobuf:"bytes,6,opt,name=configSource"`
	// No longer used.
	DoNotUseExternalID string `json:"externalID,omitempty" protobuf:"bytes,2,opt,name=externalID"`
}

// NodeStatus is what a node is and how it is doing.
type NodeStatus struct {
	// What the machine has.
	Capacity ResourceList `json:"capacity,omitempty" protobuf:"bytes,1,rep,name=capacity"`
	// What of it is for pods.
	Allocatable ResourceList `json:"allocatable,omitempty" protobuf:"bytes,2,rep,name=allocatable"`
	// No longer used.
	Phase NodePhase `json:"phase,omitempty" protobuf:"bytes,3,opt,name=phase" openapi:"enum=Pending|Running|Terminated"`
	// Facts about the node, such as Ready.
	Conditions []NodeCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	// Names and addresses it is reached by.
	Addresses []NodeAddress `json:"addresses,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,5,rep,name=addresses"`
	// Ports of the node's own services.
	DaemonEndpoints NodeDaemonEndpoints `json:"daemonEndpoints,omitempty" protobuf:"bytes,6,opt,name=daemonEndpoints"`
	// Versions of its software.
	NodeInfo NodeSystemInfo `json:"nodeInfo,omitempty" protobuf:"bytes,7,opt,name=nodeInfo"`
	// Images on the node, largest first; at most 50 are reported.
	Images []ContainerImage `json:"images,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=images"`
	// Attached volumes that pods use.
	VolumesInUse []UniqueVolumeName `json:"volumesInUse,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=volumesInUse"`
	// Volumes attached to it.
	VolumesAttached []AttachedVolume `json:"volumesAttached,omitempty" listType:"atomic" protobuf:"bytes,10,rep,name=volumesAttached"`
	// No longer used.
	Config *NodeConfigStatus `json:"config,omitempty" protobuf:"bytes,11,opt,name=config"`
	// Runtimes it offers.
	RuntimeHandlers []NodeRuntimeHandler `json:"runtimeHandlers,omitempty" listType:"atomic" protobuf:"bytes,12,rep,name=runtimeHandlers"`
	// Features of its runtime.
	Features *NodeFeatures `json:"features,omitempty" protobuf:"bytes,13,opt,name=features"`
	// Features of its kubelet.
	DeclaredFeatures []string `json:"declaredFeatures,omitempty" listType:"atomic" protobuf:"bytes,14,rep,name=declaredFeatures"`
}

// NodeSwapStatus is the swap space of a node.
type NodeSwapStatus struct {
	// Bytes of swap.
	Capacity *int64 `json:"capacity,omitempty" protobuf:"varint,1,opt,name=capacity"`
}

// NodeSystemInfo is identities and versions of a node.
type NodeSystemInfo struct {
	// Identity of the machine.
	MachineID string `json:"machineID" protobuf:"bytes,1,opt,name=machineID" openapi:"required"`
	// Identity of the hardware.
	SystemUUID string `json:"systemUUID" protobuf:"bytes,2,opt,name=systemUUID" openapi:"required"`
	// Identity of the running system since its start.
	BootID string `json:"bootID" protobuf:"bytes,3,opt,name=bootID" openapi:"required"`
	// Version of the kernel.
	KernelVersion string `json:"kernelVersion" protobuf:"bytes,4,opt,name=kernelVersion" openapi:"required"`
	// Name of the operating system.
	OSImage string `json:"osImage" protobuf:"bytes,5,opt,name=osImage" openapi:"required"`
	// Runtime and its version, as type://version.
	ContainerRuntimeVersion string `json:"containerRuntimeVersion" protobuf:"bytes,6,opt,name=containerRuntimeVersion" openapi:"required"`
	// Version of the kubelet.
	KubeletVersion string `json:"kubeletVersion" protobuf:"bytes,7,opt,name=kubeletVersion" openapi:"required"`
	// No longer kept.
	KubeProxyVersion string `json:"kubeProxyVersion" protobuf:"bytes,8,opt,name=kubeProxyVersion" openapi:"required"`
	// Operating system, such as linux.
	OperatingSystem string `json:"operatingSystem" protobuf:"bytes,9,opt,name=operatingSystem" openapi:"required"`
	// Processor, such as amd64.
	Architecture string `json:"architecture" protobuf:"bytes,10,opt,name=architecture" openapi:"required"`
	// Swap space of the node.
	Swap *NodeSwapStatus `json:"swap,omitempty" protobuf:"bytes,11,opt,name=swap"`
}

// ObjectFieldSelector names a field of the pod.
type ObjectFieldSelector struct {
	// Version the path is written for; v1 unless set.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,1,opt,name=apiVersion"`
	// Path such as metadata.name or metadata.labels['app'].
	FieldPath string `json:"fieldPath" protobuf:"bytes,2,opt,name=fieldPath" openapi:"required"`
}

// ObjectReference names an object of any kind, or a part of it.
type ObjectReference struct {
	// Kind name in apiVersion.
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// Where the object is; empty for cluster-scoped ones.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// Which object of the kind.
	Name string `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	// Which object of that name; any unless set.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,4,opt,name=uid"`
	// Version of the kind.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,5,opt,name=apiVersion"`
	// A particular version of the object.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,6,opt,name=resourceVersion"`
	// A part of it, such as spec.containers{name}.
	FieldPath string `json:"fieldPath,omitempty" protobuf:"bytes,7,opt,name=fieldPath"`
}

// PersistentVolume is storage that claims can be bound to; it lives outside of namespaces.
type PersistentVolume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What and where the storage is.
	Spec PersistentVolumeSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Its state; written by the system.
	Status PersistentVolumeStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PersistentVolumeClaim asks for storage and stands for what it got.
type PersistentVolumeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is asked for.
	Spec PersistentVolumeClaimSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What was given; written by the system.
	Status PersistentVolumeClaimStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PersistentVolumeClaimCondition is one fact about a claim.
type PersistentVolumeClaimCondition struct {
	// Name of the fact.
	Type PersistentVolumeClaimConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When it was last checked.
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// PersistentVolumeClaimSpec is what a claim asks for.
type PersistentVolumeClaimSpec struct {
	// Ways the volume must be mountable.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=accessModes"`
	// Labels the volume must have; rules out making one.
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,4,opt,name=selector"`
	// How much storage, under requests.storage.
	Resources VolumeResourceRequirements `json:"resources,omitempty" protobuf:"bytes,2,opt,name=resources"`
	// The bound volume, or one to be bound to and no other.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,3,opt,name=volumeName"`
	// Class the volume must be of; the default class unless set, none if empty.
	StorageClassName *string `json:"storageClassName,omitempty" protobuf:"bytes,5,opt,name=storageClassName"`
	// Filesystem (the default) or Block.
	VolumeMode *PersistentVolumeMode `json:"volumeMode,omitempty" protobuf:"bytes,6,opt,name=volumeMode" openapi:"enum=Block|Filesystem"`
	// Claim or snapshot to fill the volume from.
	DataSource *TypedLocalObjectReference `json:"dataSource,omitempty" protobuf:"bytes,7,opt,name=dataSource"`
	// Any object to fill the volume from, also in another namespace if allowed.
	DataSourceRef *TypedObjectReference `json:"dataSourceRef,omitempty" protobuf:"bytes,8,opt,name=dataSourceRef"`
	// Class of attributes to apply; can be changed.
	VolumeAttributesClassName *string `json:"volumeAttributesClassName,omitempty" protobuf:"bytes,9,opt,name=volumeAttributesClassName"`
}

// PersistentVolumeClaimStatus is what a claim has got.
type PersistentVolumeClaimStatus struct {
	// Pending, Bound or Lost.
	Phase PersistentVolumeClaimPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase" openapi:"enum=Bound|Lost|Pending"`
	// Ways the volume can be mounted.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=accessModes"`
	// Size of the volume.
	Capacity ResourceList `json:"capacity,omitempty" protobuf:"bytes,3,rep,name=capacity"`
	// What goes on with it, such as Resizing.
	Conditions []PersistentVolumeClaimCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	// Size that is being made available.
	AllocatedResources ResourceList `json:"allocatedResources,omitempty" protobuf:"bytes,5,rep,name=allocatedResources"`
	// State of that change.
	AllocatedResourceStatuses map[ResourceName]ClaimResourceStatus `json:"allocatedResourceStatuses,omitempty" mapType:"granular" protobuf:"bytes,7,rep,name=allocatedResourceStatuses"`
	// Class of attributes the volume has now.
	CurrentVolumeAttributesClassName *string `json:"currentVolumeAttributesClassName,omitempty" protobuf:"bytes,8,opt,name=currentVolumeAttributesClassName"`
	// State of a change of that class.
	ModifyVolumeStatus *ModifyVolumeStatus `json:"modifyVolumeStatus,omitempty" protobuf:"bytes,9,opt,name=modifyVolumeStatus"`
}

// PersistentVolumeClaimTemplate describes a claim to make.
type PersistentVolumeClaimTemplate struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What the claim asks for.
	Spec PersistentVolumeClaimSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// PersistentVolumeClaimVolumeSource uses the volume of a claim.
type PersistentVolumeClaimVolumeSource struct {
	// Claim in the pod's namespace.
	ClaimName string `json:"claimName" protobuf:"bytes,1,opt,name=claimName" openapi:"required"`
	// Mount it read-only everywhere.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,2,opt,name=readOnly"`
}

// PersistentVolumeSource is what a volume is made of; one of its fields is set.
type PersistentVolumeSource struct {
	// A disk of Google Compute Engine; use CSI instead.
	GCEPersistentDisk *GCEPersistentDiskVolumeSource `json:"gcePersistentDisk,omitempty" protobuf:"bytes,1,opt,name=gcePersistentDisk"`
	// A disk of Amazon EC2; use CSI instead.
	AWSElasticBlockStore *AWSElasticBlockStoreVolumeSource `json:"awsElasticBlockStore,omitempty" protobuf:"bytes,2,opt,name=awsElasticBlockStore"`
	// A directory of the node; for tests on one node.
	HostPath *HostPathVolumeSource `json:"hostPath,omitempty" protobuf:"bytes,3,opt,name=hostPath"`
	// A Gluster volume; no longer supported by nodes.
	Glusterfs *GlusterfsPersistentVolumeSource `json:"glusterfs,omitempty" protobuf:"bytes,4,opt,name=glusterfs"`
	// A directory of an NFS server.
	NFS *NFSVolumeSource `json:"nfs,omitempty" protobuf:"bytes,5,opt,name=nfs"`
	// A Ceph block device; no longer supported by nodes.
	RBD *RBDPersistentVolumeSource `json:"rbd,omitempty" protobuf:"bytes,6,opt,name=rbd"`
	// A disk of an iSCSI target.
	ISCSI *ISCSIPersistentVolumeSource `json:"iscsi,omitempty" protobuf:"bytes,7,opt,name=iscsi"`
	// A disk of OpenStack; use CSI instead.
	Cinder *CinderPersistentVolumeSource `json:"cinder,omitempty" protobuf:"bytes,8,opt,name=cinder"`
	// A Ceph file system; no longer supported by nodes.
	CephFS *CephFSPersistentVolumeSource `json:"cephfs,omitempty" protobuf:"bytes,9,opt,name=cephfs"`
	// A Fibre Channel disk.
	FC *FCVolumeSource `json:"fc,omitempty" protobuf:"bytes,10,opt,name=fc"`
	// A Flocker dataset; no longer supported by nodes.
	Flocker *FlockerVolumeSource `json:"flocker,omitempty" protobuf:"bytes,11,opt,name=flocker"`
	// A volume of a FlexVolume driver; use CSI instead.
	FlexVolume *FlexPersistentVolumeSource `json:"flexVolume,omitempty" protobuf:"bytes,12,opt,name=flexVolume"`
	// A share of Azure Files; use CSI instead.
	AzureFile *AzureFilePersistentVolumeSource `json:"azureFile,omitempty" protobuf:"bytes,13,opt,name=azureFile"`
	// A disk of vSphere; use CSI instead.
	VsphereVolume *VsphereVirtualDiskVolumeSource `json:"vsphereVolume,omitempty" protobuf:"bytes,14,opt,name=vsphereVolume"`
	// A Quobyte volume; no longer supported by nodes.
	Quobyte *QuobyteVolumeSource `json:"quobyte,omitempty" protobuf:"bytes,15,opt,name=quobyte"`
	// A disk of Azure; use CSI instead.
	AzureDisk *AzureDiskVolumeSource `json:"azureDisk,omitempty" protobuf:"bytes,16,opt,name=azureDisk"`
	// A disk of Photon; no longer supported by nodes.
	PhotonPersistentDisk *PhotonPersistentDiskVolumeSource `json:"photonPersistentDisk,omitempty" protobuf:"bytes,17,opt,name=photonPersistentDisk"`
	// A Portworx volume; use CSI instead.
	PortworxVolume *PortworxVolumeSource `json:"portworxVolume,omitempty" protobuf:"bytes,18,opt,name=portworxVolume"`
	// A ScaleIO volume; no longer supported by nodes.
	ScaleIO *ScaleIOPersistentVolumeSource `json:"scaleIO,omitempty" protobuf:"bytes,19,opt,name=scaleIO"`
	// A disk or directory of one node.
	Local *LocalVolumeSource `json:"local,omitempty" protobuf:"bytes,20,opt,name=local"`
	// A StorageOS volume; no longer supported by nodes.
	StorageOS *StorageOSPersistentVolumeSource `json:"storageos,omitempty" protobuf:"bytes,21,opt,name=storageos"`
	// A volume of a CSI driver.
	CSI *CSIPersistentVolumeSource `json:"csi,omitempty" protobuf:"bytes,22,opt,name=csi"`
}

// PersistentVolumeSpec is what and where a volume is.
type PersistentVolumeSpec struct {
	// Its size, under the name storage.
	Capacity               ResourceList `json:"capacity,omitempty" protobuf:"bytes,1,rep,name=capacity"`
	PersistentVolumeSource `json:",inline" protobuf:"bytes,2,opt,name=persistentVolumeSource"`
	// Ways it can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=accessModes"`
	// Claim it is bound to, or reserved for.
	ClaimRef *ObjectReference `json:"claimRef,omitempty" mapType:"granular" protobuf:"bytes,4,opt,name=claimRef"`
	// What becomes of it when its claim is gone: Retain, Delete or Recycle.
	PersistentVolumeReclaimPolicy PersistentVolumeReclaimPolicy `json:"persistentVolumeReclaimPolicy,omitempty" protobuf:"bytes,5,opt,name=persistentVolumeReclaimPolicy" openapi:"enum=Delete|Recycle|Retain"`
	// Class it belongs to; claims of that class can have it.
	StorageClassName string `json:"storageClassName,omitempty" protobuf:"bytes,6,opt,name=storageClassName"`
	// Options for mounting; not checked before.
	MountOptions []string `json:"mountOptions,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=mountOptions"`
	// Filesystem (the default) or Block.
	VolumeMode *PersistentVolumeMode `json:"volumeMode,omitempty" protobuf:"bytes,8,opt,name=volumeMode" openapi:"enum=Block|Filesystem"`
	// Nodes it can be reached from.
	NodeAffinity *VolumeNodeAffinity `json:"nodeAffinity,omitempty" protobuf:"bytes,9,opt,name=nodeAffinity"`
	// Class of changeable attributes it has.
	VolumeAttributesClassName *string `json:"volumeAttributesClassName,omitempty" protobuf:"bytes,10,opt,name=volumeAttributesClassName"`
}

// PersistentVolumeStatus is the state of a volume.
type PersistentVolumeStatus struct {
	// Pending, Available, Bound, Released or Failed.
	Phase PersistentVolumePhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase" openapi:"enum=Available|Bound|Failed|Pending|Released"`
	// Why the volume is in its phase, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// Why the volume is in its phase, in one CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// When the phase last changed.
	LastPhaseTransitionTime *metav1.Time `json:"lastPhaseTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastPhaseTransitionTime"`
}

// PhotonPersistentDiskVolumeSource is a disk of Photon.
type PhotonPersistentDiskVolumeSource struct {
	// Identity of the disk.
	PdID string `json:"pdID" protobuf:"bytes,1,opt,name=pdID" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
}

// Pod is one or more containers that run together on one node and share network and volumes.
type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What to run and where.
	Spec PodSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What was last seen of it; written by the system.
	Status PodStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PodAffinity says which pods a pod must or should be near.
type PodAffinity struct {
	// Terms that must all hold when the pod is placed.
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requiredDuringSchedulingIgnoredDuringExecution"`
	// Terms that make a node better, by weight.
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=preferredDuringSchedulingIgnoredDuringExecution"`
}

// PodAffinityTerm is a set of pods and what near means.
type PodAffinityTerm struct {
	// Which pods; none if unset.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty" protobuf:"bytes,1,opt,name=labelSelector"`
	// Namespaces the pods are in; the pod's own unless one of the two fields is set.
	Namespaces []string `json:"namespaces,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=namespaces"`
	// Node label; nodes with the same value of it are one place.
	TopologyKey string `json:"topologyKey" protobuf:"bytes,3,opt,name=topologyKey" openapi:"required"`
	// Namespaces by label, in addition to those listed.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,4,opt,name=namespaceSelector"`
	// Labels of this pod whose values the other pods must share.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=matchLabelKeys"`
	// Labels of this pod whose values the other pods must not share.
	MismatchLabelKeys []string `json:"mismatchLabelKeys,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=mismatchLabelKeys"`
}

// PodAntiAffinity says which pods a pod must or should keep away from.
type PodAntiAffinity struct {
	// Terms that must all hold when the pod is placed.
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requiredDuringSchedulingIgnoredDuringExecution"`
	// Terms that make a node worse when violated, by weight.
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=preferredDuringSchedulingIgnoredDuringExecution"`
}

// PodAttachOptions is a request to attach to a container.
type PodAttachOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Send standard input.
	Stdin bool `json:"stdin,omitempty" protobuf:"varint,1,opt,name=stdin"`
	// Receive standard output.
	Stdout bool `json:"stdout,omitempty" protobuf:"varint,2,opt,name=stdout"`
	// Receive standard error.
	Stderr bool `json:"stderr,omitempty" protobuf:"varint,3,opt,name=stderr"`
	// The streams are of a terminal; the container must have one.
	TTY bool `json:"tty,omitempty" protobuf:"varint,4,opt,name=tty"`
	// Name of the container; the only one unless set.
	Container string `json:"container,omitempty" protobuf:"bytes,5,opt,name=container"`
}

// PodCertificateProjection is a key and a certificate issued for a pod, as files.
type PodCertificateProjection struct {
	// Signer of the certificate, such as example.com/clients.
	SignerName string `json:"signerName,omitempty" protobuf:"bytes,1,opt,name=signerName" openapi:"required"`
	// Kind of key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.
	KeyType string `json:"keyType,omitempty" protobuf:"bytes,2,opt,name=keyType" openapi:"required"`
	// The longest the certificate may be valid; a day unless set.
	MaxExpirationSeconds *int32 `json:"maxExpirationSeconds,omitempty" protobuf:"varint,3,opt,name=maxExpirationSeconds"`
	// File for key and chain together.
	CredentialBundlePath string `json:"credentialBundlePath,omitempty" protobuf:"bytes,4,opt,name=credentialBundlePath"`
	// File for the private key alone; may be left out.
	KeyPath string `json:"keyPath,omitempty" protobuf:"bytes,5,opt,name=keyPath"`
	// File for the chain.
	CertificateChainPath string `json:"certificateChainPath,omitempty" protobuf:"bytes,6,opt,name=certificateChainPath"`
	// More for the signer.
	UserAnnotations map[string]string `json:"userAnnotations,omitempty" protobuf:"bytes,7,rep,name=userAnnotations"`
}

// PodCondition is one fact about a pod.
type PodCondition struct {
	// Name of the fact, such as Ready; names of one's own have a domain in front.
	Type PodConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Generation of the spec it was true for.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,7,opt,name=observedGeneration"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When it was last checked.
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Cause of the last change, in one CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// Details of the last change, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// PodDNSConfig is the resolver's configuration beside the DNS policy.
type PodDNSConfig struct {
	// Addresses of name servers, at most 3 in all, asked before those of the policy.
	Nameservers []string `json:"nameservers,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=nameservers"`
	// Domains tried for names without dots, before those of the policy.
	Searches []string `json:"searches,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=searches"`
	// Resolver options, which win over those of the policy.
	Options []PodDNSConfigOption `json:"options,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=options"`
}

// PodDNSConfigOption is one resolver option.
type PodDNSConfigOption struct {
	// Name of the option, such as ndots.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Its value; unset for options without one.
	Value *string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
}

// PodExecOptions is a request to run a command in a container.
type PodExecOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Send standard input.
	Stdin bool `json:"stdin,omitempty" protobuf:"varint,1,opt,name=stdin"`
	// Receive standard output.
	Stdout bool `json:"stdout,omitempty" protobuf:"varint,2,opt,name=stdout"`
	// Receive standard error.
	Stderr bool `json:"stderr,omitempty" protobuf:"varint,3,opt,name=stderr"`
	// Give the command a terminal.
	TTY bool `json:"tty,omitempty" protobuf:"varint,4,opt,name=tty"`
	// Name of the container; the only one unless set.
	Container string `json:"container,omitempty" protobuf:"bytes,5,opt,name=container"`
	// Program and arguments.
	Command []string `json:"command" listType:"atomic" protobuf:"bytes,6,rep,name=command" openapi:"required"`
}

// PodExtendedResourceClaimStatus is the claim made for a pod's extended resources.
type PodExtendedResourceClaimStatus struct {
	// Which request of the claim is for which container's resource.
	RequestMappings []ContainerExtendedResourceRequest `json:"requestMappings" listType:"atomic" protobuf:"bytes,1,rep,name=requestMappings" openapi:"required"`
	// Claim the scheduler made, in the pod's namespace.
	ResourceClaimName string `json:"resourceClaimName" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// PodIP is one address of a pod.
type PodIP struct {
	// An address of the pod.
	IP string `json:"ip" protobuf:"bytes,1,opt,name=ip" openapi:"required"`
}

// PodLogOptions is a request for the log of a container.
type PodLogOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Name of the container; the only one unless set.
	Container string `json:"container,omitempty" protobuf:"bytes,1,opt,name=container"`
	// Keep sending what comes.
	Follow bool `json:"follow,omitempty" protobuf:"varint,2,opt,name=follow"`
	// The log before the last restart.
	Previous bool `json:"previous,omitempty" protobuf:"varint,3,opt,name=previous"`
	// Only what is newer than this.
	SinceSeconds *int64 `json:"sinceSeconds,omitempty" protobuf:"varint,4,opt,name=sinceSeconds"`
	// Only what is newer than this.
	SinceTime *metav1.Time `json:"sinceTime,omitempty" protobuf:"bytes,5,opt,name=sinceTime"`
	// Put the time before every line.
	Timestamps bool `json:"timestamps,omitempty" protobuf:"varint,6,opt,name=timestamps"`
	// Only the last lines.
	TailLines *int64 `json:"tailLines,omitempty" protobuf:"varint,7,opt,name=tailLines"`
	// Most bytes to send.
	LimitBytes *int64 `json:"limitBytes,omitempty" protobuf:"varint,8,opt,name=limitBytes"`
	// Do not check the node's certificate.
	InsecureSkipTLSVerifyBackend bool `json:"insecureSkipTLSVerifyBackend,omitempty" protobuf:"varint,9,opt,name=insecureSkipTLSVerifyBackend"`
	// All (the default), Stdout or Stderr.
	Stream *string `json:"stream,omitempty" protobuf:"bytes,10,opt,name=stream"`
}

// PodOS names an operating system.
type PodOS struct {
	// linux or windows; fields of the other system must not be set.
	Name OSName `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// PodPortForwardOptions is a request for connections to ports of a pod.
type PodPortForwardOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Ports of the pod; given in the query by clients that use WebSocket.
	Ports []int32 `json:"ports,omitempty" listType:"atomic" protobuf:"varint,1,rep,name=ports"`
}

// PodProxyOptions is an HTTP request to a pod.
type PodProxyOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Path below the pod's server.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
}

// PodReadinessGate is a condition that counts for readiness.
type PodReadinessGate struct {
	// Type of a condition in the pod's status.
	ConditionType PodConditionType `json:"conditionType" protobuf:"bytes,1,opt,name=conditionType" openapi:"required"`
}

// PodResourceClaim is a named device claim of a pod; exactly one source is set.
type PodResourceClaim struct {
	// Name within the pod, by which containers ask for it.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// An existing claim in the pod's namespace.
	ResourceClaimName *string `json:"resourceClaimName,omitempty" protobuf:"bytes,3,opt,name=resourceClaimName"`
	// Template from which a claim is made for this pod alone.
	ResourceClaimTemplateName *string `json:"resourceClaimTemplateName,omitempty" protobuf:"bytes,4,opt,name=resourceClaimTemplateName"`
}

// PodResourceClaimStatus is the claim behind one of a pod's resourceClaims.
type PodResourceClaimStatus struct {
	// Entry of spec.resourceClaims.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Claim made for it; absent when none was needed.
	ResourceClaimName *string `json:"resourceClaimName,omitempty" protobuf:"bytes,2,opt,name=resourceClaimName"`
}

// PodSchedulingGate keeps a pod from being scheduled.
type PodSchedulingGate struct {
	// Qualified name of the gate; each controller removes its own.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// PodSchedulingGroup is the group a pod is scheduled with.
type PodSchedulingGroup struct {
	// PodGroup object in the pod's namespace.
	PodGroupName *string `json:"podGroupName,omitempty" protobuf:"bytes,1,opt,name=podGroupName"`
}

// PodSecurityContext is identity and permissions that hold for all containers of a pod.
type PodSecurityContext struct {
	// SELinux label of all containers.
	SELinuxOptions *SELinuxOptions `json:"seLinuxOptions,omitempty" protobuf:"bytes,1,opt,name=seLinuxOptions"`
	// Settings that exist on Windows only.
	WindowsOptions *WindowsSecurityContextOptions `json:"windowsOptions,omitempty" protobuf:"bytes,8,opt,name=windowsOptions"`
	// User id of the first process; the image's user unless set.
	RunAsUser *int64 `json:"runAsUser,omitempty" protobuf:"varint,2,opt,name=runAsUser"`
	// Group id of the first process; the runtime's default unless set.
	RunAsGroup *int64 `json:"runAsGroup,omitempty" protobuf:"varint,6,opt,name=runAsGroup"`
	// Refuse to start containers that would run as user 0.
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty" protobuf:"varint,3,opt,name=runAsNonRoot"`
	// Further groups of the first process.
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty" listType:"atomic" protobuf:"varint,4,rep,name=supplementalGroups"`
	// Whether the image's own groups of the user count too: Merge (the default) or Strict.
	SupplementalGroupsPolicy *SupplementalGroupsPolicy `json:"supplementalGroupsPolicy,omitempty" protobuf:"bytes,12,opt,name=supplementalGroupsPolicy" openapi:"enum=Merge|Strict"`
	// Group that owns the files of volumes, and that every process belongs to.
	FSGroup *int64 `json:"fsGroup,omitempty" protobuf:"varint,5,opt,name=fsGroup"`
	// Kernel parameters of the pod's namespaces.
	Sysctls []Sysctl `json:"sysctls,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=sysctls"`
	// Whether ownership of volumes is always set, or only if the root differs: Always or OnRootMismatch.
	FSGroupChangePolicy *PodFSGroupChangePolicy `json:"fsGroupChangePolicy,omitempty" protobuf:"bytes,9,opt,name=fsGroupChangePolicy" openapi:"enum=Always|OnRootMismatch"`
	// System call filter of all containers.
	SeccompProfile *SeccompProfile `json:"seccompProfile,omitempty" protobuf:"bytes,10,opt,name=seccompProfile"`
	// AppArmor profile of all containers.
	AppArmorProfile *AppArmorProfile `json:"appArmorProfile,omitempty" protobuf:"bytes,11,opt,name=appArmorProfile"`
	// How files of volumes get their SELinux label: Recursive or MountOption.
	SELinuxChangePolicy *PodSELinuxChangePolicy `json:"seLinuxChangePolicy,omitempty" protobuf:"bytes,13,opt,name=seLinuxChangePolicy"`
}

// PodSignature describes pods by their controller.
type PodSignature struct {
	// Controller of such pods.
	PodController *metav1.OwnerReference `json:"podController,omitempty" protobuf:"bytes,1,opt,name=podController"`
}

// PodSpec is what a pod runs and the conditions it runs under.
type PodSpec struct {
	// Directories and disks that containers of the pod can mount.
	Volumes []Volume `json:"volumes,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,1,rep,name=volumes"`
	// Containers run one after another, each to its end, before the others start; those with restartPolicy
	// Always keep running beside them.
	InitContainers []Container `json:"initContainers,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,20,rep,name=initContainers"`
	// The containers that run at the same time; at least one.
	Containers []Container `json:"containers" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=containers" openapi:"required"`
	// Containers added to a running pod for debugging, through the ephemeralcontainers subresource only.
	EphemeralContainers []EphemeralContainer `json:"ephemeralContainers,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,34,rep,name=ephemeralContainers"`
	// Whether containers that end are started again: Always (the default), OnFailure or Never.
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty" protobuf:"bytes,3,opt,name=restartPolicy" openapi:"enum=Always|Never|OnFailure"`
	// Seconds between asking the processes to end and killing them; 30 unless set, 0 kills at once.
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,4,opt,name=terminationGracePeriodSeconds"`
	// Seconds after its start when the pod is stopped and counted as failed.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,5,opt,name=activeDeadlineSeconds"`
	// Where name lookups go: ClusterFirst (the default), ClusterFirstWithHostNet, Default (as the node does)
	// or None (only dnsConfig counts).
	DNSPolicy DNSPolicy `json:"dnsPolicy,omitempty" protobuf:"bytes,6,opt,name=dnsPolicy" openapi:"enum=ClusterFirst|ClusterFirstWithHostNet|Default|None"`
	// Labels a node must have for the pod to run there.
	NodeSelector map[string]string `json:"nodeSelector,omitempty" mapType:"atomic" protobuf:"bytes,7,rep,name=nodeSelector"`
	// Name of the service account whose identity the pod has.
	ServiceAccountName string `json:"serviceAccountName,omitempty" protobuf:"bytes,8,opt,name=serviceAccountName"`
	// Old name of serviceAccountName; both always hold the same.
	DeprecatedServiceAccount string `json:"serviceAccount,omitempty" protobuf:"bytes,9,opt,name=serviceAccount"`
	// Whether a token of the service account is mounted; overrides what the account says.
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty" protobuf:"varint,21,opt,name=automountServiceAccountToken"`
	// Node the pod runs on; normally set by the scheduler, and if set at creation the scheduler is bypassed.
	NodeName string `json:"nodeName,omitempty" protobuf:"bytes,10,opt,name=nodeName"`
	// Use the node's network instead of one of its own.
	HostNetwork bool `json:"hostNetwork,omitempty" protobuf:"varint,11,opt,name=hostNetwork"`
	// Use the node's process namespace.
	HostPID bool `json:"hostPID,omitempty" protobuf:"varint,12,opt,name=hostPID"`
	// Use the node's inter-process communication namespace.
	HostIPC bool `json:"hostIPC,omitempty" protobuf:"varint,13,opt,name=hostIPC"`
	// Let all containers of the pod see each other's processes; not together with hostPID.
	ShareProcessNamespace *bool `json:"shareProcessNamespace,omitempty" protobuf:"varint,27,opt,name=shareProcessNamespace"`
	// Identity and permissions for all containers, unless a container has its own.
	SecurityContext *PodSecurityContext `json:"securityContext,omitempty" protobuf:"bytes,14,opt,name=securityContext"`
	// Secrets with credentials for pulling the images.
	ImagePullSecrets []LocalObjectReference `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,15,rep,name=imagePullSecrets"`
	// Host name inside the pod; the pod's name unless set.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,16,opt,name=hostname"`
	// With it the pod's full name is hostname.subdomain.namespace.svc and the cluster's domain.
	Subdomain string `json:"subdomain,omitempty" protobuf:"bytes,17,opt,name=subdomain"`
	// Which nodes, and the company of which pods, are required or preferred.
	Affinity *Affinity `json:"affinity,omitempty" protobuf:"bytes,18,opt,name=affinity"`
	// Which scheduler places the pod; default-scheduler unless set.
	SchedulerName string `json:"schedulerName,omitempty" protobuf:"bytes,19,opt,name=schedulerName"`
	// Taints of nodes that do not keep the pod away.
	Tolerations []Toleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,22,rep,name=tolerations"`
	// Extra lines for the file /etc/hosts of the containers.
	HostAliases []HostAlias `json:"hostAliases,omitempty" patchStrategy:"merge" patchMergeKey:"ip" listType:"map" listMapKey:"ip" protobuf:"bytes,23,rep,name=hostAliases"`
	// Priority class that decides who goes first and who is evicted when room is short.
	PriorityClassName string `json:"priorityClassName,omitempty" protobuf:"bytes,24,opt,name=priorityClassName"`
	// Number the priority class stands for; filled in by the server.
	Priority *int32 `json:"priority,omitempty" protobuf:"varint,25,opt,name=priority"`
	// Name servers, search domains and options in addition to what dnsPolicy gives.
	DNSConfig *PodDNSConfig `json:"dnsConfig,omitempty" protobuf:"bytes,26,opt,name=dnsConfig"`
	// Further conditions that must be true before the pod counts as ready.
	ReadinessGates []PodReadinessGate `json:"readinessGates,omitempty" listType:"atomic" protobuf:"bytes,28,rep,name=readinessGates"`
	// Runtime class that runs the pod; the node's default unless set.
	RuntimeClassName *string `json:"runtimeClassName,omitempty" protobuf:"bytes,29,opt,name=runtimeClassName"`
	// Whether containers get environment variables about the services of the namespace; true unless set.
	EnableServiceLinks *bool `json:"enableServiceLinks,omitempty" protobuf:"varint,30,opt,name=enableServiceLinks"`
	// Whether the pod may push out pods of lower priority: PreemptLowerPriority (the default) or Never.
	PreemptionPolicy *PreemptionPolicy `json:"preemptionPolicy,omitempty" protobuf:"bytes,31,opt,name=preemptionPolicy" openapi:"enum=Never|PreemptLowerPriority"`
	// Resources the runtime itself needs for the pod; filled in from the runtime class.
	Overhead ResourceList `json:"overhead,omitempty" protobuf:"bytes,32,rep,name=overhead"`
	// How evenly such pods are to be spread over zones, nodes or other groups of nodes.
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty" patchStrategy:"merge" patchMergeKey:"topologyKey" listType:"map" listMapKey:"topologyKey,whenUnsatisfiable" protobuf:"bytes,33,rep,name=topologySpreadConstraints"`
	// Use the full domain name as the host name inside the pod.
	SetHostnameAsFQDN *bool `json:"setHostnameAsFQDN,omitempty" protobuf:"varint,35,opt,name=setHostnameAsFQDN"`
	// Operating system the containers are made for; some fields are refused for the other one.
	OS *PodOS `json:"os,omitempty" protobuf:"bytes,36,opt,name=os"`
	// False runs the pod in a user namespace of its own, so that its root is nobody on the node.
	HostUsers *bool `json:"hostUsers,omitempty" protobuf:"varint,37,opt,name=hostUsers"`
	// Names that keep the pod from being scheduled until all are removed.
	SchedulingGates []PodSchedulingGate `json:"schedulingGates,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,38,rep,name=schedulingGates"`
	// Devices that must be allocated before the pod starts, under names that containers refer to.
	ResourceClaims []PodResourceClaim `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,39,rep,name=resourceClaims"`
	// Requests and limits for the pod as a whole, for cpu, memory and huge pages.
	Resources *ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,40,opt,name=resources"`
	// Host name inside the pod instead of the one made from hostname and subdomain.
	HostnameOverride *string `json:"hostnameOverride,omitempty" protobuf:"bytes,41,opt,name=hostnameOverride"`
	// Group of pods that are scheduled together.
	SchedulingGroup *PodSchedulingGroup `json:"schedulingGroup,omitempty" protobuf:"bytes,43,opt,name=schedulingGroup"`
}

// PodStatus is what is known about a pod; it may lag behind what is really going on.
type PodStatus struct {
	// Generation of the spec this status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,17,opt,name=observedGeneration"`
	// Summary of where the pod is in its life: Pending, Running, Succeeded, Failed or Unknown.
	Phase PodPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase" openapi:"enum=Failed|Pending|Running|Succeeded|Unknown"`
	// Facts about the pod, such as PodScheduled and Ready, with the time of their last change.
	Conditions []PodCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,2,rep,name=conditions"`
	// Why the pod is in this state, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	// Why the pod is in this state, in one word such as Evicted.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Node on which others were evicted to make room for this pod; it may still be placed elsewhere.
	NominatedNodeName string `json:"nominatedNodeName,omitempty" protobuf:"bytes,11,opt,name=nominatedNodeName"`
	// Address of the node.
	HostIP string `json:"hostIP,omitempty" protobuf:"bytes,5,opt,name=hostIP"`
	// Addresses of the node, at most one for each address family.
	HostIPs []HostIP `json:"hostIPs,omitempty" patchStrategy:"merge" patchMergeKey:"ip" listType:"atomic" protobuf:"bytes,16,rep,name=hostIPs"`
	// Address of the pod, the first of podIPs.
	PodIP string `json:"podIP,omitempty" protobuf:"bytes,6,opt,name=podIP"`
	// Addresses of the pod, at most one for each address family.
	PodIPs []PodIP `json:"podIPs,omitempty" patchStrategy:"merge" patchMergeKey:"ip" listType:"map" listMapKey:"ip" protobuf:"bytes,12,rep,name=podIPs"`
	// When the node accepted the pod, before images were pulled.
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,7,opt,name=startTime"`
	// States of the init containers, in their order.
	InitContainerStatuses []ContainerStatus `json:"initContainerStatuses,omitempty" listType:"atomic" protobuf:"bytes,10,rep,name=initContainerStatuses"`
	// States of the containers.
	ContainerStatuses []ContainerStatus `json:"containerStatuses,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=containerStatuses"`
	// Quality of service that follows from requests and limits: Guaranteed, Burstable or BestEffort.
	QOSClass PodQOSClass `json:"qosClass,omitempty" protobuf:"bytes,9,opt,name=qosClass" openapi:"enum=BestEffort|Burstable|Guaranteed"`
	// States of the ephemeral containers.
	EphemeralContainerStatuses []ContainerStatus `json:"ephemeralContainerStatuses,omitempty" listType:"atomic" protobuf:"bytes,13,rep,name=ephemeralContainerStatuses"`
	// State of a change of resources; conditions have replaced it.
	Resize PodResizeStatus `json:"resize,omitempty" protobuf:"bytes,14,opt,name=resize"`
	// Names of the claims made from the templates in the spec.
	ResourceClaimStatuses []PodResourceClaimStatus `json:"resourceClaimStatuses,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,15,rep,name=resourceClaimStatuses"`
	// Claim made for extended resources that devices provide.
	ExtendedResourceClaimStatus *PodExtendedResourceClaimStatus `json:"extendedResourceClaimStatus,omitempty" protobuf:"bytes,18,opt,name=extendedResourceClaimStatus"`
	// Resources set aside for the pod as a whole.
	AllocatedResources ResourceList `json:"allocatedResources,omitempty" protobuf:"bytes,19,rep,name=allocatedResources"`
	// Requests and limits in force for the pod as a whole.
	Resources *ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,20,opt,name=resources"`
	// What claims take from the node's own resources.
	NodeAllocatableResourceClaimStatuses []NodeAllocatableResourceClaimStatus `json:"nodeAllocatableResourceClaimStatuses,omitempty" listType:"atomic" protobuf:"bytes,21,rep,name=nodeAllocatableResourceClaimStatuses"`
}

// PodStatusResult is a pod's status on its own; no longer used.
type PodStatusResult struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What there is; written by the system.
	Status PodStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
}

// PodTemplate is a stored description of pods.
type PodTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Labels, annotations and spec for pods.
	Template PodTemplateSpec `json:"template,omitempty" protobuf:"bytes,2,opt,name=template"`
}

// PodTemplateSpec describes pods that a controller makes.
type PodTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What the pods run.
	Spec PodSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// PortStatus is the state of a load balancer's port.
type PortStatus struct {
	// Port number of the service.
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port" openapi:"required"`
	// TCP, UDP or SCTP.
	Protocol Protocol `json:"protocol" protobuf:"bytes,2,opt,name=protocol" openapi:"required,enum=SCTP|TCP|UDP"`
	// Why the port does not work: a CamelCase reason, or one with a domain as DOMAIN/REASON; absent if it
	// does.
	Error *string `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

// PortworxVolumeSource is a Portworx volume.
type PortworxVolumeSource struct {
	// Identity of the volume at its system.
	VolumeID string `json:"volumeID" protobuf:"bytes,1,opt,name=volumeID" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
}

// PreferAvoidPodsEntry is one kind of pods a node would rather not run.
type PreferAvoidPodsEntry struct {
	// Which pods.
	PodSignature PodSignature `json:"podSignature" protobuf:"bytes,1,opt,name=podSignature" openapi:"required"`
	// When pods of the kind were evicted.
	EvictionTime metav1.Time `json:"evictionTime,omitempty" protobuf:"bytes,2,opt,name=evictionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
}

// PreferredSchedulingTerm is a preference with a weight.
type PreferredSchedulingTerm struct {
	// Weight, 1 to 100.
	Weight int32 `json:"weight" protobuf:"varint,1,opt,name=weight" openapi:"required"`
	// Which nodes are preferred.
	Preference NodeSelectorTerm `json:"preference" protobuf:"bytes,2,opt,name=preference" openapi:"required"`
}

// Probe is a check made again and again.
type Probe struct {
	ProbeHandler `json:",inline" protobuf:"bytes,1,opt,name=handler"`
	// Seconds after the start before the first check.
	InitialDelaySeconds int32 `json:"initialDelaySeconds,omitempty" protobuf:"varint,2,opt,name=initialDelaySeconds"`
	// Seconds until a check counts as failed; 1 unless set.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,3,opt,name=timeoutSeconds"`
	// Seconds between checks; 10 unless set.
	PeriodSeconds int32 `json:"periodSeconds,omitempty" protobuf:"varint,4,opt,name=periodSeconds"`
	// Successes in a row that end a failure; 1 unless set, and always 1 for liveness and startup.
	SuccessThreshold int32 `json:"successThreshold,omitempty" protobuf:"varint,5,opt,name=successThreshold"`
	// Failures in a row that count; 3 unless set.
	FailureThreshold int32 `json:"failureThreshold,omitempty" protobuf:"varint,6,opt,name=failureThreshold"`
	// Seconds to end in after this check has failed, instead of the pod's.
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,7,opt,name=terminationGracePeriodSeconds"`
}

// ProbeHandler is how a check is made; one of its fields is set.
type ProbeHandler struct {
	// Run a command in the container; exit code 0 is success.
	Exec *ExecAction `json:"exec,omitempty" protobuf:"bytes,1,opt,name=exec"`
	// Make an HTTP request; a status from 200 to 399 is success.
	HTTPGet *HTTPGetAction `json:"httpGet,omitempty" protobuf:"bytes,2,opt,name=httpGet"`
	// Open a connection; being accepted is success.
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" protobuf:"bytes,3,opt,name=tcpSocket"`
	// Ask the gRPC health service.
	GRPC *GRPCAction `json:"grpc,omitempty" protobuf:"bytes,4,opt,name=grpc"`
}

// ProjectedVolumeSource is files from several sources in one directory.
type ProjectedVolumeSource struct {
	// The sources; no two may write the same file.
	Sources []VolumeProjection `json:"sources" listType:"atomic" protobuf:"bytes,1,rep,name=sources"`
	// Permission bits of the files, 0644 unless set; decimal in JSON.
	DefaultMode *int32 `json:"defaultMode,omitempty" protobuf:"varint,2,opt,name=defaultMode"`
}

// QuobyteVolumeSource is a Quobyte volume.
type QuobyteVolumeSource struct {
	// Addresses of the registry as host:port, separated by commas.
	Registry string `json:"registry" protobuf:"bytes,1,opt,name=registry" openapi:"required"`
	// Name of an existing volume.
	Volume string `json:"volume" protobuf:"bytes,2,opt,name=volume" openapi:"required"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// User to mount as; the service's own unless set.
	User string `json:"user,omitempty" protobuf:"bytes,4,opt,name=user"`
	// Group to mount as; none unless set.
	Group string `json:"group,omitempty" protobuf:"bytes,5,opt,name=group"`
	// Tenant that owns the volume.
	Tenant string `json:"tenant,omitempty" protobuf:"bytes,6,opt,name=tenant"`
}

// RBDPersistentVolumeSource is a Ceph block device with a secret in any namespace.
type RBDPersistentVolumeSource struct {
	// Addresses of the cluster's monitors.
	CephMonitors []string `json:"monitors" listType:"atomic" protobuf:"bytes,1,rep,name=monitors" openapi:"required"`
	// Image to mount.
	RBDImage string `json:"image" protobuf:"bytes,2,opt,name=image" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Pool of the image; rbd unless set.
	RBDPool string `json:"pool,omitempty" default:"rbd" protobuf:"bytes,4,opt,name=pool"`
	// Ceph user; admin unless set.
	RadosUser string `json:"user,omitempty" default:"admin" protobuf:"bytes,5,opt,name=user"`
	// Key ring on the node; /etc/ceph/keyring unless set.
	Keyring string `json:"keyring,omitempty" default:"/etc/ceph/keyring" protobuf:"bytes,6,opt,name=keyring"`
	// Secret with credentials.
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,7,opt,name=secretRef"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,8,opt,name=readOnly"`
}

// RBDVolumeSource is a Ceph block device.
type RBDVolumeSource struct {
	// Addresses of the cluster's monitors.
	CephMonitors []string `json:"monitors" listType:"atomic" protobuf:"bytes,1,rep,name=monitors" openapi:"required"`
	// Image to mount.
	RBDImage string `json:"image" protobuf:"bytes,2,opt,name=image" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Pool of the image; rbd unless set.
	RBDPool string `json:"pool,omitempty" default:"rbd" protobuf:"bytes,4,opt,name=pool"`
	// Ceph user; admin unless set.
	RadosUser string `json:"user,omitempty" default:"admin" protobuf:"bytes,5,opt,name=user"`
	// Key ring on the node; /etc/ceph/keyring unless set.
	Keyring string `json:"keyring,omitempty" default:"/etc/ceph/keyring" protobuf:"bytes,6,opt,name=keyring"`
	// Secret with credentials.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,7,opt,name=secretRef"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,8,opt,name=readOnly"`
}

// RangeAllocation is which numbers of a range are taken, for addresses and ports.
type RangeAllocation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The range, such as 10.0.0.0/24 or 30000-32767.
	Range string `json:"range" protobuf:"bytes,2,opt,name=range" openapi:"required"`
	// A bit per number, in the order of the range.
	Data []byte `json:"data" protobuf:"bytes,3,opt,name=data" openapi:"required"`
}

// ReplicationController keeps a number of pods running; deployments do more.
type ReplicationController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// How many pods, and what they run.
	Spec ReplicationControllerSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status ReplicationControllerStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ReplicationControllerCondition is one fact about a replication controller.
type ReplicationControllerCondition struct {
	// Name of the fact.
	Type ReplicationControllerConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// ReplicationControllerSpec is how many pods and which.
type ReplicationControllerSpec struct {
	// How many; 1 unless set.
	Replicas *int32 `json:"replicas,omitempty" default:"1" protobuf:"varint,1,opt,name=replicas"`
	// Seconds a pod must be ready before it counts as available.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" protobuf:"varint,4,opt,name=minReadySeconds"`
	// Labels of its pods; the template's unless set.
	Selector map[string]string `json:"selector,omitempty" mapType:"atomic" protobuf:"bytes,2,rep,name=selector"`
	// What new pods look like.
	Template *PodTemplateSpec `json:"template,omitempty" protobuf:"bytes,3,opt,name=template"`
}

// ReplicationControllerStatus is what pods there are.
type ReplicationControllerStatus struct {
	// Pods that exist, ending ones excluded.
	Replicas int32 `json:"replicas" protobuf:"varint,1,opt,name=replicas" openapi:"required"`
	// Those with all labels of the template.
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty" protobuf:"varint,2,opt,name=fullyLabeledReplicas"`
	// Those that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`
	// Those ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`
	// Generation of the spec this is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// Facts about the controller, such as ReplicaFailure.
	Conditions []ReplicationControllerCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,6,rep,name=conditions"`
}

// ResourceClaim is a container's use of a claim of its pod.
type ResourceClaim struct {
	// Name of an entry in the pod's resourceClaims.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// One request of the claim; all of them unless set.
	Request string `json:"request,omitempty" protobuf:"bytes,2,opt,name=request"`
}

// ResourceFieldSelector names a request or limit of a container.
type ResourceFieldSelector struct {
	// The container; required for volumes, optional for variables.
	ContainerName string `json:"containerName,omitempty" protobuf:"bytes,1,opt,name=containerName"`
	// Such as limits.cpu or requests.memory.
	Resource string `json:"resource" protobuf:"bytes,2,opt,name=resource" openapi:"required"`
	// Unit the value is given in; 1 unless set.
	Divisor resource.Quantity `json:"divisor,omitempty" protobuf:"bytes,3,opt,name=divisor"`
}

// ResourceHealth is the health of one device.
type ResourceHealth struct {
	// Identity of the device, as the plugin or driver gives it.
	ResourceID ResourceID `json:"resourceID" protobuf:"bytes,1,opt,name=resourceID" openapi:"required"`
	// Healthy, Unhealthy or Unknown.
	Health ResourceHealthStatus `json:"health,omitempty" protobuf:"bytes,2,opt,name="`
	// Details, for people.
	Message *string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// ResourceQuota bounds what a namespace uses in all.
type ResourceQuota struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Most of each resource that the namespace may use.
	Spec ResourceQuotaSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What is used; written by the system.
	Status ResourceQuotaStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ResourceQuotaSpec is the bounds of a quota.
type ResourceQuotaSpec struct {
	// The most of each resource, or of objects as count/resource.group.
	Hard ResourceList `json:"hard,omitempty" protobuf:"bytes,1,rep,name=hard"`
	// Only what is in all of these scopes counts.
	Scopes []ResourceQuotaScope `json:"scopes,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=scopes"`
	// Scopes with values, such as some priority classes.
	ScopeSelector *ScopeSelector `json:"scopeSelector,omitempty" protobuf:"bytes,3,opt,name=scopeSelector"`
}

// ResourceQuotaStatus is how much of a quota is used.
type ResourceQuotaStatus struct {
	// The bounds in force.
	Hard ResourceList `json:"hard,omitempty" protobuf:"bytes,1,rep,name=hard"`
	// What is used of each.
	Used ResourceList `json:"used,omitempty" protobuf:"bytes,2,rep,name=used"`
}

// ResourceRequirements is what a container needs at least and may use at most.
type ResourceRequirements struct {
	// The most of each resource it may use.
	Limits ResourceList `json:"limits,omitempty" protobuf:"bytes,1,rep,name=limits"`
	// What is set aside for it, by which it is scheduled; equal to the limits unless set.
	Requests ResourceList `json:"requests,omitempty" protobuf:"bytes,2,rep,name=requests"`
	// Device claims of the pod that this container uses.
	Claims []ResourceClaim `json:"claims,omitempty" listType:"map" listMapKey:"name" protobuf:"bytes,3,rep,name=claims"`
}

// ResourceStatus is the health of the devices behind a resource.
type ResourceStatus struct {
	// The resource: an extended one, or claim:NAME/REQUEST.
	Name ResourceName `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Its devices that the container has.
	Resources []ResourceHealth `json:"resources,omitempty" listType:"map" listMapKey:"resourceID" protobuf:"bytes,2,rep,name=resources"`
}

// SELinuxOptions is an SELinux label.
type SELinuxOptions struct {
	// User part of the label.
	User string `json:"user,omitempty" protobuf:"bytes,1,opt,name=user"`
	// Role part of the label.
	Role string `json:"role,omitempty" protobuf:"bytes,2,opt,name=role"`
	// Type part of the label.
	Type string `json:"type,omitempty" protobuf:"bytes,3,opt,name=type"`
	// Level part of the label.
	Level string `json:"level,omitempty" protobuf:"bytes,4,opt,name=level"`
}

// ScaleIOPersistentVolumeSource is a ScaleIO volume with a secret in any namespace.
type ScaleIOPersistentVolumeSource struct {
	// Address of the gateway's API.
	Gateway string `json:"gateway" protobuf:"bytes,1,opt,name=gateway" openapi:"required"`
	// Name of the storage system.
	System string `json:"system" protobuf:"bytes,2,opt,name=system" openapi:"required"`
	// Secret with credentials.
	SecretRef *SecretReference `json:"secretRef" protobuf:"bytes,3,opt,name=secretRef" openapi:"required"`
	// Talk TLS to the gateway.
	SSLEnabled bool `json:"sslEnabled,omitempty" protobuf:"varint,4,opt,name=sslEnabled"`
	// Protection domain of the volume.
	ProtectionDomain string `json:"protectionDomain,omitempty" protobuf:"bytes,5,opt,name=protectionDomain"`
	// Pool within the protection domain.
	StoragePool string `json:"storagePool,omitempty" protobuf:"bytes,6,opt,name=storagePool"`
	// ThickProvisioned or ThinProvisioned; thin unless set.
	StorageMode string `json:"storageMode,omitempty" default:"ThinProvisioned" protobuf:"bytes,7,opt,name=storageMode"`
	// Name of an existing volume.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,8,opt,name=volumeName"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" default:"xfs" protobuf:"bytes,9,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,10,opt,name=readOnly"`
}

// ScaleIOVolumeSource is a ScaleIO volume.
type ScaleIOVolumeSource struct {
	// Address of the gateway's API.
	Gateway string `json:"gateway" protobuf:"bytes,1,opt,name=gateway" openapi:"required"`
	// Name of the storage system.
	System string `json:"system" protobuf:"bytes,2,opt,name=system" openapi:"required"`
	// Secret with credentials.
	SecretRef *LocalObjectReference `json:"secretRef" protobuf:"bytes,3,opt,name=secretRef" openapi:"required"`
	// Talk TLS to the gateway.
	SSLEnabled bool `json:"sslEnabled,omitempty" protobuf:"varint,4,opt,name=sslEnabled"`
	// Protection domain of the volume.
	ProtectionDomain string `json:"protectionDomain,omitempty" protobuf:"bytes,5,opt,name=protectionDomain"`
	// Pool within the protection domain.
	StoragePool string `json:"storagePool,omitempty" protobuf:"bytes,6,opt,name=storagePool"`
	// ThickProvisioned or ThinProvisioned; thin unless set.
	StorageMode string `json:"storageMode,omitempty" default:"ThinProvisioned" protobuf:"bytes,7,opt,name=storageMode"`
	// Name of an existing volume.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,8,opt,name=volumeName"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" default:"xfs" protobuf:"bytes,9,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,10,opt,name=readOnly"`
}

// ScopeSelector narrows a quota.
type ScopeSelector struct {
	// Requirements that must all hold.
	MatchExpressions []ScopedResourceSelectorRequirement `json:"matchExpressions,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=matchExpressions"`
}

// ScopedResourceSelectorRequirement is one requirement on what counts.
type ScopedResourceSelectorRequirement struct {
	// Scope the operator and values are about.
	ScopeName ResourceQuotaScope `json:"scopeName" protobuf:"bytes,1,opt,name=scopeName" openapi:"required,enum=BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass"`
	// In, NotIn, Exists or DoesNotExist.
	Operator ScopeSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required,enum=DoesNotExist|Exists|In|NotIn"`
	// Values for In and NotIn.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// SeccompProfile is a system call filter.
type SeccompProfile struct {
	// RuntimeDefault, Unconfined or Localhost.
	Type SeccompProfileType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required,enum=Localhost|RuntimeDefault|Unconfined"`
	// File of the profile below the node's seccomp directory; for Localhost only.
	LocalhostProfile *string `json:"localhostProfile,omitempty" protobuf:"bytes,2,opt,name=localhostProfile"`
}

// Secret is confidential data as keys and values.
type Secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Nobody can change the data any more; only deletion remains.
	Immutable *bool `json:"immutable,omitempty" protobuf:"varint,5,opt,name=immutable"`
	// Values, base64 in JSON; at most 1 MiB in all.
	Data map[string][]byte `json:"data,omitempty" protobuf:"bytes,2,rep,name=data"`
	// Values as plain text, put into data when written; never read back.
	StringData map[string]string `json:"stringData,omitempty" protobuf:"bytes,4,rep,name=stringData"`
	// What the keys mean, such as kubernetes.io/tls; Opaque unless set, and fixed.
	Type SecretType `json:"type,omitempty" protobuf:"bytes,3,opt,name=type"`
}

// SecretEnvSource is a secret as a source of variables.
type SecretEnvSource struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Start even if it does not exist.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,2,opt,name=optional"`
}

// SecretKeySelector picks a key of a secret.
type SecretKeySelector struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Entry of the secret's data.
	Key string `json:"key" protobuf:"bytes,2,opt,name=key" openapi:"required"`
	// Start even if the secret or the key does not exist.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,3,opt,name=optional"`
}

// SecretProjection is keys of a secret in a projected volume.
type SecretProjection struct {
	LocalObjectReference `json:",inline" protobuf:"bytes,1,opt,name=localObjectReference"`
	// Which keys, and as which files; all unless set.
	Items []KeyToPath `json:"items,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=items"`
	// Start even if the secret or a key does not exist.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// SecretReference names a secret in any namespace.
type SecretReference struct {
	// Name of the secret.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Namespace of the secret.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
}

// SecretVolumeSource is a secret as files.
type SecretVolumeSource struct {
	// Name of the secret.
	SecretName string `json:"secretName,omitempty" protobuf:"bytes,1,opt,name=secretName"`
	// Which keys, and as which files; all keys under their own names unless set.
	Items []KeyToPath `json:"items,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=items"`
	// Permission bits of the files, 0644 unless set; decimal in JSON.
	DefaultMode *int32 `json:"defaultMode,omitempty" protobuf:"varint,3,opt,name=defaultMode"`
	// Start even if the secret or a key does not exist.
	Optional *bool `json:"optional,omitempty" protobuf:"varint,4,opt,name=optional"`
}

// SecurityContext is identity and permissions of one container.
type SecurityContext struct {
	// Capabilities added to and dropped from the runtime's default set.
	Capabilities *Capabilities `json:"capabilities,omitempty" protobuf:"bytes,1,opt,name=capabilities"`
	// Give the container all the powers of the node's root.
	Privileged *bool `json:"privileged,omitempty" protobuf:"varint,2,opt,name=privileged"`
	// SELinux label of the container.
	SELinuxOptions *SELinuxOptions `json:"seLinuxOptions,omitempty" protobuf:"bytes,3,opt,name=seLinuxOptions"`
	// Settings that exist on Windows only.
	WindowsOptions *WindowsSecurityContextOptions `json:"windowsOptions,omitempty" protobuf:"bytes,10,opt,name=windowsOptions"`
	// User id of the first process; the image's user unless set.
	RunAsUser *int64 `json:"runAsUser,omitempty" protobuf:"varint,4,opt,name=runAsUser"`
	// Group id of the first process.
	RunAsGroup *int64 `json:"runAsGroup,omitempty" protobuf:"varint,8,opt,name=runAsGroup"`
	// Refuse to start the container if it would run as user 0.
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty" protobuf:"varint,5,opt,name=runAsNonRoot"`
	// Mount the image's file system read-only.
	ReadOnlyRootFilesystem *bool `json:"readOnlyRootFilesystem,omitempty" protobuf:"varint,6,opt,name=readOnlyRootFilesystem"`
	// Whether processes can gain more powers than their parent, as by setuid programs.
	AllowPrivilegeEscalation *bool `json:"allowPrivilegeEscalation,omitempty" protobuf:"varint,7,opt,name=allowPrivilegeEscalation"`
	// How much of /proc is hidden: Default or Unmasked.
	ProcMount *ProcMountType `json:"procMount,omitempty" protobuf:"bytes,9,opt,name=procMount" openapi:"enum=Default|Unmasked"`
	// System call filter of the container.
	SeccompProfile *SeccompProfile `json:"seccompProfile,omitempty" protobuf:"bytes,11,opt,name=seccompProfile"`
	// AppArmor profile of the container.
	AppArmorProfile *AppArmorProfile `json:"appArmorProfile,omitempty" protobuf:"bytes,12,opt,name=appArmorProfile"`
}

// SerializedReference is a reference written into an annotation.
type SerializedReference struct {
	metav1.TypeMeta `json:",inline"`
	// The object referred to.
	Reference ObjectReference `json:"reference,omitempty" protobuf:"bytes,1,opt,name=reference"`
}

// Service is one name and address for a changing set of pods.
type Service struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which pods, at which ports, and for whom.
	Spec ServiceSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What a load balancer said; written by the system.
	Status ServiceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ServiceAccount is an identity for pods.
type ServiceAccount struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Secrets that pods with this identity may use, if so restricted.
	Secrets []ObjectReference `json:"secrets,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=secrets"`
	// Secrets for pulling images, for pods that name none.
	ImagePullSecrets []LocalObjectReference `json:"imagePullSecrets,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=imagePullSecrets"`
	// Whether pods get a token mounted unless they say otherwise.
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty" protobuf:"varint,4,opt,name=automountServiceAccountToken"`
}

// ServiceAccountTokenProjection is a token file.
type ServiceAccountTokenProjection struct {
	// Who the token is for; the API server unless set.
	Audience string `json:"audience,omitempty" protobuf:"bytes,1,opt,name=audience"`
	// How long it is valid, at least 600; an hour unless set.
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty" protobuf:"varint,2,opt,name=expirationSeconds"`
	// The file, relative to the volume's root.
	Path string `json:"path" protobuf:"bytes,3,opt,name=path" openapi:"required"`
}

// ServicePort is one port of a service.
type ServicePort struct {
	// Name of the port, a DNS label; required if there are several.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// TCP (the default), UDP or SCTP.
	Protocol Protocol `json:"protocol,omitempty" default:"TCP" protobuf:"bytes,2,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// What is spoken there, such as kubernetes.io/h2c.
	AppProtocol *string `json:"appProtocol,omitempty" protobuf:"bytes,6,opt,name=appProtocol"`
	// Number of the port at the service.
	Port int32 `json:"port" protobuf:"varint,3,opt,name=port" openapi:"required"`
	// Number or name of the port at the pods; the same number unless set.
	TargetPort intstr.IntOrString `json:"targetPort,omitempty" protobuf:"bytes,4,opt,name=targetPort"`
	// Port on every node; chosen by the server unless set.
	NodePort int32 `json:"nodePort,omitempty" protobuf:"varint,5,opt,name=nodePort"`
}

// ServiceProxyOptions is an HTTP request to a service.
type ServiceProxyOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Path below the service's server.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
}

// ServiceSpec is what a service offers.
type ServiceSpec struct {
	// Ports of the service.
	Ports []ServicePort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port" listType:"map" listMapKey:"port,protocol" protobuf:"bytes,1,rep,name=ports"`
	// Labels of the pods that serve; without it somebody else writes the endpoints.
	Selector map[string]string `json:"selector,omitempty" mapType:"atomic" protobuf:"bytes,2,rep,name=selector"`
	// Address of the service, chosen by the server unless set; None for a service without one.
	ClusterIP string `json:"clusterIP,omitempty" protobuf:"bytes,3,opt,name=clusterIP"`
	// Addresses, one for each family; the first is clusterIP.
	ClusterIPs []string `json:"clusterIPs,omitempty" listType:"atomic" protobuf:"bytes,18,rep,name=clusterIPs"`
	// ClusterIP (the default), NodePort, LoadBalancer or ExternalName.
	Type ServiceType `json:"type,omitempty" protobuf:"bytes,4,opt,name=type" openapi:"enum=ClusterIP|ExternalName|LoadBalancer|NodePort"`
	// Further addresses that somebody routes to the nodes.
	ExternalIPs []string `json:"externalIPs,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=externalIPs"`
	// None (the default), or ClientIP to send a client to the same pod again.
	SessionAffinity ServiceAffinity `json:"sessionAffinity,omitempty" protobuf:"bytes,7,opt,name=sessionAffinity" openapi:"enum=ClientIP|None"`
	// Address wished for at the load balancer; not all can do it.
	LoadBalancerIP string `json:"loadBalancerIP,omitempty" protobuf:"bytes,8,opt,name=loadBalancerIP"`
	// Networks that may use the load balancer, where it can restrict them.
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=loadBalancerSourceRanges"`
	// DNS name that an ExternalName service is an alias of.
	ExternalName string `json:"externalName,omitempty" protobuf:"bytes,10,opt,name=externalName"`
	// Cluster spreads outside traffic over all pods; Local keeps it on the node it came to, and with it the
	// client's address.
	ExternalTrafficPolicy ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty" protobuf:"bytes,11,opt,name=externalTrafficPolicy" openapi:"enum=Cluster|Local"`
	// Port where load balancers learn whether a node has pods; for Local policy.
	HealthCheckNodePort int32 `json:"healthCheckNodePort,omitempty" protobuf:"varint,12,opt,name=healthCheckNodePort"`
	// Give out addresses of pods that are not ready too.
	PublishNotReadyAddresses bool `json:"publishNotReadyAddresses,omitempty" protobuf:"varint,13,opt,name=publishNotReadyAddresses"`
	// How long a client stays with its pod.
	SessionAffinityConfig *SessionAffinityConfig `json:"sessionAffinityConfig,omitempty" protobuf:"bytes,14,opt,name=sessionAffinityConfig"`
	// IPv4, IPv6 or both, in order of preference.
	IPFamilies []IPFamily `json:"ipFamilies,omitempty" listType:"atomic" protobuf:"bytes,19,rep,name=ipFamilies"`
	// SingleStack, PreferDualStack or RequireDualStack.
	IPFamilyPolicy *IPFamilyPolicy `json:"ipFamilyPolicy,omitempty" protobuf:"bytes,17,opt,name=ipFamilyPolicy" openapi:"enum=PreferDualStack|RequireDualStack|SingleStack"`
	// Whether a load balancer needs ports on the nodes; true unless set.
	AllocateLoadBalancerNodePorts *bool `json:"allocateLoadBalancerNodePorts,omitempty" protobuf:"varint,20,opt,name=allocateLoadBalancerNodePorts"`
	// Which implementation provides the load balancer; set once.
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty" protobuf:"bytes,21,opt,name=loadBalancerClass"`
	// Cluster (the default), or Local to use only pods on the client's node.
	InternalTrafficPolicy *ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty" protobuf:"bytes,22,opt,name=internalTrafficPolicy" openapi:"enum=Cluster|Local"`
	// Preference for near pods: PreferSameZone, PreferSameNode; PreferClose is the old name of the first.
	TrafficDistribution *string `json:"trafficDistribution,omitempty" protobuf:"bytes,23,opt,name=trafficDistribution"`
}

// ServiceStatus is what became of a service.
type ServiceStatus struct {
	// Where the load balancer listens.
	LoadBalancer LoadBalancerStatus `json:"loadBalancer,omitempty" protobuf:"bytes,1,opt,name=loadBalancer"`
	// Facts about the service.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,2,rep,name=conditions"`
}

// SessionAffinityConfig is how long a client stays with its pod.
type SessionAffinityConfig struct {
	// For affinity by client address.
	ClientIP *ClientIPConfig `json:"clientIP,omitempty" protobuf:"bytes,1,opt,name=clientIP"`
}

// SleepAction waits.
type SleepAction struct {
	// How long to wait; at most the pod's grace period.
	Seconds int64 `json:"seconds" protobuf:"varint,1,opt,name=seconds" openapi:"required"`
}

// StorageOSPersistentVolumeSource is a StorageOS volume with a secret in any namespace.
type StorageOSPersistentVolumeSource struct {
	// Name of the volume within its namespace.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,1,opt,name=volumeName"`
	// Namespace at StorageOS; the pod's unless set.
	VolumeNamespace string `json:"volumeNamespace,omitempty" protobuf:"bytes,2,opt,name=volumeNamespace"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Secret with credentials.
	SecretRef *ObjectReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`
}

// StorageOSVolumeSource is a StorageOS volume.
type StorageOSVolumeSource struct {
	// Name of the volume within its namespace.
	VolumeName string `json:"volumeName,omitempty" protobuf:"bytes,1,opt,name=volumeName"`
	// Namespace at StorageOS; the pod's unless set.
	VolumeNamespace string `json:"volumeNamespace,omitempty" protobuf:"bytes,2,opt,name=volumeNamespace"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,3,opt,name=fsType"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,4,opt,name=readOnly"`
	// Secret with credentials.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`
}

// Sysctl is a kernel parameter.
type Sysctl struct {
	// Name such as net.core.somaxconn.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Value to write, as text.
	Value string `json:"value" protobuf:"bytes,2,opt,name=value" openapi:"required"`
}

// TCPSocketAction opens a connection.
type TCPSocketAction struct {
	// Number or name of the port.
	Port intstr.IntOrString `json:"port" protobuf:"bytes,1,opt,name=port" openapi:"required"`
	// Host to connect to; the pod's address unless set.
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
}

// Taint keeps pods away from a node.
type Taint struct {
	// Key, as of a label.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Value, as of a label.
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// NoSchedule, PreferNoSchedule, or NoExecute, which also ends running pods.
	Effect TaintEffect `json:"effect" protobuf:"bytes,3,opt,name=effect" openapi:"required,enum=NoExecute|NoSchedule|PreferNoSchedule"`
	// When it was added.
	TimeAdded *metav1.Time `json:"timeAdded,omitempty" protobuf:"bytes,4,opt,name=timeAdded"`
}

// Toleration lets a pod run on, or stay on, nodes with a taint.
type Toleration struct {
	// Taint key; empty with Exists tolerates every taint.
	Key string `json:"key,omitempty" protobuf:"bytes,1,opt,name=key"`
	// Equal (the default), Exists, or a comparison of numbers.
	Operator TolerationOperator `json:"operator,omitempty" protobuf:"bytes,2,opt,name=operator" openapi:"enum=Equal|Exists|Gt|Lt"`
	// Value the taint must have.
	Value string `json:"value,omitempty" protobuf:"bytes,3,opt,name=value"`
	// Effect it is about; all effects unless set.
	Effect TaintEffect `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect" openapi:"enum=NoExecute|NoSchedule|PreferNoSchedule"`
	// Seconds the pod stays after a NoExecute taint appears; for ever unless set.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" protobuf:"varint,5,opt,name=tolerationSeconds"`
}

// TopologySelectorLabelRequirement is one requirement on a place.
type TopologySelectorLabelRequirement struct {
	// Label key of nodes.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Values, one of which the label must have.
	Values []string `json:"values" listType:"atomic" protobuf:"bytes,2,rep,name=values" openapi:"required"`
}

// TopologySelectorTerm selects places by labels of nodes.
type TopologySelectorTerm struct {
	// Requirements that must all hold.
	MatchLabelExpressions []TopologySelectorLabelRequirement `json:"matchLabelExpressions,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=matchLabelExpressions"`
}

// TopologySpreadConstraint bounds how unevenly pods are spread.
type TopologySpreadConstraint struct {
	// Largest allowed difference between the number of matching pods in a place and the least in any; at
	// least 1.
	MaxSkew int32 `json:"maxSkew" protobuf:"varint,1,opt,name=maxSkew" openapi:"required"`
	// Node label; nodes with the same value of it are one place.
	TopologyKey string `json:"topologyKey" protobuf:"bytes,2,opt,name=topologyKey" openapi:"required"`
	// DoNotSchedule waits, ScheduleAnyway only prefers.
	WhenUnsatisfiable UnsatisfiableConstraintAction `json:"whenUnsatisfiable" protobuf:"bytes,3,opt,name=whenUnsatisfiable" openapi:"required,enum=DoNotSchedule|ScheduleAnyway"`
	// Which pods are counted.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty" protobuf:"bytes,4,opt,name=labelSelector"`
	// Fewest places there should be; until then the least count is taken as 0.
	MinDomains *int32 `json:"minDomains,omitempty" protobuf:"varint,5,opt,name=minDomains"`
	// Whether nodes that do not fit the pod's node affinity are left out: Honor (the default) or Ignore.
	NodeAffinityPolicy *NodeInclusionPolicy `json:"nodeAffinityPolicy,omitempty" protobuf:"bytes,6,opt,name=nodeAffinityPolicy" openapi:"enum=Honor|Ignore"`
	// Whether nodes with taints the pod does not tolerate are left out: Honor or Ignore (the default).
	NodeTaintsPolicy *NodeInclusionPolicy `json:"nodeTaintsPolicy,omitempty" protobuf:"bytes,7,opt,name=nodeTaintsPolicy" openapi:"enum=Honor|Ignore"`
	// Labels of this pod whose values the counted pods must share.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=matchLabelKeys"`
}

// TypedLocalObjectReference names an object of any kind in the same namespace.
type TypedLocalObjectReference struct {
	// Group of the kind; the core group unless set.
	APIGroup *string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	// Kind name in apiGroup.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	// Which object of the kind, in the same namespace.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
}

// TypedObjectReference names an object of any kind.
type TypedObjectReference struct {
	// Group of the kind; the core group unless set.
	APIGroup *string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	// Kind name in apiGroup.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	// Which object of the kind.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	// Its namespace; the referrer's unless set.
	Namespace *string `json:"namespace,omitempty" protobuf:"bytes,4,opt,name=namespace"`
}

// Volume is a directory or disk that containers of a pod can mount.
type Volume struct {
	// Name within the pod, a DNS label; mounts refer to it.
	Name         string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	VolumeSource `json:",inline" protobuf:"bytes,2,opt,name=volumeSource"`
}

// VolumeDevice is a block volume that appears as a device.
type VolumeDevice struct {
	// Name of one of the pod's volumes, which must be a claim.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Path of the device in the container.
	DevicePath string `json:"devicePath" protobuf:"bytes,2,opt,name=devicePath" openapi:"required"`
}

// VolumeMount is where a volume appears in a container.
type VolumeMount struct {
	// Name of one of the pod's volumes.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,2,opt,name=readOnly"`
	// Whether mounts below it become read-only too: Disabled, IfPossible or Enabled; needs readOnly.
	RecursiveReadOnly *RecursiveReadOnlyMode `json:"recursiveReadOnly,omitempty" protobuf:"bytes,7,opt,name=recursiveReadOnly"`
	// Path in the container; unique, without a colon.
	MountPath string `json:"mountPath" protobuf:"bytes,3,opt,name=mountPath" openapi:"required"`
	// Path inside the volume to mount instead of its root.
	SubPath string `json:"subPath,omitempty" protobuf:"bytes,4,opt,name=subPath"`
	// Whether later mounts are passed between node and container: None, HostToContainer or Bidirectional.
	MountPropagation *MountPropagationMode `json:"mountPropagation,omitempty" protobuf:"bytes,5,opt,name=mountPropagation" openapi:"enum=Bidirectional|HostToContainer|None"`
	// Like subPath, with $(VAR) replaced from the environment.
	SubPathExpr string `json:"subPathExpr,omitempty" protobuf:"bytes,6,opt,name=subPathExpr"`
}

// VolumeMountStatus is the state of a mount.
type VolumeMountStatus struct {
	// Volume that is mounted.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Where in the container.
	MountPath string `json:"mountPath" protobuf:"bytes,2,opt,name=mountPath" openapi:"required"`
	// Mount it read-only.
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=readOnly"`
	// Whether mounts below are read-only too, as it turned out: Disabled or Enabled.
	RecursiveReadOnly *RecursiveReadOnlyMode `json:"recursiveReadOnly,omitempty" protobuf:"bytes,4,opt,name=recursiveReadOnly"`
	// What is known about the volume itself.
	VolumeStatus *VolumeStatus `json:"volumeStatus,omitempty" protobuf:"bytes,5,opt,name=volumeStatus"`
}

// VolumeNodeAffinity says which nodes can reach a volume.
type VolumeNodeAffinity struct {
	// Labels of the nodes that can reach the volume.
	Required *NodeSelector `json:"required,omitempty" protobuf:"bytes,1,opt,name=required"`
}

// VolumeProjection is one source of a projected volume; one of its fields is set.
type VolumeProjection struct {
	// Files made of a secret's entries.
	Secret *SecretProjection `json:"secret,omitempty" protobuf:"bytes,1,opt,name=secret"`
	// Fields of the pod.
	DownwardAPI *DownwardAPIProjection `json:"downwardAPI,omitempty" protobuf:"bytes,2,opt,name=downwardAPI"`
	// Keys of a config map.
	ConfigMap *ConfigMapProjection `json:"configMap,omitempty" protobuf:"bytes,3,opt,name=configMap"`
	// A token of the pod's service account, renewed before it expires.
	ServiceAccountToken *ServiceAccountTokenProjection `json:"serviceAccountToken,omitempty" protobuf:"bytes,4,opt,name=serviceAccountToken"`
	// Certificates of trust bundles.
	ClusterTrustBundle *ClusterTrustBundleProjection `json:"clusterTrustBundle,omitempty" protobuf:"bytes,5,opt,name=clusterTrustBundle"`
	// A key and a certificate issued for the pod.
	PodCertificate *PodCertificateProjection `json:"podCertificate,omitempty" protobuf:"bytes,6,opt,name=podCertificate"`
}

// VolumeResourceRequirements is how much storage is asked for.
type VolumeResourceRequirements struct {
	// Most that the volume may have.
	Limits ResourceList `json:"limits,omitempty" protobuf:"bytes,1,rep,name=limits"`
	// Least that the volume must have; storage is the only resource.
	Requests ResourceList `json:"requests,omitempty" protobuf:"bytes,2,rep,name=requests"`
}

// VolumeSource is what a volume is made of; one of its fields is set, an empty directory if none is.
type VolumeSource struct {
	// A file or directory of the node.
	HostPath *HostPathVolumeSource `json:"hostPath,omitempty" protobuf:"bytes,1,opt,name=hostPath"`
	// A directory that begins empty and goes away with the pod.
	EmptyDir *EmptyDirVolumeSource `json:"emptyDir,omitempty" protobuf:"bytes,2,opt,name=emptyDir"`
	// A disk of Google Compute Engine; use a claim instead.
	GCEPersistentDisk *GCEPersistentDiskVolumeSource `json:"gcePersistentDisk,omitempty" protobuf:"bytes,3,opt,name=gcePersistentDisk"`
	// A disk of Amazon EC2; use a claim instead.
	AWSElasticBlockStore *AWSElasticBlockStoreVolumeSource `json:"awsElasticBlockStore,omitempty" protobuf:"bytes,4,opt,name=awsElasticBlockStore"`
	// A checkout of a git repository; no longer supported by nodes.
	GitRepo *GitRepoVolumeSource `json:"gitRepo,omitempty" protobuf:"bytes,5,opt,name=gitRepo"`
	// The keys of a secret as files.
	Secret *SecretVolumeSource `json:"secret,omitempty" protobuf:"bytes,6,opt,name=secret"`
	// A directory of an NFS server.
	NFS *NFSVolumeSource `json:"nfs,omitempty" protobuf:"bytes,7,opt,name=nfs"`
	// A disk of an iSCSI target.
	ISCSI *ISCSIVolumeSource `json:"iscsi,omitempty" protobuf:"bytes,8,opt,name=iscsi"`
	// A Gluster volume; no longer supported by nodes.
	Glusterfs *GlusterfsVolumeSource `json:"glusterfs,omitempty" protobuf:"bytes,9,opt,name=glusterfs"`
	// The volume bound to a claim in the namespace.
	PersistentVolumeClaim *PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty" protobuf:"bytes,10,opt,name=persistentVolumeClaim"`
	// A Ceph block device; no longer supported by nodes.
	RBD *RBDVolumeSource `json:"rbd,omitempty" protobuf:"bytes,11,opt,name=rbd"`
	// A volume of a FlexVolume driver; use CSI instead.
	FlexVolume *FlexVolumeSource `json:"flexVolume,omitempty" protobuf:"bytes,12,opt,name=flexVolume"`
	// A disk of OpenStack; use a claim instead.
	Cinder *CinderVolumeSource `json:"cinder,omitempty" protobuf:"bytes,13,opt,name=cinder"`
	// A Ceph file system; no longer supported by nodes.
	CephFS *CephFSVolumeSource `json:"cephfs,omitempty" protobuf:"bytes,14,opt,name=cephfs"`
	// A Flocker dataset; no longer supported by nodes.
	Flocker *FlockerVolumeSource `json:"flocker,omitempty" protobuf:"bytes,15,opt,name=flocker"`
	// Fields of the pod as files.
	DownwardAPI *DownwardAPIVolumeSource `json:"downwardAPI,omitempty" protobuf:"bytes,16,opt,name=downwardAPI"`
	// A Fibre Channel disk.
	FC *FCVolumeSource `json:"fc,omitempty" protobuf:"bytes,17,opt,name=fc"`
	// A share of Azure Files; use a claim instead.
	AzureFile *AzureFileVolumeSource `json:"azureFile,omitempty" protobuf:"bytes,18,opt,name=azureFile"`
	// The keys of a config map as files.
	ConfigMap *ConfigMapVolumeSource `json:"configMap,omitempty" protobuf:"bytes,19,opt,name=configMap"`
	// A disk of vSphere; use a claim instead.
	VsphereVolume *VsphereVirtualDiskVolumeSource `json:"vsphereVolume,omitempty" protobuf:"bytes,20,opt,name=vsphereVolume"`
	// A Quobyte volume; no longer supported by nodes.
	Quobyte *QuobyteVolumeSource `json:"quobyte,omitempty" protobuf:"bytes,21,opt,name=quobyte"`
	// A disk of Azure; use a claim instead.
	AzureDisk *AzureDiskVolumeSource `json:"azureDisk,omitempty" protobuf:"bytes,22,opt,name=azureDisk"`
	// A disk of Photon; no longer supported by nodes.
	PhotonPersistentDisk *PhotonPersistentDiskVolumeSource `json:"photonPersistentDisk,omitempty" protobuf:"bytes,23,opt,name=photonPersistentDisk"`
	// Files from several sources in one directory.
	Projected *ProjectedVolumeSource `json:"projected,omitempty" protobuf:"bytes,26,opt,name=projected"`
	// A Portworx volume; use a claim instead.
	PortworxVolume *PortworxVolumeSource `json:"portworxVolume,omitempty" protobuf:"bytes,24,opt,name=portworxVolume"`
	// A ScaleIO volume; no longer supported by nodes.
	ScaleIO *ScaleIOVolumeSource `json:"scaleIO,omitempty" protobuf:"bytes,25,opt,name=scaleIO"`
	// A StorageOS volume; no longer supported by nodes.
	StorageOS *StorageOSVolumeSource `json:"storageos,omitempty" protobuf:"bytes,27,opt,name=storageos"`
	// A volume that a CSI driver makes for this pod alone.
	CSI *CSIVolumeSource `json:"csi,omitempty" protobuf:"bytes,28,opt,name=csi"`
	// A claim made for this pod and deleted with it.
	Ephemeral *EphemeralVolumeSource `json:"ephemeral,omitempty" protobuf:"bytes,29,opt,name=ephemeral"`
	// The files of an image, read-only.
	Image *ImageVolumeSource `json:"image,omitempty" protobuf:"bytes,30,opt,name=image"`
}

// VolumeStatus is the state of a mounted volume.
type VolumeStatus struct {
	// For a volume that is an image.
	Image *ImageVolumeStatus `json:"image,omitempty" protobuf:"bytes,1,opt,name=image"`
}

// VsphereVirtualDiskVolumeSource is a disk of vSphere.
type VsphereVirtualDiskVolumeSource struct {
	// Path of the disk file, with its datastore.
	VolumePath string `json:"volumePath" protobuf:"bytes,1,opt,name=volumePath" openapi:"required"`
	// File system type to mount; ext4 or the system's own unless set.
	FSType string `json:"fsType,omitempty" protobuf:"bytes,2,opt,name=fsType"`
	// Name of the storage policy.
	StoragePolicyName string `json:"storagePolicyName,omitempty" protobuf:"bytes,3,opt,name=storagePolicyName"`
	// Identity of the storage policy.
	StoragePolicyID string `json:"storagePolicyID,omitempty" protobuf:"bytes,4,opt,name=storagePolicyID"`
}

// WeightedPodAffinityTerm is a term with a weight.
type WeightedPodAffinityTerm struct {
	// Weight, 1 to 100.
	Weight int32 `json:"weight" protobuf:"varint,1,opt,name=weight" openapi:"required"`
	// Which pods, and how near.
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm" protobuf:"bytes,2,opt,name=podAffinityTerm" openapi:"required"`
}

// WindowsSecurityContextOptions is what exists on Windows only.
type WindowsSecurityContextOptions struct {
	// Name of the credential spec of a group managed service account.
	GMSACredentialSpecName *string `json:"gmsaCredentialSpecName,omitempty" protobuf:"bytes,1,opt,name=gmsaCredentialSpecName"`
	// The credential spec itself.
	GMSACredentialSpec *string `json:"gmsaCredentialSpec,omitempty" protobuf:"bytes,2,opt,name=gmsaCredentialSpec"`
	// User of the first process, optionally with a domain in front.
	RunAsUserName *string `json:"runAsUserName,omitempty" protobuf:"bytes,3,opt,name=runAsUserName"`
	// Run as a process of the node; all containers of the pod or none.
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

// AppArmorProfileType is what AppArmorProfile.Type can be.
type AppArmorProfileType string

// The values of AppArmorProfileType.
const (
	AppArmorProfileTypeLocalhost      AppArmorProfileType = "Localhost"
	AppArmorProfileTypeRuntimeDefault AppArmorProfileType = "RuntimeDefault"
	AppArmorProfileTypeUnconfined     AppArmorProfileType = "Unconfined"
)

// AzureDataDiskCachingMode is what AzureDiskVolumeSource.CachingMode can be.
type AzureDataDiskCachingMode string

// The values of AzureDataDiskCachingMode.
const (
	AzureDataDiskCachingNone      AzureDataDiskCachingMode = "None"
	AzureDataDiskCachingReadOnly  AzureDataDiskCachingMode = "ReadOnly"
	AzureDataDiskCachingReadWrite AzureDataDiskCachingMode = "ReadWrite"
)

// AzureDataDiskKind is what AzureDiskVolumeSource.Kind can be.
type AzureDataDiskKind string

// The values of AzureDataDiskKind.
const (
	AzureDedicatedBlobDisk AzureDataDiskKind = "Dedicated"
	AzureManagedDisk       AzureDataDiskKind = "Managed"
	AzureSharedBlobDisk    AzureDataDiskKind = "Shared"
)

// Capability is what Capabilities.Add and Capabilities.Drop can be.
type Capability string

// ClaimResourceStatus is what PersistentVolumeClaimStatus.AllocatedResourceStatuses can be.
type ClaimResourceStatus string

// The values of ClaimResourceStatus.
const (
	PersistentVolumeClaimControllerResizeInProgress ClaimResourceStatus = "ControllerResizeInProgress"
	PersistentVolumeClaimControllerResizeInfeasible ClaimResourceStatus = "ControllerResizeInfeasible"
	PersistentVolumeClaimNodeResizeInProgress       ClaimResourceStatus = "NodeResizeInProgress"
	PersistentVolumeClaimNodeResizeInfeasible       ClaimResourceStatus = "NodeResizeInfeasible"
	PersistentVolumeClaimNodeResizePending          ClaimResourceStatus = "NodeResizePending"
)

// ComponentConditionType is what ComponentCondition.Type can be.
type ComponentConditionType string

// The values of ComponentConditionType.
const (
	ComponentHealthy ComponentConditionType = "Healthy"
)

// ConditionStatus is what ComponentCondition.Status, NamespaceCondition.Status and others can be.
type ConditionStatus string

// The values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// ContainerRestartPolicy is what Container.RestartPolicy and EphemeralContainerCommon.RestartPolicy can be.
type ContainerRestartPolicy string

// The values of ContainerRestartPolicy.
const (
	ContainerRestartPolicyAlways    ContainerRestartPolicy = "Always"
	ContainerRestartPolicyNever     ContainerRestartPolicy = "Never"
	ContainerRestartPolicyOnFailure ContainerRestartPolicy = "OnFailure"
)

// ContainerRestartRuleAction is what ContainerRestartRule.Action can be.
type ContainerRestartRuleAction string

// The values of ContainerRestartRuleAction.
const (
	ContainerRestartRuleActionRestart              ContainerRestartRuleAction = "Restart"
	ContainerRestartRuleActionRestartAllContainers ContainerRestartRuleAction = "RestartAllContainers"
)

// ContainerRestartRuleOnExitCodesOperator is what ContainerRestartRuleOnExitCodes.Operator can be.
type ContainerRestartRuleOnExitCodesOperator string

// The values of ContainerRestartRuleOnExitCodesOperator.
const (
	ContainerRestartRuleOnExitCodesOpIn    ContainerRestartRuleOnExitCodesOperator = "In"
	ContainerRestartRuleOnExitCodesOpNotIn ContainerRestartRuleOnExitCodesOperator = "NotIn"
)

// DNSPolicy is what PodSpec.DNSPolicy can be.
type DNSPolicy string

// The values of DNSPolicy.
const (
	DNSClusterFirst            DNSPolicy = "ClusterFirst"
	DNSClusterFirstWithHostNet DNSPolicy = "ClusterFirstWithHostNet"
	DNSDefault                 DNSPolicy = "Default"
	DNSNone                    DNSPolicy = "None"
)

// FinalizerName is what NamespaceSpec.Finalizers can be.
type FinalizerName string

// The values of FinalizerName.
const (
	FinalizerKubernetes FinalizerName = "kubernetes"
)

// HostPathType is what HostPathVolumeSource.Type can be.
type HostPathType string

// The values of HostPathType.
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

// IPFamily is what ServiceSpec.IPFamilies can be.
type IPFamily string

// The values of IPFamily.
const (
	IPFamilyUnknown IPFamily = ""
	IPv4Protocol    IPFamily = "IPv4"
	IPv6Protocol    IPFamily = "IPv6"
)

// IPFamilyPolicy is what ServiceSpec.IPFamilyPolicy can be.
type IPFamilyPolicy string

// The values of IPFamilyPolicy.
const (
	IPFamilyPolicyPreferDualStack  IPFamilyPolicy = "PreferDualStack"
	IPFamilyPolicyRequireDualStack IPFamilyPolicy = "RequireDualStack"
	IPFamilyPolicySingleStack      IPFamilyPolicy = "SingleStack"
)

// LimitType is what LimitRangeItem.Type can be.
type LimitType string

// The values of LimitType.
const (
	LimitTypeContainer             LimitType = "Container"
	LimitTypePersistentVolumeClaim LimitType = "PersistentVolumeClaim"
	LimitTypePod                   LimitType = "Pod"
)

// LoadBalancerIPMode is what LoadBalancerIngress.IPMode can be.
type LoadBalancerIPMode string

// The values of LoadBalancerIPMode.
const (
	LoadBalancerIPModeProxy LoadBalancerIPMode = "Proxy"
	LoadBalancerIPModeVIP   LoadBalancerIPMode = "VIP"
)

// MountPropagationMode is what VolumeMount.MountPropagation can be.
type MountPropagationMode string

// The values of MountPropagationMode.
const (
	MountPropagationBidirectional   MountPropagationMode = "Bidirectional"
	MountPropagationHostToContainer MountPropagationMode = "HostToContainer"
	MountPropagationNone            MountPropagationMode = "None"
)

// NamespaceConditionType is what NamespaceCondition.Type can be.
type NamespaceConditionType string

// The values of NamespaceConditionType.
const (
	NamespaceContentRemaining         NamespaceConditionType = "NamespaceContentRemaining"
	NamespaceDeletionContentFailure   NamespaceConditionType = "NamespaceDeletionContentFailure"
	NamespaceDeletionDiscoveryFailure NamespaceConditionType = "NamespaceDeletionDiscoveryFailure"
	NamespaceDeletionGVParsingFailure NamespaceConditionType = "NamespaceDeletionGroupVersionParsingFailure"
	NamespaceFinalizersRemaining      NamespaceConditionType = "NamespaceFinalizersRemaining"
)

// NamespacePhase is what NamespaceStatus.Phase can be.
type NamespacePhase string

// The values of NamespacePhase.
const (
	NamespaceActive      NamespacePhase = "Active"
	NamespaceTerminating NamespacePhase = "Terminating"
)

// NodeAddressType is what NodeAddress.Type can be.
type NodeAddressType string

// The values of NodeAddressType.
const (
	NodeExternalDNS NodeAddressType = "ExternalDNS"
	NodeExternalIP  NodeAddressType = "ExternalIP"
	NodeHostName    NodeAddressType = "Hostname"
	NodeInternalDNS NodeAddressType = "InternalDNS"
	NodeInternalIP  NodeAddressType = "InternalIP"
)

// NodeConditionType is what NodeCondition.Type can be.
type NodeConditionType string

// The values of NodeConditionType.
const (
	NodeDiskPressure       NodeConditionType = "DiskPressure"
	NodeMemoryPressure     NodeConditionType = "MemoryPressure"
	NodeNetworkUnavailable NodeConditionType = "NetworkUnavailable"
	NodePIDPressure        NodeConditionType = "PIDPressure"
	NodeReady              NodeConditionType = "Ready"
)

// NodeInclusionPolicy is what TopologySpreadConstraint.NodeAffinityPolicy and
// TopologySpreadConstraint.NodeTaintsPolicy can be.
type NodeInclusionPolicy string

// The values of NodeInclusionPolicy.
const (
	NodeInclusionPolicyHonor  NodeInclusionPolicy = "Honor"
	NodeInclusionPolicyIgnore NodeInclusionPolicy = "Ignore"
)

// NodePhase is what NodeStatus.Phase can be.
type NodePhase string

// The values of NodePhase.
const (
	NodePending    NodePhase = "Pending"
	NodeRunning    NodePhase = "Running"
	NodeTerminated NodePhase = "Terminated"
)

// NodeSelectorOperator is what NodeSelectorRequirement.Operator can be.
type NodeSelectorOperator string

// The values of NodeSelectorOperator.
const (
	NodeSelectorOpDoesNotExist NodeSelectorOperator = "DoesNotExist"
	NodeSelectorOpExists       NodeSelectorOperator = "Exists"
	NodeSelectorOpGt           NodeSelectorOperator = "Gt"
	NodeSelectorOpIn           NodeSelectorOperator = "In"
	NodeSelectorOpLt           NodeSelectorOperator = "Lt"
	NodeSelectorOpNotIn        NodeSelectorOperator = "NotIn"
)

// OSName is what PodOS.Name can be.
type OSName string

// The values of OSName.
const (
	Linux   OSName = "linux"
	Windows OSName = "windows"
)

// PersistentVolumeAccessMode is what PersistentVolumeClaimSpec.AccessModes,
// PersistentVolumeClaimStatus.AccessModes and others can be.
type PersistentVolumeAccessMode string

// The values of PersistentVolumeAccessMode.
const (
	ReadOnlyMany     PersistentVolumeAccessMode = "ReadOnlyMany"
	ReadWriteMany    PersistentVolumeAccessMode = "ReadWriteMany"
	ReadWriteOnce    PersistentVolumeAccessMode = "ReadWriteOnce"
	ReadWriteOncePod PersistentVolumeAccessMode = "ReadWriteOncePod"
)

// PersistentVolumeClaimConditionType is what PersistentVolumeClaimCondition.Type can be.
type PersistentVolumeClaimConditionType string

// The values of PersistentVolumeClaimConditionType.
const (
	PersistentVolumeClaimControllerResizeError   PersistentVolumeClaimConditionType = "ControllerResizeError"
	PersistentVolumeClaimFileSystemResizePending PersistentVolumeClaimConditionType = "FileSystemResizePending"
	PersistentVolumeClaimNodeResizeError         PersistentVolumeClaimConditionType = "NodeResizeError"
	PersistentVolumeClaimResizing                PersistentVolumeClaimConditionType = "Resizing"
	PersistentVolumeClaimUnused                  PersistentVolumeClaimConditionType = "Unused"
	PersistentVolumeClaimVolumeModifyVolumeError PersistentVolumeClaimConditionType = "ModifyVolumeError"
	PersistentVolumeClaimVolumeModifyingVolume   PersistentVolumeClaimConditionType = "ModifyingVolume"
)

// PersistentVolumeClaimModifyVolumeStatus is what ModifyVolumeStatus.Status can be.
type PersistentVolumeClaimModifyVolumeStatus string

// The values of PersistentVolumeClaimModifyVolumeStatus.
const (
	PersistentVolumeClaimModifyVolumeInProgress PersistentVolumeClaimModifyVolumeStatus = "InProgress"
	PersistentVolumeClaimModifyVolumeInfeasible PersistentVolumeClaimModifyVolumeStatus = "Infeasible"
	PersistentVolumeClaimModifyVolumePending    PersistentVolumeClaimModifyVolumeStatus = "Pending"
)

// PersistentVolumeClaimPhase is what PersistentVolumeClaimStatus.Phase can be.
type PersistentVolumeClaimPhase string

// The values of PersistentVolumeClaimPhase.
const (
	ClaimBound   PersistentVolumeClaimPhase = "Bound"
	ClaimLost    PersistentVolumeClaimPhase = "Lost"
	ClaimPending PersistentVolumeClaimPhase = "Pending"
)

// PersistentVolumeMode is what PersistentVolumeClaimSpec.VolumeMode and PersistentVolumeSpec.VolumeMode can
// be.
type PersistentVolumeMode string

// The values of PersistentVolumeMode.
const (
	PersistentVolumeBlock      PersistentVolumeMode = "Block"
	PersistentVolumeFilesystem PersistentVolumeMode = "Filesystem"
)

// PersistentVolumePhase is what PersistentVolumeStatus.Phase can be.
type PersistentVolumePhase string

// The values of PersistentVolumePhase.
const (
	VolumeAvailable PersistentVolumePhase = "Available"
	VolumeBound     PersistentVolumePhase = "Bound"
	VolumeFailed    PersistentVolumePhase = "Failed"
	VolumePending   PersistentVolumePhase = "Pending"
	VolumeReleased  PersistentVolumePhase = "Released"
)

// PersistentVolumeReclaimPolicy is what PersistentVolumeSpec.PersistentVolumeReclaimPolicy can be.
type PersistentVolumeReclaimPolicy string

// The values of PersistentVolumeReclaimPolicy.
const (
	PersistentVolumeReclaimDelete  PersistentVolumeReclaimPolicy = "Delete"
	PersistentVolumeReclaimRecycle PersistentVolumeReclaimPolicy = "Recycle"
	PersistentVolumeReclaimRetain  PersistentVolumeReclaimPolicy = "Retain"
)

// PodConditionType is what PodCondition.Type and PodReadinessGate.ConditionType can be.
type PodConditionType string

// The values of PodConditionType.
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

// PodFSGroupChangePolicy is what PodSecurityContext.FSGroupChangePolicy can be.
type PodFSGroupChangePolicy string

// The values of PodFSGroupChangePolicy.
const (
	FSGroupChangeAlways         PodFSGroupChangePolicy = "Always"
	FSGroupChangeOnRootMismatch PodFSGroupChangePolicy = "OnRootMismatch"
)

// PodPhase is what PodStatus.Phase can be.
type PodPhase string

// The values of PodPhase.
const (
	PodFailed    PodPhase = "Failed"
	PodPending   PodPhase = "Pending"
	PodRunning   PodPhase = "Running"
	PodSucceeded PodPhase = "Succeeded"
	PodUnknown   PodPhase = "Unknown"
)

// PodQOSClass is what PodStatus.QOSClass can be.
type PodQOSClass string

// The values of PodQOSClass.
const (
	PodQOSBestEffort PodQOSClass = "BestEffort"
	PodQOSBurstable  PodQOSClass = "Burstable"
	PodQOSGuaranteed PodQOSClass = "Guaranteed"
)

// PodResizeStatus is what PodStatus.Resize can be.
type PodResizeStatus string

// The values of PodResizeStatus.
const (
	PodResizeStatusDeferred   PodResizeStatus = "Deferred"
	PodResizeStatusInProgress PodResizeStatus = "InProgress"
	PodResizeStatusInfeasible PodResizeStatus = "Infeasible"
)

// PodSELinuxChangePolicy is what PodSecurityContext.SELinuxChangePolicy can be.
type PodSELinuxChangePolicy string

// The values of PodSELinuxChangePolicy.
const (
	SELinuxChangePolicyMountOption PodSELinuxChangePolicy = "MountOption"
	SELinuxChangePolicyRecursive   PodSELinuxChangePolicy = "Recursive"
)

// PreemptionPolicy is what PodSpec.PreemptionPolicy can be.
type PreemptionPolicy string

// The values of PreemptionPolicy.
const (
	PreemptLowerPriority PreemptionPolicy = "PreemptLowerPriority"
	PreemptNever         PreemptionPolicy = "Never"
)

// ProcMountType is what SecurityContext.ProcMount can be.
type ProcMountType string

// The values of ProcMountType.
const (
	DefaultProcMount  ProcMountType = "Default"
	UnmaskedProcMount ProcMountType = "Unmasked"
)

// Protocol is what ContainerPort.Protocol, EndpointPort.Protocol and others can be.
type Protocol string

// The values of Protocol.
const (
	ProtocolSCTP Protocol = "SCTP"
	ProtocolTCP  Protocol = "TCP"
	ProtocolUDP  Protocol = "UDP"
)

// PullPolicy is what Container.ImagePullPolicy, EphemeralContainerCommon.ImagePullPolicy and others can be.
type PullPolicy string

// The values of PullPolicy.
const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// RecursiveReadOnlyMode is what VolumeMount.RecursiveReadOnly and VolumeMountStatus.RecursiveReadOnly can be.
type RecursiveReadOnlyMode string

// The values of RecursiveReadOnlyMode.
const (
	RecursiveReadOnlyDisabled   RecursiveReadOnlyMode = "Disabled"
	RecursiveReadOnlyEnabled    RecursiveReadOnlyMode = "Enabled"
	RecursiveReadOnlyIfPossible RecursiveReadOnlyMode = "IfPossible"
)

// ReplicationControllerConditionType is what ReplicationControllerCondition.Type can be.
type ReplicationControllerConditionType string

// The values of ReplicationControllerConditionType.
const (
	ReplicationControllerReplicaFailure ReplicationControllerConditionType = "ReplicaFailure"
)

// ResourceHealthStatus is what ResourceHealth.Health can be.
type ResourceHealthStatus string

// The values of ResourceHealthStatus.
const (
	ResourceHealthStatusHealthy   ResourceHealthStatus = "Healthy"
	ResourceHealthStatusUnhealthy ResourceHealthStatus = "Unhealthy"
	ResourceHealthStatusUnknown   ResourceHealthStatus = "Unknown"
)

// ResourceID is what ResourceHealth.ResourceID can be.
type ResourceID string

// ResourceList is what ContainerStatus.AllocatedResources, LimitRangeItem.Max and others can be.
type ResourceList map[ResourceName]resource.Quantity

// ResourceName is what ContainerResizePolicy.ResourceName, NodeAllocatableResourceClaimStatus.Resources and
// others can be.
type ResourceName string

// The values of ResourceName.
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

// ResourceQuotaScope is what ResourceQuotaSpec.Scopes and ScopedResourceSelectorRequirement.ScopeName can be.
type ResourceQuotaScope string

// The values of ResourceQuotaScope.
const (
	ResourceQuotaScopeBestEffort                ResourceQuotaScope = "BestEffort"
	ResourceQuotaScopeCrossNamespacePodAffinity ResourceQuotaScope = "CrossNamespacePodAffinity"
	ResourceQuotaScopeNotBestEffort             ResourceQuotaScope = "NotBestEffort"
	ResourceQuotaScopeNotTerminating            ResourceQuotaScope = "NotTerminating"
	ResourceQuotaScopePriorityClass             ResourceQuotaScope = "PriorityClass"
	ResourceQuotaScopeTerminating               ResourceQuotaScope = "Terminating"
	ResourceQuotaScopeVolumeAttributesClass     ResourceQuotaScope = "VolumeAttributesClass"
)

// ResourceResizeRestartPolicy is what ContainerResizePolicy.RestartPolicy can be.
type ResourceResizeRestartPolicy string

// The values of ResourceResizeRestartPolicy.
const (
	NotRequired      ResourceResizeRestartPolicy = "NotRequired"
	RestartContainer ResourceResizeRestartPolicy = "RestartContainer"
)

// RestartPolicy is what PodSpec.RestartPolicy can be.
type RestartPolicy string

// The values of RestartPolicy.
const (
	RestartPolicyAlways    RestartPolicy = "Always"
	RestartPolicyNever     RestartPolicy = "Never"
	RestartPolicyOnFailure RestartPolicy = "OnFailure"
)

// ScopeSelectorOperator is what ScopedResourceSelectorRequirement.Operator can be.
type ScopeSelectorOperator string

// The values of ScopeSelectorOperator.
const (
	ScopeSelectorOpDoesNotExist ScopeSelectorOperator = "DoesNotExist"
	ScopeSelectorOpExists       ScopeSelectorOperator = "Exists"
	ScopeSelectorOpIn           ScopeSelectorOperator = "In"
	ScopeSelectorOpNotIn        ScopeSelectorOperator = "NotIn"
)

// SeccompProfileType is what SeccompProfile.Type can be.
type SeccompProfileType string

// The values of SeccompProfileType.
const (
	SeccompProfileTypeLocalhost      SeccompProfileType = "Localhost"
	SeccompProfileTypeRuntimeDefault SeccompProfileType = "RuntimeDefault"
	SeccompProfileTypeUnconfined     SeccompProfileType = "Unconfined"
)

// SecretType is what Secret.Type can be.
type SecretType string

// The values of SecretType.
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

// ServiceAffinity is what ServiceSpec.SessionAffinity can be.
type ServiceAffinity string

// The values of ServiceAffinity.
const (
	ServiceAffinityClientIP ServiceAffinity = "ClientIP"
	ServiceAffinityNone     ServiceAffinity = "None"
)

// ServiceExternalTrafficPolicy is what ServiceSpec.ExternalTrafficPolicy can be.
type ServiceExternalTrafficPolicy string

// The values of ServiceExternalTrafficPolicy.
const (
	ServiceExternalTrafficPolicyCluster     ServiceExternalTrafficPolicy = "Cluster"
	ServiceExternalTrafficPolicyLocal       ServiceExternalTrafficPolicy = "Local"
	ServiceExternalTrafficPolicyTypeCluster ServiceExternalTrafficPolicy = "Cluster"
	ServiceExternalTrafficPolicyTypeLocal   ServiceExternalTrafficPolicy = "Local"
)

// ServiceInternalTrafficPolicy is what ServiceSpec.InternalTrafficPolicy can be.
type ServiceInternalTrafficPolicy string

// The values of ServiceInternalTrafficPolicy.
const (
	ServiceInternalTrafficPolicyCluster ServiceInternalTrafficPolicy = "Cluster"
	ServiceInternalTrafficPolicyLocal   ServiceInternalTrafficPolicy = "Local"
)

// ServiceType is what ServiceSpec.Type can be.
type ServiceType string

// The values of ServiceType.
const (
	ServiceTypeClusterIP    ServiceType = "ClusterIP"
	ServiceTypeExternalName ServiceType = "ExternalName"
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
	ServiceTypeNodePort     ServiceType = "NodePort"
)

// Signal is what ContainerStatus.StopSignal and Lifecycle.StopSignal can be.
type Signal string

// The values of Signal.
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

// StorageMedium is what EmptyDirVolumeSource.Medium can be.
type StorageMedium string

// The values of StorageMedium.
const (
	StorageMediumDefault         StorageMedium = ""
	StorageMediumHugePages       StorageMedium = "HugePages"
	StorageMediumHugePagesPrefix StorageMedium = "HugePages-"
	StorageMediumMemory          StorageMedium = "Memory"
)

// SupplementalGroupsPolicy is what PodSecurityContext.SupplementalGroupsPolicy can be.
type SupplementalGroupsPolicy string

// The values of SupplementalGroupsPolicy.
const (
	SupplementalGroupsPolicyMerge  SupplementalGroupsPolicy = "Merge"
	SupplementalGroupsPolicyStrict SupplementalGroupsPolicy = "Strict"
)

// TaintEffect is what Taint.Effect and Toleration.Effect can be.
type TaintEffect string

// The values of TaintEffect.
const (
	TaintEffectNoExecute        TaintEffect = "NoExecute"
	TaintEffectNoSchedule       TaintEffect = "NoSchedule"
	TaintEffectPreferNoSchedule TaintEffect = "PreferNoSchedule"
)

// TerminationMessagePolicy is what Container.TerminationMessagePolicy and
// EphemeralContainerCommon.TerminationMessagePolicy can be.
type TerminationMessagePolicy string

// The values of TerminationMessagePolicy.
const (
	TerminationMessageFallbackToLogsOnError TerminationMessagePolicy = "FallbackToLogsOnError"
	TerminationMessageReadFile              TerminationMessagePolicy = "File"
)

// TolerationOperator is what Toleration.Operator can be.
type TolerationOperator string

// The values of TolerationOperator.
const (
	TolerationOpEqual  TolerationOperator = "Equal"
	TolerationOpExists TolerationOperator = "Exists"
	TolerationOpGt     TolerationOperator = "Gt"
	TolerationOpLt     TolerationOperator = "Lt"
)

// URIScheme is what HTTPGetAction.Scheme can be.
type URIScheme string

// The values of URIScheme.
const (
	URISchemeHTTP  URIScheme = "HTTP"
	URISchemeHTTPS URIScheme = "HTTPS"
)

// UniqueVolumeName is what AttachedVolume.Name and NodeStatus.VolumesInUse can be.
type UniqueVolumeName string

// UnsatisfiableConstraintAction is what TopologySpreadConstraint.WhenUnsatisfiable can be.
type UnsatisfiableConstraintAction string

// The values of UnsatisfiableConstraintAction.
const (
	DoNotSchedule  UnsatisfiableConstraintAction = "DoNotSchedule"
	ScheduleAnyway UnsatisfiableConstraintAction = "ScheduleAnyway"
)

// Well-known names and values of this group.
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
