package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// onFake runs a proxy on a kernel that is not there, on virtual time.
func onFake(t *testing.T, opts Options) (c *controllertest.Cluster, p *Proxy, k *fakeKernel, stop func()) {
	t.Helper()
	c = controllertest.Start(t, controllertest.Options{})
	controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "here")})
	controllertest.UpdateStatus(c, "", "here", func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddr.String()}}
	})
	k = newFakeKernel()
	opts.NodeName, opts.Kernel, opts.DetectLocal = "here", k, DetectLocal{CIDRs: []netip.Prefix{podNet}}
	m := c.Manager("proxy", func(m *manager.Manager) (err error) {
		if p, err = New(m, opts); err == nil {
			m.AddWithoutLeaderElection("proxy", p)
		}
		return err
	})
	stop = c.Run(m)
	c.Settle()
	return c, p, k, stop
}

// createWeb makes Service default/webN with one endpoint.
func createWeb(c *controllertest.Cluster, n int, eps ...where) *corev1.Service {
	svc := service(fmt.Sprintf("web%d", n), fmt.Sprintf("10.96.1.%d", n), func(s *corev1.Service) { s.Namespace = "default" }, port("t", tcp, 80, 0))
	controllertest.Create(c, svc)
	controllertest.Create(c, slice(svc, discoveryv1.AddressTypeIPv4, eps...))
	return svc
}

// to is where a packet from a pod to an address goes.
func (k *fakeKernel) to(ip string) map[string]float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return simulate(NFTables, k.tables, packet{src: podIP(3), dst: netip.MustParseAddr(ip), proto: "tcp", port: 80})
}

func TestChangesAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, k, _ := onFake(t, Options{})
		time.Sleep(2 * time.Second)
		c.Settle()
		before := len(k.writes)
		for i := range 50 {
			createWeb(c, i+1, here(0))
			c.Settle()
		}
		require.LessOrEqual(t, len(k.writes)-before, 1, "it has been quiet: the first change is written at once, the others wait")
		time.Sleep(time.Second)
		c.Settle()
		require.LessOrEqual(t, len(k.writes)-before, 2)
		for i := range 50 {
			require.Equal(t, map[string]float64{podIP(0).String() + ":8080": 1}, k.to(fmt.Sprintf("10.96.1.%d", i+1)))
		}
		for _, text := range k.writes[before:] {
			require.NotContains(t, text, "delete table", "only changes are written")
		}
	})
}

func TestFailedWritesKeepTheLastRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := 0
		c, p, k, _ := onFake(t, Options{Metrics: Metrics{Failed: func(Family) { failed++ }}})
		createWeb(c, 1, here(0))
		time.Sleep(2 * time.Second)
		c.Settle()
		good := map[string]float64{podIP(0).String() + ":8080": 1}
		require.Equal(t, good, k.to("10.96.1.1"))

		// The first failure is of the change only: everything is written instead, at once.
		k.mu.Lock()
		k.refuse = func(text string) error {
			if !strings.Contains(text, "delete table") {
				return errors.New("no changes today")
			}
			return nil
		}
		k.mu.Unlock()
		createWeb(c, 2, here(1))
		time.Sleep(2 * time.Second)
		c.Settle()
		require.Zero(t, failed)
		require.Equal(t, map[string]float64{podIP(1).String() + ":8080": 1}, k.to("10.96.1.2"))

		// Now nothing works. The last rules stay, and attempts become rare.
		k.mu.Lock()
		k.refuse = func(string) error { return errors.New("nothing works") }
		k.mu.Unlock()
		createWeb(c, 3, here(2))
		time.Sleep(2 * time.Minute)
		c.Settle()
		require.Equal(t, good, k.to("10.96.1.1"))
		require.NotZero(t, failed)
		require.Less(t, failed, 15)
		require.Equal(t, http.StatusServiceUnavailable, status(p.Healthz()))

		k.mu.Lock()
		k.refuse = nil
		k.mu.Unlock()
		time.Sleep(time.Minute)
		c.Settle()
		require.Equal(t, map[string]float64{podIP(2).String() + ":8080": 1}, k.to("10.96.1.3"))
		require.Equal(t, http.StatusOK, status(p.Healthz()))
	})
}

func TestRulesSomebodyRemovedComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, k, stop := onFake(t, Options{})
		createWeb(c, 1, here(0))
		time.Sleep(2 * time.Second)
		c.Settle()
		k.mu.Lock()
		delete(k.tables, "ip")
		k.mu.Unlock()
		time.Sleep(31 * time.Second)
		c.Settle()
		require.Equal(t, map[string]float64{podIP(0).String() + ":8080": 1}, k.to("10.96.1.1"))
		stop()
		require.Empty(t, k.tables, "the end leaves nothing")
	})
}

// Rules that an earlier run has left go, in a family that has no Services now too.
func TestLeftoversOfAFamilyWithoutServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		k := newFakeKernel()
		k.tables["ip6"] = newFakeTable()
		m := c.Manager("proxy", func(m *manager.Manager) error { return Add(m, Options{NodeName: "here", Kernel: k}) })
		c.Run(m)
		c.Sleep(2 * time.Second)
		k.mu.Lock()
		defer k.mu.Unlock()
		require.Contains(t, k.tables, "ip")
		require.NotContains(t, k.tables, "ip6")
	})
}

// sticky is a Service whose clients stay with their endpoint for so long.
func sticky(n int, seconds int32) *corev1.Service {
	return service(fmt.Sprintf("web%d", n), fmt.Sprintf("10.96.1.%d", n), func(s *corev1.Service) {
		s.Namespace, s.Spec.SessionAffinity = "default", corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}, port("t", tcp, 80, 0))
}

// The entries of sets that the kernel makes stay when all is written: at a restart, after rules failed to be
// written, and when the time of one Service changes, which clears that Service's alone.
func TestStickySessionsOutliveWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, k, stop := onFake(t, Options{KeepRules: true})
		for n := range 2 {
			svc := controllertest.Create(c, sticky(n+1, 3600))
			controllertest.Create(c, slice(svc, discoveryv1.AddressTypeIPv4, here(n)))
		}
		c.Sleep(3 * time.Second)
		client := "10.244.0.9"
		k.mu.Lock()
		var sets []string
		for name, s := range k.tables["ip"].sets {
			if strings.HasPrefix(name, "affinity-") {
				sets = append(sets, name)
				s[client] = ""
			}
		}
		k.mu.Unlock()
		require.Len(t, sets, 2)
		kept := func() (n int) {
			k.mu.Lock()
			defer k.mu.Unlock()
			for _, name := range sets {
				if _, there := k.tables["ip"].sets[name][client]; there {
					n++
				}
			}
			return n
		}
		// A change that fails: all is written instead.
		k.mu.Lock()
		k.refuse = func(string) error { k.refuse = nil; return errors.New("once") }
		k.mu.Unlock()
		createWeb(c, 3, here(2))
		c.Sleep(3 * time.Second)
		require.Equal(t, 2, kept())
		// A restart, with a chain and a set that are not wanted any more.
		stop()
		k.mu.Lock()
		require.NoError(t, k.tables["ip"].nftApply("add chain", "stale", ""))
		require.NoError(t, k.tables["ip"].nftApply("add map", "stale-map", "{ type ipv4_addr : verdict ; }"))
		require.NoError(t, k.tables["ip"].nftApply("add element", "stale-map", "{ 10.0.0.1 : goto stale }"))
		k.mu.Unlock()
		c.Run(c.Manager("again", func(m *manager.Manager) error {
			return Add(m, Options{NodeName: "here", Kernel: k, DetectLocal: DetectLocal{CIDRs: []netip.Prefix{podNet}}})
		}))
		c.Sleep(3 * time.Second)
		require.Equal(t, 2, kept())
		require.Equal(t, map[string]float64{podIP(2).String() + ":8080": 1}, k.to("10.96.1.3"))
		k.mu.Lock()
		require.NotContains(t, k.tables["ip"].chains, "stale")
		require.NotContains(t, k.tables["ip"].sets, "stale-map")
		k.mu.Unlock()
		// Another time.
		controllertest.Update(c, "default", "web1", func(s *corev1.Service) { s.Spec.SessionAffinityConfig = sticky(1, 60).Spec.SessionAffinityConfig })
		c.Sleep(3 * time.Second)
		require.Equal(t, 1, kept())
		require.Equal(t, map[string]float64{podIP(0).String() + ":8080": 1}, k.to("10.96.1.1"))
	})
}

// A look that fails says nothing about the rules: they are neither written again nor is a jump added twice.
func TestALookThatFailsIsNoRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, k, _ := onFake(t, Options{})
		createWeb(c, 1, here(0))
		c.Sleep(3 * time.Second)
		k.mu.Lock()
		before := len(k.writes)
		k.looks = errors.New("Could not process rule: Device or resource busy")
		k.mu.Unlock()
		c.Sleep(2 * time.Minute)
		k.mu.Lock()
		defer k.mu.Unlock()
		require.Zero(t, len(k.writes)-before)
	})
	for code, want := range map[int]string{0: "there", 1: "inserted", 2: "error", 4: "error"} {
		k := &iptablesCode{Kernel: newFakeKernel(), code: code}
		a := &applier{mode: IPTables, family: IPv4, kernel: k, log: slog.New(slog.DiscardHandler), last: &Ruleset{Mode: IPTables}}
		err := a.ensure(t.Context(), iptJumps[0])
		there, lookErr := a.intact(t.Context())
		switch want {
		case "there":
			require.NoError(t, err)
			require.Zero(t, k.inserted)
			require.True(t, there)
		case "inserted":
			require.NoError(t, err)
			require.Equal(t, 1, k.inserted)
			require.NoError(t, lookErr)
			require.False(t, there)
		default:
			require.Error(t, err)
			require.Zero(t, k.inserted)
			require.Error(t, lookErr)
			require.Error(t, a.cleanupJumps(t.Context()))
		}
	}
}

// iptablesCode is iptables whose looks end with a code.
type iptablesCode struct {
	Kernel
	code, inserted int
}

type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }
func (c exitCode) ExitCode() int { return int(c) }

func (k *iptablesCode) Run(_ context.Context, _ []byte, _ string, args ...string) ([]byte, error) {
	if slices.Contains(args, "-I") {
		k.inserted++
		return nil, nil
	}
	if k.code != 0 && (slices.Contains(args, "-C") || slices.Contains(args, "-S")) {
		return nil, &CommandError{Command: "iptables", Err: exitCode(k.code)}
	}
	return nil, nil
}

// Health checks are served where node ports are.
func TestHealthChecksAreServedOnNodePortAddresses(t *testing.T) {
	for what, test := range map[string]struct {
		opts Options
		want []string
	}{
		"the node's address": {Options{}, []string{"tcp4 " + nodeAddr.String() + ":31999"}},
		"a range":            {Options{NodePortAddresses: []string{"127.0.0.0/8", "2001:db8::/32"}}, nil},
		"all":                {Options{NodePortAddresses: []string{"0.0.0.0/0", "::/0"}}, []string{"tcp4 0.0.0.0:31999", "tcp6 [::]:31999"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, _, k, _ := onFake(t, test.opts)
			controllertest.Create(c, service("web", "10.96.0.20", func(s *corev1.Service) {
				s.Namespace, s.Spec.Type = "default", corev1.ServiceTypeLoadBalancer
				s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 31999
			}, port("t", tcp, 80, 30080)))
			c.Sleep(1500 * time.Millisecond)
			k.mu.Lock()
			defer k.mu.Unlock()
			require.Equal(t, test.want, k.listens, what)
		})
	}
}

// A flow to an endpoint that serves stays, whatever hints, policies and the endpoint's coming end say about
// new ones.
func TestFlowsToServingEndpointsStay(t *testing.T) {
	svc := service("dns", "10.96.0.10", func(s *corev1.Service) { s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal) }, port("", udp, 53, 0))
	leaving := where{ip: podIP(1).String(), node: "there", leaving: true}
	hinted := where{ip: podIP(2).String(), node: "there", forZones: []string{"z9"}}
	mine := where{ip: podIP(0).String(), node: "here", forZones: []string{"z1"}}
	ports := Plan(IPv4, svc, []*discoveryv1.EndpointSlice{slice(svc, discoveryv1.AddressTypeIPv4, leaving, hinted, mine)}, Node{Name: "here", Zone: "z1"})
	require.Equal(t, []netip.AddrPort{netip.AddrPortFrom(podIP(0), 8080)}, ports[0].Cluster)
	stale := staleFlows(ports)
	to := netip.MustParseAddrPort("10.96.0.10:53")
	for i := range 3 {
		require.False(t, stale(Flow{To: to, Server: netip.AddrPortFrom(podIP(i), 8080)}), "endpoint %d", i)
	}
	require.True(t, stale(Flow{To: to, Server: netip.MustParseAddrPort("10.244.0.77:8080")}), "an endpoint that is gone")
	require.True(t, stale(Flow{To: to, Server: to}), "not translated")
}

func TestTimesOfNft(t *testing.T) {
	for text, want := range map[string]string{"3h": "10800s", "1d2h3m4s": "93784s", "10s": "10s", "soon": "soon", "5ms": "5ms"} {
		require.Equal(t, want, seconds(text))
	}
}

func TestKeepRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, k, stop := onFake(t, Options{KeepRules: true})
		stop()
		require.Contains(t, k.tables, "ip")
		require.NotContains(t, k.tables, "ip6", "no service has an address of that family")
	})
}

func TestNodeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, k, _ := onFake(t, Options{NodePortAddresses: []string{Primary}})
		createWeb(c, 1, where{ip: podIP(0).String(), forZones: []string{"z1"}}, where{ip: podIP(1).String(), forZones: []string{"z2"}})
		time.Sleep(2 * time.Second)
		c.Settle()
		require.Len(t, k.to("10.96.1.1"), 2, "hints do not count on a node without a zone")
		controllertest.Update(c, "", "here", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelTopologyZone: "z2"} })
		time.Sleep(2 * time.Second)
		c.Settle()
		require.Equal(t, map[string]float64{podIP(1).String() + ":8080": 1}, k.to("10.96.1.1"))
		controllertest.Update(c, "", "here", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		})
		time.Sleep(2 * time.Second)
		c.Settle()
		require.Equal(t, http.StatusServiceUnavailable, status(p.Healthz()), "load balancers should look elsewhere")
		require.Equal(t, http.StatusOK, status(p.Livez()), "but the proxy is well")
	})
}

func TestUDPFlowsAreLookedAtOnlyWhenUDPChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, k, _ := onFake(t, Options{})
		createWeb(c, 1, here(0))
		time.Sleep(2 * time.Second)
		c.Settle()
		require.Zero(t, k.deleted)
		svc := service("dns", "10.96.2.1", func(s *corev1.Service) { s.Namespace = "default" }, port("d", udp, 53, 0))
		controllertest.Create(c, svc)
		controllertest.Create(c, slice(svc, discoveryv1.AddressTypeIPv4, here(0)))
		time.Sleep(2 * time.Second)
		c.Settle()
		require.Equal(t, 1, k.deleted)
	})
}

func TestOptions(t *testing.T) {
	for says, opts := range map[string]Options{
		"NodeName":      {},
		"not one of":    {NodeName: "n", Mode: "ipvs"},
		"MasqueradeBit": {NodeName: "n", MasqueradeBit: new(32)},
		"neither":       {NodeName: "n", NodePortAddresses: []string{"10.0.0.1"}},
		"longer than":   {NodeName: "n", SyncPeriod: time.Second, MinSyncPeriod: time.Minute},
	} {
		opts.Kernel = newFakeKernel()
		_, err := opts.withDefaults()
		require.ErrorContains(t, err, says)
	}
	opts, err := Options{NodeName: "n", Kernel: newFakeKernel(), NodePortAddresses: []string{"192.0.2.0/24", "127.0.0.0/8", "2001:db8::/32"}}.withDefaults()
	require.NoError(t, err)
	local := []netip.Addr{nodeAddr, netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("198.51.100.1")}
	require.Equal(t, []netip.Addr{nodeAddr}, opts.config(IPv4, nodeFacts{}, local).NodePortAddrs, "nftables does not serve localhost")
	require.Empty(t, opts.config(IPv6, nodeFacts{}, local).NodePortAddrs)
}

func TestPlanLeavesOut(t *testing.T) {
	ports := port("t", tcp, 80, 0)
	for what, svc := range map[string]*corev1.Service{
		"headless":      service("s", corev1.ClusterIPNone, nil, ports),
		"without an IP": service("s", "", nil, ports),
		"external name": service("s", "10.96.0.1", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, ports),
		"another proxy": service("s", "10.96.0.1", func(s *corev1.Service) { s.Labels = map[string]string{LabelProxyName: ""} }, ports),
		"other family":  service("s", "fd00::1", nil, ports),
	} {
		require.Empty(t, Plan(IPv4, svc, nil, Node{Name: "here"}), what)
	}
	svc := service("s", "10.96.0.1", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"fd00::1", "203.0.113.1", "nonsense"} }, ports)
	bad := slice(svc, discoveryv1.AddressTypeIPv4, where{ip: "fd00::5"}, where{ip: "x"}, here(0), where{ip: podIP(0).String(), leaving: true})
	got := Plan(IPv4, svc, []*discoveryv1.EndpointSlice{bad, slice(svc, discoveryv1.AddressTypeFQDN, where{ip: "a.b"})}, Node{Name: "here"})
	require.Len(t, got, 1)
	require.Equal(t, []netip.Addr{netip.MustParseAddr("203.0.113.1")}, got[0].ExternalIPs)
	require.Equal(t, []netip.AddrPort{netip.AddrPortFrom(podIP(0), 8080)}, got[0].Cluster, "an endpoint in two slices counts once")
}
