package builtin

import (
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/store/columns"
)

var ingressTable = columns.Of(func(i *networkingv1.Ingress, now time.Time) []any {
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
		strings.Join(uniqueSorted(addresses), ","), ports, columns.AgeOf(i, now),
	}
}, columns.Name(), columns.Text("Class", "Ingress class."), columns.Text("Hosts", "Host names served."),
	columns.Text("Address", "Addresses of the load balancer."), columns.Text("Ports", "Ports served."), columns.Age())

var ingressClassTable = columns.Of(func(c *networkingv1.IngressClass, now time.Time) []any {
	parameters := none
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	return []any{c.Name, c.Spec.Controller, parameters, columns.AgeOf(c, now)}
}, columns.Name(), columns.Text("Controller", "Who serves the class."), columns.Text("Parameters", "Object with the controller's settings."), columns.Age())

var networkPolicyTable = columns.Of(func(p *networkingv1.NetworkPolicy, now time.Time) []any {
	return []any{p.Name, selectorText(&p.Spec.PodSelector), columns.AgeOf(p, now)}
}, columns.Name(), columns.Text("Pod-Selector", "Pods it applies to."), columns.Age())

// The row has an age without a column, as kube-apiserver's has.
var ipAddressTable = columns.Of(func(a *networkingv1.IPAddress, now time.Time) []any {
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
	return []any{a.Name, parent, columns.AgeOf(a, now)}
}, columns.Name(), columns.Text("ParentRef", "Object that uses the address."))

var serviceCIDRTable = columns.Of(func(c *networkingv1.ServiceCIDR, now time.Time) []any {
	return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), columns.AgeOf(c, now)}
}, columns.Name(), columns.Text("CIDRs", "Address ranges of services."), columns.Age())

var disruptionBudgetTable = columns.Of(func(b *policyv1.PodDisruptionBudget, now time.Time) []any {
	return []any{b.Name, limitText(b.Spec.MinAvailable), limitText(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed), columns.AgeOf(b, now)}
}, columns.Name(), columns.Text("Min Available", "Pods that must stay."), columns.Text("Max Unavailable", "Pods that may be missing."),
	columns.Number("Allowed Disruptions", "Pods that may be evicted now."), columns.Age())

func limitText(v *intstr.IntOrString) string {
	if v == nil {
		return "N/A"
	}
	return v.String()
}
