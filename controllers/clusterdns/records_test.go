package clusterdns

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// started is a server over an API server with a few Services.
func started(t *testing.T, opts Options) (*controllertest.Cluster, *Server) {
	t.Helper()
	c := controllertest.Start(t, controllertest.Options{})
	for _, name := range []string{"a", "b"} {
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", name)})
	}
	controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("a", "web"), Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.20", Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "q", Port: 53, Protocol: corev1.ProtocolUDP}}}})
	controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("a", "db"), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "sql", Port: 5432, Protocol: corev1.ProtocolTCP}}}})
	controllertest.Create(c, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "db-1", Labels: map[string]string{discoveryv1.LabelServiceName: "db"}}, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.244.0.5"}, Hostname: new("db-0"), Conditions: discoveryv1.EndpointConditions{Ready: new(true)}},
			{Addresses: []string{"10.244.0.6"}},
			{Addresses: []string{"10.244.0.7"}, Hostname: new("db-2"), Conditions: discoveryv1.EndpointConditions{Ready: new(false)}},
		},
		Ports: []discoveryv1.EndpointPort{{Name: new("sql"), Port: new(int32(15432)), Protocol: new(corev1.ProtocolTCP)}}})
	controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("a", "empty"), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}})
	for name, target := range map[string]string{"inside": "web.a.svc.cluster.local", "outside": "example.com", "loop": "loop2.a.svc.cluster.local", "loop2": "loop.a.svc.cluster.local"} {
		controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("a", name), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: target}})
	}
	var s *Server
	c.Run(c.Manager("dns", func(m *manager.Manager) (err error) {
		if s, err = New(m, opts); err == nil {
			m.AddWithoutLeaderElection("dns", s)
		}
		return err
	}))
	return c, s
}

// query asks for "name type" and returns the result code and the records of each section, one per line.
func query(s *Server, name, qtype string) (rcode string, answer, ns, extra []string) {
	r := new(dns.Msg)
	r.SetQuestion(name, dns.StringToType[qtype])
	m, _ := s.respond(r, true)
	text := func(rrs []dns.RR) (out []string) {
		for _, rr := range rrs {
			if rr.Header().Rrtype == dns.TypeSOA {
				out = append(out, rr.Header().Name+" SOA")
				continue
			}
			out = append(out, strings.Join(strings.Fields(rr.String()), " "))
		}
		slices.Sort(out)
		return out
	}
	return dns.RcodeToString[m.Rcode], text(m.Answer), text(m.Ns), text(m.Extra)
}

func TestRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := started(t, Options{})
		c.Settle()
		const z = "cluster.local."
		for _, test := range []struct {
			name, qtype string
			rcode       string
			answer      []string
		}{
			{"web.a.svc." + z, "A", "NOERROR", []string{"web.a.svc." + z + " 5 IN A 10.96.0.20"}},
			{"WEB.a.SVC.Cluster.local.", "A", "NOERROR", []string{"WEB.a.SVC.Cluster.local. 5 IN A 10.96.0.20"}},
			{"web.a.svc." + z, "AAAA", "NOERROR", nil},
			{"web.b.svc." + z, "A", "NXDOMAIN", nil},
			{"web.a.svc." + z, "SRV", "NOERROR", []string{"web.a.svc." + z + " 5 IN SRV 0 100 53 web.a.svc." + z, "web.a.svc." + z + " 5 IN SRV 0 100 80 web.a.svc." + z}},
			{"_http._tcp.web.a.svc." + z, "SRV", "NOERROR", []string{"_http._tcp.web.a.svc." + z + " 5 IN SRV 0 100 80 web.a.svc." + z}},
			{"_http._udp.web.a.svc." + z, "SRV", "NXDOMAIN", nil},
			{"_http._tcp.web.a.svc." + z, "A", "NOERROR", nil},
			{"_tcp.web.a.svc." + z, "SRV", "NOERROR", nil},
			{"x.web.a.svc." + z, "A", "NXDOMAIN", nil},
			{"db.a.svc." + z, "A", "NOERROR", []string{"db.a.svc." + z + " 5 IN A 10.244.0.5", "db.a.svc." + z + " 5 IN A 10.244.0.6"}},
			{"db-0.db.a.svc." + z, "A", "NOERROR", []string{"db-0.db.a.svc." + z + " 5 IN A 10.244.0.5"}},
			{"10-244-0-6.db.a.svc." + z, "A", "NOERROR", []string{"10-244-0-6.db.a.svc." + z + " 5 IN A 10.244.0.6"}},
			{"db-2.db.a.svc." + z, "A", "NXDOMAIN", nil},
			{"_sql._tcp.db.a.svc." + z, "SRV", "NOERROR", []string{
				"_sql._tcp.db.a.svc." + z + " 5 IN SRV 0 100 15432 10-244-0-6.db.a.svc." + z, "_sql._tcp.db.a.svc." + z + " 5 IN SRV 0 100 15432 db-0.db.a.svc." + z}},
			{"empty.a.svc." + z, "A", "NXDOMAIN", nil},
			{"outside.a.svc." + z, "A", "NOERROR", []string{"outside.a.svc." + z + " 5 IN CNAME example.com."}},
			{"inside.a.svc." + z, "A", "NOERROR", []string{"inside.a.svc." + z + " 5 IN CNAME web.a.svc." + z, "web.a.svc." + z + " 5 IN A 10.96.0.20"}},
			{"inside.a.svc." + z, "CNAME", "NOERROR", []string{"inside.a.svc." + z + " 5 IN CNAME web.a.svc." + z}},
			{"loop.a.svc." + z, "A", "NOERROR", []string{"loop.a.svc." + z + " 5 IN CNAME loop2.a.svc." + z, "loop2.a.svc." + z + " 5 IN CNAME loop.a.svc." + z}},
			{"a.svc." + z, "A", "NOERROR", nil},
			{"nope.svc." + z, "A", "NXDOMAIN", nil},
			{"svc." + z, "A", "NOERROR", nil},
			{"other." + z, "A", "NXDOMAIN", nil},
			{z, "SOA", "NOERROR", []string{z + " SOA"}},
			{z, "NS", "NOERROR", []string{z + " 5 IN NS ns.dns." + z}},
			{"dns-version." + z, "TXT", "NOERROR", []string{"dns-version." + z + ` 5 IN TXT "1.1.0"`}},
			{"10-244-0-9.a.pod." + z, "A", "NOERROR", []string{"10-244-0-9.a.pod." + z + " 5 IN A 10.244.0.9"}},
			{"10-244-0-9.a.pod." + z, "AAAA", "NOERROR", nil},
			{"fd00--5.a.pod." + z, "AAAA", "NOERROR", []string{"fd00--5.a.pod." + z + " 5 IN AAAA fd00::5"}},
			{"10-244-0-9.nope.pod." + z, "A", "NXDOMAIN", nil},
			{"nonsense.a.pod." + z, "A", "NXDOMAIN", nil},
			{"a.pod." + z, "A", "NOERROR", nil},
			{"20.0.96.10.in-addr.arpa.", "PTR", "NOERROR", []string{"20.0.96.10.in-addr.arpa. 5 IN PTR web.a.svc." + z}},
			{"5.0.244.10.in-addr.arpa.", "PTR", "NOERROR", []string{"5.0.244.10.in-addr.arpa. 5 IN PTR db-0.db.a.svc." + z}},
			{"99.0.244.10.in-addr.arpa.", "PTR", "NXDOMAIN", nil},
			{"7.0.244.10.in-addr.arpa.", "PTR", "NXDOMAIN", nil},
			{"example.com.", "A", "REFUSED", nil},
		} {
			rcode, answer, ns, _ := query(s, test.name, test.qtype)
			require.Equal(t, test.rcode, rcode, "%s %s", test.name, test.qtype)
			require.Equal(t, test.answer, answer, "%s %s", test.name, test.qtype)
			if len(test.answer) == 0 && strings.HasSuffix(strings.ToLower(test.name), z) {
				require.Equal(t, []string{z + " SOA"}, ns, "%s %s", test.name, test.qtype)
			} else {
				require.Empty(t, ns)
			}
		}
		_, _, _, extra := query(s, "_sql._tcp.db.a.svc."+z, "SRV")
		require.Equal(t, []string{"10-244-0-6.db.a.svc." + z + " 5 IN A 10.244.0.6", "db-0.db.a.svc." + z + " 5 IN A 10.244.0.5"}, extra)

		// A change of the API is an answer as soon as the watch has delivered it.
		controllertest.Delete[*corev1.Service](c, "a", "web")
		c.Settle()
		rcode, _, _, _ := query(s, "web.a.svc."+z, "A")
		require.Equal(t, "NXDOMAIN", rcode)
	})
}

func TestVerifiedPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := started(t, Options{Pods: PodsVerified, Domain: "example.org"})
		controllertest.Create(c, &corev1.Pod{ObjectMeta: controllertest.Name("a", "p"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
		controllertest.UpdateStatus(c, "a", "p", func(p *corev1.Pod) {
			p.Status.PodIP, p.Status.PodIPs = "10.244.0.9", []corev1.PodIP{{IP: "10.244.0.9"}}
		})
		c.Settle()
		for name, want := range map[string]string{"10-244-0-9.a.pod.example.org.": "NOERROR", "10-244-0-9.b.pod.example.org.": "NXDOMAIN", "10-244-0-8.a.pod.example.org.": "NXDOMAIN"} {
			rcode, _, _, _ := query(s, name, "A")
			require.Equal(t, want, rcode, name)
		}
	})
}

// TestTruncation asks for more than fits: UDP gets a part with the truncation bit, TCP everything.
func TestTruncation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := started(t, Options{})
		big := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "empty-1", Labels: map[string]string{discoveryv1.LabelServiceName: "empty"}}, AddressType: discoveryv1.AddressTypeIPv4}
		for i := range 200 {
			big.Endpoints = append(big.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.244.9.%d", i+1)}})
		}
		controllertest.Create(c, big)
		c.Settle()
		r := new(dns.Msg)
		r.SetQuestion("empty.a.svc.cluster.local.", dns.TypeA)
		for _, test := range []struct {
			edns, limit int
			udp         bool
		}{{0, 512, true}, {100, 512, true}, {700, 700, true}, {65535, udpSize, true}, {0, 65535, false}} {
			q := r.Copy()
			if test.edns > 0 {
				q.SetEdns0(uint16(test.edns), false)
			}
			m, _ := s.respond(q, test.udp)
			wire, err := m.Pack()
			require.NoError(t, err)
			require.LessOrEqual(t, len(wire), test.limit)
			require.Equal(t, test.udp, m.Truncated)
			if !test.udp {
				require.Len(t, m.Answer, 200)
			} else {
				require.NotEmpty(t, m.Answer)
			}
			require.Equal(t, test.edns > 0, m.IsEdns0() != nil)
		}
	})
}

func TestRefusesWhatIsNoPlainQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := started(t, Options{})
		c.Settle()
		for want, change := range map[int]func(*dns.Msg){
			dns.RcodeNotImplemented: func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate },
			dns.RcodeFormatError:    func(m *dns.Msg) { m.Question = nil },
			dns.RcodeRefused:        func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS },
			dns.RcodeBadVers:        func(m *dns.Msg) { m.SetEdns0(1232, false); m.IsEdns0().SetVersion(1) },
		} {
			r := new(dns.Msg)
			r.SetQuestion("web.a.svc.cluster.local.", dns.TypeA)
			change(r)
			m, _ := s.respond(r, true)
			require.Equal(t, want, m.Rcode)
			_, err := m.Pack()
			require.NoError(t, err)
		}
		r := new(dns.Msg)
		r.Response = true
		m, _ := s.respond(r, true)
		require.Nil(t, m, "an answer is not answered")
	})
}
