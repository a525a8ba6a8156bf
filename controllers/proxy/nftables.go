package proxy

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// nftTable is the name of the proxy's tables, one in family ip and one in ip6.
const nftTable = "kube-proxy"

// The chains, maps and sets all Services share.
const (
	nftServices       = "services"
	nftMarkMasq       = "mark-for-masquerade"
	nftMasquerading   = "masquerading"
	nftReject         = "reject-chain"
	nftEndpointsCheck = "service-endpoints-check"
	nftNodePortCheck  = "nodeport-endpoints-check"
	nftFirewallCheck  = "firewall-check"
	nftClusterIPCheck = "cluster-ips-check"

	nftServiceIPs        = "service-ips"
	nftServiceNodePorts  = "service-nodeports"
	nftNoEndpoints       = "no-endpoint-services"
	nftNoEndpointsOfNode = "no-endpoint-nodeports"
	nftFirewallIPs       = "firewall-ips"
	nftClusterIPs        = "cluster-ips"
	nftNodePortIPs       = "nodeport-ips"
)

// element is one entry of a map, or of a set if it has no verdict.
type element struct{ in, key, verdict, comment string }

// nftRules is the content of a table.
type nftRules struct {
	family   string // ip or ip6
	chains   map[string]*chain
	sets     map[string]string // declarations of sets by name; maps are in the same name space
	isMap    map[string]bool
	elements map[string]map[string]element // by set and key
}

func (c *Compiler) ip() string {
	if c.cfg.Family == IPv6 {
		return "ip6"
	}
	return "ip"
}

func (c *Compiler) addrType() string {
	if c.cfg.Family == IPv6 {
		return "ipv6_addr"
	}
	return "ipv4_addr"
}

// nftables joins the rules all Services share with their blocks.
func (c *Compiler) nftables(blocks []*block) *nftRules {
	r := &nftRules{family: c.ip(), chains: map[string]*chain{}, sets: map[string]string{}, isMap: map[string]bool{}, elements: map[string]map[string]element{}}
	c.nftShared(r)
	for _, b := range blocks {
		maps.Copy(r.chains, b.chains)
		maps.Copy(r.sets, b.sets)
		for _, e := range b.elements {
			r.put(e)
		}
	}
	return r
}

// put adds an element unless there is one of the same key.
func (r *nftRules) put(e element) {
	m := r.elements[e.in]
	if m == nil {
		m = map[string]element{}
		r.elements[e.in] = m
	}
	if _, taken := m[e.key]; !taken {
		m[e.key] = e
	}
}

func (c *Compiler) nftShared(r *nftRules) {
	ip, addr := c.ip(), c.addrType()
	verdicts := func(name, key, comment string) {
		r.isMap[name] = true
		r.sets[name] = fmt.Sprintf("type %s : verdict ; comment %q ;", key, comment)
	}
	where := addr + " . inet_proto . inet_service"
	verdicts(nftServiceIPs, where, "ClusterIP, ExternalIP and LoadBalancer IP traffic")
	verdicts(nftServiceNodePorts, "inet_proto . inet_service", "NodePort traffic")
	verdicts(nftNoEndpoints, where, "vmap to drop or reject packets to services with no endpoints")
	verdicts(nftNoEndpointsOfNode, "inet_proto . inet_service", "vmap to drop or reject packets to service nodeports with no endpoints")
	verdicts(nftFirewallIPs, where, "destinations that are subject to LoadBalancerSourceRanges")
	r.sets[nftClusterIPs] = fmt.Sprintf("type %s ; comment %q ;", addr, "Active ClusterIPs")
	r.sets[nftNodePortIPs] = fmt.Sprintf("type %s ; comment %q ;", addr, "IPs that accept NodePort traffic")

	chainOf := func(name string, rules ...string) { r.chains[name] = &chain{rules: rules} }
	lookup := func(m string) string { return fmt.Sprintf("%s daddr . meta l4proto . th dport vmap @%s", ip, m) }
	nodePort := fmt.Sprintf("%s daddr @%s", ip, nftNodePortIPs)
	if c.cfg.AllNodePortAddrs {
		nodePort = "fib daddr type local " + ip + " daddr != " + map[string]string{"ip": "127.0.0.0/8", "ip6": "::1"}[ip]
	}
	byPort := func(m string) string { return nodePort + " meta l4proto . th dport vmap @" + m }
	chainOf(nftServices, lookup(nftServiceIPs), byPort(nftServiceNodePorts))
	chainOf(nftEndpointsCheck, lookup(nftNoEndpoints))
	chainOf(nftNodePortCheck, byPort(nftNoEndpointsOfNode))
	chainOf(nftFirewallCheck, lookup(nftFirewallIPs))
	chainOf(nftReject, "reject")
	check := []string{fmt.Sprintf("%s daddr @%s reject comment %q", ip, nftClusterIPs, "Reject traffic to invalid ports of ClusterIPs")}
	var ranges []string
	for _, p := range c.cfg.ServiceCIDRs {
		if c.cfg.Family.of(p.Addr()) {
			ranges = append(ranges, p.Masked().String())
		}
	}
	if len(ranges) > 0 {
		check = append(check, fmt.Sprintf("%s daddr { %s } drop comment %q", ip, strings.Join(ranges, ", "), "Drop traffic to unallocated ClusterIPs"))
	}
	chainOf(nftClusterIPCheck, check...)
	mark := c.cfg.mark()
	chainOf(nftMarkMasq, "mark set mark or "+mark)
	// The mark is cleared, so that a packet that is encapsulated and comes by again is not given an address
	// twice.
	chainOf(nftMasquerading, "mark and "+mark+" == 0 return", "mark set mark xor "+mark, "masquerade fully-random")

	hook := func(name, hook string, rules ...string) { r.chains[name] = &chain{hook: hook, rules: rules} }
	fresh := func(name string) string { return "ct state new jump " + name }
	hook("filter-prerouting-pre-dnat", "type filter hook prerouting priority -110 ;", fresh(nftFirewallCheck))
	hook("filter-output-pre-dnat", "type filter hook output priority -110 ;", fresh(nftFirewallCheck))
	hook("filter-input", "type filter hook input priority 0 ;", fresh(nftNodePortCheck), fresh(nftEndpointsCheck))
	hook("filter-forward", "type filter hook forward priority 0 ;", fresh(nftEndpointsCheck), fresh(nftClusterIPCheck))
	hook("filter-output", "type filter hook output priority 0 ;", fresh(nftEndpointsCheck), fresh(nftClusterIPCheck))
	hook("nat-prerouting", "type nat hook prerouting priority -100 ;", "jump "+nftServices)
	hook("nat-output", "type nat hook output priority -100 ;", "jump "+nftServices)
	hook("nat-postrouting", "type nat hook postrouting priority 100 ;", "jump "+nftMasquerading)
	if !c.cfg.AllNodePortAddrs {
		for _, a := range c.cfg.NodePortAddrs {
			if c.cfg.Family.of(a) {
				r.put(element{in: nftNodePortIPs, key: a.String()})
			}
		}
	}
}

// nftName is what the chains of a port are named after: a digest that is unique and a name that can be read.
func nftName(n PortName) string {
	s := n.Service.Namespace + "/" + n.Service.Name + "/" + n.protocol() + "/" + n.Port
	return hash(s, 8) + "-" + s
}

func nftEndpointName(n PortName, ep netip.AddrPort) string {
	addr := strings.ReplaceAll(ep.Addr().String(), ":", ".")
	s := fmt.Sprintf("%s/%s/%s/%s__%s/%d", n.Service.Namespace, n.Service.Name, n.protocol(), n.Port, addr, ep.Port())
	// A name may have 255 characters, with the prefix; the digest keeps what is cut apart.
	return hash(s, 8) + "-" + s[:min(len(s), 200)]
}

// nftablesPort writes the chains and elements of one port.
func (c *Compiler) nftablesPort(b *block, p *ServicePort) {
	base := nftName(p.Name)
	cluster, local, external := "service-"+base, "local-"+base, "external-"+base
	firewall := "firewall-" + base
	comment := p.Name.String()
	if len(comment) > 120 { // what the kernel keeps with an element is short
		comment = comment[:120]
	}
	put := func(in, key, verdict string) { b.elements = append(b.elements, element{in, key, verdict, comment}) }
	at := func(a netip.Addr) string { return fmt.Sprintf("%s . %s . %d", a, p.Name.protocol(), p.Port) }
	onNode := fmt.Sprintf("%s . %d", p.Name.protocol(), p.NodePort)
	verdict := func() string { // for addresses without an endpoint
		if p.AnyEndpoint {
			return "drop" // other nodes have one
		}
		return "goto " + nftReject
	}

	internal := cluster
	if p.InternalLocal {
		internal = local
	}
	put(nftClusterIPs, p.ClusterIP.String(), "")
	b.elements[0].comment = "" // several ports share it
	if len(p.internal()) > 0 {
		put(nftServiceIPs, at(p.ClusterIP), "goto "+internal)
	} else {
		put(nftNoEndpoints, at(p.ClusterIP), verdict())
	}
	if p.External() {
		reachable := len(p.external()) > 0 || len(p.Cluster) > 0
		for _, a := range slices.Concat(p.ExternalIPs, p.LoadBalancerIPs) {
			if reachable {
				put(nftServiceIPs, at(a), "goto "+external)
			}
			if len(p.external()) == 0 {
				put(nftNoEndpoints, at(a), verdict())
			}
		}
		if p.NodePort != 0 {
			if reachable {
				put(nftServiceNodePorts, onNode, "goto "+external)
			}
			if len(p.external()) == 0 {
				put(nftNoEndpointsOfNode, onNode, verdict())
			}
		}
		if reachable {
			c.nftExternal(b.chain(external), p, cluster, local)
		}
		if len(p.SourceRanges) > 0 && len(p.LoadBalancerIPs) > 0 {
			for _, a := range p.LoadBalancerIPs {
				put(nftFirewallIPs, at(a), "goto "+firewall)
			}
			c.nftFirewall(b.chain(firewall), p)
		}
	}

	used := map[netip.AddrPort]bool{}
	if len(p.Cluster) > 0 && (!p.InternalLocal || p.External()) {
		c.nftBalance(b.chain(cluster), p, p.Cluster, internal == cluster)
		for _, ep := range p.Cluster {
			used[ep] = true
		}
	}
	if len(p.Local) > 0 && (p.InternalLocal || p.ExternalLocal) {
		c.nftBalance(b.chain(local), p, p.Local, internal == local)
		for _, ep := range p.Local {
			used[ep] = true
		}
	}
	for ep := range used {
		c.nftEndpoint(b, p, ep)
	}
}

// isLocal matches traffic of pods; not negates. It is empty if nobody said how to tell.
func (c *Compiler) nftIsLocal(not bool) string {
	op := ""
	if not {
		op = "!= "
	}
	d := c.cfg.DetectLocal
	if p, ok := d.cidr(c.cfg.Family); ok {
		return fmt.Sprintf("%s saddr %s%s", c.ip(), op, p)
	}
	if d.Bridge != "" {
		return fmt.Sprintf("iifname %s%q", op, d.Bridge)
	}
	if d.InterfacePrefix != "" {
		return fmt.Sprintf("iifname %s%q", op, d.InterfacePrefix+"*")
	}
	return ""
}

// nftExternal is where traffic from outside goes.
func (c *Compiler) nftExternal(ch *chain, p *ServicePort, cluster, local string) {
	if !p.ExternalLocal {
		ch.add("jump %s", nftMarkMasq)
		ch.add("goto %s", cluster)
		return
	}
	// Pods and the node itself are inside, whatever address they use: they get any endpoint.
	if len(p.Cluster) > 0 {
		if from := c.nftIsLocal(false); from != "" {
			ch.add("%s goto %s comment %q", from, cluster, "short-circuit pod traffic")
		}
		ch.add("fib saddr type local jump %s comment %q", nftMarkMasq, "masquerade local traffic")
		ch.add("fib saddr type local goto %s comment %q", cluster, "short-circuit local traffic")
	}
	// Others keep their address, because the endpoint is here.
	if len(p.Local) > 0 {
		ch.add("goto %s", local)
	}
}

func (c *Compiler) nftFirewall(ch *chain, p *ServicePort) {
	var list []string
	node := false
	for _, r := range p.SourceRanges {
		list = append(list, r.String())
		node = node || slices.ContainsFunc(c.cfg.NodeAddrs, r.Contains)
	}
	if node {
		// The node may be given the balancer's own address as source when it uses it.
		for _, a := range p.LoadBalancerIPs {
			list = append(list, netip.PrefixFrom(a, a.BitLen()).String())
		}
	}
	for _, r := range list { // not one set: ranges may overlap
		ch.add("%s saddr %s return", c.ip(), r)
	}
	ch.add("drop")
}

// nftBalance spreads traffic over endpoints; with internal set it is where the cluster IP leads.
func (c *Compiler) nftBalance(ch *chain, p *ServicePort, eps []netip.AddrPort, internal bool) {
	if internal {
		to := fmt.Sprintf("%s daddr %s %s dport %d", c.ip(), p.ClusterIP, p.Name.protocol(), p.Port)
		if c.cfg.MasqueradeAll {
			ch.add("%s jump %s", to, nftMarkMasq)
		} else if from := c.nftIsLocal(true); from != "" {
			ch.add("%s %s jump %s", to, from, nftMarkMasq)
		}
	}
	names := make([]string, len(eps))
	for i, ep := range eps {
		names[i] = nftEndpointName(p.Name, ep)
	}
	if p.AffinitySeconds > 0 {
		for _, n := range names {
			ch.add("%s saddr @affinity-%s goto endpoint-%s", c.ip(), n, n)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "numgen random mod %d vmap {", len(names))
	for i, n := range names {
		if i > 0 {
			b.WriteString(" ,")
		}
		fmt.Fprintf(&b, " %d : goto endpoint-%s", i, n)
	}
	b.WriteString(" }")
	ch.rules = append(ch.rules, b.String())
}

func (c *Compiler) nftEndpoint(b *block, p *ServicePort, ep netip.AddrPort) {
	name := nftEndpointName(p.Name, ep)
	ch := b.chain("endpoint-" + name)
	// An endpoint that reaches itself through its Service must see another address, or it would answer itself
	// past the node.
	ch.add("%s saddr %s jump %s", c.ip(), ep.Addr(), nftMarkMasq)
	if p.AffinitySeconds > 0 {
		b.sets["affinity-"+name] = fmt.Sprintf("type %s ; flags dynamic,timeout ; timeout %ds ;", c.addrType(), p.AffinitySeconds)
		ch.add("update @affinity-%s { %s saddr }", name, c.ip())
	}
	ch.add("meta l4proto %s dnat to %s", p.Name.protocol(), ep)
}

// text replaces the table as a whole.
func (r *nftRules) text() string {
	w := &nftScript{family: r.family}
	// A table that is not there cannot be deleted, so it is made first.
	w.line("add table", "", "")
	w.line("delete table", "", "")
	w.line("add table", "", `{ comment "rules for kube-proxy" ; }`)
	r.write(w, nil)
	return w.String()
}

// textOver writes r into a table that another run has left. Sets whose entries the kernel makes, those of
// session affinity, keep them.
func (r *nftRules) textOver(left *nftTableLeft) string {
	w := &nftScript{family: r.family}
	w.line("add table", "", `{ comment "rules for kube-proxy" ; }`)
	from := &nftRules{family: r.family, chains: map[string]*chain{}, sets: map[string]string{}}
	for _, name := range left.chains {
		w.line("flush chain", name, "")
	}
	for _, name := range slices.Sorted(maps.Keys(left.sets)) {
		set := left.sets[name]
		decl, wanted := r.sets[name]
		switch wanted = wanted && r.isMap[name] == set.isMap; {
		case wanted && set.timeout != "" && strings.Contains(decl, " timeout "+set.timeout+" ;"):
			from.sets[name] = decl
		case wanted && set.timeout == "" && !strings.Contains(decl, " timeout "):
			w.line(w.verb("flush", set.isMap), name, "")
			from.sets[name] = decl
		default:
			w.line(w.verb("flush", set.isMap), name, "")
			w.line(w.verb("delete", set.isMap), name, "")
		}
	}
	for _, name := range left.chains {
		now := r.chains[name]
		if now == nil {
			w.line("delete chain", name, "")
		} else if now.hook == "" { // those with a hook are declared once more: another hook is an error
			from.chains[name] = &chain{}
		}
	}
	r.write(w, from)
	return w.String()
}

// nftTableLeft is what a table holds that another run has left.
type nftTableLeft struct {
	chains []string
	sets   map[string]nftSetLeft
}

type nftSetLeft struct {
	isMap   bool
	timeout string // in seconds, as declarations have it; empty if it has none
}

// parseTable reads the output of nft -t list table.
func parseTable(text string) *nftTableLeft {
	left := &nftTableLeft{sets: map[string]nftSetLeft{}}
	set := ""
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		switch {
		case len(w) == 3 && w[2] == "{" && w[0] == "chain":
			left.chains, set = append(left.chains, w[1]), ""
		case len(w) == 3 && w[2] == "{" && (w[0] == "set" || w[0] == "map"):
			set = w[1]
			left.sets[set] = nftSetLeft{isMap: w[0] == "map"}
		case set != "" && len(w) == 2 && w[0] == "timeout":
			s := left.sets[set]
			s.timeout = seconds(w[1])
			left.sets[set] = s
		}
	}
	return left
}

// seconds turns a time as nft prints it, such as 1d2h3m4s, into the form of declarations, such as 93784s.
// What it cannot read it returns as it is.
func seconds(text string) string {
	units := map[byte]int{'d': 86400, 'h': 3600, 'm': 60, 's': 1}
	sum, n, digits := 0, 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			n, digits = 10*n+int(c-'0'), true
		case units[c] > 0 && digits:
			sum, n, digits = sum+n*units[c], 0, false
		default:
			return text
		}
	}
	return fmt.Sprintf("%ds", sum)
}

// changes turns from into r. Chains, sets and elements refer to each other, so the order matters: first
// everything new is declared, then rules and elements change, and at last what nothing refers to any more
// goes.
func (r *nftRules) changes(from *nftRules) string {
	for name, ch := range from.chains {
		if now, ok := r.chains[name]; ok && now.hook != ch.hook {
			return r.text()
		}
	}
	w := &nftScript{family: r.family}
	r.write(w, from)
	return w.String()
}

func (r *nftRules) write(w *nftScript, from *nftRules) {
	if from == nil {
		from = &nftRules{}
	}
	from = r.renew(w, from)
	for _, name := range missing(r.sets, from.sets) {
		w.line(w.verb("add", r.isMap[name]), name, "{ "+r.sets[name]+" }")
	}
	for _, name := range missing(r.chains, from.chains) {
		hook := ""
		if h := r.chains[name].hook; h != "" {
			hook = "{ " + h + " }"
		}
		w.line("add chain", name, hook)
	}
	for _, name := range changedChains(r.chains, from.chains) {
		if from.chains[name] != nil {
			w.line("flush chain", name, "")
		}
		for _, rule := range r.chains[name].rules {
			w.line("add rule", name, rule)
		}
	}
	r.writeElements(w, from)
	gone := missing(from.chains, r.chains)
	for _, name := range gone {
		w.line("flush chain", name, "")
	}
	for _, name := range gone {
		w.line("delete chain", name, "")
	}
	for _, name := range missing(from.sets, r.sets) {
		w.line(w.verb("delete", from.isMap[name]), name, "")
	}
}

// renew deletes the sets that are declared otherwise now, for instance with another affinity time: a set
// cannot be changed. It returns what is left of from. The chains that refer to such a set are emptied first;
// write fills them again.
func (r *nftRules) renew(w *nftScript, from *nftRules) *nftRules {
	var old []string
	for name, decl := range from.sets {
		if now, ok := r.sets[name]; ok && now != decl {
			old = append(old, name)
		}
	}
	if len(old) == 0 {
		return from
	}
	slices.Sort(old)
	left := *from
	left.chains, left.sets, left.elements = maps.Clone(from.chains), maps.Clone(from.sets), maps.Clone(from.elements)
	for _, name := range slices.Sorted(maps.Keys(from.chains)) {
		if c := from.chains[name]; slices.ContainsFunc(old, c.refersTo) {
			w.line("flush chain", name, "")
			left.chains[name] = &chain{hook: c.hook}
		}
	}
	for _, name := range old {
		w.line(w.verb("delete", from.isMap[name]), name, "")
		delete(left.sets, name)
		delete(left.elements, name)
	}
	return &left
}

// refersTo reports whether a rule of the chain uses a set.
func (c *chain) refersTo(set string) bool {
	return slices.ContainsFunc(c.rules, func(rule string) bool { return slices.Contains(strings.Fields(rule), "@"+set) })
}

func (r *nftRules) writeElements(w *nftScript, from *nftRules) {
	type changed struct{ gone, come []element }
	for _, in := range slices.Sorted(maps.Keys(union(r.elements, from.elements))) {
		var c changed
		now, before := r.elements[in], from.elements[in]
		for key, e := range before {
			if now[key] != e {
				c.gone = append(c.gone, e)
			}
		}
		for key, e := range now {
			if was, there := before[key]; !there || was != e {
				c.come = append(c.come, e)
			}
		}
		byKey := func(a, b element) int { return cmp.Compare(a.key, b.key) }
		slices.SortFunc(c.gone, byKey)
		slices.SortFunc(c.come, byKey)
		for _, e := range c.gone {
			w.line("delete element", in, "{ "+e.key+" }")
		}
		for _, e := range c.come {
			text := e.key
			if e.comment != "" {
				text += fmt.Sprintf(" comment %q", e.comment)
			}
			if e.verdict != "" {
				text += " : " + e.verdict
			}
			w.line("add element", in, "{ "+text+" }")
		}
	}
}

func union[V any](a, b map[string]V) map[string]struct{} {
	out := make(map[string]struct{}, len(a))
	for k := range a {
		out[k] = struct{}{}
	}
	for k := range b {
		out[k] = struct{}{}
	}
	return out
}

// missing are the keys of a that b does not have, in order.
func missing[V any](a, b map[string]V) []string {
	var out []string
	for name := range a {
		if _, there := b[name]; !there {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// changedChains are the names of chains in now that are new or have other rules, in order. Chains of ports
// that did not change are the same pointers, so that this is quick.
func changedChains(now, before map[string]*chain) []string {
	var out []string
	for name, c := range now {
		if was := before[name]; was != c && (was == nil || !slices.Equal(was.rules, c.rules)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// nftScript is input for nft -f.
type nftScript struct {
	strings.Builder
	family string
}

func (w *nftScript) verb(verb string, isMap bool) string {
	if isMap {
		return verb + " map"
	}
	return verb + " set"
}

func (w *nftScript) line(verb, name, rest string) {
	w.WriteString(verb)
	w.WriteByte(' ')
	w.WriteString(w.family)
	w.WriteByte(' ')
	w.WriteString(nftTable)
	if name != "" {
		w.WriteByte(' ')
		w.WriteString(name)
	}
	if rest != "" {
		w.WriteByte(' ')
		w.WriteString(rest)
	}
	w.WriteByte('\n')
}
