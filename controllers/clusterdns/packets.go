package clusterdns

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// servePackets serves queries over UDP until c is closed. A few goroutines read queries and answer them from
// memory one after the other; what they cannot keep up with waits in the socket, and is lost there if it is
// too much. Only queries that need an upstream get a goroutine each, of which there are at most
// Options.MaxForwards. So a flood costs neither memory nor goroutines.
func (s *Server) servePackets(c net.PacketConn) error {
	var failed error
	var mu sync.Mutex
	var readers, waiting sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		sock, err := newSocket(c)
		if err != nil {
			return err
		}
		readers.Go(func() {
			err := s.readPackets(sock, &waiting)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	readers.Wait()
	waiting.Wait()
	return failed
}

func (s *Server) readPackets(sock *socket, waiting *sync.WaitGroup) error {
	in, out := make([]byte, udpSize), make([]byte, 0, udpSize)
	for {
		n, from, err := sock.read(in)
		var other net.Error
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.As(err, &other) && other.Timeout(), err != nil && n > 0:
			continue
		case err != nil:
			return err
		}
		began := time.Now()
		r := &request{Msg: new(dns.Msg), overUDP: true, local: true}
		var m *dns.Msg
		forwarded := false
		if err := r.Unpack(in[:n]); err == nil {
			m, forwarded = s.respondTo(r)
		} else if n >= headerSize && !r.Response {
			r.Question = nil
			m = reply(r.Msg, dns.RcodeFormatError)
		}
		if r.missed && s.take() {
			r.local, r.missed, r.waits = false, false, true
			waiting.Go(func() {
				defer s.give()
				m, forwarded := s.respondTo(r)
				s.send(sock, r, m, nil, from, forwarded, began)
			})
			continue
		}
		if r.missed {
			m = reply(r.Msg, dns.RcodeServerFailure)
			s.finish(r, m)
		}
		out = s.send(sock, r, m, out, from, forwarded, began)
	}
}

// headerSize is the size of the header of a message, whose ID a response must have.
const headerSize = 12

// send sends a response, if there is one, and returns the buffer it was packed into.
func (s *Server) send(sock *socket, r *request, m *dns.Msg, buf []byte, to sender, forwarded bool, began time.Time) []byte {
	if m == nil {
		return buf
	}
	out, err := m.PackBuffer(buf[:cap(buf)])
	if err == nil {
		err = sock.write(out, to)
		buf = out
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.Debug("send response failed", "to", to, "err", err)
	}
	s.answered(r.Msg, m, forwarded, began)
	return buf
}

// socket reads and writes packets. A socket of all addresses of the machine responds from the one that the
// query was sent to.
type socket struct {
	conn net.PacketConn
	udp  *net.UDPConn // nil if conn is something else
	all  bool
}

// sender is where a query comes from; one of its fields is set.
type sender struct {
	addr    netip.AddrPort
	session *dns.SessionUDP
	other   net.Addr
}

// String implements fmt.Stringer.
func (s sender) String() string {
	switch {
	case s.session != nil:
		return s.session.RemoteAddr().String()
	case s.other != nil:
		return s.other.String()
	}
	return s.addr.String()
}

func newSocket(c net.PacketConn) (*socket, error) {
	udp, ok := c.(*net.UDPConn)
	if !ok {
		return &socket{conn: c}, nil
	}
	local, ok := udp.LocalAddr().(*net.UDPAddr)
	if !ok || !local.IP.IsUnspecified() {
		return &socket{conn: c, udp: udp}, nil
	}
	// A socket is of one family, or of both, and then both options work.
	err6 := ipv6.NewPacketConn(udp).SetControlMessage(ipv6.FlagDst|ipv6.FlagInterface, true)
	err4 := ipv4.NewPacketConn(udp).SetControlMessage(ipv4.FlagDst|ipv4.FlagInterface, true)
	if err6 != nil && err4 != nil {
		return nil, err4
	}
	return &socket{conn: c, udp: udp, all: true}, nil
}

func (k *socket) read(b []byte) (n int, from sender, err error) {
	switch {
	case k.all:
		n, from.session, err = dns.ReadFromSessionUDP(k.udp, b)
	case k.udp != nil:
		n, from.addr, err = k.udp.ReadFromUDPAddrPort(b)
	default:
		n, from.other, err = k.conn.ReadFrom(b)
	}
	return n, from, err
}

func (k *socket) write(b []byte, to sender) (err error) {
	switch {
	case k.all:
		_, err = dns.WriteToSessionUDP(k.udp, b, to.session)
	case k.udp != nil:
		_, err = k.udp.WriteToUDPAddrPort(b, to.addr)
	default:
		_, err = k.conn.WriteTo(b, to.other)
	}
	return err
}
