package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// storagemigration returns the kinds of the group storagemigration.k8s.io, which api.Scheme does not
// register.
func storagemigration(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info:     kind[*storagemigrationv1beta1.StorageVersionMigration](s, storagemigrationv1beta1.GroupVersion),
		Strategy: registry.Strategy{VersionRequired: true, StatusOnly: true},
	}}
}
