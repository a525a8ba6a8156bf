package networkingv1

import "github.com/keelson-dev/keelson/apimachinery/api/corev1"

// DefaultNetworkPolicy sets the protocol of ports and derives the policy types from the rules: every
// policy restricts ingress, one with egress rules also egress.
func DefaultNetworkPolicy(p *NetworkPolicy) {
	for i := range p.Spec.Ingress {
		defaultPorts(p.Spec.Ingress[i].Ports)
	}
	for i := range p.Spec.Egress {
		defaultPorts(p.Spec.Egress[i].Ports)
	}
	if len(p.Spec.PolicyTypes) > 0 {
		return
	}
	p.Spec.PolicyTypes = []PolicyType{PolicyTypeIngress}
	if len(p.Spec.Egress) > 0 {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, PolicyTypeEgress)
	}
}

func defaultPorts(ports []NetworkPolicyPort) {
	for i := range ports {
		if ports[i].Protocol == nil {
			ports[i].Protocol = new(corev1.ProtocolTCP)
		}
	}
}

// DefaultIngressClass makes parameters without a scope cluster-scoped.
func DefaultIngressClass(c *IngressClass) {
	if p := c.Spec.Parameters; p != nil && p.Scope == nil {
		p.Scope = new(IngressClassParametersReferenceScopeCluster)
	}
}
