package proxy_test

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

// What a Service means on a node, and the rules for a change of it, are computed without touching the system.
func Example() {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.96.0.20", Ports: []corev1.ServicePort{{Port: 80}}},
	}
	eps := &discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.5"}}},
		Ports:       []discoveryv1.EndpointPort{{Port: new(int32(8080))}},
	}
	table := proxy.NewTable(proxy.IPv4, proxy.Node{Name: "node-1"})
	key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	table.Set(key, svc, []*discoveryv1.EndpointSlice{eps})
	for _, p := range table.Service(key) {
		fmt.Println(p.Name, p.ClusterIP, p.Cluster)
	}
	table.Take() // what was added, for the kernel

	eps.Endpoints[0].Addresses = []string{"10.244.0.6"}
	table.Set(key, svc, []*discoveryv1.EndpointSlice{eps})
	change, err := proxy.Script(proxy.NFTables, proxy.Config{Family: proxy.IPv4, MasqueradeBit: 14}, table.Take())
	for line := range strings.Lines(change) {
		if strings.HasPrefix(line, "add rule") {
			fmt.Print(strings.TrimPrefix(line, "add rule ip kube-proxy service-PFISGYVC-default/web/tcp/ "))
		}
	}
	fmt.Println(err)
	// Output:
	// default/web 10.96.0.20 [10.244.0.5:8080]
	// meta l4proto tcp dnat ip to numgen random mod 1 map { 0 : 10.244.0.6 . 8080 }
	// <nil>
}
