package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
)

// What a feature does here is decided for each that this program or Kubernetes' one reads, and only for those
// that exist.
func TestFeaturesExist(t *testing.T) {
	known := kubefeatures.Kubernetes().Specs
	for _, name := range append([]featuregate.Feature{deviceTaints, unusedClaims, coordinated, apiServerIdentity}, gatedFeatures()...) {
		require.Contains(t, known, name)
		require.NotContains(t, fixedFeatures, name, "it is switched")
		require.False(t, known[name].LockToDefault, name)
		require.Contains(t, switched(), string(name))
	}
	for name, f := range fixedFeatures {
		require.Contains(t, known, name)
		require.NotEmpty(t, f.Why, name)
		require.True(t, !known[name].LockToDefault || known[name].Default == f.On, "%s is locked to another value", name)
	}
}

func gatedFeatures() (out []featuregate.Feature) {
	for _, g := range api.AllGated() {
		out = append(out, featuregate.Feature(g.Feature))
	}
	return out
}

// A feature is switched, or refused with the reason, or accepted because it concerns another component.
func TestFeatureGates(t *testing.T) {
	o, err := completed("--feature-gates=DRADeviceTaints=false,PersistentVolumeClaimUnusedSinceTime=true,GenericWorkload=true,CoordinatedLeaderElection=true")
	require.NoError(t, err)
	require.Contains(t, o.builtin.Controllers, "-device-taint-eviction-controller")
	require.Contains(t, o.builtin.Gated, "GenericWorkload")
	require.True(t, o.builtin.UnusedClaims)
	require.True(t, o.Coordinated)
	o, err = completed("--feature-gates=ImageVolume=true,APIServerIdentity=true,HPAScaleToZero=false,JobManagedBy=true,AllBeta=true")
	require.NoError(t, err, "of the kubelet, of API servers, as it is, and locked to that")
	require.False(t, o.builtin.UnusedClaims)
	require.NotContains(t, o.builtin.Controllers, "-device-taint-eviction-controller")
	for gates, why := range map[string]string{
		"PodDeletionCost=false":                          "feature is locked to true: controllers do this always",
		"HPAScaleToZero=true":                            "autoscalers leave what has no replicas alone",
		"JobManagedBy=false":                             "feature is locked to true",
		"NoSuchFeature=true":                             "unrecognized feature gate: NoSuchFeature",
		"StorageVersionAPI=true,APIServerIdentity=false": "StorageVersionAPI is enabled, but depends on features that are disabled: [APIServerIdentity]",
	} {
		_, err := completed("--feature-gates=" + gates)
		require.ErrorContains(t, err, why)
	}
}

// Whatever the release allows can be set in the command line of every component at once, unless it is refused
// here with a reason.
func TestEveryFeatureIsKnown(t *testing.T) {
	for name, spec := range kubefeatures.Kubernetes().Specs {
		for _, value := range []string{"true", "false"} {
			g, _, err := newFeatures()
			require.NoError(t, err)
			err = g.Set(string(name) + "=" + value)
			f, fixed := fixedFeatures[name]
			switch allowed := !spec.LockToDefault || spec.Default == (value == "true"); {
			case !allowed:
				require.Error(t, err, name)
			case fixed && f.On != (value == "true"):
				require.True(t, strings.HasSuffix(err.Error(), f.Why), "%v", err)
			default:
				require.NoError(t, err, name)
			}
		}
	}
}
