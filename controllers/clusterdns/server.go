package clusterdns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/netutil"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// The indexes of the informers, shared by the servers of one manager.
var (
	slicesByService = informers.DefineIndex("clusterdns.service", func(s *discoveryv1.EndpointSlice) []string {
		return []string{s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]}
	})
	slicesByAddress = informers.DefineIndex("clusterdns.address", addresses)
	servicesByIP    = informers.DefineIndex("clusterdns.clusterIP", clusterIPs)
	podsByIP        = informers.DefineIndex("clusterdns.podIP", podIPs)
)

// udpSize is the size of UDP messages that is offered to those who ask: it passes every network unfragmented.
const udpSize = 1232

// maxConns is the maximum number of TCP connections of an address; further ones wait.
const maxConns = 1000

// Server is a DNS server. It is a dns.Handler; its methods may be called concurrently.
type Server struct {
	opts       Options
	log        *slog.Logger
	services   informers.Lister[*corev1.Service]
	namespaces informers.Lister[*corev1.Namespace]
	synced     func() bool
	kept       serviceCache
	forwards   chan struct{} // a token for each query that waits for an upstream
	overloaded atomic.Int64  // when a query failed for lack of a token, in seconds
	resolvers  *resolvers
	cache      *cache
	flights    flights
	// exchange sends a query to an upstream.
	exchange func(ctx context.Context, q *dns.Msg, upstream string, overUDP bool) (*dns.Msg, error)
	// background are queries of upstreams that no client waits for.
	background sync.WaitGroup
	serving    atomic.Bool

	slicesByService, slicesByAddress informers.Index[*discoveryv1.EndpointSlice]
	servicesByIP                     informers.Index[*corev1.Service]
	podsByIP                         informers.Index[*corev1.Pod] // of PodsVerified

	// queryContext returns the context of a forwarded query, which ends with Run or after the upstream
	// timeout.
	queryContext func() (context.Context, context.CancelFunc)
	stop         context.CancelFunc
}

// Add adds a server to m. It runs on every replica, leader or not.
func Add(m *manager.Manager, opts Options) error {
	s, err := New(m, opts)
	if err != nil {
		return err
	}
	m.AddWithoutLeaderElection("cluster DNS", s)
	return nil
}

// New returns a server, to be run with m.AddWithoutLeaderElection or used as a dns.Handler. It watches
// Services, EndpointSlices, Namespaces and, with PodsVerified, pods through the informers of m.
func New(m *manager.Manager, opts Options) (*Server, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if opts.Logger == nil {
		opts.Logger = m.Logger()
	}
	set := m.Informers()
	services, slices := informers.For[*corev1.Service](set), informers.For[*discoveryv1.EndpointSlice](set)
	namespaces := informers.For[*corev1.Namespace](set)
	synced := []func() bool{services.HasSynced, slices.HasSynced, namespaces.HasSynced}
	s := &Server{
		opts: opts, log: opts.Logger, services: services.Lister(), namespaces: namespaces.Lister(),
		slicesByService: slices.Index(slicesByService), slicesByAddress: slices.Index(slicesByAddress), servicesByIP: services.Index(servicesByIP),
		forwards: make(chan struct{}, opts.MaxForwards), resolvers: newResolvers(opts.Upstreams), cache: newCache(),
		kept: serviceCache{slot: map[types.NamespacedName]*slot{}}, flights: flights{of: map[flightKey]*flight{}},
	}
	s.exchange = s.exchangeOver
	s.kept.follow(services, slices)
	if opts.Pods == PodsVerified {
		pods := informers.For[*corev1.Pod](set)
		s.podsByIP = pods.Index(podsByIP)
		synced = append(synced, pods.HasSynced)
	}
	s.synced = func() bool {
		for _, f := range synced {
			if !f() {
				return false
			}
		}
		return true
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.queryContext = func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, s.opts.UpstreamTimeout)
	}
	return s, nil
}

func clusterIPs(svc *corev1.Service) []string {
	if svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil
	}
	if len(svc.Spec.ClusterIPs) == 0 {
		return []string{svc.Spec.ClusterIP}
	}
	return svc.Spec.ClusterIPs
}

func addresses(s *discoveryv1.EndpointSlice) []string {
	if s.AddressType == discoveryv1.AddressTypeFQDN {
		return nil
	}
	var out []string
	for i := range s.Endpoints {
		out = append(out, s.Endpoints[i].Addresses...)
	}
	return out
}

func podIPs(p *corev1.Pod) []string {
	if p.HasEnded() || p.Spec.HostNetwork {
		return nil
	}
	var out []string
	for _, ip := range p.Status.PodIPs {
		out = append(out, ip.IP)
	}
	if len(out) == 0 && p.Status.PodIP != "" {
		out = append(out, p.Status.PodIP)
	}
	return out
}

// Ready returns nil while queries are answered: Run serves all addresses, and the informers have synced. It
// is a check for package health.
func (s *Server) Ready(context.Context) error {
	switch {
	case !s.serving.Load():
		return errors.New("clusterdns: not all addresses are served")
	case !s.synced():
		return errors.New("clusterdns: informers have not synced")
	}
	return nil
}

// Run serves queries until ctx ends and returns nil. It returns an error if it cannot listen on an address.
func (s *Server) Run(ctx context.Context) error {
	defer s.background.Wait()
	defer s.stop()
	udp, tcp := slices.Clone(s.opts.PacketConns), slices.Clone(s.opts.Listeners)
	var lc net.ListenConfig
	for _, a := range s.opts.Addresses {
		c, err := lc.ListenPacket(ctx, "udp", a)
		if err == nil {
			udp = append(udp, c)
			var l net.Listener
			// A port that was left to the system must be the same for both.
			if l, err = lc.Listen(ctx, "tcp", c.LocalAddr().String()); err == nil {
				tcp = append(tcp, l)
			}
		}
		if err != nil {
			closeAll(udp, tcp)
			return fmt.Errorf("clusterdns: %w", err)
		}
	}
	return s.serve(ctx, udp, tcp)
}

func (s *Server) serve(ctx context.Context, udp []net.PacketConn, tcp []net.Listener) error {
	failed := make(chan error, len(udp)+len(tcp))
	var wg, starting sync.WaitGroup
	for _, c := range udp {
		wg.Go(func() {
			if err := s.servePackets(c); err != nil {
				failed <- err
			}
		})
	}
	var servers []*dns.Server
	var starts atomic.Int64
	s.serving.Store(len(tcp) == 0) // the sockets are bound
	for _, l := range tcp {
		srv := &dns.Server{Listener: netutil.LimitListener(l, maxConns), Handler: s, MsgAcceptFunc: accept, ReadTimeout: 5 * time.Second}
		servers = append(servers, srv)
		starting.Add(1)
		srv.NotifyStartedFunc = sync.OnceFunc(func() {
			if starts.Add(1) == int64(len(tcp)) {
				s.serving.Store(true) // before it accepts: who has an answer finds the server ready
			}
			starting.Done()
		})
		wg.Go(func() {
			if err := srv.ActivateAndServe(); err != nil {
				failed <- err
			}
			srv.NotifyStartedFunc() // so that no caller waits for one that failed
		})
	}
	starting.Wait()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		err = fmt.Errorf("clusterdns: %w", err)
	}
	s.serving.Store(false)
	s.stop()
	for _, srv := range servers {
		_ = srv.Shutdown() // one that has ended says so; it is closed below
	}
	closeAll(udp, tcp)
	wg.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func closeAll(udp []net.PacketConn, tcp []net.Listener) {
	for _, c := range udp {
		_ = c.Close()
	}
	for _, l := range tcp {
		_ = l.Close()
	}
}

// accept lets only queries through to the handler.
func accept(h dns.Header) dns.MsgAcceptAction {
	switch {
	case h.Bits&(1<<15) != 0:
		return dns.MsgIgnore // answering a response could go on forever
	case int(h.Bits>>11)&0xF != dns.OpcodeQuery:
		return dns.MsgRejectNotImplemented
	case h.Qdcount != 1:
		return dns.MsgReject
	}
	return dns.MsgAccept
}

// ServeDNS implements dns.Handler.
func (s *Server) ServeDNS(w dns.ResponseWriter, r *dns.Msg) {
	began := time.Now()
	_, overUDP := w.RemoteAddr().(*net.UDPAddr)
	m, forwarded := s.respond(r, overUDP)
	if m == nil {
		return
	}
	if err := w.WriteMsg(m); err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.Debug("send response failed", "to", w.RemoteAddr(), "err", err)
	}
	s.answered(r, m, forwarded, began)
}

// answered counts a response.
func (s *Server) answered(r, m *dns.Msg, forwarded bool, began time.Time) {
	if s.opts.Metrics.Answered != nil {
		qtype := "none"
		if len(r.Question) == 1 {
			qtype = dns.TypeToString[r.Question[0].Qtype]
		}
		s.opts.Metrics.Answered(qtype, dns.RcodeToString[m.Rcode], forwarded, time.Since(began))
	}
}

// request is a query of a client.
type request struct {
	*dns.Msg
	overUDP bool
	// local answers from memory only. If that does not do, missed is set and the answer is of no use.
	local, missed bool
	// waits reports that the request may wait for upstreams: see Server.take.
	waits bool
}

// respond returns the answer to r, fit for its transport, or nil if there must be none.
func (s *Server) respond(r *dns.Msg, overUDP bool) (m *dns.Msg, forwarded bool) {
	return s.respondTo(&request{Msg: r, overUDP: overUDP})
}

func (s *Server) respondTo(r *request) (m *dns.Msg, forwarded bool) {
	if r.Response {
		return nil, false
	}
	opt := r.IsEdns0()
	switch {
	case r.Opcode != dns.OpcodeQuery:
		m = reply(r.Msg, dns.RcodeNotImplemented)
	case len(r.Question) != 1:
		m = reply(r.Msg, dns.RcodeFormatError)
	case opt != nil && opt.Version() != 0:
		m = reply(r.Msg, dns.RcodeBadVers)
	case r.Question[0].Qclass != dns.ClassINET && r.Question[0].Qclass != dns.ClassANY,
		r.Question[0].Qtype == dns.TypeAXFR, r.Question[0].Qtype == dns.TypeIXFR:
		m = reply(r.Msg, dns.RcodeRefused)
	default:
		m, forwarded = s.answer(r)
	}
	if !r.missed {
		s.finish(r, m)
	}
	return m, forwarded
}

// finish makes an answer fit for its transport and for what the client supports.
func (s *Server) finish(r *request, m *dns.Msg) {
	size, opt := dns.MaxMsgSize, r.IsEdns0()
	if r.overUDP {
		size = dns.MinMsgSize
		if opt != nil {
			size = min(max(int(opt.UDPSize()), dns.MinMsgSize), udpSize)
		}
	}
	m.RecursionAvailable = len(s.opts.Upstreams) > 0
	m.Compress = true
	if opt != nil && m.IsEdns0() == nil {
		m.SetEdns0(udpSize, opt.Do())
		m.IsEdns0().SetExtendedRcode(uint16(m.Rcode))
	}
	m.Truncate(size)
}

func reply(r *dns.Msg, rcode int) *dns.Msg {
	m := new(dns.Msg)
	m.SetRcode(r, rcode)
	if len(r.Question) > 1 {
		m.Question = r.Question[:1]
	}
	return m
}
