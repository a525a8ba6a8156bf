package proxy

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// TestIPVSWire: what is sent to IPVS is read again as it was, and has the bytes that Linux expects.
func TestIPVSWire(t *testing.T) {
	for _, v := range []VirtualServer{
		{Addr: netip.MustParseAddrPort("10.96.0.1:80"), Protocol: corev1.ProtocolTCP, Scheduler: "rr"},
		{Addr: netip.MustParseAddrPort("[fd00::1]:53"), Protocol: corev1.ProtocolUDP, Scheduler: "wlc", AffinitySeconds: 10800},
		{Addr: netip.MustParseAddrPort("10.96.0.2:65535"), Protocol: corev1.ProtocolSCTP, Scheduler: "mh", SourcePort: true, AffinitySeconds: 1},
	} {
		got, ok, err := parseService(serviceAttr(v, true).Serialize())
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, v, got)
		r := RealServer{Addr: netip.AddrPortFrom(v.Addr.Addr().Next(), 8080), Weight: 7}
		back, ok, err := parseDest(destAttr(r, true).Serialize(), addressFamily(v.Addr.Addr()))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, r, back)
	}
	v := VirtualServer{Addr: netip.MustParseAddrPort("10.96.0.1:80"), Protocol: corev1.ProtocolTCP}
	require.Equal(t, []byte{
		48, 0, 1, 0x80, // the nested service
		6, 0, 1, 0, 2, 0, 0, 0, // AF_INET
		6, 0, 2, 0, 6, 0, 0, 0, // TCP
		20, 0, 3, 0, 10, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		6, 0, 4, 0, 0, 80, 0, 0,
	}, serviceAttr(v, false).Serialize())
}

// FuzzIPVSAnswer: answers of any form are read or refused.
func FuzzIPVSAnswer(f *testing.F) {
	v := VirtualServer{Addr: netip.MustParseAddrPort("10.96.0.1:80"), Protocol: corev1.ProtocolTCP, Scheduler: "rr", AffinitySeconds: 5}
	f.Add(serviceAttr(v, true).Serialize())
	f.Add(destAttr(RealServer{Addr: v.Addr, Weight: 1}, true).Serialize())
	f.Add([]byte{4, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, ok, err := parseService(b); ok && err == nil {
			again, ok, err := parseService(serviceAttr(got, true).Serialize())
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, got, again)
		}
		for _, family := range []uint16{unix.AF_INET, unix.AF_INET6, 0} {
			_, _, _ = parseDest(b, family)
		}
	})
}
