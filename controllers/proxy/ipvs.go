package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// IPVSDevice is the dummy device that holds the addresses of Services in mode ipvs: IPVS sees only packets
// that the node takes for its own.
const IPVSDevice = "kube-ipvs0"

// ErrNoIPVS is the error of Kernel.IPVS if the kernel has no IPVS.
var ErrNoIPVS = errors.New("proxy: the kernel has no IPVS: load the module ip_vs or use another mode")

// IPVSKernel is what mode ipvs needs from the kernel besides programs: the table of virtual servers and the
// dummy device. Its errors wrap those of the kernel: EEXIST for what is there already, ESRCH for a virtual
// server that is not there, and ENOENT for an endpoint or a scheduler that is not there.
type IPVSKernel interface {
	// VirtualServers lists those of a family.
	VirtualServers(f Family) ([]VirtualServer, error)
	AddServer(v VirtualServer) error
	SetServer(v VirtualServer) error
	DeleteServer(v VirtualServer) error
	// RealServers lists the endpoints of a virtual server.
	RealServers(v VirtualServer) ([]RealServer, error)
	AddReal(v VirtualServer, r RealServer) error
	SetReal(v VirtualServer, r RealServer) error
	DeleteReal(v VirtualServer, r RealServer) error
	// SetTimeouts sets those of connections, in whole seconds; zero leaves one as it is.
	SetTimeouts(tcp, tcpFin, udp time.Duration) error

	// DeviceAddrs lists the addresses of IPVSDevice in a family; there reports whether the device exists.
	DeviceAddrs(f Family) (addrs []netip.Addr, there bool, err error)
	// AddDevice creates the device if it does not exist, and DeleteDevice deletes it if it does.
	AddDevice() error
	DeleteDevice() error
	AddDeviceAddr(a netip.Addr) error
	DeleteDeviceAddr(a netip.Addr) error
}

// VirtualServer is an address at which IPVS accepts traffic. Addr and Protocol identify it.
type VirtualServer struct {
	Addr     netip.AddrPort
	Protocol corev1.Protocol
	// Scheduler chooses the endpoint of a connection.
	Scheduler string
	// SourcePort lets a scheduler that hashes the source use its port too.
	SourcePort bool
	// AffinitySeconds is how long a client is sent to the same endpoint; 0 means no affinity.
	AffinitySeconds uint32
}

// RealServer is an endpoint of a virtual server.
type RealServer struct {
	Addr netip.AddrPort
	// Weight is its share of new connections: none if it is 0.
	Weight uint32
	// Connections is the number of connections that it has, active or not. It is only read.
	Connections uint32
}

// IPVSOptions are the options of mode ipvs.
type IPVSOptions struct {
	// Scheduler is one of Schedulers; empty means rr.
	Scheduler string
	// ExcludeCIDRs are ranges of virtual servers of other programs, which are kept.
	ExcludeCIDRs []netip.Prefix
	// StrictARP makes the node answer ARP requests only for addresses of the interface that they come in at,
	// not for those of IPVSDevice, as load balancers such as MetalLB need.
	StrictARP bool
	// TCPTimeout, TCPFinTimeout and UDPTimeout are the timeouts of idle connections, of those after a FIN
	// packet, and of UDP flows, in whole seconds; 0 leaves them as they are.
	TCPTimeout, TCPFinTimeout, UDPTimeout time.Duration
}

// Schedulers returns the schedulers of IPVS that can be chosen.
func Schedulers() []string {
	return []string{"rr", "wrr", "lc", "wlc", "lblc", "lblcr", "sh", "dh", "mh", "sed", "nq"}
}

func (o *IPVSOptions) validate() error {
	if o.Scheduler != "" && !slices.Contains(Schedulers(), o.Scheduler) {
		return fmt.Errorf("proxy: IPVS scheduler %q is not one of %s", o.Scheduler, strings.Join(Schedulers(), ", "))
	}
	for name, d := range map[string]time.Duration{"TCPTimeout": o.TCPTimeout, "TCPFinTimeout": o.TCPFinTimeout, "UDPTimeout": o.UDPTimeout} {
		if d < 0 || d%time.Second != 0 {
			return fmt.Errorf("proxy: IPVS %s %s: want whole seconds, 0 or more", name, d)
		}
	}
	return nil
}

func (o *IPVSOptions) scheduler() string {
	if o.Scheduler == "" {
		return "rr"
	}
	return o.Scheduler
}

// excluded reports whether a virtual server belongs to another program.
func (o *IPVSOptions) excluded(v VirtualServer) bool {
	return slices.ContainsFunc(o.ExcludeCIDRs, func(r netip.Prefix) bool { return r.Contains(v.Addr.Addr()) })
}

// ipvsKey identifies a virtual server.
type ipvsKey struct {
	addr     netip.AddrPort
	protocol corev1.Protocol
}

func (v VirtualServer) key() ipvsKey { return ipvsKey{v.Addr, v.Protocol} }

// ipvsServer is a virtual server with its endpoints.
type ipvsServer struct {
	VirtualServer
	endpoints []netip.AddrPort
	serving   []netip.AddrPort // to which established flows continue
}

// ipvsServers calls yield for the virtual servers of a port; nil has none.
func ipvsServers(cfg *Config, o *IPVSOptions, p *ServicePort, yield func(ipvsServer)) {
	if p == nil {
		return
	}
	put := func(a netip.Addr, port uint16, endpoints []netip.AddrPort) {
		v := VirtualServer{Addr: netip.AddrPortFrom(a, port), Protocol: p.Name.Protocol, Scheduler: o.scheduler(),
			SourcePort: o.scheduler() == "mh", AffinitySeconds: uint32(p.AffinitySeconds)}
		yield(ipvsServer{v, endpoints, p.Serving})
	}
	for a := range p.addresses() {
		if a == p.ClusterIP {
			put(a, p.Port, p.internal())
			continue
		}
		put(a, p.Port, p.ipvsExternal())
	}
	if p.NodePort != 0 {
		for _, a := range cfg.NodePortAddrs {
			if cfg.Family.of(a) {
				put(a, p.NodePort, p.ipvsExternal())
			}
		}
	}
}

// ipvsExternal are the endpoints at external addresses. A virtual server does not know who sends, so with
// policy Local all use the endpoints on this node. If there are none, pods and the node itself use others;
// packets of other clients are dropped before (ipvsNoLocal).
func (p *ServicePort) ipvsExternal() []netip.AddrPort {
	if eps := p.external(); len(eps) > 0 {
		return eps
	}
	return p.Cluster
}
