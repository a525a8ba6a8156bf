// Command cluster-dns answers the names of Services and pods, and forwards queries for others.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/clusterdns"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

func main() { component.Exit("cluster-dns", run(os.Args[1:])) }

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := component.Context()
	defer stop()
	return o.serve(ctx, o.Logger())
}

// options are what the flags say.
type options struct {
	component.Options
	dns                   clusterdns.Options
	resolvConf            string
	pods                  string
	clusterIPs, advertise []string

	publication *clusterdns.Publication // nil if nothing is published
}

func (o *options) flags(f *pflag.FlagSet) {
	o.Flags(f)
	f.StringVar(&o.dns.Domain, "domain", "cluster.local", "domain of the cluster")
	f.StringSliceVar(&o.dns.Addresses, "address", []string{":53"}, "host:port to answer on, with UDP and TCP; several are separated by commas")
	f.DurationVar(&o.dns.TTL, "ttl", 5*time.Second, "how long clients may cache answers of the cluster, in whole seconds")
	f.StringVar(&o.pods, "pods", string(clusterdns.PodsInsecure), "names of pods: insecure answers for every address, verified only for pods of the namespace, disabled for none")
	f.StringSliceVar(&o.dns.Upstreams, "upstream", nil, "resolvers for other names, as host or host:port, instead of those of --resolv-conf")
	f.StringVar(&o.resolvConf, "resolv-conf", "/etc/resolv.conf", "file with the resolvers for other names; if empty and without --upstream such queries are refused")
	f.DurationVar(&o.dns.UpstreamTimeout, "upstream-timeout", 2*time.Second, "how long a query may wait for all resolvers together")
	f.IntVar(&o.dns.MaxForwards, "max-forwards", 500, "most queries that wait for resolvers at a time")
	f.StringSliceVar(&o.clusterIPs, "cluster-ip", nil, "publish the server as Service kube-system/kube-dns with this cluster IP, or with one of each family; not for servers in pods, which a Service with a selector publishes")
	f.StringSliceVar(&o.advertise, "advertise-address", nil, "addresses of the servers behind --cluster-ip; empty: those of --address")
}

func parse(args []string) (*options, error) {
	o := &options{Options: component.Options{Name: "cluster-dns", SecurePort: 10260}}
	f := pflag.NewFlagSet(o.Name, pflag.ContinueOnError)
	o.flags(f)
	if err := component.Parse(f, "Answers the names of Services and pods, and forwards queries for others.", args); err != nil {
		return nil, err
	}
	o.dns.Pods = clusterdns.PodMode(o.pods)
	if o.dns.TTL < time.Second || o.dns.TTL%time.Second != 0 {
		return nil, fmt.Errorf("--ttl %s: want whole seconds", o.dns.TTL)
	}
	if err := o.publish(); err != nil {
		return nil, err
	}
	return o, o.readResolvConf()
}

// publish reads what to publish.
func (o *options) publish() error {
	if len(o.clusterIPs) == 0 {
		if len(o.advertise) > 0 {
			return errors.New("--advertise-address: want --cluster-ip too")
		}
		return nil
	}
	p := &clusterdns.Publication{}
	for _, text := range o.clusterIPs {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("--cluster-ip: %w", err)
		}
		p.ClusterIPs = append(p.ClusterIPs, ip)
	}
	advertise := o.advertise
	for _, a := range o.dns.Addresses {
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			return fmt.Errorf("--address: %w", err)
		}
		n, err := net.LookupPort("udp", port)
		if err != nil || n == 0 || p.Port != 0 && int(p.Port) != n {
			return fmt.Errorf("--address %s: want one port, the same everywhere, to publish it", a)
		}
		p.Port = uint16(n)
		if len(o.advertise) == 0 {
			advertise = append(advertise, host)
		}
	}
	for _, text := range advertise {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("address %q of the server: %w: give --advertise-address", text, err)
		}
		p.Addresses = append(p.Addresses, ip)
	}
	o.publication = p
	return nil
}

// readResolvConf reads the upstreams, unless flags name them. The server itself is none of them.
func (o *options) readResolvConf() (err error) {
	if len(o.dns.Upstreams) > 0 || o.resolvConf == "" {
		return nil
	}
	own := slices.Clone(o.dns.Addresses)
	for _, ip := range o.clusterIPs {
		own = append(own, net.JoinHostPort(ip, "53"))
	}
	o.dns.Upstreams, err = clusterdns.ResolvConf(o.resolvConf, own...)
	return err
}

// serve runs the server until ctx ends.
func (o *options) serve(ctx context.Context, log *slog.Logger) error {
	var s *clusterdns.Server
	if o.publication == nil {
		o.LeaderElect = false // answering needs no lease, only the publication does
	}
	o.Ready = map[string]health.Check{"dns": func(ctx context.Context) error { return s.Ready(ctx) }}
	return o.Run(ctx, log, func(_ client.Conn, m *manager.Manager) (err error) {
		if measured, ok := m.Monitor().(*metrics.Metrics); ok {
			o.dns.Metrics = hooks(measured.Registry())
		}
		if s, err = clusterdns.New(m, o.dns); err != nil {
			return err
		}
		m.AddWithoutLeaderElection("cluster DNS", s)
		if o.publication == nil {
			return nil
		}
		return clusterdns.AddPublication(m, *o.publication)
	})
}
