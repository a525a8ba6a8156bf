package builtin

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/store/columns"
)

var serviceTable = columns.Of(func(s *corev1.Service, now time.Time) []any {
	clusterIP := orElse(s.Spec.ClusterIP, none)
	if len(s.Spec.ClusterIPs) > 0 {
		clusterIP = s.Spec.ClusterIPs[0]
	}
	return []any{s.Name, string(s.Spec.Type), clusterIP, externalIPs(s), servicePorts(s.Spec.Ports), columns.AgeOf(s, now), labelsText(s.Spec.Selector)}
}, columns.Name(), columns.Text("Type", "How the service is reached."), columns.Text("Cluster-IP", "Address inside the cluster."),
	columns.Text("External-IP", "Addresses outside the cluster."), columns.Text("Port(s)", "Ports, with the node port if there is one."),
	columns.Age(), columns.Wide(columns.Text("Selector", "Labels of the pods behind it.")))

func externalIPs(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return orElse(strings.Join(s.Spec.ExternalIPs, ","), none)
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		var all []string
		for _, in := range s.Status.LoadBalancer.Ingress {
			all = append(all, orElse(in.IP, in.Hostname))
		}
		return orElse(strings.Join(append(uniqueSorted(all), s.Spec.ExternalIPs...), ","), "<pending>")
	}
	return "<unknown>"
}

func uniqueSorted(items []string) []string {
	items = slices.DeleteFunc(items, func(s string) bool { return s == "" })
	slices.Sort(items)
	return slices.Compact(items)
}

func servicePorts(ports []corev1.ServicePort) string {
	all := make([]string, len(ports))
	for i, p := range ports {
		all[i] = strconv.Itoa(int(p.Port))
		if p.NodePort > 0 {
			all[i] += ":" + strconv.Itoa(int(p.NodePort))
		}
		all[i] += "/" + string(p.Protocol)
	}
	return orElse(strings.Join(all, ","), none)
}

var endpointsTable = columns.Of(func(e *corev1.Endpoints, now time.Time) []any {
	return []any{e.Name, endpointAddresses(e.Subsets), columns.AgeOf(e, now)}
}, columns.Name(), columns.Text("Endpoints", "Ready addresses with their ports."), columns.Age())

func endpointAddresses(subsets []corev1.EndpointSubset) string {
	var all []string
	for _, s := range subsets {
		if len(s.Ports) == 0 {
			for _, a := range s.Addresses {
				all = append(all, a.IP)
			}
		}
		for _, p := range s.Ports {
			for _, a := range s.Addresses {
				all = append(all, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	if len(subsets) == 0 {
		return none
	}
	return few(all, 3, ",")
}

var endpointSliceTable = columns.Of(func(e *discoveryv1.EndpointSlice, now time.Time) []any {
	var ports, addresses []string
	for _, p := range e.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for _, ep := range e.Endpoints {
		addresses = append(addresses, ep.Addresses...)
	}
	return []any{e.Name, string(e.AddressType), orElse(few(ports, 3, ","), unset), orElse(few(addresses, 3, ","), unset), columns.AgeOf(e, now)}
}, columns.Name(), columns.Text("AddressType", "IPv4, IPv6 or FQDN."), columns.Text("Ports", "Ports of the endpoints."),
	columns.Text("Endpoints", "Addresses of the endpoints."), columns.Age())
