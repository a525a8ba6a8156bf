package clusterdns

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// offline is a connection that only knows the kinds.
type offline struct{ client.Conn }

func (offline) Scheme() *scheme.Scheme { return api.Scheme() }

// FuzzRespond sends bytes off the wire through the handler: whatever they are, nothing panics and what is
// answered can be packed, is an answer to this message, and fits its transport.
func FuzzRespond(f *testing.F) {
	s, err := New(manager.New(offline{}, manager.Options{}), Options{})
	if err != nil {
		f.Fatal(err)
	}
	s.synced = func() bool { return true }
	for _, name := range []string{"web.a.svc.cluster.local.", "_x._tcp.a.b.svc.cluster.local.", "1-2-3-4.a.pod.cluster.local.", "1.0.0.10.in-addr.arpa.", ".", `a\.b.svc.cluster.local.`} {
		for _, t := range []uint16{dns.TypeA, dns.TypeSRV, dns.TypePTR, dns.TypeANY} {
			m := new(dns.Msg)
			m.SetQuestion(name, t)
			m.SetEdns0(4096, true)
			b, err := m.Pack()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, true)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, overUDP bool) {
		r := new(dns.Msg)
		if r.Unpack(b) != nil {
			return
		}
		m, _ := s.respond(r, overUDP)
		if m == nil {
			if !r.Response {
				t.Fatal("a query without an answer")
			}
			return
		}
		out, err := m.Pack()
		if err != nil {
			t.Fatalf("an answer that cannot be sent: %v\n%v", err, m)
		}
		if m.Id != r.Id || !m.Response {
			t.Fatal("not an answer to this")
		}
		if overUDP && len(out) > udpSize {
			t.Fatalf("%d bytes do not fit", len(out))
		}
	})
}
