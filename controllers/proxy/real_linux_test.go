package proxy

import (
	"context"
	"log/slog"
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
)

const (
	tcp = corev1.ProtocolTCP
	udp = corev1.ProtocolUDP
)

// applied is a set of Services on the node of a rig.
type applied struct {
	*rig
	a        *applier
	compiler *Compiler
	family   Family
	ports    []*ServicePort
}

func newApplied(t *testing.T, mode Mode, r *rig, f Family) *applied {
	cfg := Config{
		Mode: mode, Family: f, MasqueradeBit: 14, DetectLocal: DetectLocal{CIDRs: []netip.Prefix{podNet, netip.MustParsePrefix("fd00:244::/64")}},
		NodePortAddrs: []netip.Addr{nodeIP, netip.MustParseAddr("2001:db8::1")}, AllNodePortAddrs: mode == IPTables, LocalhostNodePorts: mode == IPTables,
		NodeAddrs: []netip.Addr{nodeIP}, ServiceCIDRs: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/16")},
	}
	ap := &applied{rig: r, compiler: NewCompiler(cfg), family: f,
		a: &applier{mode: mode, family: f, kernel: r.kernel, log: slog.New(slog.DiscardHandler)}}
	t.Cleanup(func() { require.NoError(t, ap.a.cleanup(context.Background())) })
	return ap
}

// set replaces all Services by one with endpoints and writes the rules.
func (ap *applied) set(t *testing.T, svc *corev1.Service, eps ...where) how {
	t.Helper()
	ap.ports = Plan(ap.family, svc, []*discoveryv1.EndpointSlice{slice(svc, discoveryv1.AddressType(ap.family.String()), eps...)}, Node{Name: "here"})
	slices.SortFunc(ap.ports, func(a, b *ServicePort) int { return a.Name.Compare(b.Name) })
	did, err := ap.a.apply(t.Context(), ap.compiler.Compile(ap.ports))
	require.NoError(t, err)
	return did
}

func (ap *applied) intact(t *testing.T) bool {
	t.Helper()
	there, err := ap.a.intact(t.Context())
	require.NoError(t, err)
	return there
}

var modes = []Mode{NFTables, IPTables}

func eachMode(t *testing.T, f func(t *testing.T, mode Mode, r *rig)) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel() // most of the time is spent waiting for what must not be answered
			tool := "nft"
			if mode == IPTables {
				tool = "iptables-restore"
			}
			r := newRig(t, tool, "conntrack")
			for i, ns := range r.pods {
				r.serve(ns, []string{"a", "b", "c"}[i], 8080)
			}
			f(t, mode, r)
		})
	}
}

func here(i int) where      { return where{ip: podIP(i).String(), node: "here"} }
func elsewhere(i int) where { return where{ip: podIP(i).String(), node: "there"} }

func TestRealRules(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode, r *rig) {
		ap := newApplied(t, mode, r, IPv4)
		both := []corev1.ServicePort{port("t", tcp, 80, 30080), port("u", udp, 80, 30080)}
		nodePort := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }
		const clusterIP, onNode = "10.96.0.1:80", "192.0.2.1:30080"

		t.Run("a cluster IP leads to all endpoints, over TCP and UDP, from pods, the node and outside", func(t *testing.T) {
			ap.set(t, service("web", "10.96.0.1", nil, both...), here(0), here(1))
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
			ap.set(t, service("web", "10.96.0.1", nil, both...), here(0))
			for _, network := range []string{"tcp", "udp"} {
				a := r.call(r.pods[0], network, clusterIP, "")
				require.NoError(t, a.err)
				require.Equal(t, "a", a.server)
				require.Equal(t, "10.244.0.1", a.seen)
			}
		})
		t.Run("a service without endpoints refuses at once", func(t *testing.T) {
			did := ap.set(t, service("web", "10.96.0.1", nodePort, both...))
			require.Equal(t, partial, did)
			for _, network := range []string{"tcp", "udp"} {
				for _, ns := range []string{r.pods[2], r.node, r.client} {
					require.True(t, r.call(ns, network, clusterIP, "").refused(), "%s from %s: %v", network, ns, r.call(ns, network, clusterIP, "").err)
				}
				require.True(t, r.call(r.client, network, onNode, "").refused(), network)
			}
		})
		if mode == NFTables { // iptables has no such rule
			t.Run("a port the service does not have is refused", func(t *testing.T) {
				ap.set(t, service("web", "10.96.0.1", nil, both...), here(0))
				require.True(t, r.call(r.pods[2], "tcp", "10.96.0.1:81", "").refused())
				require.True(t, r.lost(r.pods[2], "tcp", "10.96.77.77:80", ""), "an address nobody has is dropped")
			})
		}
		t.Run("a node port leads to all endpoints", func(t *testing.T) {
			ap.set(t, service("web", "10.96.0.1", nodePort, both...), here(0), elsewhere(1))
			for _, network := range []string{"tcp", "udp"} {
				require.Len(t, r.servers(r.client, network, onNode, 24), 2, network)
			}
			require.Len(t, r.servers(r.node, "tcp", onNode, 24), 2)
			require.Len(t, r.servers(r.pods[2], "tcp", onNode, 24), 2)
			require.Equal(t, "10.244.0.1", r.call(r.client, "tcp", onNode, "").seen)
			local := r.call(r.node, "tcp", "127.0.0.1:30080", "")
			if mode == NFTables {
				require.Error(t, local.err, "127.0.0.1 is not served with nftables")
			} else {
				require.NoError(t, r.kernel.SetSysctl("net/ipv4/conf/all/route_localnet", "1"))
				require.NoError(t, r.call(r.node, "tcp", "127.0.0.1:30080", "").err)
			}
		})
		t.Run("external policy Local keeps the client's address and uses local endpoints", func(t *testing.T) {
			ap.set(t, service("web", "10.96.0.1", func(s *corev1.Service) {
				nodePort(s)
				s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			}, both...), here(0), elsewhere(1))
			require.Equal(t, map[string]int{"a": 16}, r.servers(r.client, "tcp", onNode, 16))
			require.Equal(t, clientIP.String(), r.call(r.client, "tcp", onNode, "").seen)
			require.Len(t, r.servers(r.pods[2], "tcp", onNode, 24), 2, "pods are inside and may go anywhere")
			require.Len(t, r.servers(r.node, "tcp", onNode, 24), 2, "and so may the node")
			require.Len(t, r.servers(r.pods[2], "tcp", clusterIP, 24), 2)
		})
		t.Run("external policy Local without local endpoints drops", func(t *testing.T) {
			ap.set(t, service("web", "10.96.0.1", func(s *corev1.Service) {
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
			ap.set(t, service("web", "10.96.0.1", local, both...), here(0), elsewhere(1))
			require.Equal(t, map[string]int{"a": 16}, r.servers(r.pods[2], "tcp", clusterIP, 16))
			ap.set(t, service("web", "10.96.0.1", local, both...), elsewhere(1))
			require.True(t, r.lost(r.pods[2], "tcp", clusterIP, ""))
		})
		t.Run("session affinity keeps a client with its endpoint", func(t *testing.T) {
			ap.set(t, service("web", "10.96.0.1", func(s *corev1.Service) {
				s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			}, both...), here(0), here(1), here(2))
			// A datagram from a port that was used before belongs to a flow of then, which stays with its
			// endpoint.
			r.forgetFlows(t)
			for _, network := range []string{"tcp", "udp"} {
				require.Len(t, r.servers(r.client, network, clusterIP, 20), 1, network)
			}
			// The endpoint goes: the client moves on to another, and stays there.
			first := r.call(r.client, "tcp", clusterIP, "").server
			left := slices.DeleteFunc([]where{here(0), here(1), here(2)}, func(w where) bool { return w.ip == here(int(first[0]-'a')).ip })
			ap.set(t, service("web", "10.96.0.1", func(s *corev1.Service) {
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
			ap.set(t, service("web", "10.96.0.1", lb, both...), here(0), here(1))
			require.Len(t, r.servers(r.client, "tcp", "203.0.113.1:80", 24), 2)
			require.Len(t, r.servers(r.client, "tcp", "203.0.113.2:80", 24), 2)
			require.Error(t, r.call(r.client, "tcp", "203.0.113.3:80", "").err)
			require.True(t, r.lost(r.client, "tcp", "203.0.113.2:80", "192.0.2.3"), "outside of the source ranges")
			require.NoError(t, r.call(r.client, "tcp", "203.0.113.1:80", "192.0.2.3").err)
		})
		t.Run("nothing is written if nothing has changed, and what others remove comes back", func(t *testing.T) {
			svc := service("web", "10.96.0.1", nil, both...)
			ap.set(t, svc, here(0))
			require.Equal(t, unchanged, ap.set(t, svc, here(0)))
			require.True(t, ap.intact(t))
			if mode == NFTables {
				_, err := r.kernel.Run(t.Context(), nil, "nft", "flush", "ruleset")
				require.NoError(t, err)
			} else {
				_, err := r.kernel.Run(t.Context(), nil, "iptables", "-F")
				require.NoError(t, err)
			}
			require.False(t, ap.intact(t))
			ap.a.last = nil
			require.Equal(t, full, ap.set(t, svc, here(0)))
			require.NoError(t, r.call(r.pods[2], "tcp", clusterIP, "").err)
		})
		t.Run("a change that cannot be written is followed by everything", func(t *testing.T) {
			ap.set(t, service("web", "10.96.0.1", nil, both...), here(0))
			if mode == NFTables {
				_, err := r.kernel.Run(t.Context(), nil, "nft", "delete", "table", "ip", "kube-proxy")
				require.NoError(t, err)
				require.Equal(t, full, ap.set(t, service("web", "10.96.0.1", nil, both...), here(1)))
			}
			require.NoError(t, r.call(r.pods[2], "tcp", clusterIP, "").err)
		})
		t.Run("what a killed run left is replaced", func(t *testing.T) {
			ap.set(t, service("old", "10.96.0.9", nodePort, port("x", tcp, 80, 30099)), here(0))
			ap.a.last = nil // a new process
			ap.set(t, service("web", "10.96.0.1", nil, both...), here(0))
			require.NotContains(t, ap.dump(t), "ns/old")
			require.Error(t, r.call(r.client, "tcp", "192.0.2.1:30099", "").err)
		})
		t.Run("cleanup leaves nothing", func(t *testing.T) {
			require.NoError(t, Cleanup(t.Context(), r.kernel))
			out := ap.dump(t)
			require.NotContains(t, out, "KUBE-")
			require.NotContains(t, out, "kube-proxy")
			require.NoError(t, Cleanup(t.Context(), r.kernel), "twice does no harm")
		})
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
	return string(out) + string(more)
}

func TestRealIPv6(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode, r *rig) {
		ap := newApplied(t, mode, r, IPv6)
		svc := service("web", "fd00:96::1", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
			port("t", tcp, 80, 30080), port("u", udp, 80, 30080))
		ap.set(t, svc, where{ip: "fd00:244::2", node: "here"}, where{ip: "fd00:244::3", node: "here"})
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
	eachMode(t, func(t *testing.T, mode Mode, r *rig) {
		ap := newApplied(t, mode, r, IPv4)
		svc := service("dns", "10.96.0.10", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, port("", udp, 53, 30053))
		for _, to := range []string{"10.96.0.10:53", "192.0.2.1:30053"} {
			ap.set(t, svc)
			var c net.Conn
			in(t, r.client, func() { c, _ = net.DialTimeout("udp", to, time.Second) })
			require.NotNil(t, c)
			defer c.Close()
			require.Error(t, ask(c).err)
			for _, i := range []int{0, 1, 2, 0} {
				ap.set(t, svc, here(i))
				_, err := r.kernel.DeleteFlows(IPv4, staleFlows(ap.ports))
				require.NoError(t, err)
				a := ask(c)
				if a.refused() { // of the packet before, while there was no endpoint
					a = ask(c)
				}
				require.NoError(t, a.err, "%s endpoint %d", to, i)
				require.Equal(t, string(rune('a'+i)), a.server)
			}
			n, err := r.kernel.DeleteFlows(IPv4, staleFlows(ap.ports))
			require.NoError(t, err)
			require.Zero(t, n, "flows to an endpoint that is there stay")
		}
	})
}

func TestRealToolFails(t *testing.T) {
	r := newRig(t, "nft")
	_, err := r.kernel.Run(t.Context(), []byte("nonsense\n"), "nft", "-f", "-")
	var ce *CommandError
	require.ErrorAs(t, err, &ce)
	require.Contains(t, ce.Output, "syntax error")
	require.Contains(t, strings.ToLower(err.Error()), "nft -f -")
	_, err = r.kernel.Run(t.Context(), nil, "no-such-program")
	require.ErrorIs(t, err, exec.ErrNotFound)
}

// TestRealSessionsOutliveARestart writes all rules over what an earlier run has left: a client of a sticky
// service stays with its endpoint, whichever that was, and so it does when only the time of another service
// changes.
func TestRealSessionsOutliveARestart(t *testing.T) {
	r := newRig(t, "nft")
	for i, ns := range r.pods {
		r.serve(ns, []string{"a", "b", "c"}[i], 8080)
	}
	ap := newApplied(t, NFTables, r, IPv4)
	sticky := func(seconds int32) *corev1.Service {
		return service("web", "10.96.0.30", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.SessionAffinity = corev1.ServiceTypeNodePort, corev1.ServiceAffinityClientIP
			s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
		}, port("", tcp, 80, 30080))
	}
	ap.set(t, sticky(93784), here(0), here(1), here(2))
	first := r.call(r.client, "tcp", "192.0.2.1:30080", "")
	require.NoError(t, first.err)
	for range 8 {
		ap.a = &applier{mode: NFTables, family: IPv4, kernel: r.kernel, log: slog.New(slog.DiscardHandler)}
		require.Equal(t, full, ap.set(t, sticky(93784), here(0), here(1), here(2)))
		require.Equal(t, first.server, r.call(r.client, "tcp", "192.0.2.1:30080", "").server)
	}
	require.Equal(t, partial, ap.set(t, sticky(100), here(0), here(1)), "another time is a small change")
	require.Equal(t, full, func() how {
		ap.a = &applier{mode: NFTables, family: IPv4, kernel: r.kernel, log: slog.New(slog.DiscardHandler)}
		return ap.set(t, service("other", "10.96.0.31", nil, port("", tcp, 80, 0)), here(1))
	}())
	out := r.dump(t)
	require.NotContains(t, out, "10.96.0.30", "what an earlier run left is removed")
	require.NotContains(t, out, "affinity-")
	require.Equal(t, map[string]int{"b": 3}, r.servers(r.pods[2], "tcp", "10.96.0.31:80", 3))
}
