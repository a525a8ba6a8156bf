package networkingv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

const maxController = 250

// ValidateIngressClass checks a class to be created.
func ValidateIngressClass(c *IngressClass) validation.ErrorList {
	var r check.Report
	p := at("spec", "controller")
	if len(c.Spec.Controller) > maxController {
		r.TooLong(p, maxController)
	}
	r.Add(validation.DomainPrefixedPath(p, c.Spec.Controller))
	params := c.Spec.Parameters
	if params == nil {
		return r.List()
	}
	q := at("spec", "parameters")
	if g := params.APIGroup; g != nil {
		r.Each(q.Child("apiGroup"), *g, validation.IsDNS1123Subdomain(*g))
	}
	r.Name(q.Child("kind"), params.Kind, validation.NameIsPathSegment)
	r.Name(q.Child("name"), params.Name, validation.NameIsPathSegment)
	if params.Scope == nil {
		r.Required(q.Child("scope"), "")
		return r.List()
	}
	switch *params.Scope {
	case IngressClassParametersReferenceScopeNamespace:
		if params.Namespace == nil {
			r.Required(q.Child("namespace"), "`parameters.scope` is set to 'Namespace'")
		} else {
			r.Each(q.Child("namespace"), *params.Namespace, validation.IsDNS1123Label(*params.Namespace))
		}
	case IngressClassParametersReferenceScopeCluster:
		r.ForbidIf(params.Namespace != nil, q.Child("namespace"), "`parameters.scope` is set to 'Cluster'")
	default:
		check.OneOf(&r, q.Child("scope"), *params.Scope, IngressClassParametersReferenceScopeNamespace, IngressClassParametersReferenceScopeCluster)
	}
	return r.List()
}

// ValidateIngressClassUpdate checks a change of a class; the controller stays.
func ValidateIngressClassUpdate(c, old *IngressClass) validation.ErrorList {
	var r check.Report
	r.Add(ValidateIngressClass(c))
	check.Immutable(&r, at("spec", "controller"), c.Spec.Controller, old.Spec.Controller)
	return r.List()
}

// NameIsIP is the name rule of IPAddress objects: an address in canonical form, so that names cannot be
// generated.
func NameIsIP(name string, _ bool) []string { return validation.IsIP(name) }

// ValidateIPAddress checks an address to be created.
func ValidateIPAddress(a *IPAddress) validation.ErrorList {
	var r check.Report
	p, ref := at("spec", "parentRef"), a.Spec.ParentRef
	if ref == nil {
		r.Required(p, "")
		return r.List()
	}
	if ref.Group != "" {
		r.Each(p.Child("group"), ref.Group, validation.IsDNS1123Subdomain(ref.Group))
	}
	r.Name(p.Child("resource"), ref.Resource, validation.NameIsPathSegment)
	r.Name(p.Child("name"), ref.Name, validation.NameIsPathSegment)
	if ref.Namespace != "" {
		r.Each(p.Child("namespace"), ref.Namespace, validation.IsPathSegmentName(ref.Namespace))
	}
	return r.List()
}

// ValidateIPAddressUpdate checks a change of an address; its parentRef is immutable.
func ValidateIPAddressUpdate(a, old *IPAddress) validation.ErrorList {
	var r check.Report
	r.Add(ValidateIPAddress(a))
	check.Immutable(&r, at("spec", "parentRef"), a.Spec.ParentRef, old.Spec.ParentRef)
	return r.List()
}

// ValidateServiceCIDR checks a range of service addresses to be created.
func ValidateServiceCIDR(c *ServiceCIDR) validation.ErrorList {
	var r check.Report
	p := at("spec", "cidrs")
	cidrs := c.Spec.CIDRs
	if len(cidrs) == 0 {
		r.Required(p, "at least one CIDR required")
		return r.List()
	}
	if len(cidrs) > 2 {
		r.Invalid(p, cidrs, "may only hold up to 2 values")
		return r.List()
	}
	four := 0
	for i, cidr := range cidrs {
		r.Each(p.Index(i), cidr, validation.IsCIDR(cidr))
		if prefix, ok := validation.ParseCIDR(cidr); ok && prefix.Addr().Is4() {
			four++
		}
	}
	r.If(r.OK() && len(cidrs) == 2 && four != 1, p, cidrs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96")
	return r.List()
}

// ValidateServiceCIDRUpdate checks a change of a range: a second family may be added, the first stays.
func ValidateServiceCIDRUpdate(c, old *ServiceCIDR) validation.ErrorList {
	var r check.Report
	p, now, was := at("spec", "cidrs"), c.Spec.CIDRs, old.Spec.CIDRs
	if len(now) < len(was) || len(now) > 2 {
		r.Invalid(p, now, validation.ImmutableText)
		return r.List()
	}
	for i := range was {
		check.Immutable(&r, p.Index(i), now[i], was[i])
	}
	if len(now) > len(was) {
		r.Add(ValidateServiceCIDR(c))
	}
	return r.List()
}
