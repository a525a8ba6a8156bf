package proxy

import (
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// service makes a Service in namespace ns; change may edit it.
func service(name, ip string, change func(*corev1.Service), ports ...corev1.ServicePort) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: ip, ClusterIPs: []string{ip}, Ports: ports},
	}
	if change != nil {
		change(s)
	}
	return s
}

func port(name string, proto corev1.Protocol, port, nodePort int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: proto, Port: port, NodePort: nodePort, TargetPort: intstr.FromInt32(8080)}
}

// where is an endpoint for slice.
type where struct {
	ip, node  string
	notReady  bool
	leaving   bool // terminating, and serving
	forZones  []string
	forNodes  []string
	condition *discoveryv1.EndpointConditions
}

// slice makes an EndpointSlice of a Service with endpoints at port 8080 of all its ports.
func slice(svc *corev1.Service, family discoveryv1.AddressType, eps ...where) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name + "-" + strings.ToLower(string(family)), Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name}},
		AddressType: family,
	}
	for _, p := range svc.Spec.Ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: new(p.Name), Protocol: new(p.Protocol), Port: new(int32(8080))})
	}
	for _, e := range eps {
		ep := discoveryv1.Endpoint{Addresses: []string{e.ip}}
		if e.node != "" {
			ep.NodeName = new(e.node)
		}
		ready := !e.notReady && !e.leaving
		ep.Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: new(ready || e.leaving), Terminating: new(e.leaving)}
		if e.condition != nil {
			ep.Conditions = *e.condition
		}
		if e.forZones != nil || e.forNodes != nil {
			ep.Hints = &discoveryv1.EndpointHints{}
			for _, z := range e.forZones {
				ep.Hints.ForZones = append(ep.Hints.ForZones, discoveryv1.ForZone{Name: z})
			}
			for _, n := range e.forNodes {
				ep.Hints.ForNodes = append(ep.Hints.ForNodes, discoveryv1.ForNode{Name: n})
			}
		}
		s.Endpoints = append(s.Endpoints, ep)
	}
	return s
}
