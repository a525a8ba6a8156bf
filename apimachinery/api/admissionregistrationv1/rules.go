package admissionregistrationv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*ValidatingWebhookConfiguration]{
			Default: DefaultValidatingWebhookConfiguration, Validate: ValidateValidatingWebhookConfiguration,
			ValidateUpdate: onUpdate(ValidateValidatingWebhookConfiguration),
		}.Attach(s),
		scheme.RulesFor[*MutatingWebhookConfiguration]{
			Default: DefaultMutatingWebhookConfiguration, Validate: ValidateMutatingWebhookConfiguration,
			ValidateUpdate: onUpdate(ValidateMutatingWebhookConfiguration),
		}.Attach(s),
		scheme.RulesFor[*ValidatingAdmissionPolicy]{
			Default: DefaultValidatingAdmissionPolicy, Validate: ValidateValidatingAdmissionPolicy,
			ValidateUpdate: onUpdate(ValidateValidatingAdmissionPolicy),
			ValidateStatus: ValidateValidatingAdmissionPolicyStatus,
		}.Attach(s),
		scheme.RulesFor[*ValidatingAdmissionPolicyBinding]{
			Default: DefaultValidatingAdmissionPolicyBinding, Validate: ValidateValidatingAdmissionPolicyBinding,
			ValidateUpdate: onUpdate(ValidateValidatingAdmissionPolicyBinding),
		}.Attach(s),
		scheme.RulesFor[*MutatingAdmissionPolicy]{
			Default: DefaultMutatingAdmissionPolicy, Validate: ValidateMutatingAdmissionPolicy,
			ValidateUpdate: onUpdate(ValidateMutatingAdmissionPolicy),
		}.Attach(s),
		scheme.RulesFor[*MutatingAdmissionPolicyBinding]{
			Default: DefaultMutatingAdmissionPolicyBinding, Validate: ValidateMutatingAdmissionPolicyBinding,
			ValidateUpdate: onUpdate(ValidateMutatingAdmissionPolicyBinding),
		}.Attach(s),
	)
}

// onUpdate checks the new object as if it were created.
func onUpdate[T any](validate func(T) validation.ErrorList) func(obj, old T) validation.ErrorList {
	return func(obj, _ T) validation.ErrorList { return validate(obj) }
}
