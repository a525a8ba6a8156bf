package discoveryv1

import (
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string) *path { return validation.NewPath(name) }

const (
	maxEndpoints = 1000
	maxAddresses = 100
	maxPorts     = 20000
	maxHints     = 8
)

// endpointSliceWarnings reports the deprecated address type.
func endpointSliceWarnings(e, _ *EndpointSlice) []string {
	if e.AddressType != AddressTypeFQDN {
		return nil
	}
	return []string{"spec.addressType: FQDN endpoints are deprecated"}
}

// ValidateEndpointSlice checks a slice to be created.
func ValidateEndpointSlice(e *EndpointSlice) validation.ErrorList {
	var r check.Report
	check.Chosen(&r, at("addressType"), e.AddressType, AddressTypeIPv4, AddressTypeIPv6, AddressTypeFQDN)
	if n := len(e.Endpoints); n > maxEndpoints {
		r.TooMany(at("endpoints"), n, maxEndpoints)
	} else {
		for i := range e.Endpoints {
			r.Add(validateEndpoint(&e.Endpoints[i], e.AddressType, at("endpoints").Index(i)))
		}
	}
	r.Add(validatePorts(e.Ports, at("ports")))
	return r.List()
}

func validateEndpoint(e *Endpoint, t AddressType, p *path) validation.ErrorList {
	var r check.Report
	list := p.Child("addresses")
	if len(e.Addresses) == 0 {
		r.Required(list, "must contain at least 1 address")
	} else if n := len(e.Addresses); n > maxAddresses {
		r.TooMany(list, n, maxAddresses)
	}
	for i, a := range e.Addresses {
		r.Add(validateAddress(a, t, list, list.Index(i)))
	}
	if e.NodeName != nil {
		r.Each(p.Child("nodeName"), *e.NodeName, validation.IsDNS1123Subdomain(*e.NodeName))
	}
	r.Add(validation.Labels(p.Child("deprecatedTopology"), e.DeprecatedTopology))
	if e.Hostname != nil {
		r.Each(p.Child("hostname"), *e.Hostname, validation.IsDNS1123Label(*e.Hostname))
	}
	if e.Hints == nil {
		return r.List()
	}
	zones, nodes := p.Child("hints", "forZones"), p.Child("hints", "forNodes")
	if n := len(e.Hints.ForZones); n > maxHints {
		r.TooMany(zones, n, maxHints)
	}
	if n := len(e.Hints.ForNodes); n > maxHints {
		r.TooMany(nodes, n, maxHints)
	}
	seen := map[string]bool{}
	for i, z := range e.Hints.ForZones {
		if !check.Unique(seen, z.Name) {
			r.Duplicate(zones.Index(i).Child("name"), z.Name)
		}
		r.Each(zones.Index(i).Child("name"), z.Name, validation.IsLabelValue(z.Name))
	}
	clear(seen)
	for i, n := range e.Hints.ForNodes {
		if !check.Unique(seen, n.Name) {
			r.Duplicate(nodes.Index(i).Child("name"), n.Name)
		}
		r.Each(nodes.Index(i).Child("name"), n.Name, validation.IsDNS1123Subdomain(n.Name))
	}
	return r.List()
}

// validateAddress checks one address at p; an address of the wrong family is reported for the list.
func validateAddress(a string, t AddressType, list, p *path) validation.ErrorList {
	var r check.Report
	switch t {
	case AddressTypeIPv4, AddressTypeIPv6:
		bad := validation.IsIPLegacy(a, false)
		r.Each(p, a, bad)
		if ip, ok := validation.ParseIP(a); ok {
			four := ip.Is4() || ip.Is4In6()
			r.If(four != (t == AddressTypeIPv4), list, a, "must be an "+string(t)+" address")
			r.Add(ordinary(ip.Unmap(), a, p))
		}
	case AddressTypeFQDN:
		r.Add(validation.FullyQualifiedDomainName(p, a))
	}
	return r.List()
}

func ordinary(ip netip.Addr, a string, p *path) validation.ErrorList {
	var r check.Report
	r.If(ip.IsUnspecified(), p, a, "may not be unspecified (0.0.0.0 or ::)")
	r.If(ip.IsLoopback(), p, a, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	r.If(ip.IsLinkLocalUnicast(), p, a, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	r.If(ip.IsLinkLocalMulticast(), p, a, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	return r.List()
}

func validatePorts(ports []EndpointPort, p *path) validation.ErrorList {
	var r check.Report
	if n := len(ports); n > maxPorts {
		r.TooMany(p, n, maxPorts)
		return r.List()
	}
	names := map[string]bool{}
	for i := range ports {
		port, q := &ports[i], p.Index(i)
		if name := port.Name; name != nil {
			if *name != "" {
				r.Each(q.Child("name"), *name, validation.IsDNS1123Label(*name))
			}
			if !check.Unique(names, *name) {
				r.Duplicate(q.Child("name"), *name)
			}
		}
		if port.Protocol == nil {
			r.Required(q.Child("protocol"), "")
		} else {
			check.OneOf(&r, q.Child("protocol"), *port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		}
		if a := port.AppProtocol; a != nil {
			r.Each(q.Child("appProtocol"), *a, validation.IsQualifiedName(*a))
		}
	}
	return r.List()
}

// ValidateEndpointSliceUpdate checks a change of a slice; the address type stays.
func ValidateEndpointSliceUpdate(e, old *EndpointSlice) validation.ErrorList {
	var r check.Report
	r.Add(ValidateEndpointSlice(e))
	check.Immutable(&r, at("addressType"), e.AddressType, old.AddressType)
	return r.List()
}
