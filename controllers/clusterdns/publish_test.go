package clusterdns

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func addrs(list ...string) (out []netip.Addr) {
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// published returns the cluster IPs and the addresses of the endpoints.
func published(c *controllertest.Cluster) (ips, endpoints []string) {
	ips = controllertest.Get[*corev1.Service](c, "kube-system", "kube-dns").Spec.ClusterIPs
	for _, sl := range controllertest.List[*discoveryv1.EndpointSlice](c, "kube-system") {
		for _, e := range sl.Endpoints {
			endpoints = append(endpoints, e.Addresses...)
		}
	}
	return ips, endpoints
}

// TestPublication creates the Service, repairs what others change, gains and loses a family, and leaves a
// Service with another cluster IP alone.
func TestPublication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := controllertest.Options{}
		opts.Server.Builtin.ServiceCIDR = "10.96.0.0/16,fd00:96::/112"
		c := controllertest.Start(t, opts)
		run := func(p Publication) (stop func()) {
			var s *Server
			stop = c.Run(c.Manager("dns", func(m *manager.Manager) (err error) {
				if s, err = New(m, Options{}); err != nil {
					return err
				}
				return AddPublication(m, p)
			}))
			c.Sleep(5 * time.Second)
			if p.ClusterIPs[0] == netip.MustParseAddr("10.96.0.10") {
				_, answer, _, _ := query(s, "ns.dns.cluster.local.", "A")
				require.Equal(t, []string{"ns.dns.cluster.local. 5 IN A 10.96.0.10"}, answer)
			}
			return stop
		}
		one := Publication{ClusterIPs: addrs("10.96.0.10"), Addresses: addrs("192.0.2.1", "192.0.2.2"), Port: 1053}
		stop := run(one)
		ips, eps := published(c)
		require.Equal(t, []string{"10.96.0.10"}, ips)
		require.Equal(t, []string{"192.0.2.1", "192.0.2.2"}, eps)

		controllertest.Update(c, "kube-system", "kube-dns", func(s *corev1.Service) {
			s.Spec.Selector, s.Spec.Ports = map[string]string{"app": "x"}, s.Spec.Ports[:1]
		})
		controllertest.Update(c, "kube-system", "kube-dns-ipv4", func(s *discoveryv1.EndpointSlice) { s.Endpoints, s.Labels = nil, nil })
		c.Sleep(5 * time.Second)
		svc := controllertest.Get[*corev1.Service](c, "kube-system", "kube-dns")
		require.Empty(t, svc.Spec.Selector)
		require.Len(t, svc.Spec.Ports, 2)
		require.EqualValues(t, 1053, svc.Spec.Ports[0].TargetPort.IntValue())
		_, eps = published(c)
		require.Equal(t, []string{"192.0.2.1", "192.0.2.2"}, eps)

		controllertest.Delete[*corev1.Service](c, "kube-system", "kube-dns")
		controllertest.Delete[*discoveryv1.EndpointSlice](c, "kube-system", "kube-dns-ipv4")
		c.Sleep(5 * time.Second)
		ips, eps = published(c)
		require.Equal(t, []string{"10.96.0.10"}, ips)
		require.Len(t, eps, 2)
		stop()

		stop = run(Publication{ClusterIPs: addrs("10.96.0.10", "fd00:96::10"), Addresses: addrs("2001:db8::1", "192.0.2.1"), Port: 2053})
		ips, eps = published(c)
		require.Equal(t, []string{"10.96.0.10", "fd00:96::10"}, ips)
		require.Equal(t, []string{"192.0.2.1", "2001:db8::1"}, eps)
		stop()

		stop = run(one)
		ips, eps = published(c)
		require.Equal(t, []string{"10.96.0.10"}, ips)
		require.Equal(t, []string{"192.0.2.1", "192.0.2.2"}, eps)
		stop()

		run(Publication{ClusterIPs: addrs("10.96.0.11"), Addresses: addrs("192.0.2.1"), Port: 1053})
		ips, _ = published(c)
		require.Equal(t, []string{"10.96.0.10"}, ips, "it cannot be changed")
		events := controllertest.List[*corev1.Event](c, "kube-system")
		require.NotEmpty(t, events)
		require.Equal(t, "ClusterIPDiffers", events[0].Reason)
	})
}

func TestBadPublications(t *testing.T) {
	good := Publication{ClusterIPs: addrs("10.96.0.10"), Addresses: addrs("192.0.2.1"), Port: 53}
	for says, change := range map[string]func(p *Publication){
		"want one, or one of each family":        func(p *Publication) { p.ClusterIPs = addrs("10.96.0.10", "10.96.0.11") },
		"no server has an address of its family": func(p *Publication) { p.ClusterIPs = addrs("fd00:96::10") },
		"want one that pods can reach":           func(p *Publication) { p.Addresses = addrs("127.0.0.1") },
		"needs a cluster IP and a port":          func(p *Publication) { p.Port = 0 },
	} {
		p := good
		change(&p)
		require.ErrorContains(t, AddPublication(manager.New(offline{}, manager.Options{}), p), says)
	}
}
