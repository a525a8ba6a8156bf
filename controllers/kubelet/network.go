package kubelet

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Network is the network of the machine, from which the addresses of the node come. [SystemNetwork] is that
// of this one. Its methods may be called from many goroutines.
type Network interface {
	// Addresses returns the addresses of all network interfaces.
	Addresses() ([]netip.Addr, error)
	// Lookup returns the addresses of a name, the best one first.
	Lookup(ctx context.Context, name string) ([]netip.Addr, error)
	// Default returns an address of the interface that the default route of IPv4 leads to, or that of IPv6
	// if there is none; with sixFirst the other way round.
	Default(sixFirst bool) (netip.Addr, error)
}

// SystemNetwork is the network of this machine, or of the network namespace that the process runs in.
type SystemNetwork struct{}

var _ Network = SystemNetwork{}

// Addresses implements Network.
func (SystemNetwork) Addresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	return ipsOf(all), err
}

// Lookup implements Network with the resolver of the system.
func (SystemNetwork) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, err
}

// Default implements Network. Without a file of routes, as on other systems than Linux, it is the first
// address of any interface that is neither of the loopback nor of a point-to-point link. It is an error if
// there is no default route, and if the interfaces of none of them, nor the loopback, has a global address.
func (SystemNetwork) Default(sixFirst bool) (netip.Addr, error) {
	interfaces, err := machineInterfaces()
	if err != nil {
		return netip.Addr{}, err
	}
	four, err := os.ReadFile("/proc/net/route")
	if errors.Is(err, os.ErrNotExist) {
		return anyAddress(interfaces, sixFirst)
	} else if err != nil {
		return netip.Addr{}, err
	}
	six, _ := os.ReadFile("/proc/net/ipv6_route") // a machine without IPv6 does not have it
	return routedAddress(four, six, interfaces, sixFirst)
}

// netInterface is one interface with its addresses.
type netInterface struct {
	name  string
	flags net.Flags
	ips   []netip.Addr
}

func machineInterfaces() ([]netInterface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var list []netInterface
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("addresses of %s: %w", i.Name, err)
		}
		list = append(list, netInterface{i.Name, i.Flags, ipsOf(addrs)})
	}
	return list, nil
}

func ipsOf(addrs []net.Addr) []netip.Addr {
	var ips []netip.Addr
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				ips = append(ips, ip.Unmap())
			}
		}
	}
	return ips
}

// global returns the first global address of a family, if the interface is up.
func (i *netInterface) global(six bool) (ip netip.Addr, ok bool) {
	at := slices.IndexFunc(i.ips, func(ip netip.Addr) bool { return ip.Is6() == six && ip.IsGlobalUnicast() })
	if at < 0 || i.flags&net.FlagUp == 0 {
		return netip.Addr{}, false
	}
	return i.ips[at], true
}

// anyAddress is the first global address of an interface that leads to a network.
func anyAddress(interfaces []netInterface, sixFirst bool) (netip.Addr, error) {
	for _, six := range []bool{sixFirst, !sixFirst} {
		for _, i := range interfaces {
			if ip, ok := i.global(six); ok && i.flags&(net.FlagLoopback|net.FlagPointToPoint) == 0 {
				return ip, nil
			}
		}
	}
	return netip.Addr{}, errors.New("no acceptable interface with global unicast address found on host")
}

// routedAddress chooses the address by the kernel's files of routes. Machines whose links have local
// addresses only, as in RFC 5549, have the global one on the loopback.
func routedAddress(four, six []byte, interfaces []netInterface, sixFirst bool) (netip.Addr, error) {
	routes := [2][]string{defaultRoutes4(four), defaultRoutes6(six)}
	if len(routes[0])+len(routes[1]) == 0 {
		return netip.Addr{}, errors.New(`no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"`)
	}
	for _, six := range []bool{sixFirst, !sixFirst} {
		names := routes[0]
		if six {
			names = routes[1]
		}
		for _, name := range names {
			for _, i := range interfaces {
				if ip, ok := i.global(six); ok && i.name == name {
					return ip, nil
				}
			}
			for _, i := range interfaces {
				if ip, ok := i.global(six); ok && i.flags&net.FlagLoopback != 0 {
					return ip, nil
				}
			}
		}
	}
	return netip.Addr{}, errors.New("unable to select an IP from default routes.")
}

// defaultRoutes4 are the names of the interfaces of the default routes in /proc/net/route: name, destination
// and gateway are its first fields.
func defaultRoutes4(file []byte) (names []string) {
	for line := range bytes.Lines(file) {
		if f := strings.Fields(string(line)); len(f) > 2 && f[1] == "00000000" {
			names = append(names, f[0])
		}
	}
	return names
}

// defaultRoutes6 are those of /proc/net/ipv6_route: the destination is its first field, the gateway the fifth
// and the name the tenth. The route without a gateway is that of the loopback, which discards packets.
func defaultRoutes6(file []byte) (names []string) {
	zero := hex.EncodeToString(make([]byte, 16))
	for line := range bytes.Lines(file) {
		if f := strings.Fields(string(line)); len(f) > 9 && f[0] == zero && f[4] != zero {
			names = append(names, f[9])
		}
	}
	return names
}

// ParseNodeIPs parses addresses of a node with commas between, as the flags of kubelets have them. What is no
// address is ignored. It returns an error for what [Options].NodeIPs must not be.
func ParseNodeIPs(text string) (ips []netip.Addr, ignored []string, err error) {
	if text == "" {
		return nil, nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if ip, ok := validation.ParseIP(part); ok {
			ips = append(ips, ip.Unmap())
		} else {
			ignored = append(ignored, part)
		}
	}
	return ips, ignored, checkNodeIPs(ips)
}

// checkNodeIPs refuses what cannot be addresses of a node. The messages are those of Kubernetes.
func checkNodeIPs(ips []netip.Addr) error {
	for _, ip := range ips {
		if !ip.IsValid() || ip.Zone() != "" || ip.Is4In6() {
			return fmt.Errorf("%v is no address of IPv4 or IPv6 without a zone", ip)
		}
	}
	switch {
	case len(ips) > 2 || len(ips) == 2 && ips[0].Is6() == ips[1].Is6():
		return errors.New("must contain either a single IP or a dual-stack pair of IPs")
	case len(ips) == 2 && (ips[0].IsUnspecified() || ips[1].IsUnspecified()):
		return errors.New("dual-stack node IP cannot include '0.0.0.0' or '::'")
	}
	return nil
}

// givenIPs are the addresses that the node was given; none if it was given a family only.
func (opts *Options) givenIPs() []netip.Addr {
	if len(opts.NodeIPs) > 0 && opts.NodeIPs[0].IsUnspecified() {
		return nil
	}
	return opts.NodeIPs
}

// sixFirst reports whether IPv6 is the first family of the node and its pods.
func (opts *Options) sixFirst() bool { return len(opts.NodeIPs) > 0 && opts.NodeIPs[0].Is6() }

// validNodeIP returns an error if a node cannot have this address, or the machine does not have it.
func validNodeIP(network Network, ip netip.Addr) error {
	switch {
	case ip.IsLoopback():
		return errors.New("nodeIP can't be loopback address")
	case ip.IsMulticast():
		return errors.New("nodeIP can't be a multicast address")
	case ip.IsLinkLocalUnicast():
		return errors.New("nodeIP can't be a link-local unicast address")
	case ip.IsUnspecified():
		return errors.New("nodeIP can't be an all zeros address")
	}
	all, err := network.Addresses()
	if err != nil {
		return err
	}
	if !slices.Contains(all, ip) {
		return fmt.Errorf("node IP: %q not found in the host's network interfaces", ip.String())
	}
	return nil
}

// validNodeIPs checks the addresses that were given.
func (k *Kubelet) validNodeIPs() error {
	if k.opts.Network == nil {
		return nil
	}
	for i, ip := range k.opts.givenIPs() {
		if err := validNodeIP(k.opts.Network, ip); err != nil {
			return fmt.Errorf("failed to validate %s: %w", []string{"nodeIP", "secondaryNodeIP"}[i], err)
		}
	}
	return nil
}

// nodeIPs are the addresses of the node: those that were given, or else the one that the network says.
func (k *Kubelet) nodeIPs(ctx context.Context) ([]netip.Addr, error) {
	if given := k.opts.givenIPs(); len(given) > 0 {
		return given, nil
	}
	name, network := k.opts.NodeName, k.opts.Network
	if network == nil {
		return []netip.Addr{hostAddress(k.opts.sixFirst())}, nil
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{ip.Unmap()}, nil
	}
	found, _ := network.Lookup(ctx, name) // most nodes' names are in no DNS
	found = slices.DeleteFunc(slices.Clone(found), func(ip netip.Addr) bool { return validNodeIP(network, ip) != nil })
	for _, ip := range found {
		if ip.Is6() == k.opts.sixFirst() {
			return []netip.Addr{ip}, nil
		}
	}
	if len(found) > 0 {
		return found[:1], nil
	}
	ip, err := network.Default(k.opts.sixFirst())
	if err != nil {
		return nil, fmt.Errorf("can't get ip address of node %s. error: %w", name, err)
	}
	return []netip.Addr{ip}, nil
}

// hostIPs are the addresses of the node as its pods have them: the first of those that the Node has, and the
// first of the other family, internal ones before external ones. Before the node is registered they are
// those that it is going to have.
func (k *Kubelet) hostIPs(ctx context.Context) ([]string, error) {
	addresses, err := k.node.reported(ctx)
	if err != nil {
		return nil, err
	}
	var ips []string
	var first netip.Addr
	for _, of := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for _, a := range addresses {
			ip, err := netip.ParseAddr(a.Address)
			if a.Type != of || err != nil {
				continue
			}
			ip = ip.Unmap()
			if !first.IsValid() {
				first, ips = ip, append(ips, ip.String())
			} else if ip.Is6() != first.Is6() {
				return append(ips, ip.String()), nil
			}
		}
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("host IP unknown; known addresses: %v", addresses)
	}
	return ips, nil
}

// inOrder returns the first of a sandbox's addresses of each family, the node's first family first. A runtime
// that reports what is no address reports none.
func (k *Kubelet) inOrder(ips []string) []string {
	var of [2]string // of the first family, and of the other
	for _, text := range ips {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return nil
		}
		ip = ip.Unmap()
		at := &of[0]
		if ip.Is6() != k.opts.sixFirst() {
			at = &of[1]
		}
		if *at == "" {
			*at = ip.String()
		}
	}
	return slices.DeleteFunc(of[:], func(ip string) bool { return ip == "" })
}

// addressesOf sets the addresses of a pod and its node; those that are not found out stay.
func (k *Kubelet) addressesOf(ctx context.Context, pod *corev1.Pod, box *sandbox, st *corev1.PodStatus) {
	if host, err := k.hostIPs(ctx); err == nil {
		st.HostIP, st.HostIPs = host[0], nil
		for _, ip := range host {
			st.HostIPs = append(st.HostIPs, corev1.HostIP{IP: ip})
		}
	}
	if ips := k.podIPs(ctx, pod, box); len(ips) > 0 {
		st.PodIP, st.PodIPs = ips[0], nil
		for _, ip := range ips {
			st.PodIPs = append(st.PodIPs, corev1.PodIP{IP: ip})
		}
	}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// podIPs are the addresses of a pod with a sandbox, which may be nil. Those of a pod on the network of the
// host are the node's, unless the runtime reports others.
func (k *Kubelet) podIPs(ctx context.Context, pod *corev1.Pod, box *sandbox) []string {
	var ips []string
	if box != nil {
		ips = k.inOrder(box.ips)
	}
	if !pod.Spec.HostNetwork {
		return ips
	}
	host, err := k.hostIPs(ctx)
	switch {
	case err != nil:
	case len(ips) == 0:
		return host
	case len(ips) == 1 && len(host) == 2 && strings.Contains(ips[0], ":") != strings.Contains(host[1], ":"):
		return append(ips, host[1])
	}
	return ips
}

// hostAddress is this host's address as others see it.
func hostAddress(sixFirst bool) netip.Addr {
	// Connecting a UDP socket sends nothing, but chooses the source address.
	targets := []string{"192.0.2.1:9", "[2001:db8::1]:9"}
	if sixFirst {
		slices.Reverse(targets)
	}
	for _, target := range targets {
		if c, err := net.Dial("udp", target); err == nil {
			a, ok := c.LocalAddr().(*net.UDPAddr)
			_ = c.Close()
			if ok {
				return a.AddrPort().Addr().Unmap()
			}
		}
	}
	if interfaces, err := machineInterfaces(); err == nil {
		if ip, err := anyAddress(interfaces, sixFirst); err == nil {
			return ip
		}
	}
	if sixFirst {
		return netip.IPv6Loopback()
	}
	return netip.MustParseAddr("127.0.0.1")
}
