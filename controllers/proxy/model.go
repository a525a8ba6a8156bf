package proxy

import (
	"net/netip"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Family is an IP family.
type Family uint8

// The families.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// String is "IPv4" or "IPv6".
func (f Family) String() string {
	if f == IPv6 {
		return "IPv6"
	}
	return "IPv4"
}

// of reports whether an address is of the family.
func (f Family) of(a netip.Addr) bool { return a.IsValid() && a.Unmap().Is4() == (f == IPv4) }

// PortName names one port of one Service.
type PortName struct {
	Service types.NamespacedName
	// Port is the name of the port; a Service with one port may leave it empty.
	Port     string
	Protocol corev1.Protocol
}

// String is "namespace/name:port", without the colon if the port has no name.
func (n PortName) String() string {
	s := n.Service.Namespace + "/" + n.Service.Name
	if n.Port != "" {
		s += ":" + n.Port
	}
	return s
}

// Compare orders names by Service, port and protocol.
func (n PortName) Compare(o PortName) int {
	if c := n.Service.Compare(o.Service); c != 0 {
		return c
	}
	if c := strings.Compare(n.Port, o.Port); c != 0 {
		return c
	}
	return strings.Compare(string(n.Protocol), string(o.Protocol))
}

// protocol is the name the kernel's tools use: tcp, udp or sctp.
func (n PortName) protocol() string { return strings.ToLower(string(n.Protocol)) }

// ServicePort is what one port of a Service means on one node in one family: the addresses it has and the
// endpoints traffic to them goes to.
type ServicePort struct {
	Name PortName
	// ClusterIP and Port are where pods find it; NodePort is its port on nodes, 0 if it has none.
	ClusterIP      netip.Addr
	Port, NodePort uint16
	// ExternalIPs and LoadBalancerIPs lead here too, at Port.
	ExternalIPs, LoadBalancerIPs []netip.Addr
	// SourceRanges may reach LoadBalancerIPs; empty means everybody may.
	SourceRanges []netip.Prefix
	// AffinitySeconds is how long a client stays with its endpoint after its last connection; 0 means it does
	// not.
	AffinitySeconds int32
	// InternalLocal and ExternalLocal are the traffic policies Local: only endpoints on this node are used.
	InternalLocal, ExternalLocal bool
	// HealthCheckNodePort is where this node tells load balancers whether it has endpoints; 0 means nowhere.
	HealthCheckNodePort uint16
	// Cluster are the endpoints to use wherever they are, Local those on this node, in order. Each is the set
	// to use: ready ones, or those that still serve while they terminate if there is no other.
	Cluster, Local []netip.AddrPort
	// Serving are all endpoints that serve, whatever policies and hints say: an established flow to one of
	// them goes on.
	Serving []netip.AddrPort
	// AnyEndpoint reports whether some node has an endpoint to use. Without one traffic is refused; with one
	// only elsewhere, and policy Local, it is dropped, because other nodes do answer.
	AnyEndpoint bool
}

// External reports whether the port can be reached from outside of the cluster.
func (p *ServicePort) External() bool {
	return p.NodePort != 0 || len(p.ExternalIPs) > 0 || len(p.LoadBalancerIPs) > 0
}

// internal are the endpoints of traffic from inside, external of that from outside.
func (p *ServicePort) internal() []netip.AddrPort {
	if p.InternalLocal {
		return p.Local
	}
	return p.Cluster
}

func (p *ServicePort) external() []netip.AddrPort {
	if p.ExternalLocal {
		return p.Local
	}
	return p.Cluster
}

// Node is what a plan needs to know of the node it is for.
type Node struct {
	Name string
	// Zone is the value of the node's label topology.kubernetes.io/zone.
	Zone string
}
