package clusterdns

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	// impatience is how long an upstream is waited for before the next is queried too.
	impatience = 250 * time.Millisecond
	// An upstream that has failed so often in a row is down: it is queried after all others, and not at all
	// for a while after each failure.
	downAfter = 3
	downFor   = time.Second
	// probeEvery is how often an upstream is queried that is not queried otherwise, so that its latency is
	// recent.
	probeEvery = 10 * time.Second
)

// resolvers are those for other names, and how they did lately. Safe for concurrent use.
type resolvers struct {
	mu   sync.Mutex
	list []*resolver
}

type resolver struct {
	address  string
	failures int           // in a row
	failed   time.Time     // the last one
	latency  time.Duration // of recent exchanges, a moving average; 0 if there were none
	queried  time.Time     // when it was queried last
}

func newResolvers(addresses []string) *resolvers {
	u := &resolvers{}
	for _, a := range addresses {
		u.list = append(u.list, &resolver{address: a})
	}
	return u
}

// order lists whom to ask: the fastest first, those that are down last. With all of them down it is empty for
// a while, so that queries fail at once and leave the client time to ask elsewhere.
func (u *resolvers) order(now time.Time) []*resolver {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(u.list), func(o *resolver) bool { return o.down() && now.Sub(o.failed) < downFor })
	slices.SortStableFunc(out, func(a, b *resolver) int {
		if a.down() != b.down() {
			return map[bool]int{true: 1, false: -1}[a.down()]
		}
		return cmp.Compare(a.latency, b.latency)
	})
	return out
}

func (o *resolver) down() bool { return o.failures >= downAfter }

// begin notes that one is queried.
func (u *resolvers) begin(o *resolver, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o.queried = now
}

// idle lists those that were not queried for a while, and notes that they are queried now.
func (u *resolvers) idle(now time.Time) (out []*resolver) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, o := range u.list {
		if now.Sub(o.queried) >= probeEvery {
			o.queried = now
			out = append(out, o)
		}
	}
	return out
}

// note takes in how an exchange ended.
func (u *resolvers) note(o *resolver, took time.Duration, answered bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if answered {
		o.failures = 0
	} else {
		o.failures, o.failed = o.failures+1, time.Now()
		took = max(took, impatience)
	}
	if o.latency > 0 {
		took = (3*o.latency + took) / 4
	}
	o.latency = took
}

// atLeast takes in that an exchange was given up because another was faster.
func (u *resolvers) atLeast(o *resolver, took time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o.latency = max(o.latency, took)
}

// race queries the upstreams one after the other, the next when one fails or is slow, and returns the first
// answer; nil means that none had one in time. All that it started has ended when it returns, except for
// queries of upstreams that are only queried to learn their latency.
func (s *Server) race(q *dns.Msg, overUDP bool) *dns.Msg {
	list := s.resolvers.order(time.Now())
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := s.queryContext()
	answers := make(chan *dns.Msg, len(list))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	patience := time.NewTimer(impatience)
	defer patience.Stop()
	next, open := 0, 0
	start := func() {
		if next < len(list) {
			o := list[next]
			next, open = next+1, open+1
			s.resolvers.begin(o, time.Now())
			wg.Go(func() { answers <- s.try(ctx, q, o, overUDP) })
			patience.Reset(impatience)
		}
	}
	for start(); open > 0; {
		select {
		case in := <-answers:
			if in != nil {
				s.probe(q, overUDP)
				return in
			}
			open--
			start()
		case <-patience.C:
			start()
		}
	}
	return nil
}

// probe queries those that were not queried for a while, in the background.
func (s *Server) probe(q *dns.Msg, overUDP bool) {
	for _, o := range s.resolvers.idle(time.Now()) {
		s.background.Go(func() {
			ctx, cancel := s.queryContext()
			defer cancel()
			s.try(ctx, q, o, overUDP)
		})
	}
}

// try queries one upstream. It returns nil for no answer, and for one that another may know better.
func (s *Server) try(ctx context.Context, q *dns.Msg, o *resolver, overUDP bool) *dns.Msg {
	began := time.Now()
	in, err := s.exchange(ctx, q.Copy(), o.address, overUDP)
	took := time.Since(began)
	if err != nil && ctx.Err() == context.Canceled {
		s.resolvers.atLeast(o, took)
		return nil
	}
	if s.opts.Metrics.Exchanged != nil {
		s.opts.Metrics.Exchanged(o.address, took, err)
	}
	if err != nil {
		s.resolvers.note(o, took, false)
		s.log.Debug("query of upstream resolver failed", "upstream", o.address, "err", err)
		return nil
	}
	if in.Rcode == dns.RcodeServerFailure || in.Rcode == dns.RcodeRefused {
		// It is not down, but others come first.
		s.resolvers.note(o, max(took, impatience), true)
		return nil
	}
	s.resolvers.note(o, took, true)
	return in
}
