package nodeipam

import (
	"fmt"
	"math/bits"
	"net/netip"
)

// maxSubnets bounds a pool; its bitmap has 2 MiB then. maxIPv6Bits is the limit of kube-controller-manager,
// whose flags this takes, for the bits by which nodes' ranges are smaller than an IPv6 cluster range.
const (
	maxSubnets  = 1 << 24
	maxIPv6Bits = 16
)

// pool divides a range into subnets of one size and knows which are used. A subnet is used as often as it was
// occupied, by owners whose ranges may be larger or smaller than a subnet.
type pool struct {
	cluster netip.Prefix
	size    int      // prefix length of the subnets
	used    []uint64 // one bit a subnet
	counts  map[int]int
	free    int
	next    int // where the search begins, so that a released subnet is not the next one to be used
}

func newPool(cluster netip.Prefix, size int) (*pool, error) {
	cluster = cluster.Masked()
	n := size - cluster.Bits()
	switch {
	case n < 0 || size > cluster.Addr().BitLen():
		return nil, fmt.Errorf("nodeipam: the mask size of nodes, %d, must be from %d to %d for cluster range %s", size, cluster.Bits(), cluster.Addr().BitLen(), cluster)
	case n >= bits.Len(maxSubnets) || cluster.Addr().Is6() && n > maxIPv6Bits:
		return nil, fmt.Errorf("nodeipam: cluster range %s has too many ranges of mask size %d", cluster, size)
	}
	subnets := 1 << n
	return &pool{cluster: cluster, size: size, used: make([]uint64, (subnets+63)/64), counts: map[int]int{}, free: subnets}, nil
}

func (p *pool) subnets() int { return 1 << (p.size - p.cluster.Bits()) }

// span returns the first and the last subnet that overlap r, ok is false if there are none.
func (p *pool) span(r netip.Prefix) (first, last int, ok bool) {
	r = r.Masked()
	switch {
	case !r.Overlaps(p.cluster):
		return 0, 0, false
	case r.Bits() <= p.cluster.Bits():
		return 0, p.subnets() - 1, true
	}
	first = p.index(r.Addr())
	return first, first + 1<<max(p.size-r.Bits(), 0) - 1, true
}

// index returns the number of the subnet of an address of the cluster range.
func (p *pool) index(a netip.Addr) int {
	n := 0
	b := a.As16()
	offset := 128 - a.BitLen()
	for bit := p.cluster.Bits(); bit < p.size; bit++ {
		i := offset + bit
		n = n<<1 | int(b[i/8]>>(7-i%8)&1)
	}
	return n
}

// subnet returns the subnet of a number.
func (p *pool) subnet(n int) netip.Prefix {
	b := p.cluster.Addr().As16()
	offset := 128 - p.cluster.Addr().BitLen()
	for bit := p.size - 1; bit >= p.cluster.Bits(); bit-- {
		i := offset + bit
		b[i/8] |= byte(n&1) << (7 - i%8)
		n >>= 1
	}
	a := netip.AddrFrom16(b)
	if p.cluster.Addr().Is4() {
		a = a.Unmap()
	}
	return netip.PrefixFrom(a, p.size)
}

// occupy marks the subnets that overlap r as used once more.
func (p *pool) occupy(r netip.Prefix) { p.mark(r, 1) }

// release takes back one occupy of r.
func (p *pool) release(r netip.Prefix) { p.mark(r, -1) }

func (p *pool) mark(r netip.Prefix, by int) {
	first, last, ok := p.span(r)
	if !ok {
		return
	}
	for n := first; n <= last; n++ {
		before := p.counts[n]
		now := max(before+by, 0)
		switch {
		case before == 0 && now > 0:
			p.used[n/64] |= 1 << (n % 64)
			p.free--
		case before > 0 && now == 0:
			p.used[n/64] &^= 1 << (n % 64)
			p.free++
		}
		if now == 0 {
			delete(p.counts, n)
		} else {
			p.counts[n] = now
		}
	}
}

// take occupies the next free subnet that accept accepts; ok is false if there is none.
func (p *pool) take(accept func(netip.Prefix) bool) (subnet netip.Prefix, ok bool) {
	total := p.subnets()
	for tried := 0; p.free > 0 && tried < total; {
		n := p.next
		if word := ^p.used[n/64] >> (n % 64); word == 0 {
			tried += 64 - n%64
			p.next = (n/64 + 1) * 64 % len64(total)
			continue
		} else if skip := bits.TrailingZeros64(word); skip > 0 {
			tried += skip
			n += skip
		}
		if n >= total {
			p.next = 0
			continue
		}
		p.next = (n + 1) % total
		tried++
		if s := p.subnet(n); accept(s) {
			p.occupy(s)
			return s, true
		}
	}
	return netip.Prefix{}, false
}

// len64 returns n rounded up to whole words.
func len64(n int) int { return (n + 63) / 64 * 64 }
