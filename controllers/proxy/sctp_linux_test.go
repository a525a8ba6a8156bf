package proxy_test

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// sctpInit is the first packet of an association, as RFC 9260 says.
func sctpInit(from, to uint16) []byte {
	b := make([]byte, 32)
	binary.BigEndian.PutUint16(b[0:], from)
	binary.BigEndian.PutUint16(b[2:], to)
	b[12], b[15] = 1, 20                    // INIT, its length
	binary.BigEndian.PutUint32(b[16:], 7)   // initiate tag
	binary.BigEndian.PutUint32(b[20:], 1e5) // window
	b[25], b[27], b[31] = 1, 1, 1           // streams, first number
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// TestRealSCTP sends the first packet of SCTP associations to a cluster IP and a node port, from sockets for
// bare IP, because the kernel of a test may have no SCTP itself. They must arrive at the target port of an
// endpoint, whole, and those to a Service without endpoints at none.
func TestRealSCTP(t *testing.T) {
	eachMode(t, func(t *testing.T, mode proxy.Mode, r *rig) {
		ap := newApplied(t, mode, r, proxy.IPv4)
		svc := proxytest.Service("assoc", "10.96.0.60", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
			proxytest.Port("s", corev1.ProtocolSCTP, 80, 30060), proxytest.Port("t", tcp, 80, 30060))
		ap.set(t, svc, here(0))
		packets := func(ns, address string) (c net.PacketConn) {
			in(t, ns, func() {
				var err error
				if c, err = net.ListenPacket("ip4:132", address); err != nil {
					t.Error(err)
				}
			})
			require.NotNil(t, c)
			t.Cleanup(func() { c.Close() })
			return c
		}
		endpoint, client := packets(r.pods[0], podIP(0).String()), packets(r.client, clientIP.String())
		send := func(from uint16, to netip.AddrPort) {
			_, err := client.WriteTo(sctpInit(from, to.Port()), &net.IPAddr{IP: to.Addr().AsSlice()})
			require.NoError(t, err)
		}
		for i, to := range []string{"10.96.0.60:80", "192.0.2.1:30060"} {
			send(uint16(5000+i), netip.MustParseAddrPort(to))
			require.NoError(t, endpoint.SetReadDeadline(time.Now().Add(patience)))
			buf := make([]byte, 100)
			n, _, err := endpoint.ReadFrom(buf)
			require.NoError(t, err, to)
			require.Equal(t, sctpInit(binary.BigEndian.Uint16(buf), proxytest.TargetPort), buf[:n], "%s: port and checksum", to)
		}
		require.Equal(t, "a", r.call(r.client, "tcp", "10.96.0.60:80", "").server, "TCP has the same port")
		ap.set(t, svc)
		r.forgetFlows(t)
		send(5100, netip.MustParseAddrPort("10.96.0.60:80"))
		require.NoError(t, endpoint.SetReadDeadline(time.Now().Add(silence)))
		_, _, err := endpoint.ReadFrom(make([]byte, 100))
		require.Error(t, err)
	})
}
