package peers_test

import (
	"fmt"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/peers"
)

// A server without the policy of package controlplane that passes requests on to others over its store, and
// publishes its own address for them.
func Example() {
	about := controlplane.BookkeepingOptions{Hostname: "host-1", PeerAddress: "192.0.2.7:6443"}
	others := peers.New(about.IdentityName(), peers.Options{})
	_, err := apiserver.New(apiserver.Options{Peers: others, StartHook: controlplane.Bookkeeping(about)})
	fmt.Println(others.Discovery().Own, len(others.Discovery().Peers), err)
	// Output:
	// apiserver-fl6obw4ijfryx25ur4ugqryswq 0 <nil>
}
