package proxytest

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/keelson-dev/keelson/controllers/proxy"
)

// ErrStopped is what changes of a Kernel fail with after those that StopAfter lets through.
var ErrStopped = errors.New("the process has ended")

// StopAfter lets n more changes of the kernel through and fails later ones, as if the process that makes them
// were killed; a negative n lifts the limit. A change is what takes effect at once: a script of nft, a table
// of iptables-restore, a line of ipset restore, a call of IPVS.
func (k *Kernel) StopAfter(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limited, k.left = n >= 0, n
}

// change counts a change; k.mu is held.
func (k *Kernel) change() error {
	if !k.limited {
		return nil
	}
	if k.left == 0 {
		return ErrStopped
	}
	k.left--
	return nil
}

// Stoppable is a Subject that can be stopped in the middle of a write, as a process that is killed. Run stops
// it at every point of some writes.
type Stoppable interface {
	Subject
	// StopAfter lets n more changes take effect; all others fail until the next call. A negative n lifts the
	// limit.
	StopAfter(n int)
	// Restart returns a backend that knows nothing of what was written to the same place.
	Restart(t testing.TB) Subject
}

// StopAfter implements Stoppable.
func (o *OnKernel) StopAfter(n int) { o.Kernel.StopAfter(n) }

// Restart implements Stoppable.
func (o *OnKernel) Restart(t testing.TB) Subject { return onKernel(t, o.Kernel, o.mode, o.family) }

// stopped is a change of a world, with packets, and what becomes of them before and after.
type stopped struct {
	before, after, delta *proxy.Delta
	packets              []Packet
	was, now             []Outcomes
	whole                string // the dump of a backend that was given everything at once
}

// stops stops a backend after each change that a write makes. What the write is not about must be forwarded
// as before, a Service that has endpoints before and after must lead to one of them, and the first write of
// the next run must complete everything. The write is that of a change, and that of everything after a
// restart.
func (s Suite) stops(t *testing.T, seed uint64) {
	t.Helper()
	if _, ok := s.New(t).(Stoppable); !ok {
		return
	}
	w, table := NewWorld(s.Family, seed), s.table()
	for range 8 {
		w.Change(table)
	}
	table.Take()
	c := stopped{before: table.All()}
	for range 30 {
		c.packets = append(c.packets, w.Packet())
	}
	expect := func() (out []Outcomes) {
		for _, p := range c.packets {
			out = append(out, w.Expect(s.Traits, p))
		}
		return out
	}
	c.was = expect()
	w.Change(table)
	c.now = expect()
	for i, p := range slices.Backward(c.packets) {
		if w.elsewhere(p.Src) { // the change has moved the pod to another node
			c.packets, c.was, c.now = slices.Delete(c.packets, i, i+1), slices.Delete(c.was, i, i+1), slices.Delete(c.now, i, i+1)
		}
	}
	c.delta, c.after = table.Take(), table.All()
	other := s.New(t)
	other.Configure(s.Config)
	s.write(t, other, c.after, seed)
	c.whole = other.Dump()
	for _, restarted := range []bool{false, true} {
		for n := 0; !s.stop(t, c, n, restarted, seed); n++ {
		}
	}
}

// stop stops a write after n changes, and reports whether it has no more.
func (s Suite) stop(t *testing.T, c stopped, n int, restarted bool, seed uint64) (complete bool) {
	t.Helper()
	b := s.New(t).(Stoppable)
	b.Configure(s.Config)
	s.write(t, b, c.before, seed)
	writer, d := Subject(b), c.delta
	if restarted {
		writer, d = b.Restart(t), c.after
		writer.Configure(s.Config)
	}
	b.StopAfter(n)
	err := writer.Write(t.Context(), d)
	for i, p := range c.packets {
		if got := b.Send(p); !between(p, c.was[i], c.now[i], got, b.Atomic()) {
			t.Fatalf("seed %d: a write that ends after %d changes: %s: want %v or %v, got %v\n%s", seed, n, p, c.was[i], c.now[i], got, b.Dump())
		}
	}
	b.StopAfter(-1)
	next := b.Restart(t)
	next.Configure(s.Config)
	s.write(t, next, c.after, seed)
	if got := next.Dump(); got != c.whole {
		t.Fatalf("seed %d: after a write that ends after %d changes, the next run has\n%s\nbut writing everything at once leads to\n%s", seed, n, got, c.whole)
	}
	return err == nil
}

// between reports whether a packet may end there while outcomes change from was to now. Without atomic writes
// the source address that a packet gets and its endpoint may change one after the other.
func between(p Packet, was, now, got Outcomes, atomic bool) bool {
	if alike(was, now) {
		return alike(was, got)
	}
	if !reaches(p, was) || !reaches(p, now) {
		return true
	}
	for o := range got {
		if !has(was, o) && !has(now, o) && (atomic || !mixed(p, was, now, o)) {
			return false
		}
	}
	return true
}

// mixed reports whether a packet ends at an endpoint of one of the outcomes, with either source address. What
// an endpoint sends to itself must have the node's.
func mixed(p Packet, was, now Outcomes, got string) bool {
	end, node := strings.CutSuffix(got, masqueraded)
	if addr, err := netip.ParseAddrPort(end); !node && (err != nil || addr.Addr() == p.Src) {
		return false
	}
	return has(was, end) || has(was, end+masqueraded) || has(now, end) || has(now, end+masqueraded)
}

func has(o Outcomes, end string) bool {
	_, there := o[end]
	return there
}

// reaches reports whether a packet always ends at an endpoint.
func reaches(p Packet, o Outcomes) bool {
	for text := range o {
		if text == "drop" || text == "reject" || strings.HasPrefix(text, netip.AddrPortFrom(p.Dst, p.Port).String()) {
			return false
		}
	}
	return true
}
