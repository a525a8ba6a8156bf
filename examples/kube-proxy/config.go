package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

// configuration is KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1) with all fields, so that files
// written by kubeadm load. An unknown field is an error, and so is a value that this proxy does not support;
// see refuse. Fields for other modes and other systems are read and, as upstream, have no effect.
type configuration struct {
	metav1.TypeMeta    `json:",inline"`
	ClientConnection   clientConnection `json:"clientConnection"`
	HostnameOverride   string           `json:"hostnameOverride"`
	HealthzBindAddress string           `json:"healthzBindAddress"`
	MetricsBindAddress string           `json:"metricsBindAddress"`
	Mode               string           `json:"mode"`
	IPTables           ruleOptions      `json:"iptables"`
	NFTables           ruleOptions      `json:"nftables"`
	IPVS               ipvsOptions      `json:"ipvs"`
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

	// These have no effect: informers need no resync to be correct, upstream ignores the range too, and the
	// rest is for other modes and for Windows.
	ConfigSyncPeriod    metav1.Duration `json:"configSyncPeriod"`
	PortRange           string          `json:"portRange"`
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

type ipvsOptions struct {
	SyncPeriod    metav1.Duration `json:"syncPeriod"`
	MinSyncPeriod metav1.Duration `json:"minSyncPeriod"`
	Scheduler     string          `json:"scheduler"`
	ExcludeCIDRs  []string        `json:"excludeCIDRs"`
	StrictARP     bool            `json:"strictARP"`
	TCPTimeout    metav1.Duration `json:"tcpTimeout"`
	TCPFinTimeout metav1.Duration `json:"tcpFinTimeout"`
	UDPTimeout    metav1.Duration `json:"udpTimeout"`
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
		ConfigSyncPeriod: d(15 * time.Minute), OOMScoreAdj: new(int32(-999)),
		IPTables: rules(), NFTables: rules(), IPVS: ipvsOptions{SyncPeriod: d(30 * time.Second), MinSyncPeriod: d(time.Second)},
		Conntrack: conntrack{MaxPerCore: new(int32(32768)), Min: new(int32(131072)),
			TCPEstablishedTimeout: new(d(24 * time.Hour)), TCPCloseWaitTimeout: new(d(time.Hour))},
	}
	c.IPTables.LocalhostNodePorts = new(true)
	return c
}

// mistakes collects errors.
type mistakes []error

// no adds an error if something is wrong.
func (m *mistakes) no(wrong bool, format string, args ...any) {
	if wrong {
		*m = append(*m, fmt.Errorf(format, args...))
	}
}

// refuse finds values that this proxy does not support.
func (c *configuration) refuse(m *mistakes) {
	no := m.no
	no(c.ShowHiddenMetricsForVersion != "", "showHiddenMetricsForVersion: no metrics are hidden")
	no(!slices.Contains([]string{"", "text"}, c.Logging.Format), "logging.format %q: want text", c.Logging.Format)
	no(len(c.Logging.VModule) > 0, "logging.vmodule: verbosity is the same for all files")
	for _, name := range slices.Sorted(maps.Keys(c.FeatureGates)) {
		no(true, "featureGates: there is no feature %s to switch", name)
	}
	for name, v := range map[string]string{"acceptContentTypes": c.ClientConnection.AcceptContentTypes, "contentType": c.ClientConnection.ContentType} {
		no(v != "" && !strings.Contains(v, protobuf), "clientConnection.%s %q: want %s, which is used where the server takes it, or nothing", name, v, protobuf)
	}
}

// ranges finds numbers out of their range.
func (c *configuration) ranges(m *mistakes) {
	m.no(c.ClientConnection.Burst < 0, "clientConnection.burst %d: want no negative number", c.ClientConnection.Burst)
	m.no(*c.OOMScoreAdj < -1000 || *c.OOMScoreAdj > 1000, "oomScoreAdj %d: want -1000 to 1000", *c.OOMScoreAdj)
	m.no(c.ConfigSyncPeriod.Duration <= 0, "configSyncPeriod %s: want more than 0", c.ConfigSyncPeriod.Duration)
	for name, p := range map[string][2]metav1.Duration{"iptables": {c.IPTables.SyncPeriod, c.IPTables.MinSyncPeriod},
		"nftables": {c.NFTables.SyncPeriod, c.NFTables.MinSyncPeriod}, "ipvs": {c.IPVS.SyncPeriod, c.IPVS.MinSyncPeriod}} {
		every, least := p[0].Duration, p[1].Duration
		m.no(every <= 0, "%s.syncPeriod %s: want more than 0", name, every)
		m.no(least < 0 || least > every, "%s.minSyncPeriod %s: want 0 to %s, the syncPeriod", name, least, every)
	}
	for name, bit := range map[string]int32{"iptables": *c.IPTables.MasqueradeBit, "nftables": *c.NFTables.MasqueradeBit} {
		m.no(bit < 0 || bit > 31, "%s.masqueradeBit %d: want 0 to 31", name, bit)
	}
	for name, n := range map[string]int32{"maxPerCore": *c.Conntrack.MaxPerCore, "min": *c.Conntrack.Min} {
		m.no(n < 0, "conntrack.%s %d: want no negative number", name, n)
	}
	for name, d := range map[string]metav1.Duration{
		"conntrack.tcpEstablishedTimeout": *c.Conntrack.TCPEstablishedTimeout, "conntrack.tcpCloseWaitTimeout": *c.Conntrack.TCPCloseWaitTimeout,
		"conntrack.udpTimeout": c.Conntrack.UDPTimeout, "conntrack.udpStreamTimeout": c.Conntrack.UDPStreamTimeout,
		"ipvs.tcpTimeout": c.IPVS.TCPTimeout, "ipvs.tcpFinTimeout": c.IPVS.TCPFinTimeout, "ipvs.udpTimeout": c.IPVS.UDPTimeout,
	} {
		m.no(d.Duration < 0 || d.Duration%time.Second != 0, "%s %s: want whole seconds, 0 or more", name, d.Duration)
	}
}

// addresses finds addresses that are none.
func (c *configuration) addresses(m *mistakes) {
	_, err := c.nodeAddr()
	m.no(err != nil, "bindAddress: %w", err)
	for name, a := range map[string]string{"healthzBindAddress": c.HealthzBindAddress, "metricsBindAddress": c.MetricsBindAddress} {
		_, err := netip.ParseAddrPort(a)
		m.no(a != "" && err != nil, "%s %q: want an IP address and a port, such as 127.0.0.1:10249", name, a)
	}
	for i, a := range c.NodePortAddresses {
		_, err := netip.ParsePrefix(a)
		m.no(a != proxy.Primary && err != nil, "nodePortAddresses[%d] %q: want a range, or %s", i, a, proxy.Primary)
	}
	for i, s := range c.IPVS.ExcludeCIDRs {
		_, err := netip.ParsePrefix(s)
		m.no(err != nil, "ipvs.excludeCIDRs[%d]: %w", i, err)
	}
	list, err := c.cidrs()
	m.no(err != nil, "clusterCIDR: %w", err)
	m.no(len(list) > 2 || len(list) == 2 && list[0].Addr().Is4() == list[1].Addr().Is4(), "clusterCIDR %q: want one range, or one of each family", c.ClusterCIDR)
}

// nodeAddr is BindAddress, which is not valid if it names no address.
func (c *configuration) nodeAddr() (netip.Addr, error) {
	if c.BindAddress == "" {
		return netip.Addr{}, nil
	}
	a, err := netip.ParseAddr(c.BindAddress)
	if err != nil || a.IsUnspecified() {
		return netip.Addr{}, err
	}
	return a.Unmap(), nil
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
	if c.IPVS.SyncPeriod.Duration == 0 {
		c.IPVS.SyncPeriod = d.IPVS.SyncPeriod
	}
	if c.IPVS.MinSyncPeriod.Duration == 0 {
		c.IPVS.MinSyncPeriod = d.IPVS.MinSyncPeriod
	}
	if c.ConfigSyncPeriod.Duration == 0 {
		c.ConfigSyncPeriod = d.ConfigSyncPeriod
	}
	if c.OOMScoreAdj == nil {
		c.OOMScoreAdj = d.OOMScoreAdj
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
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// excluded are the ranges of IPVS.ExcludeCIDRs, which are valid.
func (c *configuration) excluded() (out []netip.Prefix) {
	for _, s := range c.IPVS.ExcludeCIDRs {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func (c *configuration) validate() error {
	var m mistakes
	c.refuse(&m)
	c.ranges(&m)
	c.addresses(&m)
	m.no(!slices.Contains([]string{"", "iptables", "nftables", "ipvs"}, c.Mode), "mode %q: want iptables, nftables or ipvs", c.Mode)
	s := c.IPVS.Scheduler
	m.no(s != "" && !slices.Contains(proxy.Schedulers(), s), "ipvs.scheduler %q: want one of %s", s, strings.Join(proxy.Schedulers(), ", "))
	switch c.DetectLocalMode {
	case "", "ClusterCIDR", "NodeCIDR":
	case "BridgeInterface":
		m.no(c.DetectLocal.BridgeInterface == "", "detectLocalMode BridgeInterface needs detectLocal.bridgeInterface")
	case "InterfaceNamePrefix":
		m.no(c.DetectLocal.InterfaceNamePrefix == "", "detectLocalMode InterfaceNamePrefix needs detectLocal.interfaceNamePrefix")
	default:
		m.no(true, "detectLocalMode %q: want ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix", c.DetectLocalMode)
	}
	m.no(c.HostnameOverride != "" && strings.TrimSpace(c.HostnameOverride) == "", "hostnameOverride: want a name, or nothing")
	return errors.Join(m...)
}

// options are those of the library.
func (c *configuration) options(log *slog.Logger) (proxy.Options, error) {
	o := proxy.Options{NodeName: c.HostnameOverride, Mode: proxy.IPTables, NodePortAddresses: c.NodePortAddresses, KeepRules: true, Logger: log}
	rules := c.IPTables
	switch c.Mode {
	case "nftables":
		o.Mode, rules = proxy.NFTables, c.NFTables
	case "ipvs":
		o.Mode, o.FallBack = proxy.IPVS, true
		rules.SyncPeriod, rules.MinSyncPeriod = c.IPVS.SyncPeriod, c.IPVS.MinSyncPeriod
	}
	var err error
	if o.NodeAddr, err = c.nodeAddr(); err != nil {
		return o, err
	}
	o.IPVS = proxy.IPVSOptions{Scheduler: c.IPVS.Scheduler, ExcludeCIDRs: c.excluded(), StrictARP: c.IPVS.StrictARP,
		TCPTimeout: c.IPVS.TCPTimeout.Duration, TCPFinTimeout: c.IPVS.TCPFinTimeout.Duration, UDPTimeout: c.IPVS.UDPTimeout.Duration}
	if o.NodeName == "" {
		if o.NodeName, err = os.Hostname(); err != nil {
			return o, err
		}
	}
	if c.ConfigSyncPeriod != defaults().ConfigSyncPeriod {
		log.Warn("configSyncPeriod has no effect: what is watched is complete without being listed again")
	}
	o.NodeName = strings.ToLower(strings.TrimSpace(o.NodeName))
	o.MasqueradeAll, o.MasqueradeBit = rules.MasqueradeAll, new(int(*rules.MasqueradeBit))
	o.SyncPeriod, o.MinSyncPeriod = rules.SyncPeriod.Duration, rules.MinSyncPeriod.Duration
	if o.MinSyncPeriod == 0 {
		o.MinSyncPeriod = -1 // none
	}
	o.NoLocalhostNodePorts = !*c.IPTables.LocalhostNodePorts
	switch c.DetectLocalMode {
	case "", "ClusterCIDR":
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

// adjustOOMScore sets the OOM score of the process.
func (c *configuration) adjustOOMScore() error {
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(int(*c.OOMScoreAdj))), 0o644); err != nil {
		return fmt.Errorf("oomScoreAdj: %w", err)
	}
	return nil
}

// write writes the effective configuration to a file.
func (c *configuration) write(path string) error {
	b, err := codec.MarshalYAML(c)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}
