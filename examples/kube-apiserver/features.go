package main

import (
	"github.com/keelson-dev/keelson/apimachinery/featuregate"
)

// release is the release of Kubernetes whose API this server serves.
var release = featuregate.MajorMinor(1, 36)

// The features that can be set; see the usage text of --feature-gates.
const (
	unsafeDeletion         featuregate.Feature = "AllowUnsafeMalformedObjectDeletion"
	apiServerIdentity      featuregate.Feature = "APIServerIdentity"
	mixedVersions          featuregate.Feature = "UnknownVersionInteroperabilityProxy"
	apiResponseCompression featuregate.Feature = "APIResponseCompression"
	detectInconsistency    featuregate.Feature = "DetectCacheInconsistency"
	cborServingAndStorage  featuregate.Feature = "CBORServingAndStorage"
	watchList              featuregate.Feature = "WatchList"
	storageVersions        featuregate.Feature = "StorageVersionAPI"
	genericWorkload        featuregate.Feature = "GenericWorkload"
	gangScheduling         featuregate.Feature = "GangScheduling"
	topologyConstraints    featuregate.Feature = "TopologyAwareWorkloadScheduling"
	groupPriority          featuregate.Feature = "WorkloadAwarePreemption"
	trustBundles           featuregate.Feature = "ClusterTrustBundle"
	trustBundleVolumes     featuregate.Feature = "ClusterTrustBundleProjection"
)

// needs are the features that others are of no use without.
var needs = map[featuregate.Feature][]featuregate.Feature{
	gangScheduling: {genericWorkload}, topologyConstraints: {genericWorkload}, groupPriority: {gangScheduling}, storageVersions: {apiServerIdentity},
	trustBundleVolumes: {trustBundles},
}

// features returns the features of Kubernetes that this server has. A feature that Kubernetes can disable and
// this server cannot is locked here, and one that this server does not have is unknown: a setting is either
// applied or refused.
func features() (*featuregate.Gate, error) {
	alpha := func(minor int) featuregate.Spec {
		return featuregate.Spec{Since: featuregate.MajorMinor(1, minor), Stage: featuregate.Alpha}
	}
	beta := func(minor int) featuregate.Spec {
		return featuregate.Spec{Since: featuregate.MajorMinor(1, minor), Stage: featuregate.Beta, Default: true}
	}
	off := func(s featuregate.Spec) featuregate.Spec { s.Default = false; return s }
	locked := func(s featuregate.Spec) featuregate.Spec { s.LockToDefault = true; return s }
	ga := func(minor int) featuregate.Spec {
		return locked(featuregate.Spec{Since: featuregate.MajorMinor(1, minor), Default: true})
	}
	g := featuregate.New(release)
	return g, g.Add(map[featuregate.Feature][]featuregate.Spec{
		unsafeDeletion:         {alpha(32)},
		apiResponseCompression: {alpha(8), beta(16)},
		apiServerIdentity:      {alpha(20), beta(26)},
		mixedVersions:          {alpha(28), beta(36)},
		detectInconsistency:    {beta(34)},
		cborServingAndStorage:  {alpha(32)},
		watchList:              {alpha(27), beta(32), off(beta(33)), beta(34)},

		// Kinds that are served with their versions in --runtime-config only.
		trustBundles:                {alpha(27), off(beta(33))},
		trustBundleVolumes:          {alpha(29), off(beta(33))}, // a field of pods
		"PodCertificateRequest":     {alpha(34), off(beta(35))},
		"CoordinatedLeaderElection": {alpha(31), off(beta(33))},
		"DRADeviceTaintRules":       {alpha(35), off(beta(36))},
		"DRAResourcePoolStatus":     {alpha(36)},
		storageVersions:             {alpha(20)},
		"StorageVersionMigrator":    {alpha(30), off(beta(35))},
		genericWorkload:             {alpha(35)},
		topologyConstraints:         {alpha(36)}, // a field of PodGroup and Workload
		groupPriority:               {alpha(36)}, // three fields of both
		gangScheduling:              {alpha(35)}, // concerns the scheduler only, also in Kubernetes

		"AuthorizeNodeWithSelectors":               {alpha(31), beta(32), ga(34)},
		"AuthorizeWithSelectors":                   {alpha(31), beta(32), ga(34)},
		"CRDValidationRatcheting":                  {alpha(28), beta(30), ga(33)},
		"ConsistentListFromCache":                  {alpha(28), beta(31), ga(34)},
		"CustomResourceFieldSelectors":             {alpha(30), beta(31), ga(32)},
		"DisableAllocatorDualWrite":                {alpha(31), off(beta(33)), ga(34)},
		"DynamicResourceAllocation":                {alpha(26), off(beta(32)), ga(34)},
		"InPlacePodVerticalScaling":                {alpha(27), beta(33), ga(35)},
		"JobBackoffLimitPerIndex":                  {alpha(28), beta(29), ga(33)},
		"JobManagedBy":                             {alpha(30), beta(32), ga(35)},
		"JobPodReplacementPolicy":                  {alpha(28), beta(29), ga(34)},
		"JobSuccessPolicy":                         {alpha(30), beta(31), ga(33)},
		"ListFromCacheSnapshot":                    {alpha(33), locked(beta(34))},
		"MultiCIDRServiceAllocator":                {alpha(27), off(beta(31)), ga(33)},
		"NodeDeclaredFeatures":                     {alpha(35), locked(beta(36))},
		"OpenAPIEnums":                             {alpha(23), locked(beta(24))},
		"OrderedNamespaceDeletion":                 {beta(33), ga(34)},
		"PodSchedulingReadiness":                   {alpha(26), beta(27), ga(30)},
		"PodTopologyLabelsAdmission":               {alpha(33), locked(beta(35))},
		"RelaxedEnvironmentVariableValidation":     {alpha(30), beta(32), ga(34)},
		"RetryGenerateName":                        {alpha(30), beta(31), ga(32)},
		"ServiceAccountTokenJTI":                   {alpha(29), beta(30), ga(32)},
		"ServiceAccountTokenNodeBinding":           {alpha(29), beta(31), ga(33)},
		"ServiceAccountTokenNodeBindingValidation": {alpha(29), beta(30), ga(32)},
		"ServiceAccountTokenPodNodeInfo":           {alpha(29), beta(30), ga(32)},
		"SidecarContainers":                        {alpha(28), beta(29), ga(33)},
		"StorageVersionHash":                       {alpha(14), locked(beta(15))},
		"StreamingCollectionEncodingToJSON":        {beta(33), ga(34)},
		"StreamingCollectionEncodingToProtobuf":    {beta(33), ga(34)},
		"VolumeAttributesClass":                    {alpha(29), off(beta(31)), ga(34)},
	})
}
