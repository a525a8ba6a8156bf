package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

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

// ContainerImage describes a container image on a node.
type ContainerImage struct {
	// Names by which the image is known.
	Names []string `json:"names" listType:"atomic" protobuf:"bytes,1,rep,name=names"`
	// Size of the image in bytes.
	SizeBytes int64 `json:"sizeBytes,omitempty" protobuf:"varint,2,opt,name=sizeBytes"`
}

// DaemonEndpoint is the port of a daemon on a node.
type DaemonEndpoint struct {
	// Port number on the addresses of the node.
	Port int32 `json:"Port" protobuf:"varint,1,opt,name=Port" openapi:"required"`
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

// NodeList is a list of Node objects.
type NodeList = metav1.List[*Node]

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

// NodePhase enumerates the values of NodeStatus.Phase.
type NodePhase string

const (
	NodePending    NodePhase = "Pending"
	NodeRunning    NodePhase = "Running"
	NodeTerminated NodePhase = "Terminated"
)

// UniqueVolumeName is the type of AttachedVolume.Name and NodeStatus.VolumesInUse.
type UniqueVolumeName string
