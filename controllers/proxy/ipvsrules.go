package proxy

import (
	"fmt"
	"slices"
)

// The chains of mode ipvs besides those that mode iptables has too.
const (
	ipvsNodePortChain = "KUBE-NODE-PORT"
	ipvsBalancerChain = "KUBE-LOAD-BALANCER"
	ipvsRangesChain   = "KUBE-SOURCE-RANGES-FIREWALL"
	ipvsFilterChain   = "KUBE-IPVS-FILTER"
	ipvsOutChain      = "KUBE-IPVS-OUT-FILTER"
)

// ipvsChains are the chains of mode ipvs, by table.
var ipvsChains = map[string][]string{
	tableNAT:    {iptServices, iptPostrouting, ipvsNodePortChain, iptMarkMasq},
	tableFilter: {iptForward, ipvsNodePortChain, iptFirewall, ipvsRangesChain, ipvsFilterChain},
}

// ipvsForeign are chains that only kube-proxy has.
var ipvsForeign = map[string][]string{tableNAT: {ipvsBalancerChain}, tableFilter: {ipvsOutChain}}

// ipvsOwns reports whether a chain belongs to mode ipvs.
func ipvsOwns(table, chain string) bool {
	return slices.Contains(ipvsChains[table], chain) || slices.Contains(ipvsForeign[table], chain)
}

// ipvsJumps are the entries into the chains.
var ipvsJumps = []iptJump{
	{tableNAT, "OUTPUT", iptServices, "kubernetes service portals", nil},
	{tableNAT, "PREROUTING", iptServices, "kubernetes service portals", nil},
	{tableNAT, "POSTROUTING", iptPostrouting, "kubernetes postrouting rules", nil},
	{tableFilter, "FORWARD", iptForward, "kubernetes forwarding rules", nil},
	{tableFilter, "INPUT", ipvsNodePortChain, "kubernetes health check rules", nil},
	{tableFilter, "INPUT", iptFirewall, "kube-proxy firewall rules", nil},
	{tableFilter, "INPUT", ipvsFilterChain, "kubernetes ipvs access filter", nil},
}

// ipvsRules is text for iptables-restore that writes all rules of mode ipvs. They are always the same: what
// belongs to Services is in sets.
func ipvsRules(cfg Config, jumps []iptJump) (text string, rules map[string]int) {
	s, r := newIPTScript(), iptRenderer{cfg: cfg}
	rules = map[string]int{}
	for table, chains := range ipvsChains {
		for _, name := range chains {
			s[table].empty(name)
		}
	}
	add := func(table, chain, format string, args ...any) {
		s[table].rule("-A", chain, fmt.Sprintf(format, args...))
		rules[table]++
	}
	set := func(name, match string) string {
		return fmt.Sprintf("-m set --match-set %s %s", ipvsSetName(cfg.Family, name), match)
	}
	ipvsNAT(&r, add, set)
	ipvsFilter(&r, add, set)
	for _, j := range slices.Backward(jumps) {
		s[j.table].jump(j)
	}
	return s.text(), rules
}

// ipvsNAT are the rules that give traffic the node's address.
func ipvsNAT(r *iptRenderer, add func(table, chain, format string, args ...any), set func(name, match string) string) {
	cluster := set(ipvsClusterIP, "dst,dst")
	if from := r.isLocal(true); r.cfg.MasqueradeAll {
		add(tableNAT, iptServices, "%s -j %s", cluster, iptMarkMasq)
	} else if from != "" {
		add(tableNAT, iptServices, "%s %s -j %s", cluster, from, iptMarkMasq)
	} else {
		// The node's own packets have the cluster IP as source, because it is an address of the device.
		add(tableNAT, iptServices, "%s -j %s", set(ipvsClusterIP, "src,dst"), iptMarkMasq)
	}
	for _, name := range []string{ipvsExternalIP, ipvsBalancer} {
		add(tableNAT, iptServices, "%s -j %s", set(name, "dst,dst"), iptMarkMasq)
	}
	// Clients keep their address with policy Local. The node's own would be that of the device, to which an
	// endpoint on another node cannot reply.
	for _, name := range []string{ipvsExternalLocal, ipvsBalancerLocal} {
		add(tableNAT, iptServices, "%s -m addrtype --src-type LOCAL -j %s", set(name, "dst,dst"), iptMarkMasq)
	}
	add(tableNAT, iptServices, "-m addrtype --dst-type LOCAL -j %s", ipvsNodePortChain)
	for _, p := range []struct{ protocol, all, local, match string }{
		{"tcp", ipvsNodePortTCP, ipvsLocalTCP, "dst"}, {"udp", ipvsNodePortUDP, ipvsLocalUDP, "dst"}, {"sctp", ipvsNodePortSCTP, ipvsLocalSCTP, "dst,dst"},
	} {
		add(tableNAT, ipvsNodePortChain, "-p %s %s -j %s", p.protocol, set(p.all, p.match), iptMarkMasq)
		add(tableNAT, ipvsNodePortChain, "-p %s %s -m addrtype --src-type LOCAL -j %s", p.protocol, set(p.local, p.match), iptMarkMasq)
	}
	mark := r.cfg.mark()
	add(tableNAT, iptMarkMasq, "-j MARK --or-mark %s", mark)
	// An endpoint that reaches itself through its Service must see another address.
	add(tableNAT, iptPostrouting, "-m comment --comment %q %s -j MASQUERADE", "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose", set(ipvsLoopback, "dst,dst,src"))
	add(tableNAT, iptPostrouting, "-m mark ! --mark %s/%s -j RETURN", mark, mark)
	add(tableNAT, iptPostrouting, "-j MARK --xor-mark %s", mark)
	add(tableNAT, iptPostrouting, "-m comment --comment %q -j MASQUERADE --random-fully", "kubernetes service traffic requiring SNAT")
}

// ipvsFilter are the rules that refuse and accept traffic before IPVS takes it.
func ipvsFilter(r *iptRenderer, add func(table, chain, format string, args ...any), set func(name, match string) string) {
	mark := r.cfg.mark()
	add(tableFilter, iptForward, "-m comment --comment %q -m mark --mark %s/%s -j ACCEPT", "kubernetes forwarding rules", mark, mark)
	add(tableFilter, iptForward, "-m comment --comment %q -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "kubernetes forwarding conntrack rule")
	add(tableFilter, ipvsNodePortChain, "-m comment --comment %q -p tcp %s -j ACCEPT", "Kubernetes health check node port", set(ipvsHealthPorts, "dst"))
	add(tableFilter, iptFirewall, "%s -j %s", set(ipvsBalancerFW, "dst,dst"), ipvsRangesChain)
	add(tableFilter, ipvsRangesChain, "%s -j RETURN", set(ipvsSourceCIDR, "dst,dst,src"))
	add(tableFilter, ipvsRangesChain, "-j DROP")
	outside := "-m addrtype ! --src-type LOCAL"
	if from := r.isLocal(true); from != "" {
		outside += " " + from
	}
	add(tableFilter, iptFirewall, "%s %s -m conntrack --ctstate NEW -j DROP", set(ipvsNoLocal, "dst,dst"), outside)
	for _, name := range ipvsAdmitted {
		add(tableFilter, ipvsFilterChain, "%s -j RETURN", set(name, "dst,dst"))
	}
	// What the node listens on is not to be reached at addresses of Services.
	add(tableFilter, ipvsFilterChain, "-m conntrack --ctstate NEW %s -j REJECT", set(ipvsIPs, "dst"))
}
