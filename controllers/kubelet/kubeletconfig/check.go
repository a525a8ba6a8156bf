package kubeletconfig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Check returns what is wrong with the configuration and what of it this kubelet does not do, all of it.
func (c *Configuration) Check() error {
	_, err := c.check()
	return err
}

// check returns the features too, on which it depends what else may be set.
func (c *Configuration) check() (*featuregate.Gate, error) {
	g, err := c.Features()
	if err != nil {
		return nil, err
	}
	return g, errors.Join(c.checkServers(), c.checkNode(), c.checkResources(g), c.checkPods(g), c.checkShutdown(g), c.refuse())
}

// problems collects errors.
type problems []error

// add adds the problem of a field, if something is wrong.
func (p *problems) add(wrong bool, field, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf("%s: "+format, append([]any{field}, args...)...))
	}
}

func (p problems) err() error { return errors.Join(p...) }

func is(b *bool) bool { return b != nil && *b }

func (c *Configuration) checkServers() error {
	var p problems
	port := func(field string, n int32, zero bool) {
		p.add(n < 0 || n > 65535 || n == 0 && !zero, field, "%d is no port", n)
	}
	port("port", c.Port, false)
	port("readOnlyPort", c.ReadOnlyPort, true)
	port("healthzPort", *c.HealthzPort, true)
	for field, text := range map[string]string{"address": c.Address, "healthzBindAddress": c.HealthzBindAddress} {
		_, err := netip.ParseAddr(text)
		p.add(err != nil, field, "%q is no IP address", text)
	}
	p.add((c.TLSCertFile == "") != (c.TLSPrivateKeyFile == ""), "tlsCertFile", "it needs tlsPrivateKeyFile, and the reverse")
	p.add(is(c.Authentication.Anonymous.Enabled), "authentication.anonymous.enabled", "this kubelet requires authentication; set it to false")
	p.add(c.Authorization.Mode != ModeWebhook && c.Authorization.Mode != ModeAlwaysAllow, "authorization.mode", "%q is neither Webhook nor AlwaysAllow", c.Authorization.Mode)
	for field, d := range map[string]time.Duration{"authentication.webhook.cacheTTL": c.Authentication.Webhook.CacheTTL.Duration,
		"authorization.webhook.cacheAuthorizedTTL":   c.Authorization.Webhook.CacheAuthorizedTTL.Duration,
		"authorization.webhook.cacheUnauthorizedTTL": c.Authorization.Webhook.CacheUnauthorizedTTL.Duration,
		"streamingConnectionIdleTimeout":             c.StreamingConnectionIdleTimeout.Duration} {
		p.add(d < 0, field, "%v must not be negative", d)
	}
	_, err := c.tlsSettings()
	p.add(err != nil, "tls", "%v", err)
	return p.err()
}

func (c *Configuration) checkNode() error {
	var p problems
	p.add(c.NodeLeaseDurationSeconds < 0, "nodeLeaseDurationSeconds", "%d must be greater than 0", c.NodeLeaseDurationSeconds)
	p.add(*c.NodeStatusMaxImages < -1, "nodeStatusMaxImages", "%d must be -1 or greater", *c.NodeStatusMaxImages)
	p.add(*c.OOMScoreAdj < -1000 || *c.OOMScoreAdj > 1000, "oomScoreAdj", "%d is not within -1000 and 1000", *c.OOMScoreAdj)
	for field, n := range map[string]int64{"eventBurst": int64(c.EventBurst), "eventRecordQPS": int64(*c.EventRecordQPS), "kubeAPIQPS": int64(*c.KubeAPIQPS), "kubeAPIBurst": int64(c.KubeAPIBurst),
		"registryPullQPS": int64(*c.RegistryPullQPS), "registryBurst": int64(c.RegistryBurst), "maxOpenFiles": c.MaxOpenFiles, "podsPerCore": int64(c.PodsPerCore),
		"maxPods": int64(c.MaxPods), "evictionMaxPodGracePeriod": int64(c.EvictionMaxPodGracePeriod)} {
		p.add(n < 0, field, "%d must not be negative", n)
	}
	for field, d := range map[string]time.Duration{"syncFrequency": c.SyncFrequency.Duration, "fileCheckFrequency": c.FileCheckFrequency.Duration,
		"httpCheckFrequency": c.HTTPCheckFrequency.Duration, "nodeStatusUpdateFrequency": c.NodeStatusUpdateFrequency.Duration,
		"nodeStatusReportFrequency": c.NodeStatusReportFrequency.Duration, "volumeStatsAggPeriod": c.VolumeStatsAggPeriod.Duration,
		"runtimeRequestTimeout": c.RuntimeRequestTimeout.Duration, "containerLogMonitorInterval": c.ContainerLogMonitorInterval.Duration} {
		p.add(d < 0, field, "%v must not be negative", d)
	}
	p.add(is(c.EnableSystemLogQuery) && !is(c.EnableSystemLogHandler), "enableSystemLogQuery", "enableSystemLogHandler is required for it")
	if c.PodCIDR != "" {
		for part := range strings.SplitSeq(c.PodCIDR, ",") {
			_, err := netip.ParsePrefix(part)
			p.add(err != nil, "podCIDR", "%v", err)
		}
	}
	if c.StaticPodURL != "" {
		u, err := url.Parse(c.StaticPodURL)
		p.add(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "", "staticPodURL", "%q is no http or https URL", c.StaticPodURL)
	}
	p.add(c.StaticPodURL == "" && len(c.StaticPodURLHeader) > 0, "staticPodURLHeader", "there is no staticPodURL")
	for _, ip := range c.ClusterDNS {
		_, err := netip.ParseAddr(ip)
		p.add(err != nil, "clusterDNS", "%q is no IP address", ip)
	}
	for _, t := range c.RegisterWithTaints {
		p.add(t.Key == "" || t.Effect == "", "registerWithTaints", "%v needs a key and an effect", t)
		p.add(t.TimeAdded != nil, "registerWithTaints", "timeAdded of %s is the server's", t.Key)
	}
	return p.err()
}

func (c *Configuration) checkResources(g *featuregate.Gate) error {
	var p problems
	for field, m := range map[string]map[string]string{"kubeReserved": c.KubeReserved, "systemReserved": c.SystemReserved} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			q, err := resource.Parse(m[name])
			p.add(err != nil || q.Sign() < 0, field, "%s: %q is no amount", name, m[name])
			p.add(!slices.Contains([]string{"cpu", "memory", "ephemeral-storage", "pid"}, name), field, "%s cannot be reserved", name)
		}
	}
	seen := map[string]bool{}
	for _, e := range c.EnforceNodeAllocatable {
		p.add(seen[e], "enforceNodeAllocatable", "%s is there twice", e)
		seen[e] = true
		switch e {
		case "pods":
			p.add(!*c.CgroupsPerQOS, "enforceNodeAllocatable", "pods needs cgroupsPerQOS")
		case "none", "":
			p.add(len(c.EnforceNodeAllocatable) > 1, "enforceNodeAllocatable", "none stands alone")
		case systemReserved, systemReserved + compressible:
			p.add(c.SystemReservedCgroup == "", "systemReservedCgroup", "it is missing, and enforceNodeAllocatable has %s", e)
		case kubeReserved, kubeReserved + compressible:
			p.add(c.KubeReservedCgroup == "", "kubeReservedCgroup", "it is missing, and enforceNodeAllocatable has %s", e)
		default:
			p.add(true, "enforceNodeAllocatable", "%q is unknown", e)
		}
	}
	for _, name := range []string{systemReserved, kubeReserved} {
		p.add(seen[name] && seen[name+compressible], "enforceNodeAllocatable", "%s and %s%s exclude each other", name, name, compressible)
	}
	p.add((c.SystemReservedCgroup != "" || c.KubeReservedCgroup != "") && !*c.CgroupsPerQOS, "systemReservedCgroup and kubeReservedCgroup", "they need cgroupsPerQOS")
	p.add(c.CgroupDriver != "cgroupfs" && c.CgroupDriver != "systemd", "cgroupDriver", "%q is neither cgroupfs nor systemd", c.CgroupDriver)
	period := c.CPUCFSQuotaPeriod.Duration
	p.add(period < time.Millisecond || period > time.Second, "cpuCFSQuotaPeriod", "%v is not within 1ms and 1s", period)
	p.add(period != 100*time.Millisecond && !g.Enabled(gatePeriod), "cpuCFSQuotaPeriod", "another one than 100ms needs the feature gate %s", gatePeriod)
	factor, policy := *c.MemoryThrottlingFactor, c.MemoryReservationPolicy
	p.add(!(factor > 0 && factor <= 1), "memoryThrottlingFactor", "%v must be greater than 0 and less than or equal to 1.0", factor)
	p.add(policy != "None" && policy != tiered, "memoryReservationPolicy", "%q is neither None nor %s", policy, tiered)
	p.add(policy == tiered && !g.Enabled(gateMemory), "memoryReservationPolicy", "%s needs the feature gate %s", tiered, gateMemory)
	p.add(factor != 0.9 && !g.Enabled(gateMemory), "memoryThrottlingFactor", "another one than 0.9 needs the feature gate %s", gateMemory)
	swap := c.MemorySwap.SwapBehavior
	p.add(swap != "" && swap != "NoSwap" && swap != limitedSwap, "memorySwap.swapBehavior", "%q is none of NoSwap and LimitedSwap", swap)
	high, low := *c.ImageGCHighThresholdPercent, *c.ImageGCLowThresholdPercent
	p.add(high < 0 || high > 100 || low < 0 || low >= high, "imageGCLowThresholdPercent", "%d must be 0 or more and less than imageGCHighThresholdPercent, %d, which is at most 100", low, high)
	most, least := c.ImageMaximumGCAge.Duration, c.ImageMinimumGCAge.Duration
	p.add(least < 0 || most < 0 || most > 0 && most <= least, "imageMaximumGCAge", "%v must be 0 or greater than imageMinimumGCAge, %v", most, least)
	size, err := resource.Parse(c.ContainerLogMaxSize)
	p.add(err != nil || size.Sign() < 0 && c.ContainerLogMaxSize != "-1", "containerLogMaxSize", "%q is no size", c.ContainerLogMaxSize)
	p.add(*c.ContainerLogMaxFiles <= 1, "containerLogMaxFiles", "%d must be greater than 1", *c.ContainerLogMaxFiles)
	p.add(*c.ContainerLogMaxWorkers < 1, "containerLogMaxWorkers", "%d must be greater than 0", *c.ContainerLogMaxWorkers)
	return p.err()
}

func (c *Configuration) checkPods(g *featuregate.Gate) error {
	var p problems
	if u := c.UserNamespaces; u != nil && u.IDsPerPod != nil {
		n := *u.IDsPerPod
		p.add(n < idsUnit || n > math.MaxUint32 || n%idsUnit != 0, "userNamespaces.idsPerPod", "%d is no multiple of %d up to %d", n, idsUnit, uint32(math.MaxUint32))
	}
	restart := c.CrashLoopBackOff.MaxContainerRestartPeriod.Duration
	p.add(restart < time.Second || restart > 5*time.Minute, "crashLoopBackOff.maxContainerRestartPeriod", "%v is not within 1s and 300s", restart)
	pulls := c.MaxParallelImagePulls
	p.add(pulls != nil && *pulls < 1, "maxParallelImagePulls", "it must be positive")
	p.add(pulls != nil && *pulls > 1 && *c.SerializeImagePulls, "maxParallelImagePulls", "more than 1 needs serializeImagePulls: false")
	verified := c.pulls()
	err := verified.Check()
	p.add(err != nil, "imagePullCredentialsVerificationPolicy and preloadedImagesVerificationAllowlist", "%v", err)
	p.add(!slices.Contains([]string{"promiscuous-bridge", "hairpin-veth", "none"}, c.HairpinMode), "hairpinMode", "%q is unknown", c.HairpinMode)
	p.add(!slices.Contains([]string{"Get", "Cache", "Watch"}, c.ConfigMapAndSecretChangeDetectionStrategy), "configMapAndSecretChangeDetectionStrategy", "%q is none of Get, Cache and Watch",
		c.ConfigMapAndSecretChangeDetectionStrategy)
	p.add(c.Logging.Format != "text" && c.Logging.Format != "json", "logging.format", "%q is neither text nor json", c.Logging.Format)
	for _, s := range c.AllowedUnsafeSysctls {
		name := strings.ReplaceAll(s, "/", ".")
		p.add(!strings.HasPrefix(name, "kernel.shm") && !strings.HasPrefix(name, "kernel.msg") && name != "kernel.sem" && !strings.HasPrefix(name, "fs.mqueue.") && !strings.HasPrefix(name, "net."),
			"allowedUnsafeSysctls", "%s is not a sysctl of a namespace", s)
	}
	if _, err := c.eviction(); err != nil {
		p = append(p, err)
	}
	if _, err := c.placement(g); err != nil {
		p = append(p, err)
	}
	return p.err()
}

// refuse returns what this kubelet does not do.
func (c *Configuration) refuse() error {
	var p problems
	not := func(wanted bool, field, why string) {
		p.add(wanted, field, "%s", why)
	}
	not(c.ContentType != "application/vnd.kubernetes.protobuf" && c.ContentType != "application/json", "contentType", "the client negotiates the best encoding that the server has")
	not(c.RunOnce, "runOnce", "the mode has been removed from Kubernetes")
	not(c.KubeletCgroups != "" || c.SystemCgroups != "", "kubeletCgroups and systemCgroups", "this kubelet moves no processes between cgroups; use the system's service manager")
	not(len(c.QOSReserved) > 0, "qosReserved", "an alpha feature that this kubelet does not have")
	not(!*c.EnableControllerAttachDetach, "enableControllerAttachDetach", "this kubelet attaches no volumes; set it to true")
	not(c.ShowHiddenMetricsForVersion != "", "showHiddenMetricsForVersion", "this kubelet hides no metrics")
	not(c.VolumePluginDir != defaultPluginDir, "volumePluginDir", "flexVolume plugins are not supported")
	not(len(c.Logging.VModule) > 0 || c.Logging.Options.Text.SplitStream || c.Logging.Options.JSON.SplitStream, "logging", "vmodule and splitStream are not supported")
	not(*c.IPTablesMasqueradeBit != 14 || *c.IPTablesDropBit != 15, "iptablesMasqueradeBit and iptablesDropBit", "no rule of Kubernetes 1.36 depends on them")
	return p.err()
}

// idsUnit is what the number of ids of a pod with a user namespace is a multiple of.
const idsUnit = 65536

// Values of enforceNodeAllocatable, memorySwap and memoryReservationPolicy. What is compressible is CPU time.
const (
	systemReserved = "system-reserved"
	kubeReserved   = "kube-reserved"
	compressible   = "-compressible"
	limitedSwap    = "LimitedSwap"
	tiered         = "TieredReservation"
)

// podsOf is how many pods the node runs at most.
func (c *Configuration) podsOf(cpus int) int64 {
	if c.PodsPerCore > 0 {
		return min(int64(c.PodsPerCore)*int64(cpus), int64(c.MaxPods))
	}
	return cmp.Or(int64(c.MaxPods), 110)
}
