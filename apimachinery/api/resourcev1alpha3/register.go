package resourcev1alpha3

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "resource.k8s.io", Version: "v1alpha3"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return scheme.Add[*ResourcePoolStatusRequest](s, GroupVersion, scheme.Kind{
		Resource: "resourcepoolstatusrequests",
		Subresources: []scheme.Subresource{
			{Name: "status", Kind: "ResourcePoolStatusRequest", Verbs: []string{"get", "patch", "update"}},
		},
	})
}

// AddRules attaches what a server applies to the kinds of this package: defaults and validation of creates,
// updates and status updates. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*ResourcePoolStatusRequest]{
		Default:  DefaultResourcePoolStatusRequest,
		Validate: ValidateResourcePoolStatusRequest, ValidateUpdate: ValidateResourcePoolStatusRequestUpdate, ValidateStatus: ValidateResourcePoolStatusRequestStatus,
	}.Attach(s)
}
