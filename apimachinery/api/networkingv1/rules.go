package networkingv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*NetworkPolicy]{
			Default: DefaultNetworkPolicy, Validate: ValidateNetworkPolicy, ValidateUpdate: onUpdate(ValidateNetworkPolicy),
		}.Attach(s),
		scheme.RulesFor[*Ingress]{
			Meta:     scheme.MetaStrict,
			Validate: ValidateIngress, ValidateUpdate: onUpdate(validateIngress), ValidateStatus: ValidateIngressStatus,
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

// onUpdate checks the new object as if it were created.
func onUpdate[T any](validate func(T) validation.ErrorList) func(obj, old T) validation.ErrorList {
	return func(obj, _ T) validation.ErrorList { return validate(obj) }
}
