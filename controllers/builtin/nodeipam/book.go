package nodeipam

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// book has which node has which ranges.
type book struct {
	pools []*pool                   // one for each range of the cluster
	owned map[string][]netip.Prefix // by node, in the order of pools; an invalid one is none
}

// newBook returns the book of a cluster without nodes. It returns an error for ranges that do not go
// together.
func newBook(opts Options) (*book, error) {
	if opts.MaskSizeIPv4 == 0 {
		opts.MaskSizeIPv4 = 24
	}
	if opts.MaskSizeIPv6 == 0 {
		opts.MaskSizeIPv6 = 64
	}
	switch c := opts.ClusterCIDRs; {
	case len(c) == 0:
		return nil, errors.New("nodeipam: Options.ClusterCIDRs is empty: nodes would get no range")
	case len(c) > 2 || len(c) == 2 && c[0].Addr().Is4() == c[1].Addr().Is4():
		return nil, fmt.Errorf("nodeipam: Options.ClusterCIDRs must have one range, or one IPv4 and one IPv6 range: %v", c)
	}
	b := &book{owned: map[string][]netip.Prefix{}}
	for _, c := range opts.ClusterCIDRs {
		size := opts.MaskSizeIPv4
		if c.Addr().Is6() {
			size = opts.MaskSizeIPv6
		}
		p, err := newPool(c, size)
		if err != nil {
			return nil, err
		}
		for _, s := range opts.ServiceCIDRs {
			p.occupy(s)
		}
		b.pools = append(b.pools, p)
	}
	return b, nil
}

// rangesOf returns the ranges of a node in the order of the pools, nil if it has none, and those that are of
// no pool.
func (b *book) rangesOf(n *corev1.Node) (ranges []netip.Prefix, outside []string) {
	if len(n.Spec.PodCIDRs) == 0 {
		return nil, nil
	}
	ranges = make([]netip.Prefix, len(b.pools))
	for _, text := range n.Spec.PodCIDRs {
		r, err := netip.ParsePrefix(text)
		found := false
		for i, p := range b.pools {
			if err == nil && r.Overlaps(p.cluster) {
				ranges[i], found = r, true
			}
		}
		if !found {
			outside = append(outside, text)
		}
	}
	return ranges, outside
}

// own makes ranges those of a node, in the place of its previous ones.
func (b *book) own(node string, ranges []netip.Prefix) {
	for i, r := range b.owned[node] {
		if r.IsValid() {
			b.pools[i].release(r)
		}
	}
	delete(b.owned, node)
	if ranges == nil {
		return
	}
	for i, r := range ranges {
		if r.IsValid() {
			b.pools[i].occupy(r)
		}
	}
	b.owned[node] = ranges
}

// allocate returns a range of each pool for a node: those that it was given before, in case that writing them
// failed, or new ones, which accept accepts. In case of an error nothing is allocated.
func (b *book) allocate(node string, accept func(netip.Prefix) bool) ([]netip.Prefix, error) {
	if ranges := b.owned[node]; ranges != nil {
		return ranges, nil
	}
	var ranges []netip.Prefix
	for _, p := range b.pools {
		r, ok := p.take(accept)
		if !ok {
			for i, r := range ranges {
				b.pools[i].release(r)
			}
			return nil, fmt.Errorf("nodeipam: node %s: no range of %s is free", node, p.cluster)
		}
		ranges = append(ranges, r)
	}
	b.owned[node] = ranges
	return ranges, nil
}
