// Package corev1 holds the core kinds: pods, services, nodes, volumes, configuration and events (v1).
package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

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

// LocalObjectReference references an object in the same namespace.
type LocalObjectReference struct {
	// Name of the object.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
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

// RangeAllocation records the allocated numbers of a range, for IP addresses and ports.
type RangeAllocation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Range of the numbers, such as 10.0.0.0/24 or 30000-32767.
	Range string `json:"range" protobuf:"bytes,2,opt,name=range" openapi:"required"`
	// Bitmap of the allocated numbers, relative to the start of the range.
	Data []byte `json:"data" protobuf:"bytes,3,opt,name=data" openapi:"required"`
}

// SecretReference references a secret in any namespace.
type SecretReference struct {
	// Name of the secret.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Namespace of the secret.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
}

// SerializedReference is a reference to an object in the form used in annotations.
type SerializedReference struct {
	metav1.TypeMeta `json:",inline"`
	// Reference to the object.
	Reference ObjectReference `json:"reference,omitempty" protobuf:"bytes,1,opt,name=reference"`
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

// ComponentStatusList is a list of ComponentStatus objects.
type ComponentStatusList = metav1.List[*ComponentStatus]

// NamespaceList is a list of Namespace objects.
type NamespaceList = metav1.List[*Namespace]

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

// FinalizerName enumerates the values of NamespaceSpec.Finalizers.
type FinalizerName string

const (
	FinalizerKubernetes FinalizerName = "kubernetes"
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
