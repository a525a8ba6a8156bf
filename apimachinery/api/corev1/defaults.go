package corev1

import (
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
)

// DefaultService fills the unset fields of a service, addresses and ports that are allocated excepted.
func DefaultService(svc *Service) {
	s := &svc.Spec
	defaults.IfZero(&s.SessionAffinity, ServiceAffinityNone)
	switch s.SessionAffinity {
	case ServiceAffinityNone:
		s.SessionAffinityConfig = nil
	case ServiceAffinityClientIP:
		if c := s.SessionAffinityConfig; c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			s.SessionAffinityConfig = &SessionAffinityConfig{
				ClientIP: &ClientIPConfig{TimeoutSeconds: new(DefaultClientIPServiceAffinitySeconds)},
			}
		}
	}
	defaults.IfZero(&s.Type, ServiceTypeClusterIP)
	for i := range s.Ports {
		p := &s.Ports[i]
		defaults.IfZero(&p.Protocol, ProtocolTCP)
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if externallyAccessible(s) {
		defaults.IfZero(&s.ExternalTrafficPolicy, ServiceExternalTrafficPolicyCluster)
	}
	if s.Type == ServiceTypeClusterIP || s.Type == ServiceTypeNodePort || s.Type == ServiceTypeLoadBalancer {
		defaults.IfNil(&s.InternalTrafficPolicy, ServiceInternalTrafficPolicyCluster)
	}
	if s.Type != ServiceTypeLoadBalancer {
		return
	}
	defaults.IfNil(&s.AllocateLoadBalancerNodePorts, true)
	ingress := svc.Status.LoadBalancer.Ingress
	for i := range ingress {
		if ingress[i].IP != "" {
			defaults.IfNil(&ingress[i].IPMode, LoadBalancerIPModeVIP)
		}
	}
}

// externallyAccessible reports whether clients outside the cluster reach the service.
func externallyAccessible(s *ServiceSpec) bool {
	return s.Type == ServiceTypeLoadBalancer || s.Type == ServiceTypeNodePort ||
		s.Type == ServiceTypeClusterIP && len(s.ExternalIPs) > 0
}

// DefaultReplicationController fills the unset fields of a controller: the template's labels serve as
// selector and as its own labels.
func DefaultReplicationController(rc *ReplicationController) {
	defaults.IfNil(&rc.Spec.Replicas, 1)
	t := rc.Spec.Template
	if t == nil {
		return
	}
	if t.Labels != nil {
		if len(rc.Spec.Selector) == 0 {
			rc.Spec.Selector = maps.Clone(t.Labels)
		}
		if len(rc.Labels) == 0 {
			rc.Labels = maps.Clone(t.Labels)
		}
	}
	DefaultPodTemplate(t)
}

// DefaultSecret sets the type and moves stringData, which is write-only, into data.
func DefaultSecret(s *Secret) {
	defaults.IfZero(&s.Type, SecretTypeOpaque)
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

// DefaultNamespace labels a namespace with its own name, so that selectors can pick it, and sets its phase.
func DefaultNamespace(n *Namespace) {
	defaults.IfZero(&n.Status.Phase, NamespaceActive)
	if n.Name == "" {
		return
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[LabelMetadataName] = n.Name
}

// DefaultNode sets the allocatable resources of a node to its capacity where they are not reported,
// and brings podCIDR, the older field, and podCIDRs into agreement.
func DefaultNode(n *Node) {
	s := &n.Spec
	if s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR) {
		s.PodCIDRs = []string{s.PodCIDR}
	} else if len(s.PodCIDRs) > 0 {
		s.PodCIDR = s.PodCIDRs[0]
	}
	if n.Status.Allocatable == nil && n.Status.Capacity != nil {
		n.Status.Allocatable = maps.Clone(n.Status.Capacity)
	}
	DefaultResourceList(n.Status.Capacity)
	DefaultResourceList(n.Status.Allocatable)
}

// DefaultEndpoints sets the protocol of ports.
func DefaultEndpoints(e *Endpoints) {
	for i := range e.Subsets {
		ports := e.Subsets[i].Ports
		for j := range ports {
			defaults.IfZero(&ports[j].Protocol, ProtocolTCP)
		}
	}
}

// DefaultLimitRange completes container limits: the maximum is the default, the default (or else the
// minimum) the default request.
func DefaultLimitRange(l *LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		if item.Type == LimitTypeContainer {
			if item.Default == nil {
				item.Default = ResourceList{}
			}
			if item.DefaultRequest == nil {
				item.DefaultRequest = ResourceList{}
			}
			addMissing(item.Default, item.Max)
			addMissing(item.DefaultRequest, item.Default)
			addMissing(item.DefaultRequest, item.Min)
		}
		for _, list := range []ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			DefaultResourceList(list)
		}
	}
}

func addMissing(to, from ResourceList) {
	for name, q := range from {
		if _, ok := to[name]; !ok {
			to[name] = q
		}
	}
}

// DefaultResourceQuota rounds quantities.
func DefaultResourceQuota(q *ResourceQuota) {
	DefaultResourceList(q.Spec.Hard)
	DefaultResourceList(q.Status.Hard)
	DefaultResourceList(q.Status.Used)
}
