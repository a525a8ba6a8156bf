package main

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
)

// The features that can be switched on and off, beside those of api.AllGated.
const (
	deviceTaints      featuregate.Feature = "DRADeviceTaints"
	unusedClaims      featuregate.Feature = "PersistentVolumeClaimUnusedSinceTime"
	coordinated       featuregate.Feature = "CoordinatedLeaderElection"
	apiServerIdentity featuregate.Feature = "APIServerIdentity" // without it StorageVersionAPI is of no use
)

const (
	always    = "controllers do this always"
	ownClient = "it is of client-go: this program's client and copies are others"
	ownLogs   = "there is one form of logs"
	ownServer = "it is of the HTTP server of Kubernetes, and this program has another"
)

// fixedFeatures are those that Kubernetes' kube-controller-manager reads and that have one value here. It
// reads none of the features that are neither here nor switched: they concern other components, and any
// setting of them is accepted, as by it.
var fixedFeatures = map[featuregate.Feature]kubefeatures.Fixed{
	"ComponentFlagz":   {On: true, Why: "/flagz is always served"},
	"ComponentStatusz": {On: true, Why: "/statusz is always served"},
	"ControllerManagerReleaseLeaderElectionLockOnExit": {On: true, Why: "the lease is always released, when the controllers have returned"},
	"DRAExtendedResource":                              {On: true, Why: always},
	"DRAPrioritizedList":                               {On: true, Why: always},
	"DRAWorkloadResourceClaims":                        {Why: "PodGroups have no claims"},
	"DeploymentReplicaSetTerminatingReplicas":          {On: true, Why: always},
	"HPAConfigurableTolerance":                         {On: true, Why: always},
	"HPAScaleToZero":                                   {Why: "autoscalers leave what has no replicas alone"},
	"MaxUnavailableStatefulSet":                        {On: true, Why: "maxUnavailable counts wherever the API server has it"},
	"MutableSchedulingDirectivesForSuspendedJobs":      {On: true, Why: always},
	"PodDeletionCost":                                  {On: true, Why: always},
	"PodLevelResources":                                {On: true, Why: always},
	"SELinuxMount":                                     {Why: "the selinux-warning-controller looks at volumes of drivers with seLinuxMount"},
	"StaleControllerConsistencyDaemonSet":              {On: true, Why: "controllers always read their own writes"},
	"StaleControllerConsistencyJob":                    {On: true, Why: "controllers always read their own writes"},
	"StaleControllerConsistencyReplicaSet":             {On: true, Why: "controllers always read their own writes"},
	"StaleControllerConsistencyStatefulSet":            {On: true, Why: "controllers always read their own writes"},
	"StatefulSetSemanticRevisionComparison":            {On: true, Why: always},
	"TaintTolerationComparisonOperators":               {On: true, Why: "operators Gt and Lt count wherever the API server has them"},
	"WorkloadWithJob":                                  {Why: "Jobs have no Workloads"},

	"AtomicFIFO":                   {On: true, Why: ownClient},
	"ClientsAllowCARotation":       {On: true, Why: ownClient},
	"ClientsAllowCBOR":             {Why: ownClient},
	"ClientsAllowTLSCacheGC":       {On: true, Why: ownClient},
	"ClientsPreferCBOR":            {Why: ownClient},
	"InOrderInformers":             {On: true, Why: ownClient},
	"InOrderInformersBatchProcess": {On: true, Why: ownClient},
	"InformerResourceVersion":      {On: true, Why: ownClient},
	"UnlockWhileProcessingFIFO":    {On: true, Why: ownClient},
	"WatchListClient":              {On: true, Why: ownClient},

	"AllowParsingUserUIDFromCertAuth":   {On: true, Why: ownServer},
	"RemoteRequestHeaderUID":            {On: true, Why: ownServer},
	"UnauthenticatedHTTP2DOSMitigation": {On: true, Why: ownServer},

	"ContextualLogging":   {On: true, Why: ownLogs},
	"LoggingAlphaOptions": {Why: ownLogs},
	"LoggingBetaOptions":  {On: true, Why: ownLogs},
	"NativeHistograms":    {Why: "metrics have histograms of buckets"},
}

// newFeatures returns the features of Kubernetes, and what they need.
func newFeatures() (*featuregate.Gate, map[featuregate.Feature][]featuregate.Feature, error) {
	set := kubefeatures.Kubernetes()
	if err := set.Fix(fixedFeatures); err != nil {
		return nil, nil, err
	}
	g, err := set.Gate()
	return g, set.Needs, err
}

// switched lists the features that can be switched here, each with what it concerns.
func switched() string {
	out := []string{
		string(deviceTaints) + " (the device-taint-eviction-controller)", string(unusedClaims) + " (the condition Unused of claims)",
		string(coordinated) + " (API servers elect the leader)", string(apiServerIdentity) + " (needed by StorageVersionAPI)",
	}
	for _, g := range api.AllGated() {
		if g.Feature != string(coordinated) {
			out = append(out, g.Feature+" ("+g.GroupVersion.String()+")")
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
