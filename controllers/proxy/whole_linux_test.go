package proxy_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/controllers/clusterdns"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// TestRealProxy runs proxy and cluster DNS against an API server, with a node and pods made of network
// namespaces.
func TestRealProxy(t *testing.T) {
	eachMode(t, func(t *testing.T, mode proxy.Mode, r *rig) {
		c := controllertest.Start(t, controllertest.Options{})
		node := &corev1.Node{ObjectMeta: controllertest.Name("", "here")}
		controllertest.Create(c, node)
		controllertest.UpdateStatus(c, "", "here", func(n *corev1.Node) {
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeIP.String()}}
		})
		web := proxytest.Service("web", "10.96.0.20", func(s *corev1.Service) {
			s.Namespace, s.Spec.Type = "default", corev1.ServiceTypeLoadBalancer
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			s.Spec.HealthCheckNodePort = 31999
		}, proxytest.Port("t", tcp, 80, 30080), proxytest.Port("u", udp, 80, 30080))
		controllertest.Create(c, web)
		controllertest.Create(c, proxytest.Slice(web, discoveryv1.AddressTypeIPv4, here(0), elsewhere(1)))

		var udpConn net.PacketConn
		in(t, r.node, func() { udpConn, _ = net.ListenPacket("udp", "192.0.2.1:1053") })
		require.NotNil(t, udpConn)
		tcpListener, err := r.kernel.Listen(t.Context(), "tcp", "192.0.2.1:1053")
		require.NoError(t, err)
		var p *proxy.Proxy
		m := c.Manager("node", func(m *manager.Manager) (err error) {
			if err := clusterdns.Add(m, clusterdns.Options{PacketConns: []net.PacketConn{udpConn}, Listeners: []net.Listener{tcpListener}}); err != nil {
				return err
			}
			publication := clusterdns.Publication{ClusterIPs: []netip.Addr{netip.MustParseAddr("10.96.0.10")}, Addresses: []netip.Addr{nodeIP}, Port: 1053}
			if err := clusterdns.AddPublication(m, publication); err != nil {
				return err
			}
			p, err = proxy.New(m, proxy.Options{
				NodeName: "here", Mode: mode, NetNS: r.node, DetectLocal: proxy.DetectLocal{CIDRs: []netip.Prefix{podNet}}, MinSyncPeriod: -1,
				Conntrack: proxy.Conntrack{UDP: 20 * time.Second}, Logger: controllertest.Logger(t),
			})
			m.AddWithoutLeaderElection("proxy", p)
			return err
		})
		require.Equal(t, http.StatusServiceUnavailable, status(p.Healthz()), "nothing is written yet")
		stop := c.Run(m)
		eventually(t, func() bool { return status(p.Healthz()) == http.StatusOK }, "the rules were not written")
		require.NoError(t, m.Informers().WaitForSync(t.Context()))

		eventually(t, func() bool { return strings.Contains(r.dump(t), "10.96.0.10") }, "the cluster's DNS has no rules")

		for _, network := range []string{"udp", "tcp"} {
			in(t, r.pods[2], func() {
				q := new(dns.Msg)
				q.SetQuestion("web.default.svc.cluster.local.", dns.TypeA)
				reply, _, err := (&dns.Client{Net: network, Timeout: patience}).Exchange(q, "10.96.0.10:53")
				if err != nil {
					t.Error(network, err)
				} else if len(reply.Answer) != 1 || dns.Field(reply.Answer[0], 1) != "10.96.0.20" {
					t.Error(network, reply)
				}
			})
		}
		require.Len(t, r.servers(r.pods[2], "tcp", "10.96.0.20:80", 24), 2)
		require.Equal(t, map[string]int{"a": 10}, r.servers(r.client, "tcp", "192.0.2.1:30080", 10))
		require.Equal(t, clientIP.String(), r.call(r.client, "udp", "192.0.2.1:30080", "").seen)
		value, err := r.kernel.Sysctl("net/netfilter/nf_conntrack_udp_timeout")
		require.NoError(t, err)
		require.Equal(t, "20", value)

		code, body := r.get(t, "http://192.0.2.1:31999/")
		require.Equal(t, http.StatusOK, code)
		var health struct{ LocalEndpoints int }
		require.NoError(t, json.Unmarshal(body, &health), "%s", body)
		require.Equal(t, 1, health.LocalEndpoints)

		// The local endpoint goes: the health check of the load balancer fails, and traffic from outside is
		// dropped.
		controllertest.Update(c, "default", "web-ipv4", func(s *discoveryv1.EndpointSlice) {
			s.Endpoints = s.Endpoints[1:]
		})
		eventually(t, func() bool {
			code, _ := r.get(t, "http://192.0.2.1:31999/")
			return code == http.StatusServiceUnavailable
		}, "the health check does not fail")
		require.True(t, r.lost(r.client, "tcp", "192.0.2.1:30080", ""))
		require.Equal(t, map[string]int{"b": 5}, r.servers(r.pods[2], "tcp", "10.96.0.20:80", 5))
		require.Equal(t, http.StatusOK, status(p.Healthz()))

		// A service for another proxy has no rules.
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Labels = map[string]string{proxy.LabelProxyName: "other"} })
		eventually(t, func() bool { return !strings.Contains(r.dump(t), "10.96.0.20") }, "the rules stay")

		stop()
		out := r.dump(t)
		require.NotContains(t, out, "KUBE-")
		require.NotContains(t, out, "kube-proxy")
	})
}

// get requests a URL from the client's namespace.
func (r *rig) get(t *testing.T, url string) (code int, body []byte) {
	t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		in(t, r.client, func() { conn, err = (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address) })
		return conn, err
	}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr, Timeout: patience}).Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, body
}
