package proxytest

import (
	"net/netip"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

// NodeName and NodeZone are those of the node the rules are for.
const NodeName, NodeZone = "here", "z1"

// TargetPort is the port of the endpoints that Slice makes.
const TargetPort = 8080

// Service makes a Service in namespace ns with a cluster IP; change, which may be nil, edits it.
func Service(name, ip string, change func(*corev1.Service), ports ...corev1.ServicePort) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: ip, ClusterIPs: []string{ip}, Ports: ports},
	}
	if change != nil {
		change(s)
	}
	return s
}

// Port makes a port of a Service; a node port of 0 means none.
func Port(name string, proto corev1.Protocol, port, nodePort int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: proto, Port: port, NodePort: nodePort, TargetPort: intstr.FromInt32(TargetPort)}
}

// Endpoint is an endpoint for Slice. The zero value of its flags is a ready one.
type Endpoint struct {
	IP, Node string
	NotReady bool
	// Leaving endpoints terminate and still serve.
	Leaving bool
	// Zones and Nodes are its hints.
	Zones, Nodes []string
}

// Slice makes an EndpointSlice of a Service with endpoints at TargetPort for all its ports.
func Slice(svc *corev1.Service, family discoveryv1.AddressType, eps ...Endpoint) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name + "-" + strings.ToLower(string(family)), Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name}},
		AddressType: family,
	}
	for _, p := range svc.Spec.Ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: new(p.Name), Protocol: new(p.Protocol), Port: new(int32(TargetPort))})
	}
	for _, e := range eps {
		ep := discoveryv1.Endpoint{Addresses: []string{e.IP}}
		if e.Node != "" {
			ep.NodeName = new(e.Node)
		}
		ready := !e.NotReady && !e.Leaving
		ep.Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: new(ready || e.Leaving), Terminating: new(e.Leaving)}
		if e.Zones != nil || e.Nodes != nil {
			ep.Hints = &discoveryv1.EndpointHints{}
			for _, z := range e.Zones {
				ep.Hints.ForZones = append(ep.Hints.ForZones, discoveryv1.ForZone{Name: z})
			}
			for _, n := range e.Nodes {
				ep.Hints.ForNodes = append(ep.Hints.ForNodes, discoveryv1.ForNode{Name: n})
			}
		}
		s.Endpoints = append(s.Endpoints, ep)
	}
	return s
}

// Set puts a Service and its endpoints into a table.
func Set(t *proxy.Table, svc *corev1.Service, eps ...Endpoint) {
	key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	t.Set(key, svc, []*discoveryv1.EndpointSlice{Slice(svc, discoveryv1.AddressType(t.Family().String()), eps...)})
}

// net are the addresses of a world in one family.
type addresses struct {
	node, client, neighbour netip.Addr
	pods, services          netip.Prefix
	external                netip.Prefix
}

// nets are the addresses by family.
var nets = map[proxy.Family]addresses{
	proxy.IPv4: {netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.3"),
		netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("10.96.0.0/16"), netip.MustParsePrefix("203.0.113.0/24")},
	proxy.IPv6: {netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8::3"),
		netip.MustParsePrefix("fd00:244::/64"), netip.MustParsePrefix("fd00:96::/112"), netip.MustParsePrefix("fd00:cb::/64")},
}

// nth is the n-th address of a range.
func nth(p netip.Prefix, n int) netip.Addr {
	a := p.Addr()
	for range n {
		a = a.Next()
	}
	return a
}

// NodeAddr is the address of the node.
func NodeAddr(f proxy.Family) netip.Addr { return nets[f].node }

// PodAddr is the address of the i-th pod.
func PodAddr(f proxy.Family, i int) netip.Addr { return nth(nets[f].pods, i+2) }

// Config is the configuration that World expects backends of a mode to have.
func Config(mode proxy.Mode, f proxy.Family) proxy.Config {
	n := nets[f]
	return proxy.Config{Family: f, MasqueradeBit: 14, DetectLocal: proxy.DetectLocal{CIDRs: []netip.Prefix{n.pods}},
		NodePortAddrs: []netip.Addr{n.node}, AllNodePortAddrs: mode == proxy.IPTables, NodeAddrs: []netip.Addr{n.node},
		ServiceCIDRs: []netip.Prefix{n.services}}
}
