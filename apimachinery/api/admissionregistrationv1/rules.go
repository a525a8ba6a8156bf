package admissionregistrationv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*ValidatingWebhookConfiguration]{Default: DefaultValidatingWebhookConfiguration}.Attach(s),
		scheme.RulesFor[*MutatingWebhookConfiguration]{Default: DefaultMutatingWebhookConfiguration}.Attach(s),
		scheme.RulesFor[*ValidatingAdmissionPolicy]{Default: DefaultValidatingAdmissionPolicy}.Attach(s),
		scheme.RulesFor[*ValidatingAdmissionPolicyBinding]{Default: DefaultValidatingAdmissionPolicyBinding}.Attach(s),
		scheme.RulesFor[*MutatingAdmissionPolicy]{Default: DefaultMutatingAdmissionPolicy}.Attach(s),
		scheme.RulesFor[*MutatingAdmissionPolicyBinding]{Default: DefaultMutatingAdmissionPolicyBinding}.Attach(s),
	)
}
