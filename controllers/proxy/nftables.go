package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// nftTable is the name of the proxy's tables, one in family ip and one in ip6.
const nftTable = "kube-proxy"

// The chains, maps and sets all Services share.
const (
	nftServices       = "services"
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
	nftHairpins          = "hairpin-connections"
)

// nftRenderer turns ports into text for nft. It keeps nothing: what a change removes is rendered from the
// port as it was.
type nftRenderer struct {
	cfg Config
	// rules is the number of rules in the last text of all, or how many more than before there are after the
	// last text of changes.
	rules int
}

// nftBlock is what belongs to one port. Chains refer to earlier ones of it only.
type nftBlock struct {
	sets     []nftSet
	chains   []nftChain
	elements []nftElement
}

type nftSet struct{ name, decl string }

// nftChain is a list of rules. Its declaration is empty, a comment, or what calls a base chain.
type nftChain struct {
	name, decl string
	rules      []string
}

// nftElement is one entry of a map, or of a set if it has no verdict.
type nftElement struct{ in, key, verdict, comment string }

func (b *nftBlock) chain(name string, rules ...string) {
	b.chains = append(b.chains, nftChain{name: name, rules: rules})
}

func (b *nftBlock) find(chain string) *nftChain {
	if b == nil {
		return nil
	}
	for i := range b.chains {
		if b.chains[i].name == chain {
			return &b.chains[i]
		}
	}
	return nil
}

func (b *nftBlock) rules() (n int) {
	if b != nil {
		for i := range b.chains {
			n += len(b.chains[i].rules)
		}
	}
	return n
}

func (r *nftRenderer) ip() string {
	if r.cfg.Family == IPv6 {
		return "ip6"
	}
	return "ip"
}

func (r *nftRenderer) addrType() string {
	if r.cfg.Family == IPv6 {
		return "ipv6_addr"
	}
	return "ipv4_addr"
}

// shared are the sets and maps that all ports share.
func (r *nftRenderer) shared() (sets []nftSet, maps []nftSet) {
	addr := r.addrType()
	where := addr + " . inet_proto . inet_service"
	verdicts := func(name, key, comment string) {
		maps = append(maps, nftSet{name, fmt.Sprintf("type %s : verdict ; comment %q ;", key, comment)})
	}
	verdicts(nftFirewallIPs, where, "destinations that are subject to LoadBalancerSourceRanges")
	verdicts(nftNoEndpointsOfNode, "inet_proto . inet_service", "vmap to drop or reject packets to service nodeports with no endpoints")
	verdicts(nftNoEndpoints, where, "vmap to drop or reject packets to services with no endpoints")
	verdicts(nftServiceIPs, where, "ClusterIP, ExternalIP and LoadBalancer IP traffic")
	verdicts(nftServiceNodePorts, "inet_proto . inet_service", "NodePort traffic")
	sets = []nftSet{
		{nftClusterIPs, fmt.Sprintf("type %s ; comment %q ;", addr, "Active ClusterIPs")},
		{nftHairpins, fmt.Sprintf("type %s . %s ; comment %q ;", addr, where, "service hairpin connections")},
		{nftNodePortIPs, fmt.Sprintf("type %s ; comment %q ;", addr, "IPs that accept NodePort traffic")},
	}
	return sets, maps
}

// base are the shared chains. They refer to each other in their order only.
func (r *nftRenderer) base() *nftBlock {
	b, ip, mark := &nftBlock{}, r.ip(), r.cfg.mark()
	declare := func(name, decl string, rules ...string) {
		b.chains = append(b.chains, nftChain{name: name, decl: decl, rules: rules})
	}
	lookup := func(m string) string { return fmt.Sprintf("%s daddr . meta l4proto . th dport vmap @%s", ip, m) }
	nodePort := fmt.Sprintf("%s daddr @%s", ip, nftNodePortIPs)
	if r.cfg.AllNodePortAddrs {
		nodePort = "fib daddr type local " + ip + " daddr != " + map[string]string{"ip": "127.0.0.0/8", "ip6": "::1"}[ip]
	}
	byPort := func(m string) string { return nodePort + " meta l4proto . th dport vmap @" + m }
	b.chain(nftServices, append(r.masqueradeClusterIPs(), lookup(nftServiceIPs), byPort(nftServiceNodePorts))...)
	b.chain(nftEndpointsCheck, lookup(nftNoEndpoints))
	b.chain(nftNodePortCheck, byPort(nftNoEndpointsOfNode))
	b.chain(nftFirewallCheck, lookup(nftFirewallIPs))
	declare(nftReject, fmt.Sprintf("comment %q ;", "helper for @no-endpoint-services / @no-endpoint-nodeports"), "reject")
	check := []string{fmt.Sprintf("%s daddr @%s reject comment %q", ip, nftClusterIPs, "Reject traffic to invalid ports of ClusterIPs")}
	var ranges []string
	for _, p := range disjoint(r.cfg.ServiceCIDRs) { // nft refuses ranges that overlap
		if r.cfg.Family.of(p.Addr()) {
			ranges = append(ranges, p.String())
		}
	}
	if len(ranges) > 0 {
		check = append(check, fmt.Sprintf("%s daddr { %s } drop comment %q", ip, strings.Join(ranges, ", "), "Drop traffic to unallocated ClusterIPs"))
	}
	b.chain(nftClusterIPCheck, check...)
	// The mark is cleared, so that a packet that is encapsulated and comes by again is not given an address
	// twice. An endpoint that reaches itself must see another address, or it would answer itself past the
	// node.
	b.chain(nftMasquerading, "mark and "+mark+" != 0 mark set mark xor "+mark+" masquerade fully-random",
		fmt.Sprintf("ct status dnat %s saddr . %s daddr . meta l4proto . th dport @%s masquerade fully-random", ip, ip, nftHairpins))

	fresh := func(name string) string { return "ct state new jump " + name }
	declare("filter-prerouting-pre-dnat", "type filter hook prerouting priority -110 ;", fresh(nftFirewallCheck))
	declare("filter-output-pre-dnat", "type filter hook output priority -110 ;", fresh(nftFirewallCheck))
	declare("filter-input", "type filter hook input priority 0 ;", fresh(nftNodePortCheck), fresh(nftEndpointsCheck))
	declare("filter-forward", "type filter hook forward priority 0 ;", fresh(nftEndpointsCheck), fresh(nftClusterIPCheck))
	declare("filter-output", "type filter hook output priority 0 ;", fresh(nftEndpointsCheck), fresh(nftClusterIPCheck))
	declare("nat-prerouting", "type nat hook prerouting priority -100 ;", "jump "+nftServices)
	declare("nat-output", "type nat hook output priority -100 ;", "jump "+nftServices)
	declare("nat-postrouting", "type nat hook postrouting priority 100 ;", "jump "+nftMasquerading)
	return b
}

// masquerade is the statement that marks a packet to be given the node's address.
func (r *nftRenderer) masquerade() string { return "mark set mark or " + r.cfg.mark() }

// masqueradeClusterIPs marks what is sent to cluster IPs from outside.
func (r *nftRenderer) masqueradeClusterIPs() []string {
	to := fmt.Sprintf("%s daddr @%s ", r.ip(), nftClusterIPs)
	if r.cfg.MasqueradeAll {
		return []string{to + r.masquerade() + ` comment "masquerade all clusterIP traffic"`}
	}
	if from := r.isLocal(true); from != "" {
		return []string{to + from + " " + r.masquerade() + ` comment "masquerade clusterIP traffic from outside cluster"`}
	}
	return nil
}

// nodePorts are the elements of the addresses of node ports.
func (r *nftRenderer) nodePorts() (keys []string) {
	if !r.cfg.AllNodePortAddrs {
		for _, a := range r.cfg.NodePortAddrs {
			if r.cfg.Family.of(a) {
				keys = append(keys, a.String())
			}
		}
	}
	return keys
}

func nftHairpin(ep Endpoint) string {
	a := ep.Addr.Addr().String()
	return a + " . " + a + " . " + PortName{Protocol: ep.Protocol}.protocol() + " . " + strconv.Itoa(int(ep.Addr.Port()))
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

// port renders the chains and elements of one port; nil renders nil.
func (r *nftRenderer) port(p *ServicePort) *nftBlock {
	if p == nil {
		return nil
	}
	b, base := &nftBlock{}, nftName(p.Name)
	cluster, local, external := "service-"+base, "local-"+base, "external-"+base
	internal := cluster
	if p.InternalLocal {
		internal = local
	}
	if p.AffinitySeconds > 0 {
		for _, ep := range p.endpointsUsed() {
			r.affinity(b, p, ep)
		}
	}
	if p.usesCluster() {
		b.chain(cluster, r.balance(p, p.Cluster)...)
	}
	if p.usesLocal() {
		b.chain(local, r.balance(p, p.Local)...)
	}
	if p.External() && p.reachable() {
		b.chain(external, r.external(p, cluster, local)...)
	}
	r.elements(b, p, base, internal, external)
	return b
}

// elements renders what leads to the chains of a port.
func (r *nftRenderer) elements(b *nftBlock, p *ServicePort, base, internal, external string) {
	comment := p.Name.String()
	if len(comment) > 120 { // what the kernel keeps with an element is short
		comment = comment[:120]
	}
	put := func(in, key, verdict string) {
		e := nftElement{in: in, key: key, verdict: verdict}
		if in == nftNoEndpoints || in == nftNoEndpointsOfNode { // elsewhere the verdict has the name
			e.comment = comment
		}
		b.elements = append(b.elements, e)
	}
	at := func(a netip.Addr) string {
		return a.String() + " . " + p.Name.protocol() + " . " + strconv.Itoa(int(p.Port))
	}
	verdict := "goto " + nftReject // for addresses without an endpoint
	if p.AnyEndpoint {
		verdict = "drop" // other nodes have one
	}
	if p.ClusterIP.IsValid() {
		if len(p.internal()) > 0 {
			put(nftServiceIPs, at(p.ClusterIP), "goto "+internal)
		} else {
			put(nftNoEndpoints, at(p.ClusterIP), verdict)
		}
	}
	for _, a := range slices.Concat(p.LoadBalancerIPs, p.ExternalIPs) {
		if p.reachable() {
			put(nftServiceIPs, at(a), "goto "+external)
		}
		if len(p.external()) == 0 {
			put(nftNoEndpoints, at(a), verdict)
		}
	}
	if p.NodePort != 0 {
		onNode := p.Name.protocol() + " . " + strconv.Itoa(int(p.NodePort))
		if p.reachable() {
			put(nftServiceNodePorts, onNode, "goto "+external)
		}
		if len(p.external()) == 0 {
			put(nftNoEndpointsOfNode, onNode, verdict)
		}
	}
	if len(p.SourceRanges) > 0 && len(p.LoadBalancerIPs) > 0 {
		firewall := "firewall-" + base
		for _, a := range p.LoadBalancerIPs {
			put(nftFirewallIPs, at(a), "goto "+firewall)
		}
		b.chain(firewall, r.firewall(p)...)
	}
}

// isLocal matches traffic of pods; not negates. It is empty if local traffic cannot be detected.
func (r *nftRenderer) isLocal(not bool) string {
	op := ""
	if not {
		op = "!= "
	}
	d := r.cfg.DetectLocal
	if p, ok := d.cidr(r.cfg.Family); ok {
		return fmt.Sprintf("%s saddr %s%s", r.ip(), op, p)
	}
	if d.Bridge != "" {
		return fmt.Sprintf("iifname %s%q", op, d.Bridge)
	}
	if d.InterfacePrefix != "" {
		return fmt.Sprintf("iifname %s%q", op, d.InterfacePrefix+"*")
	}
	return ""
}

// external is where traffic from outside goes.
func (r *nftRenderer) external(p *ServicePort, cluster, local string) (rules []string) {
	if !p.ExternalLocal {
		return []string{r.masquerade() + ` comment "masquerade"`, "goto " + cluster}
	}
	// Pods and the node itself are inside, whatever address they use: they get any endpoint.
	if len(p.Cluster) > 0 {
		if from := r.isLocal(false); from != "" {
			rules = append(rules, fmt.Sprintf("%s goto %s comment %q", from, cluster, "short-circuit pod traffic"))
		}
		rules = append(rules, fmt.Sprintf("fib saddr type local %s comment %q", r.masquerade(), "masquerade local traffic"),
			fmt.Sprintf("fib saddr type local goto %s comment %q", cluster, "short-circuit local traffic"))
	}
	// Others keep their address, because the endpoint is here.
	if len(p.Local) > 0 {
		rules = append(rules, "goto "+local)
	}
	return rules
}

func (r *nftRenderer) firewall(p *ServicePort) []string {
	list := slices.Clone(p.SourceRanges)
	if r.cfg.holdsNode(list) {
		// The node may be given the balancer's own address as source when it uses it.
		for _, a := range p.LoadBalancerIPs {
			list = append(list, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	ranges := make([]string, 0, len(list))
	for _, rg := range disjoint(list) {
		ranges = append(ranges, rg.String())
	}
	return []string{fmt.Sprintf("%s saddr != { %s } drop", r.ip(), strings.Join(ranges, ", "))}
}

// balance spreads traffic over endpoints.
func (r *nftRenderer) balance(p *ServicePort, eps []netip.AddrPort) (rules []string) {
	out := make([]byte, 0, 80+40*len(eps))
	if p.AffinitySeconds > 0 {
		out = fmt.Appendf(out, "numgen random mod %d vmap {", len(eps))
		for i, ep := range eps {
			n := nftEndpointName(p.Name, ep)
			rules = append(rules, fmt.Sprintf("%s saddr @affinity-%s goto endpoint-%s", r.ip(), n, n))
			out = fmt.Appendf(out, "%s %d : goto endpoint-%s", comma(i), i, n)
		}
		return append(rules, string(append(out, " }"...)))
	}
	out = fmt.Appendf(out, "meta l4proto %s dnat %s to numgen random mod %d map {", p.Name.protocol(), r.ip(), len(eps))
	for i, ep := range eps {
		out = append(out, comma(i)...)
		out = append(out, ' ')
		out = strconv.AppendInt(out, int64(i), 10)
		out = append(out, " : "...)
		out = ep.Addr().AppendTo(out)
		out = append(out, " . "...)
		out = strconv.AppendUint(out, uint64(ep.Port()), 10)
	}
	return append(rules, string(append(out, " }"...)))
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return " ,"
}

// affinity renders the chain of one endpoint that remembers its clients.
func (r *nftRenderer) affinity(b *nftBlock, p *ServicePort, ep netip.AddrPort) {
	name := nftEndpointName(p.Name, ep)
	b.sets = append(b.sets, nftSet{"affinity-" + name, fmt.Sprintf("type %s ; flags dynamic,timeout ; timeout %ds ;", r.addrType(), p.AffinitySeconds)})
	b.chain("endpoint-"+name, fmt.Sprintf("update @affinity-%s { %s saddr }", name, r.ip()), fmt.Sprintf("meta l4proto %s dnat to %s", p.Name.protocol(), ep))
}

// changes is text that writes a change. Chains, sets and elements refer to each other, so the order matters:
// first everything new is declared and rules change, then elements are removed and added, and at last what
// nothing refers to any more is deleted.
func (r *nftRenderer) changes(d *Delta) string {
	w, off, on, gone := &nftScript{family: r.ip()}, &nftScript{family: r.ip()}, &nftScript{family: r.ip()}, &nftScript{family: r.ip()}
	r.rules = 0
	for _, c := range d.Ports {
		was, now := r.port(c.Was), r.port(c.Now)
		r.rules += now.rules() - was.rules()
		r.changeChains(w, gone, was, now)
		changeElements(off, on, was, now)
	}
	removed := func(in string, keys []string) {
		for _, k := range keys {
			off.line("delete element", in, "{ "+k+" }")
		}
	}
	removed(nftClusterIPs, texts(d.ClusterIPs.Removed, netip.Addr.String))
	removed(nftHairpins, texts(d.Loopbacks.Removed, nftHairpin))
	members(on, nftClusterIPs, d.ClusterIPs, netip.Addr.String)
	members(on, nftHairpins, d.Loopbacks, nftHairpin)
	for _, part := range []*nftScript{off, on, gone} {
		w.WriteString(part.String())
	}
	return w.String()
}

func texts[K any](list []K, text func(K) string) (out []string) {
	for _, k := range list {
		out = append(out, text(k))
	}
	return out
}

func (r *nftRenderer) changeChains(w, gone *nftScript, was, now *nftBlock) {
	if was == nil {
		was = &nftBlock{}
	}
	if now == nil {
		now = &nftBlock{}
	}
	decl := func(b *nftBlock, name string) string {
		if i := slices.IndexFunc(b.sets, func(s nftSet) bool { return s.name == name }); i >= 0 {
			return b.sets[i].decl
		}
		return ""
	}
	// A set cannot be changed. Those that are declared otherwise now, with another affinity time, are
	// deleted, and before them all rules that may refer to them.
	renewed := slices.ContainsFunc(was.sets, func(s nftSet) bool { d := decl(now, s.name); return d != "" && d != s.decl })
	if renewed {
		for i := range was.chains {
			w.line("flush chain", was.chains[i].name, "")
		}
		for _, s := range was.sets {
			if d := decl(now, s.name); d != "" && d != s.decl {
				w.line("delete set", s.name, "")
			}
		}
	}
	for _, s := range now.sets {
		if decl(was, s.name) != s.decl {
			w.line("add set", s.name, "{ "+s.decl+" }")
		}
	}
	for i := range now.chains {
		c := &now.chains[i]
		before := was.find(c.name)
		switch {
		case before == nil || renewed:
			w.chain(c)
		case !slices.Equal(before.rules, c.rules):
			w.line("flush chain", c.name, "")
			w.chain(c)
		}
	}
	var old []string
	for i := range was.chains {
		if name := was.chains[i].name; now.find(name) == nil {
			old = append(old, name)
			gone.line("flush chain", name, "")
		}
	}
	for _, name := range old {
		gone.line("delete chain", name, "")
	}
	for _, s := range was.sets {
		if decl(now, s.name) == "" {
			gone.line("delete set", s.name, "")
		}
	}
}

func changeElements(off, on *nftScript, was, now *nftBlock) {
	if was != nil {
		for _, e := range was.elements {
			if now == nil || !slices.Contains(now.elements, e) {
				off.line("delete element", e.in, "{ "+e.key+" }")
			}
		}
	}
	if now != nil {
		for _, e := range now.elements {
			if was == nil || !slices.Contains(was.elements, e) {
				on.add(e)
			}
		}
	}
}

// nftScript is input for nft -f.
type nftScript struct {
	strings.Builder
	family string
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

// table declares the table.
func (w *nftScript) table() { w.line("add table", "", `{ comment "rules for kube-proxy" ; }`) }

// chain declares a chain and adds its rules.
func (w *nftScript) chain(c *nftChain) {
	decl := ""
	if c.decl != "" {
		decl = "{ " + c.decl + " }"
	}
	w.line("add chain", c.name, decl)
	for _, rule := range c.rules {
		w.line("add rule", c.name, rule)
	}
}

func (w *nftScript) add(e nftElement) {
	text := "{ " + e.key
	if e.comment != "" {
		text += " comment " + strconv.Quote(e.comment)
	}
	if e.verdict != "" {
		text += " : " + e.verdict
	}
	w.line("add element", e.in, text+" }")
}

// members adds what was added to a set.
func members[K any](w *nftScript, in string, d Diff[K], text func(K) string) {
	for _, k := range d.Added {
		w.add(nftElement{in: in, key: text(k)})
	}
}
