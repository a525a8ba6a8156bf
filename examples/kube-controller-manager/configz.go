package main

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/examples/internal/component"
)

// configzName is the name of the configuration at /configz, which is that of its API group.
const configzName = "kubecontrollermanager.config.k8s.io"

// configFields are the fields of KubeControllerManagerConfiguration
// (kubecontrollermanager.config.k8s.io/v1alpha1) that say what the program does, each with its flag. Fields
// of flags without effect and of refused flags are left out: no value of them would be true.
var configFields = map[string]string{
	"Generic.ClientConnection.kubeconfig":                                             "kubeconfig",
	"Generic.ClientConnection.contentType":                                            "kube-api-content-type",
	"Generic.ClientConnection.qps":                                                    "kube-api-qps",
	"Generic.ClientConnection.burst":                                                  "kube-api-burst",
	"Generic.Controllers":                                                             "controllers",
	"Generic.Debugging.enableProfiling":                                               "profiling",
	"Generic.Debugging.enableContentionProfiling":                                     "contention-profiling",
	"Generic.LeaderElection.leaderElect":                                              "leader-elect",
	"Generic.LeaderElection.leaseDuration":                                            "leader-elect-lease-duration",
	"Generic.LeaderElection.renewDeadline":                                            "leader-elect-renew-deadline",
	"Generic.LeaderElection.retryPeriod":                                              "leader-elect-retry-period",
	"Generic.LeaderElection.resourceLock":                                             "leader-elect-resource-lock",
	"Generic.LeaderElection.resourceName":                                             "leader-elect-resource-name",
	"Generic.LeaderElection.resourceNamespace":                                        "leader-elect-resource-namespace",
	"Generic.LeaderMigrationEnabled":                                                  "enable-leader-migration",
	"KubeCloudShared.AllocateNodeCIDRs":                                               "allocate-node-cidrs",
	"KubeCloudShared.CIDRAllocatorType":                                               "cidr-allocator-type",
	"KubeCloudShared.CloudProvider.Name":                                              "cloud-provider",
	"KubeCloudShared.ClusterCIDR":                                                     "cluster-cidr",
	"KubeCloudShared.NodeMonitorPeriod":                                               "node-monitor-period",
	"KubeCloudShared.UseServiceAccountCredentials":                                    "use-service-account-credentials",
	"AttachDetachController.disableForceDetachOnTimeout":                              "disable-force-detach-on-timeout",
	"CSRSigningController.ClusterSigningCertFile":                                     "cluster-signing-cert-file",
	"CSRSigningController.ClusterSigningKeyFile":                                      "cluster-signing-key-file",
	"CSRSigningController.KubeAPIServerClientSignerConfiguration.CertFile":            "cluster-signing-kube-apiserver-client-cert-file",
	"CSRSigningController.KubeAPIServerClientSignerConfiguration.KeyFile":             "cluster-signing-kube-apiserver-client-key-file",
	"CSRSigningController.KubeletClientSignerConfiguration.CertFile":                  "cluster-signing-kubelet-client-cert-file",
	"CSRSigningController.KubeletClientSignerConfiguration.KeyFile":                   "cluster-signing-kubelet-client-key-file",
	"CSRSigningController.KubeletServingSignerConfiguration.CertFile":                 "cluster-signing-kubelet-serving-cert-file",
	"CSRSigningController.KubeletServingSignerConfiguration.KeyFile":                  "cluster-signing-kubelet-serving-key-file",
	"CSRSigningController.ClusterSigningDuration":                                     "cluster-signing-duration",
	"CronJobController.ConcurrentCronJobSyncs":                                        "concurrent-cron-job-syncs",
	"DaemonSetController.ConcurrentDaemonSetSyncs":                                    "concurrent-daemonset-syncs",
	"DeploymentController.ConcurrentDeploymentSyncs":                                  "concurrent-deployment-syncs",
	"DeviceTaintEvictionController.ConcurrentSyncs":                                   "concurrent-device-taint-eviction-syncs",
	"EndpointController.ConcurrentEndpointSyncs":                                      "concurrent-endpoint-syncs",
	"EndpointController.EndpointUpdatesBatchPeriod":                                   "endpoint-updates-batch-period",
	"EndpointSliceController.ConcurrentServiceEndpointSyncs":                          "concurrent-service-endpoint-syncs",
	"EndpointSliceController.EndpointUpdatesBatchPeriod":                              "endpointslice-updates-batch-period",
	"EndpointSliceController.MaxEndpointsPerSlice":                                    "max-endpoints-per-slice",
	"EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs":        "mirroring-concurrent-service-endpoint-syncs",
	"EndpointSliceMirroringController.MirroringEndpointUpdatesBatchPeriod":            "mirroring-endpointslice-updates-batch-period",
	"EndpointSliceMirroringController.MirroringMaxEndpointsPerSubset":                 "mirroring-max-endpoints-per-subset",
	"EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs":                        "concurrent-ephemeralvolume-syncs",
	"GarbageCollectorController.ConcurrentGCSyncs":                                    "concurrent-gc-syncs",
	"GarbageCollectorController.EnableGarbageCollector":                               "enable-garbage-collector",
	"HPAController.ConcurrentHorizontalPodAutoscalerSyncs":                            "concurrent-horizontal-pod-autoscaler-syncs",
	"HPAController.HorizontalPodAutoscalerCPUInitializationPeriod":                    "horizontal-pod-autoscaler-cpu-initialization-period",
	"HPAController.HorizontalPodAutoscalerDownscaleStabilizationWindow":               "horizontal-pod-autoscaler-downscale-stabilization",
	"HPAController.HorizontalPodAutoscalerInitialReadinessDelay":                      "horizontal-pod-autoscaler-initial-readiness-delay",
	"HPAController.HorizontalPodAutoscalerSyncPeriod":                                 "horizontal-pod-autoscaler-sync-period",
	"HPAController.HorizontalPodAutoscalerTolerance":                                  "horizontal-pod-autoscaler-tolerance",
	"JobController.ConcurrentJobSyncs":                                                "concurrent-job-syncs",
	"LegacySATokenCleaner.CleanUpPeriod":                                              "legacy-service-account-token-clean-up-period",
	"NamespaceController.ConcurrentNamespaceSyncs":                                    "concurrent-namespace-syncs",
	"NodeIPAMController.NodeCIDRMaskSize":                                             "node-cidr-mask-size",
	"NodeIPAMController.NodeCIDRMaskSizeIPv4":                                         "node-cidr-mask-size-ipv4",
	"NodeIPAMController.NodeCIDRMaskSizeIPv6":                                         "node-cidr-mask-size-ipv6",
	"NodeLifecycleController.LargeClusterSizeThreshold":                               "large-cluster-size-threshold",
	"NodeLifecycleController.NodeEvictionRate":                                        "node-eviction-rate",
	"NodeLifecycleController.NodeMonitorGracePeriod":                                  "node-monitor-grace-period",
	"NodeLifecycleController.NodeStartupGracePeriod":                                  "node-startup-grace-period",
	"NodeLifecycleController.SecondaryNodeEvictionRate":                               "secondary-node-eviction-rate",
	"NodeLifecycleController.UnhealthyZoneThreshold":                                  "unhealthy-zone-threshold",
	"PersistentVolumeBinderController.VolumeConfiguration.EnableDynamicProvisioning":  "enable-dynamic-provisioning",
	"PersistentVolumeBinderController.VolumeConfiguration.EnableHostPathProvisioning": "enable-hostpath-provisioner",
	"PodGCController.TerminatedPodGCThreshold":                                        "terminated-pod-gc-threshold",
	"ReplicaSetController.ConcurrentRSSyncs":                                          "concurrent-replicaset-syncs",
	"ReplicationController.ConcurrentRCSyncs":                                         "concurrent-rc-syncs",
	"ResourceClaimController.ConcurrentSyncs":                                         "concurrent-resourceclaim-syncs",
	"ResourceQuotaController.ConcurrentResourceQuotaSyncs":                            "concurrent-resource-quota-syncs",
	"ResourceQuotaController.ResourceQuotaSyncPeriod":                                 "resource-quota-sync-period",
	"SAController.ConcurrentSATokenSyncs":                                             "concurrent-serviceaccount-token-syncs",
	"SAController.RootCAFile":                                                         "root-ca-file",
	"SAController.ServiceAccountKeyFile":                                              "service-account-private-key-file",
	"StatefulSetController.ConcurrentStatefulSetSyncs":                                "concurrent-statefulset-syncs",
	"TTLAfterFinishedController.ConcurrentTTLSyncs":                                   "concurrent-ttl-after-finished-syncs",
}

// configz returns the configuration in force, which does not change while the program runs.
func (o *options) configz(f *pflag.FlagSet) map[string]any {
	c := map[string]any{"kind": "KubeControllerManagerConfiguration", "apiVersion": configzName + "/v1alpha1"}
	for path, flag := range configFields {
		set(c, path, flagValue(f.Lookup(flag)))
	}
	services := append(strings.SplitN(o.nodes.services, ",", 2), "")
	set(c, "NodeIPAMController.ServiceCIDR", services[0])
	set(c, "NodeIPAMController.SecondaryServiceCIDR", services[1])
	leaders := []any{}
	for _, l := range o.migration.ControllerLeaders {
		leaders = append(leaders, map[string]any{"name": l.Name, "component": l.Component})
	}
	set(c, "Generic.LeaderMigration", map[string]any{
		"leaderName": o.migration.LeaderName, "resourceLock": o.migration.ResourceLock, "controllerLeaders": leaders})
	return map[string]any{configzName: c}
}

// set sets the value at a path of nested objects.
func set(c map[string]any, path string, v any) {
	for {
		name, rest, nested := strings.Cut(path, ".")
		if !nested {
			c[name] = v
			return
		}
		inner, ok := c[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			c[name] = inner
		}
		c, path = inner, rest
	}
}

// flagValue returns the value of a flag as JSON has it: durations are strings.
func flagValue(f *pflag.Flag) any {
	text := f.Value.String()
	if list, ok := f.Value.(pflag.SliceValue); ok {
		items := []any{}
		for _, item := range list.GetSlice() {
			items = append(items, item)
		}
		return items
	}
	_, fixed := component.FixedValue(f)
	if b, err := strconv.ParseBool(text); err == nil && (f.Value.Type() == "bool" || fixed && len(text) > 1) {
		return b
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && (fixed || f.Value.Type() == "int") {
		return n
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && f.Value.Type() == "float64" {
		return x
	}
	return text
}
