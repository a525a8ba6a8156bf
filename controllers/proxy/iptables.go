package proxy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// The chains all Services share.
const (
	iptServices     = "KUBE-SERVICES"
	iptExternal     = "KUBE-EXTERNAL-SERVICES"
	iptNodePorts    = "KUBE-NODEPORTS"
	iptPostrouting  = "KUBE-POSTROUTING"
	iptMarkMasq     = "KUBE-MARK-MASQ"
	iptForward      = "KUBE-FORWARD"
	iptFirewall     = "KUBE-PROXY-FIREWALL"
	iptLocalnet     = "KUBE-FIREWALL"
	iptCanary       = "KUBE-PROXY-CANARY"
	tableNAT        = "nat"
	tableFilter     = "filter"
	tableMangle     = "mangle"
	nodePortsOfNode = "kubernetes service nodeports; NOTE: this must be the last rule in this chain"
)

// iptJump is a rule in a chain of the kernel that leads to one of ours. front says which end of the chain it
// is put at.
type iptJump struct {
	table, from, to, comment string
	match                    []string
	front                    bool
}

// args are the arguments of iptables after -C, -I, -A or -D and the chain.
func (j iptJump) args() []string {
	return append(append(slices.Clone(j.match), "-m", "comment", "--comment", j.comment), "-j", j.to)
}

var fresh = []string{"-m", "conntrack", "--ctstate", "NEW"}

// iptJumps are the entries into the proxy's chains, in the order they are made.
var iptJumps = []iptJump{
	{tableFilter, "INPUT", iptExternal, "kubernetes externally-visible service portals", fresh, true},
	{tableFilter, "FORWARD", iptExternal, "kubernetes externally-visible service portals", fresh, true},
	{tableFilter, "INPUT", iptNodePorts, "kubernetes health check service ports", nil, true},
	{tableFilter, "FORWARD", iptServices, "kubernetes service portals", fresh, true},
	{tableFilter, "OUTPUT", iptServices, "kubernetes service portals", fresh, true},
	{tableFilter, "FORWARD", iptForward, "kubernetes forwarding rules", nil, true},
	{tableFilter, "INPUT", iptFirewall, "kubernetes load balancer firewall", fresh, true},
	{tableFilter, "OUTPUT", iptFirewall, "kubernetes load balancer firewall", fresh, true},
	{tableFilter, "FORWARD", iptFirewall, "kubernetes load balancer firewall", fresh, true},
	{tableFilter, "INPUT", iptLocalnet, "kubernetes localnet firewall", nil, true},
	{tableFilter, "OUTPUT", iptLocalnet, "kubernetes localnet firewall", nil, true},
	{tableNAT, "OUTPUT", iptServices, "kubernetes service portals", nil, true},
	{tableNAT, "PREROUTING", iptServices, "kubernetes service portals", nil, true},
	{tableNAT, "POSTROUTING", iptPostrouting, "kubernetes postrouting rules", nil, true},
}

// iptRules is the content of the tables.
type iptRules struct{ tables map[string]*iptTable }

type iptTable struct{ chains map[string]*chain }

// sharedLine is a rule a port adds to a chain that all ports share.
type sharedLine struct{ table, chain, rule string }

// iptables joins the rules all Services share with their blocks.
func (c *Compiler) iptables(blocks []*block) *iptRules {
	r := &iptRules{tables: map[string]*iptTable{}}
	declare := func(table string, names ...string) {
		t := &iptTable{chains: map[string]*chain{}}
		for _, n := range names {
			t.chains[n] = &chain{}
		}
		r.tables[table] = t
	}
	declare(tableFilter, iptCanary, iptServices, iptExternal, iptForward, iptNodePorts, iptFirewall, iptLocalnet)
	declare(tableNAT, iptCanary, iptServices, iptNodePorts, iptPostrouting, iptMarkMasq)
	declare(tableMangle, iptCanary)
	for _, b := range blocks {
		maps.Copy(r.tables[tableNAT].chains, b.chains) // filter has shared chains only
		for _, l := range b.shared {
			r.tables[l.table].chains[l.chain].add("%s", l.rule)
		}
	}
	c.iptShared(r)
	return r
}

func (c *Compiler) iptShared(r *iptRules) {
	nat, filter := r.tables[tableNAT].chains, r.tables[tableFilter].chains
	services := nat[iptServices]
	if c.cfg.AllNodePortAddrs {
		match := "-m addrtype --dst-type LOCAL"
		if !c.cfg.LocalhostNodePorts || c.cfg.Family == IPv6 {
			match += " ! -d " + c.localhost()
		}
		services.add("-m comment --comment %q %s -j %s", nodePortsOfNode, match, iptNodePorts)
	} else {
		for _, a := range c.cfg.NodePortAddrs {
			if c.cfg.Family.of(a) {
				services.add("-m comment --comment %q -d %s -j %s", nodePortsOfNode, a, iptNodePorts)
			}
		}
	}
	mark := c.cfg.mark()
	nat[iptMarkMasq].add("-j MARK --or-mark %s", mark)
	post := nat[iptPostrouting]
	post.add("-m mark ! --mark %s/%s -j RETURN", mark, mark)
	post.add("-j MARK --xor-mark %s", mark)
	post.add("-m comment --comment %q -j MASQUERADE --random-fully", "kubernetes service traffic requiring SNAT")

	forward := filter[iptForward]
	if !c.cfg.AcceptInvalid {
		// An invalid packet would be let through untranslated, and the client would end the connection over
		// it.
		forward.add("-m conntrack --ctstate INVALID -j DROP")
	}
	forward.add("-m comment --comment %q -m mark --mark %s/%s -j ACCEPT", "kubernetes forwarding rules", mark, mark)
	forward.add("-m comment --comment %q -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "kubernetes forwarding conntrack rule")
	if c.cfg.LocalhostNodePorts && c.cfg.Family == IPv4 {
		// route_localnet, which node ports on localhost need, would let neighbours reach what listens on
		// localhost only.
		filter[iptLocalnet].add("-m comment --comment %q -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP", "block incoming localnet connections")
	}
}

func (c *Compiler) localhost() string {
	if c.cfg.Family == IPv6 {
		return "::1/128"
	}
	return "127.0.0.0/8"
}

func iptPortChain(prefix string, n PortName) string {
	return prefix + hash(n.String()+n.protocol(), 16)
}

func iptEndpointChain(n PortName, ep netip.AddrPort) string {
	return "KUBE-SEP-" + hash(n.String()+n.protocol()+ep.String(), 16)
}

// iptComment fits what a rule may carry.
func iptComment(format string, args ...any) string {
	s := fmt.Sprintf(format, args...)
	return "-m comment --comment " + strconv.Quote(s[:min(len(s), 255)])
}

// iptablesPort writes the chains of one port and its lines in the shared ones.
func (c *Compiler) iptablesPort(b *block, p *ServicePort) {
	svc, svl := iptPortChain("KUBE-SVC-", p.Name), iptPortChain("KUBE-SVL-", p.Name)
	ext, fw := iptPortChain("KUBE-EXT-", p.Name), iptPortChain("KUBE-FW-", p.Name)
	name, proto := p.Name.String(), p.Name.protocol()
	line := func(table, chain string, format string, args ...any) {
		b.shared = append(b.shared, sharedLine{table: table, chain: chain, rule: fmt.Sprintf(format, args...)})
	}
	to := func(a netip.Addr) string { return fmt.Sprintf("-m %s -p %s -d %s --dport %d", proto, proto, a, p.Port) }
	refuse := func() (what, target string) {
		if p.AnyEndpoint {
			return "has no local endpoints", "DROP"
		}
		return "has no endpoints", "REJECT"
	}
	what, target := refuse()
	internal := svc
	if p.InternalLocal {
		internal = svl
	}
	if len(p.internal()) > 0 {
		line(tableNAT, iptServices, "%s %s -j %s", iptComment("%s cluster IP", name), to(p.ClusterIP), internal)
	} else {
		line(tableFilter, iptServices, "%s %s -j %s", iptComment("%s %s", name, what), to(p.ClusterIP), target)
	}
	if p.External() {
		reachable := len(p.external()) > 0 || len(p.Cluster) > 0
		entry := func(a netip.Addr, kind, chain string) {
			if reachable {
				line(tableNAT, iptServices, "%s %s -j %s", iptComment("%s %s", name, kind), to(a), chain)
			}
			if len(p.external()) == 0 {
				line(tableFilter, iptExternal, "%s %s -j %s", iptComment("%s %s", name, what), to(a), target)
			}
		}
		for _, a := range p.ExternalIPs {
			entry(a, "external IP", ext)
		}
		for _, a := range p.LoadBalancerIPs {
			if len(p.SourceRanges) == 0 {
				entry(a, "loadbalancer IP", ext)
				continue
			}
			entry(a, "loadbalancer IP", fw)
			if reachable { // otherwise the address is refused, to everybody
				line(tableFilter, iptFirewall, "%s %s -j DROP", iptComment("%s traffic not accepted by %s", name, fw), to(a))
			}
		}
		if p.NodePort != 0 {
			onNode := fmt.Sprintf("-m %s -p %s --dport %d", proto, proto, p.NodePort)
			if reachable {
				line(tableNAT, iptNodePorts, "%s %s -j %s", iptComment("%s", name), onNode, ext)
			}
			if len(p.external()) == 0 {
				line(tableFilter, iptExternal, "%s -m addrtype --dst-type LOCAL %s -j %s", iptComment("%s %s", name, what), onNode, target)
			}
		}
		if p.HealthCheckNodePort != 0 {
			line(tableFilter, iptNodePorts, "%s -m tcp -p tcp --dport %d -j ACCEPT", iptComment("%s health check node port", name), p.HealthCheckNodePort)
		}
		if reachable {
			c.iptExternal(b.chain(ext), p, svc, svl)
			if len(p.SourceRanges) > 0 && len(p.LoadBalancerIPs) > 0 {
				c.iptFirewall(b.chain(fw), p, ext)
			}
		}
	}
	used := map[netip.AddrPort]bool{}
	if len(p.Cluster) > 0 && (!p.InternalLocal || p.External()) {
		c.iptBalance(b.chain(svc), p, p.Cluster, internal == svc)
		for _, ep := range p.Cluster {
			used[ep] = true
		}
	}
	if len(p.Local) > 0 && (p.InternalLocal || p.ExternalLocal) {
		c.iptBalance(b.chain(svl), p, p.Local, internal == svl)
		for _, ep := range p.Local {
			used[ep] = true
		}
	}
	for ep := range used {
		iptEndpoint(b, p, ep)
	}
}

// iptIsLocal matches traffic of pods; not negates. It is empty if nobody said how to tell.
func (c *Compiler) iptIsLocal(not bool) string {
	bang := ""
	if not {
		bang = "! "
	}
	d := c.cfg.DetectLocal
	if p, ok := d.cidr(c.cfg.Family); ok {
		return bang + "-s " + p.String()
	}
	if d.Bridge != "" {
		return bang + "-i " + d.Bridge
	}
	if d.InterfacePrefix != "" {
		return bang + "-i " + d.InterfacePrefix + "+"
	}
	return ""
}

func (c *Compiler) iptExternal(ch *chain, p *ServicePort, svc, svl string) {
	name := p.Name.String()
	if !p.ExternalLocal {
		ch.add("%s -j %s", iptComment("masquerade traffic for %s external destinations", name), iptMarkMasq)
		ch.add("-j %s", svc)
		return
	}
	// Pods and the node itself are inside, whatever address they use: they get any endpoint.
	if len(p.Cluster) > 0 {
		if from := c.iptIsLocal(false); from != "" {
			ch.add("%s %s -j %s", iptComment("pod traffic for %s external destinations", name), from, svc)
		}
		ch.add("%s -m addrtype --src-type LOCAL -j %s", iptComment("masquerade LOCAL traffic for %s external destinations", name), iptMarkMasq)
		ch.add("%s -m addrtype --src-type LOCAL -j %s", iptComment("route LOCAL traffic for %s external destinations", name), svc)
	}
	// Others keep their address, because the endpoint is here.
	if len(p.Local) > 0 {
		ch.add("-j %s", svl)
	}
}

func (c *Compiler) iptFirewall(ch *chain, p *ServicePort, ext string) {
	comment := iptComment("%s loadbalancer IP", p.Name)
	node := false
	for _, r := range p.SourceRanges {
		ch.add("%s -s %s -j %s", comment, r, ext)
		node = node || slices.ContainsFunc(c.cfg.NodeAddrs, r.Contains)
	}
	if node {
		// The node may be given the balancer's own address as source when it uses it.
		for _, a := range p.LoadBalancerIPs {
			ch.add("%s -s %s -j %s", comment, a, ext)
		}
	}
	ch.add("%s", iptComment("other traffic to %s will be dropped by %s", p.Name, iptFirewall))
}

func (c *Compiler) iptBalance(ch *chain, p *ServicePort, eps []netip.AddrPort, internal bool) {
	name, proto := p.Name.String(), p.Name.protocol()
	if internal {
		to := fmt.Sprintf("%s -m %s -p %s -d %s --dport %d", iptComment("%s cluster IP", name), proto, proto, p.ClusterIP, p.Port)
		if c.cfg.MasqueradeAll {
			ch.add("%s -j %s", to, iptMarkMasq)
		} else if from := c.iptIsLocal(true); from != "" {
			ch.add("%s %s -j %s", to, from, iptMarkMasq)
		}
	}
	if p.AffinitySeconds > 0 {
		for _, ep := range eps {
			sep := iptEndpointChain(p.Name, ep)
			ch.add("%s -m recent --name %s --rcheck --seconds %d --reap -j %s", iptComment("%s -> %s", name, ep), sep, p.AffinitySeconds, sep)
		}
	}
	for i, ep := range eps {
		pick := ""
		if left := len(eps) - i; left > 1 {
			// Each rule gets its share of what the ones before it left over.
			pick = fmt.Sprintf("-m statistic --mode random --probability %0.10f ", 1/float64(left))
		}
		ch.add("%s %s-j %s", iptComment("%s -> %s", name, ep), pick, iptEndpointChain(p.Name, ep))
	}
}

func iptEndpoint(b *block, p *ServicePort, ep netip.AddrPort) {
	sep, proto := iptEndpointChain(p.Name, ep), p.Name.protocol()
	ch := b.chain(sep)
	comment := iptComment("%s", p.Name)
	// An endpoint that reaches itself through its Service must see another address, or it would answer itself
	// past the node.
	ch.add("%s -s %s -j %s", comment, ep.Addr(), iptMarkMasq)
	recent := ""
	if p.AffinitySeconds > 0 {
		recent = "-m recent --name " + sep + " --set "
	}
	ch.add("%s %s-m %s -p %s -j DNAT --to-destination %s", comment, recent, proto, proto, ep)
}

func (r *iptRules) text() string { return r.textWithout(nil) }

// textWithout writes everything and deletes further chains, given by table.
func (r *iptRules) textWithout(further map[string][]string) string {
	before := &iptRules{tables: map[string]*iptTable{}}
	for _, table := range []string{tableFilter, tableNAT, tableMangle} {
		before.tables[table] = &iptTable{chains: map[string]*chain{}}
		for _, name := range further[table] {
			before.tables[table].chains[name] = &chain{}
		}
	}
	return r.changes(before)
}

// changes is input for iptables-restore --noflush: a chain that is declared there is emptied and filled anew,
// others stay as they are.
func (r *iptRules) changes(from *iptRules) string {
	var w strings.Builder
	for _, table := range []string{tableFilter, tableNAT, tableMangle} {
		r.tables[table].changes(&w, table, from.tables[table])
	}
	return w.String()
}

func (t *iptTable) changes(w *strings.Builder, table string, before *iptTable) {
	changed, gone := changedChains(t.chains, before.chains), missing(before.chains, t.chains)
	if len(changed)+len(gone) == 0 {
		return
	}
	fmt.Fprintf(w, "*%s\n", table)
	for _, name := range slices.Concat(changed, gone) {
		fmt.Fprintf(w, ":%s - [0:0]\n", name)
	}
	for _, name := range changed {
		for _, rule := range t.chains[name].rules {
			fmt.Fprintf(w, "-A %s %s\n", name, rule)
		}
	}
	for _, name := range gone {
		fmt.Fprintf(w, "-X %s\n", name)
	}
	w.WriteString("COMMIT\n")
}
