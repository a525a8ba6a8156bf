package proxy_test

import (
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

const (
	tcp = corev1.ProtocolTCP
	udp = corev1.ProtocolUDP
)

var modes = []proxy.Mode{proxy.NFTables, proxy.IPTables, proxy.IPVS}

var (
	nodeIP, clientIP = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	podNet           = netip.MustParsePrefix("10.244.0.0/16")
)

func podIP(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 244, 0, byte(2 + i)}) }

func here(i int) proxytest.Endpoint { return proxytest.Endpoint{IP: podIP(i).String(), Node: "here"} }
func elsewhere(i int) proxytest.Endpoint {
	return proxytest.Endpoint{IP: podIP(i).String(), Node: "there"}
}
