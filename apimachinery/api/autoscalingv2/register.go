package autoscalingv2

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "autoscaling", Version: "v2"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*HorizontalPodAutoscaler](s, GroupVersion, scheme.Kind{
			Resource: "horizontalpodautoscalers", Namespaced: true, ShortNames: []string{"hpa"}, Categories: []string{"all"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "HorizontalPodAutoscaler", Verbs: []string{"get", "patch", "update"}}},
		}),
	)
}
