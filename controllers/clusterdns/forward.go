package clusterdns

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// forward queries the upstreams. Their answer is passed on as it is, but for the parts that concern one hop
// only.
func (s *Server) forward(r *request) *dns.Msg {
	if len(s.opts.Upstreams) == 0 || !r.RecursionDesired {
		return reply(r.Msg, dns.RcodeRefused)
	}
	in := s.ask(r, r.Msg, r.overUDP)
	if in == nil {
		return reply(r.Msg, dns.RcodeServerFailure)
	}
	m := reply(r.Msg, in.Rcode)
	m.Answer, m.Ns = in.Answer, in.Ns
	m.Truncated = in.Truncated
	for _, rr := range in.Extra {
		if rr.Header().Rrtype != dns.TypeOPT {
			m.Extra = append(m.Extra, rr)
		}
	}
	return m
}

// ask finds the answer of an upstream to a query on behalf of a request, cached or new; nil means none had
// one. It must not be changed.
func (s *Server) ask(r *request, q *dns.Msg, overUDP bool) *dns.Msg {
	key := keyOf(q)
	in, ending := s.cache.get(key)
	if ending && s.take() {
		s.background.Go(func() {
			defer s.give()
			s.fetch(q.Question[0].Name, key, overUDP)
		})
	}
	if in == nil && r.local {
		r.missed = true
		return nil
	}
	if s.opts.Metrics.Cached != nil {
		s.opts.Metrics.Cached(in != nil)
	}
	if in != nil {
		return in
	}
	if !r.waits {
		if !s.take() {
			return nil
		}
		defer s.give()
	}
	return s.fetch(q.Question[0].Name, key, overUDP)
}

// take lets a query wait for upstreams until give, or returns false if too many do.
func (s *Server) take() bool {
	select {
	case s.forwards <- struct{}{}:
		return true
	default:
	}
	if now := time.Now().Unix(); s.overloaded.Swap(now) != now { // once a second
		s.log.Warn("query refused: too many queries wait for upstream resolvers", "max", s.opts.MaxForwards)
	}
	return false
}

func (s *Server) give() { <-s.forwards }

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
func (s *Server) follow(r *request, name string, qtype uint16) []dns.RR {
	if len(s.opts.Upstreams) == 0 {
		return nil
	}
	q := new(dns.Msg)
	q.SetQuestion(name, qtype)
	if in := s.ask(r, q, false); in != nil { // over TCP: the answer must be whole
		return in.Answer
	}
	return nil
}
