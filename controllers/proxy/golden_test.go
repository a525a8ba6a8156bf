package proxy_test

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

var update = flag.Bool("update", false, "write the golden files again")

// TestGolden compares the rules of a few Services with testdata, which is easier to read than the code.
func TestGolden(t *testing.T) {
	web := proxytest.Service("web", "10.96.0.1", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, proxytest.Port("http", tcp, 80, 30080))
	lb := proxytest.Service("lb", "10.96.0.2", func(s *corev1.Service) {
		s.Spec.Type = corev1.ServiceTypeLoadBalancer
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		s.Spec.HealthCheckNodePort = 30099
		s.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.2"}}
	}, proxytest.Port("", tcp, 443, 30443))
	sticky := proxytest.Service("sticky", "10.96.0.3", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }, proxytest.Port("dns", udp, 53, 0))
	empty := proxytest.Service("empty", "10.96.0.4", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.4"} }, proxytest.Port("", tcp, 80, 0))
	eps := map[*corev1.Service][]proxytest.Endpoint{
		web: {here(0), elsewhere(1)}, lb: {here(0), elsewhere(1)}, sticky: {here(2)},
	}
	table := proxy.NewTable(proxy.IPv4, proxy.Node{Name: proxytest.NodeName})
	for _, svc := range []*corev1.Service{web, lb, sticky, empty} {
		proxytest.Set(table, svc, eps[svc]...)
	}
	for _, mode := range modes {
		cfg := proxytest.Config(mode, proxy.IPv4)
		cfg.LocalhostNodePorts = mode == proxy.IPTables
		var got string
		if mode == proxy.IPVS { // whose rules are always the same: what it makes of Services is in the kernel
			k := proxytest.NewKernel()
			require.NoError(t, ipvsOn(t, k, proxy.IPVSOptions{}).Write(t.Context(), table.All()))
			got = k.Dump()
		} else {
			var err error
			got, err = proxy.Script(mode, cfg, table.All())
			require.NoError(t, err)
		}
		path := filepath.Join("testdata", string(mode)+".golden")
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got, "after a change that is meant: go test -run TestGolden -update")
	}
}

// TestManyTransactions: what is written in several transactions conforms as well, whichever of them is the
// last that takes effect. In each that iptables is given, all chains are declared that a rule of it is added
// to.
func TestManyTransactions(t *testing.T) {
	proxy.WithLimit(t, 4)
	for _, mode := range scripted {
		suite := proxytest.Suite{
			Family: proxy.IPv4, Traits: proxytest.TraitsOf(mode), Config: proxytest.Config(mode, proxy.IPv4),
			New: func(t testing.TB) proxytest.Subject { return proxytest.NewOnKernel(t, mode, proxy.IPv4) },
		}
		proxytest.Run(t, suite, seeds.Of(t, 24))
	}
	text, err := proxy.Script(proxy.IPTables, proxytest.Config(proxy.IPTables, proxy.IPv4), many(100, 2).All())
	require.NoError(t, err)
	require.Greater(t, strings.Count(text, "\nCOMMIT\n"), 50)
}

// TestFirstWriteTakesEffectAtOnce: a table that nftables is given in several transactions does nothing before
// the last of them, and everything after it.
func TestFirstWriteTakesEffectAtOnce(t *testing.T) {
	proxy.WithLimit(t, 4)
	table := many(10, 2)
	svc, _ := manyObjects(3, 2)
	p := proxytest.Packet{Src: proxytest.PodAddr(proxy.IPv4, 0), Dst: netip.MustParseAddr(svc.Spec.ClusterIP), Protocol: "tcp", Port: 80}
	before := proxytest.NewOnKernel(t, proxy.NFTables, proxy.IPv4).Send(p)
	for n := 0; ; n++ {
		b := proxytest.NewOnKernel(t, proxy.NFTables, proxy.IPv4)
		b.Configure(proxytest.Config(proxy.NFTables, proxy.IPv4))
		b.StopAfter(n)
		if err := b.Write(t.Context(), table.All()); err != nil {
			require.Equal(t, before, b.Send(p), "after %d transactions", n)
			continue
		}
		require.Equal(t, 5, n, "the shared sets, three groups of ports, and what leads to them")
		require.Len(t, b.Send(p), 2, "both endpoints")
		return
	}
}
