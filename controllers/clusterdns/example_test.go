package clusterdns_test

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/clusterdns"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// Serve the cluster's names on a node, and have the proxies carry what pods send to 10.96.0.10 there. It is
// not run here: it needs an API server and a way to it.
func Example() {
	conn, err := rest.New(rest.Config{Host: "https://10.0.0.1:6443"}, rest.Options{})
	if err != nil {
		panic(err)
	}
	upstreams, err := clusterdns.ResolvConf("/etc/resolv.conf")
	if err != nil {
		panic(err)
	}
	m := manager.New(conn, manager.Options{})
	if err := clusterdns.Add(m, clusterdns.Options{Addresses: []string{"10.0.0.1:1053"}, Upstreams: upstreams}); err != nil {
		panic(err)
	}
	err = clusterdns.AddPublication(m, clusterdns.Publication{
		ClusterIPs: []netip.Addr{netip.MustParseAddr("10.96.0.10")}, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, Port: 1053,
	})
	if err != nil {
		panic(err)
	}
	// ctx := ... err = m.Run(ctx)
}

// ResolvConf says where to send all other names.
func ExampleResolvConf() {
	f, _ := os.CreateTemp("", "resolv")
	defer os.Remove(f.Name())
	f.WriteString("nameserver 192.0.2.53\nnameserver 10.96.0.10\n")
	f.Close()
	upstreams, err := clusterdns.ResolvConf(f.Name(), "10.96.0.10:53")
	fmt.Println(upstreams, err)
	// Output: [192.0.2.53:53] <nil>
}
