package corev1

// AppArmorProfile describes the AppArmor profile of a pod or container.
type AppArmorProfile struct {
	// Kind of profile: RuntimeDefault, Unconfined, or Localhost for a profile loaded on the node.
	Type AppArmorProfileType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required,enum=Localhost|RuntimeDefault|Unconfined"`
	// Name of the profile loaded on the node; required if type is Localhost, otherwise unset.
	LocalhostProfile *string `json:"localhostProfile,omitempty" protobuf:"bytes,2,opt,name=localhostProfile"`
}

// Capabilities lists Linux capabilities to add to or remove from the default set of the runtime.
type Capabilities struct {
	// Capabilities to add.
	Add []Capability `json:"add,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=add"`
	// Capabilities to remove; ALL removes all.
	Drop []Capability `json:"drop,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=drop"`
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

// SeccompProfile describes the seccomp profile of a pod or container.
type SeccompProfile struct {
	// Kind of profile: RuntimeDefault, Unconfined, or Localhost for a file on the node.
	Type SeccompProfileType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required,enum=Localhost|RuntimeDefault|Unconfined"`
	// Path of the profile relative to the seccomp directory of the kubelet; required if type is Localhost,
	// otherwise unset.
	LocalhostProfile *string `json:"localhostProfile,omitempty" protobuf:"bytes,2,opt,name=localhostProfile"`
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

// Sysctl is a kernel parameter to set.
type Sysctl struct {
	// Name of the parameter, such as net.core.somaxconn.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Value of the parameter.
	Value string `json:"value" protobuf:"bytes,2,opt,name=value" openapi:"required"`
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

// AppArmorProfileType enumerates the values of AppArmorProfile.Type.
type AppArmorProfileType string

const (
	AppArmorProfileTypeLocalhost      AppArmorProfileType = "Localhost"
	AppArmorProfileTypeRuntimeDefault AppArmorProfileType = "RuntimeDefault"
	AppArmorProfileTypeUnconfined     AppArmorProfileType = "Unconfined"
)

// Capability is the type of Capabilities.Add and Capabilities.Drop.
type Capability string

// PodFSGroupChangePolicy enumerates the values of PodSecurityContext.FSGroupChangePolicy.
type PodFSGroupChangePolicy string

const (
	FSGroupChangeAlways         PodFSGroupChangePolicy = "Always"
	FSGroupChangeOnRootMismatch PodFSGroupChangePolicy = "OnRootMismatch"
)

// PodSELinuxChangePolicy enumerates the values of PodSecurityContext.SELinuxChangePolicy.
type PodSELinuxChangePolicy string

const (
	SELinuxChangePolicyMountOption PodSELinuxChangePolicy = "MountOption"
	SELinuxChangePolicyRecursive   PodSELinuxChangePolicy = "Recursive"
)

// ProcMountType enumerates the values of SecurityContext.ProcMount.
type ProcMountType string

const (
	DefaultProcMount  ProcMountType = "Default"
	UnmaskedProcMount ProcMountType = "Unmasked"
)

// SeccompProfileType enumerates the values of SeccompProfile.Type.
type SeccompProfileType string

const (
	SeccompProfileTypeLocalhost      SeccompProfileType = "Localhost"
	SeccompProfileTypeRuntimeDefault SeccompProfileType = "RuntimeDefault"
	SeccompProfileTypeUnconfined     SeccompProfileType = "Unconfined"
)

// SupplementalGroupsPolicy enumerates the values of PodSecurityContext.SupplementalGroupsPolicy.
type SupplementalGroupsPolicy string

const (
	SupplementalGroupsPolicyMerge  SupplementalGroupsPolicy = "Merge"
	SupplementalGroupsPolicyStrict SupplementalGroupsPolicy = "Strict"
)
