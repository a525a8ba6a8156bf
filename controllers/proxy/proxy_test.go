package proxy_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// status is the code of a handler's response.
func status(h http.Handler) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, nil)
	return w.Code
}

// onFake runs a proxy on a kernel that is not there, on virtual time.
func onFake(t *testing.T, opts proxy.Options) (c *controllertest.Cluster, p *proxy.Proxy, k *proxytest.Kernel, stop func()) {
	t.Helper()
	dual := controllertest.Options{}
	dual.Server.Builtin.ServiceCIDR = "10.96.0.0/16,fd00:96::/112"
	c = controllertest.Start(t, dual)
	controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "here")})
	controllertest.UpdateStatus(c, "", "here", func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeIP.String()}}
	})
	k = proxytest.NewKernel()
	opts.NodeName, opts.Kernel, opts.DetectLocal = "here", k, proxy.DetectLocal{CIDRs: []netip.Prefix{podNet}}
	m := c.Manager("proxy", func(m *manager.Manager) (err error) {
		if p, err = proxy.New(m, opts); err == nil {
			m.AddWithoutLeaderElection("proxy", p)
		}
		return err
	})
	stop = c.Run(m)
	c.Settle()
	return c, p, k, stop
}

// createWeb makes Service default/webN with one endpoint.
func createWeb(c *controllertest.Cluster, n int, eps ...proxytest.Endpoint) *corev1.Service {
	svc := proxytest.Service(fmt.Sprintf("web%d", n), fmt.Sprintf("10.96.1.%d", n), func(s *corev1.Service) { s.Namespace = "default" }, proxytest.Port("t", tcp, 80, 0))
	controllertest.Create(c, svc)
	controllertest.Create(c, proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, eps...))
	return svc
}

// to is where a packet from a pod to an address goes.
func to(k *proxytest.Kernel, ip string) proxytest.Outcomes {
	return k.Send(proxy.NFTables, proxytest.Packet{Src: podIP(3), Dst: netip.MustParseAddr(ip), Protocol: "tcp", Port: 80})
}

func TestChangesAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, k, _ := onFake(t, proxy.Options{})
		time.Sleep(2 * time.Second)
		c.Settle()
		before := len(k.Writes())
		for i := range 50 {
			createWeb(c, i+1, here(0))
			c.Settle()
		}
		require.LessOrEqual(t, len(k.Writes())-before, 1, "it has been quiet: the first change is written at once, the others wait")
		time.Sleep(time.Second)
		c.Settle()
		require.LessOrEqual(t, len(k.Writes())-before, 2)
		for i := range 50 {
			require.Equal(t, proxytest.Outcomes{podIP(0).String() + ":8080": 1}, to(k, fmt.Sprintf("10.96.1.%d", i+1)))
		}
		for _, text := range k.Writes()[before:] {
			require.NotContains(t, text, "delete table", "only changes are written")
		}
	})
}

func TestFailedWritesKeepTheLastRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed, partial := 0, 0
		c, p, k, _ := onFake(t, proxy.Options{Metrics: proxy.Metrics{Failed: func(proxy.Family) { failed++ }, PartialFailed: func(proxy.Family) { partial++ }}})
		createWeb(c, 1, here(0))
		c.Sleep(2 * time.Second)
		good := proxytest.Outcomes{podIP(0).String() + ":8080": 1}
		require.Equal(t, good, to(k, "10.96.1.1"))

		// The first failure is of the change only: everything is written instead, at once.
		k.SetRefuse(func(_, text string) error {
			if !strings.Contains(text, "add table") {
				return errors.New("no changes today")
			}
			return nil
		})
		createWeb(c, 2, here(1))
		c.Sleep(2 * time.Second)
		require.Zero(t, failed)
		require.NotZero(t, partial)
		require.Equal(t, proxytest.Outcomes{podIP(1).String() + ":8080": 1}, to(k, "10.96.1.2"))

		// Now nothing works. The last rules stay, and attempts become rare.
		k.SetRefuse(func(string, string) error { return errors.New("nothing works") })
		createWeb(c, 3, here(2))
		c.Sleep(2 * time.Minute)
		require.Equal(t, good, to(k, "10.96.1.1"))
		require.NotZero(t, failed)
		require.Less(t, failed, 15)
		require.Equal(t, http.StatusServiceUnavailable, status(p.Healthz()))

		k.SetRefuse(nil)
		c.Sleep(time.Minute)
		require.Equal(t, proxytest.Outcomes{podIP(2).String() + ":8080": 1}, to(k, "10.96.1.3"))
		require.Equal(t, http.StatusOK, status(p.Healthz()))
	})
}

// TestFullWrites: everything is written at the start and once an hour, and changes alone in between.
func TestFullWrites(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			all, some := 0, 0
			c, _, k, _ := onFake(t, proxy.Options{Mode: mode, Metrics: proxy.Metrics{Synced: func(f proxy.Family, _ time.Duration, full bool) {
				if full {
					all++
				} else {
					some++
				}
			}}})
			c.Sleep(time.Minute)
			first := all // the node, which may be read after the first write, causes another one
			require.Positive(t, first, mode)
			createWeb(c, 1, here(0))
			c.Sleep(58 * time.Minute)
			require.Equal(t, first, all, mode)
			require.NotZero(t, some, mode)
			before := k.Dump()
			c.Sleep(2 * time.Minute)
			require.Equal(t, first+1, all, mode)
			require.Equal(t, before, k.Dump(), mode)
		})
	}
}

// TestLargeTablesHaveNoComments: with more than 1,000 endpoints, rules of iptables have no comments, and
// changes add up to a full write there too.
func TestLargeTablesHaveNoComments(t *testing.T) {
	const comment = "ns/s00001 -> 10.200.0.1:8080"
	write := func(d *proxy.Delta, b *proxytest.OnKernel) string {
		b.Configure(proxytest.Config(proxy.IPTables, proxy.IPv4))
		require.NoError(t, b.Write(t.Context(), d))
		return b.Dump()
	}
	small, large := many(100, 10), many(101, 10)
	require.Contains(t, write(small.All(), proxytest.NewOnKernel(t, proxy.IPTables, proxy.IPv4)), comment)
	b := proxytest.NewOnKernel(t, proxy.IPTables, proxy.IPv4)
	require.NotContains(t, write(large.All(), b), comment)
	large.Take()
	setMany(large, 1, 9)
	changed := write(large.Take(), b)
	again := many(101, 10)
	setMany(again, 1, 9)
	require.Equal(t, write(again.All(), proxytest.NewOnKernel(t, proxy.IPTables, proxy.IPv4)), changed)
}

// A Service that the kernel refuses keeps its previous rules and costs the others nothing. It is named in an
// event, counted, and tried again.
func TestARefusedServiceCostsItselfOnly(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			var refused int
			c, p, k, _ := onFake(t, proxy.Options{Mode: mode, Metrics: proxy.Metrics{Refused: func(f proxy.Family, n int) {
				if f == proxy.IPv4 {
					refused = n
				}
			}}})
			send := func(ip string) proxytest.Outcomes {
				return k.Send(mode, proxytest.Packet{Src: podIP(3), Dst: netip.MustParseAddr(ip), Protocol: "tcp", Port: 80})
			}
			at := func(i int) proxytest.Outcomes { return proxytest.Outcomes{podIP(i).String() + ":8080": 1} }
			createWeb(c, 1, here(0))
			c.Sleep(2 * time.Second)
			k.SetRefuse(func(_, text string) error {
				for line := range strings.Lines(text) {
					named := strings.Contains(line, "default/web1") || strings.HasPrefix(line, "10.96.1.1:80 -> ")
					if named && strings.Contains(line, podIP(1).String()) {
						return errors.New("Numerical result out of range")
					}
				}
				return nil
			})
			controllertest.Update(c, "default", "web1-ipv4", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{podIP(1).String()} })
			createWeb(c, 2, here(2))
			c.Sleep(5 * time.Second)
			require.Equal(t, 1, refused)
			require.Equal(t, at(0), send("10.96.1.1"), "the previous rules")
			require.Equal(t, at(2), send("10.96.1.2"))
			createWeb(c, 3, here(0))
			c.Sleep(5 * time.Second)
			require.Equal(t, at(0), send("10.96.1.3"))
			require.Equal(t, at(0), send("10.96.1.1"))
			require.Equal(t, http.StatusOK, status(p.Healthz()))
			found := false
			for _, e := range controllertest.List[*corev1.Event](c, "default") {
				found = found || e.InvolvedObject.Name == "web1" && e.Reason == "FailedToWriteRules" && strings.Contains(e.Message, "out of range")
			}
			require.True(t, found, "an event of the Service")

			k.SetRefuse(nil)
			c.Sleep(3 * time.Minute)
			require.Equal(t, at(1), send("10.96.1.1"), "it is tried again")
			require.Zero(t, refused)
		})
	}
}

func TestRemovedRulesAreRestored(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			c, _, k, stop := onFake(t, proxy.Options{Mode: mode})
			createWeb(c, 1, here(0))
			c.Sleep(2 * time.Second)
			k.Flush()
			c.Sleep(31 * time.Second)
			require.Equal(t, proxytest.Outcomes{podIP(0).String() + ":8080": 1},
				k.Send(mode, proxytest.Packet{Src: podIP(3), Dst: netip.MustParseAddr("10.96.1.1"), Protocol: "tcp", Port: 80}))
			stop()
			require.Equal(t, proxytest.NewKernel().Dump(), k.Dump(), "the end leaves nothing")
		})
	}
}

// Rules that an earlier run has left go, in a family that has no Services now too.
func TestLeftoversOfAFamilyWithoutServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		k := proxytest.NewKernel()
		require.NoError(t, k.NFT("add table ip6 kube-proxy"))
		m := c.Manager("proxy", func(m *manager.Manager) error { return proxy.Add(m, proxy.Options{NodeName: "here", Kernel: k}) })
		c.Run(m)
		c.Sleep(2 * time.Second)
		require.True(t, k.HasTable(proxy.IPv4))
		require.False(t, k.HasTable(proxy.IPv6))
	})
}

// Rules of an IPv6 Service that was deleted while no proxy ran go in every mode, with other Services of the
// family and without.
func TestRulesOfServicesDeletedMeanwhile(t *testing.T) {
	for _, mode := range modes {
		for _, others := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				c, _, k, stop := onFake(t, proxy.Options{Mode: mode, KeepRules: true})
				add := func(name, ip string) {
					svc := proxytest.Service(name, ip, func(s *corev1.Service) {
						s.Namespace, s.Spec.IPFamilies = "default", []corev1.IPFamily{corev1.IPv6Protocol}
					}, proxytest.Port("t", tcp, 80, 0))
					controllertest.Create(c, svc)
					controllertest.Create(c, proxytest.Slice(svc, discoveryv1.AddressTypeIPv6, proxytest.Endpoint{IP: "fd00:244::2", Node: "here"}))
				}
				createWeb(c, 1, here(0))
				add("six", "fd00:96::6")
				if others {
					add("seven", "fd00:96::7")
				}
				c.Sleep(2 * time.Second)
				require.Contains(t, k.Dump(), "fd00:96::6", mode)
				stop()
				controllertest.Delete[*corev1.Service](c, "default", "six")
				c.Run(c.Manager("again", func(m *manager.Manager) error {
					return proxy.Add(m, proxy.Options{NodeName: "here", Kernel: k, Mode: mode})
				}))
				c.Sleep(2 * time.Second)
				require.NotContains(t, k.Dump(), "fd00:96::6", mode)
				require.Equal(t, others, strings.Contains(k.Dump(), "fd00:96::7"), mode)
				require.Contains(t, k.Dump(), "10.96.1.1", mode)
			})
		}
	}
}

// sticky is a Service whose clients stay with their endpoint for so long.
func sticky(n int, seconds int32) *corev1.Service {
	return proxytest.Service(fmt.Sprintf("web%d", n), fmt.Sprintf("10.96.1.%d", n), func(s *corev1.Service) {
		s.Namespace, s.Spec.SessionAffinity = "default", corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}, proxytest.Port("t", tcp, 80, 0))
}

// The entries of sets that the kernel makes stay when all is written: at a restart, after rules failed to be
// written, and when the time of one Service changes, which clears that Service's alone.
func TestStickySessionsOutliveWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, k, stop := onFake(t, proxy.Options{KeepRules: true})
		for n := range 2 {
			svc := controllertest.Create(c, sticky(n+1, 3600))
			controllertest.Create(c, proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, here(n)))
		}
		c.Sleep(3 * time.Second)
		client := "10.244.0.9"
		var sets []string
		for _, name := range k.Sets(proxy.IPv4) {
			if strings.HasPrefix(name, "affinity-") {
				sets = append(sets, name)
				k.AddElement(proxy.IPv4, name, client)
			}
		}
		require.Len(t, sets, 2)
		kept := func() (n int) {
			for _, name := range sets {
				if _, there := k.Set(proxy.IPv4, name)[client]; there {
					n++
				}
			}
			return n
		}
		// A change that fails: all is written instead.
		once := true
		k.SetRefuse(func(string, string) error {
			if once {
				once = false
				return errors.New("once")
			}
			return nil
		})
		createWeb(c, 3, here(2))
		c.Sleep(3 * time.Second)
		require.Equal(t, 2, kept())
		// A restart, with a chain and a set that are not wanted any more.
		stop()
		require.NoError(t, k.NFT("add chain ip kube-proxy stale\nadd map ip kube-proxy stale-map { type ipv4_addr : verdict ; }\nadd element ip kube-proxy stale-map { 10.0.0.1 : goto stale }"))
		c.Run(c.Manager("again", func(m *manager.Manager) error {
			return proxy.Add(m, proxy.Options{NodeName: "here", Kernel: k, DetectLocal: proxy.DetectLocal{CIDRs: []netip.Prefix{podNet}}})
		}))
		c.Sleep(3 * time.Second)
		require.Equal(t, 2, kept())
		require.Equal(t, proxytest.Outcomes{podIP(2).String() + ":8080": 1}, to(k, "10.96.1.3"))
		require.NotContains(t, k.Dump(), "stale")
		// Another time.
		controllertest.Update(c, "default", "web1", func(s *corev1.Service) { s.Spec.SessionAffinityConfig = sticky(1, 60).Spec.SessionAffinityConfig })
		c.Sleep(3 * time.Second)
		require.Equal(t, 1, kept())
		require.Equal(t, proxytest.Outcomes{podIP(0).String() + ":8080": 1}, to(k, "10.96.1.1"))
	})
}

// A look that fails says nothing about the rules: they are not written again.
func TestALookThatFailsIsNoRemoval(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			c, _, k, _ := onFake(t, proxy.Options{Mode: mode})
			createWeb(c, 1, here(0))
			c.Sleep(3 * time.Second)
			before := len(k.Writes())
			k.SetLooks(errors.New("Could not process rule: Device or resource busy"))
			c.Sleep(2 * time.Minute)
			require.Len(t, k.Writes(), before)
		})
	}
}

// Health checks are served where node ports are.
func TestHealthChecksAreServedOnNodePortAddresses(t *testing.T) {
	for what, test := range map[string]struct {
		opts proxy.Options
		want []string
	}{
		"the node's address": {proxy.Options{}, []string{"tcp4 " + nodeIP.String() + ":31999"}},
		"a range":            {proxy.Options{NodePortAddresses: []string{"127.0.0.0/8", "fd00::/8"}}, nil},
		"all":                {proxy.Options{NodePortAddresses: []string{"0.0.0.0/0", "::/0"}}, []string{"tcp4 0.0.0.0:31999", "tcp6 [::]:31999"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, _, k, _ := onFake(t, test.opts)
			controllertest.Create(c, proxytest.Service("web", "10.96.0.20", func(s *corev1.Service) {
				s.Namespace, s.Spec.Type = "default", corev1.ServiceTypeLoadBalancer
				s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 31999
			}, proxytest.Port("t", tcp, 80, 30080)))
			c.Sleep(1500 * time.Millisecond)
			require.Subset(t, k.Listens(), test.want, what)
			if test.want == nil {
				require.Empty(t, k.Listens(), what)
			}
		})
	}
}

// A flow to an endpoint that serves stays, whatever hints, policies and the endpoint's coming end say about
// new ones.
func TestFlowsToServingEndpointsStay(t *testing.T) {
	svc := proxytest.Service("dns", "10.96.0.10", func(s *corev1.Service) { s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal) }, proxytest.Port("", udp, 53, 0))
	leaving := proxytest.Endpoint{IP: podIP(1).String(), Node: "there", Leaving: true}
	hinted := proxytest.Endpoint{IP: podIP(2).String(), Node: "there", Zones: []string{"z9"}}
	mine := proxytest.Endpoint{IP: podIP(0).String(), Node: "here", Zones: []string{"z1"}}
	ports := proxy.Plan(proxy.IPv4, svc, []*discoveryv1.EndpointSlice{proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, leaving, hinted, mine)}, proxy.Node{Name: "here", Zone: "z1"})
	require.Equal(t, []netip.AddrPort{netip.AddrPortFrom(podIP(0), 8080)}, ports[0].Cluster)
	stale := proxy.StaleFlows(ports)
	to := netip.MustParseAddrPort("10.96.0.10:53")
	for i := range 3 {
		require.False(t, stale(proxy.Flow{To: to, Server: netip.AddrPortFrom(podIP(i), 8080)}), "endpoint %d", i)
	}
	require.True(t, stale(proxy.Flow{To: to, Server: netip.MustParseAddrPort("10.244.0.77:8080")}), "an endpoint that is gone")
	require.True(t, stale(proxy.Flow{To: to, Server: to}), "not translated")
}

func TestKeepRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, k, stop := onFake(t, proxy.Options{KeepRules: true})
		stop()
		require.True(t, k.HasTable(proxy.IPv4))
		require.False(t, k.HasTable(proxy.IPv6), "no service has an address of that family")
	})
}

func TestNodeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, k, _ := onFake(t, proxy.Options{NodePortAddresses: []string{proxy.Primary}})
		createWeb(c, 1, proxytest.Endpoint{IP: podIP(0).String(), Zones: []string{"z1"}}, proxytest.Endpoint{IP: podIP(1).String(), Zones: []string{"z2"}})
		time.Sleep(2 * time.Second)
		c.Settle()
		require.Len(t, to(k, "10.96.1.1"), 2, "hints do not count on a node without a zone")
		controllertest.Update(c, "", "here", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelTopologyZone: "z2"} })
		time.Sleep(2 * time.Second)
		c.Settle()
		require.Equal(t, proxytest.Outcomes{podIP(1).String() + ":8080": 1}, to(k, "10.96.1.1"))
		controllertest.Update(c, "", "here", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		})
		time.Sleep(2 * time.Second)
		c.Settle()
		require.Equal(t, http.StatusServiceUnavailable, status(p.Healthz()), "load balancers should look elsewhere")
		require.Equal(t, http.StatusOK, status(p.Livez()), "but the proxy is well")
	})
}

// Flows are looked through only when an endpoint of a UDP port ceases to serve, or the first one comes.
func TestFlowsAreLookedAtOnlyWhenTheyMayBeStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, k, _ := onFake(t, proxy.Options{})
		looks := func() int { _, n := k.Flows(); return n }
		createWeb(c, 1, here(0))
		c.Sleep(2 * time.Second)
		require.Zero(t, looks())
		svc := proxytest.Service("dns", "10.96.2.1", func(s *corev1.Service) { s.Namespace = "default" }, proxytest.Port("d", udp, 53, 0))
		controllertest.Create(c, svc)
		controllertest.Create(c, proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, here(0)))
		c.Sleep(2 * time.Second)
		require.Equal(t, 1, looks())
		front := netip.MustParseAddrPort("10.96.2.1:53")
		for i := range 2 {
			k.AddFlow(proxy.Flow{Protocol: udp, To: front, Server: netip.AddrPortFrom(podIP(i), 8080)})
		}
		change := func(eps ...proxytest.Endpoint) {
			controllertest.Update(c, "default", "dns-ipv4", func(s *discoveryv1.EndpointSlice) {
				s.Endpoints = proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, eps...).Endpoints
			})
			c.Sleep(2 * time.Second)
		}
		change(here(0), here(1))
		require.Equal(t, 1, looks(), "another endpoint")
		change(proxytest.Endpoint{IP: podIP(0).String(), Node: "here", Leaving: true}, here(1))
		require.Equal(t, 1, looks(), "one terminates and still serves")
		change(here(1))
		flows, n := k.Flows()
		require.Equal(t, 2, n)
		require.Equal(t, []proxy.Flow{{Protocol: udp, To: front, Server: netip.AddrPortFrom(podIP(1), 8080)}}, flows)
	})
}

func TestPlanLeavesOut(t *testing.T) {
	ports := proxytest.Port("t", tcp, 80, 0)
	for what, svc := range map[string]*corev1.Service{
		"headless":      proxytest.Service("s", corev1.ClusterIPNone, nil, ports),
		"without an IP": proxytest.Service("s", "", nil, ports),
		"external name": proxytest.Service("s", "10.96.0.1", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, ports),
		"another proxy": proxytest.Service("s", "10.96.0.1", func(s *corev1.Service) { s.Labels = map[string]string{proxy.LabelProxyName: ""} }, ports),
		"other family":  proxytest.Service("s", "fd00::1", nil, ports),
	} {
		require.Empty(t, proxy.Plan(proxy.IPv4, svc, nil, proxy.Node{Name: "here"}), what)
	}
	svc := proxytest.Service("s", "10.96.0.1", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"fd00::1", "203.0.113.1", "nonsense"} }, ports)
	bad := proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, proxytest.Endpoint{IP: "fd00::5"}, proxytest.Endpoint{IP: "x"}, here(0), proxytest.Endpoint{IP: podIP(0).String(), Leaving: true})
	got := proxy.Plan(proxy.IPv4, svc, []*discoveryv1.EndpointSlice{bad, proxytest.Slice(svc, discoveryv1.AddressTypeFQDN, proxytest.Endpoint{IP: "a.b"})}, proxy.Node{Name: "here"})
	require.Len(t, got, 1)
	require.Equal(t, []netip.Addr{netip.MustParseAddr("203.0.113.1")}, got[0].ExternalIPs)
	require.Equal(t, []netip.AddrPort{netip.AddrPortFrom(podIP(0), 8080)}, got[0].Cluster, "an endpoint in two slices counts once")
}

// TestPrepare: the kernel parameters are set without a cluster, and nothing else is done.
func TestPrepare(t *testing.T) {
	k := proxytest.NewKernel()
	sysctl := func(name string) string {
		v, err := k.Sysctl(name)
		require.NoError(t, err)
		return v
	}
	opts := proxy.Options{NodeName: "here", Kernel: k, Mode: proxy.IPVS, Conntrack: proxy.Conntrack{UDP: time.Minute}}
	require.NoError(t, proxy.Prepare(t.Context(), opts))
	require.Equal(t, "1", sysctl("net/ipv4/ip_forward"))
	require.Equal(t, "1", sysctl("net/ipv4/vs/conntrack"))
	require.Equal(t, "60", sysctl("net/netfilter/nf_conntrack_udp_timeout"))
	require.Equal(t, proxytest.NewKernel().Dump(), k.Dump())

	k.NoIPVS = true
	require.ErrorIs(t, proxy.Prepare(t.Context(), opts), proxy.ErrNoIPVS)
	opts.FallBack = true
	require.NoError(t, proxy.Prepare(t.Context(), opts))
	require.Equal(t, "1", sysctl("net/ipv4/conf/all/route_localnet"))
}

// TestServiceCIDRs: traffic to unknown cluster IPs is dropped in the ranges of the API as they are now, which
// may overlap.
func TestServiceCIDRs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, k, _ := onFake(t, proxy.Options{})
		createWeb(c, 1, here(0))
		forward := func(ip string) proxytest.Outcomes {
			return proxytest.Outcomes{netip.AddrPortFrom(netip.MustParseAddr(ip), 80).String(): 1}
		}
		drop := proxytest.Outcomes{"drop": 1}
		set := func(name string, cidrs ...string) {
			controllertest.Create(c, &networkingv1.ServiceCIDR{ObjectMeta: controllertest.Name("", name), Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}})
			c.Sleep(2 * time.Second)
		}
		c.Sleep(2 * time.Second)
		require.Equal(t, drop, to(k, "10.96.7.7"), "the range of the server")
		require.Equal(t, forward("172.20.0.7"), to(k, "172.20.0.7"))
		set("small", "172.20.0.0/24", "fd00:96::/112")
		require.Equal(t, drop, to(k, "172.20.0.7"))
		require.Equal(t, forward("172.20.1.7"), to(k, "172.20.1.7"))
		set("large", "172.20.0.0/16")
		require.Equal(t, drop, to(k, "172.20.0.7"))
		require.Equal(t, drop, to(k, "172.20.1.7"))
		require.Equal(t, proxytest.Outcomes{"10.244.0.2:8080": 1}, to(k, "10.96.1.1"))
		controllertest.Delete[*networkingv1.ServiceCIDR](c, "", "large")
		c.Sleep(2 * time.Second)
		require.Equal(t, drop, to(k, "172.20.0.7"))
		require.Equal(t, forward("172.20.1.7"), to(k, "172.20.1.7"))
	})
}

// TestMetricsOfASync: what waits is counted until a sync takes it up, and what is written is counted once.
func TestMetricsOfASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		pending, most := map[string]int{}, map[string]int{}
		there, written, checked := map[string]int{}, map[string]int{}, 0
		programmed := map[proxy.Family]int{}
		c, _, k, _ := onFake(t, proxy.Options{Mode: proxy.IPTables, MinSyncPeriod: 10 * time.Second, Metrics: proxy.Metrics{
			Pending: func(resource string, n int) {
				mu.Lock()
				defer mu.Unlock()
				pending[resource], most[resource] = n, max(most[resource], n)
			},
			Rules:        func(f proxy.Family, table string, n int) { there[f.String()+table] = n },
			RulesWritten: func(f proxy.Family, table string, n int) { written[f.String()+table] = n },
			Programmed:   func(f proxy.Family, _ time.Duration) { programmed[f]++ },
			FlowsChecked: func(proxy.Family, time.Duration) { checked++ },
		}})
		c.Sleep(25 * time.Second)
		require.Equal(t, there["IPv4nat"], written["IPv4nat"], "the first write is of all")
		createWeb(c, 0, here(0))
		// The Service is written at once, the slice 10 s later, and then nothing can be for 10 s.
		c.Sleep(12 * time.Second)
		for n := 1; n <= 3; n++ {
			createWeb(c, n, here(0))
		}
		c.Sleep(time.Second)
		mu.Lock()
		require.Equal(t, map[string]int{"service": 3, "endpoint": 3}, pending)
		mu.Unlock()
		c.Sleep(12 * time.Second)
		require.Equal(t, map[string]int{"service": 0, "endpoint": 0}, pending)
		require.Equal(t, map[string]int{"service": 3, "endpoint": 3}, most)
		before := there["IPv4nat"]
		createWeb(c, 4, here(0))
		c.Sleep(12 * time.Second)
		require.Equal(t, there["IPv4nat"]-before, written["IPv4nat"])
		require.Positive(t, written["IPv4nat"])
		require.Zero(t, checked, "there is no UDP")
		controllertest.Update(c, "default", "web4-ipv4", func(s *discoveryv1.EndpointSlice) {
			s.Annotations = map[string]string{"endpoints.kubernetes.io/last-change-trigger-time": time.Now().Format(time.RFC3339Nano)}
			s.Endpoints[0].Addresses = []string{podIP(1).String()}
		})
		c.Sleep(12 * time.Second)
		require.Equal(t, map[proxy.Family]int{proxy.IPv4: 1}, programmed)
		require.Equal(t, proxytest.Outcomes{"10.244.0.3:8080": 1}, k.Send(proxy.IPTables, proxytest.Packet{
			Src: podIP(3), Dst: netip.MustParseAddr("10.96.1.4"), Protocol: "tcp", Port: 80}))
	})
}

// logText is what a logger has written, which may still be in use.
type logText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestIncompleteNodes: the proxy says what the Node lacks, once and not before the node has had time to
// start, and takes it over when it comes.
func TestIncompleteNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "here")})
		k, out := proxytest.NewKernel(), &logText{}
		m := c.Manager("proxy", func(m *manager.Manager) error {
			return proxy.Add(m, proxy.Options{NodeName: "here", Kernel: k, NodeCIDR: true, Logger: slog.New(slog.NewTextHandler(out, nil))})
		})
		c.Run(m)
		svc := proxytest.Service("web", "10.96.1.1", func(s *corev1.Service) {
			s.Namespace, s.Spec.Type = "default", corev1.ServiceTypeNodePort
		}, proxytest.Port("t", tcp, 80, 30080))
		controllertest.Create(c, svc)
		controllertest.Create(c, proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, here(0)))
		c.Sleep(25 * time.Second)
		require.NotContains(t, out.String(), "Node object is not complete")
		c.Sleep(35 * time.Second)
		require.Equal(t, 1, strings.Count(out.String(), "Node object is not complete"))
		require.Contains(t, out.String(), "addresses: node ports are not served")
		controllertest.UpdateStatus(c, "", "here", func(n *corev1.Node) {
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeIP.String()}}
		})
		c.Sleep(2 * time.Second)
		require.Contains(t, out.String(), "pod ranges: all traffic counts as that of pods")
		packet := proxytest.Packet{Src: clientIP, Dst: nodeIP, Protocol: "tcp", Port: 30080}
		require.Equal(t, proxytest.Outcomes{"10.244.0.2:8080 masqueraded": 1}, k.Send(proxy.NFTables, packet))
		controllertest.Update(c, "", "here", func(n *corev1.Node) {
			n.Spec.PodCIDR, n.Spec.PodCIDRs = podNet.String(), []string{podNet.String()}
		})
		c.Sleep(2 * time.Second)
		require.Equal(t, 2, strings.Count(out.String(), "Node object is not complete"))
		require.Contains(t, k.Dump(), "ip saddr != 10.244.0.0/16")
	})
}

// TestServiceCIDRsThatCannotBeRead: rules are written without them.
func TestServiceCIDRsThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o controllertest.Options
		o.Server.Intercept = func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
			if strings.Contains(r.URL.Path, "/servicecidrs") {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			next(w, r)
		}
		c := controllertest.Start(t, o)
		k := proxytest.NewKernel()
		c.Run(c.Manager("proxy", func(m *manager.Manager) error {
			return proxy.Add(m, proxy.Options{NodeName: "here", Kernel: k, Logger: slog.New(slog.DiscardHandler)})
		}))
		createWeb(c, 1, here(0))
		c.Sleep(3 * time.Second)
		require.Equal(t, proxytest.Outcomes{"10.244.0.2:8080": 1}, to(k, "10.96.1.1"))
	})
}
