package kubeletconfig

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
)

// The features that can be switched, besides AuthorizeNodeWithSelectors, which gateCertificates needs.
const (
	// gateEvents follows the runtime's events.
	gateEvents featuregate.Feature = "EventedPLEG"
	// gatePeriod allows other periods of CPU quotas than the kernel's.
	gatePeriod featuregate.Feature = "CustomCPUCFSQuotaPeriod"
	// gateDigests shows the ids of images that are volumes.
	gateDigests featuregate.Feature = "ImageVolumeWithDigest"
	// gateMemory lets the kernel protect memory that pods request, and slow them down near their limits.
	gateMemory featuregate.Feature = "MemoryQoS"
	// gateLabels mounts volumes that several pods may have with the SELinux label of those.
	gateLabels featuregate.Feature = "SELinuxMount"
	// gateBundles makes projected volumes with trust bundles, gateCertificates those with certificates for
	// the pod. gateBundles needs ClusterTrustBundle, that of the kind.
	gateBundles      featuregate.Feature = "ClusterTrustBundleProjection"
	gateCertificates featuregate.Feature = "PodCertificateRequest"
	// gateCPUAlpha and gateCPUBeta allow the options of cpuManagerPolicy that are alpha, and beta.
	gateCPUAlpha featuregate.Feature = "CPUManagerPolicyAlphaOptions"
	gateCPUBeta  featuregate.Feature = "CPUManagerPolicyBetaOptions"
	// gateShutdown delays the machine's shutdown, gatePriorities by the priorities of pods.
	gateShutdown   featuregate.Feature = "GracefulNodeShutdown"
	gatePriorities featuregate.Feature = "GracefulNodeShutdownBasedOnPodPriority"
)

const (
	always    = "this kubelet always does this"
	never     = "this kubelet does not have this"
	ownClient = "it is of client-go: this program's client and copies are others"
	ownLogs   = "there is one form of logs"
	ownServer = "it is of the HTTP server of Kubernetes, and this program has another"
)

// fixedFeatures are those that Kubernetes' kubelet reads and that have one value here. It reads none of the
// features that are neither here nor above: they concern other components, and any setting of them is
// accepted, as by it.
var fixedFeatures = map[featuregate.Feature]kubefeatures.Fixed{
	"ComponentFlagz":                                   {On: true, Why: "/flagz is always served"},
	"ComponentStatusz":                                 {On: true, Why: "/statusz is always served"},
	"ContainerCheckpoint":                              {On: true, Why: always},
	"ContainerRestartRules":                            {On: true, Why: always},
	"ContainerStopSignals":                             {On: true, Why: "stop signals count wherever the API server has them"},
	"DRAExtendedResource":                              {On: true, Why: always},
	"DisableCPUQuotaWithExclusiveCPUs":                 {On: true, Why: always},
	"EnvFiles":                                         {On: true, Why: always},
	"ExtendWebSocketsToKubelet":                        {On: true, Why: always},
	"HostnameOverride":                                 {On: true, Why: always},
	"InPlacePodLevelResourcesVerticalScaling":          {On: true, Why: always},
	"InPlacePodVerticalScalingInitContainers":          {On: true, Why: always},
	"KubeletCrashLoopBackOffMax":                       {On: true, Why: always},
	"KubeletEnsureSecretPulledImages":                  {On: true, Why: always},
	"KubeletPodResourcesListUseActivePods":             {On: true, Why: always},
	"KubeletSeparateDiskGC":                            {On: true, Why: always},
	"KubeletServiceAccountTokenForCredentialProviders": {On: true, Why: always},
	"NodeDeclaredFeatures":                             {On: true, Why: always},
	"PLEGOnDemandRelist":                               {On: true, Why: "pods are looked at whenever that is needed"},
	"PodLevelResources":                                {On: true, Why: always},
	"PodLogsQuerySplitStreams":                         {On: true, Why: always},
	"PodReadyToStartContainersCondition":               {On: true, Why: always},
	"PreventStaticPodAPIReferences":                    {On: true, Why: always},
	"ReloadKubeletClientCAFile":                        {On: true, Why: always},
	"ReloadKubeletServerCertificateFile":               {On: true, Why: always},
	"ResourceHealthStatus":                             {On: true, Why: always},
	"ResourceHealthStatusMessage":                      {On: true, Why: always},
	"RestartAllContainersOnContainerExits":             {On: true, Why: always},
	"RotateKubeletServerCertificate":                   {On: true, Why: always},
	"TaintTolerationComparisonOperators":               {On: true, Why: "operators Gt and Lt count wherever the API server has them"},
	"TopologyManagerPolicyBetaOptions":                 {On: true, Why: always},

	"AllowDNSOnlyNodeCSR":                            {Why: "certificates are requested for addresses"},
	"CRIListStreaming":                               {Why: never},
	"CSIVolumeHealth":                                {Why: never},
	"ChangeContainerStatusOnKubeletRestart":          {Why: "containers stay ready while the kubelet starts"},
	"DRAWorkloadResourceClaims":                      {Why: "PodGroups have no claims"},
	"InPlacePodVerticalScalingExclusiveCPUs":         {Why: never},
	"InPlacePodVerticalScalingExclusiveMemory":       {Why: never},
	"KubeletInUserNamespace":                         {Why: never},
	"KubeletRegistrationGetOnExistsOnly":             {Why: never},
	"LocalStorageCapacityIsolationFSQuotaMonitoring": {Why: never},
	"PodAndContainerStatsFromCRI":                    {Why: never},
	"PodLevelResourceManagers":                       {Why: never},
	"PodsAPI":                                        {Why: never},
	"QOSReserved":                                    {Why: never},
	"ReduceDefaultCrashLoopBackOffDecay":             {Why: never},
	"RuntimeClassInImageCriApi":                      {Why: never},
	"TopologyManagerPolicyAlphaOptions":              {Why: never},
	"UserNamespacesHostNetworkSupport":               {Why: never},
	"VolumeLimitScaling":                             {Why: never},

	"AtomicFIFO":                   {On: true, Why: ownClient},
	"ClientsAllowCARotation":       {On: true, Why: ownClient},
	"ClientsAllowCBOR":             {Why: ownClient},
	"ClientsAllowTLSCacheGC":       {On: true, Why: ownClient},
	"ClientsPreferCBOR":            {Why: ownClient},
	"InOrderInformersBatchProcess": {On: true, Why: ownClient},
	"InformerResourceVersion":      {On: true, Why: ownClient},
	"UnlockWhileProcessingFIFO":    {On: true, Why: ownClient},
	"WatchListClient":              {On: true, Why: ownClient},

	"AllowParsingUserUIDFromCertAuth": {On: true, Why: ownServer},

	"ContextualLogging":   {On: true, Why: ownLogs},
	"LoggingAlphaOptions": {Why: ownLogs},
	"LoggingBetaOptions":  {On: true, Why: ownLogs},
	"NativeHistograms":    {Why: "metrics have histograms of buckets"},
}

// Features returns the features of Kubernetes as the configuration sets them. A feature that does not exist,
// that has another value here, or that needs one that is off is an error.
func (c *Configuration) Features() (*featuregate.Gate, error) {
	set := kubefeatures.Kubernetes()
	if err := set.Fix(fixedFeatures); err != nil {
		return nil, err
	}
	g, err := set.Gate()
	if err != nil {
		return nil, err
	}
	settings := map[featuregate.Feature]bool{}
	for name, on := range c.FeatureGates {
		settings[featuregate.Feature(name)] = on
	}
	if err := g.SetAll(settings); err != nil {
		return nil, fmt.Errorf("featureGates: %w", err)
	}
	if err := g.CheckNeeds(set.Needs); err != nil {
		return nil, fmt.Errorf("featureGates: %w", err)
	}
	return g, nil
}
