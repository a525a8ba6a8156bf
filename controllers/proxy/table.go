package proxy

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Table is the forwarding of one family on one node, kept. It is given one Service at a time and yields what
// changed, so that the cost of a change does not grow with the number of Services.
//
// It settles conflicts for all backends: when several ports have the same address, protocol and port, one of
// them gets it. A cluster IP is stronger than other addresses; then the Service that was created first wins,
// and then the name decides. The result does not depend on the order of calls. When the owner ceases to use
// the address, the next one gets it.
//
// A Table is not safe for concurrent use. The *ServicePort it returns are immutable.
type Table struct {
	family   Family
	node     Node
	services map[types.NamespacedName][]*kept
	owners   map[front]*kept
	// contested are all that want a front which several want, the strongest first.
	contested map[front][]*kept
	// before are the ports that changed since the last Take, as they were at that time.
	before     map[PortName]*ServicePort
	clusterIPs counted[netip.Addr]
	addrs      counted[netip.Addr]
	loopbacks  counted[Endpoint]
	ports      int
	noLocal    [2]int // ports of internal and external policy Local that have endpoints on other nodes only
	touched    []*kept
}

// kept is a port in a table: what its Service says, and what is left of that after conflicts.
type kept struct{ planned, now *ServicePort }

// front is an address at which traffic for a Service arrives. The address of a node port is zero.
type front struct {
	addr     netip.Addr
	port     uint16
	protocol byte
}

// NewTable returns the empty table of a family on a node.
func NewTable(f Family, node Node) *Table {
	return &Table{
		family: f, node: node, services: map[types.NamespacedName][]*kept{},
		owners: map[front]*kept{}, contested: map[front][]*kept{}, before: map[PortName]*ServicePort{},
		clusterIPs: newCounted[netip.Addr](), addrs: newCounted[netip.Addr](), loopbacks: newCounted[Endpoint](),
	}
}

// Family returns the family of the table.
func (t *Table) Family() Family { return t.family }

// Len returns the number of ports.
func (t *Table) Len() int { return t.ports }

// SetNode changes the node and reports whether it was another one. If so, endpoints may be chosen otherwise:
// call Set for each Service.
func (t *Table) SetNode(node Node) bool {
	changed := t.node != node
	t.node = node
	return changed
}

// Set replaces a Service and its endpoints, which are slices of any family; nil means that the Service was
// deleted. It keeps none of its arguments.
func (t *Table) Set(key types.NamespacedName, svc *corev1.Service, eps []*discoveryv1.EndpointSlice) {
	var planned []*ServicePort
	if svc != nil {
		planned = Plan(t.family, svc, eps, t.node)
	}
	was := t.services[key]
	next := make([]*kept, 0, len(planned))
	for _, p := range planned {
		if slices.ContainsFunc(next, func(k *kept) bool { return k.planned.Name == p.Name }) {
			continue // two ports of one name and protocol, which the API refuses
		}
		i := slices.IndexFunc(was, func(k *kept) bool { return k.planned.Name == p.Name })
		if i < 0 {
			// The strings of svc may be parts of a larger buffer.
			p.Name.Service = types.NamespacedName{Namespace: strings.Clone(key.Namespace), Name: strings.Clone(key.Name)}
			p.Name.Port = strings.Clone(p.Name.Port)
			if len(next) > 0 {
				p.Name.Service = next[0].planned.Name.Service
			} else if len(was) > 0 {
				p.Name.Service = was[0].planned.Name.Service
			}
			next = append(next, t.replace(&kept{}, p))
			continue
		}
		p.Name = was[i].planned.Name
		next = append(next, t.replace(was[i], p))
	}
	for _, k := range was {
		if !slices.Contains(next, k) {
			t.replace(k, nil)
		}
	}
	t.settle()
	if len(next) == 0 {
		delete(t.services, key)
	} else if len(was) > 0 {
		t.services[key] = next
	} else {
		t.services[next[0].planned.Name.Service] = next
	}
}

// replace changes what the Service of k says; nil means that k was deleted.
func (t *Table) replace(k *kept, p *ServicePort) *kept {
	was := k.planned
	if was != nil && p != nil && was.equal(p) {
		return k
	}
	if was == nil || p == nil || !was.sameFronts(p) {
		if was != nil {
			for fr := range was.fronts() {
				t.release(fr, k)
			}
		}
		k.planned = p
		if p != nil {
			for fr := range p.fronts() {
				t.claim(fr, k)
			}
		}
	}
	k.planned = p
	t.touch(k)
	return k
}

func (t *Table) touch(k *kept) {
	if !slices.Contains(t.touched, k) {
		t.touched = append(t.touched, k)
	}
}

// claim adds k to those that want a front.
func (t *Table) claim(fr front, k *kept) {
	owner := t.owners[fr]
	if owner == nil {
		t.owners[fr] = k
		return
	}
	all := t.contested[fr]
	if all == nil {
		all = []*kept{owner}
	}
	i, _ := slices.BinarySearchFunc(all, k, func(a, b *kept) int { return stronger(fr, a, b) })
	all = slices.Insert(all, i, k)
	t.contested[fr] = all
	t.own(fr, all[0])
}

// release removes k from those that want a front.
func (t *Table) release(fr front, k *kept) {
	all := t.contested[fr]
	if all == nil {
		delete(t.owners, fr)
		return
	}
	all = slices.DeleteFunc(all, func(o *kept) bool { return o == k })
	t.own(fr, all[0])
	if len(all) == 1 {
		delete(t.contested, fr)
		return
	}
	t.contested[fr] = all
}

func (t *Table) own(fr front, k *kept) {
	if was := t.owners[fr]; was != k {
		t.owners[fr] = k
		t.touch(was)
		t.touch(k)
	}
}

// stronger orders the ports that want a front.
func stronger(fr front, a, b *kept) int {
	rank := func(k *kept) int {
		if k.planned.ClusterIP == fr.addr {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.planned.created, b.planned.created), a.planned.Name.Compare(b.planned.Name))
}

// settle computes what is left after conflicts for the ports that a change has touched.
func (t *Table) settle() {
	for _, k := range t.touched {
		t.put(k, t.granted(k))
	}
	clear(t.touched)
	t.touched = t.touched[:0]
}

// granted returns the port without the addresses that belong to others.
func (t *Table) granted(k *kept) *ServicePort {
	p := k.planned
	if p == nil {
		return nil
	}
	lost := false
	for fr := range p.fronts() {
		lost = lost || t.owners[fr] != k
	}
	if !lost {
		return p
	}
	mine := func(a netip.Addr, port uint16) bool { return t.owners[p.front(a, port)] == k }
	other := func(a netip.Addr) bool { return !mine(a, p.Port) }
	left := *p
	if !mine(p.ClusterIP, p.Port) {
		left.ClusterIP = netip.Addr{}
	}
	if p.NodePort != 0 && !mine(netip.Addr{}, p.NodePort) {
		left.NodePort = 0
	}
	left.ExternalIPs = slices.DeleteFunc(slices.Clone(p.ExternalIPs), other)
	left.LoadBalancerIPs = slices.DeleteFunc(slices.Clone(p.LoadBalancerIPs), other)
	return &left
}

// put replaces what holds after conflicts.
func (t *Table) put(k *kept, p *ServicePort) {
	was := k.now
	if was == p || was != nil && p != nil && was.equal(p) {
		return
	}
	name := nameOf(was, p)
	if _, there := t.before[name]; !there {
		t.before[name] = was
	}
	k.now = p
	// What stays is added before it is dropped, and so counts as unchanged.
	if p != nil {
		t.count(p, 1)
	}
	if was != nil {
		t.count(was, -1)
	}
}

func nameOf(was, now *ServicePort) PortName {
	if now != nil {
		return now.Name
	}
	return was.Name
}

func (t *Table) count(p *ServicePort, n int) {
	t.ports += n
	if p.ClusterIP.IsValid() {
		t.clusterIPs.add(p.ClusterIP, n)
	}
	for a := range p.addresses() {
		t.addrs.add(a, n)
	}
	for _, ep := range p.Loopbacks {
		t.loopbacks.add(Endpoint{ep, p.Name.Protocol}, n)
	}
	if p.AnyEndpoint && len(p.Local) == 0 {
		if p.InternalLocal {
			t.noLocal[0] += n
		}
		if p.ExternalLocal {
			t.noLocal[1] += n
		}
	}
}

// Service returns the ports of a Service.
func (t *Table) Service(key types.NamespacedName) []*ServicePort {
	var out []*ServicePort
	for _, k := range t.services[key] {
		out = append(out, k.now)
	}
	return out
}

// lookup returns a port, or nil.
func (t *Table) lookup(name PortName) *ServicePort {
	for _, k := range t.services[name.Service] {
		if k.now.Name == name {
			return k.now
		}
	}
	return nil
}

// Take returns what changed since the last Take, in the order of names.
func (t *Table) Take() *Delta {
	d := &Delta{ClusterIPs: t.clusterIPs.take(netip.Addr.Compare), Addrs: t.addrs.take(netip.Addr.Compare), Loopbacks: t.loopbacks.take(Endpoint.Compare)}
	for name, was := range t.before {
		now := t.lookup(name)
		if was == now || was != nil && now != nil && was.equal(now) {
			continue
		}
		d.Ports = append(d.Ports, Change{Was: was, Now: now})
	}
	t.before = emptied(t.before)
	slices.SortFunc(d.Ports, func(a, b Change) int { return a.Name().Compare(b.Name()) })
	return d
}

// All returns the whole table as a change from nothing.
func (t *Table) All() *Delta {
	d := &Delta{All: true, ClusterIPs: t.clusterIPs.all(netip.Addr.Compare), Addrs: t.addrs.all(netip.Addr.Compare), Loopbacks: t.loopbacks.all(Endpoint.Compare)}
	d.Ports = make([]Change, 0, t.ports)
	for _, list := range t.services {
		for _, k := range list {
			d.Ports = append(d.Ports, Change{Now: k.now})
		}
	}
	slices.SortFunc(d.Ports, func(a, b Change) int { return a.Now.Name.Compare(b.Now.Name) })
	return d
}

// Delta is a change of a table.
type Delta struct {
	// All reports that this is the whole table and that what the kernel holds is not known.
	All bool
	// Ports are the changed ports in the order of their names. No two ports of a table have a front in
	// common; one that loses an address to another comes with both in the same Delta.
	Ports []Change
	// ClusterIPs are the cluster IPs of ports, Addrs all their addresses, and Loopbacks the endpoints that
	// can reach themselves through a Service of this node. Several ports may share each of these.
	ClusterIPs, Addrs Diff[netip.Addr]
	Loopbacks         Diff[Endpoint]
}

// Empty reports whether nothing changed.
func (d *Delta) Empty() bool {
	return !d.All && len(d.Ports) == 0 && d.ClusterIPs.empty() && d.Addrs.empty() && d.Loopbacks.empty()
}

// Change is a port that was added (Was is nil), changed or removed (Now is nil).
type Change struct{ Was, Now *ServicePort }

// Name returns the name of the port.
func (c Change) Name() PortName { return nameOf(c.Was, c.Now) }

// Diff is what was added to a set and removed from it, each in order.
type Diff[K any] struct{ Added, Removed []K }

func (d Diff[K]) empty() bool { return len(d.Added)+len(d.Removed) == 0 }

// Endpoint is an endpoint and its protocol.
type Endpoint struct {
	Addr     netip.AddrPort
	Protocol corev1.Protocol
}

// Compare orders endpoints by address and protocol.
func (e Endpoint) Compare(o Endpoint) int {
	return cmp.Or(e.Addr.Compare(o.Addr), cmp.Compare(e.Protocol, o.Protocol))
}

// counted is a set whose members are counted, and what changed in it.
type counted[K comparable] struct {
	n   map[K]int32
	was map[K]bool // of the members whose presence may have changed
}

func newCounted[K comparable]() counted[K] {
	return counted[K]{n: map[K]int32{}, was: map[K]bool{}}
}

func (c *counted[K]) add(k K, n int) {
	had := c.n[k]
	now := had + int32(n)
	if now == 0 {
		delete(c.n, k)
	} else {
		c.n[k] = now
	}
	if (had == 0) != (now == 0) {
		if _, there := c.was[k]; !there {
			c.was[k] = had != 0
		}
	}
}

// emptied returns an empty map. A map that was large, as after the start, is not kept: it would stay large.
func emptied[K comparable, V any](m map[K]V) map[K]V {
	if len(m) > 100 {
		return map[K]V{}
	}
	clear(m)
	return m
}

func (c *counted[K]) take(compare func(a, b K) int) (d Diff[K]) {
	for k, was := range c.was {
		switch _, is := c.n[k]; {
		case is && !was:
			d.Added = append(d.Added, k)
		case was && !is:
			d.Removed = append(d.Removed, k)
		}
	}
	c.was = emptied(c.was)
	slices.SortFunc(d.Added, compare)
	slices.SortFunc(d.Removed, compare)
	return d
}

func (c *counted[K]) all(compare func(a, b K) int) (d Diff[K]) {
	d.Added = make([]K, 0, len(c.n))
	for k := range c.n {
		d.Added = append(d.Added, k)
	}
	slices.SortFunc(d.Added, compare)
	return d
}

func (p *ServicePort) front(a netip.Addr, port uint16) front {
	return front{addr: a, port: port, protocol: p.Name.protocol()[0]}
}

// fronts yields the addresses at which traffic for the port arrives.
func (p *ServicePort) fronts() iter.Seq[front] {
	return func(yield func(front) bool) {
		for a := range p.addresses() {
			if !yield(p.front(a, p.Port)) {
				return
			}
		}
		if p.NodePort != 0 {
			yield(p.front(netip.Addr{}, p.NodePort))
		}
	}
}

// addresses yields the addresses of the port, each once, but not those of nodes.
func (p *ServicePort) addresses() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		if p.ClusterIP.IsValid() && !yield(p.ClusterIP) {
			return
		}
		for _, list := range [2][]netip.Addr{p.LoadBalancerIPs, p.ExternalIPs} {
			for _, a := range list {
				if !yield(a) {
					return
				}
			}
		}
	}
}

func (p *ServicePort) sameFronts(o *ServicePort) bool {
	return p.created == o.created && p.ClusterIP == o.ClusterIP && p.Port == o.Port && p.NodePort == o.NodePort &&
		slices.Equal(p.ExternalIPs, o.ExternalIPs) && slices.Equal(p.LoadBalancerIPs, o.LoadBalancerIPs)
}

func (p *ServicePort) equal(o *ServicePort) bool {
	return p.Name == o.Name && p.sameFronts(o) && slices.Equal(p.SourceRanges, o.SourceRanges) && p.AffinitySeconds == o.AffinitySeconds &&
		p.InternalLocal == o.InternalLocal && p.ExternalLocal == o.ExternalLocal && p.HealthCheckNodePort == o.HealthCheckNodePort &&
		p.AnyEndpoint == o.AnyEndpoint && slices.Equal(p.Cluster, o.Cluster) && slices.Equal(p.Local, o.Local) &&
		slices.Equal(p.Serving, o.Serving) && slices.Equal(p.Loopbacks, o.Loopbacks)
}
