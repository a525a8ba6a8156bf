package fakenode

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// addresses gives each pod an address of its node's /24. Safe for concurrent use.
type addresses struct {
	base netip.Addr

	mu     sync.Mutex
	byPod  map[types.NamespacedName]netip.Addr
	inUse  map[netip.Addr]types.NamespacedName
	cursor map[int]int // the next host part to try, by node
}

func (a *addresses) init(cidr netip.Prefix, nodes int) error {
	if !cidr.Addr().Is4() || cidr.Bits() > 24 || 1<<(24-cidr.Bits()) < nodes {
		return fmt.Errorf("fakenode: pod CIDR %v has no room for %d /24 networks", cidr, nodes)
	}
	a.base = cidr.Masked().Addr()
	a.byPod, a.inUse, a.cursor = map[types.NamespacedName]netip.Addr{}, map[netip.Addr]types.NamespacedName{}, map[int]int{}
	return nil
}

// node is the network of the i-th node.
func (a *addresses) node(i int) netip.Prefix { return netip.PrefixFrom(a.at(i, 0), 24) }

func (a *addresses) at(node, host int) netip.Addr {
	b := a.base.As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+uint32(node)<<8+uint32(host))
	return netip.AddrFrom4(b)
}

// assign returns the pod's address: the one it has, the one it had before a restart of this process, or a
// free one.
func (a *addresses) assign(pod types.NamespacedName, node int, had string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ip, ok := a.byPod[pod]; ok {
		return ip.String(), nil
	}
	if ip, err := netip.ParseAddr(had); err == nil && a.node(node).Contains(ip) {
		if _, taken := a.inUse[ip]; !taken {
			a.byPod[pod], a.inUse[ip] = ip, pod
			return had, nil
		}
	}
	for range 254 {
		host := a.cursor[node]%254 + 1
		a.cursor[node] = host
		ip := a.at(node, host)
		if _, taken := a.inUse[ip]; !taken {
			a.byPod[pod], a.inUse[ip] = ip, pod
			return ip.String(), nil
		}
	}
	return "", fmt.Errorf("fakenode: all 254 addresses of %v are in use", a.node(node))
}

func (a *addresses) release(pod types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ip, ok := a.byPod[pod]; ok {
		delete(a.byPod, pod)
		delete(a.inUse, ip)
	}
}
