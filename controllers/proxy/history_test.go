package proxy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// world is a random set of Services, with endpoints on port 8080.
type world struct {
	rng      *rand.Rand
	services map[int]*corev1.Service
	eps      map[int][]where
}

func oneOf[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

// change replaces or removes one Service, or changes its endpoints.
func (w *world) change() {
	i := w.rng.IntN(5)
	if w.services[i] == nil || w.rng.IntN(3) == 0 {
		w.services[i] = w.service(i)
	}
	if w.rng.IntN(8) == 0 {
		delete(w.services, i)
	}
	w.eps[i] = nil
	allHinted := w.rng.IntN(3) == 0
	for j := range w.rng.IntN(5) {
		e := where{ip: podIP(j).String(), node: oneOf(w.rng, "here", "there")}
		switch w.rng.IntN(4) {
		case 0:
			e.notReady = true
		case 1:
			e.leaving = true
		}
		if allHinted || w.rng.IntN(6) == 0 {
			e.forZones = []string{oneOf(w.rng, "z1", "z2")}
		}
		if allHinted && w.rng.IntN(2) == 0 {
			e.forNodes = []string{oneOf(w.rng, "here", "there")}
		}
		w.eps[i] = append(w.eps[i], e)
	}
}

func (w *world) service(i int) *corev1.Service {
	rng := w.rng
	ports := []corev1.ServicePort{port("t", tcp, 80, int32(30000+i))}
	if rng.IntN(2) == 0 {
		ports = append(ports, port("u", udp, 80, int32(30000+i)))
	}
	return service(fmt.Sprintf("s%d", i), fmt.Sprintf("10.96.0.%d", i+1), func(s *corev1.Service) {
		s.Spec.Type = oneOf(rng, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer)
		s.Spec.ExternalTrafficPolicy = oneOf(rng, "", corev1.ServiceExternalTrafficPolicyLocal)
		if rng.IntN(3) == 0 {
			s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
		}
		if rng.IntN(3) == 0 {
			s.Spec.ExternalIPs = []string{fmt.Sprintf("203.0.113.%d", i+1)}
		}
		if rng.IntN(3) == 0 {
			s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		}
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("203.0.113.%d", i+101)}}
			if rng.IntN(2) == 0 {
				s.Spec.LoadBalancerSourceRanges = []string{oneOf(rng, "192.0.2.2/32", "192.0.2.0/24", "10.244.0.0/16")}
			}
		}
		if rng.IntN(12) == 0 {
			s.Labels = map[string]string{LabelProxyName: "other"}
		}
	}, ports...)
}

func (w *world) plan() (out []*ServicePort) {
	for i := range 5 {
		if svc := w.services[i]; svc != nil {
			out = append(out, Plan(IPv4, svc, []*discoveryv1.EndpointSlice{slice(svc, discoveryv1.AddressTypeIPv4, w.eps[i]...)}, Node{Name: "here", Zone: "z1"})...)
		}
	}
	slices.SortFunc(out, func(a, b *ServicePort) int { return a.Name.Compare(b.Name) })
	return out
}

// expect says, from the Services themselves and as plainly as possible, what should become of a packet.
func (w *world) expect(mode Mode, p packet) map[string]float64 {
	one := func(s string) map[string]float64 { return map[string]float64{s: 1} }
	for i, svc := range w.services {
		if svc.Labels[LabelProxyName] != "" {
			continue
		}
		for _, sp := range svc.Spec.Ports {
			if (sp.Protocol == tcp) != (p.proto == "tcp") {
				continue
			}
			at := func(ip string) bool { return p.port == 80 && p.dst.String() == ip }
			isLB := len(svc.Status.LoadBalancer.Ingress) > 0 && at(svc.Status.LoadBalancer.Ingress[0].IP)
			isExternal := isLB || len(svc.Spec.ExternalIPs) > 0 && at(svc.Spec.ExternalIPs[0]) ||
				svc.Spec.Type != corev1.ServiceTypeClusterIP && p.dst == nodeAddr && int32(p.port) == sp.NodePort
			if !isExternal && !at(svc.Spec.ClusterIP) {
				continue
			}
			anywhere, here := usable(w.eps[i], false), usable(w.eps[i], true)
			if r := svc.Spec.LoadBalancerSourceRanges; isLB && len(r) > 0 && !netip.MustParsePrefix(r[0]).Contains(p.src) && (mode == NFTables || len(anywhere) > 0) {
				// With iptables, and as in kube-proxy, who asks for nothing is not asked where he comes from.
				return one("drop")
			}
			pod := podNet.Contains(p.src)
			set, masq := anywhere, !pod
			switch {
			case !isExternal && svc.Spec.InternalTrafficPolicy != nil:
				set = here
			case isExternal && svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal:
				masq = true
			case isExternal && !pod && !p.fromNode:
				set, masq = here, false
			}
			if len(set) == 0 && mode == IPTables && p.fromNode && isExternal && !p.local(p.dst) {
				break // as in kube-proxy, the node itself is not refused external addresses
			}
			if len(set) == 0 && len(anywhere) > 0 {
				return one("drop")
			} else if len(set) == 0 {
				return one("reject")
			}
			out := map[string]float64{}
			for _, ip := range set {
				s := ip + ":8080"
				if masq || ip == p.src.String() {
					s += " masqueraded"
				}
				out[s] += 1 / float64(len(set))
			}
			return out
		}
	}
	if mode == NFTables && !p.local(p.dst) && netip.MustParsePrefix("10.96.0.0/16").Contains(p.dst) {
		for _, svc := range w.services {
			if svc.Spec.ClusterIP == p.dst.String() && svc.Labels[LabelProxyName] == "" {
				return one("reject")
			}
		}
		return one("drop")
	}
	return one(netip.AddrPortFrom(p.dst, p.port).String())
}

// usable lists the endpoints to use: ready ones, as far as hints leave them to this node, or else those that
// are about to go.
func usable(eps []where, onlyHere bool) (out []string) {
	var ready, leaving []where
	for _, e := range eps {
		if onlyHere && e.node != "here" || e.notReady {
			continue
		}
		if e.leaving {
			leaving = append(leaving, e)
		} else {
			ready = append(ready, e)
		}
	}
	chosen := ready
	if len(ready) == 0 {
		chosen = leaving
	} else if !onlyHere {
		for _, hints := range []struct {
			of   func(where) []string
			node string
		}{{func(e where) []string { return e.forNodes }, "here"}, {func(e where) []string { return e.forZones }, "z1"}} {
			mine, all := []where{}, true
			for _, e := range ready {
				all = all && len(hints.of(e)) > 0
				if slices.Contains(hints.of(e), hints.node) {
					mine = append(mine, e)
				}
			}
			if all && len(mine) > 0 {
				chosen = mine
				break
			}
		}
	}
	for _, e := range chosen {
		out = append(out, e.ip)
	}
	return out
}

func (w *world) packet() packet {
	rng := w.rng
	p := packet{src: oneOf(rng, podIP(0), podIP(1), podIP(2), clientIP, netip.MustParseAddr("192.0.2.3")), proto: oneOf(rng, "tcp", "udp"), port: 80}
	if rng.IntN(5) == 0 {
		p.src, p.fromNode = nodeAddr, true
	}
	i := rng.IntN(6)
	p.dst = netip.MustParseAddr(oneOf(rng, fmt.Sprintf("10.96.0.%d", i+1), fmt.Sprintf("203.0.113.%d", i+1), fmt.Sprintf("203.0.113.%d", i+101)))
	switch rng.IntN(8) {
	case 0:
		p.port = 81
	case 1, 2:
		p.dst, p.port = nodeAddr, uint16(30000+i)
	}
	return p
}

func config(mode Mode) Config {
	return Config{Mode: mode, Family: IPv4, MasqueradeBit: 14, DetectLocal: DetectLocal{CIDRs: []netip.Prefix{podNet}},
		NodePortAddrs: []netip.Addr{nodeAddr}, AllNodePortAddrs: mode == IPTables, ServiceCIDRs: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/16")}}
}

// TestRandomServices changes Services at random, writes only the changes to a kernel that checks them, and
// compares where packets end up with where the Services say.
func TestRandomServices(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			for _, seed := range seeds.Of(t, 200) {
				history(t, mode, seed)
			}
		})
	}
}

func history(t *testing.T, mode Mode, seed uint64) {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), services: map[int]*corev1.Service{}, eps: map[int][]where{}}
	compiler := NewCompiler(config(mode))
	tables := map[string]*fakeTable{}
	write := func(tables map[string]*fakeTable, text string) {
		t.Helper()
		err := nftApply(tables, text)
		if mode == IPTables {
			err = iptApply(tables, text)
		}
		require.NoError(t, err, "seed %d", seed)
	}
	var last *Ruleset
	for range 6 {
		for range 1 + w.rng.IntN(3) {
			w.change()
		}
		rules := compiler.Compile(w.plan())
		if last == nil {
			write(tables, rules.Text())
		} else {
			write(tables, rules.Changes(last))
		}
		last = rules
		anew := map[string]*fakeTable{}
		write(anew, NewCompiler(config(mode)).Compile(w.plan()).Text())
		require.Equal(t, anew, tables, "seed %d: changes lead elsewhere than writing all", seed)
		require.Empty(t, rules.Changes(compiler.Compile(w.plan())), "seed %d: nothing has changed", seed)
		for range 20 {
			p := w.packet()
			require.InDeltaMapValues(t, w.expect(mode, p), simulate(mode, tables, p), 1e-6, "seed %d: %+v", seed, p)
		}
	}
}
