package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// scheduling returns the kinds of the group scheduling.k8s.io.
func scheduling(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info: kind[*schedulingv1.PriorityClass](s, schedulingv1.GroupVersion), Table: priorityClassTable,
		Strategy: registry.Strategy{Generation: registry.OnSpec},
	}}
}
