package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// noKernel is for what does not use it.
type noKernel struct{ Kernel }

func TestTimesOfNft(t *testing.T) {
	for text, want := range map[string]string{"3h": "10800s", "1d2h3m4s": "93784s", "10s": "10s", "soon": "soon", "5ms": "5ms"} {
		require.Equal(t, want, seconds(text))
	}
}

func TestOptions(t *testing.T) {
	for says, opts := range map[string]Options{
		"NodeName":      {},
		"not one of":    {NodeName: "n", Mode: "ebpf"},
		"MasqueradeBit": {NodeName: "n", MasqueradeBit: new(32)},
		"neither":       {NodeName: "n", NodePortAddresses: []string{"10.0.0.1"}},
		"longer than":   {NodeName: "n", SyncPeriod: time.Second, MinSyncPeriod: time.Minute},
	} {
		opts.Kernel = noKernel{}
		_, err := opts.withDefaults()
		require.ErrorContains(t, err, says)
	}
	opts, err := Options{NodeName: "n", Kernel: noKernel{}, NodePortAddresses: []string{"192.0.2.0/24", "127.0.0.0/8", "2001:db8::/32"}}.withDefaults()
	require.NoError(t, err)
	node := netip.MustParseAddr("192.0.2.1")
	local := []netip.Addr{node, netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("198.51.100.1")}
	require.Equal(t, []netip.Addr{node}, opts.config(IPv4, nodeFacts{}, local).NodePortAddrs, "nftables does not serve localhost")
	require.Empty(t, opts.config(IPv6, nodeFacts{}, local).NodePortAddrs)

	second := netip.MustParseAddr("192.0.2.2")
	opts, err = Options{NodeName: "n", Kernel: noKernel{}, NodeAddr: second}.withDefaults()
	require.NoError(t, err)
	for _, facts := range []nodeFacts{{}, {addrs: []netip.Addr{node}}, {addrs: []netip.Addr{node, second}}} {
		require.Empty(t, opts.lacking(facts))
		require.Equal(t, []netip.Addr{second}, opts.config(IPv4, facts, nil).NodePortAddrs, "the primary address, for node ports")
	}
}

// pipeKernel listens in memory.
type pipeKernel struct{ Kernel }

func (pipeKernel) Listen(context.Context, string, string) (net.Listener, error) {
	return pipenet.New(), nil
}

// TestAHealthCheckBeginsWithItsEndpoints: the first answer has the number of endpoints, however soon a load
// balancer asks after the port has been opened.
func TestAHealthCheckBeginsWithItsEndpoints(t *testing.T) {
	p := &Proxy{opts: Options{Kernel: pipeKernel{}}, log: slog.New(slog.DiscardHandler)}
	p.health.synced(time.Now())
	h := newHealthChecks(p)
	h.listenOn([]netip.Addr{netip.IPv4Unspecified()})
	s, err := h.open(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, 31999, 2)
	require.NoError(t, err)
	defer s.close()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "2", w.Header().Get("X-Load-Balancing-Endpoint-Weight"))
}

// TestNamesAreUpstreams: chain names are digests that kube-proxy computes too; these were seen in a real
// cluster.
func TestNamesAreUpstreams(t *testing.T) {
	api := PortName{Port: "https", Protocol: corev1.ProtocolTCP}
	api.Service.Namespace, api.Service.Name = "default", "kubernetes"
	require.Equal(t, "KUBE-SVC-NPX46M4PTMTKRN6Y", iptPortChain("KUBE-SVC-", api))
	name := PortName{Port: "dns", Protocol: corev1.ProtocolUDP}
	name.Service.Namespace, name.Service.Name = "kube-system", "kube-dns"
	require.Equal(t, "KUBE-SVC-TCOU7JCQXEZGVUNU", iptPortChain("KUBE-SVC-", name))
	require.Equal(t, "2QRHZV4L-default/kubernetes/tcp/https", nftName(api))
	name.Port, name.Protocol = "dns-tcp", corev1.ProtocolTCP
	require.Equal(t, "NWBZK7IH-kube-system/kube-dns/tcp/dns-tcp", nftName(name))
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]bool{
		"nftables v1.0.6 (Lester Gooch #5)": true, "nftables v1.0.1": true, "nftables v1.0.0 (Fearless Fosdick)": false, "nftables v0.9.8": false,
		"nftables v2": true, "": true, "nftables v1.1.0-rc1": true,
	} {
		require.Equal(t, want, versionIn(text).atLeast(1, 0, 1), text)
	}
	require.False(t, versionIn("5.10.0-28-amd64").atLeast(5, 13, 0))
	require.True(t, versionIn("6.18.44-fc-v595").atLeast(5, 13, 0))
}

// A table that has many chains already is written in fewer and larger transactions.
func TestTransactionsOverManyChains(t *testing.T) {
	require.Equal(t, iptLimit, iptLimitOver(0))
	require.Equal(t, iptLimit, iptLimitOver(3500))
	require.InDelta(t, 2800, iptLimitOver(110_000), 10)
	var exist []string
	for i := range 110_000 {
		exist = append(exist, fmt.Sprintf("KUBE-SVC-%016d", i))
	}
	transactions := func(chains []string) int {
		r := iptRenderer{}
		return strings.Count(r.all(&Delta{All: true}, map[string][]string{tableNAT: chains}, nil), "\nCOMMIT\n")
	}
	small, large := transactions(exist[:3500]), transactions(exist)
	require.Greater(t, small, 2*3500/iptLimit, "each chain is emptied and then deleted")
	require.Less(t, large, 100)
}
