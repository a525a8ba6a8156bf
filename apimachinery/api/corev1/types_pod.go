package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Binding assigns a pod to a node. Pods are bound by creating it through their binding subresource.
type Binding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Node to assign the pod to.
	Target ObjectReference `json:"target" protobuf:"bytes,2,opt,name=target" openapi:"required"`
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
	// IP addresses of name servers, used after those of the policy; at most 3 in total.
	Nameservers []string `json:"nameservers,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=nameservers"`
	// Search domains, used after those of the policy.
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
	// Group of pods that the pod is scheduled with. Cannot be changed.
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

// PodList is a list of Pod objects.
type PodList = metav1.List[*Pod]

// PodTemplateList is a list of PodTemplate objects.
type PodTemplateList = metav1.List[*PodTemplate]

// DNSPolicy enumerates the values of PodSpec.DNSPolicy.
type DNSPolicy string

const (
	DNSClusterFirst            DNSPolicy = "ClusterFirst"
	DNSClusterFirstWithHostNet DNSPolicy = "ClusterFirstWithHostNet"
	DNSDefault                 DNSPolicy = "Default"
	DNSNone                    DNSPolicy = "None"
)

// OSName enumerates the values of PodOS.Name.
type OSName string

const (
	Linux   OSName = "linux"
	Windows OSName = "windows"
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

// PreemptionPolicy enumerates the values of PodSpec.PreemptionPolicy.
type PreemptionPolicy string

const (
	PreemptLowerPriority PreemptionPolicy = "PreemptLowerPriority"
	PreemptNever         PreemptionPolicy = "Never"
)
