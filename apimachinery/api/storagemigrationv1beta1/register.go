package storagemigrationv1beta1

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "storagemigration.k8s.io", Version: "v1beta1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return scheme.Add[*StorageVersionMigration](s, GroupVersion, scheme.Kind{
		Resource: "storageversionmigrations",
		Subresources: []scheme.Subresource{
			{Name: "status", Kind: "StorageVersionMigration", Verbs: []string{"get", "patch", "update"}},
		},
	})
}

// AddRules attaches what a server applies to the kinds of this package: validation of creates, updates and
// status updates. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*StorageVersionMigration]{
		Validate: ValidateStorageVersionMigration, ValidateUpdate: ValidateStorageVersionMigrationUpdate, ValidateStatus: ValidateStorageVersionMigrationStatus,
	}.Attach(s)
}
