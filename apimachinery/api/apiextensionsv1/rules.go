package apiextensionsv1

import "github.com/keelson-dev/keelson/apimachinery/scheme"

// AddRules attaches the defaults that a server applies to the kinds of this package. AddToScheme must come
// first. Validation of definitions takes a compiler for the rules in their schemas: openapi.AddRules attaches
// both.
func AddRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*CustomResourceDefinition]{Default: DefaultCustomResourceDefinition}.Attach(s)
}
