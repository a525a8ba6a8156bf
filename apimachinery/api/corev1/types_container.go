package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

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
	// Rules, by exit code, that override restartPolicy, which must be set; the first that matches applies. At
	// most 20.
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
	// Action taken if the rule matches; the only value is Restart.
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
	// Details of a container that is waiting to be started or restarted.
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

// ContainerStateWaiting describes a container that is waiting to be started or restarted.
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
	// Value of the variable. References $(VAR) to earlier variables and those of services are expanded;
	// $$(VAR) escapes one.
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
	// Not allowed for ephemeral containers.
	Ports []ContainerPort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"containerPort" listType:"map" listMapKey:"containerPort,protocol" protobuf:"bytes,6,rep,name=ports"`
	// Sources whose entries all become environment variables; if a key is in several, the last one takes
	// precedence.
	EnvFrom []EnvFromSource `json:"envFrom,omitempty" listType:"atomic" protobuf:"bytes,19,rep,name=envFrom"`
	// Environment variables; they take precedence over those of envFrom.
	Env []EnvVar `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,7,rep,name=env"`
	// Not allowed for ephemeral containers, which use the spare resources of the pod.
	Resources ResourceRequirements `json:"resources,omitempty" protobuf:"bytes,8,opt,name=resources"`
	// Not allowed for ephemeral containers.
	ResizePolicy []ContainerResizePolicy `json:"resizePolicy,omitempty" listType:"atomic" protobuf:"bytes,23,rep,name=resizePolicy"`
	// Not allowed for ephemeral containers.
	RestartPolicy *ContainerRestartPolicy `json:"restartPolicy,omitempty" protobuf:"bytes,24,opt,name=restartPolicy"`
	// Not allowed for ephemeral containers.
	RestartPolicyRules []ContainerRestartRule `json:"restartPolicyRules,omitempty" listType:"atomic" protobuf:"bytes,25,rep,name=restartPolicyRules"`
	// Volumes to mount into the file system of the container, without subPath and subPathExpr.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath" listType:"map" listMapKey:"mountPath" protobuf:"bytes,9,rep,name=volumeMounts"`
	// Block volumes to provide as devices in the container.
	VolumeDevices []VolumeDevice `json:"volumeDevices,omitempty" patchStrategy:"merge" patchMergeKey:"devicePath" listType:"map" listMapKey:"devicePath" protobuf:"bytes,21,rep,name=volumeDevices"`
	// Not allowed for ephemeral containers.
	LivenessProbe *Probe `json:"livenessProbe,omitempty" protobuf:"bytes,10,opt,name=livenessProbe"`
	// Not allowed for ephemeral containers.
	ReadinessProbe *Probe `json:"readinessProbe,omitempty" protobuf:"bytes,11,opt,name=readinessProbe"`
	// Not allowed for ephemeral containers.
	StartupProbe *Probe `json:"startupProbe,omitempty" protobuf:"bytes,22,opt,name=startupProbe"`
	// Not allowed for ephemeral containers.
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

// ExecAction runs a command in a container.
type ExecAction struct {
	// Command and arguments, not run in a shell; the working directory is the root of the container's file
	// system.
	Command []string `json:"command,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=command"`
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

// GRPCAction queries a gRPC health service.
type GRPCAction struct {
	// Port number.
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port" openapi:"required"`
	// Service name of the health check request; empty for the server as a whole.
	Service *string `json:"service" protobuf:"bytes,2,opt,name=service"`
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

// ImageVolumeStatus is the status of an image volume.
type ImageVolumeStatus struct {
	// Digest of the image that is mounted.
	ImageRef string `json:"imageRef,omitempty" protobuf:"bytes,1,opt,name=imageRef" openapi:"required"`
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

// LinuxContainerUser is the identity of the first process of a container on Linux.
type LinuxContainerUser struct {
	// User ID of the process when it was started.
	UID int64 `json:"uid" protobuf:"varint,1,opt,name=" openapi:"required"`
	// Primary group ID of the process when it was started.
	GID int64 `json:"gid" protobuf:"varint,2,opt,name=" openapi:"required"`
	// Supplemental group IDs of the process when it was started.
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty" listType:"atomic" protobuf:"varint,3,rep,name=supplementalGroups"`
}

// ObjectFieldSelector selects a field of the pod.
type ObjectFieldSelector struct {
	// API version that fieldPath refers to; defaults to v1.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,1,opt,name=apiVersion"`
	// Path of the field, such as metadata.name or metadata.labels['app'].
	FieldPath string `json:"fieldPath" protobuf:"bytes,2,opt,name=fieldPath" openapi:"required"`
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

// SleepAction waits for a number of seconds.
type SleepAction struct {
	// Number of seconds to wait; must not exceed the grace period of the pod.
	Seconds int64 `json:"seconds" protobuf:"varint,1,opt,name=seconds" openapi:"required"`
}

// TCPSocketAction opens a TCP connection.
type TCPSocketAction struct {
	// Number or name of the port of the container.
	Port intstr.IntOrString `json:"port" protobuf:"bytes,1,opt,name=port" openapi:"required"`
	// Host to connect to; the pod's IP address if unset.
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
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

// VolumeStatus is the status of a mounted volume.
type VolumeStatus struct {
	// Status of an image volume.
	Image *ImageVolumeStatus `json:"image,omitempty" protobuf:"bytes,1,opt,name=image"`
}

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

// MountPropagationMode enumerates the values of VolumeMount.MountPropagation.
type MountPropagationMode string

const (
	MountPropagationBidirectional   MountPropagationMode = "Bidirectional"
	MountPropagationHostToContainer MountPropagationMode = "HostToContainer"
	MountPropagationNone            MountPropagationMode = "None"
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

// ResourceHealthStatus enumerates the values of ResourceHealth.Health.
type ResourceHealthStatus string

const (
	ResourceHealthStatusHealthy   ResourceHealthStatus = "Healthy"
	ResourceHealthStatusUnhealthy ResourceHealthStatus = "Unhealthy"
	ResourceHealthStatusUnknown   ResourceHealthStatus = "Unknown"
)

// ResourceID is the type of ResourceHealth.ResourceID.
type ResourceID string

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

// TerminationMessagePolicy enumerates the values of Container.TerminationMessagePolicy and
// EphemeralContainerCommon.TerminationMessagePolicy.
type TerminationMessagePolicy string

const (
	TerminationMessageFallbackToLogsOnError TerminationMessagePolicy = "FallbackToLogsOnError"
	TerminationMessageReadFile              TerminationMessagePolicy = "File"
)

// URIScheme enumerates the values of HTTPGetAction.Scheme.
type URIScheme string

const (
	URISchemeHTTP  URIScheme = "HTTP"
	URISchemeHTTPS URIScheme = "HTTPS"
)
