package schedulingv1alpha2

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1alpha2"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*PodGroup](s, GroupVersion, scheme.Kind{
			Resource: "podgroups", Namespaced: true,
			Subresources: []scheme.Subresource{{Name: "status", Kind: "PodGroup", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*Workload](s, GroupVersion, scheme.Kind{Resource: "workloads", Namespaced: true}),
	)
}

// AddRules attaches what a server applies to the kinds of this package: defaults and validation of creates,
// updates and status updates. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*PodGroup]{
			Default: DefaultPodGroup, Validate: ValidatePodGroup, ValidateUpdate: ValidatePodGroupUpdate, ValidateStatus: ValidatePodGroupStatus,
		}.Attach(s),
		scheme.RulesFor[*Workload]{Validate: ValidateWorkload, ValidateUpdate: ValidateWorkloadUpdate}.Attach(s),
	)
}
