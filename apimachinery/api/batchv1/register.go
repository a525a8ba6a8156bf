package batchv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "batch", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*CronJob](s, GroupVersion, scheme.Kind{
			Resource: "cronjobs", Namespaced: true, ShortNames: []string{"cj"}, Categories: []string{"all"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "CronJob", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*Job](s, GroupVersion, scheme.Kind{
			Resource: "jobs", Namespaced: true, Categories: []string{"all"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "Job", Verbs: []string{"get", "patch", "update"}}},
		}),
	)
}
