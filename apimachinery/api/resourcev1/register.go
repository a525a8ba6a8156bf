package resourcev1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "resource.k8s.io", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*DeviceClass](s, GroupVersion, scheme.Kind{Resource: "deviceclasses"}),
		scheme.Add[*ResourceClaim](s, GroupVersion, scheme.Kind{
			Resource: "resourceclaims", Namespaced: true,
			Subresources: []scheme.Subresource{{Name: "status", Kind: "ResourceClaim", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*ResourceClaimTemplate](s, GroupVersion, scheme.Kind{Resource: "resourceclaimtemplates", Namespaced: true}),
		scheme.Add[*ResourceSlice](s, GroupVersion, scheme.Kind{Resource: "resourceslices"}),
	)
}
