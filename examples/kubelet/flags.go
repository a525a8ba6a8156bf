package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

// The flags of the kubelet of Kubernetes 1.36. Most are fields of the configuration file too,
// and win over it.

// bind registers the flags that are fields of the configuration.
func bind(f *pflag.FlagSet, c *kubeletconfig.Configuration) {
	bindSources(f, c)
	bindServers(f, c)
	bindNode(f, c)
	bindResources(f, c)
	bindPods(f, c)
	bindEviction(f, c)
	component.Limit(f, map[string]component.Fixed{
		"anonymous-auth":                    {Values: []string{"false"}, Why: "the kubelet API requires authentication"},
		"streaming-connection-idle-timeout": {Values: []string{"4h"}, Why: "other times are not supported"},
		"runonce":                           {Values: []string{"false"}, Why: "removed from Kubernetes"},
		"protect-kernel-defaults":           {Values: []string{"false"}, Why: "kernel parameters of the machine are neither changed nor checked"},
		"kubelet-cgroups":                   {Values: []string{""}, Why: "no processes are moved between cgroups: use the system's service manager"},
		"system-cgroups":                    {Values: []string{""}, Why: "no processes are moved between cgroups: use the system's service manager"},
		"qos-reserved":                      {Values: []string{""}, Why: "an alpha feature that this kubelet does not have"},
		"enable-controller-attach-detach":   {Values: []string{"true"}, Why: "this kubelet attaches no volumes"},
		"volume-plugin-dir":                 {Values: []string{c.VolumePluginDir}, Why: "flexVolume plugins are not supported"},
	})
}

func bindSources(f *pflag.FlagSet, c *kubeletconfig.Configuration) {
	duration := func(to *time.Duration, name, usage string) { f.DurationVar(to, name, *to, usage) }
	f.StringVar(&c.StaticPodPath, "pod-manifest-path", c.StaticPodPath, "folder of manifests of static pods")
	f.StringVar(&c.StaticPodURL, "manifest-url", c.StaticPodURL, "URL of manifests of static pods")
	f.Var(&headers{to: &c.StaticPodURLHeader}, "manifest-url-header", "headers of requests of --manifest-url, as NAME:VALUE,...")
	duration(&c.SyncFrequency.Duration, "sync-frequency", "how often pods and their volumes are synced without a change")
	duration(&c.FileCheckFrequency.Duration, "file-check-frequency", "how often the manifest folder is read")
	duration(&c.HTTPCheckFrequency.Duration, "http-check-frequency", "how often --manifest-url is read")
	f.StringVar(&c.ContainerRuntimeEndpoint, "container-runtime-endpoint", c.ContainerRuntimeEndpoint, "CRI socket of the container runtime")
	f.StringVar(&c.ImageServiceEndpoint, "image-service-endpoint", c.ImageServiceEndpoint, "CRI socket for images (empty: that of the runtime)")
	duration(&c.RuntimeRequestTimeout.Duration, "runtime-request-timeout", "how long calls of the container runtime may take, except those that take long by nature")
	f.StringVar(&c.ContentType, "kube-api-content-type", c.ContentType, "encoding of requests; the client uses the best that the server has in any case")
	f.Int32Var(c.KubeAPIQPS, "kube-api-qps", *c.KubeAPIQPS, "most requests per second to the API server")
	f.Int32Var(&c.KubeAPIBurst, "kube-api-burst", c.KubeAPIBurst, "how many requests may go beyond --kube-api-qps at once")
}

func bindServers(f *pflag.FlagSet, c *kubeletconfig.Configuration) {
	duration := func(to *time.Duration, name, usage string) { f.DurationVar(to, name, *to, usage) }
	f.BoolVar(c.EnableServer, "enable-server", *c.EnableServer, "serve the kubelet API and the read-only one")
	f.StringVar(&c.Address, "address", c.Address, "address of the kubelet API")
	f.Int32Var(&c.Port, "port", c.Port, "port of the kubelet API")
	f.Int32Var(&c.ReadOnlyPort, "read-only-port", c.ReadOnlyPort, "port of the read-only API, which needs no authentication; 0 turns it off")
	f.StringVar(&c.HealthzBindAddress, "healthz-bind-address", c.HealthzBindAddress, "address of /healthz")
	f.Int32Var(c.HealthzPort, "healthz-port", *c.HealthzPort, "port of /healthz; 0 turns it off")
	f.StringVar(&c.TLSCertFile, "tls-cert-file", c.TLSCertFile, "serving certificate (empty: one is generated in --cert-dir)")
	f.StringVar(&c.TLSPrivateKeyFile, "tls-private-key-file", c.TLSPrivateKeyFile, "key of the serving certificate")
	f.StringSliceVar(&c.TLSCipherSuites, "tls-cipher-suites", c.TLSCipherSuites, "cipher suites of TLS 1.2, by their names in Go")
	f.StringVar(&c.TLSMinVersion, "tls-min-version", c.TLSMinVersion, "VersionTLS12 or VersionTLS13")
	f.BoolVar(&c.RotateCertificates, "rotate-certificates", c.RotateCertificates, "renew the client certificate through the API server")
	f.BoolVar(&c.ServerTLSBootstrap, "rotate-server-certificates", c.ServerTLSBootstrap, "request the serving certificate from the API server and renew it in time")
	f.BoolVar(c.Authentication.Anonymous.Enabled, "anonymous-auth", *c.Authentication.Anonymous.Enabled, "")
	f.StringVar(&c.Authentication.X509.ClientCAFile, "client-ca-file", c.Authentication.X509.ClientCAFile, "authorities of client certificates; empty: client certificates are not accepted")
	webhook, rights := &c.Authentication.Webhook, &c.Authorization
	f.BoolVar(webhook.Enabled, "authentication-token-webhook", *webhook.Enabled, "accept bearer tokens that the API server accepts in a TokenReview")
	duration(&webhook.CacheTTL.Duration, "authentication-token-webhook-cache-ttl", "how long TokenReviews are cached")
	f.StringVar(&rights.Mode, "authorization-mode", rights.Mode, "who may use the kubelet API: Webhook (SubjectAccessReviews decide) or AlwaysAllow (every authenticated user)")
	duration(&rights.Webhook.CacheAuthorizedTTL.Duration, "authorization-webhook-cache-authorized-ttl", "how long an allowing SubjectAccessReview is cached")
	duration(&rights.Webhook.CacheUnauthorizedTTL.Duration, "authorization-webhook-cache-unauthorized-ttl", "how long a denying SubjectAccessReview is cached")
	f.BoolVar(c.EnableDebuggingHandlers, "enable-debugging-handlers", *c.EnableDebuggingHandlers, "serve logs, commands and port forwarding of pods")
	f.BoolVar(&c.EnableContentionProfiling, "contention-profiling", c.EnableContentionProfiling, "profile waiting for locks")
	duration(&c.StreamingConnectionIdleTimeout.Duration, "streaming-connection-idle-timeout", "")
}

func bindNode(f *pflag.FlagSet, c *kubeletconfig.Configuration) {
	duration := func(to *time.Duration, name, usage string) { f.DurationVar(to, name, *to, usage) }
	f.BoolVar(c.RegisterNode, "register-node", *c.RegisterNode, "create the Node object if it does not exist")
	f.Var(&taints{to: &c.RegisterWithTaints}, "register-with-taints", "taints the node registers with, as key=value:Effect,...")
	f.StringVar(&c.ProviderID, "provider-id", c.ProviderID, "what the provider of the machine calls it")
	duration(&c.NodeStatusUpdateFrequency.Duration, "node-status-update-frequency", "how often the node's status is computed")
	f.Int32Var(c.NodeStatusMaxImages, "node-status-max-images", *c.NodeStatusMaxImages, "most images in the node's status; -1: all")
	f.Int32Var(&c.MaxPods, "max-pods", c.MaxPods, "maximum number of pods of the node")
	f.Int32Var(&c.PodsPerCore, "pods-per-core", c.PodsPerCore, "maximum number of pods per CPU, within --max-pods; 0: any number")
	f.StringVar(&c.PodCIDR, "pod-cidr", c.PodCIDR, "range of the node's pods, where no controller assigns it")
	f.StringVar(&c.ClusterDomain, "cluster-domain", c.ClusterDomain, "domain of the cluster, searched by pods")
	f.StringSliceVar(&c.ClusterDNS, "cluster-dns", c.ClusterDNS, "addresses of the cluster's DNS")
	f.StringVar(c.ResolverConfig, "resolv-conf", *c.ResolverConfig, "the node's resolver configuration")
	f.Int32Var(c.EventRecordQPS, "event-qps", *c.EventRecordQPS, "most events per second; 0: any number")
	f.Int32Var(&c.EventBurst, "event-burst", c.EventBurst, "how many events may go beyond --event-qps at once")
	f.Int32Var(c.OOMScoreAdj, "oom-score-adj", *c.OOMScoreAdj, "oom_score_adj of this process")
	f.Int64Var(&c.MaxOpenFiles, "max-open-files", c.MaxOpenFiles, "most files this process may open")
	f.BoolVar(c.FailSwapOn, "fail-swap-on", *c.FailSwapOn, "do not start while swap is enabled")
	f.BoolVar(c.FailCgroupV1, "fail-cgroupv1", *c.FailCgroupV1, "do not start on a machine with cgroup v1")
	f.BoolVar(&c.RunOnce, "runonce", c.RunOnce, "")
	f.BoolVar(c.MakeIPTablesUtilChains, "make-iptables-util-chains", *c.MakeIPTablesUtilChains, "make the iptables chains by which other components find the variant of iptables, and KUBE-FIREWALL")
	f.BoolVar(&c.ProtectKernelDefaults, "protect-kernel-defaults", c.ProtectKernelDefaults, "")
	f.StringVar(&c.HairpinMode, "hairpin-mode", c.HairpinMode, "accepted for compatibility: the network plugin decides it")
	f.Var(&gates{to: &c.FeatureGates}, "feature-gates", "features of Kubernetes, as Name=true,...; those of other components have no effect")
}

func bindResources(f *pflag.FlagSet, c *kubeletconfig.Configuration) {
	f.StringVar(&c.CgroupRoot, "cgroup-root", c.CgroupRoot, "cgroup above those of pods")
	f.BoolVar(c.CgroupsPerQOS, "cgroups-per-qos", *c.CgroupsPerQOS, "make cgroups per quality of service and pod")
	f.StringVar(&c.CgroupDriver, "cgroup-driver", c.CgroupDriver, "how cgroups are named: cgroupfs or systemd; a runtime that says which it uses is followed")
	f.StringVar(&c.KubeletCgroups, "kubelet-cgroups", c.KubeletCgroups, "")
	f.StringVar(&c.SystemCgroups, "system-cgroups", c.SystemCgroups, "")
	f.StringSliceVar(&c.EnforceNodeAllocatable, "enforce-node-allocatable", c.EnforceNodeAllocatable, "what is limited: pods, system-reserved, kube-reserved, or the latter two with -compressible for CPU time only; or none")
	f.Var(&pairs{to: &c.KubeReserved, sep: "="}, "kube-reserved", "resources kept from pods for Kubernetes, as cpu=100m,memory=100Mi")
	f.Var(&pairs{to: &c.SystemReserved, sep: "="}, "system-reserved", "resources kept from pods for the system")
	f.StringVar(&c.KubeReservedCgroup, "kube-reserved-cgroup", c.KubeReservedCgroup, "cgroup to limit to --kube-reserved, which exists")
	f.StringVar(&c.SystemReservedCgroup, "system-reserved-cgroup", c.SystemReservedCgroup, "cgroup to limit to --system-reserved, which exists")
	f.StringVar(&c.ReservedSystemCPUs, "reserved-cpus", c.ReservedSystemCPUs, "CPUs, as 0,8-9, that no container has for itself; they replace the CPU of --kube-reserved and --system-reserved")
	f.StringVar(&c.CPUManagerPolicy, "cpu-manager-policy", c.CPUManagerPolicy, "none, or static: containers of Guaranteed pods that request whole CPUs have them for themselves")
	f.Var(&pairs{to: &c.CPUManagerPolicyOptions, sep: "="}, "cpu-manager-policy-options", "options of the policy static, as full-pcpus-only=true")
	f.DurationVar(&c.CPUManagerReconcilePeriod.Duration, "cpu-manager-reconcile-period", c.CPUManagerReconcilePeriod.Duration, "time between comparisons of the CPUs that containers have with those that they should have")
	f.StringVar(&c.MemoryManagerPolicy, "memory-manager-policy", c.MemoryManagerPolicy, "None, or Static: containers of Guaranteed pods have memory of as few NUMA nodes as possible; needs --reserved-memory")
	f.StringVar(&c.TopologyManagerPolicy, "topology-manager-policy", c.TopologyManagerPolicy, "whether CPUs, memory and devices must be near each other: none, best-effort, restricted or single-numa-node")
	f.StringVar(&c.TopologyManagerScope, "topology-manager-scope", c.TopologyManagerScope, "what must be near each other: the resources of a container, or of a pod")
	f.Var(&pairs{to: &c.TopologyManagerPolicyOptions, sep: "="}, "topology-manager-policy-options", "prefer-closest-numa-nodes=true, max-allowable-numa-nodes=N")
	f.Var(&reservations{to: &c.ReservedMemory}, "reserved-memory", "memory of NUMA nodes that is not given to containers, as 0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi")
	f.Var(&pairs{to: &c.QOSReserved, sep: "="}, "qos-reserved", "")
	f.BoolVar(c.CPUCFSQuota, "cpu-cfs-quota", *c.CPUCFSQuota, "enforce CPU limits")
	f.DurationVar(&c.CPUCFSQuotaPeriod.Duration, "cpu-cfs-quota-period", c.CPUCFSQuotaPeriod.Duration, "period of CPU limits")
}

func bindPods(f *pflag.FlagSet, c *kubeletconfig.Configuration) {
	f.Int64Var(c.PodPidsLimit, "pod-max-pids", *c.PodPidsLimit, "most processes of a pod; -1: any number")
	f.StringSliceVar(&c.AllowedUnsafeSysctls, "allowed-unsafe-sysctls", c.AllowedUnsafeSysctls, "kernel parameters that pods may set besides the safe ones; a trailing * matches the rest")
	f.BoolVar(c.SeccompDefault, "seccomp-default", *c.SeccompDefault, "the runtime's default seccomp profile is that of all containers without one")
	f.BoolVar(c.SerializeImagePulls, "serialize-image-pulls", *c.SerializeImagePulls, "pull one image at a time")
	f.Int32Var(c.RegistryPullQPS, "registry-qps", *c.RegistryPullQPS, "most pulls per second; 0: any number")
	f.Int32Var(&c.RegistryBurst, "registry-burst", c.RegistryBurst, "how many pulls may go beyond --registry-qps at once")
	f.StringVar(&c.ContainerLogMaxSize, "container-log-max-size", c.ContainerLogMaxSize, "size from which on a container's log file is replaced")
	f.Int32Var(c.ContainerLogMaxFiles, "container-log-max-files", *c.ContainerLogMaxFiles, "most log files of a container, at least 2")
	f.DurationVar(&c.ImageMinimumGCAge.Duration, "minimum-image-ttl-duration", c.ImageMinimumGCAge.Duration, "how long an unused image is kept in any case")
	f.Int32Var(c.ImageGCHighThresholdPercent, "image-gc-high-threshold", *c.ImageGCHighThresholdPercent, "percentage of the disk's use from which on unused images are removed")
	f.Int32Var(c.ImageGCLowThresholdPercent, "image-gc-low-threshold", *c.ImageGCLowThresholdPercent, "percentage of the disk's use down to which they are")
	f.DurationVar(&c.VolumeStatsAggPeriod.Duration, "volume-stats-agg-period", c.VolumeStatsAggPeriod.Duration, "how often the disk use of pods is measured")
	f.BoolVar(c.EnableControllerAttachDetach, "enable-controller-attach-detach", *c.EnableControllerAttachDetach, "")
	f.StringVar(&c.VolumePluginDir, "volume-plugin-dir", c.VolumePluginDir, "")
}

func bindEviction(f *pflag.FlagSet, c *kubeletconfig.Configuration) {
	f.Var(&pairs{to: &c.EvictionHard, sep: "<"}, "eviction-hard", "thresholds below which a pod is evicted at once, as memory.available<100Mi,...")
	f.Var(&pairs{to: &c.EvictionSoft, sep: "<"}, "eviction-soft", "thresholds below which a pod is evicted after --eviction-soft-grace-period")
	f.Var(&pairs{to: &c.EvictionSoftGracePeriod, sep: "="}, "eviction-soft-grace-period", "durations of --eviction-soft, as memory.available=1m30s,...")
	f.Var(&pairs{to: &c.EvictionMinimumReclaim, sep: "="}, "eviction-minimum-reclaim", "how much more than the threshold has to be available, as imagefs.available=2Gi,...")
	f.DurationVar(&c.EvictionPressureTransitionPeriod.Duration, "eviction-pressure-transition-period", c.EvictionPressureTransitionPeriod.Duration, "how long a pressure condition outlives its cause")
	f.Int32Var(&c.EvictionMaxPodGracePeriod, "eviction-max-pod-grace-period", c.EvictionMaxPodGracePeriod, "most seconds a pod gets to end at a soft threshold")
	f.BoolVar(&c.KernelMemcgNotification, "kernel-memcg-notification", c.KernelMemcgNotification, "")
	f.BoolVar(c.LocalStorageCapacityIsolation, "local-storage-capacity-isolation", *c.LocalStorageCapacityIsolation, "evict pods that use more disk space than their limits")
}

// cadvisor is why flags of cAdvisor, which upstream's kubelet carries along, are refused.
const cadvisor = "a flag of cAdvisor, which is no part of this kubelet: the runtime says what containers use"

// bindOthers registers upstream's flags without a field: what they may be set to, or why not.
func bindOthers(f *pflag.FlagSet) {
	component.Fix(f, map[string]component.Fixed{
		"exit-on-lock-contention":                  {Values: []string{"false"}, Why: "an alpha feature that this kubelet does not have"},
		"experimental-allocatable-ignore-eviction": {Values: []string{"false"}, Why: "hard eviction thresholds are never allocatable"},
		"minimum-container-ttl-duration":           {Values: []string{"0s"}, Why: "deprecated; ended containers beyond the newest are removed at once"},
		"maximum-dead-containers-per-container":    {Values: []string{"1"}, Why: "deprecated; one ended run of each container is kept"},
		"maximum-dead-containers":                  {Values: []string{"-1"}, Why: "deprecated; one ended run of each container is kept"},
	})
	component.Refuse(f, map[string]string{
		"lock-file":                 "an alpha feature that this kubelet does not have",
		"runtime-cgroups":           "this kubelet moves no processes between cgroups",
		"experimental-mounter-path": "removed from Kubernetes",
		"boot-id-file":              "the ID of the boot is read from /proc/sys/kernel/random/boot_id",
		"machine-id-file":           "the ID of the machine is read from /etc/machine-id",
	})
	for _, name := range []string{"application-metrics-count-limit", "container-hints", "containerd", "containerd-namespace",
		"enable-load-reader", "event-storage-age-limit", "event-storage-event-limit", "global-housekeeping-interval",
		"housekeeping-interval", "log-cadvisor-usage", "storage-driver-buffer-duration", "storage-driver-db",
		"storage-driver-host", "storage-driver-password", "storage-driver-secure", "storage-driver-table",
		"storage-driver-user"} {
		component.Refuse(f, map[string]string{name: cadvisor})
	}
}
