package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/crd"
	"github.com/keelson-dev/keelson/store/registry"
)

// apiextensions returns the kinds of the group apiextensions.k8s.io.
func apiextensions(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info:   kind[*apiextensionsv1.CustomResourceDefinition](s, apiextensionsv1.GroupVersion),
		Prefix: "/apiextensions.k8s.io/customresourcedefinitions/", JSON: true, Upgrade: crd.Upgrade, Strategy: crd.Strategy(),
	}}
}
