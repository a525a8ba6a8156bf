package proxytest

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

// serverKey identifies a virtual server.
type serverKey struct {
	addr     netip.AddrPort
	protocol corev1.Protocol
}

// virtual is a virtual server with its endpoints.
type virtual struct {
	proxy.VirtualServer
	reals map[netip.AddrPort]proxy.RealServer
}

// kernelSchedulers are those of Linux.
var kernelSchedulers = []string{"rr", "wrr", "lc", "wlc", "fo", "ovf", "lblc", "lblcr", "dh", "sh", "mh", "sed", "nq", "twos"}

// IPVS implements proxy.Kernel. It fails if NoIPVS is set.
func (k *Kernel) IPVS() (proxy.IPVSKernel, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.NoIPVS {
		return nil, proxy.ErrNoIPVS
	}
	return &ipvs{k}, nil
}

// ipvs implements proxy.IPVSKernel. It fails where Linux does, with the same error.
type ipvs struct{ k *Kernel }

// log notes a call, for Calls.
func (i *ipvs) log(format string, args ...any) {
	i.k.calls = append(i.k.calls, fmt.Sprintf(format, args...))
}

func (i *ipvs) find(v proxy.VirtualServer) *virtual {
	return i.k.servers[serverKey{v.Addr, v.Protocol}]
}

func (i *ipvs) VirtualServers(f proxy.Family) (out []proxy.VirtualServer, err error) {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	for _, v := range i.k.servers {
		if v.Addr.Addr().Is4() == (f == proxy.IPv4) {
			out = append(out, v.VirtualServer)
		}
	}
	return out, i.k.Looks
}

func (i *ipvs) AddServer(v proxy.VirtualServer) error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	i.log("add %s %s %s affinity=%d", v.Protocol, v.Addr, v.Scheduler, v.AffinitySeconds)
	if err := i.k.change(); err != nil {
		return err
	}
	switch {
	case !slices.Contains(kernelSchedulers, v.Scheduler):
		return syscall.ENOENT
	case v.Addr.Port() == 0 && v.AffinitySeconds == 0:
		return syscall.EINVAL
	case i.find(v) != nil:
		return syscall.EEXIST
	}
	if i.k.Refuse != nil {
		if err := i.k.Refuse("ipvs", v.Addr.String()); err != nil {
			return err
		}
	}
	i.k.servers[serverKey{v.Addr, v.Protocol}] = &virtual{v, map[netip.AddrPort]proxy.RealServer{}}
	return nil
}

func (i *ipvs) SetServer(v proxy.VirtualServer) error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	i.log("set %s %s %s affinity=%d", v.Protocol, v.Addr, v.Scheduler, v.AffinitySeconds)
	if err := i.k.change(); err != nil {
		return err
	}
	have := i.find(v)
	if have == nil {
		return syscall.ESRCH
	}
	if !slices.Contains(kernelSchedulers, v.Scheduler) {
		return syscall.ENOENT
	}
	have.VirtualServer = v
	return nil
}

func (i *ipvs) DeleteServer(v proxy.VirtualServer) error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	i.log("delete %s %s", v.Protocol, v.Addr)
	if err := i.k.change(); err != nil {
		return err
	}
	if i.find(v) == nil {
		return syscall.ESRCH
	}
	delete(i.k.servers, serverKey{v.Addr, v.Protocol})
	return nil
}

// RealServers returns none for a virtual server that is not there, as Linux does.
func (i *ipvs) RealServers(v proxy.VirtualServer) ([]proxy.RealServer, error) {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	have := i.find(v)
	if have == nil {
		return nil, nil
	}
	return slices.Collect(maps.Values(have.reals)), nil
}

// real checks what commands for an endpoint have in common.
func (i *ipvs) real(v proxy.VirtualServer, r proxy.RealServer) (have *virtual, there bool, err error) {
	have = i.find(v)
	if have == nil {
		return nil, false, syscall.ESRCH
	}
	if r.Addr.Port() == 0 || r.Addr.Addr().Is4() != v.Addr.Addr().Is4() {
		return nil, false, syscall.EINVAL
	}
	_, there = have.reals[r.Addr]
	return have, there, nil
}

func (i *ipvs) AddReal(v proxy.VirtualServer, r proxy.RealServer) error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	i.log("add %s %s -> %s weight=%d", v.Protocol, v.Addr, r.Addr, r.Weight)
	if err := i.k.change(); err != nil {
		return err
	}
	have, there, err := i.real(v, r)
	if err != nil {
		return err
	}
	if there {
		return syscall.EEXIST
	}
	if i.k.Refuse != nil {
		if err := i.k.Refuse("ipvs", fmt.Sprintf("%s -> %s", v.Addr, r.Addr)); err != nil {
			return err
		}
	}
	have.reals[r.Addr] = proxy.RealServer{Addr: r.Addr, Weight: r.Weight}
	return nil
}

func (i *ipvs) SetReal(v proxy.VirtualServer, r proxy.RealServer) error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	i.log("set %s %s -> %s weight=%d", v.Protocol, v.Addr, r.Addr, r.Weight)
	if err := i.k.change(); err != nil {
		return err
	}
	have, there, err := i.real(v, r)
	if err != nil {
		return err
	}
	if !there {
		return syscall.ENOENT
	}
	was := have.reals[r.Addr]
	was.Weight = r.Weight
	have.reals[r.Addr] = was
	return nil
}

func (i *ipvs) DeleteReal(v proxy.VirtualServer, r proxy.RealServer) error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	i.log("delete %s %s -> %s", v.Protocol, v.Addr, r.Addr)
	if err := i.k.change(); err != nil {
		return err
	}
	have, there, err := i.real(v, r)
	if err != nil {
		return err
	}
	if !there {
		return syscall.ENOENT
	}
	delete(have.reals, r.Addr)
	return nil
}

func (i *ipvs) SetTimeouts(tcp, tcpFin, udp time.Duration) error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	i.log("timeouts %s %s %s", tcp, tcpFin, udp)
	return i.k.change()
}

func (i *ipvs) DeviceAddrs(f proxy.Family) (out []netip.Addr, there bool, err error) {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	for a := range i.k.device {
		if a.Is4() == (f == proxy.IPv4) {
			out = append(out, a)
		}
	}
	return out, i.k.device != nil, nil
}

func (i *ipvs) AddDevice() error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	if err := i.k.change(); err != nil {
		return err
	}
	if i.k.device == nil {
		i.k.device = map[netip.Addr]bool{}
	}
	return nil
}

func (i *ipvs) DeleteDevice() error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	if err := i.k.change(); err != nil {
		return err
	}
	i.k.device = nil
	return nil
}

func (i *ipvs) AddDeviceAddr(a netip.Addr) error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	if err := i.k.change(); err != nil {
		return err
	}
	switch {
	case i.k.device == nil:
		return syscall.ENODEV
	case i.k.device[a]:
		return syscall.EEXIST
	}
	i.k.device[a] = true
	return nil
}

func (i *ipvs) DeleteDeviceAddr(a netip.Addr) error {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	if err := i.k.change(); err != nil {
		return err
	}
	if i.k.device == nil || !i.k.device[a] {
		return syscall.EADDRNOTAVAIL
	}
	delete(i.k.device, a)
	return nil
}

// SetConnections sets the number of connections that an endpoint of a virtual server has.
func (k *Kernel) SetConnections(server netip.AddrPort, protocol corev1.Protocol, endpoint netip.AddrPort, n uint32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	reals := k.servers[serverKey{server, protocol}].reals
	r := reals[endpoint]
	r.Connections = n
	reals[endpoint] = r
}

// Calls returns the changes of virtual servers, the refused ones too, as text.
func (k *Kernel) Calls() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.calls)
}

func (k *Kernel) dumpIPVS(b *strings.Builder) {
	var lines []string
	for _, v := range k.servers {
		line := fmt.Sprintf("  %s %s %s affinity=%d", v.Protocol, v.Addr, v.Scheduler, v.AffinitySeconds)
		for _, addr := range slices.SortedFunc(maps.Keys(v.reals), netip.AddrPort.Compare) {
			line += fmt.Sprintf("\n    -> %s weight=%d connections=%d", addr, v.reals[addr].Weight, v.reals[addr].Connections)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	if k.device != nil {
		lines = append(lines, "  device "+fmt.Sprint(slices.SortedFunc(maps.Keys(k.device), netip.Addr.Compare)))
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "ipvs\n%s\n", strings.Join(lines, "\n"))
	}
	for _, name := range slices.Sorted(maps.Keys(k.ipsets)) {
		fmt.Fprintf(b, "ipset %s %s %v\n", name, k.ipsets[name].typ, slices.Sorted(maps.Keys(k.ipsets[name].members)))
	}
}

// sendIPVS runs a packet through the rules and virtual servers of mode ipvs. IPVS takes packets that the node
// takes for its own after table filter's INPUT, and those of the node after table nat's OUTPUT.
func (k *Kernel) sendIPVS(f proxy.Family, s split, done func(split)) {
	post := func(s split) { runStages(k.hook(proxy.IPVS, f, "postrouting"), s, done) }
	balance := func(s split, otherwise func(split)) {
		if s.verdict != "" {
			done(s)
			return
		}
		if !k.balance(s, post, done) {
			otherwise(s)
		}
	}
	input := func(s split) {
		runStages(k.hook(proxy.IPVS, f, "input"), s, func(s split) { balance(s, done) })
	}
	if !s.FromNode {
		runStages(k.hook(proxy.IPVS, f, "prerouting"), s, func(s split) {
			if s.local(s.Dst) {
				input(s)
			} else {
				runStages(k.hook(proxy.IPVS, f, "forward"), s, post)
			}
		})
		return
	}
	runStages(k.hook(proxy.IPVS, f, "output"), s, func(s split) {
		balance(s, func(s split) {
			if s.local(s.Dst) {
				input(s)
				return
			}
			post(s)
		})
	})
}

// balance sends a packet to the endpoints of its virtual server and reports whether there is one. Without
// endpoints the packet is rejected.
func (k *Kernel) balance(s split, forward, done func(split)) bool {
	v := k.servers[serverKey{netip.AddrPortFrom(s.Dst, s.Port), corev1.Protocol(strings.ToUpper(s.Protocol))}]
	if v == nil {
		return false
	}
	var open []netip.AddrPort
	for addr, r := range v.reals {
		if r.Weight > 0 {
			open = append(open, addr)
		}
	}
	if len(open) == 0 {
		s.verdict = "reject"
		done(s)
		return true
	}
	for _, addr := range open {
		each := s
		each.p /= float64(len(open))
		each.Dst, each.Port = addr.Addr(), addr.Port()
		forward(each)
	}
	return true
}
