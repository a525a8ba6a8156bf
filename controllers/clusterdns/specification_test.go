package clusterdns

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// specified is a server of a cluster with both families: a Service with cluster IPs, a headless one with
// endpoints of all sorts, one whose endpoints are not ready, and one with an external name.
func specified(t *testing.T) *Server {
	t.Helper()
	opts := controllertest.Options{}
	opts.Server.Builtin.ServiceCIDR = "10.96.0.0/16,fd00:96::/112"
	c := controllertest.Start(t, opts)
	controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "ns")})
	both := new(corev1.IPFamilyPolicyRequireDualStack)
	controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("ns", "web"), Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.20", ClusterIPs: []string{"10.96.0.20", "fd00:96::20"}, IPFamilyPolicy: both,
		Ports: []corev1.ServicePort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}, {Name: "q", Port: 53, Protocol: corev1.ProtocolUDP}}}})
	controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("ns", "plain"), Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.21", Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}}})
	for _, name := range []string{"pets", "down", "none"} {
		controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("ns", name), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, IPFamilyPolicy: both, Ports: []corev1.ServicePort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}}}})
	}
	slice := func(service string, family discoveryv1.AddressType, eps ...discoveryv1.Endpoint) {
		controllertest.Create(c, &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "ns", Name: service + "-" + strings.ToLower(string(family)), Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: family, Endpoints: eps,
			Ports: []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(8443)), Protocol: new(corev1.ProtocolTCP)}, {Name: new("q"), Port: new(int32(5353)), Protocol: new(corev1.ProtocolUDP)}}})
	}
	at := func(address, hostname string, ready bool) discoveryv1.Endpoint {
		e := discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}
		if hostname != "" {
			e.Hostname = &hostname
		}
		return e
	}
	slice("pets", discoveryv1.AddressTypeIPv4, at("10.244.0.1", "cat", true), at("10.244.0.2", "", true), at("10.244.0.3", "dog", false), at("10.244.0.4", "twins", true), at("10.244.0.5", "twins", true))
	slice("pets", discoveryv1.AddressTypeIPv6, at("fd00:244::1", "cat", true))
	slice("down", discoveryv1.AddressTypeIPv4, at("10.244.0.9", "x", false))
	controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("ns", "out"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "www.example.com"}})
	var s *Server
	c.Run(c.Manager("dns", func(m *manager.Manager) (err error) {
		s, err = New(m, Options{})
		return err
	}))
	c.Settle()
	return s
}

// TestSpecification goes through Kubernetes' DNS-based service discovery section by section, for both
// families.
func TestSpecification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := specified(t)
		const svc, reverse6 = ".ns.svc.cluster.local.", "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.%s.0.0.d.f.ip6.arpa."
		for _, test := range []struct {
			section, name, qtype string
			want                 []string // what follows the type in each record
		}{
			{"2.1 comparisons", "WEB.Ns.sVc.CLUSTER.local.", "A", []string{"10.96.0.20"}},
			{"2.2 schema version", "dns-version.cluster.local.", "TXT", []string{`"1.1.0"`}},
			{"2.3.1 cluster IP", "web" + svc, "A", []string{"10.96.0.20"}},
			{"2.3.1 cluster IP", "web" + svc, "AAAA", []string{"fd00:96::20"}},
			{"2.3.1 one family", "plain" + svc, "AAAA", nil},
			{"2.3.2 ports", "_https._tcp.web" + svc, "SRV", []string{"0 100 443 web" + svc}},
			{"2.3.2 ports", "_q._udp.web" + svc, "SRV", []string{"0 100 53 web" + svc}},
			{"2.3.2 another protocol", "_https._udp.web" + svc, "SRV", []string{"NXDOMAIN"}},
			{"2.3.2 without a name", "_._tcp.plain" + svc, "SRV", []string{"NXDOMAIN"}},
			{"2.3.3 reverse", "20.0.96.10.in-addr.arpa.", "PTR", []string{"web" + svc}},
			{"2.3.3 reverse", "0.2.0.0." + fmt.Sprintf(reverse6, "6.9.0.0"), "PTR", []string{"web" + svc}},
			{"2.4.1 endpoints", "pets" + svc, "A", []string{"10.244.0.1", "10.244.0.2", "10.244.0.4", "10.244.0.5"}},
			{"2.4.1 endpoints", "pets" + svc, "AAAA", []string{"fd00:244::1"}},
			{"2.4.1 none ready", "down" + svc, "A", []string{"NXDOMAIN"}},
			{"2.4.1 none at all", "none" + svc, "A", []string{"NXDOMAIN"}},
			{"2.4.1 hostname", "cat.pets" + svc, "A", []string{"10.244.0.1"}},
			{"2.4.1 hostname", "cat.pets" + svc, "AAAA", []string{"fd00:244::1"}},
			{"2.4.1 hostname of several", "twins.pets" + svc, "A", []string{"10.244.0.4", "10.244.0.5"}},
			{"2.4.1 hostname, not ready", "dog.pets" + svc, "A", []string{"NXDOMAIN"}},
			{"2.4.1 without hostname", "10-244-0-2.pets" + svc, "A", []string{"10.244.0.2"}},
			{"2.4.2 ports", "_https._tcp.pets" + svc, "SRV", []string{"0 100 8443 10-244-0-2.pets" + svc, "0 100 8443 cat.pets" + svc, "0 100 8443 twins.pets" + svc}},
			{"2.4.2 ports", "_q._udp.pets" + svc, "SRV", []string{"0 100 5353 10-244-0-2.pets" + svc, "0 100 5353 cat.pets" + svc, "0 100 5353 twins.pets" + svc}},
			{"2.4.2 none ready", "_https._tcp.down" + svc, "SRV", []string{"NXDOMAIN"}},
			{"2.4.3 reverse", "1.0.244.10.in-addr.arpa.", "PTR", []string{"cat.pets" + svc}},
			{"2.4.3 reverse", "1.0.0.0." + fmt.Sprintf(reverse6, "4.4.2.0"), "PTR", []string{"cat.pets" + svc}},
			{"2.4.3 without hostname", "2.0.244.10.in-addr.arpa.", "PTR", []string{"10-244-0-2.pets" + svc}},
			{"2.4.3 not ready", "3.0.244.10.in-addr.arpa.", "PTR", []string{"NXDOMAIN"}},
			{"2.5 external name", "out" + svc, "A", []string{"www.example.com."}},
			{"2.5 external name", "out" + svc, "CNAME", []string{"www.example.com."}},
			{"2.6 pods", "10-1-2-3.ns.pod.cluster.local.", "A", []string{"10.1.2.3"}},
		} {
			rcode, answer, _, _ := query(s, test.name, test.qtype)
			var got []string
			for _, rr := range answer {
				fields := strings.SplitN(rr, " ", 5)
				require.Equal(t, []string{test.name, "5", "IN"}, fields[:3], test.section)
				got = append(got, fields[4])
			}
			if rcode != "NOERROR" {
				got = append(got, rcode)
			}
			require.Equal(t, test.want, got, "%s: %s %s", test.section, test.name, test.qtype)
		}
		_, _, _, extra := query(s, "_https._tcp.web"+svc, "SRV")
		require.Equal(t, []string{"web" + svc + " 5 IN A 10.96.0.20", "web" + svc + " 5 IN AAAA fd00:96::20"}, extra)
	})
}
