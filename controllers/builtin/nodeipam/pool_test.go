package nodeipam

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func anyRange(netip.Prefix) bool { return true }

func TestNewPool(t *testing.T) {
	for _, c := range []struct {
		cluster string
		size    int
		problem string
	}{
		{"10.0.0.0/16", 24, ""}, {"10.0.0.0/16", 16, ""}, {"fd00::/48", 64, ""}, {"10.0.0.0/8", 32, ""},
		{"10.0.0.0/16", 8, "must be from 16 to 32"}, {"10.0.0.0/16", 33, "must be from 16 to 32"},
		{"fd00::/47", 64, "too many"}, {"0.0.0.0/0", 32, "too many"},
	} {
		_, err := newPool(netip.MustParsePrefix(c.cluster), c.size)
		if c.problem == "" {
			require.NoError(t, err, "%+v", c)
		} else {
			require.ErrorContains(t, err, c.problem, "%+v", c)
		}
	}
}

func TestSubnets(t *testing.T) {
	for _, c := range []struct {
		cluster string
		size    int
		want    []string
	}{
		{"10.1.0.0/22", 24, []string{"10.1.0.0/24", "10.1.1.0/24", "10.1.2.0/24", "10.1.3.0/24"}},
		{"10.1.0.0/24", 24, []string{"10.1.0.0/24"}},
		{"fd00:1::/63", 64, []string{"fd00:1::/64", "fd00:1:0:1::/64"}},
		{"fd00:1::/119", 120, []string{"fd00:1::/120", "fd00:1::100/120"}},
	} {
		p, err := newPool(netip.MustParsePrefix(c.cluster), c.size)
		require.NoError(t, err)
		for i, want := range c.want {
			s, ok := p.take(anyRange)
			require.True(t, ok)
			require.Equal(t, want, s.String())
			require.Equal(t, i, p.index(s.Addr()))
		}
		_, ok := p.take(anyRange)
		require.False(t, ok)
		require.Zero(t, p.free)
	}
}

// model is a pool as a list of ranges.
type model struct {
	cluster netip.Prefix
	owned   []netip.Prefix
}

func (m *model) isFree(s netip.Prefix) bool {
	for _, r := range m.owned {
		if r.Overlaps(s) {
			return false
		}
	}
	return true
}

// A subnet that is taken overlaps no range that is occupied, and there is none only if none is free.
func TestPoolAgreesWithModel(t *testing.T) {
	for _, seed := range seeds.Of(t, 50) {
		r := seeds.Rand(seed)
		cluster := netip.MustParsePrefix([]string{"10.4.0.0/20", "fd00:4::/112"}[r.IntN(2)])
		size := cluster.Bits() + r.IntN(9)
		p, err := newPool(cluster, size)
		require.NoError(t, err)
		m := &model{cluster: cluster}
		for range 300 {
			switch r.IntN(4) {
			case 0, 1:
				s, ok := p.take(anyRange)
				free := 0
				for n := range p.subnets() {
					if m.isFree(p.subnet(n)) {
						free++
					}
				}
				require.Equal(t, free > 0, ok, "seed %d", seed)
				if ok {
					require.True(t, m.isFree(s), "seed %d: %s is used", seed, s)
					m.owned = append(m.owned, s)
				}
			case 2: // a range of any size, perhaps partly outside
				s, err := p.subnet(r.IntN(p.subnets())).Addr().Prefix(cluster.Bits() - 1 + r.IntN(12))
				require.NoError(t, err)
				p.occupy(s)
				m.owned = append(m.owned, s)
			case 3:
				if n := len(m.owned); n > 0 {
					i := r.IntN(n)
					p.release(m.owned[i])
					m.owned = append(m.owned[:i], m.owned[i+1:]...)
				}
			}
		}
	}
}

// Taking and releasing costs the same, whether the pool is empty or nearly full.
func BenchmarkTake(b *testing.B) {
	p, err := newPool(netip.MustParsePrefix("10.0.0.0/8"), 26)
	require.NoError(b, err)
	for range p.subnets() - 2 {
		p.take(anyRange)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, _ := p.take(anyRange)
		p.release(s)
	}
}
