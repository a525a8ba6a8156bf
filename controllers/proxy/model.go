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

// PortName identifies a port of a Service.
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
func (n PortName) protocol() string {
	switch n.Protocol {
	case corev1.ProtocolTCP:
		return "tcp"
	case corev1.ProtocolUDP:
		return "udp"
	case corev1.ProtocolSCTP:
		return "sctp"
	}
	return strings.ToLower(string(n.Protocol))
}

// ServicePort is the forwarding of one port of a Service on one node in one family: its addresses and
// endpoints.
type ServicePort struct {
	Name PortName
	// ClusterIP and Port are its address in the cluster; NodePort is its port on nodes, 0 if it has none.
	ClusterIP      netip.Addr
	Port, NodePort uint16
	// ExternalIPs and LoadBalancerIPs are further addresses, with the same Port.
	ExternalIPs, LoadBalancerIPs []netip.Addr
	// SourceRanges restrict the clients of LoadBalancerIPs; empty means no restriction.
	SourceRanges []netip.Prefix
	// AffinitySeconds is how long a client is sent to the same endpoint after its last connection; 0 means no
	// affinity.
	AffinitySeconds int32
	// InternalLocal and ExternalLocal report the traffic policies Local: only endpoints on this node are
	// used.
	InternalLocal, ExternalLocal bool
	// HealthCheckNodePort is the port for load balancers' health checks, which report local endpoints; 0
	// means none.
	HealthCheckNodePort uint16
	// Cluster are the usable endpoints on all nodes, Local those on this node, sorted. Usable endpoints are
	// the ready ones or, if there are none, those that still serve while they terminate.
	Cluster, Local []netip.AddrPort
	// Serving are all serving endpoints regardless of policies and hints. Established flows to them continue.
	Serving []netip.AddrPort
	// Loopbacks are those of Cluster and Local that are on this node, or on an unknown one: they can reach
	// themselves through the Service.
	Loopbacks []netip.AddrPort
	// AnyEndpoint reports whether any node has a usable endpoint. If not, traffic is rejected. If only other
	// nodes have one and the policy is Local, it is dropped.
	AnyEndpoint bool
	// created is when the Service was created, in seconds: it decides conflicts.
	created int64
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

// Node is the node that a plan is computed for.
type Node struct {
	Name string
	// Zone is the value of the node's label topology.kubernetes.io/zone.
	Zone string
}
