package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/store/controlplane"
)

// bookkeeping is what the server writes about itself.
type bookkeeping struct {
	endpoints string
	servers   int
}

func (b *bookkeeping) flags(f *pflag.FlagSet) {
	f.StringVar(&b.endpoints, "endpoint-reconciler-type", string(controlplane.EndpointsLease), "how the endpoints of the service kubernetes are kept: lease: servers over one store have keys that expire; master-count: up to --apiserver-count servers add themselves; none: by others")
	f.IntVar(&b.servers, "apiserver-count", 1, "number of servers, for --endpoint-reconciler-type=master-count")
}

// validate checks the flags, and that clients of the service kubernetes, whose address is of the first range,
// can reach the advertised address.
func (b *bookkeeping) validate(advertise, serviceCIDR string) error {
	var errs []error
	modes := []string{string(controlplane.EndpointsCount), string(controlplane.EndpointsLease), string(controlplane.EndpointsNone)}
	if !slices.Contains(modes, b.endpoints) {
		errs = append(errs, fmt.Errorf("--endpoint-reconciler-type: %q is none of %s", b.endpoints, strings.Join(modes, ", ")))
	}
	if b.servers < 1 {
		errs = append(errs, fmt.Errorf("--apiserver-count=%d: want 1 or more", b.servers))
	}
	first, _, _ := strings.Cut(serviceCIDR, ",")
	services, err := netip.ParsePrefix(first)
	address, err2 := netip.ParseAddr(advertise)
	if err == nil && err2 == nil && !address.IsLoopback() && b.endpoints != string(controlplane.EndpointsNone) && services.Addr().Is4() != address.Is4() {
		errs = append(errs, fmt.Errorf("--advertise-address=%s and --service-cluster-ip-range=%s: the service kubernetes needs both of one family, or --endpoint-reconciler-type=none", advertise, first))
	}
	return errors.Join(errs...)
}

// apply sets the options of the control plane. The lease of the server is named after the host.
func (b *bookkeeping) apply(co *controlplane.Options, identity, versions bool) (err error) {
	co.Bookkeeping = controlplane.BookkeepingOptions{Endpoints: controlplane.EndpointsMode(b.endpoints), Servers: b.servers, StorageVersions: versions}
	if identity {
		if co.Bookkeeping.Hostname, err = os.Hostname(); err != nil {
			return fmt.Errorf("the name of the host, after which the server's lease is named: %w", err)
		}
	}
	return nil
}
