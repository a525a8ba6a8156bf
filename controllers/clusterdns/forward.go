package clusterdns

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

// forward queries the upstreams. Their answer is passed on as it is, but for the parts that concern one hop
// only.
func (s *Server) forward(r *dns.Msg, overUDP bool) *dns.Msg {
	if len(s.opts.Upstreams) == 0 || !r.RecursionDesired {
		return reply(r, dns.RcodeRefused)
	}
	in := s.ask(r, overUDP)
	if in == nil {
		return reply(r, dns.RcodeServerFailure)
	}
	m := reply(r, in.Rcode)
	m.Answer, m.Ns = in.Answer, in.Ns
	m.Truncated = in.Truncated
	for _, rr := range in.Extra {
		if rr.Header().Rrtype != dns.TypeOPT {
			m.Extra = append(m.Extra, rr)
		}
	}
	return m
}

// ask finds the answer of an upstream, kept or new; nil means none had one. It must not be changed.
func (s *Server) ask(r *dns.Msg, overUDP bool) *dns.Msg {
	key := keyOf(r)
	in, ending := s.cache.get(key)
	if s.opts.Metrics.Cached != nil {
		s.opts.Metrics.Cached(in != nil)
	}
	if ending {
		s.background.Go(func() { s.fetch(r.Question[0].Name, key, overUDP) })
	}
	if in != nil {
		return in
	}
	return s.fetch(r.Question[0].Name, key, overUDP)
}

// flights are the exchanges under way. Safe for concurrent use.
type flights struct {
	mu sync.Mutex
	of map[flightKey]*flight
}

type flightKey struct {
	cacheKey
	overUDP bool
}

// flight is an exchange that queries which are alike share.
type flight struct {
	done chan struct{}
	msg  *dns.Msg // once done
}

// join returns the flight for a key, and whether it is a new one, which the caller must end.
func (fs *flights) join(key flightKey) (f *flight, created bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.of[key]; f != nil {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	fs.of[key] = f
	return f, true
}

func (fs *flights) end(key flightKey, f *flight) {
	fs.mu.Lock()
	delete(fs.of, key)
	fs.mu.Unlock()
	close(f.done)
}

// fetch queries the upstreams and keeps the answer; nil means that none had one.
func (s *Server) fetch(name string, key cacheKey, overUDP bool) *dns.Msg {
	fk := flightKey{key, overUDP}
	f, created := s.flights.join(fk)
	if !created {
		<-f.done
		return f.msg
	}
	defer s.flights.end(fk, f)
	select {
	case s.forwards <- struct{}{}:
		defer func() { <-s.forwards }()
	default:
		s.log.Warn("query refused: too many queries wait for upstream resolvers", "max", s.opts.MaxForwards)
		return nil
	}
	q := new(dns.Msg)
	q.SetQuestion(name, key.qtype)
	q.CheckingDisabled = key.unproven
	q.SetEdns0(udpSize, key.secure)
	f.msg = s.race(q, overUDP)
	if f.msg != nil {
		s.cache.put(key, f.msg)
	}
	return f.msg
}

// exchangeOver sends a query over the network.
func (s *Server) exchangeOver(ctx context.Context, q *dns.Msg, upstream string, overUDP bool) (*dns.Msg, error) {
	network := "tcp"
	if overUDP {
		network = "udp"
	}
	c := &dns.Client{Net: network, Timeout: s.opts.UpstreamTimeout, UDPSize: udpSize}
	conn, err := c.DialContext(ctx, upstream)
	if err != nil {
		return nil, err
	}
	// The client knows the deadline of ctx but not its end: closing is what wakes it.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		if stop() {
			_ = conn.Close()
		}
	}()
	in, _, err := c.ExchangeWithConnContext(ctx, q, conn)
	if err == nil && !answers(in, q) {
		return nil, fmt.Errorf("response is not one to %s", q.Question[0].String())
	}
	return in, err
}

// answers reports whether a message has the question of a query: one with a guessed ID would have another.
func answers(in, q *dns.Msg) bool {
	return in.Response && len(in.Question) == 1 && in.Question[0].Qtype == q.Question[0].Qtype &&
		strings.EqualFold(in.Question[0].Name, q.Question[0].Name)
}

// follow resolves where an external name leads to; it is all right to find nothing: the client has the CNAME.
func (s *Server) follow(name string, qtype uint16) []dns.RR {
	if len(s.opts.Upstreams) == 0 {
		return nil
	}
	q := new(dns.Msg)
	q.SetQuestion(name, qtype)
	if in := s.ask(q, false); in != nil { // over TCP: the answer must be whole
		return in.Answer
	}
	return nil
}
