package proxytest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

// Traits are what conforming backends may do differently, as those of kube-proxy do.
type Traits struct {
	// FirewallFirst checks source ranges of load balancers' addresses without endpoints too.
	FirewallFirst bool
	// NodeIsNotRefused lets packets of the node itself to external addresses without endpoints pass.
	NodeIsNotRefused bool
	// GuardsClusterIPs refuses unknown ports of cluster IPs and drops traffic to unknown cluster IPs.
	GuardsClusterIPs bool
	// GuardsAddresses refuses unknown ports of all addresses of Services.
	GuardsAddresses bool
	// LocalForAll lets policy Local at external addresses hold for pods and the node too, as long as there is
	// an endpoint on the node.
	LocalForAll bool
	// RefusesNotLocal refuses traffic to a cluster IP with policy Local and no endpoint on the node, instead
	// of dropping it.
	RefusesNotLocal bool
	// NodePassesRanges lets packets of the node itself pass source ranges of load balancers.
	NodePassesRanges bool
}

// TraitsOf returns the traits of the package's own backends.
func TraitsOf(mode proxy.Mode) Traits {
	switch mode {
	case proxy.NFTables:
		return Traits{FirewallFirst: true, GuardsClusterIPs: true}
	case proxy.IPVS:
		return Traits{FirewallFirst: true, GuardsAddresses: true, LocalForAll: true, RefusesNotLocal: true, NodePassesRanges: true}
	}
	return Traits{NodeIsNotRefused: true}
}

// World is a random set of a few Services with endpoints, in which addresses and node ports collide now and
// then. It is not safe for concurrent use.
type World struct {
	family   proxy.Family
	rng      *rand.Rand
	services map[int]*corev1.Service
	eps      map[int][]Endpoint
}

// size is the number of Services in a world.
const size = 5

// NewWorld returns an empty world. Worlds of the same seed have the same history.
func NewWorld(f proxy.Family, seed uint64) *World {
	return &World{family: f, rng: rand.New(rand.NewPCG(seed, 1)), services: map[int]*corev1.Service{}, eps: map[int][]Endpoint{}}
}

func oneOf[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

func keyOf(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: fmt.Sprintf("s%d", i)}
}

// Change replaces or removes one Service, or changes its endpoints, in the world and in tables.
func (w *World) Change(tables ...*proxy.Table) {
	i := w.rng.IntN(size)
	if w.services[i] == nil || w.rng.IntN(3) == 0 {
		w.services[i] = w.service(i)
	}
	if w.rng.IntN(8) == 0 {
		delete(w.services, i)
	}
	w.eps[i] = w.endpoints()
	for _, t := range tables {
		w.set(t, i)
	}
}

func (w *World) set(t *proxy.Table, i int) {
	if svc := w.services[i]; svc != nil {
		Set(t, svc, w.eps[i]...)
	} else {
		t.Set(keyOf(i), nil, nil)
	}
}

// Fill puts all Services into a table, in random order.
func (w *World) Fill(t *proxy.Table) {
	for _, i := range w.rng.Perm(size) {
		w.set(t, i)
	}
}

func (w *World) endpoints() (out []Endpoint) {
	allHinted := w.rng.IntN(3) == 0
	for j := range w.rng.IntN(5) {
		e := Endpoint{IP: PodAddr(w.family, j).String(), Node: oneOf(w.rng, NodeName, "there")}
		switch w.rng.IntN(4) {
		case 0:
			e.NotReady = true
		case 1:
			e.Leaving = true
		}
		if allHinted || w.rng.IntN(6) == 0 {
			e.Zones = []string{oneOf(w.rng, NodeZone, "z2")}
		}
		if allHinted && w.rng.IntN(2) == 0 {
			e.Nodes = []string{oneOf(w.rng, NodeName, "there")}
		}
		out = append(out, e)
	}
	return out
}

func (w *World) service(i int) *corev1.Service {
	rng, net := w.rng, nets[w.family]
	nodePort := int32(30000 + i)
	if rng.IntN(8) == 0 {
		nodePort = 30000 // that of another Service
	}
	ports := []corev1.ServicePort{Port("t", corev1.ProtocolTCP, 80, nodePort)}
	if rng.IntN(2) == 0 {
		ports = append(ports, Port("u", corev1.ProtocolUDP, 80, nodePort))
	}
	return Service(keyOf(i).Name, nth(net.services, i+1).String(), func(s *corev1.Service) {
		s.CreationTimestamp = metav1.Time{Time: time.Unix(int64(1000+rng.IntN(3)), 0)}
		s.Spec.Type = oneOf(rng, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer)
		s.Spec.ExternalTrafficPolicy = oneOf(rng, "", corev1.ServiceExternalTrafficPolicyLocal)
		if rng.IntN(3) == 0 {
			s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
		}
		if rng.IntN(3) == 0 {
			s.Spec.ExternalIPs = []string{oneOf(rng, nth(net.external, i+1), nth(net.external, i+1), nth(net.external, 1), nth(net.services, 1)).String()}
		}
		if rng.IntN(3) == 0 {
			s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		}
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: nth(net.external, oneOf(rng, i+101, i+101, i+101, 101)).String()}}
			if rng.IntN(2) == 0 {
				around, _ := net.client.Prefix(net.client.BitLen() - 8)
				s.Spec.LoadBalancerSourceRanges = []string{oneOf(rng, netip.PrefixFrom(net.client, net.client.BitLen()), around, net.pods).String()}
			}
		}
		if rng.IntN(12) == 0 {
			s.Labels = map[string]string{proxy.LabelProxyName: "other"}
		}
	}, ports...)
}

// role is what an address is to a Service.
type role int

const (
	none role = iota
	cluster
	external
	balancer
)

// roleOf says what the destination of a packet is to a port of a Service.
func (w *World) roleOf(svc *corev1.Service, sp *corev1.ServicePort, p Packet) role {
	at := func(ip string) bool { return p.Port == 80 && p.Dst.String() == ip }
	switch {
	case svc.Labels[proxy.LabelProxyName] != "" || (sp.Protocol == corev1.ProtocolTCP) != (p.Protocol == "tcp"):
		return none
	case at(svc.Spec.ClusterIP):
		return cluster
	case len(svc.Status.LoadBalancer.Ingress) > 0 && at(svc.Status.LoadBalancer.Ingress[0].IP):
		return balancer
	case len(svc.Spec.ExternalIPs) > 0 && at(svc.Spec.ExternalIPs[0]),
		svc.Spec.Type != corev1.ServiceTypeClusterIP && p.Dst == nets[w.family].node && int32(p.Port) == sp.NodePort:
		return external
	}
	return none
}

// owner finds the Service a packet is for: among several, a cluster IP is stronger, then the older Service
// wins, then the name decides.
func (w *World) owner(p Packet) (best int, as role) {
	best = -1
	for i := range size {
		svc := w.services[i]
		if svc == nil {
			continue
		}
		for j := range svc.Spec.Ports {
			r := w.roleOf(svc, &svc.Spec.Ports[j], p)
			if r == none {
				continue
			}
			weak := func(r role) int { return map[bool]int{true: 1}[r != cluster] }
			if best < 0 || cmp.Or(weak(r)-weak(as), svc.CreationTimestamp.Compare(w.services[best].CreationTimestamp.Time)) < 0 {
				best, as = i, r
			}
		}
	}
	return best, as
}

// Expect says, from the Services themselves and as plainly as possible, what should become of a packet.
func (w *World) Expect(t Traits, p Packet) Outcomes {
	one := func(s string) Outcomes { return Outcomes{s: 1} }
	net := nets[w.family]
	onNode := p.Dst == net.node
	i, as := w.owner(p)
	if i < 0 {
		if t.GuardsClusterIPs && !onNode && net.services.Contains(p.Dst) {
			for _, svc := range w.services {
				if svc.Spec.ClusterIP == p.Dst.String() && svc.Labels[proxy.LabelProxyName] == "" {
					return one("reject")
				}
			}
			return one("drop")
		}
		if t.GuardsAddresses && w.served(p.Dst) {
			return one("reject")
		}
		return one(netip.AddrPortFrom(p.Dst, p.Port).String())
	}
	svc := w.services[i]
	anywhere, here := w.usable(i, false), w.usable(i, true)
	if r := svc.Spec.LoadBalancerSourceRanges; as == balancer && len(r) > 0 && !netip.MustParsePrefix(r[0]).Contains(p.Src) &&
		(t.FirewallFirst || len(anywhere) > 0) && !(t.NodePassesRanges && p.FromNode) {
		return one("drop")
	}
	pod := net.pods.Contains(p.Src)
	set, masq := anywhere, !pod
	switch {
	case as == cluster && svc.Spec.InternalTrafficPolicy != nil:
		set = here
	case as != cluster && svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal:
		masq = true
	case as != cluster && !pod && !p.FromNode:
		set, masq = here, false
	case as != cluster && t.LocalForAll && len(here) > 0:
		set = here
	}
	if len(set) == 0 {
		if t.NodeIsNotRefused && p.FromNode && as != cluster && !onNode {
			return one(netip.AddrPortFrom(p.Dst, p.Port).String())
		}
		if len(anywhere) > 0 && !(t.RefusesNotLocal && as == cluster) {
			return one("drop")
		}
		return one("reject")
	}
	out := Outcomes{}
	for _, e := range set {
		s := netip.AddrPortFrom(netip.MustParseAddr(e.IP), TargetPort).String()
		if masq || e.IP == p.Src.String() {
			s += masqueraded
		}
		out[s] += 1 / float64(len(set))
	}
	return out
}

// served reports whether an address is one of a Service.
func (w *World) served(a netip.Addr) bool {
	for _, svc := range w.services {
		if svc.Labels[proxy.LabelProxyName] != "" {
			continue
		}
		list := append([]string{svc.Spec.ClusterIP}, svc.Spec.ExternalIPs...)
		for _, in := range svc.Status.LoadBalancer.Ingress {
			list = append(list, in.IP)
		}
		if slices.Contains(list, a.String()) {
			return true
		}
	}
	return false
}

// usable lists the endpoints to use: ready ones, as far as hints leave them to this node, or else those that
// terminate and serve.
func (w *World) usable(i int, onlyHere bool) []Endpoint {
	var ready, leaving []Endpoint
	for _, e := range w.eps[i] {
		if onlyHere && e.Node != NodeName || e.NotReady {
			continue
		}
		if e.Leaving {
			leaving = append(leaving, e)
		} else {
			ready = append(ready, e)
		}
	}
	if len(ready) == 0 {
		return leaving
	}
	if onlyHere {
		return ready
	}
	for _, hints := range []struct {
		of   func(Endpoint) []string
		mine string
	}{{func(e Endpoint) []string { return e.Nodes }, NodeName}, {func(e Endpoint) []string { return e.Zones }, NodeZone}} {
		var mine []Endpoint
		all := true
		for _, e := range ready {
			all = all && len(hints.of(e)) > 0
			if slices.Contains(hints.of(e), hints.mine) {
				mine = append(mine, e)
			}
		}
		if all && len(mine) > 0 {
			return mine
		}
	}
	return ready
}

// Packet returns a random packet, most often to an address of a Service.
func (w *World) Packet() Packet {
	rng, net := w.rng, nets[w.family]
	p := Packet{Src: oneOf(rng, net.client, net.neighbour), Protocol: oneOf(rng, "tcp", "udp"), Port: 80}
	switch rng.IntN(5) {
	case 0:
		p.Src, p.FromNode = net.node, true
	case 1, 2: // pods of this node: a pod of another one comes with its own node's rules behind it
		p.Src = w.podHere()
	}
	i := rng.IntN(size + 1)
	p.Dst = oneOf(rng, nth(net.services, i+1), nth(net.external, i+1), nth(net.external, i+101))
	switch rng.IntN(8) {
	case 0:
		p.Port = 81
	case 1, 2:
		p.Dst, p.Port = net.node, uint16(30000+i)
	}
	return p
}

// podHere is a pod that no Service has on another node.
func (w *World) podHere() netip.Addr {
	for range 10 {
		if a := PodAddr(w.family, w.rng.IntN(5)); !w.elsewhere(a) {
			return a
		}
	}
	return PodAddr(w.family, 9)
}

// elsewhere reports whether a Service has the pod of an address on another node.
func (w *World) elsewhere(a netip.Addr) bool {
	for _, eps := range w.eps {
		if slices.ContainsFunc(eps, func(e Endpoint) bool { return e.IP == a.String() && e.Node != NodeName }) {
			return true
		}
	}
	return false
}
