package corev1

import (
	"errors"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// stored are addresses and subnets that an object had before a change. They may be written in ways that new
// ones may not.
type stored map[string]bool

func storedIn(lists ...[]string) stored {
	out := stored{}
	for _, list := range lists {
		for _, v := range list {
			out[v] = true
		}
	}
	return out
}

// ip checks an address, which must be canonical unless it was there before.
func (s stored) ip(ip string) []string { return validation.IsIPLegacy(ip, !s[ip]) }

// cidr checks a subnet in the same way.
func (s stored) cidr(cidr string) []string { return validation.IsCIDRLegacy(cidr, !s[cidr]) }

// ValidateNode checks a node to be created.
func ValidateNode(n *Node) validation.ErrorList { return validateNode(n, nil) }

func validateNode(n *Node, before stored) validation.ErrorList {
	var r check.Report
	// Taints were an annotation once, and the path has stayed.
	r.Add(validateTaints(n.Spec.Taints, at("metadata", "taints")))
	cidrs := at("spec", "podCIDRs")
	bad := false
	var families []IPFamily
	for i, c := range n.Spec.PodCIDRs {
		msgs := before.cidr(c)
		bad = bad || len(msgs) > 0
		r.Each(cidrs.Index(i), c, msgs)
		ip, _, _ := strings.Cut(c, "/")
		families = append(families, familyOf(ip))
	}
	if len(families) > 1 {
		if bad { // upstream cannot determine the families then, and reports that
			r.Add(validation.ErrorList{validation.Internal(cidrs, errors.New("a CIDR is malformed"))})
		}
		r.If(bad || len(families) > 2 || families[0] == families[1], cidrs, n.Spec.PodCIDRs, "may specify no more than one CIDR for each IP family")
	}
	for _, part := range []struct {
		field string
		list  ResourceList
	}{{"capacity", n.Status.Capacity}, {"allocatable", n.Status.Allocatable}} {
		for _, name := range check.Keys(part.list) {
			q := at("status", part.field).Key(string(name))
			r.Each(q, name, validation.IsQualifiedName(string(name)))
			r.Add(validateQuantity(name, part.list[name], q))
		}
	}
	return r.List()
}

func validateTaints(taints []Taint, p *path) validation.ErrorList {
	var r check.Report
	type pair struct {
		key    string
		effect TaintEffect
	}
	seen := map[pair]bool{}
	for i, t := range taints {
		q := p.Index(i)
		r.Add(validation.LabelName(q.Child("key"), t.Key))
		r.Each(q.Child("value"), t.Value, validation.IsLabelValue(t.Value))
		check.Chosen(&r, q.Child("effect"), t.Effect, TaintEffectNoSchedule, TaintEffectPreferNoSchedule, TaintEffectNoExecute)
		if !check.Unique(seen, pair{t.Key, t.Effect}) {
			r.Duplicate(q, t.Key+":"+string(t.Effect))
		}
	}
	return r.List()
}

// ValidateNodeUpdate checks a change of a node: pod CIDRs and provider are set once.
func ValidateNodeUpdate(n, old *Node) validation.ErrorList {
	var r check.Report
	r.Add(validateNode(n, storedIn(old.Spec.PodCIDRs)))
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		r.Forbidden(at("spec", "podCIDRs"), "node updates may not change podCIDR except from \"\" to valid")
	}
	if old.Spec.ProviderID != "" && n.Spec.ProviderID != old.Spec.ProviderID {
		r.Forbidden(at("spec", "providerID"), "node updates may not change providerID except from \"\" to valid")
	}
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		r.Forbidden(at("spec", "externalID"), "may not be updated")
	}
	return r.List()
}

// ValidateNodeStatus checks a change of a node's status: addresses are unique.
func ValidateNodeStatus(n, old *Node) validation.ErrorList {
	var r check.Report
	r.Add(ValidateNodeUpdate(n, old))
	seen := map[NodeAddress]bool{}
	for i, a := range n.Status.Addresses {
		if !check.Unique(seen, a) {
			r.Duplicate(at("status", "addresses").Index(i), a)
		}
	}
	return r.List()
}

// ValidateNamespace checks a namespace to be stored.
func ValidateNamespace(n *Namespace) validation.ErrorList {
	var r check.Report
	p := at("spec", "finalizers")
	for _, f := range n.Spec.Finalizers {
		name := string(f)
		errs := validation.FinalizerName(p, name)
		r.Add(errs)
		r.If(len(errs) == 0 && !strings.Contains(name, "/") && f != FinalizerKubernetes && name != "orphan" && name != "foregroundDeletion",
			p, name, "name is neither a standard finalizer name nor is it fully qualified")
	}
	return r.List()
}

// ValidateNamespaceStatus checks a change of a namespace's phase: only a deleted one is Terminating.
func ValidateNamespaceStatus(n, _ *Namespace) validation.ErrorList {
	var r check.Report
	switch {
	case n.DeletionTimestamp == nil && n.Status.Phase != NamespaceActive:
		r.Invalid(at("status", "Phase"), n.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")
	case n.DeletionTimestamp != nil && n.Status.Phase != NamespaceTerminating:
		r.Invalid(at("status", "Phase"), n.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
	}
	return r.List()
}

// ValidateEndpoints checks endpoints to be stored.
func ValidateEndpoints(e *Endpoints) validation.ErrorList { return validateEndpoints(e, nil) }

// ValidateEndpointsUpdate checks a change of endpoints.
func ValidateEndpointsUpdate(e, old *Endpoints) validation.ErrorList {
	before := stored{}
	for i := range old.Subsets {
		for _, list := range [][]EndpointAddress{old.Subsets[i].Addresses, old.Subsets[i].NotReadyAddresses} {
			for j := range list {
				before[list[j].IP] = true
			}
		}
	}
	return validateEndpoints(e, before)
}

func validateEndpoints(e *Endpoints, before stored) validation.ErrorList {
	var r check.Report
	for i := range e.Subsets {
		s, p := &e.Subsets[i], at("subsets").Index(i)
		if len(s.Addresses)+len(s.NotReadyAddresses) == 0 {
			r.Required(p, "must specify `addresses` or `notReadyAddresses`")
		}
		addresses := func(field string, list []EndpointAddress) {
			for j := range list {
				a, q := &list[j], p.Child(field).Index(j)
				r.Each(q.Child("ip"), a.IP, before.ip(a.IP))
				if a.Hostname != "" {
					r.Each(q.Child("hostname"), a.Hostname, validation.IsDNS1123Label(a.Hostname))
				}
				if a.NodeName != nil {
					r.Each(q.Child("nodeName"), *a.NodeName, validation.IsDNS1123Subdomain(*a.NodeName))
				}
				r.Add(validateOrdinaryIP(a.IP, q.Child("ip")))
			}
		}
		addresses("addresses", s.Addresses)
		addresses("notReadyAddresses", s.NotReadyAddresses)
		for j := range s.Ports {
			port, q := &s.Ports[j], p.Child("ports").Index(j)
			if port.Name != "" {
				r.Each(q.Child("name"), port.Name, validation.IsDNS1123Label(port.Name))
			} else if len(s.Ports) > 1 {
				r.Required(q.Child("name"), "")
			}
			r.Each(q.Child("port"), port.Port, validation.IsPortNumber(int64(port.Port)))
			check.Chosen(&r, q.Child("protocol"), port.Protocol, protocols()...)
			if port.AppProtocol != nil {
				r.Each(q.Child("appProtocol"), *port.AppProtocol, validation.IsQualifiedName(*port.AppProtocol))
			}
		}
	}
	return r.List()
}
