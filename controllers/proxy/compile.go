package proxy

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/netip"
)

// Mode is the kernel subsystem that forwards the traffic.
type Mode string

// The modes.
const (
	NFTables Mode = "nftables"
	IPTables Mode = "iptables"
)

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

// Config is the configuration of a Compiler.
type Config struct {
	Mode   Mode
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

// Compiler compiles service ports into rules. It caches the rules of a port by pointer: a *ServicePort must
// not be modified after it was passed to Compile. It is not safe for concurrent use.
type Compiler struct {
	cfg    Config
	blocks map[*ServicePort]*block
}

// NewCompiler returns a compiler for one mode and family.
func NewCompiler(cfg Config) *Compiler { return &Compiler{cfg: cfg} }

// block is what one service port adds to the rules. Chains of a block belong to it alone; elements and
// lines go into what all share.
type block struct {
	chains   map[string]*chain
	sets     map[string]string
	elements []element
	// shared are lines for the shared chains of iptables, by table and chain.
	shared []sharedLine
}

// chain is a list of rules; a base chain has a hook.
type chain struct {
	hook  string
	rules []string
}

func (b *block) chain(name string) *chain {
	c := b.chains[name]
	if c == nil {
		c = &chain{}
		b.chains[name] = c
	}
	return c
}

func (c *chain) add(format string, args ...any) {
	c.rules = append(c.rules, fmt.Sprintf(format, args...))
}

// Compile returns the rules for ports, which must be sorted by name. If two ports have the same address, the
// first one wins.
func (c *Compiler) Compile(ports []*ServicePort) *Ruleset {
	next := make(map[*ServicePort]*block, len(ports))
	list := make([]*block, len(ports))
	for i, p := range ports {
		b := c.blocks[p]
		if b == nil {
			b = &block{chains: map[string]*chain{}, sets: map[string]string{}}
			if c.cfg.Mode == IPTables {
				c.iptablesPort(b, p)
			} else {
				c.nftablesPort(b, p)
			}
		}
		next[p], list[i] = b, b
	}
	c.blocks = next
	r := &Ruleset{Mode: c.cfg.Mode, Family: c.cfg.Family}
	if c.cfg.Mode == IPTables {
		r.ipt = c.iptables(list)
	} else {
		r.nft = c.nftables(list)
	}
	return r
}

// hash returns the first n characters of a name's digest, as kube-proxy makes them.
func hash(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return base32.StdEncoding.EncodeToString(sum[:])[:n]
}

// Ruleset contains all rules of one family. It is immutable.
type Ruleset struct {
	Mode   Mode
	Family Family
	nft    *nftRules
	ipt    *iptRules
}

// Text returns the input of nft -f or iptables-restore --noflush that creates these rules and replaces those
// of a previous run in the same mode.
func (r *Ruleset) Text() string {
	if r.ipt != nil {
		return r.ipt.text()
	}
	return r.nft.text()
}

// Changes returns the input that changes the rules from into r; empty if they are equal. Both must have the
// same mode and family.
func (r *Ruleset) Changes(from *Ruleset) string {
	if r.ipt != nil {
		return r.ipt.changes(from.ipt)
	}
	return r.nft.changes(from.nft)
}

// Len returns the number of rules by table, as in the metric kubeproxy_sync_proxy_rules_iptables_total.
func (r *Ruleset) Len() map[string]int {
	out := map[string]int{}
	if r.ipt != nil {
		for name, t := range r.ipt.tables {
			for _, c := range t.chains {
				out[name] += len(c.rules)
			}
		}
		return out
	}
	for _, c := range r.nft.chains {
		out["nftables"] += len(c.rules)
	}
	return out
}
