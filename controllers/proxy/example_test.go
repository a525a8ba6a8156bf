package proxy_test

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

// What a Service means on a node, and the rules for it, are computed without touching the system.
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
	ports := proxy.Plan(proxy.IPv4, svc, []*discoveryv1.EndpointSlice{eps}, proxy.Node{Name: "node-1"})
	fmt.Println(ports[0].Name, ports[0].ClusterIP, ports[0].Cluster)

	rules := proxy.NewCompiler(proxy.Config{Mode: proxy.NFTables, Family: proxy.IPv4, MasqueradeBit: 14}).Compile(ports)
	for line := range strings.Lines(rules.Text()) {
		if strings.Contains(line, "service-ips { 10.96.0.20") {
			fmt.Print(line)
		}
	}
	// Output:
	// default/web 10.96.0.20 [10.244.0.5:8080]
	// add element ip kube-proxy service-ips { 10.96.0.20 . tcp . 80 comment "default/web" : goto service-PFISGYVC-default/web/tcp/ }
}
