package clusterdns

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/manager"
)

// internet is what upstreams know, and how long each takes; a negative one never responds. It counts what
// they are asked.
type internet struct {
	mu      sync.Mutex
	takes   map[string]time.Duration
	asked   map[string]int // by upstream, and by name
	refuses map[string]bool
	ttl     uint32
}

func newInternet(takes map[string]time.Duration) *internet {
	return &internet{takes: takes, asked: map[string]int{}, refuses: map[string]bool{}, ttl: 20}
}

func (n *internet) count(of string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[of]
}

func (n *internet) set(upstream string, takes time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.takes[upstream] = takes
}

func (n *internet) exchange(ctx context.Context, q *dns.Msg, upstream string, _ bool) (*dns.Msg, error) {
	name := dns.CanonicalName(q.Question[0].Name)
	n.mu.Lock()
	n.asked[upstream]++
	n.asked[name]++
	took, ttl, refused := n.takes[upstream], n.ttl, n.refuses[upstream]
	n.mu.Unlock()
	wait := time.NewTimer(max(took, 0) + time.Microsecond)
	defer wait.Stop()
	if took < 0 {
		wait.Stop()
	}
	select {
	case <-wait.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m := new(dns.Msg)
	m.SetReply(q)
	switch {
	case refused:
		m.Rcode = dns.RcodeRefused
	case name == "never.example.":
		m.Answer = []dns.RR{a(q.Question[0].Name, 0)}
	case name == "gone.example.":
		m.Rcode = dns.RcodeNameError
		m.Ns = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: "example.", Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: 3600}, Ns: "n.", Mbox: "m.", Minttl: 60}}
	case name == "unsure.example.":
		m.Rcode = dns.RcodeNameError
	case name == "broken.example.":
		return nil, errors.New("no route to host")
	default:
		m.Answer = []dns.RR{a(q.Question[0].Name, ttl)}
	}
	return m, nil
}

// a is an address record.
func a(name string, ttl uint32) dns.RR {
	return &dns.A{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}, A: net.IPv4(203, 0, 113, 9)}
}

// forwarding is a server that forwards to upstreams of an internet. It ends with the test.
func forwarding(t *testing.T, n *internet, opts Options) *Server {
	t.Helper()
	s, err := New(manager.New(offline{}, manager.Options{}), opts)
	require.NoError(t, err)
	s.exchange = n.exchange
	t.Cleanup(func() {
		s.stop()
		s.background.Wait()
	})
	return s
}

func resolve(s *Server, name string) *dns.Msg {
	q := new(dns.Msg)
	q.SetQuestion(name, dns.TypeA)
	m, _ := s.respond(q, true)
	return m
}

// TestAnswersOfUpstreamsAreKept asks once for what may be kept, and again for what may not.
func TestAnswersOfUpstreamsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newInternet(map[string]time.Duration{"192.0.2.1:53": time.Millisecond})
		hits := 0
		s := forwarding(t, n, Options{Upstreams: []string{"192.0.2.1"}, Metrics: Metrics{Cached: func(hit bool) {
			if hit {
				hits++
			}
		}}})
		for i, name := range []string{"kept.example.", "Kept.Example.", "never.example.", "gone.example.", "unsure.example."} {
			for range 3 {
				m := resolve(s, name)
				require.Equal(t, name, m.Question[0].Name)
				if i < 3 {
					require.Len(t, m.Answer, 1)
				} else {
					require.Equal(t, dns.RcodeNameError, m.Rcode)
				}
			}
		}
		for name, want := range map[string]int{"kept.example.": 1, "never.example.": 3, "gone.example.": 1, "unsure.example.": 3} {
			require.Equal(t, want, n.count(name), name)
		}
		require.Equal(t, 5+2, hits)
	})
}

// TestPrefetch: an answer in use is fetched again in the last tenth of its life, once and in the background;
// one that is not in use expires.
func TestPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newInternet(map[string]time.Duration{"192.0.2.1:53": time.Millisecond})
		s := forwarding(t, n, Options{Upstreams: []string{"192.0.2.1"}})
		ask := func(after time.Duration, want int, ttl uint32) {
			t.Helper()
			time.Sleep(after)
			began := time.Now()
			for range 2 {
				require.Equal(t, ttl, resolve(s, "x.example.").Answer[0].Header().Ttl)
			}
			if want > 1 {
				require.Zero(t, time.Since(began), "no client waits")
			}
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
			require.Equal(t, want, n.count("x.example."))
		}
		ask(0, 1, 20)
		ask(17*time.Second, 1, 3)
		ask(time.Second+500*time.Millisecond, 2, 2) // 18.5 s
		ask(17*time.Second, 2, 3)
		time.Sleep(21 * time.Second)
		require.EqualValues(t, 20, resolve(s, "x.example.").Answer[0].Header().Ttl)
		require.Equal(t, 3, n.count("x.example."))
	})
}

// TestEqualQueriesShareAnExchange, also if it fails.
func TestEqualQueriesShareAnExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newInternet(map[string]time.Duration{"192.0.2.1:53": 100 * time.Millisecond})
		s := forwarding(t, n, Options{Upstreams: []string{"192.0.2.1"}, MaxForwards: 100})
		var wg sync.WaitGroup
		for range 50 {
			for name, rcode := range map[string]int{"x.example.": dns.RcodeSuccess, "broken.example.": dns.RcodeServerFailure} {
				wg.Go(func() {
					if m := resolve(s, name); m.Rcode != rcode {
						t.Errorf("%s: %s", name, dns.RcodeToString[m.Rcode])
					}
				})
			}
		}
		wg.Wait()
		require.Equal(t, 1, n.count("x.example."))
		require.Equal(t, 1, n.count("broken.example."))
	})
}

func TestCacheOnVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache()
		m := new(dns.Msg)
		m.SetQuestion("a.example.", dns.TypeA)
		key := keyOf(m)
		get := func(key cacheKey) *dns.Msg { m, _ := c.get(key); return m }
		m.Answer = []dns.RR{a("a.example.", 20)}
		c.put(key, m)
		time.Sleep(5 * time.Second)
		require.EqualValues(t, 15, get(key).Answer[0].Header().Ttl)
		require.EqualValues(t, 20, m.Answer[0].Header().Ttl)
		time.Sleep(15 * time.Second)
		require.Nil(t, get(key))
		for i := range cacheSize + 10 {
			c.put(cacheKey{name: strconv.Itoa(i)}, m)
		}
		require.LessOrEqual(t, len(c.entries), cacheSize)
		require.NotNil(t, get(cacheKey{name: strconv.Itoa(cacheSize + 9)}))
		m.Truncated = true
		require.Zero(t, lifetime(m))
	})
}

// TestTheFastestUpstreamIsAsked: the order follows recent latencies, also when they change.
func TestTheFastestUpstreamIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const one, two = "192.0.2.1:53", "192.0.2.2:53"
		n := newInternet(map[string]time.Duration{one: 80 * time.Millisecond, two: 5 * time.Millisecond})
		s := forwarding(t, n, Options{Upstreams: []string{one, two}})
		names := 0
		ask := func() time.Duration {
			names++
			began := time.Now()
			require.Len(t, resolve(s, "n"+strconv.Itoa(names)+".example.").Answer, 1)
			return time.Since(began).Round(time.Millisecond)
		}
		require.Equal(t, 80*time.Millisecond, ask(), "nothing is known yet: the order given")
		time.Sleep(time.Second) // the other one is asked in the background
		for range 20 {
			require.Equal(t, 5*time.Millisecond, ask())
		}
		n.set(two, -1)
		require.Equal(t, impatience+80*time.Millisecond, ask(), "it has become silent")
		for range 20 {
			require.Equal(t, 80*time.Millisecond, ask())
		}
		n.set(two, 5*time.Millisecond)
		for range 12 { // it is asked now and then, by which it is found to be back
			time.Sleep(probeEvery)
			ask()
			time.Sleep(time.Second)
		}
		require.Equal(t, 5*time.Millisecond, ask())
		n.mu.Lock()
		n.refuses[two] = true
		n.mu.Unlock()
		require.Equal(t, 85*time.Millisecond, ask(), "one that refuses costs its answer")
		for range 3 {
			ask()
		}
		require.Equal(t, 80*time.Millisecond, ask(), "and then it comes last")
	})
}

func TestUpstreamsThatAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newResolvers([]string{"first", "second"})
		names := func() (out []string) {
			for _, o := range u.order(time.Now()) {
				out = append(out, o.address)
			}
			return out
		}
		fail := func(i int) {
			for range downAfter {
				u.note(u.list[i], 0, false)
			}
		}
		require.Equal(t, []string{"first", "second"}, names())
		u.note(u.list[1], 20*time.Millisecond, true)
		fail(0)
		require.Equal(t, []string{"second"}, names())
		time.Sleep(downFor)
		require.Equal(t, []string{"second", "first"}, names(), "it is asked again, after the others")
		u.note(u.list[0], 0, false)
		fail(1)
		require.Empty(t, names(), "nothing is left to ask: queries fail at once")
		time.Sleep(downFor)
		require.Len(t, names(), 2)
		for range 20 {
			u.note(u.list[0], 10*time.Millisecond, true)
		}
		require.Equal(t, []string{"first", "second"}, names())
	})
}

// TestAnswersToOtherQuestions: what was not asked for is not taken.
func TestAnswersToOtherQuestions(t *testing.T) {
	q := new(dns.Msg)
	q.SetQuestion("a.example.", dns.TypeA)
	for want, change := range map[bool][]func(*dns.Msg){
		true: {func(m *dns.Msg) {}, func(m *dns.Msg) { m.Question[0].Name = "A.Example." }},
		false: {func(m *dns.Msg) { m.Question[0].Name = "b.example." }, func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAAAA },
			func(m *dns.Msg) { m.Question = nil }, func(m *dns.Msg) { m.Response = false }},
	} {
		for i, f := range change {
			m := new(dns.Msg).SetReply(q)
			f(m)
			require.Equal(t, want, answers(m, q), "%d", i)
		}
	}
}
