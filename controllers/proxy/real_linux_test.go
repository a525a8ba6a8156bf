package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// applied is a set of Services on the node of a rig.
type applied struct {
	*rig
	mode   proxy.Mode
	family proxy.Family
	table  *proxy.Table
	b      proxy.Backend
	known  bool
	last   types.NamespacedName
	change func(*proxy.Config) // what restart configures differently; nil means nothing
}

func newApplied(t *testing.T, mode proxy.Mode, r *rig, f proxy.Family) *applied {
	ap := &applied{rig: r, mode: mode, family: f}
	ap.restart(t)
	t.Cleanup(func() { require.NoError(t, ap.b.Clean(context.Background())) })
	return ap
}

// restart forgets what was written, as a new process does.
func (ap *applied) restart(t *testing.T) {
	t.Helper()
	b, err := proxy.NewBackend(ap.mode, ap.family, proxy.BackendOptions{Kernel: ap.kernel})
	require.NoError(t, err)
	require.NoError(t, b.Probe(t.Context()))
	cfg := proxy.Config{
		Family: ap.family, MasqueradeBit: 14, DetectLocal: proxy.DetectLocal{CIDRs: []netip.Prefix{podNet, netip.MustParsePrefix("fd00:244::/64")}},
		NodePortAddrs: []netip.Addr{nodeIP, netip.MustParseAddr("2001:db8::1")}, AllNodePortAddrs: ap.mode == proxy.IPTables, LocalhostNodePorts: ap.mode == proxy.IPTables,
		NodeAddrs: []netip.Addr{nodeIP}, ServiceCIDRs: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/24"), netip.MustParsePrefix("10.96.0.0/16")},
	}
	if ap.change != nil {
		ap.change(&cfg)
	}
	b.Configure(cfg)
	ap.b, ap.known, ap.table = b, false, proxy.NewTable(ap.family, proxy.Node{Name: "here"})
}

// set replaces all Services by one with endpoints and writes the rules. It reports whether anything changed.
func (ap *applied) set(t *testing.T, svc *corev1.Service, eps ...proxytest.Endpoint) bool {
	t.Helper()
	key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	if ap.last != key {
		ap.table.Set(ap.last, nil, nil)
		ap.last = key
	}
	proxytest.Set(ap.table, svc, eps...)
	d := ap.table.Take()
	if !ap.known {
		d = ap.table.All()
	}
	require.NoError(t, ap.b.Write(t.Context(), d))
	ap.known = true
	return !d.Empty()
}

// renew is set, for new flows only: the kernel forgets those that there were. Without it, a datagram from a
// port that was used before would belong to a flow of then, which stays with its endpoint.
func (ap *applied) renew(t *testing.T, svc *corev1.Service, eps ...proxytest.Endpoint) {
	t.Helper()
	ap.set(t, svc, eps...)
	ap.forgetFlows(t)
}

func (ap *applied) intact(t *testing.T) bool {
	t.Helper()
	there, err := ap.b.Check(t.Context())
	require.NoError(t, err)
	return there
}

func eachMode(t *testing.T, f func(t *testing.T, mode proxy.Mode, r *rig)) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel() // most of the time is spent waiting for what must not be answered
			tools := map[proxy.Mode][]string{proxy.NFTables: {"nft"}, proxy.IPTables: {"iptables-restore"}, proxy.IPVS: {"iptables-restore", "ipset"}}
			r := newRig(t, append(tools[mode], "conntrack")...)
			if mode == proxy.IPVS {
				r.needIPVS(t)
			}
			for i, ns := range r.pods {
				r.serve(ns, []string{"a", "b", "c"}[i], 8080)
			}
			f(t, mode, r)
		})
	}
}

// needIPVS skips where the kernel has no IPVS, which .ci/ipvs runs these tests with. It sets what a proxy
// sets at its start.
func (r *rig) needIPVS(t *testing.T) {
	t.Helper()
	if _, err := r.kernel.IPVS(); errors.Is(err, proxy.ErrNoIPVS) {
		t.Skip("the kernel has no IPVS")
	} else {
		require.NoError(t, err)
	}
	for _, name := range []string{"conntrack", "expire_nodest_conn", "expire_quiescent_template"} {
		require.NoError(t, r.kernel.SetSysctl("net/ipv4/vs/"+name, "1"))
	}
}

func TestRealRules(t *testing.T) {
	eachMode(t, func(t *testing.T, mode proxy.Mode, r *rig) {
		ap := newApplied(t, mode, r, proxy.IPv4)
		both := []corev1.ServicePort{proxytest.Port("t", tcp, 80, 30080), proxytest.Port("u", udp, 80, 30080)}
		nodePort := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }
		const clusterIP, onNode = "10.96.0.1:80", "192.0.2.1:30080"

		t.Run("a cluster IP leads to all endpoints, over TCP and UDP, from pods, the node and outside", func(t *testing.T) {
			ap.renew(t, proxytest.Service("web", "10.96.0.1", nil, both...), here(0), here(1))
			for _, network := range []string{"tcp", "udp"} {
				for _, ns := range []string{r.pods[2], r.node, r.client} {
					got := r.servers(ns, network, clusterIP, 24)
					require.Len(t, got, 2, "%s from %s: %v", network, ns, got)
				}
			}
		})
		t.Run("pods keep their address, others get the node's", func(t *testing.T) {
			require.Equal(t, podIP(2).String(), r.call(r.pods[2], "tcp", clusterIP, "").seen)
			require.Equal(t, "10.244.0.1", r.call(r.client, "tcp", clusterIP, "").seen)
		})
		t.Run("a pod reaches itself through its service", func(t *testing.T) {
			ap.renew(t, proxytest.Service("web", "10.96.0.1", nil, both...), here(0))
			for _, network := range []string{"tcp", "udp"} {
				a := r.call(r.pods[0], network, clusterIP, "")
				require.NoError(t, a.err)
				require.Equal(t, "a", a.server)
				require.Equal(t, "10.244.0.1", a.seen)
			}
		})
		t.Run("a service without endpoints refuses at once", func(t *testing.T) {
			ap.renew(t, proxytest.Service("web", "10.96.0.1", nodePort, both...))
			for _, network := range []string{"tcp", "udp"} {
				for _, ns := range []string{r.pods[2], r.node, r.client} {
					require.True(t, r.call(ns, network, clusterIP, "").refused(), "%s from %s: %v", network, ns, r.call(ns, network, clusterIP, "").err)
				}
				require.True(t, r.call(r.client, network, onNode, "").refused(), network)
			}
		})
		if mode != proxy.IPTables { // which has no such rule
			t.Run("a port the service does not have is refused", func(t *testing.T) {
				ap.renew(t, proxytest.Service("web", "10.96.0.1", nil, both...), here(0))
				require.True(t, r.call(r.pods[2], "tcp", "10.96.0.1:81", "").refused())
				require.True(t, mode == proxy.IPVS || r.lost(r.pods[2], "tcp", "10.96.77.77:80", ""), "an address nobody has is dropped")
			})
		}
		t.Run("a node port leads to all endpoints", func(t *testing.T) {
			ap.renew(t, proxytest.Service("web", "10.96.0.1", nodePort, both...), here(0), elsewhere(1))
			for _, network := range []string{"tcp", "udp"} {
				require.Len(t, r.servers(r.client, network, onNode, 24), 2, network)
			}
			require.Len(t, r.servers(r.node, "tcp", onNode, 24), 2)
			require.Len(t, r.servers(r.pods[2], "tcp", onNode, 24), 2)
			require.Equal(t, "10.244.0.1", r.call(r.client, "tcp", onNode, "").seen)
			if mode != proxy.IPTables {
				require.Error(t, r.call(r.node, "tcp", "127.0.0.1:30080", "").err, "127.0.0.1 is only served with iptables")
			} else {
				require.NoError(t, r.kernel.SetSysctl("net/ipv4/conf/all/route_localnet", "1"))
				require.NoError(t, r.call(r.node, "tcp", "127.0.0.1:30080", "").err)
			}
		})
		t.Run("external policy Local keeps the client's address and uses local endpoints", func(t *testing.T) {
			ap.renew(t, proxytest.Service("web", "10.96.0.1", func(s *corev1.Service) {
				nodePort(s)
				s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			}, both...), here(0), elsewhere(1))
			require.Equal(t, map[string]int{"a": 16}, r.servers(r.client, "tcp", onNode, 16))
			require.Equal(t, clientIP.String(), r.call(r.client, "tcp", onNode, "").seen)
			anywhere := 2 // with ipvs the policy holds for all
			if mode == proxy.IPVS {
				anywhere = 1
			}
			require.Len(t, r.servers(r.pods[2], "tcp", onNode, 24), anywhere, "pods are inside and may go anywhere")
			require.Len(t, r.servers(r.node, "tcp", onNode, 24), anywhere, "and so may the node")
			require.Len(t, r.servers(r.pods[2], "tcp", clusterIP, 24), 2)
		})
		t.Run("external policy Local without local endpoints drops", func(t *testing.T) {
			ap.renew(t, proxytest.Service("web", "10.96.0.1", func(s *corev1.Service) {
				nodePort(s)
				s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			}, both...), elsewhere(1))
			require.True(t, r.lost(r.client, "tcp", onNode, ""))
			require.NoError(t, r.call(r.pods[2], "tcp", onNode, "").err)
		})
		t.Run("internal policy Local", func(t *testing.T) {
			local := func(s *corev1.Service) {
				s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
			}
			ap.renew(t, proxytest.Service("web", "10.96.0.1", local, both...), here(0), elsewhere(1))
			require.Equal(t, map[string]int{"a": 16}, r.servers(r.pods[2], "tcp", clusterIP, 16))
			ap.renew(t, proxytest.Service("web", "10.96.0.1", local, both...), elsewhere(1))
			if mode == proxy.IPVS {
				require.True(t, r.call(r.pods[2], "tcp", clusterIP, "").refused())
				return
			}
			require.True(t, r.lost(r.pods[2], "tcp", clusterIP, ""))
		})
		t.Run("session affinity keeps a client with its endpoint", func(t *testing.T) {
			ap.renew(t, proxytest.Service("web", "10.96.0.1", func(s *corev1.Service) {
				s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			}, both...), here(0), here(1), here(2))
			for _, network := range []string{"tcp", "udp"} {
				require.Len(t, r.servers(r.client, network, clusterIP, 20), 1, network)
			}
			// The endpoint goes: the client moves on to another, and stays there.
			first := r.call(r.client, "tcp", clusterIP, "").server
			left := slices.DeleteFunc([]proxytest.Endpoint{here(0), here(1), here(2)}, func(w proxytest.Endpoint) bool { return w.IP == here(int(first[0]-'a')).IP })
			ap.renew(t, proxytest.Service("web", "10.96.0.1", func(s *corev1.Service) {
				s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			}, both...), left...)
			got := r.servers(r.client, "tcp", clusterIP, 20)
			require.Len(t, got, 1)
			require.NotContains(t, got, first)
		})
		t.Run("external and load balancer addresses, and who may use them", func(t *testing.T) {
			lb := func(s *corev1.Service) {
				s.Spec.Type = corev1.ServiceTypeLoadBalancer
				s.Spec.ExternalIPs = []string{"203.0.113.1"}
				s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.2/32"}
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.2"}, {IP: "203.0.113.3", IPMode: new(corev1.LoadBalancerIPModeProxy)}}
			}
			ap.renew(t, proxytest.Service("web", "10.96.0.1", lb, both...), here(0), here(1))
			require.Len(t, r.servers(r.client, "tcp", "203.0.113.1:80", 24), 2)
			require.Len(t, r.servers(r.client, "tcp", "203.0.113.2:80", 24), 2)
			require.True(t, r.lost(r.client, "tcp", "203.0.113.3:80", ""))
			require.True(t, r.lost(r.client, "tcp", "203.0.113.2:80", "192.0.2.3"), "outside of the source ranges")
			require.NoError(t, r.call(r.client, "tcp", "203.0.113.1:80", "192.0.2.3").err)
		})
		t.Run("nothing is written if nothing has changed, and what others remove comes back", func(t *testing.T) {
			svc := proxytest.Service("web", "10.96.0.1", nil, both...)
			ap.set(t, svc, here(0))
			require.False(t, ap.set(t, svc, here(0)))
			require.True(t, ap.intact(t))
			if mode == proxy.NFTables {
				_, err := r.kernel.Run(t.Context(), nil, "nft", "flush", "ruleset")
				require.NoError(t, err)
			} else {
				_, err := r.kernel.Run(t.Context(), nil, "iptables", "-F")
				require.NoError(t, err)
			}
			require.False(t, ap.intact(t))
			ap.restart(t)
			ap.set(t, svc, here(0))
			require.NoError(t, r.call(r.pods[2], "tcp", clusterIP, "").err)
		})
		t.Run("what a killed run left is replaced", func(t *testing.T) {
			ap.set(t, proxytest.Service("old", "10.96.0.9", nodePort, proxytest.Port("x", tcp, 80, 30099)), here(0))
			ap.restart(t)
			ap.set(t, proxytest.Service("web", "10.96.0.1", nil, both...), here(0))
			require.NotContains(t, ap.dump(t), "ns/old")
			require.Error(t, r.call(r.client, "tcp", "192.0.2.1:30099", "").err)
		})
		t.Run("cleanup leaves nothing", func(t *testing.T) {
			require.NoError(t, proxy.Cleanup(t.Context(), r.kernel))
			out := ap.dump(t)
			require.NotContains(t, out, "KUBE-")
			require.NotContains(t, out, "kube-proxy")
			require.NotContains(t, out, "10.96.0.1")
			require.NoError(t, proxy.Cleanup(t.Context(), r.kernel), "twice does no harm")
		})
	})
}

// TestRealLocalTraffic: whichever way traffic of pods is distinguished, pods keep their address and
// others get the node's; without a way all keep theirs, and with MasqueradeAll none.
func TestRealLocalTraffic(t *testing.T) {
	const pod, outside, node, address = "10.244.0.4", "192.0.2.2", "10.244.0.1", "10.96.0.1:80"
	eachMode(t, func(t *testing.T, mode proxy.Mode, r *rig) {
		ap := newApplied(t, mode, r, proxy.IPv4)
		for _, c := range []struct {
			name            string
			detect          proxy.DetectLocal
			all             bool
			ofPod, ofClient string
		}{
			{"the bridge", proxy.DetectLocal{Bridge: "br0"}, false, pod, node},
			{"another bridge", proxy.DetectLocal{Bridge: "br1"}, false, node, node},
			{"names of interfaces", proxy.DetectLocal{InterfacePrefix: "br"}, false, pod, node},
			{"names of interfaces of others", proxy.DetectLocal{InterfacePrefix: "out"}, false, node, outside},
			{"ranges of pods", proxy.DetectLocal{CIDRs: []netip.Prefix{podNet}}, false, pod, node},
			{"no way", proxy.DetectLocal{}, false, pod, outside},
			{"all are masqueraded", proxy.DetectLocal{CIDRs: []netip.Prefix{podNet}}, true, node, node},
		} {
			ap.change = func(cfg *proxy.Config) { cfg.DetectLocal, cfg.MasqueradeAll = c.detect, c.all }
			ap.restart(t)
			ap.renew(t, proxytest.Service("web", "10.96.0.1", nil, proxytest.Port("t", tcp, 80, 0)), here(0))
			for from, want := range map[string]string{r.pods[2]: c.ofPod, r.client: c.ofClient} {
				a := r.call(from, "tcp", address, "")
				require.NoError(t, a.err, c.name)
				require.Equal(t, want, a.seen, "%s: seen from %s", c.name, from)
			}
		}
	})
}

// forgetFlows removes all flows that the node's kernel follows.
func (r *rig) forgetFlows(t *testing.T) {
	t.Helper()
	out, err := exec.Command("nsenter", "--net="+r.node, "conntrack", "--flush").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// dump is all rules in the kernel.
func (r *rig) dump(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("nsenter", "--net="+r.node, "nft", "list", "ruleset").CombinedOutput()
	require.NoError(t, err)
	more, err := exec.Command("nsenter", "--net="+r.node, "iptables-save").CombinedOutput()
	require.NoError(t, err)
	if k, err := r.kernel.IPVS(); err == nil {
		sets, err := r.kernel.Run(t.Context(), nil, "ipset", "save")
		require.NoError(t, err)
		addrs, _, err := k.DeviceAddrs(proxy.IPv4)
		require.NoError(t, err)
		servers, err := k.VirtualServers(proxy.IPv4)
		require.NoError(t, err)
		more = fmt.Append(more, string(sets), addrs, servers)
	}
	return string(out) + string(more)
}

func TestRealIPv6(t *testing.T) {
	eachMode(t, func(t *testing.T, mode proxy.Mode, r *rig) {
		ap := newApplied(t, mode, r, proxy.IPv6)
		svc := proxytest.Service("web", "fd00:96::1", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
			proxytest.Port("t", tcp, 80, 30080), proxytest.Port("u", udp, 80, 30080))
		ap.set(t, svc, proxytest.Endpoint{IP: "fd00:244::2", Node: "here"}, proxytest.Endpoint{IP: "fd00:244::3", Node: "here"})
		for _, network := range []string{"tcp", "udp"} {
			require.Len(t, r.servers(r.pods[2], network, "[fd00:96::1]:80", 24), 2, network)
			require.Len(t, r.servers(r.client, network, "[2001:db8::1]:30080", 24), 2, network)
		}
		ap.set(t, svc)
		a := r.call(r.pods[2], "tcp", "[fd00:96::1]:80", "")
		require.True(t, a.refused(), "%v", a.err)
	})
}

// TestRealUDPFlow keeps one socket while the endpoints of its Service change: after each change its next
// packet must follow the rules.
func TestRealUDPFlow(t *testing.T) {
	eachMode(t, func(t *testing.T, mode proxy.Mode, r *rig) {
		ap := newApplied(t, mode, r, proxy.IPv4)
		svc := proxytest.Service("dns", "10.96.0.10", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, proxytest.Port("", udp, 53, 30053))
		for _, to := range []string{"10.96.0.10:53", "192.0.2.1:30053"} {
			ap.set(t, svc)
			var c net.Conn
			in(t, r.client, func() { c, _ = net.Dial("udp", to) })
			require.NotNil(t, c)
			defer c.Close()
			require.True(t, ask(c, patience).refused())
			for _, i := range []int{0, 1, 2, 0} {
				ap.set(t, svc, here(i))
				_, err := r.kernel.DeleteFlows(proxy.IPv4, ap.stale(svc))
				require.NoError(t, err)
				a := ask(c, patience)
				if a.refused() { // of the packet before, while there was no endpoint
					a = ask(c, patience)
				}
				require.NoError(t, a.err, "%s endpoint %d", to, i)
				require.Equal(t, string(rune('a'+i)), a.server)
			}
			n, err := r.kernel.DeleteFlows(proxy.IPv4, ap.stale(svc))
			require.NoError(t, err)
			require.Zero(t, n, "flows to an endpoint that is there stay")
		}
	})
}

func TestRealToolFails(t *testing.T) {
	r := newRig(t, "nft")
	_, err := r.kernel.Run(t.Context(), []byte("nonsense\n"), "nft", "-f", "-")
	var ce *proxy.CommandError
	require.ErrorAs(t, err, &ce)
	require.Contains(t, ce.Output, "syntax error")
	require.Contains(t, strings.ToLower(err.Error()), "nft -f -")
	_, err = r.kernel.Run(t.Context(), nil, "no-such-program")
	require.ErrorIs(t, err, exec.ErrNotFound)
}

// TestRealCheck: Check sees rules in the kernel, and that another program has removed the table, or the rules
// in it, of either family.
func TestRealCheck(t *testing.T) {
	r := newRig(t, "nft")
	for _, f := range []proxy.Family{proxy.IPv4, proxy.IPv6} {
		ap := newApplied(t, proxy.NFTables, r, f)
		check := func(want bool, when string) {
			t.Helper()
			there, err := ap.b.Check(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, there, "%s: %s", f, when)
		}
		check(false, "before the first write")
		for _, remove := range []string{"flush ruleset", "flush table " + map[proxy.Family]string{proxy.IPv4: "ip", proxy.IPv6: "ip6"}[f] + " kube-proxy"} {
			require.NoError(t, ap.b.Write(t.Context(), ap.table.All()))
			check(true, "written")
			_, err := r.kernel.Run(t.Context(), []byte(remove+"\n"), "nft", "-f", "-")
			require.NoError(t, err)
			check(false, remove)
		}
	}
}

// TestRealSessionsOutliveARestart writes all rules over what an earlier run has left: a client of a sticky
// service stays with its endpoint, whichever that was, and so it does when only the time of another service
// changes.
func TestRealSessionsOutliveARestart(t *testing.T) {
	r := newRig(t, "nft")
	for i, ns := range r.pods {
		r.serve(ns, []string{"a", "b", "c"}[i], 8080)
	}
	ap := newApplied(t, proxy.NFTables, r, proxy.IPv4)
	sticky := func(seconds int32) *corev1.Service {
		return proxytest.Service("web", "10.96.0.30", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.SessionAffinity = corev1.ServiceTypeNodePort, corev1.ServiceAffinityClientIP
			s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
		}, proxytest.Port("", tcp, 80, 30080))
	}
	ap.set(t, sticky(93784), here(0), here(1), here(2))
	first := r.call(r.client, "tcp", "192.0.2.1:30080", "")
	require.NoError(t, first.err)
	for range 8 {
		ap.restart(t)
		ap.set(t, sticky(93784), here(0), here(1), here(2))
		require.Equal(t, first.server, r.call(r.client, "tcp", "192.0.2.1:30080", "").server)
	}
	ap.set(t, sticky(100), here(0), here(1))
	ap.restart(t)
	ap.set(t, proxytest.Service("other", "10.96.0.31", nil, proxytest.Port("", tcp, 80, 0)), here(1))
	out := r.dump(t)
	require.NotContains(t, out, "10.96.0.30", "what an earlier run left is removed")
	require.NotContains(t, out, "affinity-")
	require.Equal(t, map[string]int{"b": 3}, r.servers(r.pods[2], "tcp", "10.96.0.31:80", 3))
}

// stale are the flows of a Service to forget.
func (ap *applied) stale(svc *corev1.Service) func(proxy.Flow) bool {
	return proxy.StaleFlows(ap.table.Service(types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}))
}

// TestRealFlowsSurvive keeps TCP connections and UDP flows busy while other Services change, everything is
// written again, the proxy restarts and the endpoint they lead to begins to terminate: no byte is lost.
func TestRealFlowsSurvive(t *testing.T) {
	eachMode(t, func(t *testing.T, mode proxy.Mode, r *rig) {
		ap := newApplied(t, mode, r, proxy.IPv4)
		web := proxytest.Service("web", "10.96.0.40", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
			proxytest.Port("t", tcp, 90, 30090), proxytest.Port("u", udp, 90, 30090))
		for i, ns := range r.pods {
			r.echo(ns, proxytest.TargetPort+1, i)
		}
		key := types.NamespacedName{Namespace: "ns", Name: "web"}
		put := func(eps ...proxytest.Endpoint) {
			slice := proxytest.Slice(web, discoveryv1.AddressTypeIPv4, eps...)
			for i := range slice.Ports {
				slice.Ports[i].Port = new(int32(proxytest.TargetPort + 1))
			}
			ap.table.Set(key, web, []*discoveryv1.EndpointSlice{slice})
		}
		write := func(d *proxy.Delta) {
			t.Helper()
			require.NoError(t, ap.b.Write(t.Context(), d))
			_, err := r.kernel.DeleteFlows(proxy.IPv4, ap.stale(web))
			require.NoError(t, err)
		}
		put(here(0))
		write(ap.table.All())
		ap.table.Take()
		var conns []net.Conn
		for _, ns := range []string{r.client, r.pods[2]} {
			for _, to := range []string{"10.96.0.40:90", "192.0.2.1:30090"} {
				for _, network := range []string{"tcp", "udp"} {
					in(t, ns, func() {
						c, err := net.DialTimeout(network, to, patience)
						if err != nil {
							t.Errorf("%s %s: %v", network, to, err)
							return
						}
						conns = append(conns, c)
					})
				}
			}
		}
		lost := 0
		round := func(what string) {
			t.Helper()
			for _, c := range conns {
				_ = c.SetDeadline(time.Now().Add(patience))
				buf := make([]byte, 16)
				_, err := c.Write([]byte("ping"))
				n := 0
				if err == nil {
					n, err = c.Read(buf)
				}
				if err != nil || string(buf[:n]) != "ping0" {
					lost++
					t.Errorf("%s: %s %s: %q, %v", what, c.RemoteAddr().Network(), c.RemoteAddr(), buf[:n], err)
				}
			}
		}
		require.Len(t, conns, 8)
		defer func() {
			for _, c := range conns {
				c.Close()
			}
		}()
		round("at first")
		streams := r.streams("10.96.0.40:90", "192.0.2.1:30090")
		put(here(0), here(1))
		write(ap.table.Take())
		round("another endpoint")
		for i := range 5 {
			proxytest.Set(ap.table, proxytest.Service(fmt.Sprintf("other%d", i), fmt.Sprintf("10.96.0.%d", 50+i), nil, proxytest.Port("", tcp, 80, 0)), here(i%3))
			write(ap.table.Take())
			round("another Service")
		}
		write(ap.table.All())
		round("a full write")
		put(proxytest.Endpoint{IP: podIP(0).String(), Node: "here", Leaving: true}, here(1))
		write(ap.table.Take())
		round("the endpoint terminates and serves")
		table := ap.table
		ap.restart(t)
		ap.table = table
		write(ap.table.All())
		round("a restart")
		require.Zero(t, lost)
		unbroken(t, streams)
	})
}
