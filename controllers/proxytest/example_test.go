package proxytest_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// A packet runs through the rules that a backend has written, without a kernel. A test of another backend
// calls proxytest.Run.
func Example() {
	kernel := proxytest.NewKernel()
	backend, err := proxy.NewBackend(proxy.NFTables, proxy.IPv4, proxy.BackendOptions{Kernel: kernel})
	if err != nil {
		fmt.Println(err)
		return
	}
	backend.Configure(proxytest.Config(proxy.NFTables, proxy.IPv4))
	table := proxy.NewTable(proxy.IPv4, proxy.Node{Name: proxytest.NodeName})
	web := proxytest.Service("web", "10.96.0.1", nil, proxytest.Port("http", corev1.ProtocolTCP, 80, 0))
	proxytest.Set(table, web, proxytest.Endpoint{IP: "10.244.0.2"}, proxytest.Endpoint{IP: "10.244.0.3"})
	if err := backend.Write(context.Background(), table.All()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(kernel.Send(proxy.NFTables, proxytest.Packet{
		Src: netip.MustParseAddr("10.244.0.9"), Dst: netip.MustParseAddr("10.96.0.1"), Protocol: "tcp", Port: 80,
	}))
	// Output: map[10.244.0.2:8080:0.5 10.244.0.3:8080:0.5]
}
