package clusterdns

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// patience is how long an answer is waited for that must come, however busy the machine is.
const patience = time.Minute

// listen returns a UDP and a TCP listener on one port of the loopback.
func listen(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 20 { // the port of one may be taken for the other
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		l, err := net.Listen("tcp", c.LocalAddr().String())
		if err == nil {
			return c, l
		}
		c.Close()
	}
	t.Fatal("no port is free for UDP and TCP")
	return nil, nil
}

// upstream is a resolver that knows every name, and one that fails.
func upstream(t *testing.T, h dns.HandlerFunc) string {
	t.Helper()
	c, l := listen(t)
	var wg sync.WaitGroup
	servers := []*dns.Server{{PacketConn: c, Handler: h}, {Listener: l, Handler: h}}
	for _, srv := range servers {
		started := make(chan struct{})
		srv.NotifyStartedFunc = func() { close(started) }
		wg.Go(func() { _ = srv.ActivateAndServe() })
		<-started
	}
	t.Cleanup(func() {
		for _, srv := range servers {
			_ = srv.Shutdown()
		}
		wg.Wait()
	})
	return c.LocalAddr().String()
}

func TestOverTheNetwork(t *testing.T) {
	knows := upstream(t, func(w dns.ResponseWriter, r *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(r)
		if q := r.Question[0]; q.Qtype == dns.TypeA {
			m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(203, 0, 113, 9)}}
		}
		_ = w.WriteMsg(m)
	})
	fails := upstream(t, func(w dns.ResponseWriter, r *dns.Msg) {
		m := new(dns.Msg)
		m.SetRcode(r, dns.RcodeServerFailure)
		_ = w.WriteMsg(m)
	})
	c := controllertest.Start(t, controllertest.Options{})
	controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("default", "web"), Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.20", Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}}})
	controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("default", "out"), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}})
	udp, tcp := listen(t)
	var answered sync.Map
	var s *Server
	m := c.Manager("dns", func(m *manager.Manager) (err error) {
		s, err = New(m, Options{PacketConns: []net.PacketConn{udp}, Listeners: []net.Listener{tcp}, Upstreams: []string{fails, knows}, UpstreamTimeout: patience,
			Metrics: Metrics{Answered: func(qtype, rcode string, forwarded bool, took time.Duration) {
				answered.Store(qtype+" "+rcode, forwarded)
			}}})
		m.AddWithoutLeaderElection("dns", s)
		return err
	})
	stop := c.Run(m)
	require.NoError(t, m.Informers().WaitForSync(t.Context()))
	for _, network := range []string{"udp", "tcp"} {
		for name, want := range map[string][]string{"web.default.svc.cluster.local.": {"10.96.0.20"}, "example.com.": {"203.0.113.9"}, "out.default.svc.cluster.local.": {"example.com.", "203.0.113.9"}} {
			q := new(dns.Msg)
			q.SetQuestion(name, dns.TypeA)
			in, _, err := (&dns.Client{Net: network, Timeout: patience}).Exchange(q, udp.LocalAddr().String())
			require.NoError(t, err, "%s %s", network, name)
			require.True(t, in.RecursionAvailable)
			var got []string
			for _, rr := range in.Answer {
				got = append(got, dns.Field(rr, 1))
			}
			require.Equal(t, want, got, "%s %s", network, name)
		}
	}
	forwarded, ok := answered.Load("A NOERROR")
	require.True(t, ok)
	require.NotNil(t, forwarded)
	require.NoError(t, s.Ready(t.Context()))
	stop()
	require.ErrorContains(t, s.Ready(t.Context()), "not all addresses are served")
	_, err := tcp.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

// asked calls ask before the first connection is accepted.
type asked struct {
	net.Listener
	ask func()
}

func (a asked) Accept() (net.Conn, error) {
	a.ask()
	return a.Listener.Accept()
}

// TestAServerThatAnswersIsReady: it is ready before it accepts its first connection.
func TestAServerThatAnswersIsReady(t *testing.T) {
	var s *Server
	ready := make(chan bool, 1)
	l := asked{pipenet.New(), sync.OnceFunc(func() { ready <- s.serving.Load() })}
	s, err := New(manager.New(offline{}, manager.Options{}), Options{Listeners: []net.Listener{l}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	require.True(t, <-ready)
	stop()
	require.NoError(t, <-done)
	require.False(t, s.serving.Load())
}

// TestForwardsAreBounded has one query wait for a silent upstream: the next fails at once.
func TestForwardsAreBounded(t *testing.T) {
	asked := make(chan struct{}, 1)
	silent := upstream(t, func(dns.ResponseWriter, *dns.Msg) { asked <- struct{}{} })
	s, err := New(manager.New(offline{}, manager.Options{}), Options{Upstreams: []string{silent}, MaxForwards: 1, UpstreamTimeout: time.Minute})
	require.NoError(t, err)
	q := new(dns.Msg)
	q.SetQuestion("example.com.", dns.TypeA)
	first := make(chan *dns.Msg)
	go func() { m, _ := s.respond(q, true); first <- m }()
	<-asked
	other := new(dns.Msg)
	other.SetQuestion("example.org.", dns.TypeA)
	m, _ := s.respond(other, true)
	require.Equal(t, dns.RcodeServerFailure, m.Rcode)
	s.stop() // the end of Run ends what waits
	require.Equal(t, dns.RcodeServerFailure, (<-first).Rcode)
}

func TestOptions(t *testing.T) {
	m := manager.New(offline{}, manager.Options{})
	_, err := New(m, Options{Domain: "a..b"})
	require.ErrorContains(t, err, "not a domain")
	_, err = New(m, Options{Pods: "some"})
	require.ErrorContains(t, err, "Pods")
	s, err := New(m, Options{Upstreams: []string{"192.0.2.1", "[2001:db8::1]", "192.0.2.2:5353"}})
	require.NoError(t, err)
	require.Equal(t, []string{"192.0.2.1:53", "[2001:db8::1]:53", "192.0.2.2:5353"}, s.opts.Upstreams)

	path := filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(path, []byte("nameserver 10.96.0.10\nnameserver 192.0.2.53\nsearch x\n"), 0o600))
	got, err := ResolvConf(path, "10.96.0.10:53")
	require.NoError(t, err)
	require.Equal(t, []string{"192.0.2.53:53"}, got)
}

// TestASilentUpstreamHoldsUpNothing: with the old order in turn, the minute of the first had to pass before
// the second was asked.
func TestASilentUpstreamHoldsUpNothing(t *testing.T) {
	silent := upstream(t, func(dns.ResponseWriter, *dns.Msg) {})
	knows := upstream(t, func(w dns.ResponseWriter, r *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(r)
		m.Answer = []dns.RR{a(r.Question[0].Name, 60)}
		_ = w.WriteMsg(m)
	})
	s, err := New(manager.New(offline{}, manager.Options{}), Options{Upstreams: []string{silent, knows}, UpstreamTimeout: time.Hour})
	require.NoError(t, err)
	defer s.background.Wait()
	defer s.stop()
	q := new(dns.Msg)
	q.SetQuestion("example.com.", dns.TypeA)
	for _, overUDP := range []bool{true, false} {
		m, forwarded := s.respond(q, overUDP)
		require.True(t, forwarded)
		require.Len(t, m.Answer, 1)
	}
}
