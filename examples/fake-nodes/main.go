// Command fake-nodes adds simulated nodes to any cluster: they are Ready, renew their Leases, and pods bound
// to them run, end and are deleted without containers. Package controllers/fakenode documents the
// annotations that choose what a pod does. A storage driver is simulated too, see controllers/fakestorage.
package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/fakestorage"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

func main() { component.Exit("fake-nodes", run(os.Args[1:])) }

func run(args []string) error {
	o := component.Options{Name: "fake-nodes"}
	var n fakenode.Options
	var cidr string
	f := pflag.NewFlagSet(o.Name, pflag.ContinueOnError)
	o.Flags(f)
	f.IntVar(&n.Count, "nodes", 1, "number of nodes")
	f.StringVar(&n.Prefix, "prefix", "node-", "prefix of the node names")
	f.StringVar(&cidr, "cluster-cidr", "10.244.0.0/16", "range of pod addresses, a /24 per node")
	f.StringToStringVar(&n.Labels, "node-labels", nil, "labels of every node, as key=value,...")
	if err := component.Parse(f, "Adds simulated nodes to a cluster.", args); err != nil {
		return err
	}
	var err error
	if n.PodCIDR, err = netip.ParsePrefix(cidr); err != nil {
		return fmt.Errorf("--cluster-cidr: %w", err)
	}
	ctx, stop := component.Context()
	defer stop()
	return o.Run(ctx, o.Logger(), func(_ client.Conn, m *manager.Manager) error {
		return errors.Join(fakenode.Add(m, n), fakestorage.Add(m, fakestorage.Options{}))
	})
}
