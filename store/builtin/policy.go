package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// policy returns the kinds of the group policy.
func policy(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info: kind[*policyv1.PodDisruptionBudget](s, policyv1.GroupVersion), Table: disruptionBudgetTable,
		Strategy: registry.Strategy{Generation: registry.OnSpec, VersionRequired: true, BareFinalizers: true},
	}}
}
