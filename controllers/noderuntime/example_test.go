package noderuntime_test

import (
	"fmt"
	"net/netip"

	"github.com/keelson-dev/keelson/controllers/noderuntime"
)

func ExampleGateway() {
	fmt.Println(noderuntime.Gateway(netip.MustParsePrefix("10.244.0.0/24")))
	// Output: 10.244.0.1
}
