package main

import (
	"github.com/keelson-dev/keelson/apimachinery/featuregate"
)

// release is the release of Kubernetes whose features the scheduler has.
var release = featuregate.MajorMinor(1, 36)

// The features that can be set.
const (
	genericWorkload featuregate.Feature = "GenericWorkload"
	gangScheduling  featuregate.Feature = "GangScheduling"
	topologyAware   featuregate.Feature = "TopologyAwareWorkloadScheduling"
	groupPreemption featuregate.Feature = "WorkloadAwarePreemption"
	expectedNode    featuregate.Feature = "NominatedNodeNameForExpectation"
	batching        featuregate.Feature = "OpportunisticBatching"
	storageScores   featuregate.Feature = "StorageCapacityScoring"
)

// needs are the features that others are of no use without.
var needs = map[featuregate.Feature][]featuregate.Feature{
	gangScheduling: {genericWorkload}, topologyAware: {genericWorkload}, groupPreemption: {gangScheduling},
}

// features returns the features of Kubernetes that this scheduler has. Those that it cannot be without are
// locked, and one that it does not have is unknown: a setting is either applied or refused.
func features() *featuregate.Gate {
	alpha := func(minor int) featuregate.Spec {
		return featuregate.Spec{Since: featuregate.MajorMinor(1, minor), Stage: featuregate.Alpha}
	}
	beta := func(minor int) featuregate.Spec {
		return featuregate.Spec{Since: featuregate.MajorMinor(1, minor), Stage: featuregate.Beta, Default: true}
	}
	ga := func(minor int) featuregate.Spec {
		return featuregate.Spec{Since: featuregate.MajorMinor(1, minor), Default: true, LockToDefault: true}
	}
	off := func(s featuregate.Spec) featuregate.Spec { s.Default = false; return s }
	locked := func(s featuregate.Spec) featuregate.Spec { s.LockToDefault = true; return s }
	g := featuregate.New(release)
	err := g.Add(map[featuregate.Feature][]featuregate.Spec{
		genericWorkload: {alpha(35)},
		gangScheduling:  {alpha(35)},
		topologyAware:   {alpha(36)},
		groupPreemption: {alpha(36)},
		expectedNode:    {alpha(34), beta(35)},
		batching:        {beta(35)},
		storageScores:   {alpha(33)},

		"DRAAdminAccess":                         {alpha(32), beta(34), ga(36)},
		"DRAConsumableCapacity":                  {alpha(34), locked(beta(36))},
		"DRADeviceBindingConditions":             {alpha(34), locked(beta(36))},
		"DRADeviceTaints":                        {alpha(33), locked(beta(36))},
		"DRAExtendedResource":                    {alpha(34), locked(beta(36))},
		"DRAPartitionableDevices":                {alpha(33), locked(beta(36))},
		"DRAPrioritizedList":                     {alpha(33), beta(34), ga(36)},
		"DynamicResourceAllocation":              {alpha(26), off(beta(32)), ga(34)},
		"MatchLabelKeysInPodAffinity":            {alpha(29), beta(31), ga(33)},
		"MatchLabelKeysInPodTopologySpread":      {alpha(25), locked(beta(27))},
		"NodeDeclaredFeatures":                   {alpha(35), locked(beta(36))},
		"NodeInclusionPolicyInPodTopologySpread": {alpha(25), beta(26), ga(33)},
		// What is written never holds up decisions here, with or without that feature.
		"SchedulerAsyncAPICalls":   {locked(off(beta(34)))},
		"SchedulerAsyncPreemption": {alpha(32), locked(beta(33))},
		"SchedulerQueueingHints":   {off(beta(28)), beta(32), ga(34)},
		"SchedulerPopFromBackoffQ": {locked(beta(33))},
	})
	if err != nil {
		panic(err) // the table above is wrong
	}
	return g
}
