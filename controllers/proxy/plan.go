package proxy

import (
	"net/netip"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/ptr"
)

// LabelProxyName, with any value, assigns a Service to another proxy: such Services and EndpointSlices are
// ignored.
const LabelProxyName = "service.kubernetes.io/service-proxy-name"

// labelHeadless, with any value, marks Services without cluster IP, and their EndpointSlices.
const labelHeadless = "service.kubernetes.io/headless"

// defaultAffinity is the time of session affinity where a Service does not say.
const defaultAffinity = 10800

// Plan computes the forwarding of the ports of a Service on a node in one family, in the order of the
// Service. eps are the Service's slices of any family. The result is empty for Services that are headless,
// have no address of the family or belong to another proxy. Plan does not modify its arguments.
func Plan(f Family, svc *corev1.Service, eps []*discoveryv1.EndpointSlice, node Node) []*ServicePort {
	if ignored(svc) {
		return nil
	}
	clusterIP := familyAddr(f, clusterIPs(svc))
	if !clusterIP.IsValid() {
		return nil
	}
	out := make([]*ServicePort, 0, len(svc.Spec.Ports))
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		sp := servicePort(f, svc, p, clusterIP)
		sp.choose(endpoints(f, eps, sp.Name, node.Name), node)
		out = append(out, sp)
	}
	return out
}

// ignored reports whether no proxy, or another one, serves svc.
func ignored(svc *corev1.Service) bool {
	if _, other := svc.Labels[LabelProxyName]; other {
		return true
	}
	return svc.Spec.Type == corev1.ServiceTypeExternalName || svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone
}

func clusterIPs(svc *corev1.Service) []string {
	if len(svc.Spec.ClusterIPs) > 0 {
		return svc.Spec.ClusterIPs
	}
	return []string{svc.Spec.ClusterIP}
}

func servicePort(f Family, svc *corev1.Service, p *corev1.ServicePort, clusterIP netip.Addr) *ServicePort {
	sp := &ServicePort{
		Name: PortName{Service: types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}, Port: p.Name, Protocol: protocolOf(p.Protocol)},
		Port: uint16(p.Port), NodePort: uint16(p.NodePort),
		ExternalIPs:   familyAddrs(f, svc.Spec.ExternalIPs),
		SourceRanges:  familyPrefixes(f, svc.Spec.LoadBalancerSourceRanges),
		created:       svc.CreationTimestamp.Unix(),
		InternalLocal: svc.Spec.InternalTrafficPolicy != nil && *svc.Spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal,
	}
	if svc.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		sp.AffinitySeconds = defaultAffinity
		if c := svc.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
			sp.AffinitySeconds = *c.ClientIP.TimeoutSeconds
		}
	}
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		for i := range svc.Status.LoadBalancer.Ingress {
			in := &svc.Status.LoadBalancer.Ingress[i]
			// A balancer in mode Proxy sends with its own address and must stay in the path.
			if in.IPMode == nil || *in.IPMode == corev1.LoadBalancerIPModeVIP {
				if a := familyAddr(f, []string{in.IP}); a.IsValid() && a != clusterIP && !slices.Contains(sp.LoadBalancerIPs, a) {
					sp.LoadBalancerIPs = append(sp.LoadBalancerIPs, a)
				}
			}
		}
	}
	// An address that is given twice has the role that is mentioned first in ServicePort.
	sp.ClusterIP = clusterIP
	sp.ExternalIPs = slices.DeleteFunc(sp.ExternalIPs, func(a netip.Addr) bool { return a == clusterIP || slices.Contains(sp.LoadBalancerIPs, a) })
	if svc.Spec.Type != corev1.ServiceTypeNodePort && svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		sp.NodePort = 0
	}
	sp.ExternalLocal = svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && sp.External()
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		sp.HealthCheckNodePort = uint16(svc.Spec.HealthCheckNodePort)
	}
	return sp
}

// endpoint is one address behind a port.
type endpoint struct {
	addr                        netip.AddrPort
	local, placed               bool // on this node; on any known one
	ready, serving, terminating bool
	zones, nodes                []string // hints; nil means none were given
}

// usable reports whether traffic may go there at all.
func (e *endpoint) usable() bool { return e.ready || e.serving && e.terminating }

// endpoints lists what the slices hold for a port, each address once, in order.
func endpoints(f Family, eps []*discoveryv1.EndpointSlice, name PortName, node string) []endpoint {
	var out []endpoint
	for _, s := range eps {
		if _, other := s.Labels[LabelProxyName]; other || s.AddressType != discoveryv1.AddressType(f.String()) {
			continue
		}
		for i := range s.Ports {
			p := &s.Ports[i]
			if p.Port == nil || *p.Port < 1 || *p.Port > 65535 || ptr.Deref(p.Name) != name.Port || protocolOf(ptr.Deref(p.Protocol)) != name.Protocol {
				continue
			}
			for j := range s.Endpoints {
				if e, ok := newEndpoint(f, &s.Endpoints[j], uint16(*p.Port), node); ok {
					out = append(out, e)
				}
			}
		}
	}
	// While an endpoint moves from one slice to another it is in both: the state that says more wins.
	slices.SortFunc(out, func(a, b endpoint) int {
		if c := a.addr.Compare(b.addr); c != 0 {
			return c
		}
		return rank(&b) - rank(&a)
	})
	return slices.CompactFunc(out, func(a, b endpoint) bool { return a.addr == b.addr })
}

func rank(e *endpoint) int {
	switch {
	case e.ready:
		return 2
	case e.serving:
		return 1
	}
	return 0
}

func newEndpoint(f Family, ep *discoveryv1.Endpoint, port uint16, node string) (endpoint, bool) {
	if len(ep.Addresses) == 0 {
		return endpoint{}, false
	}
	// The addresses of one endpoint are the same place; the first is used.
	a := familyAddr(f, ep.Addresses[:1])
	if !a.IsValid() {
		return endpoint{}, false
	}
	yes := func(b *bool) bool { return b == nil || *b }
	e := endpoint{
		addr:   netip.AddrPortFrom(a, port),
		local:  ep.NodeName != nil && *ep.NodeName == node && node != "",
		placed: ep.NodeName != nil,
		ready:  yes(ep.Conditions.Ready), serving: yes(ep.Conditions.Serving),
		terminating: ptr.Deref(ep.Conditions.Terminating),
	}
	if ep.Hints != nil {
		for _, z := range ep.Hints.ForZones {
			e.zones = append(e.zones, z.Name)
		}
		for _, n := range ep.Hints.ForNodes {
			e.nodes = append(e.nodes, n.Name)
		}
	}
	return e, true
}

// choose fills in the endpoints to use.
func (p *ServicePort) choose(all []endpoint, node Node) {
	near := hinted(all, node)
	p.Cluster = pick(all, near)
	if p.InternalLocal || p.ExternalLocal {
		p.Local = pick(all, func(e *endpoint) bool { return e.local })
	}
	for i := range all {
		e := &all[i]
		p.AnyEndpoint = p.AnyEndpoint || e.usable()
		if e.ready || e.serving {
			p.Serving = append(p.Serving, e.addr)
		}
		if (e.local || !e.placed) && (slices.Contains(p.Cluster, e.addr) || slices.Contains(p.Local, e.addr)) {
			p.Loopbacks = append(p.Loopbacks, e.addr)
		}
	}
	// Most often these are the same; a table keeps one.
	if slices.Equal(p.Serving, p.Cluster) {
		p.Serving = p.Cluster
	}
}

// pick returns the ready endpoints among those where allowed, or else those that serve until they are gone.
// Hints do not hold for the latter: they are a last resort.
func pick(all []endpoint, where func(*endpoint) bool) []netip.AddrPort {
	var leaving []netip.AddrPort
	ready := make([]netip.AddrPort, 0, len(all))
	for i := range all {
		e := &all[i]
		if !where(e) {
			continue
		}
		if e.ready {
			ready = append(ready, e.addr)
		} else if e.usable() {
			leaving = append(leaving, e.addr)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return leaving
}

// hinted decides which endpoints topology hints leave to this node. Hints count only if every ready endpoint
// has them and one of them is for this node or zone; otherwise some endpoint would never be used.
func hinted(all []endpoint, node Node) func(*endpoint) bool {
	ready, byNode, byZone, forNode, forZone := 0, 0, 0, 0, 0
	for i := range all {
		e := &all[i]
		if !e.ready {
			continue
		}
		ready++
		if len(e.nodes) > 0 {
			byNode++
		}
		if len(e.zones) > 0 {
			byZone++
		}
		if slices.Contains(e.nodes, node.Name) {
			forNode++
		}
		if node.Zone != "" && slices.Contains(e.zones, node.Zone) {
			forZone++
		}
	}
	switch {
	case ready > 0 && byNode == ready && forNode > 0:
		return func(e *endpoint) bool { return slices.Contains(e.nodes, node.Name) }
	case ready > 0 && byZone == ready && forZone > 0:
		return func(e *endpoint) bool { return slices.Contains(e.zones, node.Zone) }
	}
	return func(*endpoint) bool { return true }
}

func protocolOf(p corev1.Protocol) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return p
}

func familyAddr(f Family, list []string) netip.Addr {
	if a := familyAddrs(f, list); len(a) > 0 {
		return a[0]
	}
	return netip.Addr{}
}

func familyAddrs(f Family, list []string) []netip.Addr {
	var out []netip.Addr
	for _, s := range list {
		if a, err := netip.ParseAddr(s); err == nil && f.of(a) && a.Zone() == "" && !slices.Contains(out, a.Unmap()) {
			out = append(out, a.Unmap())
		}
	}
	return out
}

func familyPrefixes(f Family, list []string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		if p, err := netip.ParsePrefix(s); err == nil && f.of(p.Addr()) && !slices.Contains(out, p.Masked()) {
			out = append(out, p.Masked())
		}
	}
	return out
}
