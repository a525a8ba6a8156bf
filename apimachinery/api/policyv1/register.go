package policyv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "policy", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*PodDisruptionBudget](s, GroupVersion, scheme.Kind{
			Resource: "poddisruptionbudgets", Namespaced: true, ShortNames: []string{"pdb"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "PodDisruptionBudget", Verbs: []string{"get", "patch", "update"}}},
		}),
	)
}
