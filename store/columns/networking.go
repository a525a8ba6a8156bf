package columns

import (
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
)

var ingressTable = Of(func(i *networkingv1.Ingress, now time.Time) []any {
	var hosts, addresses []string
	for _, r := range i.Spec.Rules {
		if r.Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	for _, in := range i.Status.LoadBalancer.Ingress {
		addresses = append(addresses, orElse(in.IP, in.Hostname))
	}
	ports := "80"
	if len(i.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return []any{
		i.Name, orElse(value(i.Spec.IngressClassName), none), orElse(few(hosts, 3, ","), "*"),
		strings.Join(uniqueSorted(addresses), ","), ports, ageOf(i, now),
	}
}, name(), text("Class", "Ingress class."), text("Hosts", "Host names served."),
	text("Address", "Addresses of the load balancer."), text("Ports", "Ports served."), age())

var ingressClassTable = Of(func(c *networkingv1.IngressClass, now time.Time) []any {
	parameters := none
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	return []any{c.Name, c.Spec.Controller, parameters, ageOf(c, now)}
}, name(), text("Controller", "Who serves the class."), text("Parameters", "Object with the controller's settings."), age())

var networkPolicyTable = Of(func(p *networkingv1.NetworkPolicy, now time.Time) []any {
	return []any{p.Name, selectorText(&p.Spec.PodSelector), ageOf(p, now)}
}, name(), text("Pod-Selector", "Pods it applies to."), age())

// The row has an age without a column, as clients of the real server get it.
var ipAddressTable = Of(func(a *networkingv1.IPAddress, now time.Time) []any {
	parent := none
	if p := a.Spec.ParentRef; p != nil {
		parent = p.Resource
		if p.Group != "" {
			parent += "." + p.Group
		}
		parent = strings.ToLower(parent)
		if p.Namespace != "" {
			parent += "/" + p.Namespace
		}
		parent += "/" + p.Name
	}
	return []any{a.Name, parent, ageOf(a, now)}
}, name(), text("ParentRef", "Object that uses the address."))

var serviceCIDRTable = Of(func(c *networkingv1.ServiceCIDR, now time.Time) []any {
	return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), ageOf(c, now)}
}, name(), text("CIDRs", "Address ranges of services."), age())

var disruptionBudgetTable = Of(func(b *policyv1.PodDisruptionBudget, now time.Time) []any {
	return []any{b.Name, limitText(b.Spec.MinAvailable), limitText(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed), ageOf(b, now)}
}, name(), text("Min Available", "Pods that must stay."), text("Max Unavailable", "Pods that may be missing."),
	number("Allowed Disruptions", "Pods that may be evicted now."), age())

func limitText(v *intstr.IntOrString) string {
	if v == nil {
		return "N/A"
	}
	return v.String()
}
