package proxy_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// ipvsOn returns a configured backend of mode ipvs on a kernel.
func ipvsOn(t *testing.T, k *proxytest.Kernel, opts proxy.IPVSOptions) proxy.Backend {
	t.Helper()
	b, err := proxy.NewBackend(proxy.IPVS, proxy.IPv4, proxy.BackendOptions{Kernel: k, IPVS: opts})
	require.NoError(t, err)
	require.NoError(t, b.Probe(t.Context()))
	b.Configure(proxytest.Config(proxy.IPVS, proxy.IPv4))
	return b
}

func webTable() (*proxy.Table, func(eps ...proxytest.Endpoint)) {
	table := proxy.NewTable(proxy.IPv4, proxy.Node{Name: "here"})
	web := proxytest.Service("web", "10.96.0.1", nil, proxytest.Port("t", tcp, 80, 0), proxytest.Port("u", udp, 80, 0))
	return table, func(eps ...proxytest.Endpoint) { proxytest.Set(table, web, eps...) }
}

// TestSchedulers: the kernel is given the scheduler of the configuration; others are refused at the start,
// and those that this kernel does not have by Probe.
func TestSchedulers(t *testing.T) {
	for _, name := range append(proxy.Schedulers(), "") {
		k := proxytest.NewKernel()
		b := ipvsOn(t, k, proxy.IPVSOptions{Scheduler: name})
		table, set := webTable()
		set(here(0))
		require.NoError(t, b.Write(t.Context(), table.All()))
		ipvs, err := k.IPVS()
		require.NoError(t, err)
		servers, err := ipvs.VirtualServers(proxy.IPv4)
		require.NoError(t, err)
		require.Len(t, servers, 2)
		if name == "" {
			name = "rr"
		}
		require.Equal(t, name, servers[0].Scheduler)
		require.Equal(t, name == "mh", servers[0].SourcePort)
	}
	_, err := proxy.NewBackend(proxy.IPVS, proxy.IPv4, proxy.BackendOptions{Kernel: proxytest.NewKernel(), IPVS: proxy.IPVSOptions{Scheduler: "fastest"}})
	require.ErrorContains(t, err, `IPVS scheduler "fastest" is not one of rr, wrr, lc`)
	_, err = proxy.NewBackend(proxy.IPVS, proxy.IPv4, proxy.BackendOptions{Kernel: proxytest.NewKernel(), IPVS: proxy.IPVSOptions{TCPTimeout: time.Millisecond}})
	require.ErrorContains(t, err, "want whole seconds")
}

// TestEndpointsDrain: an endpoint of TCP that goes gets no new connections, and is deleted when its last one
// has ended; one of UDP when it does not serve any more. An endpoint that comes back is used again.
func TestEndpointsDrain(t *testing.T) {
	k := proxytest.NewKernel()
	b := ipvsOn(t, k, proxy.IPVSOptions{TCPTimeout: 15 * time.Minute})
	table, set := webTable()
	set(here(0), here(1))
	table.Take()
	require.NoError(t, b.Write(t.Context(), table.All()))
	require.Contains(t, k.Calls(), "timeouts 15m0s 0s 0s")
	server, endpoint := netip.MustParseAddrPort("10.96.0.1:80"), netip.AddrPortFrom(podIP(1), 8080)
	for _, protocol := range []corev1.Protocol{tcp, udp} {
		k.SetConnections(server, protocol, endpoint, 3)
	}
	packet := func(protocol string) proxytest.Outcomes {
		return k.Send(proxy.IPVS, proxytest.Packet{Src: podIP(5), Dst: server.Addr(), Protocol: protocol, Port: 80})
	}
	only := proxytest.Outcomes{"10.244.0.2:8080": 1}
	tend := func() []string {
		t.Helper()
		before := len(k.Calls())
		require.NoError(t, b.(proxy.Maintainer).Maintain(t.Context()))
		return k.Calls()[before:]
	}
	before := len(k.Calls())
	set(here(0))
	require.NoError(t, b.Write(t.Context(), table.Take()))
	calls := k.Calls()[before:]
	slices.Sort(calls)
	require.Equal(t, []string{"delete UDP 10.96.0.1:80 -> 10.244.0.3:8080", "set TCP 10.96.0.1:80 -> 10.244.0.3:8080 weight=0"}, calls)
	require.Equal(t, only, packet("tcp"))
	require.Equal(t, only, packet("udp"))
	require.Empty(t, tend(), "it has connections")

	set(here(0), here(1))
	require.NoError(t, b.Write(t.Context(), table.Take()))
	require.Len(t, packet("tcp"), 2)
	require.Empty(t, tend(), "it has come back")

	k.SetConnections(server, udp, endpoint, 3)
	set(here(0), proxytest.Endpoint{IP: podIP(1).String(), Node: "here", Leaving: true})
	before = len(k.Calls())
	require.NoError(t, b.Write(t.Context(), table.Take()))
	calls = k.Calls()[before:]
	slices.Sort(calls)
	require.Equal(t, []string{"set TCP 10.96.0.1:80 -> 10.244.0.3:8080 weight=0", "set UDP 10.96.0.1:80 -> 10.244.0.3:8080 weight=0"}, calls,
		"UDP flows stay while the endpoint serves")
	require.Equal(t, only, packet("udp"))

	set(here(0))
	before = len(k.Calls())
	require.NoError(t, b.Write(t.Context(), table.Take()))
	require.Equal(t, []string{"delete UDP 10.96.0.1:80 -> 10.244.0.3:8080"}, k.Calls()[before:])
	require.NoError(t, b.Write(t.Context(), table.All()), "a full write, as after a restart, continues")
	require.Empty(t, tend())
	k.SetConnections(server, tcp, endpoint, 0)
	require.Equal(t, []string{"delete TCP 10.96.0.1:80 -> 10.244.0.3:8080"}, tend())
	require.Empty(t, tend())
}

// TestExcludedVirtualServers: those of other programs stay.
func TestExcludedVirtualServers(t *testing.T) {
	k := proxytest.NewKernel()
	ipvs, err := k.IPVS()
	require.NoError(t, err)
	for _, a := range []string{"198.18.0.1:80", "198.18.1.1:80"} {
		require.NoError(t, ipvs.AddServer(proxy.VirtualServer{Addr: netip.MustParseAddrPort(a), Protocol: tcp, Scheduler: "wlc"}))
	}
	b := ipvsOn(t, k, proxy.IPVSOptions{ExcludeCIDRs: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/24")}})
	table, set := webTable()
	set(here(0))
	require.NoError(t, b.Write(t.Context(), table.All()))
	require.Contains(t, k.Dump(), "198.18.0.1:80")
	require.NotContains(t, k.Dump(), "198.18.1.1:80")
	require.NoError(t, b.Clean(t.Context()))
	require.Contains(t, k.Dump(), "198.18.0.1:80")
	require.NotContains(t, k.Dump(), "10.96.0.1")
}

// TestModesReplaceEachOther: after a start in another mode the rules of the one before are gone, in both
// directions between all modes, and packets go where they should at any time.
func TestModesReplaceEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		createWeb(c, 1, here(0))
		k := proxytest.NewKernel()
		run := func(mode proxy.Mode) {
			var p *proxy.Proxy
			m := c.Manager("proxy", func(m *manager.Manager) (err error) {
				p, err = proxy.New(m, proxy.Options{NodeName: "here", Kernel: k, Mode: mode, KeepRules: true})
				m.AddWithoutLeaderElection("proxy", p)
				return err
			})
			stop := c.Run(m)
			c.Sleep(3 * time.Second)
			stop()
			require.Equal(t, proxytest.Outcomes{"10.244.0.2:8080": 1}, k.Send(mode, proxytest.Packet{
				Src: podIP(5), Dst: netip.MustParseAddr("10.96.1.1"), Protocol: "tcp", Port: 80}), mode)
		}
		left := map[proxy.Mode]string{}
		// The order of jumps that modes have in common depends on which was there first.
		sorted := func() string {
			lines := strings.Split(k.Dump(), "\n")
			slices.Sort(lines)
			return strings.Join(lines, "\n")
		}
		for _, mode := range modes { // what each leaves on a kernel of its own
			k = proxytest.NewKernel()
			run(mode)
			left[mode] = sorted()
		}
		for _, from := range modes {
			for _, to := range modes {
				k = proxytest.NewKernel()
				run(from)
				run(to)
				require.Equal(t, left[to], sorted(), "%s after %s", to, from)
			}
		}
		require.NoError(t, proxy.Cleanup(t.Context(), k))
		require.Equal(t, proxytest.NewKernel().Dump(), k.Dump())
	})
}

// TestFallBack: where the kernel has no IPVS, the proxy uses iptables if it may, with an event of the Node;
// otherwise it fails and says why.
func TestFallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "here")})
		createWeb(c, 1, here(0))
		k := proxytest.NewKernel()
		k.NoIPVS = true
		var p *proxy.Proxy
		m := c.Manager("proxy", func(m *manager.Manager) (err error) {
			p, err = proxy.New(m, proxy.Options{NodeName: "here", Kernel: k, Mode: proxy.IPVS, FallBack: true})
			m.AddWithoutLeaderElection("proxy", p)
			return err
		})
		c.Run(m)
		c.Sleep(3 * time.Second)
		require.Equal(t, proxy.IPTables, p.Mode())
		require.Equal(t, proxytest.Outcomes{"10.244.0.2:8080": 1}, k.Send(proxy.IPTables, proxytest.Packet{
			Src: podIP(5), Dst: netip.MustParseAddr("10.96.1.1"), Protocol: "tcp", Port: 80}))
		var said []string
		for _, e := range controllertest.List[*corev1.Event](c, "") {
			said = append(said, e.InvolvedObject.Kind+" "+e.Reason+" "+e.Message)
		}
		require.Contains(t, strings.Join(said, "\n"), "Node FallBackToIPTables Mode ipvs is not available, the proxy uses iptables: proxy: the kernel has no IPVS")
	})
	k := proxytest.NewKernel()
	k.NoIPVS = true
	b, err := proxy.NewBackend(proxy.IPVS, proxy.IPv4, proxy.BackendOptions{Kernel: k})
	require.NoError(t, err)
	require.ErrorIs(t, b.Probe(t.Context()), proxy.ErrNoIPVS)
}

// TestIPVSIsChecked: what others remove comes back, and draining endpoints are looked at in time.
func TestIPVSIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, k, _ := onFake(t, proxy.Options{Mode: proxy.IPVS, IPVS: proxy.IPVSOptions{StrictARP: true}})
		createWeb(c, 1, here(0))
		c.Sleep(3 * time.Second)
		require.Equal(t, proxy.IPVS, p.Mode())
		before := k.Dump()
		require.Contains(t, before, "TCP 10.96.1.1:80 rr affinity=0\n    -> 10.244.0.2:8080 weight=1")
		for name, want := range map[string]string{"net/ipv4/vs/conntrack": "1", "net/ipv4/conf/all/arp_ignore": "1", "net/ipv4/conf/all/arp_announce": "2"} {
			got, err := k.Sysctl(name)
			require.NoError(t, err)
			require.Equal(t, want, got, name)
		}
		k.Flush()
		c.Sleep(31 * time.Second)
		require.Equal(t, before, k.Dump())
		ipvs, err := k.IPVS()
		require.NoError(t, err)
		require.NoError(t, ipvs.DeleteServer(proxy.VirtualServer{Addr: netip.MustParseAddrPort("10.96.1.1:80"), Protocol: tcp}))
		c.Sleep(31 * time.Second)
		require.Equal(t, before, k.Dump())
	})
}
