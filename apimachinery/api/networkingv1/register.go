package networkingv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*IngressClass](s, GroupVersion, scheme.Kind{Resource: "ingressclasses"}),
		scheme.Add[*Ingress](s, GroupVersion, scheme.Kind{
			Resource: "ingresses", Namespaced: true, ShortNames: []string{"ing"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "Ingress", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*IPAddress](s, GroupVersion, scheme.Kind{Resource: "ipaddresses", ShortNames: []string{"ip"}}),
		scheme.Add[*NetworkPolicy](s, GroupVersion, scheme.Kind{Resource: "networkpolicies", Namespaced: true, ShortNames: []string{"netpol"}}),
		scheme.Add[*ServiceCIDR](s, GroupVersion, scheme.Kind{
			Resource:     "servicecidrs",
			Subresources: []scheme.Subresource{{Name: "status", Kind: "ServiceCIDR", Verbs: []string{"get", "patch", "update"}}},
		}),
	)
}
