package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

// configuration is KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1), whole, so that files that
// kubeadm writes load. An unknown field is an error, and so is a value that this proxy does not
// support; see refuse. What other modes and other systems need is read and, as upstream, has no effect.
type configuration struct {
	metav1.TypeMeta    `json:",inline"`
	ClientConnection   clientConnection `json:"clientConnection"`
	HostnameOverride   string           `json:"hostnameOverride"`
	HealthzBindAddress string           `json:"healthzBindAddress"`
	MetricsBindAddress string           `json:"metricsBindAddress"`
	Mode               string           `json:"mode"`
	IPTables           ruleOptions      `json:"iptables"`
	NFTables           ruleOptions      `json:"nftables"`
	DetectLocalMode    string           `json:"detectLocalMode"`
	DetectLocal        detectLocal      `json:"detectLocal"`
	ClusterCIDR        string           `json:"clusterCIDR"`
	NodePortAddresses  []string         `json:"nodePortAddresses"`
	Conntrack          conntrack        `json:"conntrack"`
	OOMScoreAdj        *int32           `json:"oomScoreAdj,omitempty"`
	Logging            logging          `json:"logging"`

	BindAddress                 string          `json:"bindAddress"`
	BindAddressHardFail         bool            `json:"bindAddressHardFail"`
	EnableProfiling             bool            `json:"enableProfiling"`
	FeatureGates                map[string]bool `json:"featureGates,omitempty"`
	ShowHiddenMetricsForVersion string          `json:"showHiddenMetricsForVersion"`

	// These have no effect: informers need no resync to be right, upstream ignores the range too, and the
	// rest is for other modes and for Windows.
	ConfigSyncPeriod    metav1.Duration `json:"configSyncPeriod"`
	PortRange           string          `json:"portRange"`
	IPVS                map[string]any  `json:"ipvs,omitempty"`
	Winkernel           map[string]any  `json:"winkernel,omitempty"`
	WindowsRunAsService bool            `json:"windowsRunAsService,omitempty"`
}

type clientConnection struct {
	Kubeconfig         string  `json:"kubeconfig"`
	AcceptContentTypes string  `json:"acceptContentTypes"`
	ContentType        string  `json:"contentType"`
	QPS                float64 `json:"qps"`
	Burst              int     `json:"burst"`
}

// logging is text to standard error; only its verbosity can be chosen.
type logging struct {
	Format         string         `json:"format,omitempty"`
	FlushFrequency any            `json:"flushFrequency,omitempty"`
	Verbosity      int            `json:"verbosity"`
	VModule        []any          `json:"vmodule,omitempty"`
	Options        map[string]any `json:"options,omitempty"`
}

type ruleOptions struct {
	MasqueradeBit      *int32          `json:"masqueradeBit,omitempty"`
	MasqueradeAll      bool            `json:"masqueradeAll"`
	LocalhostNodePorts *bool           `json:"localhostNodePorts,omitempty"`
	SyncPeriod         metav1.Duration `json:"syncPeriod"`
	MinSyncPeriod      metav1.Duration `json:"minSyncPeriod"`
}

type detectLocal struct {
	BridgeInterface     string `json:"bridgeInterface"`
	InterfaceNamePrefix string `json:"interfaceNamePrefix"`
}

type conntrack struct {
	MaxPerCore            *int32           `json:"maxPerCore,omitempty"`
	Min                   *int32           `json:"min,omitempty"`
	TCPEstablishedTimeout *metav1.Duration `json:"tcpEstablishedTimeout,omitempty"`
	TCPCloseWaitTimeout   *metav1.Duration `json:"tcpCloseWaitTimeout,omitempty"`
	TCPBeLiberal          bool             `json:"tcpBeLiberal"`
	UDPTimeout            metav1.Duration  `json:"udpTimeout"`
	UDPStreamTimeout      metav1.Duration  `json:"udpStreamTimeout"`
}

const apiVersion, kind = "kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"

func defaults() *configuration {
	d := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	rules := func() ruleOptions {
		return ruleOptions{MasqueradeBit: new(int32(14)), SyncPeriod: d(30 * time.Second), MinSyncPeriod: d(time.Second)}
	}
	c := &configuration{
		TypeMeta:           metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		HealthzBindAddress: "0.0.0.0:10256", MetricsBindAddress: "127.0.0.1:10249",
		IPTables: rules(), NFTables: rules(),
		Conntrack: conntrack{MaxPerCore: new(int32(32768)), Min: new(int32(131072)),
			TCPEstablishedTimeout: new(d(24 * time.Hour)), TCPCloseWaitTimeout: new(d(time.Hour))},
	}
	c.IPTables.LocalhostNodePorts = new(true)
	return c
}

// flags registers the flags that set fields. Those with iptables in their name also hold for nftables, as
// upstream's do.
func (c *configuration) flags(f *pflag.FlagSet) {
	f.StringVar(&c.ClientConnection.Kubeconfig, "kubeconfig", c.ClientConnection.Kubeconfig, "kubeconfig file of the API server (empty: in-cluster configuration)")
	f.StringVar(&c.HostnameOverride, "hostname-override", c.HostnameOverride, "name of the Node the proxy runs on (empty: the host name)")
	f.StringVar(&c.HealthzBindAddress, "healthz-bind-address", c.HealthzBindAddress, "address of the health server, /healthz and /livez; empty turns it off")
	f.StringVar(&c.MetricsBindAddress, "metrics-bind-address", c.MetricsBindAddress, "address of the server of /metrics, /proxyMode and /configz; empty turns it off")
	f.StringVar(&c.Mode, "proxy-mode", c.Mode, "iptables or nftables (empty: iptables; ipvs is not supported and falls back to it)")
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
	f.Int32Var(c.Conntrack.MaxPerCore, "conntrack-max-per-core", *c.Conntrack.MaxPerCore, "connections to track per core; 0 leaves the limit as it is")
	f.Int32Var(c.Conntrack.Min, "conntrack-min", *c.Conntrack.Min, "connections to track at least")
	f.DurationVar(&c.Conntrack.TCPEstablishedTimeout.Duration, "conntrack-tcp-timeout-established", c.Conntrack.TCPEstablishedTimeout.Duration, "timeout of idle connections; 0 leaves it as it is")
	f.DurationVar(&c.Conntrack.TCPCloseWaitTimeout.Duration, "conntrack-tcp-timeout-close-wait", c.Conntrack.TCPCloseWaitTimeout.Duration, "timeout of half-closed connections; 0 leaves it as it is")
	f.BoolVar(&c.Conntrack.TCPBeLiberal, "conntrack-tcp-be-liberal", c.Conntrack.TCPBeLiberal, "let packets outside of the TCP window pass")
	f.DurationVar(&c.Conntrack.UDPTimeout.Duration, "conntrack-udp-timeout", c.Conntrack.UDPTimeout.Duration, "timeout of UDP flows without replies; 0 leaves it as it is")
	f.DurationVar(&c.Conntrack.UDPStreamTimeout.Duration, "conntrack-udp-timeout-stream", c.Conntrack.UDPStreamTimeout.Duration, "timeout of UDP flows with replies; 0 leaves it as it is")
}

// refuse says which values ask for what this proxy does not do.
func (c *configuration) refuse() error {
	var errs []error
	no := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	no(!slices.Contains([]string{"", "0.0.0.0", "::"}, c.BindAddress), "bindAddress %q: want 0.0.0.0, :: or nothing: the node's addresses are those of its Node object", c.BindAddress)
	no(c.BindAddressHardFail, "bindAddressHardFail: an address that cannot be bound always ends the proxy; leave it out")
	no(c.EnableProfiling, "enableProfiling: there is no profiling handler")
	no(c.ShowHiddenMetricsForVersion != "", "showHiddenMetricsForVersion: no metrics are hidden")
	no(!slices.Contains([]string{"", "text"}, c.Logging.Format), "logging.format %q: want text", c.Logging.Format)
	no(len(c.Logging.VModule) > 0, "logging.vmodule: verbosity is the same for all files")
	for _, name := range slices.Sorted(maps.Keys(c.FeatureGates)) {
		no(true, "featureGates: there is no feature %s to switch", name)
	}
	for name, v := range map[string]string{"acceptContentTypes": c.ClientConnection.AcceptContentTypes, "contentType": c.ClientConnection.ContentType} {
		no(v != "" && !strings.Contains(v, protobuf), "clientConnection.%s %q: want %s, which is used where the server takes it, or nothing", name, v, protobuf)
	}
	no(c.ClientConnection.Burst < 0, "clientConnection.burst %d: want no negative number", c.ClientConnection.Burst)
	no(c.OOMScoreAdj != nil && (*c.OOMScoreAdj < -1000 || *c.OOMScoreAdj > 1000), "oomScoreAdj: want -1000 to 1000")
	return errors.Join(errs...)
}

const protobuf = "application/vnd.kubernetes.protobuf"

// load reads a file over the defaults.
func (c *configuration) load(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	c.TypeMeta = metav1.TypeMeta{}
	issues, err := codec.UnmarshalYAML(data, c, codec.DecodeOptions{Strict: true})
	if err == nil && len(issues) > 0 {
		err = fmt.Errorf("%v", issues[0])
	}
	if err == nil && (c.APIVersion != apiVersion || c.Kind != kind) {
		err = fmt.Errorf("want kind %s of %s, got %s of %s", kind, apiVersion, c.Kind, c.APIVersion)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := c.refuse(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// In a file an explicit null, an empty address and a time of zero mean the default too, as upstream;
	// kubeadm writes them.
	d := defaults()
	if c.HealthzBindAddress == "" {
		c.HealthzBindAddress = d.HealthzBindAddress
	}
	if c.MetricsBindAddress == "" {
		c.MetricsBindAddress = d.MetricsBindAddress
	}
	if c.IPTables.LocalhostNodePorts == nil {
		c.IPTables.LocalhostNodePorts = d.IPTables.LocalhostNodePorts
	}
	for _, r := range []*ruleOptions{&c.IPTables, &c.NFTables} {
		if r.MasqueradeBit == nil {
			r.MasqueradeBit = new(int32(14))
		}
		if r.SyncPeriod.Duration == 0 {
			r.SyncPeriod = d.IPTables.SyncPeriod
		}
		if r.MinSyncPeriod.Duration == 0 {
			r.MinSyncPeriod = d.IPTables.MinSyncPeriod
		}
	}
	if c.Conntrack.MaxPerCore == nil {
		c.Conntrack.MaxPerCore = d.Conntrack.MaxPerCore
	}
	if c.Conntrack.Min == nil {
		c.Conntrack.Min = d.Conntrack.Min
	}
	if c.Conntrack.TCPEstablishedTimeout == nil {
		c.Conntrack.TCPEstablishedTimeout = d.Conntrack.TCPEstablishedTimeout
	}
	if c.Conntrack.TCPCloseWaitTimeout == nil {
		c.Conntrack.TCPCloseWaitTimeout = d.Conntrack.TCPCloseWaitTimeout
	}
	return nil
}

// cidrs are the ranges of ClusterCIDR.
func (c *configuration) cidrs() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for s := range strings.SplitSeq(c.ClusterCIDR, ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("clusterCIDR: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}

func (c *configuration) validate() error {
	var errs []error
	if !slices.Contains([]string{"", "iptables", "nftables", "ipvs"}, c.Mode) {
		errs = append(errs, fmt.Errorf("mode %q: want iptables or nftables", c.Mode))
	}
	switch c.DetectLocalMode {
	case "", "ClusterCIDR", "NodeCIDR":
	case "BridgeInterface":
		if c.DetectLocal.BridgeInterface == "" {
			errs = append(errs, errors.New("detectLocalMode BridgeInterface needs detectLocal.bridgeInterface"))
		}
	case "InterfaceNamePrefix":
		if c.DetectLocal.InterfaceNamePrefix == "" {
			errs = append(errs, errors.New("detectLocalMode InterfaceNamePrefix needs detectLocal.interfaceNamePrefix"))
		}
	default:
		errs = append(errs, fmt.Errorf("detectLocalMode %q: want ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix", c.DetectLocalMode))
	}
	if _, err := c.cidrs(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// options are those of the library.
func (c *configuration) options(log *slog.Logger) (proxy.Options, error) {
	o := proxy.Options{NodeName: c.HostnameOverride, Mode: proxy.IPTables, NodePortAddresses: c.NodePortAddresses, KeepRules: true, Logger: log}
	rules := c.IPTables
	switch c.Mode {
	case "nftables":
		o.Mode, rules = proxy.NFTables, c.NFTables
	case "ipvs":
		log.Warn("mode ipvs is not available, falling back to iptables")
	}
	if o.NodeName == "" {
		host, err := os.Hostname()
		if err != nil {
			return o, err
		}
		o.NodeName = strings.ToLower(strings.TrimSpace(host))
	}
	o.MasqueradeAll, o.MasqueradeBit = rules.MasqueradeAll, new(int(*rules.MasqueradeBit))
	o.SyncPeriod, o.MinSyncPeriod = rules.SyncPeriod.Duration, rules.MinSyncPeriod.Duration
	if o.MinSyncPeriod == 0 {
		o.MinSyncPeriod = -1 // none
	}
	o.NoLocalhostNodePorts = !*c.IPTables.LocalhostNodePorts
	switch c.DetectLocalMode {
	case "", "ClusterCIDR":
		var err error
		if o.DetectLocal.CIDRs, err = c.cidrs(); err != nil {
			return o, err
		}
		if len(o.DetectLocal.CIDRs) == 0 {
			log.Warn("--cluster-cidr is not given: traffic from outside of the cluster to cluster IPs keeps its address")
		}
	case "NodeCIDR":
		o.NodeCIDR = true
	case "BridgeInterface":
		o.DetectLocal.Bridge = c.DetectLocal.BridgeInterface
	case "InterfaceNamePrefix":
		o.DetectLocal.InterfacePrefix = c.DetectLocal.InterfaceNamePrefix
	}
	o.Conntrack = proxy.Conntrack{
		TCPEstablished: c.Conntrack.TCPEstablishedTimeout.Duration, TCPCloseWait: c.Conntrack.TCPCloseWaitTimeout.Duration,
		UDP: c.Conntrack.UDPTimeout.Duration, UDPStream: c.Conntrack.UDPStreamTimeout.Duration, TCPBeLiberal: c.Conntrack.TCPBeLiberal,
	}
	if n := int(*c.Conntrack.MaxPerCore); n > 0 {
		o.Conntrack.Max = max(n*runtime.NumCPU(), int(*c.Conntrack.Min))
	}
	return o, nil
}

// connection caps the requests if the file does; otherwise the connection adapts to the server.
func (c *configuration) connection(log *slog.Logger) rest.Options {
	o := rest.Options{Logger: log, QPS: max(c.ClientConnection.QPS, 0), Burst: c.ClientConnection.Burst}
	if o.Burst == 0 {
		o.Burst = 10 // as upstream
	}
	return o
}

// adjustOOMScore says how soon the kernel should end the proxy when memory runs out, if the file does.
func (c *configuration) adjustOOMScore() error {
	if c.OOMScoreAdj == nil {
		return nil
	}
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(int(*c.OOMScoreAdj))), 0o644); err != nil {
		return fmt.Errorf("oomScoreAdj: %w", err)
	}
	return nil
}

// serve writes the configuration in force.
func (c *configuration) serve(w http.ResponseWriter, _ *http.Request) {
	b, err := codec.Marshal(c)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kubeproxy.config.k8s.io":%s}`, b)
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
