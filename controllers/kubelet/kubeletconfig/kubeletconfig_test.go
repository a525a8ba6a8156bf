package kubeletconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
)

func file(t testing.TB, dir, name, text string) string {
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+text), 0o600))
	return path
}

// The defaults are accepted, so a kubelet needs no file.
func TestDefaults(t *testing.T) {
	c := kubeletconfig.Default()
	require.NoError(t, c.Check())
	o, err := c.Options()
	require.NoError(t, err)
	require.Equal(t, 10*time.Second, o.NodeStatusInterval)
	require.Equal(t, 5*time.Minute, o.NodeReportInterval)
	require.EqualValues(t, 10<<20, o.Logs.MaxSize)
	require.Equal(t, 1, o.Pulls.Parallel)
	pods := o.Capacity["pods"]
	require.EqualValues(t, 110, pods.Value())
	// No pointer is left nil but those whose absence means something.
	v := reflect.ValueOf(*c)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer && f.IsNil() {
			require.Contains(t, []string{"MaxParallelImagePulls", "SingleProcessOOMKill", "EnableSystemLogQuery", "Tracing", "UserNamespaces"}, v.Type().Field(i).Name)
		}
	}
}

// What kubeadm writes, with every field that it mentions, is accepted unchanged.
func TestFileOfAnInstaller(t *testing.T) {
	c, err := kubeletconfig.Load(file(t, t.TempDir(), "config.yaml", `
authentication:
  anonymous: {enabled: false}
  webhook: {cacheTTL: 0s, enabled: true}
  x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}
authorization:
  mode: Webhook
  webhook: {cacheAuthorizedTTL: 0s, cacheUnauthorizedTTL: 0s}
cgroupDriver: cgroupfs
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
logging:
  flushFrequency: 0
  options:
    json: {infoBufferSize: "0"}
    text: {infoBufferSize: "0"}
  verbosity: 0
memorySwap: {}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
`), "")
	require.NoError(t, err)
	require.NoError(t, c.Check())
	require.Equal(t, 20*time.Second, c.FileCheckFrequency.Duration)
	c.StreamingConnectionIdleTimeout.Duration, c.PodCIDR, *c.ResolverConfig = time.Minute, "10.0.0.0/24,fd00::/64", ""
	o, err := c.Options()
	require.NoError(t, err)
	require.Equal(t, time.Minute, o.StreamIdleTimeout)
	require.Equal(t, "10.0.0.0/24,fd00::/64", o.PodCIDR)
	require.True(t, o.NoResolvConf)
	require.False(t, o.ProtectKernelDefaults || o.SystemLogQueries)
	c.ProtectKernelDefaults, c.EnableSystemLogQuery = true, new(true)
	o, err = c.Options()
	require.NoError(t, err)
	require.True(t, o.ProtectKernelDefaults && o.SystemLogQueries)
	c.EnableSystemLogHandler = new(false)
	require.ErrorContains(t, c.Check(), "enableSystemLogHandler is required")
}

// So is a file that sets the values of servers, evictions, collection and syncs.
func TestFileWithEveryUsualValue(t *testing.T) {
	c, err := kubeletconfig.Load(file(t, t.TempDir(), "other.yaml", `
address: 0.0.0.0
port: 10250
readOnlyPort: 10255
authentication: {webhook: {cacheTTL: 2m0s}}
authorization: {webhook: {cacheAuthorizedTTL: 5m0s, cacheUnauthorizedTTL: 30s}}
cgroupsPerQOS: true
containerLogMaxFiles: 5
containerLogMaxSize: 10Mi
contentType: application/vnd.kubernetes.protobuf
cpuCFSQuota: true
cpuManagerPolicy: none
enableControllerAttachDetach: true
enableDebuggingHandlers: true
enforceNodeAllocatable: [pods]
eventBurst: 10
eventRecordQPS: 5
evictionHard: {imagefs.available: 15%, memory.available: 100Mi, nodefs.available: 10%, nodefs.inodesFree: 5%}
failSwapOn: true
hairpinMode: promiscuous-bridge
imageGCHighThresholdPercent: 85
imageGCLowThresholdPercent: 80
imageMinimumGCAge: 2m0s
iptablesDropBit: 15
iptablesMasqueradeBit: 14
kubeAPIBurst: 10
kubeAPIQPS: 5
makeIPTablesUtilChains: true
maxOpenFiles: 1000000
maxPods: 110
nodeLeaseDurationSeconds: 40
nodeStatusUpdateFrequency: 10s
oomScoreAdj: -999
podPidsLimit: -1
registryBurst: 10
registryPullQPS: 5
resolvConf: /etc/resolv.conf
rotateCertificates: true
runtimeRequestTimeout: 2m0s
serializeImagePulls: true
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 4h0m0s
syncFrequency: 1m0s
volumeStatsAggPeriod: 1m0s
`), "")
	require.NoError(t, err)
	require.NoError(t, c.Check())
	require.EqualValues(t, 10255, c.ReadOnlyPort)
}

// Files of the directory override parts of the first, in the order of their names; others are left alone.
func TestDropIns(t *testing.T) {
	dir := t.TempDir()
	base := file(t, t.TempDir(), "config.yaml", "maxPods: 7\nevictionHard: {memory.available: 1Gi, nodefs.available: 5%}\nclusterDNS: [10.0.0.1, 10.0.0.2]\n")
	file(t, dir, "10-a.conf", "maxPods: 8\nclusterDNS: [10.0.0.3]\n")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "20"), 0o755))
	file(t, filepath.Join(dir, "20"), "b.conf", "evictionHard: {memory.available: 2Gi}\nmaxPods: 9\n")
	file(t, dir, "30-ignored.yaml", "maxPods: 10\n")
	c, err := kubeletconfig.Load(base, dir)
	require.NoError(t, err)
	require.EqualValues(t, 9, c.MaxPods)
	require.Equal(t, []string{"10.0.0.3"}, c.ClusterDNS)
	require.Equal(t, map[string]string{"memory.available": "2Gi", "nodefs.available": "5%"}, c.EvictionHard)
	file(t, dir, "40-bad.conf", "maxPodz: 1\n")
	_, err = kubeletconfig.Load(base, dir)
	require.ErrorContains(t, err, "40-bad.conf")
	require.ErrorContains(t, err, "maxPodz")
}

// The limits of cgroups come from the file.
func TestGroups(t *testing.T) {
	c, err := kubeletconfig.Load(file(t, t.TempDir(), "c.yaml", `
cgroupDriver: systemd
cpuCFSQuotaPeriod: 10ms
featureGates: {ImageVolumeWithDigest: true, MemoryQoS: true}
memoryReservationPolicy: TieredReservation
memoryThrottlingFactor: 0.8
userNamespaces: {idsPerPod: 131072}
memorySwap: {swapBehavior: LimitedSwap}
systemReserved: {cpu: 200m, memory: 1Gi}
kubeReserved: {cpu: 300m, memory: 2Gi}
systemReservedCgroup: /system.slice
kubeReservedCgroup: /kube.slice
enforceNodeAllocatable: [pods, system-reserved-compressible, kube-reserved]
`), "")
	require.NoError(t, err)
	o, err := c.Options()
	require.NoError(t, err)
	require.True(t, o.SystemdCgroups && o.LimitedSwap && !o.NoCPUQuota && !o.NoPodLimit)
	require.Equal(t, 10*time.Millisecond, o.CPUQuotaPeriod)
	require.EqualValues(t, 131072, o.UserNamespaces.IDsPerPod)
	require.True(t, o.ImageVolumeDigests)
	require.Equal(t, &kubelet.MemoryQoS{Throttling: 0.8, Reserve: true}, o.MemoryQoS)
	require.Len(t, o.ReservedGroups, 2)
	require.Equal(t, "/system.slice", o.ReservedGroups[0].Name)
	require.Len(t, o.ReservedGroups[0].Resources, 1, "CPU time only")
	require.Equal(t, "/kube.slice", o.ReservedGroups[1].Name)
	require.Len(t, o.ReservedGroups[1].Resources, 2)
}

// Every feature of the release can be set: one of another component has no effect, one that is the kubelet's
// is switched, and one that is fixed here to another value is refused with the reason.
func TestFeatures(t *testing.T) {
	set := func(settings map[string]bool) (*featuregate.Gate, error) {
		c := kubeletconfig.Default()
		c.FeatureGates = settings
		return c.Features()
	}
	all := kubefeatures.Kubernetes()
	defaults, err := set(nil)
	require.NoError(t, err)
	switched := 0
	for name, spec := range all.Specs {
		fixed := defaults.Enabled(name) != spec.Default
		for _, on := range []bool{true, false} {
			settings := map[string]bool{string(name): on}
			for needs := all.Needs[name]; on && len(needs) > 0; needs = needs[1:] {
				if need := needs[0]; !all.Specs[need].LockToDefault {
					settings[string(need)] = on
					needs = slices.Concat(needs, all.Needs[need])
				}
			}
			g, err := set(settings)
			switch {
			case err == nil:
				require.Equal(t, on, g.Enabled(name), name)
				switched++
			case spec.LockToDefault:
				require.EqualError(t, err, fmt.Sprintf("featureGates: cannot set feature gate %s to %t, feature is locked to %t", name, on, spec.Default))
			case strings.Contains(err.Error(), "depends on"):
				require.False(t, on, "others need it")
			default:
				require.Regexp(t, fmt.Sprintf("cannot set feature gate %s to %t, feature is locked to %t: .", name, on, !on), err)
				require.True(t, fixed || spec.Default != on)
			}
		}
	}
	require.Greater(t, switched, 200)
	g, err := set(map[string]bool{"StorageVersionHash": false, "SystemdWatchdog": true, "AllAlpha": true, "AllBeta": true, "MemoryQoS": false})
	require.NoError(t, err)
	require.True(t, g.Enabled("EventedPLEG") && g.Enabled("SELinuxMount") && g.Enabled("GenericWorkload"))
	require.False(t, g.Enabled("MemoryQoS") || g.Enabled("PodsAPI") || g.Enabled("StorageVersionHash"))
}

// The sources of projected volumes that are off by default.
func TestVolumeFeatures(t *testing.T) {
	for text, want := range map[string][2]bool{
		"{}": {}, "{ClusterTrustBundle: true}": {}, "{PodCertificateRequest: true, AuthorizeNodeWithSelectors: true}": {false, true},
		"{ClusterTrustBundle: true, ClusterTrustBundleProjection: true}":      {true, false},
		"{ClusterTrustBundleProjection: false, PodCertificateRequest: false}": {},
	} {
		c, err := kubeletconfig.Load(file(t, t.TempDir(), "c.yaml", "featureGates: "+text), "")
		require.NoError(t, err, text)
		o, err := c.Options()
		require.NoError(t, err, text)
		require.Equal(t, want, [2]bool{o.TrustBundles, o.PodCertificates}, text)
	}
}

// Every wrong or unsupported value is named, with the reason.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"port: 70000":               "port: 70000 is no port",
		"address: localhost":        `address: "localhost" is no IP address`,
		"cpuManagerPolicy: static":  "static needs a CPU for the system",
		"cpuManagerPolicy: dynamic": `"dynamic" is neither none nor static`,
		"cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}":                                                                                                              "they need cpuManagerPolicy: static",
		"cpuManagerPolicy: static\nreservedSystemCPUs: 0-x":                                                                                                                 "is no list of CPUs",
		"cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\ncpuManagerPolicyOptions: {full-pcpus-only: maybe}":                                                            "neither true nor false",
		"cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\ncpuManagerPolicyOptions: {near: \"true\"}":                                                                    `"near" is unknown`,
		"cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\ncpuManagerPolicyOptions: {align-by-socket: \"true\"}":                                                         "needs the feature gate CPUManagerPolicyAlphaOptions",
		"cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\ncpuManagerPolicyOptions: {prefer-align-cpus-by-uncorecache: \"true\", distribute-cpus-across-numa: \"true\"}": "excludes distribute-cpus-across-numa",
		"memoryManagerPolicy: static": `"static" is neither None nor Static`,
		"memoryManagerPolicy: Static": "Static needs reservedMemory",
		"memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 0, limits: {memory: 1Gi}}]": "is there twice",
		"memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {cpu: 1}}]":                                            "neither memory nor huge pages",
		"topologyManagerScope: node":                                                                  "neither container nor pod",
		"topologyManagerPolicyOptions: {max-allowable-numa-nodes: \"4\"}":                             "no number of 8 or more",
		"tlsMinVersion: VersionTLS10":                                                                 "tlsMinVersion",
		"tlsCipherSuites: [TLS_RSA_WITH_RC4]":                                                         "unknown or insecure",
		"imageGCLowThresholdPercent: 85":                                                              "imageGCLowThresholdPercent",
		"containerLogMaxFiles: 1":                                                                     "must be greater than 1",
		"evictionSoft: {memory.available: 1Gi}":                                                       "needs a grace period",
		"kubeReserved: {gpu: 1Gi}":                                                                    "gpu cannot be reserved",
		"enforceNodeAllocatable: [none, pods]":                                                        "none stands alone",
		"maxParallelImagePulls: 3\nserializeImagePulls: true":                                         "needs serializeImagePulls: false",
		"crashLoopBackOff: {maxContainerRestartPeriod: 10m}":                                          "not within 1s and 300s",
		"featureGates: {EventedPLEG: true, NodeSwap: false}":                                          "featureGates: cannot set feature gate NodeSwap to false, feature is locked to true",
		"featureGates: {PodsAPI: true}":                                                               "cannot set feature gate PodsAPI to true, feature is locked to false: this kubelet does not have this",
		"cgroupDriver: runc":                                                                          "neither cgroupfs nor systemd",
		"cpuCFSQuotaPeriod: 10ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}":                     "needs the feature gate CustomCPUCFSQuotaPeriod",
		"cpuCFSQuotaPeriod: 2s":                                                                       "not within 1ms and 1s",
		"memorySwap: {swapBehavior: UnlimitedSwap}":                                                   "none of NoSwap and LimitedSwap",
		"enforceNodeAllocatable: [system-reserved]":                                                   "systemReservedCgroup: it is missing",
		"enforceNodeAllocatable: [kube-reserved-compressible]":                                        "kubeReservedCgroup: it is missing",
		"enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\nkubeReservedCgroup: /k": "exclude each other",
		"memoryReservationPolicy: TieredReservation":                                                  "needs the feature gate MemoryQoS",
		"memoryReservationPolicy: Some\nfeatureGates: {MemoryQoS: true}":                              "neither None nor TieredReservation",
		"memoryThrottlingFactor: 0.5":                                                                 "needs the feature gate MemoryQoS",
		"memoryThrottlingFactor: 1.5\nfeatureGates: {MemoryQoS: true}":                                "1.5 must be greater than 0",
		"memoryThrottlingFactor: 0\nfeatureGates: {MemoryQoS: true}":                                  "0 must be greater than 0",
		"featureGates: {KubeletPSI: false}":                                                           "featureGates: cannot set feature gate KubeletPSI to false, feature is locked to true",
		"featureGates: {ClusterTrustBundleProjection: true}":                                          "feature gate ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]",
		"featureGates: {AuthorizeNodeWithSelectors: false}":                                           "featureGates: cannot set feature gate AuthorizeNodeWithSelectors to false, feature is locked to true",
		"featureGates: {NoSuchGate: true}":                                                            "featureGates: unrecognized feature gate: NoSuchGate",
		"userNamespaces: {idsPerPod: 0}":                                                              "userNamespaces.idsPerPod: 0 is no multiple of 65536",
		"userNamespaces: {idsPerPod: 65537}":                                                          "userNamespaces.idsPerPod: 65537 is no multiple",
		"userNamespaces: {idsPerPod: 4294967296}":                                                     "userNamespaces.idsPerPod: 4294967296 is no multiple of 65536 up to 4294967295",
		"featureGates: {UserNamespacesSupport: false}":                                                "featureGates: cannot set feature gate UserNamespacesSupport to false, feature is locked to true",
		"featureGates: {ImageVolume: false}":                                                          "featureGates: cannot set feature gate ImageVolume to false, feature is locked to true",
		"shutdownGracePeriod: 500ms":                                                                  "shutdownGracePeriod: 500ms must be 0 or at least 1s",
		"shutdownGracePeriod: 5s\nshutdownGracePeriodCriticalPods: 10s":                               "10s must not be longer than shutdownGracePeriod, 5s",
		"shutdownGracePeriod: 5s\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 5}]":                                               "it excludes shutdownGracePeriod",
		"shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: -5}]":                                                                       "-5 of priority 1 is not within 0",
		"shutdownGracePeriod: 5s\nfeatureGates: {GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false, WindowsGracefulNodeShutdown: false}": "it needs the feature gate GracefulNodeShutdown",
		"featureGates: {GracefulNodeShutdown: false}":                                                                                                             "feature gate GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: [GracefulNodeShutdown]",
		"shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 5}]\nfeatureGates: {GracefulNodeShutdownBasedOnPodPriority: false}":         "it needs the feature gate GracefulNodeShutdownBasedOnPodPriority",
		"configMapAndSecretChangeDetectionStrategy: Poll":                                                                                                         "none of Get, Cache and Watch",
		"allowedUnsafeSysctls: [vm.swappiness]":                                                                                                                   "not a sysctl of a namespace",
		"reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]":                                                                                                  "it needs memoryManagerPolicy: Static",
		"registerWithTaints: [{key: a}]":                                                                                                                          "needs a key and an effect",
		"clusterDNS: [dns]":                                                                                                                                       "is no IP address",
		"logging: {format: xml}":                                                                                                                                  "neither text nor json",
		"topologyManagerPolicy: strict":                                                                                                                           "is none of",
		"imagePullCredentialsVerificationPolicy: Verify":                                                                                                          "is none of NeverVerify",
		"preloadedImagesVerificationAllowlist: [a]":                                                                                                               "needs the policy NeverVerifyAllowlistedImages",
		"imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ['a:1']":                                     "without tag and digest",
		"evictionHard: {memory.available: 10Mi}\nimageMaximumGCAge: 1m":                                                                                           "greater than imageMinimumGCAge",
	} {
		c, err := kubeletconfig.Load(file(t, dir, "c.yaml", text+"\n"), "")
		require.NoError(t, err, text)
		require.ErrorContains(t, c.Check(), want, text)
		_, err = c.Options()
		require.Error(t, err, text)
	}
	c, err := kubeletconfig.Load(file(t, dir, "c.yaml", "port: -1\nmaxPods: -1\n"), "")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(c.Check().Error(), "\n")+1, "all of it: %v", c.Check())
}

// Whatever is in a file, reading it ends in an error or a configuration that can be written and read again.
func FuzzLoad(f *testing.F) {
	f.Add("maxPods: 7\nevictionHard: {memory.available: 1Gi}\n")
	f.Add("logging: {flushFrequency: 5s, vmodule: [{filePattern: a, verbosity: 1}]}\n")
	f.Add("maxPods: null\nclusterDNS: null\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := kubeletconfig.Load(file(t, t.TempDir(), "c.yaml", text), "")
		if err != nil {
			return
		}
		_ = c.Check()
		b, err := codec.Marshal(c)
		require.NoError(t, err)
		var again kubeletconfig.Configuration
		require.NoError(t, codec.Unmarshal(b, &again))
	})
}

func Example() {
	dir, err := os.MkdirTemp("", "config-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "config.yaml")
	err = os.WriteFile(path, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 20\nmemoryManagerPolicy: Static\n"), 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := kubeletconfig.Load(path, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Check())
	c.MemoryManagerPolicy = "None"
	opts, err := c.Options()
	pods := opts.Capacity["pods"]
	fmt.Println(pods.String(), err)
	// Output:
	// memoryManagerPolicy: Static needs reservedMemory
	// 20 <nil>
}

// A URL of manifests reaches the kubelet's options with its header and interval; what is no URL is refused.
func TestStaticPodURL(t *testing.T) {
	load := func(text string) *kubeletconfig.Configuration {
		c, err := kubeletconfig.Load(file(t, t.TempDir(), "url.yaml", text), "")
		require.NoError(t, err)
		return c
	}
	o, err := load("staticPodURL: https://h/pods\nstaticPodURLHeader: {X-A: [b]}\nhttpCheckFrequency: 5s\n").Options()
	require.NoError(t, err)
	require.Equal(t, "https://h/pods", o.StaticPodURL)
	require.Equal(t, "b", o.StaticPodURLHeader.Get("X-A"))
	require.Equal(t, 5*time.Second, o.StaticPodURLInterval)
	require.ErrorContains(t, load("staticPodURL: ftp://h/pods\n").Check(), "staticPodURL")
	require.ErrorContains(t, load("staticPodURLHeader: {X-A: [b]}\n").Check(), "staticPodURLHeader")
}

// What the file says of CPUs and memory of containers becomes the kubelet's policy.
func TestPlacement(t *testing.T) {
	c, err := kubeletconfig.Load(file(t, t.TempDir(), "c.yaml", `
cpuManagerPolicy: static
cpuManagerReconcilePeriod: 3s
cpuManagerPolicyOptions: {full-pcpus-only: "true", strict-cpu-reservation: "true", align-by-socket: "true", distribute-cpus-across-numa: "false"}
featureGates: {CPUManagerPolicyAlphaOptions: true}
reservedSystemCPUs: 0,8
systemReserved: {cpu: "5", memory: 1Gi}
memoryManagerPolicy: Static
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi}}
- {numaNode: 1, limits: {memory: 100Mi, hugepages-2Mi: 4Mi}}
topologyManagerPolicy: restricted
topologyManagerScope: pod
topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true", max-allowable-numa-nodes: "12"}
`), "")
	require.NoError(t, err)
	o, err := c.Options()
	require.NoError(t, err)
	require.Equal(t, kubelet.PlacementPolicy{StaticCPUs: true, ReservedCPUs: "0,8", FullCores: true, StrictReserved: true, AlignSockets: true, Interval: 3 * time.Second,
		StaticMemory: true, ReservedMemory: map[int]corev1.ResourceList{0: {"memory": resource.MustParse("1Gi")}, 1: {"memory": resource.MustParse("100Mi"), "hugepages-2Mi": resource.MustParse("4Mi")}},
		Alignment: "restricted", PodScope: true, Closest: true, MaxNodes: 12}, o.Placement)
	cpu := o.Reserved[corev1.ResourceCPU]
	require.Equal(t, "2", cpu.String(), "the CPUs of reservedSystemCPUs, in place of an amount")
}
