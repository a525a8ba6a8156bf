package proxy

import (
	"fmt"
	"math"
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

// iptJump is a rule in a chain of the kernel that leads to one of ours.
type iptJump struct {
	table, from, to string
	comment         string // empty means none
	match           []string
}

// rule is the jump in the syntax of iptables-restore.
func (j iptJump) rule() string {
	words := slices.Clone(j.match)
	if j.comment != "" {
		words = append(words, "-m", "comment", "--comment", strconv.Quote(j.comment))
	}
	return strings.Join(append(words, "-j", j.to), " ")
}

// is reports whether a rule with the target of the jump is the jump.
func (j iptJump) is(rule string) bool {
	return j.comment == "" || strings.Contains(rule, strconv.Quote(j.comment))
}

var fresh = []string{"-m", "conntrack", "--ctstate", "NEW"}

// iptJumps are the entries into the proxy's chains, in the order they are made.
var iptJumps = []iptJump{
	{tableFilter, "INPUT", iptExternal, "kubernetes externally-visible service portals", fresh},
	{tableFilter, "FORWARD", iptExternal, "kubernetes externally-visible service portals", fresh},
	{tableFilter, "INPUT", iptNodePorts, "kubernetes health check service ports", nil},
	{tableFilter, "FORWARD", iptServices, "kubernetes service portals", fresh},
	{tableFilter, "OUTPUT", iptServices, "kubernetes service portals", fresh},
	{tableFilter, "FORWARD", iptForward, "kubernetes forwarding rules", nil},
	{tableFilter, "INPUT", iptFirewall, "kubernetes load balancer firewall", fresh},
	{tableFilter, "OUTPUT", iptFirewall, "kubernetes load balancer firewall", fresh},
	{tableFilter, "FORWARD", iptFirewall, "kubernetes load balancer firewall", fresh},
	{tableFilter, "INPUT", iptLocalnet, "", nil},
	{tableFilter, "OUTPUT", iptLocalnet, "", nil},
	{tableNAT, "OUTPUT", iptServices, "kubernetes service portals", nil},
	{tableNAT, "PREROUTING", iptServices, "kubernetes service portals", nil},
	{tableNAT, "POSTROUTING", iptPostrouting, "kubernetes postrouting rules", nil},
}

// iptTables are the tables in the order in which they are written.
var iptTables = []string{tableFilter, tableNAT, tableMangle}

// iptShared are the chains that all ports share, by table.
var iptShared = map[string][]string{
	tableFilter: {iptCanary, iptServices, iptExternal, iptForward, iptNodePorts, iptFirewall, iptLocalnet},
	tableNAT:    {iptCanary, iptServices, iptNodePorts, iptPostrouting, iptMarkMasq},
	tableMangle: {iptCanary},
}

// iptConstant are the shared chains of table nat that the chains of ports refer to, or that such chains rely
// on. They come first.
var iptConstant = []string{iptMarkMasq, iptPostrouting}

// iptRenderer turns ports into text for iptables-restore. It keeps nothing: what a change removes is rendered
// from the port as it was.
type iptRenderer struct {
	cfg Config
	// bare leaves out comments, which cost time when there are many rules.
	bare bool
	// rules are the numbers of rules by table in the last text of all, or how many more than before there are
	// after the last text of changes.
	rules map[string]int
	// written are the numbers of rules in the last text, by table.
	written map[string]int
}

// iptBlock is what belongs to one port: chains of its own in table nat, and lines in chains that all ports
// share.
type iptBlock struct {
	chains []iptChain
	shared []iptLine
}

type iptChain struct {
	name  string
	rules []string
}

type iptLine struct{ table, chain, rule string }

func (c *iptChain) add(format string, args ...any) {
	// A part that is left out leaves a space.
	c.rules = append(c.rules, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (b *iptBlock) find(chain string) *iptChain {
	for i := range b.chains {
		if b.chains[i].name == chain {
			return &b.chains[i]
		}
	}
	return nil
}

// base are the lines in shared chains that do not come from ports.
func (r *iptRenderer) base() (lines []iptLine) {
	add := func(table, chain, format string, args ...any) {
		lines = append(lines, iptLine{table, chain, fmt.Sprintf(format, args...)})
	}
	if r.cfg.AllNodePortAddrs {
		match := "-m addrtype --dst-type LOCAL"
		if !r.cfg.LocalhostNodePorts || r.cfg.Family == IPv6 {
			match += " ! -d " + r.localhost()
		}
		add(tableNAT, iptServices, "-m comment --comment %q %s -j %s", nodePortsOfNode, match, iptNodePorts)
	} else {
		for _, a := range r.cfg.NodePortAddrs {
			if r.cfg.Family.of(a) {
				add(tableNAT, iptServices, "-m comment --comment %q -d %s -j %s", nodePortsOfNode, a, iptNodePorts)
			}
		}
	}
	mark := r.cfg.mark()
	add(tableNAT, iptMarkMasq, "-j MARK --or-mark %s", mark)
	add(tableNAT, iptPostrouting, "-m mark ! --mark %s/%s -j RETURN", mark, mark)
	add(tableNAT, iptPostrouting, "-j MARK --xor-mark %s", mark)
	add(tableNAT, iptPostrouting, "-m comment --comment %q -j MASQUERADE --random-fully", "kubernetes service traffic requiring SNAT")
	if !r.cfg.AcceptInvalid {
		// An invalid packet would be let through untranslated, and the client would end the connection over
		// it.
		add(tableFilter, iptForward, "-m conntrack --ctstate INVALID -j DROP")
	}
	add(tableFilter, iptForward, "-m comment --comment %q -m mark --mark %s/%s -j ACCEPT", "kubernetes forwarding rules", mark, mark)
	add(tableFilter, iptForward, "-m comment --comment %q -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "kubernetes forwarding conntrack rule")
	if r.cfg.LocalhostNodePorts && r.cfg.Family == IPv4 {
		// route_localnet, which node ports on localhost need, would let neighbours reach what listens on
		// localhost only.
		add(tableFilter, iptLocalnet, "-m comment --comment %q -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP", "block incoming localnet connections")
	}
	return lines
}

func (r *iptRenderer) localhost() string {
	if r.cfg.Family == IPv6 {
		return "::1/128"
	}
	return "127.0.0.0/8"
}

func iptPortChain(prefix string, n PortName) string {
	return prefix + hash(n.String()+n.protocol(), 16)
}

// iptEndpoints returns the names of the chains of a port's endpoints.
func iptEndpoints(n PortName) func(ep netip.AddrPort) string {
	text := []byte(n.String() + n.protocol())
	text = text[:len(text):len(text)]
	return func(ep netip.AddrPort) string { return "KUBE-SEP-" + hash(string(ep.AppendTo(text)), 16) }
}

// comment is a match that only explains, with a space after it.
func (r *iptRenderer) comment(format string, args ...any) string {
	if r.bare {
		return ""
	}
	s := fmt.Sprintf(format, args...)
	return "-m comment --comment " + strconv.Quote(s[:min(len(s), 255)]) + " "
}

// port renders the chains of one port and its lines in shared ones, without the chains of endpoints to leave
// out; nil renders an empty block.
func (r *iptRenderer) port(p *ServicePort, leaveOut map[netip.AddrPort]bool) *iptBlock {
	b := &iptBlock{}
	if p == nil {
		return b
	}
	svc, svl, ext := iptPortChain("KUBE-SVC-", p.Name), iptPortChain("KUBE-SVL-", p.Name), iptPortChain("KUBE-EXT-", p.Name)
	internal := svc
	if p.InternalLocal {
		internal = svl
	}
	chain := iptEndpoints(p.Name)
	for _, ep := range p.endpointsUsed() {
		if !leaveOut[ep] {
			r.endpoint(b, chain(ep), p, ep)
		}
	}
	if p.usesCluster() {
		r.balance(b, svc, p, p.Cluster, internal == svc)
	}
	if p.usesLocal() {
		r.balance(b, svl, p, p.Local, internal == svl)
	}
	if p.External() && p.reachable() {
		r.external(b, ext, p, svc, svl)
	}
	r.lines(b, p, internal, ext)
	return b
}

// lines renders what leads to the chains of a port.
func (r *iptRenderer) lines(b *iptBlock, p *ServicePort, internal, ext string) {
	name, proto := p.Name.String(), p.Name.protocol()
	line := func(table, chain, format string, args ...any) {
		b.shared = append(b.shared, iptLine{table, chain, fmt.Sprintf(format, args...)})
	}
	to := func(a netip.Addr) string { return fmt.Sprintf("-m %s -p %s -d %s --dport %d", proto, proto, a, p.Port) }
	what, target := "has no endpoints", "REJECT"
	if p.AnyEndpoint {
		what, target = "has no local endpoints", "DROP"
	}
	if p.ClusterIP.IsValid() {
		if len(p.internal()) > 0 {
			line(tableNAT, iptServices, "%s%s -j %s", r.comment("%s cluster IP", name), to(p.ClusterIP), internal)
		} else {
			line(tableFilter, iptServices, "%s%s -j %s", r.comment("%s %s", name, what), to(p.ClusterIP), target)
		}
	}
	entry := func(a netip.Addr, kind, chain string) {
		if p.reachable() {
			line(tableNAT, iptServices, "%s%s -j %s", r.comment("%s %s", name, kind), to(a), chain)
		}
		if len(p.external()) == 0 {
			line(tableFilter, iptExternal, "%s%s -j %s", r.comment("%s %s", name, what), to(a), target)
		}
	}
	for _, a := range p.ExternalIPs {
		entry(a, "external IP", ext)
	}
	r.balancerLines(b, p, ext, entry, to)
	if p.NodePort != 0 {
		onNode := fmt.Sprintf("-m %s -p %s --dport %d", proto, proto, p.NodePort)
		if p.reachable() {
			line(tableNAT, iptNodePorts, "%s%s -j %s", r.comment("%s", name), onNode, ext)
		}
		if len(p.external()) == 0 {
			line(tableFilter, iptExternal, "%s-m addrtype --dst-type LOCAL %s -j %s", r.comment("%s %s", name, what), onNode, target)
		}
	}
	if p.HealthCheckNodePort != 0 {
		line(tableFilter, iptNodePorts, "%s-m tcp -p tcp --dport %d -j ACCEPT", r.comment("%s health check node port", name), p.HealthCheckNodePort)
	}
}

// balancerLines renders the load balancers' addresses, with a chain that refuses other clients if the Service
// restricts them.
func (r *iptRenderer) balancerLines(b *iptBlock, p *ServicePort, ext string, entry func(a netip.Addr, kind, chain string), to func(netip.Addr) string) {
	const kind = "loadbalancer IP"
	if len(p.LoadBalancerIPs) == 0 {
		return
	}
	if len(p.SourceRanges) == 0 {
		for _, a := range p.LoadBalancerIPs {
			entry(a, kind, ext)
		}
		return
	}
	fw := iptPortChain("KUBE-FW-", p.Name)
	for _, a := range p.LoadBalancerIPs {
		entry(a, kind, fw)
		if p.reachable() { // otherwise the address is refused, to all clients
			b.shared = append(b.shared, iptLine{tableFilter, iptFirewall, fmt.Sprintf("%s%s -j DROP", r.comment("%s traffic not accepted by %s", p.Name, fw), to(a))})
		}
	}
	if p.reachable() {
		r.firewall(b, fw, p, ext)
	}
}

// isLocal matches traffic of pods; not negates. It is empty if local traffic cannot be detected.
func (r *iptRenderer) isLocal(not bool) string {
	bang := ""
	if not {
		bang = "! "
	}
	d := r.cfg.DetectLocal
	if p, ok := d.cidr(r.cfg.Family); ok {
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

func (r *iptRenderer) external(b *iptBlock, chain string, p *ServicePort, svc, svl string) {
	ch, name := iptChain{name: chain}, p.Name.String()
	defer func() { b.chains = append(b.chains, ch) }()
	if !p.ExternalLocal {
		ch.add("%s-j %s", r.comment("masquerade traffic for %s external destinations", name), iptMarkMasq)
		ch.add("-j %s", svc)
		return
	}
	// Pods and the node itself are inside, whatever address they use: they get any endpoint.
	if len(p.Cluster) > 0 {
		if from := r.isLocal(false); from != "" {
			ch.add("%s%s -j %s", r.comment("pod traffic for %s external destinations", name), from, svc)
		}
		ch.add("%s-m addrtype --src-type LOCAL -j %s", r.comment("masquerade LOCAL traffic for %s external destinations", name), iptMarkMasq)
		ch.add("%s-m addrtype --src-type LOCAL -j %s", r.comment("route LOCAL traffic for %s external destinations", name), svc)
	}
	// Others keep their address, because the endpoint is here.
	if len(p.Local) > 0 {
		ch.add("-j %s", svl)
	}
}

func (r *iptRenderer) firewall(b *iptBlock, chain string, p *ServicePort, ext string) {
	ch := iptChain{name: chain}
	comment := r.comment("%s loadbalancer IP", p.Name)
	for _, rg := range p.SourceRanges {
		ch.add("%s-s %s -j %s", comment, rg, ext)
	}
	if r.cfg.holdsNode(p.SourceRanges) {
		// The node may be given the balancer's own address as source when it uses it.
		for _, a := range p.LoadBalancerIPs {
			ch.add("%s-s %s -j %s", comment, a, ext)
		}
	}
	if !r.bare {
		ch.add("%s", r.comment("other traffic to %s will be dropped by %s", p.Name, iptFirewall))
	}
	b.chains = append(b.chains, ch)
}

func (r *iptRenderer) balance(b *iptBlock, chain string, p *ServicePort, eps []netip.AddrPort, internal bool) {
	ch := iptChain{name: chain}
	name, proto := p.Name.String(), p.Name.protocol()
	if internal && p.ClusterIP.IsValid() {
		to := fmt.Sprintf("%s-m %s -p %s -d %s --dport %d", r.comment("%s cluster IP", name), proto, proto, p.ClusterIP, p.Port)
		if r.cfg.MasqueradeAll {
			ch.add("%s -j %s", to, iptMarkMasq)
		} else if from := r.isLocal(true); from != "" {
			ch.add("%s %s -j %s", to, from, iptMarkMasq)
		}
	}
	chainOf := iptEndpoints(p.Name)
	if p.AffinitySeconds > 0 {
		for _, ep := range eps {
			sep := chainOf(ep)
			ch.add("%s-m recent --name %s --rcheck --seconds %d --reap -j %s", r.comment("%s -> %s", name, ep), sep, p.AffinitySeconds, sep)
		}
	}
	ch.rules = slices.Grow(ch.rules, len(eps))
	for i, ep := range eps {
		rule := make([]byte, 0, 192)
		if !r.bare {
			rule = append(rule, r.comment("%s -> %s", name, ep)...)
		}
		if left := len(eps) - i; left > 1 {
			// Each rule gets its share of what the ones before it left over.
			rule = append(rule, "-m statistic --mode random --probability "...)
			rule = append(strconv.AppendFloat(rule, 1/float64(left), 'f', 10, 64), ' ')
		}
		rule = append(rule, "-j "...)
		ch.rules = append(ch.rules, string(append(rule, chainOf(ep)...)))
	}
	b.chains = append(b.chains, ch)
}

// endpoint renders the chain of an endpoint. It depends on nothing else of the port than its name and whether
// it has sticky clients: see sameEndpoints.
func (r *iptRenderer) endpoint(b *iptBlock, sep string, p *ServicePort, ep netip.AddrPort) {
	proto := p.Name.protocol()
	ch, comment := iptChain{name: sep}, r.comment("%s", p.Name)
	// An endpoint that reaches itself through its Service must see another address, or it would answer itself
	// past the node.
	ch.add("%s-s %s -j %s", comment, ep.Addr(), iptMarkMasq)
	recent := ""
	if p.AffinitySeconds > 0 {
		recent = "-m recent --name " + sep + " --set "
	}
	ch.add("%s%s-m %s -p %s -j DNAT --to-destination %s", comment, recent, proto, proto, ep)
	b.chains = append(b.chains, ch)
}

// iptScript is input for iptables-restore --noflush, by table: a chain that is declared there is emptied,
// others stay as they are.
type iptScript map[string]*iptTable

// iptTable is what is written of one table: chains of ports, then the rest, and at last chains that are
// deleted. It is one transaction, unless it has more chains than limit.
type iptTable struct {
	limit int
	ports []*iptPart
	iptPart
	drops   []string
	written int // rules that are added
}

// iptPart is one transaction. The chains it declares are sorted in the text, because iptables keeps them in a
// sorted list, which it searches from one end.
type iptPart struct {
	declare []string
	rules   strings.Builder
}

// iptLimit is the number of chains above which a table is written in several transactions of about so many.
// The time that iptables takes for one grows with the square of the chains in it: 10,000 Services of 10
// endpoints take minutes in a single transaction. But the kernel checks in each of them all chains that can
// be reached from its own, so more chains in a transaction are better where there are many already.
var iptLimit = 500

// iptLimitOver is the limit for a table with chains that can be reached. With 110,000 of them, the kernel's
// check takes 0.22 s of CPU for each transaction, and iptables 3 ms for each chain of the limit, all
// transactions together: the sum is least at 2,800.
func iptLimitOver(chains int) int {
	return max(iptLimit, int(float64(iptLimit)*math.Sqrt(float64(chains)/3500)))
}

func newIPTScript() iptScript {
	s := iptScript{}
	for _, table := range iptTables {
		s[table] = &iptTable{limit: iptLimit}
	}
	return s
}

func (p *iptPart) empty(chain string) {
	p.declare = append(p.declare, chain)
}

// rule writes a command such as -A, -I or -D.
func (p *iptPart) rule(command, chain, rule string) {
	for _, part := range []string{command, " ", chain, " ", rule, "\n"} {
		p.rules.WriteString(part)
	}
}

// rule writes a command for a chain that is not that of a port.
func (t *iptTable) rule(command, chain, rule string) {
	if command != "-D" {
		t.written++
	}
	t.iptPart.rule(command, chain, rule)
}

// jump writes an entry into the proxy's chains, which is not counted as a rule.
func (t *iptTable) jump(j iptJump) {
	t.iptPart.rule("-I", j.from+" 1", j.rule())
}

// fill writes whole chains, which refer to each other and to chains that were filled or declared before, in
// one transaction.
func (t *iptTable) fill(chains ...iptChain) {
	if len(chains) == 0 {
		return
	}
	if n := len(t.ports); n == 0 || len(t.ports[n-1].declare) >= t.limit {
		t.ports = append(t.ports, &iptPart{})
	}
	part := t.ports[len(t.ports)-1]
	for i := range chains {
		part.empty(chains[i].name)
		for _, rule := range chains[i].rules {
			part.rule("-A", chains[i].name, rule)
		}
		t.written += len(chains[i].rules)
	}
}

// drop deletes a chain. Rules that refer to it must be gone by then, except for those of chains that are also
// deleted.
func (t *iptTable) drop(chain string) { t.drops = append(t.drops, chain) }

// written are the numbers of rules that are added, by table.
func (s iptScript) written() map[string]int {
	out := map[string]int{}
	for name, t := range s {
		out[name] = t.written
	}
	return out
}

func (s iptScript) text() string {
	var w strings.Builder
	for _, name := range iptTables {
		s[name].write(&w, name)
	}
	return w.String()
}

// write writes the transactions of a table. Whatever the last of them that takes effect, every rule leads to
// chains that are complete.
func (t *iptTable) write(w *strings.Builder, name string) {
	transaction := func(drops []string, parts ...*iptPart) {
		var declare []string
		for _, p := range parts {
			declare = append(declare, p.declare...)
		}
		w.WriteString("*" + name + "\n")
		slices.Sort(declare)
		for _, chain := range declare {
			w.WriteString(":" + chain + " - [0:0]\n")
		}
		for _, p := range parts {
			w.WriteString(p.rules.String())
		}
		for _, chain := range drops {
			w.WriteString("-X " + chain + "\n")
		}
		w.WriteString("COMMIT\n")
	}
	total := len(t.declare) + len(t.drops)
	for _, p := range t.ports {
		total += len(p.declare)
	}
	switch {
	case total+t.rules.Len() == 0:
	case total <= t.limit:
		transaction(t.drops, append(t.ports, &t.iptPart, &iptPart{declare: t.drops})...)
	default:
		for _, p := range t.ports {
			transaction(nil, p)
		}
		transaction(nil, &t.iptPart)
		slices.Sort(t.drops)
		for chains := range slices.Chunk(t.drops, t.limit) {
			transaction(nil, &iptPart{declare: chains})
		}
		for chains := range slices.Chunk(t.drops, t.limit) {
			transaction(chains)
		}
	}
}

// all is text that writes everything, adds jumps from the chains of the kernel, and deletes those of the
// chains that exist, by table, that are not needed any more.
func (r *iptRenderer) all(d *Delta, exist map[string][]string, jumps []iptJump) string {
	s := newIPTScript()
	for table, chains := range exist {
		s[table].limit = iptLimitOver(len(chains))
	}
	r.rules = map[string]int{}
	wanted := map[string]bool{}
	for table, chains := range iptShared {
		for _, name := range chains {
			wanted[table+name] = true
			if !slices.Contains(iptConstant, name) {
				s[table].empty(name)
			}
		}
	}
	base := r.base()
	for _, name := range iptConstant {
		ch := iptChain{name: name}
		base = slices.DeleteFunc(base, func(l iptLine) bool {
			if l.chain == name {
				ch.rules = append(ch.rules, l.rule)
			}
			return l.chain == name
		})
		s[tableNAT].fill(ch)
		r.rules[tableNAT] += len(ch.rules)
	}
	// Lines of ports are put in front of others, as those of later changes are.
	lines := func(list []iptLine) {
		for _, l := range list {
			s[l.table].rule("-A", l.chain, l.rule)
			r.rules[l.table]++
		}
	}
	for _, c := range d.Ports {
		b := r.port(c.Now, nil)
		s[tableNAT].fill(b.chains...)
		for i := range b.chains {
			wanted[tableNAT+b.chains[i].name] = true
			r.rules[tableNAT] += len(b.chains[i].rules)
		}
		lines(b.shared)
	}
	lines(base)
	for _, j := range slices.Backward(jumps) {
		s[j.table].jump(j)
	}
	for table, chains := range exist {
		for _, name := range chains {
			if !wanted[table+name] {
				s[table].drop(name)
			}
		}
	}
	r.written = s.written()
	return s.text()
}

// sameEndpoints are the endpoints whose chains a change leaves as they are. Most changes are of one endpoint
// among many, and to render the others takes most of the time of such a change.
func sameEndpoints(c Change) map[netip.AddrPort]bool {
	if c.Was == nil || c.Now == nil || (c.Was.AffinitySeconds > 0) != (c.Now.AffinitySeconds > 0) {
		return nil
	}
	was, now := c.Was.endpointsUsed(), c.Now.endpointsUsed()
	before := make(map[netip.AddrPort]bool, len(was))
	for _, ep := range was {
		before[ep] = true
	}
	same := make(map[netip.AddrPort]bool, len(now))
	for _, ep := range now {
		if before[ep] {
			same[ep] = true
		}
	}
	return same
}

// changes is text that writes a change. The order of rules in shared chains does not matter, except that
// those of ports come first, because no two ports have an address in common: so single lines are inserted at
// the beginning and deleted.
func (r *iptRenderer) changes(d *Delta) string {
	s := newIPTScript()
	r.rules = map[string]int{}
	var off, on []iptLine
	nat := s[tableNAT]
	for _, c := range d.Ports {
		same := sameEndpoints(c)
		was, now := r.port(c.Was, same), r.port(c.Now, same)
		var fill []iptChain
		for _, ch := range now.chains {
			if before := was.find(ch.name); before == nil || !slices.Equal(before.rules, ch.rules) {
				fill = append(fill, ch)
			}
			r.rules[tableNAT] += len(ch.rules)
		}
		nat.fill(fill...)
		for i := range was.chains {
			if now.find(was.chains[i].name) == nil {
				nat.drop(was.chains[i].name)
			}
			r.rules[tableNAT] -= len(was.chains[i].rules)
		}
		off = append(off, without(was.shared, now.shared)...)
		on = append(on, without(now.shared, was.shared)...)
	}
	for _, l := range off {
		s[l.table].rule("-D", l.chain, l.rule)
		r.rules[l.table]--
	}
	for _, l := range on {
		s[l.table].rule("-I", l.chain+" 1", l.rule)
		r.rules[l.table]++
	}
	r.written = s.written()
	return s.text()
}

// without are the lines of a that b does not have.
func without(a, b []iptLine) (out []iptLine) {
	for _, l := range a {
		if !slices.Contains(b, l) {
			out = append(out, l)
		}
	}
	return out
}
