package endpointslice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// key of the slices of one family and one set of ports.
type portSet struct {
	family discoveryv1.AddressType
	ports  string
}

// isEndpoint reports whether a pod is an endpoint of the Services that select it.
func isEndpoint(pod *corev1.Pod) bool { return !pod.HasEnded() && pod.Status.PodIP != "" }

// wanted returns what a Service should have, in a stable order: one slice per family and set of ports,
// however long. zoneOf returns the zone of a node, "" if it has none.
func wanted(svc *corev1.Service, pods []*corev1.Pod, zoneOf func(node string) string) []*discoveryv1.EndpointSlice {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	groups := map[portSet][]discoveryv1.Endpoint{}
	ports := map[portSet][]discoveryv1.EndpointPort{}
	var order []portSet
	for _, family := range families(svc) {
		for _, pod := range pods {
			if !isEndpoint(pod) {
				continue
			}
			address := addressOf(pod, family)
			if address == "" {
				continue
			}
			p := targetPorts(svc, pod)
			key := portSet{family, fmt.Sprint(portKey(p))}
			if _, ok := ports[key]; !ok {
				order = append(order, key)
				ports[key] = p
			}
			groups[key] = append(groups[key], endpoint(svc, pod, address, zoneOf))
		}
	}
	// A Service without pods has one empty slice, which shows that the controller has seen it.
	if len(order) == 0 {
		for _, family := range families(svc) {
			order = append(order, portSet{family: family})
			ports[portSet{family: family}] = nil
		}
	}
	var out []*discoveryv1.EndpointSlice
	for _, key := range order {
		out = append(out, newSlice(svc, key.family, ports[key], groups[key]))
	}
	return out
}

func newSlice(svc *corev1.Service, family discoveryv1.AddressType, ports []discoveryv1.EndpointPort, endpoints []discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	l := map[string]string{}
	for k, v := range svc.Labels {
		if k != corev1.IsHeadlessService {
			l[k] = v
		}
	}
	if svc.Spec.ClusterIP == corev1.ClusterIPNone {
		l[corev1.IsHeadlessService] = ""
	}
	l[discoveryv1.LabelServiceName], l[discoveryv1.LabelManagedBy] = svc.Name, ManagedBy
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, GenerateName: prefixOf(svc.Name), Labels: l,
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(svc, serviceKind)}},
		AddressType: family, Endpoints: endpoints, Ports: ports,
	}
}

// prefixOf returns the beginning of the names of a Service's slices.
func prefixOf(service string) string {
	prefix := service + "-"
	return prefix[:min(len(prefix), 58)] // room for the random suffix
}

func families(svc *corev1.Service) []discoveryv1.AddressType {
	var out []discoveryv1.AddressType
	for _, f := range svc.Spec.IPFamilies {
		if f == corev1.IPv6Protocol {
			out = append(out, discoveryv1.AddressTypeIPv6)
		} else {
			out = append(out, discoveryv1.AddressTypeIPv4)
		}
	}
	if len(out) == 0 {
		out = append(out, discoveryv1.AddressTypeIPv4)
	}
	return out
}

func addressOf(pod *corev1.Pod, family discoveryv1.AddressType) string {
	is6 := func(ip string) bool { return strings.Contains(ip, ":") }
	for _, ip := range pod.Status.PodIPs {
		if is6(ip.IP) == (family == discoveryv1.AddressTypeIPv6) {
			return ip.IP
		}
	}
	if ip := pod.Status.PodIP; len(pod.Status.PodIPs) == 0 && is6(ip) == (family == discoveryv1.AddressTypeIPv6) {
		return ip
	}
	return ""
}

func endpoint(svc *corev1.Service, pod *corev1.Pod, address string, zoneOf func(node string) string) discoveryv1.Endpoint {
	serving, terminating := ready(pod), pod.DeletionTimestamp != nil
	// Ready means that it may get new traffic; a Service that publishes addresses early says so for all.
	usable := svc.Spec.PublishNotReadyAddresses || serving && !terminating
	ep := discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &usable, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	if pod.Spec.NodeName != "" {
		ep.NodeName = new(pod.Spec.NodeName)
		if zone := zoneOf(pod.Spec.NodeName); zone != "" {
			ep.Zone = &zone
		}
	}
	if usable {
		ep.Hints = near(svc, &ep)
	}
	if pod.Spec.Hostname != "" && pod.Spec.Subdomain == svc.Name && pod.Namespace == svc.Namespace {
		ep.Hostname = new(pod.Spec.Hostname)
	}
	return ep
}

func portKey(ports []discoveryv1.EndpointPort) []string {
	out := make([]string, len(ports))
	for i, p := range ports {
		out[i] = fmt.Sprintf("%s/%d/%s", *p.Name, *p.Port, *p.Protocol)
	}
	slices.Sort(out)
	return out
}

// targetPorts resolves the Service's ports on one pod; a named target port the pod does not have is left out.
func targetPorts(svc *corev1.Service, pod *corev1.Pod) []discoveryv1.EndpointPort {
	out := []discoveryv1.EndpointPort{}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		number, ok := resolve(pod, p)
		if !ok {
			continue
		}
		protocol := p.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		out = append(out, discoveryv1.EndpointPort{Name: new(p.Name), Port: &number, Protocol: &protocol, AppProtocol: p.AppProtocol})
	}
	return out
}

func resolve(pod *corev1.Pod, p *corev1.ServicePort) (int32, bool) {
	if name := p.TargetPort.StrVal; name != "" {
		// Init containers have ended before there are endpoints, but those that run beside the others.
		sidecars := slices.DeleteFunc(slices.Clone(pod.Spec.InitContainers), func(c corev1.Container) bool {
			return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
		})
		for _, list := range [][]corev1.Container{pod.Spec.Containers, sidecars} {
			for i := range list {
				for _, cp := range list[i].Ports {
					if cp.Name == name && (cp.Protocol == p.Protocol || cp.Protocol == "" && p.Protocol == corev1.ProtocolTCP) {
						return cp.ContainerPort, true
					}
				}
			}
		}
		return 0, false
	}
	if n := p.TargetPort.IntVal; n != 0 {
		return n, true
	}
	return p.Port, true
}

func ready(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
