package admissionregistrationv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*ValidatingWebhookConfiguration]{
			Default: DefaultValidatingWebhookConfiguration, Validate: ValidateValidatingWebhookConfiguration,
			ValidateUpdate: check.OnUpdate(ValidateValidatingWebhookConfiguration),
		}.Attach(s),
		scheme.RulesFor[*MutatingWebhookConfiguration]{
			Default: DefaultMutatingWebhookConfiguration, Validate: ValidateMutatingWebhookConfiguration,
			ValidateUpdate: check.OnUpdate(ValidateMutatingWebhookConfiguration),
		}.Attach(s),
		scheme.RulesFor[*ValidatingAdmissionPolicy]{
			Default: DefaultValidatingAdmissionPolicy, Validate: ValidateValidatingAdmissionPolicy,
			ValidateUpdate: check.OnUpdate(ValidateValidatingAdmissionPolicy),
			ValidateStatus: ValidateValidatingAdmissionPolicyStatus,
		}.Attach(s),
		scheme.RulesFor[*ValidatingAdmissionPolicyBinding]{
			Default: DefaultValidatingAdmissionPolicyBinding, Validate: ValidateValidatingAdmissionPolicyBinding,
			ValidateUpdate: check.OnUpdate(ValidateValidatingAdmissionPolicyBinding),
		}.Attach(s),
		scheme.RulesFor[*MutatingAdmissionPolicy]{
			Default: DefaultMutatingAdmissionPolicy, Validate: ValidateMutatingAdmissionPolicy,
			ValidateUpdate: check.OnUpdate(ValidateMutatingAdmissionPolicy),
		}.Attach(s),
		scheme.RulesFor[*MutatingAdmissionPolicyBinding]{
			Default: DefaultMutatingAdmissionPolicyBinding, Validate: ValidateMutatingAdmissionPolicyBinding,
			ValidateUpdate: check.OnUpdate(ValidateMutatingAdmissionPolicyBinding),
		}.Attach(s),
	)
}
