package networkingv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*NetworkPolicy]{
			Default: DefaultNetworkPolicy, Validate: ValidateNetworkPolicy, ValidateUpdate: check.OnUpdate(ValidateNetworkPolicy),
		}.Attach(s),
		scheme.RulesFor[*Ingress]{
			Meta:     scheme.MetaStrict,
			Validate: ValidateIngress, ValidateUpdate: check.OnUpdate(validateIngress), ValidateStatus: ValidateIngressStatus,
		}.Attach(s),
		scheme.RulesFor[*IngressClass]{
			Meta:    scheme.MetaStrict,
			Default: DefaultIngressClass, Validate: ValidateIngressClass, ValidateUpdate: ValidateIngressClassUpdate,
		}.Attach(s),
		scheme.RulesFor[*IPAddress]{Meta: scheme.MetaStrict, Validate: ValidateIPAddress, ValidateUpdate: ValidateIPAddressUpdate, NameRule: NameIsIP}.Attach(s),
		scheme.RulesFor[*ServiceCIDR]{
			// The condition Ready has no reason in Kubernetes, so conditions are not checked.
			Validate: ValidateServiceCIDR, ValidateUpdate: ValidateServiceCIDRUpdate,
		}.Attach(s),
	)
}
