package proxy

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"
)

// Primary as an entry of Options.NodePortAddresses stands for the node's own address, the one its Node object
// reports as InternalIP.
const Primary = "primary"

// Options of a proxy. Only NodeName must be set.
type Options struct {
	// NodeName is the name of the Node the proxy runs on.
	NodeName string
	// Mode is the kernel subsystem; empty means nftables. Rules of other modes are removed after the first
	// write.
	Mode Mode
	// IPVS are the options of mode ipvs.
	IPVS IPVSOptions
	// FallBack uses mode iptables, with an event of the Node, if mode ipvs is not available on the node.
	// Otherwise Run fails then.
	FallBack bool
	// Kernel is the kernel to write rules to; nil means that of NetNS.
	Kernel Kernel
	// NetNS is the path of the node's network namespace; empty means that of the process.
	NetNS string
	// DetectLocal detects traffic from pods. NodeCIDR adds the pod ranges of the Node object to it.
	DetectLocal DetectLocal
	NodeCIDR    bool
	// MasqueradeAll gives this node's address to all traffic for cluster IPs.
	MasqueradeAll bool
	// MasqueradeBit is the bit of the mark for such traffic, 0 to 31; nil means 14.
	MasqueradeBit *int
	// NodeAddr, if valid, is the primary address of the node for its family, in place of that of the Node
	// object.
	NodeAddr netip.Addr
	// NodePortAddresses are ranges: node ports are served on the node's addresses in them. [Primary] is the
	// node's own address. None means Primary with nftables and all addresses with other modes, as in
	// kube-proxy.
	NodePortAddresses []string
	// NoLocalhostNodePorts disables node ports on 127.0.0.1, which only iptables serves.
	NoLocalhostNodePorts bool
	// ServiceCIDRs are the ranges of cluster IPs. With nftables, traffic to unknown cluster IPs in them is
	// dropped. None means those of the ServiceCIDR objects, which are then watched.
	ServiceCIDRs []netip.Prefix
	// SyncPeriod is the time between checks that the rules still exist; 0 means 30 s.
	SyncPeriod time.Duration
	// MinSyncPeriod is the minimum time between writes; 0 means 1 s, a negative value means none.
	MinSyncPeriod time.Duration
	// Conntrack are parameters of connection tracking.
	Conntrack Conntrack
	// KeepRules keeps the rules when Run ends, as kube-proxy does, so that a restart does not interrupt
	// traffic.
	KeepRules bool
	// Metrics are the metrics hooks.
	Metrics Metrics
	// Logger receives failures; nil means the logger of the manager.
	Logger *slog.Logger
}

// Conntrack are kernel parameters of connection tracking. Zero values are not changed.
type Conntrack struct {
	// Max is the maximum number of tracked connections.
	Max int
	// TCPEstablished and TCPCloseWait are the timeouts of idle connections in these states, in whole seconds.
	TCPEstablished, TCPCloseWait time.Duration
	// UDP and UDPStream are the timeouts of UDP flows without and with replies.
	UDP, UDPStream time.Duration
	// TCPBeLiberal lets packets outside of the window pass as valid; with iptables invalid ones are then not
	// dropped.
	TCPBeLiberal bool
}

func (opts Options) withDefaults() (Options, error) {
	if opts.NodeName == "" {
		return opts, fmt.Errorf("proxy: Options.NodeName is empty: it says which endpoints are local")
	}
	if opts.Mode == "" {
		opts.Mode = NFTables
	}
	if !slices.Contains(allModes, opts.Mode) {
		return opts, unknownMode(opts.Mode)
	}
	if err := opts.IPVS.validate(); err != nil {
		return opts, err
	}
	if opts.MasqueradeBit == nil {
		opts.MasqueradeBit = new(14)
	}
	if *opts.MasqueradeBit < 0 || *opts.MasqueradeBit > 31 {
		return opts, fmt.Errorf("proxy: MasqueradeBit %d is not within 0 and 31", *opts.MasqueradeBit)
	}
	for _, a := range opts.NodePortAddresses {
		if a == Primary {
			continue
		}
		if _, err := netip.ParsePrefix(a); err != nil {
			return opts, fmt.Errorf("proxy: NodePortAddresses: %q is neither a range nor %q: %w", a, Primary, err)
		}
	}
	if len(opts.NodePortAddresses) == 0 {
		if opts.Mode == NFTables {
			opts.NodePortAddresses = []string{Primary}
		} else {
			opts.NodePortAddresses = []string{"0.0.0.0/0", "::/0"}
		}
	}
	if opts.SyncPeriod <= 0 {
		opts.SyncPeriod = 30 * time.Second
	}
	if opts.MinSyncPeriod == 0 {
		opts.MinSyncPeriod = time.Second
	}
	if opts.MinSyncPeriod > opts.SyncPeriod {
		return opts, fmt.Errorf("proxy: MinSyncPeriod %s is longer than SyncPeriod %s", opts.MinSyncPeriod, opts.SyncPeriod)
	}
	if opts.Kernel == nil {
		k, err := NewKernel(opts.NetNS)
		if err != nil {
			return opts, err
		}
		opts.Kernel = k
	}
	return opts, nil
}

// backend are the options of backends.
func (opts *Options) backend(log *slog.Logger) BackendOptions {
	return BackendOptions{Kernel: opts.Kernel, Logger: log, IPVS: opts.IPVS, Running: opts.Mode}
}

// nodeFacts are what the Node object says.
type nodeFacts struct {
	node     Node
	addrs    []netip.Addr // InternalIPs and ExternalIPs, the primary one of each family first
	podCIDRs []netip.Prefix
	leaving  bool // it is being deleted
}

// config is what to write for a family on a node. local are the addresses of the node's interfaces.
func (opts *Options) config(f Family, n nodeFacts, local []netip.Addr) Config {
	c := Config{
		Family: f, MasqueradeBit: *opts.MasqueradeBit, MasqueradeAll: opts.MasqueradeAll, DetectLocal: opts.DetectLocal,
		LocalhostNodePorts: !opts.NoLocalhostNodePorts && opts.Mode == IPTables, ServiceCIDRs: opts.ServiceCIDRs,
		AcceptInvalid: opts.Conntrack.TCPBeLiberal,
	}
	if opts.NodeCIDR {
		c.DetectLocal.CIDRs = slices.Concat(n.podCIDRs, c.DetectLocal.CIDRs)
	}
	if opts.NodeAddr.IsValid() && f.of(opts.NodeAddr) {
		c.NodeAddrs = append(c.NodeAddrs, opts.NodeAddr)
	}
	for _, a := range n.addrs {
		if f.of(a) && a != opts.NodeAddr {
			c.NodeAddrs = append(c.NodeAddrs, a)
		}
	}
	for _, entry := range opts.NodePortAddresses {
		if entry == Primary {
			if len(c.NodeAddrs) > 0 {
				c.NodePortAddrs = append(c.NodePortAddrs, c.NodeAddrs[0])
			}
			continue
		}
		p := netip.MustParsePrefix(entry)
		if !f.of(p.Addr()) {
			continue
		}
		if p.Bits() == 0 && opts.Mode != IPVS {
			c.AllNodePortAddrs = true
			continue
		}
		for _, a := range local {
			unfit := opts.Mode != IPTables && a.IsLoopback() || opts.Mode == IPVS && a.IsLinkLocalUnicast()
			if p.Contains(a) && !unfit {
				c.NodePortAddrs = append(c.NodePortAddrs, a)
			}
		}
	}
	slices.SortFunc(c.NodePortAddrs, netip.Addr.Compare)
	c.NodePortAddrs = slices.Compact(c.NodePortAddrs)
	return c
}

// lacking is what a Node object should have and does not, and what follows until it has; empty means nothing.
func (opts *Options) lacking(n nodeFacts) string {
	switch {
	case len(n.addrs) == 0 && !opts.NodeAddr.IsValid() && slices.Contains(opts.NodePortAddresses, Primary):
		return "addresses: node ports are not served"
	case len(n.podCIDRs) == 0 && opts.NodeCIDR && len(opts.DetectLocal.CIDRs) == 0:
		return "pod ranges: all traffic counts as that of pods"
	}
	return ""
}

// wantsLocal reports whether config needs the addresses of the interfaces.
func (opts *Options) wantsLocal() bool {
	return slices.ContainsFunc(opts.NodePortAddresses, func(s string) bool {
		return s != Primary && (opts.Mode == IPVS || netip.MustParsePrefix(s).Bits() > 0)
	})
}
