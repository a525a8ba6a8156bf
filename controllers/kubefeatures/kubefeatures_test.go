package kubefeatures_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
)

func TestKubernetes(t *testing.T) {
	s := kubefeatures.Kubernetes()
	require.Equal(t, featuregate.Spec{Since: kubefeatures.Release, Stage: featuregate.Alpha}, s.Specs["PersistentVolumeClaimUnusedSinceTime"])
	require.Equal(t, featuregate.Spec{Since: kubefeatures.Release, Default: true, LockToDefault: true}, s.Specs["JobManagedBy"])
	require.Equal(t, featuregate.Spec{Since: kubefeatures.Release, Stage: featuregate.Deprecated, LockToDefault: true}, s.Specs["AllowOverwriteTerminationGracePeriodSeconds"])
	require.Equal(t, []featuregate.Feature{"DynamicResourceAllocation", "GenericWorkload"}, s.Needs["DRAWorkloadResourceClaims"])
	for name, needs := range s.Needs {
		for _, need := range append(needs, name) {
			require.Contains(t, s.Specs, need)
		}
	}
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, g.CheckNeeds(s.Needs), "the defaults go together")
	require.Len(t, g.All(), len(s.Specs))
	require.Error(t, s.Fix(map[featuregate.Feature]kubefeatures.Fixed{"NoSuchFeature": {}}))
}
