package builtin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/registry"
)

// DefaultServiceCIDR is the range of cluster IPs of a server without a configured one.
const DefaultServiceCIDR = "10.96.0.0/16"

var (
	addressesGVR = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ipaddresses"}
	rangesGVR    = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "servicecidrs"}
)

// addressAllocator allocates cluster IPs to services. An allocation is an IPAddress object, created in the
// same transaction as the service, so two servers can never allocate the same address.
type addressAllocator struct {
	registry *registry.Registry
	primary  []netip.Prefix // one per family, the first is the cluster's main family
}

func newAddressAllocator(r *registry.Registry, cidrs string) (*addressAllocator, error) {
	if cidrs == "" {
		cidrs = DefaultServiceCIDR
	}
	a := &addressAllocator{registry: r}
	for text := range strings.SplitSeq(cidrs, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("builtin: service CIDR: %w", err)
		}
		if p = p.Masked(); p.Addr().BitLen()-p.Bits() < 3 {
			return nil, fmt.Errorf("builtin: service CIDR %s is too small", p)
		}
		if len(a.primary) == 2 || len(a.primary) == 1 && a.primary[0].Addr().Is4() == p.Addr().Is4() {
			return nil, fmt.Errorf("builtin: service CIDRs %q: at most one per family", cidrs)
		}
		a.primary = append(a.primary, p)
	}
	return a, nil
}

// families are those of the configured ranges, the main one first.
func (a *addressAllocator) families() []corev1.IPFamily {
	out := make([]corev1.IPFamily, len(a.primary))
	for i, p := range a.primary {
		out[i] = familyOf(p.Addr())
	}
	return out
}

func familyOf(a netip.Addr) corev1.IPFamily {
	if a.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// ranges returns the ranges of a family: the configured one and those of ServiceCIDR objects that are ready.
func (a *addressAllocator) ranges(ctx context.Context, f corev1.IPFamily) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range a.primary {
		if familyOf(p.Addr()) == f {
			out = append(out, p)
		}
	}
	if a.registry.Resource(rangesGVR) == nil {
		return out
	}
	all, err := registry.List[*networkingv1.ServiceCIDR](ctx, a.registry.Access(), rangesGVR, "", labels.Everything())
	if err != nil {
		return out // the configured range is always usable
	}
	for _, c := range all {
		if !c.DeletionTimestamp.IsZero() || !rangeReady(c) {
			continue
		}
		for _, text := range c.Spec.CIDRs {
			if p, err := netip.ParsePrefix(text); err == nil && familyOf(p.Addr()) == f && !slices.Contains(out, p.Masked()) {
				out = append(out, p.Masked())
			}
		}
	}
	return out
}

func rangeReady(c *networkingv1.ServiceCIDR) bool {
	for _, cond := range c.Status.Conditions {
		if cond.Type == networkingv1.ServiceCIDRConditionReady {
			return cond.Status == metav1.ConditionTrue
		}
	}
	return true // no controller has set the condition: there may be none
}

var (
	errOutOfRange = errors.New("the provided network does not match the current range")
	errTaken      = errors.New("provided IP is already allocated")
	errFull       = errors.New("range is full")
)

// take returns the operation that allocates a given address to a service.
func (a *addressAllocator) take(ctx context.Context, svc *corev1.Service, text string) (store.Op, error) {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return store.Op{}, err
	}
	inside := false
	ranges := a.ranges(ctx, familyOf(ip))
	for _, p := range ranges {
		inside = inside || p.Contains(ip) && usable(p, ip)
	}
	if !inside {
		return store.Op{}, errOutOfRange
	}
	_, _, err = a.registry.Store().Get(ctx, a.key(ip))
	switch {
	case err == nil:
		return store.Op{}, errTaken
	case !errors.Is(err, store.ErrNotFound):
		return store.Op{}, err
	}
	return a.op(ctx, svc, ip)
}

// usable excludes the network's own address and, in IPv4, the broadcast address.
func usable(p netip.Prefix, ip netip.Addr) bool {
	return ip != p.Addr() && (ip.Is6() || ip != lastOf(p))
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

// pick returns a free address of a family and the operation that allocates it. Addresses come at random from
// the upper part of a range; the lower part is kept for services that name an address, until nothing else is
// free.
func (a *addressAllocator) pick(ctx context.Context, svc *corev1.Service, f corev1.IPFamily) (string, store.Op, error) {
	for _, p := range a.ranges(ctx, f) {
		size := sizeOf(p)
		band := min(max(16, size/16), 256)
		if size <= 16 {
			band = 0
		}
		for _, part := range [2][2]uint64{{band, size}, {0, band}} {
			ip, ok, err := a.search(ctx, p, part[0], part[1])
			if err != nil {
				return "", store.Op{}, err
			}
			if ok {
				op, err := a.op(ctx, svc, ip)
				return ip.String(), op, err
			}
		}
	}
	return "", store.Op{}, errFull
}

// sizeOf is the number of usable addresses of a range, at most 2^16 of IPv6 ones being used.
func sizeOf(p netip.Prefix) uint64 {
	bits := min(p.Addr().BitLen()-p.Bits(), 32)
	if p.Addr().Is6() {
		return 1<<min(bits, 16) - 1
	}
	return 1<<bits - 2
}

// search looks for a free address between two offsets, beginning at a random one.
func (a *addressAllocator) search(ctx context.Context, p netip.Prefix, from, to uint64) (netip.Addr, bool, error) {
	if to <= from {
		return netip.Addr{}, false, nil
	}
	n := to - from
	start := a.registry.Draw("address "+p.String()) % n
	for i := range n {
		ip := offset(p, 1+from+(start+i)%n)
		_, _, err := a.registry.Store().Get(ctx, a.key(ip))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return ip, true, nil
		case err != nil:
			return netip.Addr{}, false, err
		}
	}
	return netip.Addr{}, false, nil
}

// offset is the n-th address of a range.
func offset(p netip.Prefix, n uint64) netip.Addr {
	b := p.Addr().AsSlice()
	for i := len(b) - 1; i >= 0 && n > 0; i-- {
		n += uint64(b[i])
		b[i] = byte(n)
		n >>= 8
	}
	ip, _ := netip.AddrFromSlice(b)
	return ip
}

// addressPrefix is the key prefix of IPAddress objects.
const addressPrefix = "/ipaddresses/"

func (a *addressAllocator) key(ip netip.Addr) string { return addressPrefix + ip.String() }

// op returns the operation that creates the IPAddress object.
func (a *addressAllocator) op(ctx context.Context, svc *corev1.Service, ip netip.Addr) (store.Op, error) {
	res := a.registry.Resource(addressesGVR)
	if res == nil {
		return store.Op{}, errors.New("ipaddresses are not served")
	}
	return res.CreateOp(ctx, &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: ip.String(), Labels: map[string]string{
			networkingv1.LabelIPAddressFamily: string(familyOf(ip)),
			networkingv1.LabelManagedBy:       addressManager,
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: svc.Namespace, Name: svc.Name}},
	})
}

// addressManager is the value of the label by which the allocator recognizes its IPAddress objects.
const addressManager = "ipallocator.k8s.io"

// release returns the operations that delete the IPAddress objects of a service. An address that is not
// stored or belongs to another parent is skipped.
func (a *addressAllocator) release(ctx context.Context, key types.NamespacedName, ips []string) ([]store.Op, error) {
	var ops []store.Op
	for _, text := range ips {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		kv, _, err := a.registry.Store().Get(ctx, a.key(ip))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var addr networkingv1.IPAddress
		if _, _, err := codec.UnmarshalEnvelope(kv.Value, &addr); err != nil {
			continue
		}
		if ref := addr.Spec.ParentRef; ref != nil && ref.Namespace == key.Namespace && ref.Name == key.Name {
			ops = append(ops, store.DeleteOp(kv.Key, kv.Revision))
		}
	}
	return ops, nil
}

// ServiceAddress returns the n-th address of the cluster's main service range: the first is that of the
// service kubernetes, the tenth by convention that of the cluster's DNS.
func (k *Kinds) ServiceAddress(n int) netip.Addr { return offset(k.addresses.primary[0], uint64(n)) }

// ServiceRanges returns the configured service ranges, the main one first.
func (k *Kinds) ServiceRanges() []netip.Prefix { return slices.Clone(k.addresses.primary) }
