package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

// flags are those that are not part of the configuration.
type flags struct {
	config, writeTo, master string
	cleanup, initOnly       bool

	set *pflag.FlagSet
}

// register registers the flags with those of a configuration.
func (o *flags) register(c *configuration) *pflag.FlagSet {
	f := pflag.NewFlagSet("kube-proxy", pflag.ContinueOnError)
	o.set = f
	f.StringVar(&o.config, "config", "", "KubeProxyConfiguration file (kubeproxy.config.k8s.io/v1alpha1); flags override it")
	f.StringVar(&o.writeTo, "write-config-to", "", "write the effective configuration to this file, and exit")
	f.StringVar(&o.master, "master", "", "address of the API server, instead of the kubeconfig's")
	f.BoolVar(&o.cleanup, "cleanup", false, "remove all rules of the proxy, of every mode, and exit")
	f.BoolVar(&o.initOnly, "init-only", false, "set the kernel parameters, which takes all privileges of root, and exit; with CAP_NET_ADMIN the proxy runs then")
	c.flags(f)
	component.Refuse(f, refusedFlags)
	return f
}

// parse reads flags and the configuration file; flags win over the file.
func parse(args []string) (*flags, *configuration, error) {
	o, c := &flags{}, defaults()
	const what = "Writes the kernel rules that carry traffic for Services to their endpoints.\nRules stay when it ends; --cleanup removes them."
	if err := component.Parse(o.register(c), what, args); err != nil {
		return nil, nil, err
	}
	if o.config != "" {
		c = defaults()
		if err := c.load(o.config); err != nil {
			return nil, nil, err
		}
		// The flags are parsed once more, over the file.
		o = &flags{}
		if err := component.Parse(o.register(c), what, args); err != nil {
			return nil, nil, err
		}
	}
	return o, c, c.validate()
}

// flags registers the flags that set fields. Those with iptables in their name also hold for nftables, as
// upstream's do.
func (c *configuration) flags(f *pflag.FlagSet) {
	c.commonFlags(f)
	c.ruleFlags(f)
	c.ipvsFlags(f)
	c.conntrackFlags(f)
}

func (c *configuration) commonFlags(f *pflag.FlagSet) {
	f.IntVarP(&c.Logging.Verbosity, "v", "v", c.Logging.Verbosity, "log verbosity: 0 warnings, 2 information, 4 debugging")
	f.StringVar(&c.Logging.Format, "logging-format", c.Logging.Format, "format of the log: text")
	f.Var(&gates{&c.FeatureGates}, "feature-gates", "there are none: each one that is named is an error")
	f.Float64Var(&c.ClientConnection.QPS, "kube-api-qps", c.ClientConnection.QPS, "most requests per second to the API server; 0: no fixed number, as many as it answers in good time")
	f.IntVar(&c.ClientConnection.Burst, "kube-api-burst", c.ClientConnection.Burst, "how many requests may go beyond --kube-api-qps at once; 0: 10")
	f.StringVar(&c.ClientConnection.ContentType, "kube-api-content-type", c.ClientConnection.ContentType, "content type of requests: empty or "+protobuf+", which is used where the server takes it")
	f.StringVar(&c.BindAddress, "bind-address", c.BindAddress, "primary address of the node, in place of that of its Node object; nothing listens on it (0.0.0.0, :: or empty: none)")
	f.BoolVar(&c.BindAddressHardFail, "bind-address-hard-fail", c.BindAddressHardFail, "end if the address of a server cannot be bound, instead of trying again every 5 seconds")
	f.BoolVar(&c.EnableProfiling, "profiling", c.EnableProfiling, "serve profiles at /debug/pprof/ of the metrics server")
	f.Int32Var(c.OOMScoreAdj, "oom-score-adj", *c.OOMScoreAdj, "OOM score adjustment of the process, -1000 to 1000")
	f.DurationVar(&c.ConfigSyncPeriod.Duration, "config-sync-period", c.ConfigSyncPeriod.Duration, "has no effect: what is watched is complete without being listed again")
	f.StringVar(&c.ClientConnection.Kubeconfig, "kubeconfig", c.ClientConnection.Kubeconfig, "kubeconfig file of the API server (empty: in-cluster configuration)")
	f.StringVar(&c.HostnameOverride, "hostname-override", c.HostnameOverride, "name of the Node the proxy runs on (empty: the host name)")
	f.StringVar(&c.HealthzBindAddress, "healthz-bind-address", c.HealthzBindAddress, "address of the health server, /healthz and /livez; empty turns it off")
	f.StringVar(&c.MetricsBindAddress, "metrics-bind-address", c.MetricsBindAddress, "address of the server of /metrics, /proxyMode, /configz, /flagz and /statusz; empty turns it off")
	f.StringVar(&c.Mode, "proxy-mode", c.Mode, "iptables, nftables or ipvs (empty: iptables, which ipvs falls back to where the kernel lacks it)")
}

func (c *configuration) ruleFlags(f *pflag.FlagSet) {
	f.StringVar(&c.ClusterCIDR, "cluster-cidr", c.ClusterCIDR, "range of the cluster's pods, or one of each family: traffic from elsewhere gets the node's address")
	f.StringVar(&c.DetectLocalMode, "detect-local-mode", c.DetectLocalMode, "how traffic of pods is recognized: ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix (empty: ClusterCIDR)")
	f.StringVar(&c.DetectLocal.BridgeInterface, "pod-bridge-interface", c.DetectLocal.BridgeInterface, "the bridge of this node's pods, for BridgeInterface")
	f.StringVar(&c.DetectLocal.InterfaceNamePrefix, "pod-interface-name-prefix", c.DetectLocal.InterfaceNamePrefix, "how the names of pods' interfaces start, for InterfaceNamePrefix")
	f.StringSliceVar(&c.NodePortAddresses, "nodeport-addresses", c.NodePortAddresses, "ranges of the addresses node ports are served on, or primary (empty: all with iptables, primary with nftables)")
	f.Var(&both[bool]{[]*bool{&c.IPTables.MasqueradeAll, &c.NFTables.MasqueradeAll}, "bool"}, "masquerade-all", "give the node's address to all traffic for cluster IPs")
	f.Lookup("masquerade-all").NoOptDefVal = "true"
	f.Var(&both[int32]{[]*int32{c.IPTables.MasqueradeBit, c.NFTables.MasqueradeBit}, "int32"}, "iptables-masquerade-bit", "bit of the mark for traffic that gets the node's address, 0 to 31")
	f.Var(&both[time.Duration]{[]*time.Duration{&c.IPTables.SyncPeriod.Duration, &c.NFTables.SyncPeriod.Duration}, "duration"}, "iptables-sync-period", "how often the rules are verified")
	f.Var(&both[time.Duration]{[]*time.Duration{&c.IPTables.MinSyncPeriod.Duration, &c.NFTables.MinSyncPeriod.Duration}, "duration"}, "iptables-min-sync-period", "least time between two writes of rules; 0: each change is written at once")
	f.BoolVar(c.IPTables.LocalhostNodePorts, "iptables-localhost-nodeports", *c.IPTables.LocalhostNodePorts, "serve node ports on 127.0.0.1 too, with iptables")
}

func (c *configuration) ipvsFlags(f *pflag.FlagSet) {
	f.DurationVar(&c.IPVS.SyncPeriod.Duration, "ipvs-sync-period", c.IPVS.SyncPeriod.Duration, "how often the rules of mode ipvs are verified")
	f.DurationVar(&c.IPVS.MinSyncPeriod.Duration, "ipvs-min-sync-period", c.IPVS.MinSyncPeriod.Duration, "least time between two writes in mode ipvs; 0: each change is written at once")
	f.StringVar(&c.IPVS.Scheduler, "ipvs-scheduler", c.IPVS.Scheduler, "scheduler of IPVS: "+strings.Join(proxy.Schedulers(), ", ")+" (empty: rr)")
	f.StringSliceVar(&c.IPVS.ExcludeCIDRs, "ipvs-exclude-cidrs", c.IPVS.ExcludeCIDRs, "ranges of virtual servers of other programs, which are kept")
	f.BoolVar(&c.IPVS.StrictARP, "ipvs-strict-arp", c.IPVS.StrictARP, "answer ARP requests only for addresses of the interface that they come in at")
	f.DurationVar(&c.IPVS.TCPTimeout.Duration, "ipvs-tcp-timeout", c.IPVS.TCPTimeout.Duration, "timeout of idle connections of IPVS; 0 leaves it as it is")
	f.DurationVar(&c.IPVS.TCPFinTimeout.Duration, "ipvs-tcpfin-timeout", c.IPVS.TCPFinTimeout.Duration, "timeout of connections of IPVS after a FIN packet; 0 leaves it as it is")
	f.DurationVar(&c.IPVS.UDPTimeout.Duration, "ipvs-udp-timeout", c.IPVS.UDPTimeout.Duration, "timeout of UDP flows of IPVS; 0 leaves it as it is")
}

func (c *configuration) conntrackFlags(f *pflag.FlagSet) {
	f.Int32Var(c.Conntrack.MaxPerCore, "conntrack-max-per-core", *c.Conntrack.MaxPerCore, "connections to track per core; 0 leaves the limit as it is")
	f.Int32Var(c.Conntrack.Min, "conntrack-min", *c.Conntrack.Min, "connections to track at least")
	f.DurationVar(&c.Conntrack.TCPEstablishedTimeout.Duration, "conntrack-tcp-timeout-established", c.Conntrack.TCPEstablishedTimeout.Duration, "timeout of idle connections; 0 leaves it as it is")
	f.DurationVar(&c.Conntrack.TCPCloseWaitTimeout.Duration, "conntrack-tcp-timeout-close-wait", c.Conntrack.TCPCloseWaitTimeout.Duration, "timeout of half-closed connections; 0 leaves it as it is")
	f.BoolVar(&c.Conntrack.TCPBeLiberal, "conntrack-tcp-be-liberal", c.Conntrack.TCPBeLiberal, "let packets outside of the TCP window pass")
	f.DurationVar(&c.Conntrack.UDPTimeout.Duration, "conntrack-udp-timeout", c.Conntrack.UDPTimeout.Duration, "timeout of UDP flows without replies; 0 leaves it as it is")
	f.DurationVar(&c.Conntrack.UDPStreamTimeout.Duration, "conntrack-udp-timeout-stream", c.Conntrack.UDPStreamTimeout.Duration, "timeout of UDP flows with replies; 0 leaves it as it is")
}

// refusedFlags are flags of kube-proxy that this program does not have, with what to do instead.
var refusedFlags = map[string]string{
	"healthz-port":                    "it is deprecated: use --healthz-bind-address",
	"metrics-port":                    "it is deprecated: use --metrics-bind-address",
	"show-hidden-metrics-for-version": "no metrics are hidden",
	"vmodule":                         "verbosity is the same for all files: use -v",
	"log-flush-frequency":             "the log is not buffered",
	"log-text-split-stream":           "the log is one stream, standard error",
	"log-text-info-buffer-size":       "the log is not buffered",
	"log-json-split-stream":           "the log is text: see --logging-format",
	"log-json-info-buffer-size":       "the log is text: see --logging-format",
	"boot-id-file":                    "the ID of the boot is not reported",
	"machine-id-file":                 "the ID of the machine is not reported",
}

// gates is a flag of pairs name=true or name=false.
type gates struct{ m *map[string]bool }

// String are the pairs, by name.
func (g *gates) String() string {
	if g.m == nil {
		return ""
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(*g.m)) {
		out = append(out, fmt.Sprintf("%s=%t", name, (*g.m)[name]))
	}
	return strings.Join(out, ",")
}

// Type is shown in the help.
func (g *gates) Type() string { return "mapStringBool" }

// Set adds pairs.
func (g *gates) Set(s string) error {
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(pair, "=")
		on, err := strconv.ParseBool(value)
		if !ok || err != nil {
			return fmt.Errorf("%q: want name=true or name=false", pair)
		}
		if *g.m == nil {
			*g.m = map[string]bool{}
		}
		(*g.m)[strings.TrimSpace(name)] = on
	}
	return nil
}

// both is a flag that sets several fields.
type both[T any] struct {
	fields []*T
	kind   string
}

// String is the value of the first field.
func (b *both[T]) String() string {
	if len(b.fields) == 0 {
		return ""
	}
	return fmt.Sprint(*b.fields[0])
}

// Type is shown in the help.
func (b *both[T]) Type() string { return b.kind }

// Set parses s as pflag would.
func (b *both[T]) Set(s string) error {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	var v any
	switch b.kind {
	case "bool":
		v = f.Bool("x", false, "")
	case "int32":
		v = f.Int32("x", 0, "")
	case "duration":
		v = f.Duration("x", 0, "")
	}
	if err := f.Set("x", s); err != nil {
		return err
	}
	for _, p := range b.fields {
		*p = *v.(*T)
	}
	return nil
}
