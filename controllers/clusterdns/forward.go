package clusterdns

import (
	"context"

	"github.com/miekg/dns"
)

// forward asks the upstreams. Their answer is given on as it is, but for the parts that concern one hop only.
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

// ask finds the answer of an upstream, kept or new; nil means none had one.
func (s *Server) ask(r *dns.Msg, overUDP bool) *dns.Msg {
	key := keyOf(r)
	if in := s.cache.get(key); in != nil {
		return in
	}
	select {
	case s.forwards <- struct{}{}:
		defer func() { <-s.forwards }()
	default:
		s.log.Warn("query refused: too many queries wait for upstream resolvers", "max", s.opts.MaxForwards)
		return nil
	}
	q := new(dns.Msg)
	q.SetQuestion(r.Question[0].Name, r.Question[0].Qtype)
	q.CheckingDisabled = r.CheckingDisabled
	q.SetEdns0(udpSize, key.secure)
	in := s.race(q, overUDP)
	if in != nil {
		s.cache.put(key, in)
	}
	return in
}

func (s *Server) exchange(ctx context.Context, q *dns.Msg, upstream string, overUDP bool) (*dns.Msg, error) {
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
	return in, err
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
