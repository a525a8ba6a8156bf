package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// node returns the kinds of the group node.k8s.io.
func node(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info: kind[*nodev1.RuntimeClass](s, nodev1.GroupVersion), Table: runtimeClassTable,
		Strategy: registry.Strategy{CreateOnUpdate: true, VersionRequired: true, BareFinalizers: true},
	}}
}
