package builtin

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/store/registry"
)

// Metrics are hooks for measurements of the addresses and ports of services, and of certificates, which must
// be fast and safe for concurrent use. Nil functions are skipped.
type Metrics struct {
	// Issued is called when a certificate for a signing request with spec.expirationSeconds has been stored:
	// honored says that it is valid for about as long as requested.
	Issued func(signer string, honored bool)
	// Address is called when a cluster IP of a range has been allocated to a stored service, and when it
	// could not be: named says that the service names it.
	Address func(cidr netip.Prefix, named bool, err error, elapsed time.Duration)
	// Port is called in the same way for a node port.
	Port func(named bool, err error)
	// Repaired is called for each allocation that did not agree with the services, Unrepaired when one could
	// not be repaired: ports says of which kind.
	Repaired   func(ports bool, fault Fault)
	Unrepaired func(ports bool)
}

// Fault is how an allocation did not agree with the services.
type Fault string

// The faults.
const (
	Missing    Fault = "repair"     // a service has it, and it was not allocated
	Leaked     Fault = "leak"       // it was allocated, and no service has it
	OutOfRange Fault = "outOfRange" // a service has a port that cannot be allocated
)

// Allocation is how much of a range of addresses, or of the range of node ports, is allocated.
type Allocation struct {
	// Range is that of addresses, in CIDR notation; empty for the ports.
	Range           string
	Allocated, Free uint64
}

// Allocations returns what is allocated to services: the ranges of addresses, and then the node ports. What
// cannot be read is left out.
func (k *Kinds) Allocations(ctx context.Context) (out []Allocation) {
	if res := k.registry.Resource(addressesGVR); res != nil {
		snap, err := res.Snapshot(ctx, registry.Freshness{})
		if err != nil {
			return nil
		}
		var ranges []netip.Prefix
		for _, f := range k.addresses.families() {
			ranges = append(ranges, k.addresses.ranges(ctx, f)...)
		}
		used := make([]uint64, len(ranges))
		for o := range snap.Range(res.Prefix(), "") {
			ip, err := netip.ParseAddr(o.Name)
			if err != nil {
				continue
			}
			for i, p := range ranges {
				if p.Contains(ip) {
					used[i]++
				}
			}
		}
		for i, p := range ranges {
			out = append(out, Allocation{Range: p.String(), Allocated: used[i], Free: max(sizeOf(p), used[i]) - used[i]})
		}
	}
	if m, err := k.ports.load(ctx); err == nil {
		a := Allocation{}
		for i := range int(m.ports.Last-m.ports.First) + 1 {
			a.Allocated += uint64(m.bits.Bit(i))
		}
		a.Free = uint64(m.ports.Last-m.ports.First) + 1 - a.Allocated
		out = append(out, a)
	}
	return out
}

// addressed reports an attempt to allocate a cluster IP: a failed one at once, others when done runs.
func (a *serviceAllocation) addressed(cidr netip.Prefix, named bool, began time.Time, err error) {
	hook := a.kinds.metrics.Address
	if hook == nil || !cidr.IsValid() {
		return
	}
	elapsed := time.Since(began)
	if err != nil {
		hook(cidr, named, err, elapsed)
		return
	}
	a.reports = append(a.reports, func() { hook(cidr, named, nil, elapsed) })
}

// ported reports an attempt to allocate a node port, as addressed does.
func (a *serviceAllocation) ported(named bool, err error) {
	hook := a.kinds.metrics.Port
	switch {
	case hook == nil:
	case err != nil:
		hook(named, err)
	default:
		a.reports = append(a.reports, func() { hook(named, nil) })
	}
}

func (a *serviceAllocation) done() {
	for _, report := range a.reports {
		report()
	}
}

func (k *Kinds) repaired(ports bool, fault Fault) {
	if k.metrics.Repaired != nil {
		k.metrics.Repaired(ports, fault)
	}
}

// unrepaired reports the error of a repair, and returns it.
func (k *Kinds) unrepaired(ports bool, err error) error {
	if err != nil && k.metrics.Unrepaired != nil {
		k.metrics.Unrepaired(ports)
	}
	return err
}

// rangeOf returns the range of an address; an invalid one if no range contains it.
func (a *addressAllocator) rangeOf(ctx context.Context, text string) netip.Prefix {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}
	}
	ranges := a.ranges(ctx, familyOf(ip))
	if i := slices.IndexFunc(ranges, func(p netip.Prefix) bool { return p.Contains(ip) }); i >= 0 {
		return ranges[i]
	}
	return netip.Prefix{}
}

// first returns the first address of the configured range of a family; empty if there is none.
func (a *addressAllocator) first(f corev1.IPFamily) string {
	for _, p := range a.primary {
		if familyOf(p.Addr()) == f {
			return p.Addr().String()
		}
	}
	return ""
}
