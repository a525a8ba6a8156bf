package clusterdns

import (
	"sync"
	"time"

	"github.com/miekg/dns"
)

// The maximum number of cached responses of upstreams, and the maximum time each is cached, whatever its TTL.
const (
	cacheSize = 10_000
	cacheMax  = 30 * time.Second
)

// cache keeps answers of upstreams for as long as they allow. Safe for concurrent use.
type cache struct {
	mu      sync.Mutex
	entries map[cacheKey]*cached
}

type cacheKey struct {
	name             string // canonical
	qtype            uint16
	secure, unproven bool // the bits DO and CD of the query
}

type cached struct {
	msg    *dns.Msg // not to be changed
	stored time.Time
	ends   time.Time
	// prefetching reports that it was said to be ending.
	prefetching bool
}

func newCache() *cache { return &cache{entries: map[cacheKey]*cached{}} }

func keyOf(q *dns.Msg) cacheKey {
	opt := q.IsEdns0()
	return cacheKey{dns.CanonicalName(q.Question[0].Name), q.Question[0].Qtype, opt != nil && opt.Do(), q.CheckingDisabled}
}

// get returns an answer whose times to live are what is left of them, or nil. ending reports, once, that an
// answer in use is in the last tenth of its life: if it is fetched again now, the next client does not have
// to wait.
func (c *cache) get(key cacheKey) (m *dns.Msg, ending bool) {
	now := time.Now()
	c.mu.Lock()
	e := c.entries[key]
	if e != nil && !now.Before(e.ends) {
		delete(c.entries, key)
		e = nil
	}
	if e != nil && !e.prefetching && 10*e.ends.Sub(now) <= e.ends.Sub(e.stored) {
		e.prefetching, ending = true, true
	}
	c.mu.Unlock()
	if e == nil {
		return nil, false
	}
	m = e.msg.Copy()
	age := uint32(now.Sub(e.stored) / time.Second)
	for _, rr := range records(m) {
		if h := rr.Header(); h.Rrtype != dns.TypeOPT {
			h.Ttl -= min(age, h.Ttl)
		}
	}
	return m, ending
}

// put keeps an answer if it may be kept.
func (c *cache) put(key cacheKey, m *dns.Msg) {
	life := lifetime(m)
	if life <= 0 {
		return
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= cacheSize {
		c.shrink(now)
	}
	c.entries[key] = &cached{msg: m.Copy(), stored: now, ends: now.Add(life)}
}

// shrink drops what has expired or, if that is nothing, any tenth.
func (c *cache) shrink(now time.Time) {
	for key, e := range c.entries {
		if !now.Before(e.ends) {
			delete(c.entries, key)
		}
	}
	for key := range c.entries {
		if len(c.entries) <= cacheSize*9/10 {
			return
		}
		delete(c.entries, key)
	}
}

// lifetime is how long an answer may be kept: as long as its shortest record, and one that says that there is
// nothing as long as its SOA allows (RFC 2308). What is truncated or failed is not kept.
func lifetime(m *dns.Msg) time.Duration {
	if m.Truncated || m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
		return 0
	}
	negative := m.Rcode == dns.RcodeNameError || len(m.Answer) == 0
	shortest, soa := uint32(cacheMax/time.Second), false
	for _, rr := range records(m) {
		if rr.Header().Rrtype == dns.TypeOPT {
			continue
		}
		shortest = min(shortest, rr.Header().Ttl)
		if s, ok := rr.(*dns.SOA); ok {
			soa, shortest = true, min(shortest, s.Minttl)
		}
	}
	if negative && !soa {
		return 0
	}
	return time.Duration(shortest) * time.Second
}

func records(m *dns.Msg) []dns.RR {
	out := make([]dns.RR, 0, len(m.Answer)+len(m.Ns)+len(m.Extra))
	return append(append(append(out, m.Answer...), m.Ns...), m.Extra...)
}
