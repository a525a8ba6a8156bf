package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Commands and attributes of the generic netlink family IPVS, of linux/ip_vs.h. The library moby/ipvs is not
// used because it reports no error where the kernel has no IPVS, and depends on a library for logs.
const (
	ipvsNewService, ipvsSetService, ipvsDelService, ipvsGetService = 1, 2, 3, 4
	ipvsNewDest, ipvsSetDest, ipvsDelDest, ipvsGetDest             = 5, 6, 7, 8
	ipvsSetConfig                                                  = 12
	ipvsVersion                                                    = 1

	ipvsCmdService, ipvsCmdDest                             = 1, 2
	ipvsCmdTimeoutTCP, ipvsCmdTimeoutFin, ipvsCmdTimeoutUDP = 4, 5, 6

	ipvsSvcFamily, ipvsSvcProtocol, ipvsSvcAddr, ipvsSvcPort                          = 1, 2, 3, 4
	ipvsSvcScheduler, ipvsSvcFlags, ipvsSvcTimeout, ipvsSvcNetmask                    = 6, 7, 8, 9
	ipvsDestAddr, ipvsDestPort, ipvsDestForward, ipvsDestWeight, ipvsDestUpper        = 1, 2, 3, 4, 5
	ipvsDestLower, ipvsDestActive, ipvsDestInactive, _, _, ipvsDestFamily             = 6, 7, 8, 9, 10, 11
	ipvsFlagPersistent, ipvsFlagSourcePort                                     uint32 = 1, 0x10
)

// IPVS implements Kernel.
func (k *linux) IPVS() (IPVSKernel, error) {
	ns := netns.None()
	if k.netns != "" {
		var err error
		if ns, err = netns.GetFromPath(k.netns); err != nil {
			return nil, fmt.Errorf("proxy: network namespace: %w", err)
		}
		defer ns.Close()
	}
	links, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE, unix.NETLINK_GENERIC)
	if err != nil {
		return nil, fmt.Errorf("proxy: netlink: %w", err)
	}
	family, err := links.GenlFamilyGet("IPVS") // which loads the module
	if err != nil {
		links.Close()
		if errors.Is(err, unix.ENOENT) {
			return nil, ErrNoIPVS
		}
		return nil, fmt.Errorf("proxy: netlink family IPVS: %w", err)
	}
	socket, err := nl.GetNetlinkSocketAt(ns, netns.None(), unix.NETLINK_GENERIC)
	if err != nil {
		links.Close()
		return nil, fmt.Errorf("proxy: netlink: %w", err)
	}
	timeout := unix.NsecToTimeval(int64(ipvsTimeout))
	_ = socket.SetReceiveTimeout(&timeout)
	return &ipvsLinux{links: links, family: family.ID, sockets: map[int]*nl.SocketHandle{unix.NETLINK_GENERIC: {Socket: socket}}}, nil
}

// ipvsTimeout is how long the kernel may take to answer.
const ipvsTimeout = 30 * time.Second

// ipvsLinux talks to IPVS and to devices by netlink.
type ipvsLinux struct {
	links  *netlink.Handle
	family uint16

	mu      sync.Mutex
	sockets map[int]*nl.SocketHandle
}

// do sends a command with attributes and returns the attributes of the answers.
func (k *ipvsLinux) do(command uint8, flags int, attrs ...*nl.RtAttr) ([][]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	req := nl.NewNetlinkRequest(int(k.family), flags)
	req.Sockets = k.sockets
	req.AddRawData([]byte{command, ipvsVersion, 0, 0})
	for _, a := range attrs {
		req.AddRawData(a.Serialize())
	}
	out, err := req.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return nil, err
	}
	for i, msg := range out {
		if len(msg) < nl.SizeofGenlmsg {
			return nil, fmt.Errorf("proxy: answer of IPVS has %d bytes", len(msg))
		}
		out[i] = msg[nl.SizeofGenlmsg:]
	}
	return out, nil
}

var ipvsProtocols = map[corev1.Protocol]uint16{corev1.ProtocolTCP: unix.IPPROTO_TCP, corev1.ProtocolUDP: unix.IPPROTO_UDP, corev1.ProtocolSCTP: unix.IPPROTO_SCTP}

func nativeUint16(n uint16) []byte { return binary.NativeEndian.AppendUint16(nil, n) }
func nativeUint32(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

func addressFamily(a netip.Addr) uint16 {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// wireAddr is the union nf_inet_addr.
func wireAddr(a netip.Addr) []byte { return append(a.AsSlice(), make([]byte, 16-a.BitLen()/8)...) }

// serviceAttr encodes what identifies a virtual server, and the rest if it is whole.
func serviceAttr(v VirtualServer, whole bool) *nl.RtAttr {
	a := v.Addr.Addr()
	attr := nl.NewRtAttr(unix.NLA_F_NESTED|ipvsCmdService, nil)
	attr.AddRtAttr(ipvsSvcFamily, nativeUint16(addressFamily(a)))
	attr.AddRtAttr(ipvsSvcProtocol, nativeUint16(ipvsProtocols[v.Protocol]))
	attr.AddRtAttr(ipvsSvcAddr, wireAddr(a))
	attr.AddRtAttr(ipvsSvcPort, binary.BigEndian.AppendUint16(nil, v.Addr.Port()))
	if !whole {
		return attr
	}
	flags := uint32(0)
	if v.AffinitySeconds > 0 {
		flags |= ipvsFlagPersistent
	}
	if v.SourcePort {
		flags |= ipvsFlagSourcePort
	}
	mask := []byte{255, 255, 255, 255}
	if a.Is6() {
		mask = nativeUint32(128)
	}
	attr.AddRtAttr(ipvsSvcScheduler, append([]byte(v.Scheduler), 0))
	attr.AddRtAttr(ipvsSvcFlags, append(nativeUint32(flags), nativeUint32(^uint32(0))...))
	attr.AddRtAttr(ipvsSvcTimeout, nativeUint32(v.AffinitySeconds))
	attr.AddRtAttr(ipvsSvcNetmask, mask)
	return attr
}

func destAttr(r RealServer, whole bool) *nl.RtAttr {
	a := r.Addr.Addr()
	attr := nl.NewRtAttr(unix.NLA_F_NESTED|ipvsCmdDest, nil)
	attr.AddRtAttr(ipvsDestAddr, wireAddr(a))
	attr.AddRtAttr(ipvsDestPort, binary.BigEndian.AppendUint16(nil, r.Addr.Port()))
	attr.AddRtAttr(ipvsDestFamily, nativeUint16(addressFamily(a)))
	if !whole {
		return attr
	}
	for _, typ := range []int{ipvsDestForward, ipvsDestUpper, ipvsDestLower} { // masquerading, no limits
		attr.AddRtAttr(typ, nativeUint32(0))
	}
	attr.AddRtAttr(ipvsDestWeight, nativeUint32(r.Weight))
	return attr
}

// attributes are those of an answer, by type.
type attributes map[uint16][]byte

// parseAttributes reads attributes without the library's ParseRouteAttr, which panics where the last one is
// not padded.
func parseAttributes(b []byte) (attributes, error) {
	out := attributes{}
	for len(b) >= unix.SizeofRtAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofRtAttr || n > len(b) {
			return nil, fmt.Errorf("proxy: answer of IPVS: attribute of %d bytes in %d", n, len(b))
		}
		typ := binary.NativeEndian.Uint16(b[2:]) &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
		out[typ] = b[unix.SizeofRtAttr:n]
		b = b[min((n+unix.NLA_ALIGNTO-1)&^(unix.NLA_ALIGNTO-1), len(b)):]
	}
	return out, nil
}

// nested are the attributes within one.
func nested(b []byte, typ uint16) (attributes, error) {
	a, err := parseAttributes(b)
	if err != nil {
		return nil, err
	}
	return parseAttributes(a[typ])
}

func (a attributes) uint16(typ uint16) uint16 {
	if len(a[typ]) != 2 {
		return 0
	}
	return binary.NativeEndian.Uint16(a[typ])
}

func (a attributes) uint32(typ uint16) uint32 {
	if len(a[typ]) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(a[typ])
}

// addrPort decodes an address of a family; ok is false if there is none.
func (a attributes) addrPort(family, addr, port uint16) (ap netip.AddrPort, ok bool) {
	size := map[uint16]int{unix.AF_INET: 4, unix.AF_INET6: 16}[family]
	if size == 0 || len(a[addr]) < size || len(a[port]) != 2 {
		return ap, false
	}
	ip, _ := netip.AddrFromSlice(a[addr][:size])
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(a[port])), true
}

// parseService decodes a virtual server; ok is false if it is one of marked packets or of another protocol.
func parseService(b []byte) (v VirtualServer, ok bool, err error) {
	a, err := nested(b, ipvsCmdService)
	if err != nil {
		return v, false, err
	}
	if v.Addr, ok = a.addrPort(a.uint16(ipvsSvcFamily), ipvsSvcAddr, ipvsSvcPort); !ok {
		return v, false, nil
	}
	for name, n := range ipvsProtocols {
		if n == a.uint16(ipvsSvcProtocol) {
			v.Protocol = name
		}
	}
	name, _, _ := bytes.Cut(a[ipvsSvcScheduler], []byte{0})
	v.Scheduler = string(name)
	flags := a.uint32(ipvsSvcFlags)
	v.SourcePort = flags&ipvsFlagSourcePort != 0
	if flags&ipvsFlagPersistent != 0 {
		v.AffinitySeconds = a.uint32(ipvsSvcTimeout)
	}
	return v, v.Protocol != "", nil
}

// parseDest decodes an endpoint of a family; ok is false if it has another one.
func parseDest(b []byte, family uint16) (r RealServer, ok bool, err error) {
	a, err := nested(b, ipvsCmdDest)
	if err != nil {
		return r, false, err
	}
	if f := a.uint16(ipvsDestFamily); f != 0 && f != family {
		return r, false, nil
	}
	r.Addr, ok = a.addrPort(family, ipvsDestAddr, ipvsDestPort)
	r.Weight, r.Connections = a.uint32(ipvsDestWeight), a.uint32(ipvsDestActive)+a.uint32(ipvsDestInactive)
	return r, ok, nil
}

// VirtualServers implements IPVSKernel.
func (k *ipvsLinux) VirtualServers(f Family) ([]VirtualServer, error) {
	answers, err := k.do(ipvsGetService, unix.NLM_F_DUMP)
	if err != nil {
		return nil, err
	}
	var out []VirtualServer
	for _, b := range answers {
		v, ok, err := parseService(b)
		if err != nil {
			return nil, err
		}
		if ok && f.of(v.Addr.Addr()) {
			out = append(out, v)
		}
	}
	return out, nil
}

// RealServers implements IPVSKernel. The kernel answers with none for a virtual server that is not there.
func (k *ipvsLinux) RealServers(v VirtualServer) ([]RealServer, error) {
	answers, err := k.do(ipvsGetDest, unix.NLM_F_DUMP, serviceAttr(v, false))
	if err != nil {
		return nil, err
	}
	var out []RealServer
	for _, b := range answers {
		r, ok, err := parseDest(b, addressFamily(v.Addr.Addr()))
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, r)
		}
	}
	return out, nil
}

func (k *ipvsLinux) change(command uint8, attrs ...*nl.RtAttr) error {
	_, err := k.do(command, unix.NLM_F_ACK, attrs...)
	return err
}

// AddServer implements IPVSKernel.
func (k *ipvsLinux) AddServer(v VirtualServer) error {
	return k.change(ipvsNewService, serviceAttr(v, true))
}

// SetServer implements IPVSKernel.
func (k *ipvsLinux) SetServer(v VirtualServer) error {
	return k.change(ipvsSetService, serviceAttr(v, true))
}

// DeleteServer implements IPVSKernel.
func (k *ipvsLinux) DeleteServer(v VirtualServer) error {
	return k.change(ipvsDelService, serviceAttr(v, false))
}

// AddReal implements IPVSKernel.
func (k *ipvsLinux) AddReal(v VirtualServer, r RealServer) error {
	return k.change(ipvsNewDest, serviceAttr(v, false), destAttr(r, true))
}

// SetReal implements IPVSKernel.
func (k *ipvsLinux) SetReal(v VirtualServer, r RealServer) error {
	return k.change(ipvsSetDest, serviceAttr(v, false), destAttr(r, true))
}

// DeleteReal implements IPVSKernel.
func (k *ipvsLinux) DeleteReal(v VirtualServer, r RealServer) error {
	return k.change(ipvsDelDest, serviceAttr(v, false), destAttr(r, false))
}

// SetTimeouts implements IPVSKernel. The kernel leaves a timeout of zero as it is.
func (k *ipvsLinux) SetTimeouts(tcp, tcpFin, udp time.Duration) error {
	var attrs []*nl.RtAttr
	for typ, d := range map[int]time.Duration{ipvsCmdTimeoutTCP: tcp, ipvsCmdTimeoutFin: tcpFin, ipvsCmdTimeoutUDP: udp} {
		attrs = append(attrs, nl.NewRtAttr(typ, nativeUint32(uint32(d/time.Second))))
	}
	return k.change(ipvsSetConfig, attrs...)
}

// device returns the device, or nil if there is none.
func (k *ipvsLinux) device() (netlink.Link, error) {
	link, err := k.links.LinkByName(IPVSDevice)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		return nil, nil
	}
	return link, err
}

// DeviceAddrs implements IPVSKernel.
func (k *ipvsLinux) DeviceAddrs(f Family) (out []netip.Addr, there bool, err error) {
	link, err := k.device()
	if link == nil || err != nil {
		return nil, false, err
	}
	family := netlink.FAMILY_V4
	if f == IPv6 {
		family = netlink.FAMILY_V6
	}
	list, err := k.links.AddrList(link, family)
	for _, a := range list {
		if ip, ok := netip.AddrFromSlice(a.IP); ok && !ip.Unmap().IsLinkLocalUnicast() {
			out = append(out, ip.Unmap())
		}
	}
	return out, true, err
}

// AddDevice implements IPVSKernel.
func (k *ipvsLinux) AddDevice() error {
	err := k.links.LinkAdd(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: IPVSDevice}})
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// DeleteDevice implements IPVSKernel.
func (k *ipvsLinux) DeleteDevice() error {
	link, err := k.device()
	if link == nil || err != nil {
		return err
	}
	return k.links.LinkDel(link)
}

// AddDeviceAddr implements IPVSKernel.
func (k *ipvsLinux) AddDeviceAddr(a netip.Addr) error {
	link, err := k.links.LinkByName(IPVSDevice)
	if err != nil {
		return err
	}
	return k.links.AddrAdd(link, deviceAddr(a))
}

// DeleteDeviceAddr implements IPVSKernel.
func (k *ipvsLinux) DeleteDeviceAddr(a netip.Addr) error {
	link, err := k.links.LinkByName(IPVSDevice)
	if err != nil {
		return err
	}
	return k.links.AddrDel(link, deviceAddr(a))
}

// deviceAddr is an address alone, without a broadcast address or detection of duplicates.
func deviceAddr(a netip.Addr) *netlink.Addr {
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}}
	if a.Is6() {
		addr.Flags = unix.IFA_F_NODAD
	}
	return addr
}
