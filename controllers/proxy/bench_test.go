package proxy_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// scripted are the modes whose changes are text.
var scripted = []proxy.Mode{proxy.NFTables, proxy.IPTables}

// many is a table of n Services with eps endpoints each.
func many(n, eps int) *proxy.Table {
	t := proxy.NewTable(proxy.IPv4, proxy.Node{Name: proxytest.NodeName})
	for i := range n {
		setMany(t, i, eps)
	}
	return t
}

func setMany(t *proxy.Table, i, eps int) {
	svc, slice := manyObjects(i, eps)
	t.Set(types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}, svc, []*discoveryv1.EndpointSlice{slice})
}

func manyObjects(i, eps int) (*corev1.Service, *discoveryv1.EndpointSlice) {
	addr := netip.AddrFrom4([4]byte{10, byte(96 + i>>16), byte(i >> 8), byte(i)})
	svc := proxytest.Service(fmt.Sprintf("s%05d", i), addr.String(), nil, corev1.ServicePort{Port: 80, Protocol: tcp})
	list := make([]proxytest.Endpoint, eps)
	for j := range list {
		list[j] = proxytest.Endpoint{IP: netip.AddrFrom4([4]byte{10, byte(200 + j), byte(i >> 8), byte(i)}).String(), Node: "there"}
	}
	return svc, proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, list...)
}

// BenchmarkOneChange changes the endpoints of one Service among many, with 10 endpoints each: what it costs
// in the process of the proxy, from the objects to the text for the kernel.
func BenchmarkOneChange(b *testing.B) {
	for _, mode := range scripted {
		for _, n := range []int{1000, 10_000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", mode, n), func(b *testing.B) {
				eps := 10
				if n > 10_000 {
					eps = 5
				}
				t, cfg := many(n, eps), proxytest.Config(mode, proxy.IPv4)
				t.Take()
				svc, more := manyObjects(n/2, eps)
				_, less := manyObjects(n/2, eps-1)
				key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					t.Set(key, svc, []*discoveryv1.EndpointSlice{[]*discoveryv1.EndpointSlice{less, more}[i%2]})
					if text, err := proxy.Script(mode, cfg, t.Take()); text == "" || err != nil {
						b.Fatal("nothing has changed", err)
					}
				}
			})
		}
	}
}

// BenchmarkAll renders everything, as at the start.
func BenchmarkAll(b *testing.B) {
	for _, mode := range scripted {
		b.Run(string(mode), func(b *testing.B) {
			t := many(10_000, 10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := proxy.Script(mode, proxytest.Config(mode, proxy.IPv4), t.All()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTable fills a table with 50,000 Services of 5 endpoints, and reports what it keeps of each.
func BenchmarkTable(b *testing.B) {
	const n = 50_000
	var each uint64
	for b.Loop() {
		each = keptOfEach(n)
	}
	b.ReportMetric(float64(each), "B/Service")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/Service")
}

// TestTableIsSmall: a Service with 5 endpoints takes at most 1 KiB in the table.
func TestTableIsSmall(t *testing.T) {
	if each := keptOfEach(20_000); each > 1024 {
		t.Errorf("%d bytes per Service", each)
	}
}

// keptOfEach is the number of bytes that a table keeps of each of n Services with 5 endpoints.
func keptOfEach(n int) uint64 {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	table := many(n, 5)
	table.Take()
	each := (heap() - before) / uint64(n)
	runtime.KeepAlive(table)
	return each
}
