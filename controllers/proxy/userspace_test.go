package proxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// memory is a network in the process. Endpoints answer each connection and each packet with their address.
type memory struct {
	mu        sync.Mutex
	listeners map[netip.AddrPort]*memListener
	packets   map[netip.AddrPort]*memPackets
	dead      map[netip.AddrPort]bool
	ended     int // UDP connections to endpoints that were closed
	// dialing, if set, is called while an endpoint is connected to.
	dialing func()
}

type memListener struct {
	addr   net.Addr
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *memListener) Addr() net.Addr { return l.addr }
func (l *memListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// memConn is one end of a pipe with the address of the other end.
type memConn struct {
	net.Conn
	remote  net.Addr
	onClose func()
	once    sync.Once
}

func (c *memConn) RemoteAddr() net.Addr { return c.remote }
func (c *memConn) Close() error {
	if c.onClose != nil {
		c.once.Do(c.onClose)
	}
	return c.Conn.Close()
}

type datagram struct {
	data string
	addr net.Addr
}

type memPackets struct {
	net.PacketConn
	addr    net.Addr
	in, out chan datagram
	once    sync.Once
	closed  chan struct{}
}

func (c *memPackets) LocalAddr() net.Addr { return c.addr }
func (c *memPackets) Close() error        { c.once.Do(func() { close(c.closed) }); return nil }
func (c *memPackets) ReadFrom(b []byte) (int, net.Addr, error) {
	select {
	case d := <-c.in:
		return copy(b, d.data), d.addr, nil
	case <-c.closed:
		return 0, nil, net.ErrClosed
	}
}
func (c *memPackets) WriteTo(b []byte, to net.Addr) (int, error) {
	c.out <- datagram{string(b), to}
	return len(b), nil
}

func (m *memory) Listen(front netip.AddrPort) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &memListener{addr: net.TCPAddrFromAddrPort(front), conns: make(chan net.Conn), closed: make(chan struct{})}
	m.listeners[front] = l
	return l, nil
}

func (m *memory) ListenPacket(front netip.AddrPort) (net.PacketConn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &memPackets{addr: net.UDPAddrFromAddrPort(front), in: make(chan datagram, 1), out: make(chan datagram, 1), closed: make(chan struct{})}
	m.packets[front] = c
	return c, nil
}

func (m *memory) Dial(_ context.Context, network string, ep netip.AddrPort) (net.Conn, error) {
	if m.dialing != nil {
		m.dialing()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead[ep] {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		buf := make([]byte, 100)
		for {
			if _, err := far.Read(buf); err != nil {
				return
			}
			if _, err := io.WriteString(far, ep.Addr().String()); err != nil {
				return
			}
		}
	}()
	c := &memConn{Conn: near, remote: net.TCPAddrFromAddrPort(ep)}
	if network == "udp" {
		c.onClose = func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.ended++
		}
	}
	return c, nil
}

// dial connects a client to a front.
func (m *memory) dial(client, front string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[netip.MustParseAddrPort(front)]
	m.mu.Unlock()
	if l == nil {
		return nil, os.ErrNotExist
	}
	near, far := net.Pipe()
	from := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(client), 40000))
	select {
	case l.conns <- &memConn{Conn: far, remote: from}:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// ask returns the endpoint that answers a client's new TCP connection, or an error's text.
func (m *memory) ask(client, front string) string {
	c, err := m.dial(client, front)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	return say(c)
}

func say(c net.Conn) string {
	if _, err := io.WriteString(c, "?"); err != nil {
		return err.Error()
	}
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	if err != nil {
		return err.Error()
	}
	return string(buf[:n])
}

// askUDP sends a packet of a client's flow and returns who answers.
func (m *memory) askUDP(client, front string) string {
	m.mu.Lock()
	c := m.packets[netip.MustParseAddrPort(front)]
	m.mu.Unlock()
	c.in <- datagram{"?", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(client))}
	return (<-c.out).data
}

func TestUserspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{listeners: map[netip.AddrPort]*memListener{}, packets: map[netip.AddrPort]*memPackets{}, dead: map[netip.AddrPort]bool{}}
		u := proxy.NewUserspace(proxy.UserspaceOptions{Network: m})
		u.Configure(proxytest.Config(proxy.NFTables, proxy.IPv4))
		table := proxy.NewTable(proxy.IPv4, proxy.Node{Name: "here"})
		write := func() {
			t.Helper()
			require.NoError(t, u.Write(t.Context(), table.Take()))
		}
		affinity := func(s *corev1.Service) {
			s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(60))}}
		}
		both := []corev1.ServicePort{proxytest.Port("t", tcp, 80, 30080), proxytest.Port("u", udp, 80, 30080)}
		onNode := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }
		const front, client = "10.96.0.1:80", "192.0.2.9"
		a, b := podIP(0).String(), podIP(1).String()

		proxytest.Set(table, proxytest.Service("web", "10.96.0.1", onNode, both...), here(0), elsewhere(1))
		write()
		require.Equal(t, []string{a, b, a}, []string{m.ask(client, front), m.ask(client, front), m.ask(client, front)}, "in turn")
		require.Contains(t, []string{a, b}, m.ask(client, "192.0.2.1:30080"))
		_, there := u.Addr(tcp, netip.MustParseAddrPort(front))
		require.True(t, there)

		// A connection outlives the removal of its endpoint, a UDP flow moves.
		c, err := m.dial(client, front)
		require.NoError(t, err)
		mine := say(c)
		flow := m.askUDP("192.0.2.9:5000", front)
		require.Equal(t, flow, m.askUDP("192.0.2.9:5000", front), "a flow stays")
		for i, ip := range []string{a, b} {
			if ip != flow {
				proxytest.Set(table, proxytest.Service("web", "10.96.0.1", onNode, both...), here(i))
			}
		}
		write()
		require.NotEqual(t, flow, m.askUDP("192.0.2.9:5000", front))
		require.Equal(t, mine, say(c))
		c.Close()
		synctest.Wait()
		m.mu.Lock()
		ended := m.ended
		m.mu.Unlock()
		time.Sleep(61 * time.Second)
		m.mu.Lock()
		require.Equal(t, ended+1, m.ended, "an idle flow ends")
		m.mu.Unlock()

		// Session affinity, until the time is over.
		proxytest.Set(table, proxytest.Service("web", "10.96.0.1", affinity, both...), here(0), here(1))
		write()
		first := m.ask(client, front)
		for range 4 {
			time.Sleep(50 * time.Second)
			require.Equal(t, first, m.ask(client, front))
		}
		time.Sleep(61 * time.Second)
		require.NotEqual(t, m.ask(client, front), m.ask("192.0.2.10", front), "in turn again")

		// An endpoint that does not answer is passed over; without any, there is nothing to connect to.
		m.mu.Lock()
		m.dead[netip.AddrPortFrom(podIP(0), proxytest.TargetPort)] = true
		m.mu.Unlock()
		require.Equal(t, b, m.ask("192.0.2.11", front))
		proxytest.Set(table, proxytest.Service("web", "10.96.0.1", nil, both...))
		write()
		require.Equal(t, net.ErrClosed.Error(), m.ask(client, front))
		require.NoError(t, u.Close())
	})
}

// TestEndpointsThatGoWhileTheyAreConnectedTo: neither a flow nor the affinity of a client keeps an endpoint
// that has gone while it was being connected to.
func TestEndpointsThatGoWhileTheyAreConnectedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{listeners: map[netip.AddrPort]*memListener{}, packets: map[netip.AddrPort]*memPackets{}, dead: map[netip.AddrPort]bool{}}
		u := proxy.NewUserspace(proxy.UserspaceOptions{Network: m})
		table := proxy.NewTable(proxy.IPv4, proxy.Node{Name: "here"})
		web := proxytest.Service("web", "10.96.0.1", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP },
			proxytest.Port("t", tcp, 80, 0), proxytest.Port("u", udp, 80, 0))
		lead := func(eps ...proxytest.Endpoint) {
			proxytest.Set(table, web, eps...)
			require.NoError(t, u.Write(t.Context(), table.Take()))
		}
		m.dialing = func() {
			m.dialing = nil
			lead(here(1))
		}
		lead(here(0))
		require.Equal(t, podIP(0).String(), m.ask("192.0.2.9", "10.96.0.1:80"), "a connection outlives its endpoint")
		require.Equal(t, podIP(1).String(), m.ask("192.0.2.9", "10.96.0.1:80"))

		lead(here(0))
		synctest.Wait()
		m.dialing = func() {
			m.dialing = nil
			lead(here(1))
		}
		m.packets[netip.MustParseAddrPort("10.96.0.1:80")].in <- datagram{"?", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.9:5000"))}
		synctest.Wait()
		require.Equal(t, 1, m.ended)
		require.Equal(t, podIP(1).String(), m.askUDP("192.0.2.9:5000", "10.96.0.1:80"))

		m.dialing = func() {
			m.dialing = nil
			lead()
		}
		m.packets[netip.MustParseAddrPort("10.96.0.1:80")].in <- datagram{"?", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.9:5001"))}
		synctest.Wait()
		require.Equal(t, 3, m.ended, "no flow stays of a Service without endpoints")
		require.NoError(t, u.Close())
	})
}

// TestUserspaceOnLocalhost reaches a real listener through the address of a Service, without root.
func TestUserspaceOnLocalhost(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello")
			c.Close()
		}
	}()
	front := netip.MustParseAddrPort("10.96.0.1:80")
	server := l.Addr().(*net.TCPAddr).AddrPort()
	u := proxy.NewUserspace(proxy.UserspaceOptions{})
	defer u.Close()
	p := &proxy.ServicePort{Name: proxy.PortName{Protocol: tcp}, ClusterIP: front.Addr(), Port: front.Port(),
		Cluster: []netip.AddrPort{server}, Serving: []netip.AddrPort{server}, AnyEndpoint: true}
	require.NoError(t, u.Write(t.Context(), &proxy.Delta{All: true, Ports: []proxy.Change{{Now: p}}}))
	at, ok := u.Addr(tcp, front)
	require.True(t, ok)
	c, err := net.Dial("tcp", at.String())
	require.NoError(t, err)
	defer c.Close()
	text, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "hello", string(text))
}

// TestUserspaceRefusesSCTP with an error that names the port.
func TestUserspaceRefusesSCTP(t *testing.T) {
	u := proxy.NewUserspace(proxy.UserspaceOptions{})
	defer u.Close()
	table := proxy.NewTable(proxy.IPv4, proxy.Node{Name: "here"})
	proxytest.Set(table, proxytest.Service("assoc", "10.96.0.60", nil, proxytest.Port("s", corev1.ProtocolSCTP, 80, 0)), here(0))
	require.ErrorContains(t, u.Write(t.Context(), table.All()), "SCTP")
}
