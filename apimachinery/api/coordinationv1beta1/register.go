package coordinationv1beta1

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1beta1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return scheme.Add[*LeaseCandidate](s, GroupVersion, scheme.Kind{Resource: "leasecandidates", Namespaced: true})
}

// AddRules attaches what a server applies to the kinds of this package: validation of creates and updates.
// AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*LeaseCandidate]{Validate: ValidateLeaseCandidate, ValidateUpdate: ValidateLeaseCandidateUpdate,
		NameRule: func(name string, _ bool) []string { return validation.IsConfigMapKey(name) },
	}.Attach(s)
}
