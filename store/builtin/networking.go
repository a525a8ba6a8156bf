package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// networking returns the kinds of the group networking.k8s.io.
func networking(s *scheme.Scheme) []registry.Definition {
	gv := networkingv1.GroupVersion
	return []registry.Definition{
		{
			Info: kind[*networkingv1.Ingress](s, gv), Prefix: "/ingress/", Table: ingressTable,
			Strategy: registry.Strategy{Generation: registry.OnSpec},
		},
		{
			Info: kind[*networkingv1.IngressClass](s, gv), Table: ingressClassTable,
			Strategy: registry.Strategy{Generation: registry.OnSpec},
		},
		{Info: kind[*networkingv1.IPAddress](s, gv), Prefix: addressPrefix, Table: ipAddressTable},
		{
			Info: kind[*networkingv1.NetworkPolicy](s, gv), Table: networkPolicyTable,
			Strategy: registry.Strategy{Generation: registry.OnSpec},
		},
		{
			Info: kind[*networkingv1.ServiceCIDR](s, gv), Table: serviceCIDRTable,
			Strategy: registry.Strategy{StatusOnly: true},
		},
	}
}
