package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
)

// leaves collects the values of a JSON document by path. What begins with a capital letter below the top is
// an object of upstream's configuration; lists are values.
func leaves(out map[string]any, path string, v any) map[string]any {
	if m, ok := v.(map[string]any); ok {
		for name, inner := range m {
			leaves(out, strings.TrimPrefix(path+"."+name, "."), inner)
		}
		return out
	}
	out[path] = v
	return out
}

// configOf returns what /configz has for a command line, as a client reads it.
func configOf(t *testing.T, args ...string) map[string]any {
	o, err := completed(args...)
	require.NoError(t, err)
	data, err := json.Marshal(o.Configz()[configzName])
	require.NoError(t, err)
	var c any
	require.NoError(t, json.Unmarshal(data, &c))
	return leaves(map[string]any{}, "", c)
}

// testdata/configz-1.36.json is what kube-controller-manager 1.36.3 serves without flags. Here each of its
// fields is served with the same value, or left out because its flag has no effect.
func TestConfigz(t *testing.T) {
	data, err := os.ReadFile("testdata/configz-1.36.json")
	require.NoError(t, err)
	var upstream map[string]any
	require.NoError(t, json.Unmarshal(data, &upstream))
	want, have := leaves(map[string]any{}, "", upstream[configzName]), configOf(t)
	differs := map[string]string{
		"Generic.ClientConnection.qps":                  "0 without a cap, which is the default here",
		"Generic.ClientConnection.burst":                "as qps",
		"Generic.LeaderMigration.controllerLeaders":     "an empty list instead of null",
		"NodeIPAMController.NodeCIDRMaskSize":           "",
		"GarbageCollectorController.GCIgnoredResources": "has no flag",
	}
	for path, v := range have {
		require.Contains(t, want, path)
		if differs[path] == "" {
			require.Equal(t, want[path], v, path)
		}
	}
	var absent []string
	for path := range want {
		if _, ok := have[path]; !ok && differs[path] == "" {
			absent = append(absent, path)
		}
	}
	require.ElementsMatch(t, withoutEffect, absent)
}

// withoutEffect are fields of upstream's configuration without a meaning here: their flags are refused or
// have no effect, or there are none.
var withoutEffect = []string{
	"AttachDetachController.DisableAttachDetachReconcilerSync", "AttachDetachController.ReconcilerSyncLoopPeriod",
	"CSRSigningController.LegacyUnknownSignerConfiguration.CertFile", "CSRSigningController.LegacyUnknownSignerConfiguration.KeyFile",
	"Generic.Address", "Generic.ClientConnection.acceptContentTypes", "Generic.ControllerStartInterval", "Generic.MinResyncPeriod", "Generic.Port",
	"KubeCloudShared.AllowUntaggedCloud", "KubeCloudShared.CloudProvider.CloudConfigFile", "KubeCloudShared.ClusterName", "KubeCloudShared.ConfigureCloudRoutes",
	"KubeCloudShared.ExternalCloudVolumePlugin", "KubeCloudShared.NodeSyncPeriod", "KubeCloudShared.RouteReconciliationPeriod",
	"NamespaceController.NamespaceSyncPeriod", "NodeLifecycleController.PodEvictionTimeout", "PersistentVolumeBinderController.PVClaimBinderSyncPeriod",
	"PersistentVolumeBinderController.VolumeConfiguration.FlexVolumePluginDir",
	"PersistentVolumeBinderController.VolumeConfiguration.PersistentVolumeRecyclerConfiguration.IncrementTimeoutHostPath",
	"PersistentVolumeBinderController.VolumeConfiguration.PersistentVolumeRecyclerConfiguration.IncrementTimeoutNFS",
	"PersistentVolumeBinderController.VolumeConfiguration.PersistentVolumeRecyclerConfiguration.MaximumRetry",
	"PersistentVolumeBinderController.VolumeConfiguration.PersistentVolumeRecyclerConfiguration.MinimumTimeoutHostPath",
	"PersistentVolumeBinderController.VolumeConfiguration.PersistentVolumeRecyclerConfiguration.MinimumTimeoutNFS",
	"PersistentVolumeBinderController.VolumeConfiguration.PersistentVolumeRecyclerConfiguration.PodTemplateFilePathHostPath",
	"PersistentVolumeBinderController.VolumeConfiguration.PersistentVolumeRecyclerConfiguration.PodTemplateFilePathNFS",
	"ServiceController.ConcurrentServiceSyncs", "ValidatingAdmissionPolicyStatusController.ConcurrentPolicySyncs",
}

// A flag changes its field, and each flag that has an effect on the controllers has one.
func TestConfigzFollowsFlags(t *testing.T) {
	c := configOf(t, "--concurrent-job-syncs=9", "--profiling=false", "--node-eviction-rate=0.25", "--node-monitor-period=7s", "--controllers=job,-namespace",
		"--service-cluster-ip-range=10.0.0.0/16,fd00::/112", "--enable-dynamic-provisioning=false", "--terminated-pod-gc-threshold=0", "--enable-leader-migration")
	for path, want := range map[string]any{
		"JobController.ConcurrentJobSyncs":                                               9.0,
		"Generic.Debugging.enableProfiling":                                              false,
		"NodeLifecycleController.NodeEvictionRate":                                       0.25,
		"KubeCloudShared.NodeMonitorPeriod":                                              "7s",
		"Generic.Controllers":                                                            []any{"job", "-namespace"},
		"NodeIPAMController.ServiceCIDR":                                                 "10.0.0.0/16",
		"NodeIPAMController.SecondaryServiceCIDR":                                        "fd00::/112",
		"PersistentVolumeBinderController.VolumeConfiguration.EnableDynamicProvisioning": false,
		"PodGCController.TerminatedPodGCThreshold":                                       -1.0,
		"Generic.LeaderMigrationEnabled":                                                 true,
		"Generic.LeaderMigration.leaderName":                                             "cloud-provider-extraction-migration",
		"Generic.LeaderMigration.resourceLock":                                           "leases",
	} {
		require.Equal(t, want, c[path], path)
	}
	_, f, err := newOptions()
	require.NoError(t, err)
	for path, name := range configFields {
		flag := f.Lookup(name)
		require.NotNil(t, flag, "%s: --%s", path, name)
		_, ignored := component.Ignored(flag)
		_, refused := component.Refused(flag)
		require.False(t, ignored || refused, fmt.Sprint(path, " has no effect"))
	}
}
