package proxy

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// The sets of mode ipvs. With IPv6 their names start with KUBE-6- instead of KUBE-.
const (
	ipvsLoopback      = "KUBE-LOOP-BACK"
	ipvsClusterIP     = "KUBE-CLUSTER-IP"
	ipvsExternalIP    = "KUBE-EXTERNAL-IP"
	ipvsExternalLocal = "KUBE-EXTERNAL-IP-LOCAL"
	ipvsBalancer      = "KUBE-LOAD-BALANCER"
	ipvsBalancerLocal = "KUBE-LOAD-BALANCER-LOCAL"
	ipvsBalancerFW    = "KUBE-LOAD-BALANCER-FW"
	ipvsSourceCIDR    = "KUBE-LOAD-BALANCER-SOURCE-CIDR"
	ipvsNodePortTCP   = "KUBE-NODE-PORT-TCP"
	ipvsNodePortUDP   = "KUBE-NODE-PORT-UDP"
	ipvsNodePortSCTP  = "KUBE-NODE-PORT-SCTP-HASH"
	ipvsLocalTCP      = "KUBE-NODE-PORT-LOCAL-TCP"
	ipvsLocalUDP      = "KUBE-NODE-PORT-LOCAL-UDP"
	ipvsLocalSCTP     = "KUBE-NODE-PORT-LOCAL-SCTP-HASH"
	ipvsHealthPorts   = "KUBE-HEALTH-CHECK-NODE-PORT"
	ipvsIPs           = "KUBE-IPVS-IPS"
	// ipvsNoLocal are external addresses with policy Local and without an endpoint on this node.
	ipvsNoLocal = "KUBE-NO-LOCAL-ENDPOINT"
)

// ipvsSetTypes are the types of the sets.
var ipvsSetTypes = map[string]string{
	ipvsLoopback: "hash:ip,port,ip", ipvsClusterIP: "hash:ip,port", ipvsExternalIP: "hash:ip,port", ipvsExternalLocal: "hash:ip,port",
	ipvsBalancer: "hash:ip,port", ipvsBalancerLocal: "hash:ip,port", ipvsBalancerFW: "hash:ip,port", ipvsSourceCIDR: "hash:ip,port,net",
	ipvsNodePortTCP: "bitmap:port", ipvsNodePortUDP: "bitmap:port", ipvsNodePortSCTP: "hash:ip,port",
	ipvsLocalTCP: "bitmap:port", ipvsLocalUDP: "bitmap:port", ipvsLocalSCTP: "hash:ip,port",
	ipvsHealthPorts: "bitmap:port", ipvsIPs: "hash:ip", ipvsNoLocal: "hash:ip,port",
}

// ipvsAdmitted are the sets with the addresses and ports of Services at which the node admits packets. New
// connections to other ports of these addresses are rejected.
var ipvsAdmitted = []string{ipvsClusterIP, ipvsExternalIP, ipvsExternalLocal, ipvsBalancer, ipvsBalancerLocal}

// ipvsSetMax is the maximum number of members of a set.
const ipvsSetMax = 1 << 20

// ipvsMember is a member of a set, as ipset save prints it.
type ipvsMember struct{ set, entry string }

func compareMembers(a, b ipvsMember) int {
	if c := strings.Compare(a.set, b.set); c != 0 {
		return c
	}
	return strings.Compare(a.entry, b.entry)
}

// ipvsSetName is the name of a set in the kernel, which may have 31 characters.
func ipvsSetName(f Family, set string) string {
	if f == IPv6 {
		name := "KUBE-6-" + strings.TrimPrefix(set, "KUBE-")
		return name[:min(len(name), 31)]
	}
	return set
}

// ipvsMembers calls yield for the members of sets that a port has alone: no other port has them after
// conflicts.
func ipvsMembers(cfg *Config, p *ServicePort, yield func(ipvsMember)) {
	if p == nil {
		return
	}
	proto := p.Name.protocol()
	at := func(a netip.Addr, port uint16) string { return fmt.Sprintf("%s,%s:%d", a, proto, port) }
	local := func(set, localSet string) string {
		if p.ExternalLocal {
			return localSet
		}
		return set
	}
	unreachable := func(a netip.Addr, port uint16) {
		if p.ExternalLocal && len(p.Local) == 0 && len(p.Cluster) > 0 {
			yield(ipvsMember{ipvsNoLocal, at(a, port)})
		}
	}
	if p.ClusterIP.IsValid() {
		yield(ipvsMember{ipvsClusterIP, at(p.ClusterIP, p.Port)})
	}
	for _, a := range p.ExternalIPs {
		yield(ipvsMember{local(ipvsExternalIP, ipvsExternalLocal), at(a, p.Port)})
		unreachable(a, p.Port)
	}
	for _, a := range p.LoadBalancerIPs {
		yield(ipvsMember{local(ipvsBalancer, ipvsBalancerLocal), at(a, p.Port)})
		unreachable(a, p.Port)
		if len(p.SourceRanges) > 0 {
			yield(ipvsMember{ipvsBalancerFW, at(a, p.Port)})
		}
		for _, r := range ipvsRanges(p.SourceRanges) {
			yield(ipvsMember{ipvsSourceCIDR, at(a, p.Port) + "," + r})
		}
	}
	if p.NodePort != 0 {
		ipvsNodePort(cfg, p, local, func(m ipvsMember) { yield(m) })
		for _, a := range cfg.NodePortAddrs {
			if cfg.Family.of(a) {
				unreachable(a, p.NodePort)
			}
		}
	}
}

// ipvsNodePort yields the members for a node port. The type bitmap:port does not match SCTP.
func ipvsNodePort(cfg *Config, p *ServicePort, local func(set, localSet string) string, yield func(ipvsMember)) {
	port := fmt.Sprint(p.NodePort)
	switch p.Name.Protocol {
	case corev1.ProtocolTCP:
		yield(ipvsMember{local(ipvsNodePortTCP, ipvsLocalTCP), port})
	case corev1.ProtocolUDP:
		yield(ipvsMember{local(ipvsNodePortUDP, ipvsLocalUDP), port})
	default:
		for _, a := range cfg.NodePortAddrs {
			if cfg.Family.of(a) {
				yield(ipvsMember{local(ipvsNodePortSCTP, ipvsLocalSCTP), fmt.Sprintf("%s,%s:%d", a, p.Name.protocol(), p.NodePort)})
			}
		}
	}
}

// ipvsRanges are ranges as ipset prints them. A set cannot hold a range of everything: it is split in two.
func ipvsRanges(ranges []netip.Prefix) []string {
	var out []string
	for _, r := range ranges {
		switch {
		case r.Bits() == 0 && r.Addr().Is4():
			out = append(out, "0.0.0.0/1", "128.0.0.0/1")
		case r.Bits() == 0:
			out = append(out, "::/1", "8000::/1")
		case r.IsSingleIP():
			out = append(out, r.Addr().String())
		default:
			out = append(out, r.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func ipvsLoopbackMember(e Endpoint) ipvsMember {
	proto := PortName{Protocol: e.Protocol}.protocol()
	return ipvsMember{ipvsLoopback, fmt.Sprintf("%s,%s:%d,%s", e.Addr.Addr(), proto, e.Addr.Port(), e.Addr.Addr())}
}

// readSets returns the types and members of the proxy's sets of a family that exist.
func readSets(ctx context.Context, k Kernel, f Family) (types map[string]string, members map[ipvsMember]bool, err error) {
	out, err := k.Run(ctx, nil, "ipset", "save")
	if err != nil {
		return nil, nil, fmt.Errorf("proxy: read %s sets: %w", f, err)
	}
	types, members = map[string]string{}, map[ipvsMember]bool{}
	byName := map[string]string{}
	for set := range ipvsSetTypes {
		byName[ipvsSetName(f, set)] = set
	}
	for line := range strings.Lines(string(out)) {
		w := strings.Fields(line)
		if len(w) < 3 || byName[w[1]] == "" {
			continue
		}
		switch set := byName[w[1]]; w[0] {
		case "create":
			types[set] = w[2]
		case "add":
			members[ipvsMember{set, w[2]}] = true
		}
	}
	return types, members, nil
}

// setScript is input of ipset restore.
type setScript struct {
	strings.Builder
	family Family
}

func (s *setScript) create(set string) {
	typ := ipvsSetTypes[set]
	s.WriteString("create " + ipvsSetName(s.family, set) + " " + typ)
	if typ == "bitmap:port" {
		s.WriteString(" range 0-65535\n")
		return
	}
	inet := "inet"
	if s.family == IPv6 {
		inet = "inet6"
	}
	fmt.Fprintf(s, " family %s maxelem %d\n", inet, ipvsSetMax)
}

func (s *setScript) change(verb string, list []ipvsMember) {
	slices.SortFunc(list, compareMembers)
	if verb == "add" {
		slices.Reverse(list) // the ranges that a firewall admits come before it, and leave after it
	}
	for _, m := range list {
		s.WriteString(verb + " " + ipvsSetName(s.family, m.set) + " " + m.entry + "\n")
	}
}

func (s *setScript) run(ctx context.Context, k Kernel) error {
	if s.Len() == 0 {
		return nil
	}
	if _, err := k.Run(ctx, []byte(s.String()), "ipset", "restore"); err != nil {
		return fmt.Errorf("proxy: write %s sets: %w", s.family, err)
	}
	return nil
}

// setChanges are the scripts of one write. Members of [ipvsAdmitted] are added after their virtual servers
// and deleted before them: at any other time their packets would be delivered to the node instead of
// rejected.
type setChanges struct {
	// first creates sets and adds what packets need, admitted changes what the node admits, and last deletes
	// what no packet needs any more.
	first, admitted, last setScript
}

// newSetChanges creates the sets, adds members and deletes others.
func newSetChanges(f Family, create []string, more, less []ipvsMember) *setChanges {
	c := &setChanges{setScript{family: f}, setScript{family: f}, setScript{family: f}}
	for _, set := range create {
		c.first.create(set)
	}
	admits := func(m ipvsMember) bool { return slices.Contains(ipvsAdmitted, m.set) }
	other := func(m ipvsMember) bool { return !admits(m) }
	c.first.change("add", slices.DeleteFunc(slices.Clone(more), admits))
	c.admitted.change("add", slices.DeleteFunc(more, other))
	c.admitted.change("del", slices.DeleteFunc(slices.Clone(less), other))
	c.last.change("del", slices.DeleteFunc(less, admits))
	return c
}

// setsChanges are the changes that make the sets exist and have the wanted members.
func setsChanges(ctx context.Context, k Kernel, f Family, wanted map[ipvsMember]bool) (*setChanges, error) {
	types, have, err := readSets(ctx, k, f)
	if err != nil {
		return nil, err
	}
	var create []string
	for _, set := range slices.Sorted(maps.Keys(ipvsSetTypes)) {
		switch types[set] {
		case "":
			create = append(create, set)
		case ipvsSetTypes[set]:
		default:
			return nil, fmt.Errorf("proxy: ipset %s has type %s instead of %s: delete it", ipvsSetName(f, set), types[set], ipvsSetTypes[set])
		}
	}
	var more, less []ipvsMember
	for m := range wanted {
		if !have[m] {
			more = append(more, m)
		}
	}
	for m := range have {
		if !wanted[m] {
			less = append(less, m)
		}
	}
	return newSetChanges(f, create, more, less), nil
}

// destroySets deletes the sets of a family. No rule may refer to them any more.
func destroySets(ctx context.Context, k Kernel, f Family) error {
	types, _, err := readSets(ctx, k, f)
	if err != nil {
		return err
	}
	s := &setScript{family: f}
	for _, set := range slices.Sorted(maps.Keys(types)) {
		s.WriteString("destroy " + ipvsSetName(f, set) + "\n")
	}
	return s.run(ctx, k)
}
