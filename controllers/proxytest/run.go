package proxytest

import (
	"math"
	"testing"

	"github.com/keelson-dev/keelson/controllers/proxy"
)

// Subject is a backend together with the packets that it forwards.
type Subject interface {
	proxy.Backend
	// Send returns what becomes of a packet.
	Send(p Packet) Outcomes
	// Dump describes everything that was written. Backends with equal dumps forward alike.
	Dump() string
}

// Suite says what Run tests.
type Suite struct {
	// Family is that of the backend; 0 means IPv4.
	Family proxy.Family
	// Traits are what the backend may do differently from others.
	Traits Traits
	// Config is what the backend is configured with.
	Config proxy.Config
	// New returns a backend that nothing was written to.
	New func(t testing.TB) Subject
}

// Run tests a backend with the histories of worlds of the given seeds: it writes changes, and sends packets
// after each. The packets must end where the Services say, and the changes must add up to what a backend has
// that was given everything at once. A [Stoppable] backend is also stopped at every point of some writes.
func Run(t *testing.T, s Suite, seeds []uint64) {
	t.Helper()
	if s.Family == 0 {
		s.Family = proxy.IPv4
	}
	for i, seed := range seeds {
		s.history(t, seed)
		if i%4 == 0 && !t.Failed() { // each is dozens of writes
			s.stops(t, seed)
		}
		if t.Failed() {
			return
		}
	}
}

func (s Suite) table() *proxy.Table {
	return proxy.NewTable(s.Family, proxy.Node{Name: NodeName, Zone: NodeZone})
}

// write writes a delta, the first one by a Configure.
func (s Suite) write(t *testing.T, b Subject, d *proxy.Delta, seed uint64) {
	t.Helper()
	if err := b.Write(t.Context(), d); err != nil {
		t.Fatalf("seed %d: write: %v", seed, err)
	}
}

func (s Suite) history(t *testing.T, seed uint64) {
	t.Helper()
	w, table, b := NewWorld(s.Family, seed), s.table(), s.New(t)
	if !b.Configure(s.Config) || b.Configure(s.Config) {
		t.Fatalf("seed %d: Configure reports a change where there is none, or none where there is one", seed)
	}
	table.Take()
	s.write(t, b, table.All(), seed)
	for step := range 6 {
		for range 1 + w.rng.IntN(3) {
			w.Change(table)
		}
		s.write(t, b, table.Take(), seed)
		if d := table.Take(); !d.Empty() {
			t.Fatalf("seed %d: nothing has changed, but Take returns %+v", seed, d)
		}
		s.whole(t, w, b, seed)
		for range 20 {
			p := w.Packet()
			if want, got := w.Expect(s.Traits, p), b.Send(p); !alike(want, got) {
				t.Fatalf("seed %d, step %d: %s: want %v, got %v\n%s", seed, step, p, want, got, b.Dump())
			}
		}
		if ok, err := b.Check(t.Context()); !ok || err != nil {
			t.Fatalf("seed %d: Check returns %v, %v for what was just written", seed, ok, err)
		}
		if step == 3 { // a full write over what is there changes nothing
			before := b.Dump()
			s.write(t, b, table.All(), seed)
			if after := b.Dump(); after != before {
				t.Fatalf("seed %d: a full write has changed what was there:\n%s\nto\n%s", seed, before, after)
			}
		}
	}
	if err := b.Clean(t.Context()); err != nil {
		t.Fatalf("seed %d: clean: %v", seed, err)
	}
	if got, want := b.Dump(), s.New(t).Dump(); got != want {
		t.Fatalf("seed %d: Clean leaves\n%s", seed, got)
	}
}

// whole compares with a backend that is given everything at once, from a table that was filled in another
// order.
func (s Suite) whole(t *testing.T, w *World, b Subject, seed uint64) {
	t.Helper()
	table, other := s.table(), s.New(t)
	other.Configure(s.Config)
	w.Fill(table)
	s.write(t, other, table.All(), seed)
	if got, want := b.Dump(), other.Dump(); got != want {
		t.Fatalf("seed %d: changes lead to\n%s\nbut writing everything at once to\n%s", seed, got, want)
	}
}

func alike(a, b Outcomes) bool {
	if len(a) != len(b) {
		return false
	}
	for k, p := range a {
		if q, there := b[k]; !there || math.Abs(p-q) > 1e-6 {
			return false
		}
	}
	return true
}

// OnKernel is a Subject of one of the package's own modes that writes to a Kernel.
type OnKernel struct {
	proxy.Backend
	Kernel *Kernel
	mode   proxy.Mode
	family proxy.Family
}

// NewOnKernel returns the backend of a mode and family on a kernel of its own.
func NewOnKernel(t testing.TB, mode proxy.Mode, f proxy.Family) *OnKernel {
	return onKernel(t, NewKernel(), mode, f)
}

func onKernel(t testing.TB, k *Kernel, mode proxy.Mode, f proxy.Family) *OnKernel {
	b, err := proxy.NewBackend(mode, f, proxy.BackendOptions{Kernel: k})
	if err == nil {
		err = b.Probe(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return &OnKernel{b, k, mode, f}
}

// Send implements Subject.
func (o *OnKernel) Send(p Packet) Outcomes { return o.Kernel.Send(o.mode, p) }

// Dump implements Subject.
func (o *OnKernel) Dump() string { return o.Kernel.Dump() }
