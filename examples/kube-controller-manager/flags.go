package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/builtin/nodeipam"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

// concurrency are the flags of how many objects a controller works on at once, with the controller and
// upstream's default.
var concurrency = map[string]struct {
	controller string
	n          int
}{
	"concurrent-cron-job-syncs":                   {"cronjob-controller", 5},
	"concurrent-daemonset-syncs":                  {"daemonset-controller", 2},
	"concurrent-deployment-syncs":                 {"deployment-controller", 5},
	"concurrent-device-taint-eviction-syncs":      {"device-taint-eviction-controller", 8},
	"concurrent-endpoint-syncs":                   {"endpoints-controller", 5},
	"concurrent-ephemeralvolume-syncs":            {"ephemeral-volume-controller", 5},
	"concurrent-gc-syncs":                         {"garbage-collector-controller", 20},
	"concurrent-horizontal-pod-autoscaler-syncs":  {"horizontal-pod-autoscaler-controller", 5},
	"concurrent-job-syncs":                        {"job-controller", 5},
	"concurrent-namespace-syncs":                  {"namespace-controller", 10},
	"concurrent-rc-syncs":                         {"replicationcontroller-controller", 5},
	"concurrent-replicaset-syncs":                 {"replicaset-controller", 5},
	"concurrent-resource-quota-syncs":             {"resourcequota-controller", 5},
	"concurrent-service-endpoint-syncs":           {"endpointslice-controller", 5},
	"concurrent-serviceaccount-token-syncs":       {"serviceaccount-token-controller", 5},
	"concurrent-resourceclaim-syncs":              {"resourceclaim-controller", 50},
	"concurrent-statefulset-syncs":                {"statefulset-controller", 5},
	"concurrent-ttl-after-finished-syncs":         {"ttl-after-finished-controller", 5},
	"mirroring-concurrent-service-endpoint-syncs": {"endpointslice-mirroring-controller", 5},
}

const (
	noCloud    = "no cloud provider is built in"
	noRecycler = "volumes are not recycled: one with the policy Recycle becomes Failed when it is released"
	noLegacy   = "version v1 of the API takes no requests to the signer kubernetes.io/legacy-unknown"
)

// fixedFlags are flags of kube-controller-manager that have one value here, which may be set.
var fixedFlags = map[string]component.Fixed{
	"cidr-allocator-type":                          {Values: []string{"RangeAllocator"}, Why: "ranges are allocated from --cluster-cidr"},
	"cloud-provider":                               {Values: []string{"", "external"}, Why: noCloud + ": run the provider's own program"},
	"enable-hostpath-provisioner":                  {Values: []string{"false"}, Why: "volumes are provisioned by drivers"},
	"endpoint-updates-batch-period":                {Values: []string{"0s", "0"}, Why: "a change is written at once, with those that came during the write before"},
	"endpointslice-updates-batch-period":           {Values: []string{"0s", "0"}, Why: "a change is written at once, with those that came during the write before"},
	"mirroring-endpointslice-updates-batch-period": {Values: []string{"0s", "0"}, Why: "a change is written at once, with those that came during the write before"},
	"mirroring-max-endpoints-per-subset":           {Values: []string{"1000"}, Why: "it is the limit of an EndpointSlice"},
}

// ignoredFlags are flags of kube-controller-manager that are accepted and have no effect.
var ignoredFlags = map[string]string{
	"attach-detach-reconcile-sync-period":                 "volumes are attached and detached when pods, nodes or attachments change",
	"cluster-name":                                        noCloud + ", and only these use it",
	"concurrent-service-syncs":                            noCloud + " that makes load balancers",
	"concurrent-validating-admission-policy-status-syncs": "policies are checked one after the other",
	"configure-cloud-routes?":                             noCloud + " that makes routes",
	"controller-start-interval":                           "controllers start together",
	"disable-attach-detach-reconcile-sync?":               "there is no periodic comparison to disable",
	"min-resync-period":                                   "informers deliver each change once and resync nothing",
	"namespace-sync-period":                               "a namespace is processed when it changes, and while its contents are being deleted",
	"pvclaimbinder-sync-period":                           "claims and volumes are processed when they change",
	"route-reconciliation-period":                         noCloud + " that makes routes",
}

// refusedFlags are flags of kube-controller-manager that this program does not have.
var refusedFlags = map[string]string{
	"cloud-config":                               noCloud + ": run the provider's own program",
	"external-cloud-volume-plugin":               noCloud + ": volumes are provisioned by drivers",
	"flex-volume-plugin-dir":                     "no flex volumes are attached or provisioned",
	"pv-recycler-increment-timeout-nfs":          noRecycler,
	"pv-recycler-minimum-timeout-hostpath":       noRecycler,
	"pv-recycler-minimum-timeout-nfs":            noRecycler,
	"pv-recycler-pod-template-filepath-hostpath": noRecycler,
	"pv-recycler-pod-template-filepath-nfs":      noRecycler,
	"pv-recycler-timeout-increment-hostpath":     noRecycler,
	"cluster-signing-legacy-unknown-cert-file":   noLegacy,
	"cluster-signing-legacy-unknown-key-file":    noLegacy,
}

// controllerFlags registers the flags of single controllers.
func controllerFlags(f *pflag.FlagSet, c *builtin.Options) {
	f.Float64Var(&c.NodeLifecycle.SecondaryEvictionRate, "secondary-node-eviction-rate", 0.01, "nodes per second that get NoExecute taints in a large zone of which --unhealthy-zone-threshold are not ready")
	f.Float64Var(&c.NodeLifecycle.UnhealthyThreshold, "unhealthy-zone-threshold", 0.55, "fraction of nodes that are not ready from which a zone is unhealthy")
	f.IntVar(&c.NodeLifecycle.LargeZone, "large-cluster-size-threshold", 50, "number of nodes above which a zone is large; in smaller unhealthy zones no node gets a taint")
	f.DurationVar(&c.UnusedTokens, "legacy-service-account-token-clean-up-period", 365*24*time.Hour, "time without use after which a token in a secret is refused, and then until it is deleted")
	f.IntVar(&c.TerminatedPods, "terminated-pod-gc-threshold", 12500, "number of terminated pods that are kept; 0 or less keeps all")
	f.DurationVar(&c.QuotaResyncPeriod, "resource-quota-sync-period", 5*time.Minute, "time between recalculations of a quota")
	f.IntVar(&c.MaxEndpoints, "max-endpoints-per-slice", 100, "maximum number of endpoints in an EndpointSlice, 1 to 1000")
	h := &c.HorizontalPodAutoscaler
	f.DurationVar(&h.SyncPeriod, "horizontal-pod-autoscaler-sync-period", 15*time.Second, "how often an autoscaler is evaluated")
	f.DurationVar(&h.DownscaleStabilization, "horizontal-pod-autoscaler-downscale-stabilization", 5*time.Minute, "how long a greater recommendation prevents scaling down")
	f.DurationVar(&h.CPUInitializationPeriod, "horizontal-pod-autoscaler-cpu-initialization-period", 5*time.Minute, "how long after its start a pod's use of CPU counts only while it is ready")
	f.DurationVar(&h.InitialReadinessDelay, "horizontal-pod-autoscaler-initial-readiness-delay", 30*time.Second, "how long after its start a pod that is not ready counts as never ready")
	f.Float64Var(&h.Tolerance, "horizontal-pod-autoscaler-tolerance", 0.1, "how far usage may be from its target without a change, as a fraction")
	f.BoolVar(&c.AttachDetach.NeverForce, "disable-force-detach-on-timeout", false, "never detach a volume from a node that does not report it as unused, except by the out-of-service taint")
	component.OnUnless(f, &c.VolumeBinder.WithoutProvisioning, "enable-dynamic-provisioning", "let drivers provision volumes for claims")
	c.Concurrency = map[string]int{}
	for name, flag := range concurrency {
		f.Var(workers{c.Concurrency, flag.controller}, name, "objects that the "+flag.controller+" works on at once")
		c.Concurrency[flag.controller] = flag.n
		f.Lookup(name).DefValue = fmt.Sprint(flag.n)
	}
}

// workers is a flag of how many objects a controller works on at once.
type workers struct {
	of         map[string]int
	controller string
}

// String implements pflag.Value.
func (w workers) String() string { return fmt.Sprint(w.of[w.controller]) }

// Type implements pflag.Value.
func (workers) Type() string { return "int" }

// Set implements pflag.Value.
func (w workers) Set(text string) error {
	var n int
	if _, err := fmt.Sscanf(text+"\n", "%d\n", &n); err != nil || n < 1 {
		return errors.New("want a positive number")
	}
	w.of[w.controller] = n
	return nil
}

// ranges are the flags of the ranges that nodes get.
type ranges struct {
	allocate                 bool
	cluster, services        string
	mask, maskIPv4, maskIPv6 int
}

func (r *ranges) flags(f *pflag.FlagSet) {
	f.BoolVar(&r.allocate, "allocate-node-cidrs", false, "give each node a range of --cluster-cidr for its pods")
	f.StringVar(&r.cluster, "cluster-cidr", "", "range of all pods; two, separated by a comma, for both families")
	f.StringVar(&r.services, "service-cluster-ip-range", "", "ranges of Services, which nodes do not get")
	f.IntVar(&r.mask, "node-cidr-mask-size", 0, "prefix length of the ranges of nodes, if there is one family (default 24 for IPv4, 64 for IPv6)")
	f.IntVar(&r.maskIPv4, "node-cidr-mask-size-ipv4", 0, "prefix length of the IPv4 ranges of nodes, if there are two families (default 24)")
	f.IntVar(&r.maskIPv6, "node-cidr-mask-size-ipv6", 0, "prefix length of the IPv6 ranges of nodes, if there are two families (default 64)")
}

// options returns what the flags say; without --allocate-node-cidrs nothing is allocated.
func (r *ranges) options() (out nodeipam.Options, err error) {
	if !r.allocate {
		return out, nil
	}
	if out.ClusterCIDRs, err = prefixes("cluster-cidr", r.cluster); err != nil {
		return out, err
	}
	if out.ServiceCIDRs, err = prefixes("service-cluster-ip-range", r.services); err != nil {
		return out, err
	}
	switch {
	case len(out.ClusterCIDRs) == 0:
		return out, errors.New("--allocate-node-cidrs needs --cluster-cidr")
	case len(out.ClusterCIDRs) == 2 && r.mask != 0:
		return out, errors.New("--node-cidr-mask-size is for one family: use --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6")
	case len(out.ClusterCIDRs) == 1 && (r.maskIPv4 != 0 || r.maskIPv6 != 0):
		return out, errors.New("--node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 are for two families: use --node-cidr-mask-size")
	}
	out.MaskSizeIPv4, out.MaskSizeIPv6 = r.maskIPv4, r.maskIPv6
	if r.mask != 0 {
		out.MaskSizeIPv4, out.MaskSizeIPv6 = r.mask, r.mask
	}
	return out, nil
}

func prefixes(flag, text string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, item := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		p, err := netip.ParsePrefix(strings.TrimSpace(item))
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		out = append(out, p)
	}
	return out, nil
}
