package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// apiserverinternal returns the kinds of the group internal.apiserver.k8s.io, which api.Scheme does not
// register.
func apiserverinternal(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info: kind[*apiserverinternalv1alpha1.StorageVersion](s, apiserverinternalv1alpha1.GroupVersion), Table: storageVersionTable,
		Strategy: registry.Strategy{VersionRequired: true, StatusOnly: true},
	}}
}
