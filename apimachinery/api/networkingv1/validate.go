package networkingv1

import (
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

// ValidateNetworkPolicy checks a policy to be stored.
func ValidateNetworkPolicy(n *NetworkPolicy) validation.ErrorList {
	var r check.Report
	s, p := &n.Spec, at("spec")
	r.Add(metav1.ValidateLabelSelector(&s.PodSelector, metav1.SelectorRule{}, p.Child("podSelector")))
	for i := range s.Ingress {
		r.Add(validatePolicyRule(s.Ingress[i].Ports, s.Ingress[i].From, "from", p.Child("ingress").Index(i)))
	}
	for i := range s.Egress {
		r.Add(validatePolicyRule(s.Egress[i].Ports, s.Egress[i].To, "to", p.Child("egress").Index(i)))
	}
	if len(s.PolicyTypes) > 2 {
		r.Invalid(p.Child("policyTypes"), s.PolicyTypes, "may not specify more than two policyTypes")
		return r.List()
	}
	for i, t := range s.PolicyTypes {
		check.OneOf(&r, p.Child("policyTypes").Index(i), t, PolicyTypeEgress, PolicyTypeIngress)
	}
	return r.List()
}

func validatePolicyRule(ports []NetworkPolicyPort, peers []NetworkPolicyPeer, side string, p *path) validation.ErrorList {
	var r check.Report
	for i := range ports {
		r.Add(validatePolicyPort(&ports[i], p.Child("ports").Index(i)))
	}
	for i := range peers {
		r.Add(validatePeer(&peers[i], p.Child(side).Index(i)))
	}
	return r.List()
}

func validatePolicyPort(port *NetworkPolicyPort, p *path) validation.ErrorList {
	var r check.Report
	check.OneOfOpt(&r, p.Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	end := p.Child("endPort")
	switch v := port.Port; {
	case v == nil:
		r.If(port.EndPort != nil, end, port.EndPort, "may not be specified when `port` is not specified")
	case v.Type == intstr.Int:
		r.Each(p.Child("port"), v.IntVal, validation.IsPortNumber(int64(v.IntVal)))
		if e := port.EndPort; e != nil {
			r.If(*e < v.IntVal, end, *e, "must be greater than or equal to `port`")
			r.Each(end, *e, validation.IsPortNumber(int64(*e)))
		}
	default:
		r.If(port.EndPort != nil, end, port.EndPort, "may not be specified when `port` is non-numeric")
		r.Each(p.Child("port"), v.StrVal, validation.IsPortName(v.StrVal))
	}
	return r.List()
}

func validatePeer(peer *NetworkPolicyPeer, p *path) validation.ErrorList {
	var r check.Report
	r.Add(metav1.ValidateLabelSelector(peer.PodSelector, metav1.SelectorRule{}, p.Child("podSelector")))
	r.Add(metav1.ValidateLabelSelector(peer.NamespaceSelector, metav1.SelectorRule{}, p.Child("namespaceSelector")))
	selects := peer.PodSelector != nil || peer.NamespaceSelector != nil
	if peer.IPBlock != nil {
		r.Add(validateIPBlock(peer.IPBlock, p.Child("ipBlock")))
		r.ForbidIf(selects, p, "may not specify both ipBlock and another peer")
	} else if !selects {
		r.Required(p, "must specify a peer")
	}
	return r.List()
}

func validateIPBlock(b *IPBlock, p *path) validation.ErrorList {
	var r check.Report
	if b.CIDR == "" {
		r.Required(p.Child("cidr"), "")
		return r.List()
	}
	r.Each(p.Child("cidr"), b.CIDR, validation.IsCIDRLegacy(b.CIDR, false))
	whole, ok := validation.ParseCIDR(b.CIDR)
	if !ok {
		return r.List() // there is nothing to be an exception of
	}
	for i, c := range b.Except {
		q := p.Child("except").Index(i)
		bad := validation.IsCIDRLegacy(c, false)
		r.Each(q, c, bad)
		if part, fine := validation.ParseCIDR(c); fine {
			r.If(!whole.Contains(part.Addr()) || part.Bits() <= whole.Bits(), q, c, "must be a strict subset of `cidr`")
		}
	}
	return r.List()
}

// ingressClassAnnotation is how ingresses named their class before they had a field for it.
const ingressClassAnnotation = "kubernetes.io/ingress.class"

// ValidateIngress checks an ingress to be created.
func ValidateIngress(in *Ingress) validation.ErrorList {
	var r check.Report
	r.Add(validateIngress(in))
	if v, ok := in.Annotations[ingressClassAnnotation]; ok && in.Spec.IngressClassName != nil {
		r.Invalid(at("annotations", ingressClassAnnotation), v, "can not be set when the class field is also set")
	}
	return r.List()
}

func validateIngress(in *Ingress) validation.ErrorList {
	var r check.Report
	s, p := &in.Spec, at("spec")
	r.If(len(s.Rules) == 0 && s.DefaultBackend == nil, p, s.Rules, "either `defaultBackend` or `rules` must be specified")
	if s.DefaultBackend != nil {
		r.Add(validateBackend(s.DefaultBackend, p.Child("defaultBackend")))
	}
	for i := range s.Rules {
		rule, q := &s.Rules[i], p.Child("rules").Index(i)
		if rule.Host != "" {
			_, ip := validation.ParseIP(rule.Host)
			r.If(ip, q.Child("host"), rule.Host, "must be a DNS name, not an IP address")
			r.Each(q.Child("host"), rule.Host, hostProblems(rule.Host))
		}
		if rule.HTTP == nil {
			continue
		}
		paths := q.Child("http", "paths")
		if len(rule.HTTP.Paths) == 0 {
			r.Required(paths, "")
		}
		for j := range rule.HTTP.Paths {
			r.Add(validateIngressPath(&rule.HTTP.Paths[j], paths.Index(j)))
		}
	}
	for i := range s.TLS {
		t, q := &s.TLS[i], p.Child("tls").Index(i)
		for j, host := range t.Hosts {
			r.Each(q.Child("hosts").Index(j), host, hostProblems(host))
		}
		if t.SecretName != "" {
			r.Each(q.Child("secretName"), t.SecretName, validation.IsDNS1123Subdomain(t.SecretName))
		}
	}
	if c := s.IngressClassName; c != nil {
		r.Each(p.Child("ingressClassName"), *c, validation.IsDNS1123Subdomain(*c))
	}
	return r.List()
}

func hostProblems(host string) []string {
	if strings.Contains(host, "*") {
		return validation.IsWildcardDNS1123Subdomain(host)
	}
	return validation.IsDNS1123Subdomain(host)
}

func validateIngressPath(h *HTTPIngressPath, p *path) validation.ErrorList {
	var r check.Report
	if h.PathType == nil {
		r.Required(p.Child("pathType"), "pathType must be specified")
		return r.List()
	}
	q := p.Child("path")
	switch *h.PathType {
	case PathTypeExact, PathTypePrefix:
		r.If(!strings.HasPrefix(h.Path, "/"), q, h.Path, "must be an absolute path")
		for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			r.If(strings.Contains(h.Path, part), q, h.Path, "must not contain '"+part+"'")
		}
		for _, end := range []string{"/..", "/."} {
			r.If(strings.HasSuffix(h.Path, end), q, h.Path, "cannot end with '"+end+"'")
		}
	case PathTypeImplementationSpecific:
		r.If(h.Path != "" && h.Path[0] != '/', q, h.Path, "must be an absolute path")
	default:
		check.OneOf(&r, p.Child("pathType"), *h.PathType, PathTypeExact, PathTypeImplementationSpecific, PathTypePrefix)
	}
	r.Add(validateBackend(&h.Backend, p.Child("backend")))
	return r.List()
}

func validateBackend(b *IngressBackend, p *path) validation.ErrorList {
	var r check.Report
	switch {
	case b.Resource != nil && b.Service != nil:
		r.Invalid(p, "", "cannot set both resource and service backends")
	case b.Resource != nil:
		q := p.Child("resource")
		r.NonEmpty(q.Child("kind"), b.Resource.Kind)
		r.NonEmpty(q.Child("name"), b.Resource.Name)
		if g := b.Resource.APIGroup; g != nil && *g != "" {
			r.Each(q.Child("apiGroup"), *g, validation.IsDNS1123Subdomain(*g))
		}
	case b.Service != nil:
		q := p.Child("service")
		r.Name(q.Child("name"), b.Service.Name, validation.NameIsLabel)
		switch port := b.Service.Port; {
		case port.Name != "" && port.Number != 0:
			r.Invalid(p, "", "cannot set both port name & port number")
		case port.Name != "":
			r.Each(q.Child("port", "name"), port.Name, validation.IsPortName(port.Name))
		case port.Number != 0:
			r.Each(q.Child("port", "number"), port.Number, validation.IsPortNumber(int64(port.Number)))
		default:
			r.Required(p, "port name or number is required")
		}
	default:
		r.Invalid(p, "", "resource or service backend is required")
	}
	return r.List()
}

// ValidateIngressStatus checks a change of an ingress' status.
func ValidateIngressStatus(in, _ *Ingress) validation.ErrorList {
	var r check.Report
	for i, l := range in.Status.LoadBalancer.Ingress {
		q := at("status", "loadBalancer", "ingress").Index(i)
		if l.IP != "" {
			r.Each(q.Child("ip"), l.IP, validation.IsIPLegacy(l.IP, false))
		}
		if l.Hostname != "" {
			r.Each(q.Child("hostname"), l.Hostname, validation.IsDNS1123Subdomain(l.Hostname))
			_, ip := validation.ParseIP(l.Hostname)
			r.If(ip, q.Child("hostname"), l.Hostname, "must be a DNS name, not an IP address")
		}
	}
	return r.List()
}
