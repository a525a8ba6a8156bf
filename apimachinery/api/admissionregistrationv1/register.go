package admissionregistrationv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*MutatingAdmissionPolicy](s, GroupVersion, scheme.Kind{
			Resource:   "mutatingadmissionpolicies",
			Categories: []string{"api-extensions"},
		}),
		scheme.Add[*MutatingAdmissionPolicyBinding](s, GroupVersion, scheme.Kind{
			Resource:   "mutatingadmissionpolicybindings",
			Categories: []string{"api-extensions"},
		}),
		scheme.Add[*MutatingWebhookConfiguration](s, GroupVersion, scheme.Kind{
			Resource:   "mutatingwebhookconfigurations",
			Categories: []string{"api-extensions"},
		}),
		scheme.Add[*ValidatingAdmissionPolicy](s, GroupVersion, scheme.Kind{
			Resource: "validatingadmissionpolicies", Categories: []string{"api-extensions"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "ValidatingAdmissionPolicy", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*ValidatingAdmissionPolicyBinding](s, GroupVersion, scheme.Kind{
			Resource:   "validatingadmissionpolicybindings",
			Categories: []string{"api-extensions"},
		}),
		scheme.Add[*ValidatingWebhookConfiguration](s, GroupVersion, scheme.Kind{
			Resource:   "validatingwebhookconfigurations",
			Categories: []string{"api-extensions"},
		}),
	)
}
