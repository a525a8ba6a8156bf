package proxy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/proxy"
)

// TestRealConntrack: the parameters of connection tracking change in the node's namespace as configured, and
// those that are not configured stay.
func TestRealConntrack(t *testing.T) {
	r := newRig(t, "nft")
	value := func(name string) string {
		v, err := r.kernel.Sysctl("net/netfilter/nf_conntrack_" + name)
		require.NoError(t, err)
		return v
	}
	stays := value("udp_timeout_stream")
	opts := proxy.Options{NodeName: "here", Mode: proxy.NFTables, NetNS: r.node, Conntrack: proxy.Conntrack{
		TCPEstablished: 7 * time.Hour, TCPCloseWait: 61 * time.Second, UDP: 11 * time.Second, TCPBeLiberal: true}}
	require.NoError(t, proxy.Prepare(t.Context(), opts))
	require.Equal(t, []string{"25200", "61", "11", "1", stays},
		[]string{value("tcp_timeout_established"), value("tcp_timeout_close_wait"), value("udp_timeout"), value("tcp_be_liberal"), value("udp_timeout_stream")})
	opts.Conntrack = proxy.Conntrack{UDPStream: 171 * time.Second}
	require.NoError(t, proxy.Prepare(t.Context(), opts))
	require.Equal(t, []string{"25200", "171"}, []string{value("tcp_timeout_established"), value("udp_timeout_stream")})
}
