package kubelet

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// The address is that of the interface of a default route of the preferred family.
func TestRoutedAddress(t *testing.T) {
	const four = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		"down\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
		"eth1\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" +
		"eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
	const six = "20010db8000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n" +
		"00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n" +
		"00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000003 00000000 00000003     eth0\n"
	ips := func(texts ...string) (list []netip.Addr) {
		for _, s := range texts {
			list = append(list, netip.MustParseAddr(s))
		}
		return list
	}
	lo := netInterface{"lo", net.FlagUp | net.FlagLoopback, ips("127.0.0.1", "::1")}
	down := netInterface{"down", 0, ips("192.0.2.3")}
	eth0 := netInterface{"eth0", net.FlagUp, ips("169.254.1.1", "192.0.2.2", "fe80::2", "2001:db8::2")}
	eth1 := netInterface{"eth1", net.FlagUp, ips("10.0.2.1")}
	all := []netInterface{lo, down, eth1, eth0}
	bare := netInterface{"eth0", net.FlagUp, ips("169.254.1.1", "fe80::2")}
	anchored := netInterface{"lo", net.FlagUp | net.FlagLoopback, ips("127.0.0.1", "203.0.113.1", "::1", "2001:db8::99")}
	for _, c := range []struct {
		four, six  string
		interfaces []netInterface
		sixFirst   bool
		want       string
	}{
		{four, six, all, false, "192.0.2.2"},
		{four, six, all, true, "2001:db8::2"},
		{four, "", all, true, "192.0.2.2"},
		{"", six, all, false, "2001:db8::2"},
		{four, six, []netInterface{anchored, down, bare}, false, "203.0.113.1"},
		{four, six, []netInterface{anchored, down, bare}, true, "2001:db8::99"},
		{four, six, []netInterface{lo, down, bare}, false, ""},
		{"Iface\n", "", all, false, ""},
		{"\n\n", "short line\n", all, false, ""},
	} {
		ip, err := routedAddress([]byte(c.four), []byte(c.six), c.interfaces, c.sixFirst)
		if c.want == "" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, ip.String())
	}
	point := netInterface{"ppp0", net.FlagUp | net.FlagPointToPoint, ips("198.51.100.1")}
	for sixFirst, want := range map[bool]string{false: "10.0.2.1", true: "2001:db8::2"} {
		ip, err := anyAddress([]netInterface{anchored, point, down, eth1, eth0}, sixFirst)
		require.NoError(t, err)
		require.Equal(t, want, ip.String())
	}
	_, err := anyAddress([]netInterface{anchored, point, down, bare}, false)
	require.EqualError(t, err, "no acceptable interface with global unicast address found on host")
}
