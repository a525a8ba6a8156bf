package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Network is where a Userspace listens and dials. The zero [HostNetwork] is that of the system.
type Network interface {
	// Listen and ListenPacket listen for traffic of a Service at front, an address of it. They may choose
	// another address, such as a port of localhost: Userspace.Addr maps front to it.
	Listen(front netip.AddrPort) (net.Listener, error)
	ListenPacket(front netip.AddrPort) (net.PacketConn, error)
	// Dial connects to an endpoint; network is tcp or udp.
	Dial(ctx context.Context, network string, endpoint netip.AddrPort) (net.Conn, error)
}

// HostNetwork listens on free ports of localhost, which needs no rights.
type HostNetwork struct{}

// Listen implements Network.
func (HostNetwork) Listen(front netip.AddrPort) (net.Listener, error) {
	return net.Listen("tcp", localhost(front))
}

// ListenPacket implements Network.
func (HostNetwork) ListenPacket(front netip.AddrPort) (net.PacketConn, error) {
	return net.ListenPacket("udp", localhost(front))
}

// Dial implements Network.
func (HostNetwork) Dial(ctx context.Context, network string, endpoint netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, endpoint.String())
}

func localhost(front netip.AddrPort) string {
	if front.Addr().Is6() {
		return "[::1]:0"
	}
	return "127.0.0.1:0"
}

// UserspaceOptions are the options of NewUserspace.
type UserspaceOptions struct {
	// Network is where to listen and dial; nil means HostNetwork.
	Network Network
	// UDPIdle is how long a UDP flow without packets is kept; 0 means a minute.
	UDPIdle time.Duration
	// DialTimeout is how long connecting to an endpoint may take; 0 means 5 s.
	DialTimeout time.Duration
}

// Userspace is a Backend that forwards TCP and UDP in the process, for tests: it needs neither root nor
// Linux, and runs on the virtual time of testing/synctest. It listens for each address of a Service that has
// endpoints; without endpoints connections are refused. Endpoints are used in turn. Endpoints see the address
// of the proxy instead of the client's, and all clients count as external to the cluster at external
// addresses. SCTP is refused by Write. Connections outlive changes; a UDP flow ends with its endpoint.
//
// Addr and Close may be called at any time, the methods of Backend not concurrently.
type Userspace struct {
	opts UserspaceOptions
	cfg  Config

	mu      sync.Mutex
	relays  map[relayKey]*relay
	conns   map[io.Closer]bool // open connections
	running sync.WaitGroup
}

var _ Backend = (*Userspace)(nil)

type relayKey struct {
	front    netip.AddrPort
	protocol corev1.Protocol
}

// relay forwards what arrives at one front.
type relay struct {
	u    *Userspace
	key  relayKey
	stop io.Closer // the listener
	addr net.Addr

	mu     sync.Mutex
	closed bool
	to     target
	next   int
	sticky map[netip.Addr]stuck
	prune  int // the number of entries in sticky at which expired ones are deleted
	flows  map[string]*flow
}

// target is where a front leads.
type target struct {
	endpoints []netip.AddrPort
	serving   []netip.AddrPort
	ranges    []netip.Prefix // of the clients; empty means all
	affinity  time.Duration
}

// stuck is the endpoint of a client with session affinity.
type stuck struct {
	endpoint netip.AddrPort
	until    time.Time
}

// flow is a client's UDP flow.
type flow struct {
	conn     net.Conn
	endpoint netip.AddrPort
	idle     *time.Timer
}

// NewUserspace returns a backend that has no Services yet. Close ends it.
func NewUserspace(opts UserspaceOptions) *Userspace {
	if opts.Network == nil {
		opts.Network = HostNetwork{}
	}
	if opts.UDPIdle <= 0 {
		opts.UDPIdle = time.Minute
	}
	if opts.DialTimeout <= 0 {
		opts.DialTimeout = 5 * time.Second
	}
	return &Userspace{opts: opts, relays: map[relayKey]*relay{}, conns: map[io.Closer]bool{}}
}

// Probe implements Backend.
func (u *Userspace) Probe(context.Context) error { return nil }

// Configure implements Backend. Of cfg it uses NodePortAddrs only.
func (u *Userspace) Configure(cfg Config) bool { return u.cfg.set(cfg) }

// Atomic implements Backend.
func (u *Userspace) Atomic() bool { return false }

// Check implements Backend.
func (u *Userspace) Check(context.Context) (bool, error) { return true, nil }

// Clean implements Backend: it stops listening. Connections stay.
func (u *Userspace) Clean(context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, r := range u.relays {
		r.close()
		delete(u.relays, key)
	}
	return nil
}

// Close stops listening, ends all connections and waits until nothing runs any more.
func (u *Userspace) Close() error {
	err := u.Clean(context.Background())
	u.mu.Lock()
	for c := range u.conns {
		_ = c.Close()
	}
	u.conns = nil
	u.mu.Unlock()
	u.running.Wait()
	return err
}

// Addr returns where a front of a Service is listened for; false if there is no Service at it, or one without
// endpoints.
func (u *Userspace) Addr(protocol corev1.Protocol, front netip.AddrPort) (net.Addr, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.relays[relayKey{front, protocol}]
	if r == nil {
		return nil, false
	}
	return r.addr, true
}

// Write implements Backend.
func (u *Userspace) Write(_ context.Context, d *Delta) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	wanted := map[relayKey]target{}
	for _, c := range d.Ports {
		if c.Now != nil {
			u.targets(c.Now, wanted)
		}
	}
	old := func(key relayKey) {
		if _, stays := wanted[key]; !stays && u.relays[key] != nil {
			u.relays[key].close()
			delete(u.relays, key)
		}
	}
	if d.All {
		for key := range u.relays {
			old(key)
		}
	}
	for _, c := range d.Ports {
		was := map[relayKey]target{}
		if c.Was != nil {
			u.targets(c.Was, was)
		}
		for key := range was {
			old(key)
		}
	}
	var errs []error
	for key, to := range wanted {
		if r := u.relays[key]; r != nil {
			r.set(to)
		} else if err := u.open(key, to); err != nil {
			errs = append(errs, fmt.Errorf("proxy: listen for %s %s: %w", key.protocol, key.front, err))
		}
	}
	return errors.Join(errs...)
}

// targets adds where the fronts of a port lead, as far as they have endpoints.
func (u *Userspace) targets(p *ServicePort, out map[relayKey]target) {
	put := func(a netip.Addr, port uint16, endpoints []netip.AddrPort, ranges []netip.Prefix) {
		if len(endpoints) > 0 {
			out[relayKey{netip.AddrPortFrom(a, port), p.Name.Protocol}] = target{endpoints, p.Serving, ranges, time.Duration(p.AffinitySeconds) * time.Second}
		}
	}
	if p.ClusterIP.IsValid() {
		put(p.ClusterIP, p.Port, p.internal(), nil)
	}
	for _, a := range p.ExternalIPs {
		put(a, p.Port, p.external(), nil)
	}
	for _, a := range p.LoadBalancerIPs {
		put(a, p.Port, p.external(), p.SourceRanges)
	}
	if p.NodePort != 0 {
		for _, a := range u.cfg.NodePortAddrs {
			put(a, p.NodePort, p.external(), nil)
		}
	}
}

func (u *Userspace) open(key relayKey, to target) error {
	r := &relay{u: u, key: key, to: to, sticky: map[netip.Addr]stuck{}, flows: map[string]*flow{}}
	switch key.protocol {
	case corev1.ProtocolTCP:
		l, err := u.opts.Network.Listen(key.front)
		if err != nil {
			return err
		}
		r.stop, r.addr = l, l.Addr()
		u.running.Go(func() { r.accept(l) })
	case corev1.ProtocolUDP:
		c, err := u.opts.Network.ListenPacket(key.front)
		if err != nil {
			return err
		}
		r.stop, r.addr = c, c.LocalAddr()
		u.running.Go(func() { r.receive(c) })
	default:
		return errors.New("only TCP and UDP are forwarded in user space")
	}
	u.relays[key] = r
	return nil
}

// track adds a connection to those that Close ends; false if that has happened.
func (u *Userspace) track(c io.Closer) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conns == nil {
		return false
	}
	u.conns[c] = true
	return true
}

func (u *Userspace) closeConn(c io.Closer) {
	u.mu.Lock()
	delete(u.conns, c)
	u.mu.Unlock()
	_ = c.Close()
}

func (u *Userspace) dial(network string, endpoint netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), u.opts.DialTimeout)
	defer cancel()
	c, err := u.opts.Network.Dial(ctx, network, endpoint)
	if err != nil {
		return nil, err
	}
	if !u.track(c) {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// set changes where the front leads. Flows of UDP to endpoints that no longer serve end.
func (r *relay) set(to target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
	for client, f := range r.flows {
		if !slices.Contains(to.serving, f.endpoint) {
			r.end(client, f)
		}
	}
	for client, s := range r.sticky {
		if !slices.Contains(to.endpoints, s.endpoint) || !time.Now().Before(s.until) {
			delete(r.sticky, client)
		}
	}
}

// end ends a flow; r.mu is held.
func (r *relay) end(client string, f *flow) {
	if r.flows[client] == f {
		delete(r.flows, client)
	}
	f.idle.Stop()
	_ = f.conn.Close() // what copies its replies forgets it
}

func (r *relay) close() {
	_ = r.stop.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for client, f := range r.flows {
		r.end(client, f)
	}
}

// candidates returns the endpoints for a new connection of a client in the order in which to try them.
func (r *relay) candidates(client netip.Addr) []netip.AddrPort {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.to.ranges) > 0 && !slices.ContainsFunc(r.to.ranges, func(p netip.Prefix) bool { return p.Contains(client) }) {
		return nil
	}
	if s, there := r.sticky[client]; there && time.Now().Before(s.until) {
		return []netip.AddrPort{s.endpoint}
	}
	n := r.next % len(r.to.endpoints)
	r.next = n + 1
	return slices.Concat(r.to.endpoints[n:], r.to.endpoints[:n])
}

// stick notes where a client was connected to, unless the endpoint has gone while the connection was made.
func (r *relay) stick(client netip.Addr, endpoint netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to.affinity > 0 && slices.Contains(r.to.endpoints, endpoint) {
		if len(r.sticky) >= r.prune {
			maps.DeleteFunc(r.sticky, func(_ netip.Addr, s stuck) bool { return !time.Now().Before(s.until) })
			r.prune = 2*len(r.sticky) + 1000
		}
		r.sticky[client] = stuck{endpoint, time.Now().Add(r.to.affinity)}
	}
}

// connect connects a client to the first endpoint that can be reached.
func (r *relay) connect(network string, client netip.Addr) (net.Conn, netip.AddrPort, error) {
	err := errors.New("the client is outside of the source ranges")
	for _, ep := range r.candidates(client) {
		var c net.Conn
		if c, err = r.u.dial(network, ep); err == nil {
			r.stick(client, ep)
			return c, ep, nil
		}
	}
	return nil, netip.AddrPort{}, err
}

func (r *relay) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !r.u.track(c) {
			_ = c.Close()
			return
		}
		r.u.running.Go(func() { r.forward(c) })
	}
}

// forward copies in both directions until both ends have finished.
func (r *relay) forward(client net.Conn) {
	defer r.u.closeConn(client)
	server, _, err := r.connect("tcp", addrOf(client.RemoteAddr()))
	if err != nil {
		return // the client sees the end of the connection
	}
	defer r.u.closeConn(server)
	var wg sync.WaitGroup
	wg.Go(func() { pipe(server, client) })
	pipe(client, server)
	wg.Wait()
}

// pipe copies from one end and passes its end on. A connection that cannot be closed for writing only is
// closed.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

func addrOf(a net.Addr) netip.Addr {
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

// maxDatagram is the largest UDP payload.
const maxDatagram = 65535

func (r *relay) receive(c net.PacketConn) {
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		if f := r.flow(c, from); f != nil {
			_, _ = f.conn.Write(buf[:n])
		}
	}
}

// flow returns the flow of a client, which begins with its first packet; nil if there is no endpoint for it,
// or if that has gone while the flow began: it would last for as long as the client sends.
func (r *relay) flow(c net.PacketConn, from net.Addr) *flow {
	client := from.String()
	r.mu.Lock()
	f := r.flows[client]
	if f != nil {
		f.idle.Reset(r.u.opts.UDPIdle)
	}
	r.mu.Unlock()
	if f != nil {
		return f
	}
	conn, ep, err := r.connect("udp", addrOf(from))
	if err != nil {
		return nil
	}
	f = &flow{conn: conn, endpoint: ep}
	r.mu.Lock()
	if r.closed || !slices.Contains(r.to.serving, ep) {
		r.mu.Unlock()
		r.u.closeConn(conn)
		return nil
	}
	f.idle = time.AfterFunc(r.u.opts.UDPIdle, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.end(client, f)
	})
	r.flows[client] = f
	r.mu.Unlock()
	r.u.running.Go(func() {
		defer r.u.closeConn(conn)
		buf := make([]byte, maxDatagram)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				break
			}
			f.idle.Reset(r.u.opts.UDPIdle)
			_, _ = c.WriteTo(buf[:n], from)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.end(client, f)
	})
	return f
}
