package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// apiregistration returns the kinds of the group apiregistration.k8s.io.
func apiregistration(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info:   kind[*apiregistrationv1.APIService](s, apiregistrationv1.GroupVersion),
		Prefix: "/apiregistration.k8s.io/apiservices/", JSON: true, Table: apiServiceTable,
		Strategy: registry.Strategy{VersionRequired: true, BareFinalizers: true},
	}}
}
