package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// ipvsBackend writes virtual servers, the addresses of a device, sets of ipset, and constant rules of
// iptables that refer to the sets.
type ipvsBackend struct {
	iptTool
	log  *slog.Logger
	opts IPVSOptions
	cfg  Config
	// running is the mode whose chains Clean leaves; empty means none.
	running Mode
	rules   map[string]int
	written map[string]int // by the last write
	ipvs    IPVSKernel     // nil before the first use
	// health are the health check node ports, which the ports of a Service have in common.
	health counted[uint16]
	// draining are endpoints that get no new connections and are deleted when their connections have ended.
	draining map[ipvsDrain]VirtualServer
	servers  int // that were written
}

// ipvsDrain identifies an endpoint of a virtual server.
type ipvsDrain struct {
	server ipvsKey
	addr   netip.AddrPort
}

func newIPVSBackend(f Family, opts BackendOptions) *ipvsBackend {
	return &ipvsBackend{iptTool: iptTool{family: f, kernel: opts.Kernel}, log: opts.Logger, opts: opts.IPVS,
		running: opts.Running, health: newCounted[uint16](), draining: map[ipvsDrain]VirtualServer{}}
}

// probed is a virtual server to find out whether the kernel has the scheduler. Its address is for
// documentation.
var probed = map[Family]netip.AddrPort{
	IPv4: netip.MustParseAddrPort("198.51.100.0:20000"), IPv6: netip.MustParseAddrPort("[2001:db8::]:20000"),
}

// Probe implements Backend: the kernel must have IPVS with the scheduler, and ipset must be at least 6.0, as
// for kube-proxy.
func (b *ipvsBackend) Probe(ctx context.Context) error {
	if err := b.probe(ctx, IPVS); err != nil {
		return err
	}
	out, err := b.kernel.Run(ctx, nil, "ipset", "--version")
	if err != nil {
		return fmt.Errorf("proxy: mode %s needs the program ipset: %w", IPVS, err)
	}
	if v := versionIn(strings.TrimPrefix(string(out), "ipset v")); !v.atLeast(6, 0) {
		return fmt.Errorf("proxy: mode %s needs ipset 6.0 or later, this is %s", IPVS, strings.TrimSpace(string(out)))
	}
	if err := b.open(); err != nil {
		return err
	}
	v := VirtualServer{Addr: probed[b.family], Protocol: corev1.ProtocolTCP, Scheduler: b.opts.scheduler()}
	if err := b.ipvs.AddServer(v); err != nil && !errors.Is(err, syscall.EEXIST) {
		return fmt.Errorf("proxy: mode %s with scheduler %s for %s: %w", IPVS, b.opts.scheduler(), b.family, err)
	}
	if err := b.ipvs.DeleteServer(v); err != nil {
		return fmt.Errorf("proxy: mode %s: %w", IPVS, err)
	}
	return nil
}

func (b *ipvsBackend) open() (err error) {
	if b.ipvs == nil {
		b.ipvs, err = b.kernel.IPVS()
	}
	return err
}

// Configure implements Backend.
func (b *ipvsBackend) Configure(cfg Config) bool { return b.cfg.set(cfg) }

// Atomic implements Backend.
func (b *ipvsBackend) Atomic() bool { return false }

// Rules implements RuleCounter.
func (b *ipvsBackend) Rules() (there, written map[string]int) { return b.rules, b.written }

// Write implements Backend.
func (b *ipvsBackend) Write(ctx context.Context, d *Delta) error {
	if err := b.open(); err != nil {
		return err
	}
	if d.All {
		return b.writeAll(ctx, d)
	}
	return b.writeChanges(ctx, d)
}

// writeAll brings everything to the table without interrupting what stays.
func (b *ipvsBackend) writeAll(ctx context.Context, d *Delta) error {
	members := map[ipvsMember]bool{}
	servers := map[ipvsKey]ipvsServer{}
	b.health = newCounted[uint16]()
	for _, c := range d.Ports {
		ipvsMembers(&b.cfg, c.Now, func(m ipvsMember) { members[m] = true })
		ipvsServers(&b.cfg, &b.opts, c.Now, func(s ipvsServer) { servers[s.key()] = s })
		if p := c.Now.HealthCheckNodePort; p != 0 {
			b.health.add(p, 1)
		}
	}
	for p := range b.health.n {
		members[healthMember(p)] = true
	}
	for _, a := range d.Addrs.Added {
		members[ipvsMember{ipvsIPs, a.String()}] = true
	}
	for _, e := range d.Loopbacks.Added {
		members[ipvsLoopbackMember(e)] = true
	}
	if o := b.opts; o.TCPTimeout+o.TCPFinTimeout+o.UDPTimeout > 0 {
		if err := b.ipvs.SetTimeouts(o.TCPTimeout, o.TCPFinTimeout, o.UDPTimeout); err != nil {
			return fmt.Errorf("proxy: set timeouts of IPVS: %w", err)
		}
	}
	jumps, err := b.missing(ctx, ipvsJumps)
	if err != nil {
		return err
	}
	sets, err := setsChanges(ctx, b.kernel, b.family, members)
	if err != nil {
		return err
	}
	if err := sets.first.run(ctx, b.kernel); err != nil {
		return err
	}
	text, rules := ipvsRules(b.cfg, jumps)
	if err := b.restore(ctx, text); err != nil {
		return err
	}
	b.rules, b.written = rules, rules
	unwanted, err := b.writeServers(servers)
	if err != nil {
		return err
	}
	if err := sets.admitted.run(ctx, b.kernel); err != nil {
		return err
	}
	if err := b.deleteServers(unwanted); err != nil {
		return err
	}
	if err := b.writeAddrs(d.Addrs.Added); err != nil {
		return err
	}
	b.health.was = map[uint16]bool{}
	return sets.last.run(ctx, b.kernel)
}

func healthMember(port uint16) ipvsMember {
	return ipvsMember{ipvsHealthPorts, strconv.Itoa(int(port))}
}

// writeServers makes the kernel have the wanted virtual servers, and returns those that are to be deleted.
func (b *ipvsBackend) writeServers(wanted map[ipvsKey]ipvsServer) (unwanted []VirtualServer, err error) {
	have, err := b.ipvs.VirtualServers(b.family)
	if err != nil {
		return nil, fmt.Errorf("proxy: read %s virtual servers: %w", b.family, err)
	}
	was := map[ipvsKey]VirtualServer{}
	for _, v := range have {
		was[v.key()] = v
	}
	clear(b.draining)
	for key, s := range wanted {
		v, there := was[key]
		var reals []RealServer
		if there {
			if reals, err = b.ipvs.RealServers(v); err != nil {
				return nil, b.failed(s.VirtualServer, err)
			}
		}
		if err := b.writeServer(v, there, s, reals); err != nil {
			return nil, err
		}
	}
	for key, v := range was {
		if _, there := wanted[key]; !there && !b.opts.excluded(v) {
			unwanted = append(unwanted, v)
		}
	}
	b.servers = 0
	for _, s := range wanted {
		b.count(s.VirtualServer, 1)
	}
	return unwanted, nil
}

func (b *ipvsBackend) deleteServers(list []VirtualServer) error {
	for _, v := range list {
		if err := b.ipvs.DeleteServer(v); err != nil {
			return b.failed(v, err)
		}
	}
	return nil
}

// count counts the virtual servers that Check looks for.
func (b *ipvsBackend) count(v VirtualServer, n int) {
	if !b.opts.excluded(v) {
		b.servers += n
	}
}

// writeServer brings one virtual server, of which was and reals are what is there, to what it should be.
func (b *ipvsBackend) writeServer(was VirtualServer, there bool, s ipvsServer, reals []RealServer) error {
	var err error
	if !there {
		err = b.ipvs.AddServer(s.VirtualServer)
	} else if was != s.VirtualServer {
		err = b.ipvs.SetServer(s.VirtualServer)
	}
	if err != nil {
		return b.failed(s.VirtualServer, err)
	}
	// New endpoints come first, so that there is one at any time.
	for _, r := range reals {
		if r.Weight == 1 || !slices.Contains(s.endpoints, r.Addr) {
			continue
		}
		delete(b.draining, ipvsDrain{s.key(), r.Addr})
		if err := b.ipvs.SetReal(s.VirtualServer, RealServer{Addr: r.Addr, Weight: 1}); err != nil {
			return b.failed(s.VirtualServer, err)
		}
	}
	for _, ep := range s.endpoints {
		if slices.ContainsFunc(reals, func(r RealServer) bool { return r.Addr == ep }) {
			continue
		}
		if err := b.ipvs.AddReal(s.VirtualServer, RealServer{Addr: ep, Weight: 1}); err != nil {
			return b.failed(s.VirtualServer, err)
		}
	}
	for _, r := range reals {
		if slices.Contains(s.endpoints, r.Addr) {
			continue
		}
		if err := b.drain(s, r); err != nil {
			return b.failed(s.VirtualServer, err)
		}
	}
	return nil
}

func (b *ipvsBackend) failed(v VirtualServer, err error) error {
	return fmt.Errorf("proxy: virtual server %s %s: %w", v.Protocol, v.Addr, err)
}

// drain deletes an endpoint. If it has connections of TCP, or of another protocol and still serves, it gets
// no new ones and is deleted when they have ended. Other packets follow the rules at once.
func (b *ipvsBackend) drain(s ipvsServer, r RealServer) error {
	key := ipvsDrain{s.key(), r.Addr}
	if r.Connections == 0 || s.Protocol != corev1.ProtocolTCP && !slices.Contains(s.serving, r.Addr) {
		delete(b.draining, key)
		return b.ipvs.DeleteReal(s.VirtualServer, r)
	}
	b.draining[key] = s.VirtualServer
	if r.Weight == 0 {
		return nil
	}
	return b.ipvs.SetReal(s.VirtualServer, RealServer{Addr: r.Addr})
}

// Maintain implements Maintainer: it deletes endpoints whose connections have ended.
func (b *ipvsBackend) Maintain(context.Context) error {
	servers := map[ipvsKey]VirtualServer{}
	for key, v := range b.draining {
		servers[key.server] = v
	}
	var errs []error
	for key, v := range servers {
		reals, err := b.ipvs.RealServers(v)
		if errors.Is(err, syscall.ESRCH) {
			reals, err = nil, nil
		}
		if err != nil {
			errs = append(errs, b.failed(v, err))
			continue
		}
		left := map[netip.AddrPort]RealServer{}
		for _, r := range reals {
			left[r.Addr] = r
		}
		for d := range b.draining {
			if d.server != key {
				continue
			}
			r, there := left[d.addr]
			if there && r.Connections > 0 {
				continue
			}
			if there {
				if err := b.ipvs.DeleteReal(v, r); err != nil {
					errs = append(errs, b.failed(v, err))
					continue
				}
			}
			delete(b.draining, d)
		}
	}
	return errors.Join(errs...)
}

// writeAddrs makes the device have the addresses.
func (b *ipvsBackend) writeAddrs(wanted []netip.Addr) error {
	if err := b.ipvs.AddDevice(); err != nil {
		return fmt.Errorf("proxy: create device %s: %w", IPVSDevice, err)
	}
	have, _, err := b.ipvs.DeviceAddrs(b.family)
	if err != nil {
		return fmt.Errorf("proxy: addresses of %s: %w", IPVSDevice, err)
	}
	more := slices.DeleteFunc(slices.Clone(wanted), func(a netip.Addr) bool { return slices.Contains(have, a) })
	less := slices.DeleteFunc(have, func(a netip.Addr) bool {
		_, found := slices.BinarySearchFunc(wanted, a, netip.Addr.Compare)
		return found
	})
	return b.changeAddrs(more, less)
}

// changeAddrs adds and deletes addresses of the device. It never gets those that another interface of the
// node has.
func (b *ipvsBackend) changeAddrs(more, less []netip.Addr) error {
	for _, a := range more {
		if b.ofNode(a) {
			continue
		}
		if err := b.ipvs.AddDeviceAddr(a); err != nil {
			return fmt.Errorf("proxy: add %s to %s: %w", a, IPVSDevice, err)
		}
	}
	for _, a := range less {
		if b.ofNode(a) {
			continue
		}
		if err := b.ipvs.DeleteDeviceAddr(a); err != nil {
			return fmt.Errorf("proxy: delete %s from %s: %w", a, IPVSDevice, err)
		}
	}
	return nil
}

func (b *ipvsBackend) ofNode(a netip.Addr) bool {
	return slices.Contains(b.cfg.NodeAddrs, a) || slices.Contains(b.cfg.NodePortAddrs, a)
}

// writeChanges writes a delta. What is added is in place before packets can come for it, and what is removed
// stays until none can; see setChanges.
func (b *ipvsBackend) writeChanges(ctx context.Context, d *Delta) error {
	b.written = map[string]int{}
	was, now := map[ipvsKey]ipvsServer{}, map[ipvsKey]ipvsServer{}
	old, wanted := map[ipvsMember]bool{}, map[ipvsMember]bool{}
	for _, c := range d.Ports {
		ipvsServers(&b.cfg, &b.opts, c.Was, func(s ipvsServer) { was[s.key()] = s })
		ipvsServers(&b.cfg, &b.opts, c.Now, func(s ipvsServer) { now[s.key()] = s })
		ipvsMembers(&b.cfg, c.Was, func(m ipvsMember) { old[m] = true })
		ipvsMembers(&b.cfg, c.Now, func(m ipvsMember) { wanted[m] = true })
		b.countHealth(c)
	}
	more, less := b.memberChanges(d, old, wanted)
	sets := newSetChanges(b.family, nil, more, less)
	if err := sets.first.run(ctx, b.kernel); err != nil {
		return err
	}
	for key, s := range now {
		before, there := was[key]
		if err := b.changeServer(before, there, s); err != nil {
			return err
		}
		if _, there := was[key]; !there {
			b.count(s.VirtualServer, 1)
		}
	}
	if err := sets.admitted.run(ctx, b.kernel); err != nil {
		return err
	}
	if err := b.changeAddrs(d.Addrs.Added, d.Addrs.Removed); err != nil {
		return err
	}
	for key, s := range was {
		if _, there := now[key]; there {
			continue
		}
		if err := b.ipvs.DeleteServer(s.VirtualServer); err != nil {
			return b.failed(s.VirtualServer, err)
		}
		b.count(s.VirtualServer, -1)
	}
	return sets.last.run(ctx, b.kernel)
}

// changeServer writes the change of one virtual server.
func (b *ipvsBackend) changeServer(was ipvsServer, there bool, s ipvsServer) error {
	if there && was.VirtualServer == s.VirtualServer && slices.Equal(was.endpoints, s.endpoints) && slices.Equal(was.serving, s.serving) {
		return nil
	}
	var reals []RealServer
	if there {
		var err error
		if reals, err = b.ipvs.RealServers(s.VirtualServer); err != nil {
			return b.failed(s.VirtualServer, err)
		}
	}
	return b.writeServer(was.VirtualServer, there, s, reals)
}

func (b *ipvsBackend) countHealth(c Change) {
	if c.Now != nil && c.Now.HealthCheckNodePort != 0 {
		b.health.add(c.Now.HealthCheckNodePort, 1)
	}
	if c.Was != nil && c.Was.HealthCheckNodePort != 0 {
		b.health.add(c.Was.HealthCheckNodePort, -1)
	}
}

// memberChanges are the members of sets that a delta adds and deletes.
func (b *ipvsBackend) memberChanges(d *Delta, old, wanted map[ipvsMember]bool) (more, less []ipvsMember) {
	for m := range wanted {
		if !old[m] {
			more = append(more, m)
		}
	}
	for m := range old {
		if !wanted[m] {
			less = append(less, m)
		}
	}
	health := b.health.take(func(a, b uint16) int { return int(a) - int(b) })
	for _, p := range health.Added {
		more = append(more, healthMember(p))
	}
	for _, p := range health.Removed {
		less = append(less, healthMember(p))
	}
	for _, a := range d.Addrs.Added {
		more = append(more, ipvsMember{ipvsIPs, a.String()})
	}
	for _, a := range d.Addrs.Removed {
		less = append(less, ipvsMember{ipvsIPs, a.String()})
	}
	for _, e := range d.Loopbacks.Added {
		more = append(more, ipvsLoopbackMember(e))
	}
	for _, e := range d.Loopbacks.Removed {
		less = append(less, ipvsLoopbackMember(e))
	}
	return more, less
}

// Check implements Backend: the rules must be there, the device, all sets and as many virtual servers as
// were written.
func (b *ipvsBackend) Check(ctx context.Context) (bool, error) {
	if err := b.open(); err != nil {
		return false, err
	}
	for _, look := range [][2]string{{tableNAT, iptMarkMasq}, {tableNAT, iptServices}, {tableFilter, ipvsFilterChain}} {
		out, ok, err := b.list(ctx, look[0], look[1])
		if err != nil || !ok || !strings.Contains(out, "-A ") {
			return false, err
		}
	}
	if lost, err := b.missing(ctx, ipvsJumps); len(lost) > 0 || err != nil {
		return false, err
	}
	if _, there, err := b.ipvs.DeviceAddrs(b.family); !there || err != nil {
		return false, err
	}
	servers, err := b.ipvs.VirtualServers(b.family)
	n := 0
	for _, v := range servers {
		if !b.opts.excluded(v) {
			n++
		}
	}
	return n >= b.servers, err
}

// Clean implements Backend. Virtual servers are those of a proxy if the device exists and has their address
// or the node has it.
func (b *ipvsBackend) Clean(ctx context.Context) error {
	if err := b.cleanServers(); err != nil {
		return err
	}
	if err := b.cleanChains(ctx, b.running); err != nil {
		return err
	}
	if err := destroySets(ctx, b.kernel, b.family); err != nil && !errors.Is(err, exec.ErrNotFound) {
		return err
	}
	return nil
}

func (b *ipvsBackend) cleanServers() error {
	err := b.open()
	if errors.Is(err, ErrNoIPVS) {
		return nil
	}
	if err != nil {
		return err
	}
	addrs, there, err := b.ipvs.DeviceAddrs(b.family)
	if err != nil || !there {
		return err
	}
	local, err := b.kernel.Addrs()
	if err != nil {
		return err
	}
	servers, err := b.ipvs.VirtualServers(b.family)
	if err != nil {
		return err
	}
	for _, v := range servers {
		if a := v.Addr.Addr(); (slices.Contains(addrs, a) || slices.Contains(local, a)) && !b.opts.excluded(v) {
			if err := b.ipvs.DeleteServer(v); err != nil {
				return b.failed(v, err)
			}
		}
	}
	for _, a := range addrs {
		if err := b.ipvs.DeleteDeviceAddr(a); err != nil {
			return fmt.Errorf("proxy: delete %s from %s: %w", a, IPVSDevice, err)
		}
	}
	clear(b.draining)
	b.servers = 0
	// The families have the device in common.
	for _, f := range bothFamilies {
		if rest, _, err := b.ipvs.DeviceAddrs(f); err != nil || len(rest) > 0 {
			return err
		}
	}
	return b.ipvs.DeleteDevice()
}
