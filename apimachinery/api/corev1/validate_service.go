package corev1

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func headless(s *ServiceSpec) bool {
	return len(s.ClusterIPs) == 1 && s.ClusterIPs[0] == ClusterIPNone || len(s.ClusterIPs) == 0 && s.ClusterIP == ClusterIPNone
}

// ValidateService checks a service to be stored, addresses and node ports already allocated.
func ValidateService(svc *Service) validation.ErrorList { return validateService(svc, nil) }

func validateService(svc *Service, before stored) validation.ErrorList {
	var r check.Report
	s, p := &svc.Spec, at("spec")
	ports := p.Child("ports")
	if len(s.Ports) == 0 && !headless(s) && s.Type != ServiceTypeExternalName {
		r.Required(ports, "")
	}
	const kubeletPort = 10250
	switch s.Type {
	case ServiceTypeLoadBalancer:
		for i := range s.Ports {
			r.If(s.Ports[i].Port == kubeletPort, ports.Index(i), s.Ports[i].Port, "may not expose port 10250 externally since it is used by kubelet")
		}
		fallthrough
	case ServiceTypeNodePort:
		r.If(headless(s), p.Child("clusterIPs").Index(0), ClusterIPNone, "may not be set to 'None' for "+string(s.Type)+" services")
	case ServiceTypeExternalName:
		r.ForbidIf(len(s.ClusterIPs) > 0 || s.ClusterIP != "", p.Child("clusterIPs"), "may not be set for ExternalName services")
		r.ForbidIf(len(s.IPFamilies) > 0, p.Child("ipFamilies"), "may not be set for ExternalName services")
		r.ForbidIf(s.IPFamilyPolicy != nil, p.Child("ipFamilyPolicy"), "may not be set for ExternalName services")
		if name := strings.TrimSuffix(s.ExternalName, "."); name != "" {
			r.Each(p.Child("externalName"), name, validation.IsDNS1123Subdomain(name))
		} else {
			r.Required(p.Child("externalName"), "")
		}
	}
	r.Add(validateServicePorts(s, ports))
	r.Add(validation.Labels(p.Child("selector"), s.Selector))
	r.Add(validateSessionAffinity(s, p))
	r.Add(validateServiceAddresses(svc, before))
	for i, ip := range s.ExternalIPs {
		q := p.Child("externalIPs").Index(i)
		if bad := before.ip(ip); len(bad) > 0 {
			r.Each(q, ip, bad)
		} else {
			r.Add(validateOrdinaryIP(ip, q))
		}
	}
	check.Chosen(&r, p.Child("type"), s.Type, ServiceTypeClusterIP, ServiceTypeNodePort, ServiceTypeLoadBalancer, ServiceTypeExternalName)
	r.Add(validateLoadBalancer(svc, before, p))
	r.Add(validateTrafficPolicies(s, p))
	return r.List()
}

func validateServicePorts(s *ServiceSpec, p *path) validation.ErrorList {
	var r check.Report
	type key struct {
		protocol Protocol
		port     int32
	}
	names, open, nodes := map[string]bool{}, map[key]bool{}, map[key]bool{}
	for i := range s.Ports {
		port, q := &s.Ports[i], p.Index(i)
		if port.Name == "" {
			if len(s.Ports) > 1 {
				r.Required(q.Child("name"), "")
			}
		} else {
			r.Each(q.Child("name"), port.Name, validation.IsDNS1123Label(port.Name))
			if !check.Unique(names, port.Name) {
				r.Duplicate(q.Child("name"), port.Name)
			}
		}
		r.Each(q.Child("port"), port.Port, validation.IsPortNumber(int64(port.Port)))
		check.Chosen(&r, q.Child("protocol"), port.Protocol, protocols()...)
		r.Add(validatePort(port.TargetPort, q.Child("targetPort")))
		if a := port.AppProtocol; a != nil {
			r.Each(q.Child("appProtocol"), *a, validation.IsQualifiedName(*a))
		}
		r.ForbidIf(s.Type == ServiceTypeClusterIP && port.NodePort != 0, q.Child("nodePort"), "may not be used when `type` is 'ClusterIP'")
		if port.NodePort != 0 && !check.Unique(nodes, key{port.Protocol, port.NodePort}) {
			r.Invalid(q.Child("nodePort"), port.NodePort, "provided port is already allocated")
		}
		if !check.Unique(open, key{port.Protocol, port.Port}) {
			r.Duplicate(q, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
		}
	}
	return r.List()
}

func validateSessionAffinity(s *ServiceSpec, p *path) validation.ErrorList {
	const maxTimeout = 24 * 60 * 60
	var r check.Report
	check.Chosen(&r, p.Child("sessionAffinity"), s.SessionAffinity, ServiceAffinityClientIP, ServiceAffinityNone)
	q := p.Child("sessionAffinityConfig")
	switch c := s.SessionAffinityConfig; {
	case s.SessionAffinity == ServiceAffinityNone && c != nil:
		r.Forbidden(q, "must not be set when session affinity is None")
	case s.SessionAffinity != ServiceAffinityClientIP:
	case c == nil:
		r.Required(q, "when session affinity type is ClientIP")
	case c.ClientIP == nil:
		r.Required(q.Child("clientIP"), "when session affinity type is ClientIP")
	case c.ClientIP.TimeoutSeconds == nil:
		r.Required(q.Child("clientIP", "timeoutSeconds"), "when session affinity type is ClientIP")
	default:
		if t := *c.ClientIP.TimeoutSeconds; t <= 0 || t > maxTimeout {
			r.Invalid(q.Child("clientIP", "timeoutSeconds"), t, "must be greater than 0 and at most 86400")
		}
	}
	return r.List()
}

// ValidateServiceAddresses checks cluster IPs, their families and the family policy against each
// other. Servers also call it before they allocate addresses.
func ValidateServiceAddresses(svc *Service) validation.ErrorList {
	return validateServiceAddresses(svc, nil)
}

func validateServiceAddresses(svc *Service, before stored) validation.ErrorList {
	var r check.Report
	s, p := &svc.Spec, at("spec")
	if s.Type == ServiceTypeExternalName {
		return nil
	}
	families, addresses := p.Child("ipFamilies"), p.Child("clusterIPs")
	seen := map[IPFamily]bool{}
	for i, f := range s.IPFamilies {
		check.OneOf(&r, families.Index(i), f, IPv4Protocol, IPv6Protocol)
		if !check.Unique(seen, f) {
			r.Duplicate(families.Index(i), f)
		}
	}
	check.OneOfOpt(&r, p.Child("ipFamilyPolicy"), s.IPFamilyPolicy, IPFamilyPolicySingleStack, IPFamilyPolicyPreferDualStack, IPFamilyPolicyRequireDualStack)
	bad := false
	var found []IPFamily
	for i, ip := range s.ClusterIPs {
		if i == 0 && ip == ClusterIPNone {
			if len(s.ClusterIPs) > 1 {
				bad = true
				r.Invalid(addresses, s.ClusterIPs, "'None' must be the first and only value")
			}
			continue
		}
		if msgs := before.ip(ip); len(msgs) > 0 {
			bad = true
			r.Each(addresses.Index(i), ip, msgs)
			continue
		}
		found = append(found, familyOf(ip))
	}
	if len(s.ClusterIPs) > 0 && s.ClusterIP != s.ClusterIPs[0] {
		r.Invalid(addresses, s.ClusterIPs, "first value must match `clusterIP`")
	}
	if len(s.ClusterIPs) == 0 && s.ClusterIP != "" {
		r.Required(addresses, "")
	}
	if len(s.ClusterIPs) > 2 {
		r.Invalid(addresses, s.ClusterIPs, "may only hold up to 2 values")
	}
	if bad {
		return r.List()
	}
	r.If(len(found) == 2 && found[0] == found[1], addresses, s.ClusterIPs, "may specify no more than one IP for each IP family")
	for i, f := range found {
		if i < len(s.IPFamilies) && s.IPFamilies[i] != f {
			r.Invalid(addresses.Index(i), s.ClusterIPs[i], fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", s.IPFamilies[i], i))
		}
	}
	return r.List()
}

// familyOf is the family of a valid address.
func familyOf(ip string) IPFamily {
	if a, ok := validation.ParseIP(ip); ok && !a.Is4() && !a.Is4In6() {
		return IPv6Protocol
	}
	return IPv4Protocol
}

// validateOrdinaryIP refuses addresses that no other machine can be reached by.
func validateOrdinaryIP(ip string, p *path) validation.ErrorList {
	var r check.Report
	a, ok := validation.ParseIP(ip)
	if !ok {
		r.Invalid(p, ip, "must be a valid IP address")
		return r.List()
	}
	a = a.Unmap()
	r.If(a.IsUnspecified(), p, ip, "may not be unspecified (0.0.0.0 or ::)")
	r.If(a.IsLoopback(), p, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	r.If(a.IsLinkLocalUnicast(), p, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	r.If(a.IsLinkLocalMulticast(), p, ip, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	return r.List()
}

func validateLoadBalancer(svc *Service, before stored, p *path) validation.ErrorList {
	var r check.Report
	s := &svc.Spec
	is := s.Type == ServiceTypeLoadBalancer
	// The capital letter is upstream's.
	ranges := p.Child("LoadBalancerSourceRanges")
	switch v, annotated := svc.Annotations[AnnotationLoadBalancerSourceRangesKey]; {
	case len(s.LoadBalancerSourceRanges) > 0:
		r.ForbidIf(!is, ranges, "may only be used when `type` is 'LoadBalancer'")
		for i, v := range s.LoadBalancerSourceRanges {
			r.Each(ranges.Index(i), v, before.cidr(strings.TrimSpace(v)))
		}
	case annotated:
		q := at("metadata", "annotations").Key(AnnotationLoadBalancerSourceRangesKey)
		r.ForbidIf(!is, q, "may only be used when `type` is 'LoadBalancer'")
		if v = strings.TrimSpace(v); v != "" {
			for cidr := range strings.SplitSeq(v, ",") {
				r.Each(q, v, validation.IsCIDRLegacy(strings.TrimSpace(cidr), false))
			}
		}
	}
	allocate, class := p.Child("allocateLoadBalancerNodePorts"), p.Child("loadBalancerClass")
	r.ForbidIf(!is && s.AllocateLoadBalancerNodePorts != nil, allocate, "may only be used when `type` is 'LoadBalancer'")
	if is && s.AllocateLoadBalancerNodePorts == nil {
		r.Required(allocate, "")
	}
	if c := s.LoadBalancerClass; c != nil {
		if !is {
			r.Forbidden(class, "may only be used when `type` is 'LoadBalancer'")
		} else {
			r.Each(class, *c, validation.IsQualifiedName(*c))
		}
	}
	return r.List()
}

func validateTrafficPolicies(s *ServiceSpec, p *path) validation.ErrorList {
	var r check.Report
	external, health := p.Child("externalTrafficPolicy"), p.Child("healthCheckNodePort")
	if externallyAccessible(s) {
		check.Chosen(&r, external, s.ExternalTrafficPolicy, ServiceExternalTrafficPolicyCluster, ServiceExternalTrafficPolicyLocal)
	} else {
		r.If(s.ExternalTrafficPolicy != "", external, s.ExternalTrafficPolicy, "may only be set for externally-accessible services")
	}
	switch {
	case !NeedsHealthCheck(s):
		r.If(s.HealthCheckNodePort != 0, health, s.HealthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
	case s.HealthCheckNodePort != 0: // zero is allocated as the service is written
		r.Each(health, s.HealthCheckNodePort, validation.IsPortNumber(int64(s.HealthCheckNodePort)))
	}
	if s.Type == ServiceTypeLoadBalancer || s.Type == ServiceTypeNodePort || s.Type == ServiceTypeClusterIP {
		if s.InternalTrafficPolicy == nil {
			r.Required(p.Child("internalTrafficPolicy"), "")
		}
	}
	check.OneOfOpt(&r, p.Child("internalTrafficPolicy"), s.InternalTrafficPolicy, ServiceInternalTrafficPolicyCluster, ServiceInternalTrafficPolicyLocal)
	check.OneOfOpt(&r, p.Child("trafficDistribution"), s.TrafficDistribution,
		ServiceTrafficDistributionPreferClose, ServiceTrafficDistributionPreferSameZone, ServiceTrafficDistributionPreferSameNode)
	return r.List()
}

// NeedsHealthCheck reports whether a service has a health check port: a load balancer that must know
// which nodes have endpoints.
func NeedsHealthCheck(s *ServiceSpec) bool {
	return s.Type == ServiceTypeLoadBalancer && s.ExternalTrafficPolicy == ServiceExternalTrafficPolicyLocal
}

// ValidateServiceUpdate checks a change of a service. Addresses once given stay, though a second
// family may come and go.
func ValidateServiceUpdate(svc, old *Service) validation.ErrorList {
	var r check.Report
	r.Add(validateAddressChange(&svc.Spec, &old.Spec))
	a, b := svc.Spec, old.Spec
	if b.Type == ServiceTypeLoadBalancer && a.Type == ServiceTypeLoadBalancer && !check.Same(a.LoadBalancerClass, b.LoadBalancerClass) {
		r.Invalid(at("spec", "loadBalancerClass"), a.LoadBalancerClass, "may not change once set")
	}
	trimmed := make([]string, 0, len(b.LoadBalancerSourceRanges))
	for _, v := range b.LoadBalancerSourceRanges {
		trimmed = append(trimmed, strings.TrimSpace(v))
	}
	r.Add(validateService(svc, storedIn(b.ClusterIPs, b.ExternalIPs, trimmed)))
	return r.List()
}

func validateAddressChange(a, b *ServiceSpec) validation.ErrorList {
	var r check.Report
	if a.Type == ServiceTypeExternalName || b.Type == ServiceTypeExternalName {
		return nil
	}
	for _, part := range []struct {
		field    string
		now, was []string
	}{{"clusterIPs", a.ClusterIPs, b.ClusterIPs}, {"ipFamilies", texts(a.IPFamilies), texts(b.IPFamilies)}} {
		p := at("spec", part.field)
		switch {
		case len(part.was) == 0:
		case len(part.now) == 0:
			r.Invalid(p.Index(0), part.now, "primary value can not be unset")
		case part.now[0] != part.was[0]:
			r.Invalid(p.Index(0), part.now, "may not change once set")
		case len(part.was) < 2:
		case len(part.now) > 1 && part.now[1] != part.was[1]:
			r.Invalid(p.Index(1), part.now, "may not change once set")
		case len(part.now) == 1 && (a.IPFamilyPolicy == nil || *a.IPFamilyPolicy != IPFamilyPolicySingleStack):
			r.Invalid(p.Index(0), part.now, "`ipFamilyPolicy` must be set to 'SingleStack' when releasing the secondary value")
		}
	}
	return r.List()
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// ValidateServiceStatus checks a change of a service's status.
func ValidateServiceStatus(svc, _ *Service) validation.ErrorList {
	var r check.Report
	list := svc.Status.LoadBalancer.Ingress
	p := at("status", "loadBalancer", "ingress")
	r.ForbidIf(svc.Spec.Type != ServiceTypeLoadBalancer && len(list) > 0, p, "may only be used when `spec.type` is 'LoadBalancer'")
	for i := range list {
		in, q := &list[i], p.Index(i)
		if in.IP != "" {
			r.Each(q.Child("ip"), in.IP, validation.IsIPLegacy(in.IP, false))
		}
		if in.IPMode != nil {
			r.ForbidIf(in.IP == "", q.Child("ipMode"), "may not be specified when `ip` is not set")
			check.OneOf(&r, q.Child("ipMode"), *in.IPMode, LoadBalancerIPModeVIP, LoadBalancerIPModeProxy)
		} else if in.IP != "" {
			r.Required(q.Child("ipMode"), "must be specified when `ip` is set")
		}
		if in.Hostname != "" {
			r.Each(q.Child("hostname"), in.Hostname, validation.IsDNS1123Subdomain(in.Hostname))
			_, err := netip.ParseAddr(in.Hostname)
			r.If(err == nil, q.Child("hostname"), in.Hostname, "must be a DNS name, not an IP address")
		}
	}
	return r.List()
}
