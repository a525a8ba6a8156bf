package kubeletconfig

import (
	"crypto/tls"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// Options returns the options of a kubelet with this configuration. The caller adds what the configuration
// does not contain: the name and addresses of the node, connections, listeners and certificates. A
// configuration that fails Check is an error.
func (c *Configuration) Options() (kubelet.Options, error) {
	g, err := c.check()
	if err != nil {
		return kubelet.Options{}, err
	}
	logSize := resource.MustParse(c.ContainerLogMaxSize) // checked
	evict, err := c.eviction()
	if err != nil {
		return kubelet.Options{}, err
	}
	place, err := c.placement(g)
	if err != nil {
		return kubelet.Options{}, err
	}
	o := kubelet.Options{
		LogDir: c.PodLogsDir, RuntimeEndpoint: c.ContainerRuntimeEndpoint, ImageEndpoint: c.ImageServiceEndpoint, RuntimeTimeout: c.RuntimeRequestTimeout.Duration,
		StaticPodDir: c.StaticPodPath, StaticPodInterval: c.FileCheckFrequency.Duration,
		StaticPodURL: c.StaticPodURL, StaticPodURLHeader: c.StaticPodURLHeader, StaticPodURLInterval: c.HTTPCheckFrequency.Duration,
		ClusterDNS: c.ClusterDNS, ClusterDomain: c.ClusterDomain, ResolvConf: *c.ResolverConfig, NoResolvConf: *c.ResolverConfig == "",
		NoRegister: !*c.RegisterNode, Taints: c.RegisterWithTaints, PodCIDR: c.PodCIDR, ProviderID: c.ProviderID,
		Capacity: corev1.ResourceList{corev1.ResourcePods: resource.NewQuantity(c.podsOf(goruntime.NumCPU()), resource.DecimalSI)}, Reserved: c.reserved(),
		CgroupRoot: c.CgroupRoot, NoCgroups: !*c.CgroupsPerQOS, NoPodLimit: !slices.Contains(c.EnforceNodeAllocatable, "pods"), PodPIDs: max(*c.PodPidsLimit, 0),
		SystemdCgroups: c.CgroupDriver == "systemd", ReservedGroups: c.reservedGroups(),
		SingleProcessOOMKill: c.SingleProcessOOMKill, ProtectKernelDefaults: c.ProtectKernelDefaults,
		NoCPUQuota: !*c.CPUCFSQuota, CPUQuotaPeriod: c.CPUCFSQuotaPeriod.Duration, LimitedSwap: c.MemorySwap.SwapBehavior == limitedSwap,
		NoDebugging: !*c.EnableDebuggingHandlers, StreamIdleTimeout: c.StreamingConnectionIdleTimeout.Duration, RequestServing: c.ServerTLSBootstrap && *c.EnableServer && c.Port != 0,
		SyncInterval: c.SyncFrequency.Duration, NodeStatusInterval: c.NodeStatusUpdateFrequency.Duration, NodeReportInterval: c.NodeStatusReportFrequency.Duration,
		LeaseDuration: time.Duration(c.NodeLeaseDurationSeconds) * time.Second, MaxImages: int(*c.NodeStatusMaxImages),
		MaxRestartDelay: c.CrashLoopBackOff.MaxContainerRestartPeriod.Duration, AllowedSysctls: c.AllowedUnsafeSysctls, SeccompDefault: *c.SeccompDefault,
		ContainerEvents: g.Enabled(gateEvents), ImageVolumeDigests: g.Enabled(gateDigests), SELinuxMount: g.Enabled(gateLabels),
		TrustBundles: g.Enabled(gateBundles), PodCertificates: g.Enabled(gateCertificates),
		Objects: kubelet.ObjectStrategy(c.ConfigMapAndSecretChangeDetectionStrategy), Pulls: c.pulls(), EventsPerSecond: float64(*c.EventRecordQPS), EventBurst: int(c.EventBurst),
		Logs: kubelet.LogPolicy{MaxSize: logSize.Value(), MaxFiles: int(*c.ContainerLogMaxFiles), Interval: c.ContainerLogMonitorInterval.Duration, Workers: int(*c.ContainerLogMaxWorkers)},
		ImageGC: kubelet.ImageGCPolicy{HighPercent: int(*c.ImageGCHighThresholdPercent), LowPercent: int(*c.ImageGCLowThresholdPercent),
			MinAge: c.ImageMinimumGCAge.Duration, MaxAge: c.ImageMaximumGCAge.Duration},
		Eviction: evict, Placement: place, NoLocalStorageLimits: !*c.LocalStorageCapacityIsolation, VolumeStatsInterval: c.VolumeStatsAggPeriod.Duration,
	}
	if u := c.UserNamespaces; u != nil && u.IDsPerPod != nil {
		o.UserNamespaces.IDsPerPod = uint32(*u.IDsPerPod) // checked
	}
	if g.Enabled(gateMemory) {
		o.MemoryQoS = &kubelet.MemoryQoS{Throttling: *c.MemoryThrottlingFactor, Reserve: c.MemoryReservationPolicy == tiered}
	}
	if periods := c.shutdownPeriods(); len(periods) > 0 {
		o.Shutdown = &kubelet.ShutdownPolicy{Periods: periods}
	}
	if o.MaxImages == 0 {
		o.MaxImages = -2 // none at all
	}
	if *c.MakeIPTablesUtilChains {
		o.IPTables = kubelet.SystemIPTables{}
	}
	if is(c.EnableSystemLogHandler) {
		o.SystemLogDir, o.SystemLogQueries = "/var/log", is(c.EnableSystemLogQuery)
	}
	return o, nil
}

func (c *Configuration) pulls() kubelet.PullPolicy {
	p := kubelet.PullPolicy{PerSecond: float64(*c.RegistryPullQPS), Burst: int(c.RegistryBurst), Parallel: 1,
		Verify: kubelet.Verification(c.ImagePullCredentialsVerificationPolicy), Preloaded: c.PreloadedImagesVerificationAllowlist}
	if !*c.SerializeImagePulls {
		p.Parallel = -1
		if n := c.MaxParallelImagePulls; n != nil {
			p.Parallel = int(*n)
		}
	}
	return p
}

// eviction is what the configuration says of evictions.
func (c *Configuration) eviction() (kubelet.EvictionPolicy, error) {
	merge := func(m map[string]string) map[string]string {
		if !*c.MergeDefaultEvictionSettings {
			return m
		}
		merged := kubelet.DefaultEvictionHard()
		maps.Copy(merged, m)
		return merged
	}
	p := kubelet.EvictionPolicy{Hard: c.EvictionHard, Soft: c.EvictionSoft, SoftGrace: c.EvictionSoftGracePeriod, MinimumReclaim: c.EvictionMinimumReclaim,
		MaxPodGrace: time.Duration(c.EvictionMaxPodGracePeriod) * time.Second, Transition: c.EvictionPressureTransitionPeriod.Duration,
		KernelReports: c.KernelMemcgNotification}
	if c.EvictionHard != nil {
		p.Hard = merge(c.EvictionHard)
	}
	return p, p.Check()
}

// reserved returns the sum of the resources that are kept from pods.
func (c *Configuration) reserved() corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, m := range []map[string]string{c.KubeReserved, c.SystemReserved} {
		for name, text := range m {
			q := resource.MustParse(text) // checked
			have := sum[corev1.ResourceName(name)]
			have.Add(q)
			sum[corev1.ResourceName(name)] = have
		}
	}
	if cpus, ok := c.reservedCPUs(); ok {
		sum[corev1.ResourceCPU] = cpus // in place of what is reserved by amount
	}
	return sum
}

// reservedGroups are the cgroups that are limited to what is reserved for them.
func (c *Configuration) reservedGroups() []kubelet.ReservedGroup {
	var list []kubelet.ReservedGroup
	for _, g := range []struct {
		key, what, name string
		reserved        map[string]string
	}{{systemReserved, "System Reserved", c.SystemReservedCgroup, c.SystemReserved}, {kubeReserved, "Kube Reserved", c.KubeReservedCgroup, c.KubeReserved}} {
		cpuOnly := slices.Contains(c.EnforceNodeAllocatable, g.key+compressible)
		if !cpuOnly && !slices.Contains(c.EnforceNodeAllocatable, g.key) {
			continue
		}
		one := kubelet.ReservedGroup{Name: g.name, What: g.what, Resources: corev1.ResourceList{}}
		for name, text := range g.reserved {
			if !cpuOnly || name == string(corev1.ResourceCPU) {
				one.Resources[corev1.ResourceName(name)] = resource.MustParse(text) // checked
			}
		}
		list = append(list, one)
	}
	return list
}

// TLS returns the configuration of the kubelet API's TLS, without certificates.
func (c *Configuration) TLS() (*tls.Config, error) { return c.tlsSettings() }

func (c *Configuration) tlsSettings() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	versions := map[string]uint16{"": tls.VersionTLS12, "VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}
	version, ok := versions[c.TLSMinVersion]
	if !ok {
		return nil, fmt.Errorf("tlsMinVersion: %q is neither VersionTLS12 nor VersionTLS13", c.TLSMinVersion)
	}
	config.MinVersion = version
	suites := map[string]uint16{}
	for _, s := range tls.CipherSuites() {
		suites[s.Name] = s.ID
	}
	for _, name := range c.TLSCipherSuites {
		id, ok := suites[name]
		if !ok {
			return nil, fmt.Errorf("tlsCipherSuites: %q is unknown or insecure", name)
		}
		config.CipherSuites = append(config.CipherSuites, id)
	}
	for _, id := range c.TLSCurvePreferences {
		config.CurvePreferences = append(config.CurvePreferences, tls.CurveID(id))
	}
	return config, nil
}
