// Package kubeletconfig reads the configuration files of the kubelet: a KubeletConfiguration of
// kubelet.config.k8s.io/v1beta1 and a directory of files that change parts of it.
//
//	c, err := kubeletconfig.Load("/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet.conf.d")
//	opts, err := c.Options()
//
// All fields of Kubernetes 1.36 are known. Unknown and duplicate fields are errors, and so is a field that
// demands something that this kubelet does not do: Check says which and why. Fields that demand what is so in
// any case, such as hairpinMode, which the network plugin decides, are accepted without effect.
package kubeletconfig

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// The group, version and kind of the files.
const (
	APIVersion = "kubelet.config.k8s.io/v1beta1"
	Kind       = "KubeletConfiguration"
)

// Configuration is a KubeletConfiguration. The names of the fields are upstream's, which documents them.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	EnableServer       *bool               `json:"enableServer,omitempty"`
	StaticPodPath      string              `json:"staticPodPath,omitempty"`
	PodLogsDir         string              `json:"podLogsDir,omitempty"`
	SyncFrequency      metav1.Duration     `json:"syncFrequency,omitempty"`
	FileCheckFrequency metav1.Duration     `json:"fileCheckFrequency,omitempty"`
	HTTPCheckFrequency metav1.Duration     `json:"httpCheckFrequency,omitempty"`
	StaticPodURL       string              `json:"staticPodURL,omitempty"`
	StaticPodURLHeader map[string][]string `json:"staticPodURLHeader,omitempty"`

	Address             string         `json:"address,omitempty"`
	Port                int32          `json:"port,omitempty"`
	ReadOnlyPort        int32          `json:"readOnlyPort,omitempty"`
	TLSCertFile         string         `json:"tlsCertFile,omitempty"`
	TLSPrivateKeyFile   string         `json:"tlsPrivateKeyFile,omitempty"`
	TLSCipherSuites     []string       `json:"tlsCipherSuites,omitempty"`
	TLSCurvePreferences []int32        `json:"tlsCurvePreferences,omitempty"`
	TLSMinVersion       string         `json:"tlsMinVersion,omitempty"`
	RotateCertificates  bool           `json:"rotateCertificates,omitempty"`
	ServerTLSBootstrap  bool           `json:"serverTLSBootstrap,omitempty"`
	Authentication      Authentication `json:"authentication,omitempty"`
	Authorization       Authorization  `json:"authorization,omitempty"`

	RegistryPullQPS                        *int32   `json:"registryPullQPS,omitempty"`
	RegistryBurst                          int32    `json:"registryBurst,omitempty"`
	ImagePullCredentialsVerificationPolicy string   `json:"imagePullCredentialsVerificationPolicy,omitempty"`
	PreloadedImagesVerificationAllowlist   []string `json:"preloadedImagesVerificationAllowlist,omitempty"`
	EventRecordQPS                         *int32   `json:"eventRecordQPS,omitempty"`
	EventBurst                             int32    `json:"eventBurst,omitempty"`

	EnableDebuggingHandlers   *bool  `json:"enableDebuggingHandlers,omitempty"`
	EnableContentionProfiling bool   `json:"enableContentionProfiling,omitempty"`
	HealthzPort               *int32 `json:"healthzPort,omitempty"`
	HealthzBindAddress        string `json:"healthzBindAddress,omitempty"`
	OOMScoreAdj               *int32 `json:"oomScoreAdj,omitempty"`

	ClusterDomain                  string          `json:"clusterDomain,omitempty"`
	ClusterDNS                     []string        `json:"clusterDNS,omitempty"`
	StreamingConnectionIdleTimeout metav1.Duration `json:"streamingConnectionIdleTimeout,omitempty"`
	NodeStatusUpdateFrequency      metav1.Duration `json:"nodeStatusUpdateFrequency,omitempty"`
	NodeStatusReportFrequency      metav1.Duration `json:"nodeStatusReportFrequency,omitempty"`
	NodeLeaseDurationSeconds       int32           `json:"nodeLeaseDurationSeconds,omitempty"`

	ImageMinimumGCAge           metav1.Duration `json:"imageMinimumGCAge,omitempty"`
	ImageMaximumGCAge           metav1.Duration `json:"imageMaximumGCAge,omitempty"`
	ImageGCHighThresholdPercent *int32          `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThresholdPercent  *int32          `json:"imageGCLowThresholdPercent,omitempty"`
	VolumeStatsAggPeriod        metav1.Duration `json:"volumeStatsAggPeriod,omitempty"`

	KubeletCgroups               string            `json:"kubeletCgroups,omitempty"`
	SystemCgroups                string            `json:"systemCgroups,omitempty"`
	CgroupRoot                   string            `json:"cgroupRoot,omitempty"`
	CgroupsPerQOS                *bool             `json:"cgroupsPerQOS,omitempty"`
	CgroupDriver                 string            `json:"cgroupDriver,omitempty"`
	CPUManagerPolicy             string            `json:"cpuManagerPolicy,omitempty"`
	SingleProcessOOMKill         *bool             `json:"singleProcessOOMKill,omitempty"`
	CPUManagerPolicyOptions      map[string]string `json:"cpuManagerPolicyOptions,omitempty"`
	CPUManagerReconcilePeriod    metav1.Duration   `json:"cpuManagerReconcilePeriod,omitempty"`
	MemoryManagerPolicy          string            `json:"memoryManagerPolicy,omitempty"`
	TopologyManagerPolicy        string            `json:"topologyManagerPolicy,omitempty"`
	TopologyManagerScope         string            `json:"topologyManagerScope,omitempty"`
	TopologyManagerPolicyOptions map[string]string `json:"topologyManagerPolicyOptions,omitempty"`
	QOSReserved                  map[string]string `json:"qosReserved,omitempty"`

	RuntimeRequestTimeout metav1.Duration  `json:"runtimeRequestTimeout,omitempty"`
	HairpinMode           string           `json:"hairpinMode,omitempty"`
	MaxPods               int32            `json:"maxPods,omitempty"`
	PodCIDR               string           `json:"podCIDR,omitempty"`
	PodPidsLimit          *int64           `json:"podPidsLimit,omitempty"`
	ResolverConfig        *string          `json:"resolvConf,omitempty"`
	RunOnce               bool             `json:"runOnce,omitempty"`
	CPUCFSQuota           *bool            `json:"cpuCFSQuota,omitempty"`
	CPUCFSQuotaPeriod     *metav1.Duration `json:"cpuCFSQuotaPeriod,omitempty"`
	NodeStatusMaxImages   *int32           `json:"nodeStatusMaxImages,omitempty"`
	MaxOpenFiles          int64            `json:"maxOpenFiles,omitempty"`
	ContentType           string           `json:"contentType,omitempty"`
	KubeAPIQPS            *int32           `json:"kubeAPIQPS,omitempty"`
	KubeAPIBurst          int32            `json:"kubeAPIBurst,omitempty"`
	SerializeImagePulls   *bool            `json:"serializeImagePulls,omitempty"`
	MaxParallelImagePulls *int32           `json:"maxParallelImagePulls,omitempty"`

	EvictionHard                     map[string]string `json:"evictionHard,omitempty"`
	EvictionSoft                     map[string]string `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod          map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	EvictionPressureTransitionPeriod metav1.Duration   `json:"evictionPressureTransitionPeriod,omitempty"`
	EvictionMaxPodGracePeriod        int32             `json:"evictionMaxPodGracePeriod,omitempty"`
	EvictionMinimumReclaim           map[string]string `json:"evictionMinimumReclaim,omitempty"`
	MergeDefaultEvictionSettings     *bool             `json:"mergeDefaultEvictionSettings,omitempty"`

	PodsPerCore                  int32           `json:"podsPerCore,omitempty"`
	EnableControllerAttachDetach *bool           `json:"enableControllerAttachDetach,omitempty"`
	ProtectKernelDefaults        bool            `json:"protectKernelDefaults,omitempty"`
	MakeIPTablesUtilChains       *bool           `json:"makeIPTablesUtilChains,omitempty"`
	IPTablesMasqueradeBit        *int32          `json:"iptablesMasqueradeBit,omitempty"`
	IPTablesDropBit              *int32          `json:"iptablesDropBit,omitempty"`
	FeatureGates                 map[string]bool `json:"featureGates,omitempty"`
	FailSwapOn                   *bool           `json:"failSwapOn,omitempty"`
	MemorySwap                   MemorySwap      `json:"memorySwap,omitempty"`

	ContainerLogMaxSize         string           `json:"containerLogMaxSize,omitempty"`
	ContainerLogMaxFiles        *int32           `json:"containerLogMaxFiles,omitempty"`
	ContainerLogMaxWorkers      *int32           `json:"containerLogMaxWorkers,omitempty"`
	ContainerLogMonitorInterval *metav1.Duration `json:"containerLogMonitorInterval,omitempty"`

	ConfigMapAndSecretChangeDetectionStrategy string `json:"configMapAndSecretChangeDetectionStrategy,omitempty"`

	SystemReserved              map[string]string `json:"systemReserved,omitempty"`
	KubeReserved                map[string]string `json:"kubeReserved,omitempty"`
	ReservedSystemCPUs          string            `json:"reservedSystemCPUs,omitempty"`
	ShowHiddenMetricsForVersion string            `json:"showHiddenMetricsForVersion,omitempty"`
	SystemReservedCgroup        string            `json:"systemReservedCgroup,omitempty"`
	KubeReservedCgroup          string            `json:"kubeReservedCgroup,omitempty"`
	EnforceNodeAllocatable      []string          `json:"enforceNodeAllocatable,omitempty"`
	AllowedUnsafeSysctls        []string          `json:"allowedUnsafeSysctls,omitempty"`
	VolumePluginDir             string            `json:"volumePluginDir,omitempty"`
	ProviderID                  string            `json:"providerID,omitempty"`
	KernelMemcgNotification     bool              `json:"kernelMemcgNotification,omitempty"`
	Logging                     Logging           `json:"logging,omitempty"`
	EnableSystemLogHandler      *bool             `json:"enableSystemLogHandler,omitempty"`
	EnableSystemLogQuery        *bool             `json:"enableSystemLogQuery,omitempty"`

	ShutdownGracePeriod              metav1.Duration       `json:"shutdownGracePeriod,omitempty"`
	ShutdownGracePeriodCriticalPods  metav1.Duration       `json:"shutdownGracePeriodCriticalPods,omitempty"`
	ShutdownGracePeriodByPodPriority []PriorityGracePeriod `json:"shutdownGracePeriodByPodPriority,omitempty"`
	CrashLoopBackOff                 CrashLoopBackOff      `json:"crashLoopBackOff,omitempty"`
	ReservedMemory                   []MemoryReservation   `json:"reservedMemory,omitempty"`
	EnableProfilingHandler           *bool                 `json:"enableProfilingHandler,omitempty"`
	EnableDebugFlagsHandler          *bool                 `json:"enableDebugFlagsHandler,omitempty"`
	SeccompDefault                   *bool                 `json:"seccompDefault,omitempty"`
	MemoryThrottlingFactor           *float64              `json:"memoryThrottlingFactor,omitempty"`
	MemoryReservationPolicy          string                `json:"memoryReservationPolicy,omitempty"`
	RegisterWithTaints               []corev1.Taint        `json:"registerWithTaints,omitempty"`
	RegisterNode                     *bool                 `json:"registerNode,omitempty"`
	Tracing                          *Tracing              `json:"tracing,omitempty"`
	LocalStorageCapacityIsolation    *bool                 `json:"localStorageCapacityIsolation,omitempty"`
	ContainerRuntimeEndpoint         string                `json:"containerRuntimeEndpoint,omitempty"`
	ImageServiceEndpoint             string                `json:"imageServiceEndpoint,omitempty"`
	FailCgroupV1                     *bool                 `json:"failCgroupV1,omitempty"`
	UserNamespaces                   *UserNamespaces       `json:"userNamespaces,omitempty"`
}

// Authentication says who may connect to the kubelet API.
type Authentication struct {
	X509 struct {
		ClientCAFile string `json:"clientCAFile,omitempty"`
	} `json:"x509,omitempty"`
	Webhook struct {
		Enabled  *bool           `json:"enabled,omitempty"`
		CacheTTL metav1.Duration `json:"cacheTTL,omitempty"`
	} `json:"webhook,omitempty"`
	Anonymous struct {
		Enabled *bool `json:"enabled,omitempty"`
	} `json:"anonymous,omitempty"`
}

// Authorization says what those who are authenticated may do.
type Authorization struct {
	Mode    string `json:"mode,omitempty"`
	Webhook struct {
		CacheAuthorizedTTL   metav1.Duration `json:"cacheAuthorizedTTL,omitempty"`
		CacheUnauthorizedTTL metav1.Duration `json:"cacheUnauthorizedTTL,omitempty"`
	} `json:"webhook,omitempty"`
}

// The values of Authorization.Mode.
const (
	ModeWebhook     = "Webhook"
	ModeAlwaysAllow = "AlwaysAllow"
)

// MemorySwap says how pods may use swap.
type MemorySwap struct {
	SwapBehavior string `json:"swapBehavior,omitempty"`
}

// CrashLoopBackOff bounds the delay between restarts.
type CrashLoopBackOff struct {
	MaxContainerRestartPeriod *metav1.Duration `json:"maxContainerRestartPeriod,omitempty"`
}

// PriorityGracePeriod is how long pods of a priority get to end when the node is shut down.
type PriorityGracePeriod struct {
	Priority                   int32 `json:"priority"`
	ShutdownGracePeriodSeconds int64 `json:"shutdownGracePeriodSeconds"`
}

// MemoryReservation is memory of a NUMA node that pods may not use.
type MemoryReservation struct {
	NumaNode int32               `json:"numaNode"`
	Limits   corev1.ResourceList `json:"limits"`
}

// UserNamespaces configures the user namespaces of pods.
type UserNamespaces struct {
	IDsPerPod *int64 `json:"idsPerPod,omitempty"`
}

// Tracing configures the export of traces.
type Tracing struct {
	Endpoint               *string `json:"endpoint,omitempty"`
	SamplingRatePerMillion *int32  `json:"samplingRatePerMillion,omitempty"`
}

// Logging configures the kubelet's own log.
type Logging struct {
	Format string `json:"format,omitempty"`
	// FlushFrequency is a duration, or a number of nanoseconds.
	FlushFrequency any    `json:"flushFrequency,omitempty"`
	Verbosity      int32  `json:"verbosity,omitempty"`
	VModule        []any  `json:"vmodule,omitempty"`
	Options        LogOpt `json:"options,omitempty"`
}

// LogOpt are options of the formats of the log.
type LogOpt struct {
	Text LogBuffer `json:"text,omitempty"`
	JSON LogBuffer `json:"json,omitempty"`
}

// LogBuffer says where messages go and how much of them is buffered.
type LogBuffer struct {
	SplitStream    bool   `json:"splitStream,omitempty"`
	InfoBufferSize string `json:"infoBufferSize,omitempty"`
}
