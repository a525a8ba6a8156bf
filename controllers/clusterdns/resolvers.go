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
	// impatience is how long an upstream is waited for before the next is asked too.
	impatience = 250 * time.Millisecond
	// An upstream that has failed so often in a row is down: it is asked after all others, and not at all for
	// a while after each failure.
	downAfter = 3
	downFor   = time.Second
)

// resolvers are those for other names, and how they did lately. Safe for concurrent use.
type resolvers struct {
	mu   sync.Mutex
	list []*resolver
}

type resolver struct {
	address  string
	failures int       // in a row
	failed   time.Time // the last one
}

func newResolvers(addresses []string) *resolvers {
	u := &resolvers{}
	for _, a := range addresses {
		u.list = append(u.list, &resolver{address: a})
	}
	return u
}

// order lists whom to ask, the most promising first. With all of them down it is empty for a while, so that
// queries fail at once and leave the client time to ask elsewhere.
func (u *resolvers) order(now time.Time) []*resolver {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(u.list), func(o *resolver) bool { return o.down() && now.Sub(o.failed) < downFor })
	slices.SortStableFunc(out, func(a, b *resolver) int {
		if a.down() == b.down() {
			return 0
		}
		return cmp.Compare(a.failures, b.failures)
	})
	return out
}

func (o *resolver) down() bool { return o.failures >= downAfter }

// note takes in how an exchange ended.
func (u *resolvers) note(o *resolver, answered bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if answered {
		o.failures = 0
		return
	}
	o.failures, o.failed = o.failures+1, time.Now()
}

// race asks the upstreams one after the other, the next when one fails or is slow, and returns the first
// answer; nil means that none had one in time. All that it started has ended when it returns.
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
			wg.Go(func() { answers <- s.try(ctx, q, o, overUDP) })
			patience.Reset(impatience)
		}
	}
	for start(); open > 0; {
		select {
		case in := <-answers:
			if in != nil {
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

// try asks one upstream. It returns nil for no answer, and for one that another may know better.
func (s *Server) try(ctx context.Context, q *dns.Msg, o *resolver, overUDP bool) *dns.Msg {
	in, err := s.exchange(ctx, q.Copy(), o.address, overUDP)
	if err != nil && ctx.Err() == context.Canceled {
		return nil // another was faster: that says nothing about this one
	}
	s.resolvers.note(o, err == nil)
	if err != nil {
		s.log.Debug("query of upstream resolver failed", "upstream", o.address, "err", err)
		return nil
	}
	if in.Rcode == dns.RcodeServerFailure || in.Rcode == dns.RcodeRefused {
		return nil
	}
	return in
}
