package proxy

import (
	"fmt"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
)

// BenchmarkOneChange changes the endpoints of one of 5,000 Services with 10 endpoints each: what a sync costs
// besides the kernel.
func BenchmarkOneChange(b *testing.B) {
	for _, mode := range modes {
		b.Run(string(mode), func(b *testing.B) {
			plan := func(i, eps int) []*ServicePort {
				svc := service(fmt.Sprintf("s%05d", i), fmt.Sprintf("10.96.%d.%d", i/250, i%250+1), nil, corev1.ServicePort{Port: 80, Protocol: tcp})
				var list []where
				for j := range eps {
					list = append(list, where{ip: fmt.Sprintf("10.244.%d.%d", i%250, j+1)})
				}
				return Plan(IPv4, svc, []*discoveryv1.EndpointSlice{slice(svc, discoveryv1.AddressTypeIPv4, list...)}, Node{Name: "here"})
			}
			var ports []*ServicePort
			for i := range 5000 {
				ports = append(ports, plan(i, 10)...)
			}
			compiler := NewCompiler(config(mode))
			last := compiler.Compile(ports)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				ports[2500] = plan(2500, 9+n%2)[0]
				rules := compiler.Compile(ports)
				if rules.Changes(last) == "" {
					b.Fatal("nothing has changed")
				}
				last = rules
			}
		})
	}
}
