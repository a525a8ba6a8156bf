package proxytest

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

var modes = []proxy.Mode{proxy.NFTables, proxy.IPTables, proxy.IPVS}

// TestBackends: the backends of package proxy conform.
func TestBackends(t *testing.T) {
	for _, mode := range modes {
		for _, f := range []proxy.Family{proxy.IPv4, proxy.IPv6} {
			t.Run(string(mode)+" "+f.String(), func(t *testing.T) {
				t.Parallel()
				n := 60
				if f == proxy.IPv6 {
					n = 20
				}
				Run(t, suite(mode, f), seeds.Of(t, n))
			})
		}
	}
}

// TestWritesThatEnd: random histories that failed once, each with writes that end at every point.
func TestWritesThatEnd(t *testing.T) {
	for _, mode := range modes {
		for _, f := range []proxy.Family{proxy.IPv4, proxy.IPv6} {
			for _, seed := range []uint64{5839784929, 5498630645, 5157818386, 6149635300, 6068814084, 5969720393} {
				Run(t, suite(mode, f), []uint64{seed})
			}
		}
	}
}

func suite(mode proxy.Mode, f proxy.Family) Suite {
	return Suite{Family: f, Traits: TraitsOf(mode), Config: Config(mode, f), New: func(t testing.TB) Subject { return NewOnKernel(t, mode, f) }}
}
