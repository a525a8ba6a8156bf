package corev1

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
)

// NormalizeService brings the two spellings of a service's addresses into agreement: clusterIP is the first
// of clusterIPs, and a client that supports or changes only one of them means both. On an update it also
// carries over what the server allocated and the client left out, and drops what the new type has no use for.
// Servers call it after defaulting and before allocating; old is nil on create.
func NormalizeService(svc, old *Service) {
	s := &svc.Spec
	if old == nil {
		if len(s.ClusterIPs) == 0 && s.ClusterIP != "" {
			s.ClusterIPs = []string{s.ClusterIP}
		}
		return
	}
	o := &old.Spec
	if s.Type != ServiceTypeExternalName && o.Type != ServiceTypeExternalName {
		if s.ClusterIP == "" && len(s.ClusterIPs) == 0 {
			s.ClusterIP, s.ClusterIPs = o.ClusterIP, slices.Clone(o.ClusterIPs)
		}
		carryNodePorts(s, o)
		if NeedsHealthCheck(s) && NeedsHealthCheck(o) && s.HealthCheckNodePort == 0 {
			s.HealthCheckNodePort = o.HealthCheckNodePort
		}
	}
	sameList := slices.Equal(s.ClusterIPs, o.ClusterIPs)
	switch {
	case s.ClusterIP == o.ClusterIP && !sameList && len(s.ClusterIPs) > 0:
		s.ClusterIP = s.ClusterIPs[0]
	case s.ClusterIP != o.ClusterIP && s.ClusterIP == "" && sameList:
		s.ClusterIPs = nil
	case s.ClusterIP != o.ClusterIP && sameList:
		s.ClusterIPs = []string{s.ClusterIP}
	case len(s.ClusterIPs) == 0 && s.ClusterIP != "":
		s.ClusterIPs = []string{s.ClusterIP}
	}
	dropUnused(s, o)
}

// carryNodePorts keeps the node ports of ports that are the same otherwise.
func carryNodePorts(s, o *ServiceSpec) {
	usesNodePorts := func(s *ServiceSpec) bool {
		return s.Type == ServiceTypeNodePort ||
			s.Type == ServiceTypeLoadBalancer && (s.AllocateLoadBalancerNodePorts == nil || *s.AllocateLoadBalancerNodePorts)
	}
	if !usesNodePorts(s) || o.Type != ServiceTypeNodePort && o.Type != ServiceTypeLoadBalancer {
		return
	}
	type key struct {
		protocol Protocol
		port     int32
	}
	had, used := map[key]int32{}, map[int32]bool{}
	for _, p := range o.Ports {
		had[key{p.Protocol, p.Port}] = p.NodePort
	}
	for _, p := range s.Ports {
		used[p.NodePort] = true
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		if n := had[key{p.Protocol, p.Port}]; p.NodePort == 0 && n != 0 && !used[n] {
			p.NodePort, used[n] = n, true
		}
	}
}

// dropUnused clears fields that a change of type made meaningless, unless the client changed them too.
func dropUnused(s, o *ServiceSpec) {
	if s.Type == ServiceTypeExternalName && o.Type != ServiceTypeExternalName {
		if slices.Equal(s.ClusterIPs, o.ClusterIPs) {
			s.ClusterIP, s.ClusterIPs = "", nil
		}
		if slices.Equal(s.IPFamilies, o.IPFamilies) {
			s.IPFamilies = nil
		}
		if check.Same(s.IPFamilyPolicy, o.IPFamilyPolicy) {
			s.IPFamilyPolicy = nil
		}
	}
	hasNodePorts := func(s *ServiceSpec) bool { return s.Type == ServiceTypeNodePort || s.Type == ServiceTypeLoadBalancer }
	if hasNodePorts(o) && !hasNodePorts(s) && slices.EqualFunc(s.Ports, o.Ports, func(a, b ServicePort) bool { return a.NodePort == b.NodePort }) {
		for i := range s.Ports {
			s.Ports[i].NodePort = 0
		}
	}
	if NeedsHealthCheck(o) && !NeedsHealthCheck(s) && s.HealthCheckNodePort == o.HealthCheckNodePort {
		s.HealthCheckNodePort = 0
	}
	if o.Type == ServiceTypeLoadBalancer && s.Type != ServiceTypeLoadBalancer {
		if check.Same(s.AllocateLoadBalancerNodePorts, o.AllocateLoadBalancerNodePorts) {
			s.AllocateLoadBalancerNodePorts = nil
		}
		if check.Same(s.LoadBalancerClass, o.LoadBalancerClass) {
			s.LoadBalancerClass = nil
		}
	}
	if externallyAccessible(o) && !externallyAccessible(s) && s.ExternalTrafficPolicy == o.ExternalTrafficPolicy {
		s.ExternalTrafficPolicy = ""
	}
}
