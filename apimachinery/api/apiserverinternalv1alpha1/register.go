package apiserverinternalv1alpha1

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "internal.apiserver.k8s.io", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return scheme.Add[*StorageVersion](s, GroupVersion, scheme.Kind{
		Resource: "storageversions",
		Subresources: []scheme.Subresource{
			{Name: "status", Kind: "StorageVersion", Verbs: []string{"get", "patch", "update"}},
		},
	})
}

// AddRules attaches what a server applies to the kinds of this package: validation of names and of status
// updates. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*StorageVersion]{NameRule: ValidateName, ValidateStatus: ValidateStorageVersionStatus}.Attach(s)
}
