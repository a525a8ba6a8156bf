package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// Mode is the kernel subsystem that forwards the traffic.
type Mode string

// The modes.
const (
	NFTables Mode = "nftables"
	IPTables Mode = "iptables"
	// IPVS uses the load balancer of the kernel. It cannot do all that Services may want: see NewBackend.
	IPVS Mode = "ipvs"
)

// allModes are the modes in the order in which rules of other modes are removed.
var allModes = []Mode{NFTables, IPTables, IPVS}

// Backend writes the forwarding of one family to the kernel, or to whatever else forwards packets. Its
// methods are not called concurrently.
type Backend interface {
	// Probe returns an error that says what is missing on this node, such as a program of a sufficient
	// version. It changes nothing.
	Probe(ctx context.Context) error
	// Configure sets what does not come from Services. It reports whether it is different from before: then
	// the next Delta must be All.
	Configure(cfg Config) bool
	// Write applies a change. With d.All it writes everything regardless of what is there, and what sessions
	// and established flows depend on stays. After an error without d.All, the kernel is as before if Atomic
	// reports so, and otherwise unknown. Write must not modify d.
	Write(ctx context.Context, d *Delta) error
	// Atomic reports whether a Write that fails leaves the kernel as it was.
	Atomic() bool
	// Check reports whether what Write has written is still there. It is quick and may overlook changes of
	// single rules. An error means that it could not be determined.
	Check(ctx context.Context) (bool, error)
	// Clean removes everything, also what other processes have written in the same mode.
	Clean(ctx context.Context) error
}

// RuleCounter is a Backend that counts its rules by table, for the metric
// kubeproxy_sync_proxy_rules_iptables_total.
type RuleCounter interface {
	// Rules are the numbers of rules that are there, and of those that the last write contained; written is
	// nil if they are not counted.
	Rules() (there, written map[string]int)
}

// Maintainer is a Backend with periodic work. Maintain is called about once per Options.SyncPeriod, not
// concurrently with the methods of Backend; an error is logged, and the next call tries again.
type Maintainer interface {
	Maintain(ctx context.Context) error
}

// BackendOptions are the options of NewBackend.
type BackendOptions struct {
	// Kernel is the kernel to write to. Required.
	Kernel Kernel
	// Logger receives what Write and Check recover from; nil means none.
	Logger *slog.Logger
	// IPVS are the options of mode ipvs.
	IPVS IPVSOptions
	// Running is the mode that runs on the kernel if it is another one: Clean leaves what both have in
	// common.
	Running Mode
}

// NewBackend returns the backend of a mode and family. It must be configured before the first Write.
//
// The backend of mode ipvs serves node ports on Config.NodePortAddrs only, and not on loopback addresses. As
// in kube-proxy, traffic policy Local at external addresses also holds for pods and the node, as long as
// there is an endpoint on the node; a cluster IP with policy Local and no endpoint on the node refuses
// traffic instead of dropping it; and source ranges of load balancers do not hold for the node itself.
func NewBackend(mode Mode, f Family, opts BackendOptions) (Backend, error) {
	if opts.Kernel == nil {
		return nil, errors.New("proxy: BackendOptions.Kernel is nil: pass the result of NewKernel")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Running == mode {
		opts.Running = "" // Clean removes everything
	}
	switch mode {
	case NFTables:
		return &nftBackend{family: f, kernel: opts.Kernel, log: opts.Logger}, nil
	case IPTables:
		return &iptBackend{iptTool: iptTool{family: f, kernel: opts.Kernel}, running: opts.Running}, nil
	case IPVS:
		if err := opts.IPVS.validate(); err != nil {
			return nil, err
		}
		return newIPVSBackend(f, opts), nil
	}
	return nil, unknownMode(mode)
}

func unknownMode(mode Mode) error {
	names := make([]string, len(allModes))
	for i, m := range allModes {
		names[i] = string(m)
	}
	return fmt.Errorf("proxy: mode %q is not one of %s", mode, strings.Join(names, ", "))
}

// Script returns the text that writes a change: the input of nft -f, or of iptables-restore --noflush. It is
// pure: it needs neither a kernel nor what was written before. The text of a whole table assumes that there
// are no rules of the same mode. With iptables it does not contain the jumps from the chains of the kernel.
// Mode ipvs has no such text, because it changes the kernel without a program.
func Script(mode Mode, cfg Config, d *Delta) (string, error) {
	switch mode {
	case NFTables:
		r := &nftRenderer{cfg: cfg}
		if d.All {
			return r.all(d, nil), nil
		}
		return r.changes(d), nil
	case IPTables:
		r := &iptRenderer{cfg: cfg}
		if d.All {
			return r.all(d, nil, nil), nil
		}
		return r.changes(d), nil
	}
	return "", fmt.Errorf("proxy: mode %q has no script", mode)
}

// DetectLocal defines how traffic from this cluster's pods is distinguished from other traffic, which is
// masqueraded so that replies return through this node. The first field that is set applies; if none is set,
// all traffic is considered local.
type DetectLocal struct {
	// CIDRs are the ranges of pods, of the cluster or of this node; the first of a family is used.
	CIDRs []netip.Prefix
	// Bridge is the bridge interface of this node's pods.
	Bridge string
	// InterfacePrefix is the prefix of the names of the interfaces of this node's pods.
	InterfacePrefix string
}

func (d DetectLocal) cidr(f Family) (netip.Prefix, bool) {
	for _, p := range d.CIDRs {
		if f.of(p.Addr()) {
			return p.Masked(), true
		}
	}
	return netip.Prefix{}, false
}

// Config is what a Backend writes besides Services.
type Config struct {
	Family Family
	// MasqueradeBit is the bit, 0 to 31, of the mark for traffic to be masqueraded with this node's address.
	MasqueradeBit int
	// MasqueradeAll gives this node's address to all traffic for cluster IPs.
	MasqueradeAll bool
	DetectLocal   DetectLocal
	// NodePortAddrs are the addresses node ports are served on; AllNodePortAddrs serves them on all addresses
	// of the node.
	NodePortAddrs    []netip.Addr
	AllNodePortAddrs bool
	// LocalhostNodePorts serves node ports on 127.0.0.1 too (iptables and IPv4 only).
	LocalhostNodePorts bool
	// NodeAddrs are the node's own addresses: a load balancer's source range that holds one lets the node use
	// the balancer's address.
	NodeAddrs []netip.Addr
	// ServiceCIDRs are the ranges of cluster IPs: traffic to an unknown one in them is dropped (nftables
	// only).
	ServiceCIDRs []netip.Prefix
	// AcceptInvalid does not drop packets connection tracking finds invalid (iptables only).
	AcceptInvalid bool
}

func (c *Config) mark() string { return fmt.Sprintf("%#x", uint32(1)<<c.MasqueradeBit) }

// set replaces the configuration and reports whether it is another one.
func (c *Config) set(cfg Config) bool {
	if reflect.DeepEqual(*c, cfg) {
		return false
	}
	*c = cfg
	return true
}

// holdsNode reports whether a range holds an address of the node.
func (c *Config) holdsNode(ranges []netip.Prefix) bool {
	return slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return slices.ContainsFunc(c.NodeAddrs, r.Contains) })
}

// endpointsUsed are the endpoints that rules of a port lead to, each once: those of the chain of the cluster
// and those of the chain of this node.
func (p *ServicePort) endpointsUsed() []netip.AddrPort {
	var out []netip.AddrPort
	if p.usesCluster() {
		out = append(out, p.Cluster...)
	}
	if p.usesLocal() {
		for _, ep := range p.Local {
			if !slices.Contains(out, ep) {
				out = append(out, ep)
			}
		}
	}
	return out
}

func (p *ServicePort) usesCluster() bool {
	return len(p.Cluster) > 0 && (!p.InternalLocal || p.External())
}

func (p *ServicePort) usesLocal() bool {
	return len(p.Local) > 0 && (p.InternalLocal || p.ExternalLocal)
}

// reachable reports whether external addresses lead anywhere for at least some clients.
func (p *ServicePort) reachable() bool { return len(p.external()) > 0 || len(p.Cluster) > 0 }

// hash returns the first n characters of a name's digest, as kube-proxy makes them.
func hash(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return base32.StdEncoding.EncodeToString(sum[:])[:n]
}

// Cleanup removes the rules of all modes and families, including those of kube-proxy.
func Cleanup(ctx context.Context, k Kernel) error {
	return cleanModes(ctx, BackendOptions{Kernel: k})
}

// cleanModes removes the rules of all modes except for the one that is running.
func cleanModes(ctx context.Context, opts BackendOptions) error {
	var errs []error
	for _, mode := range allModes {
		if mode == opts.Running {
			continue
		}
		for _, f := range bothFamilies {
			b, err := NewBackend(mode, f, opts)
			if err == nil {
				err = b.Clean(ctx)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("mode %s: %w", mode, err))
			}
		}
	}
	return errors.Join(errs...)
}
