package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
)

// warnOfFormats names the formats in the schemas of a definition that mean nothing, but for those that were
// there before; old is nil for a new definition.
func warnOfFormats(d, old *definition) []string {
	known := unknownFormats(old)
	var out []string
	for _, format := range unknownFormats(d) {
		if !slices.Contains(known, format) {
			out = append(out, fmt.Sprintf("unrecognized format %q", format))
		}
	}
	return out
}

func unknownFormats(d *definition) (out []string) {
	if d == nil {
		return nil
	}
	for i := range d.Spec.Versions {
		if s := d.Spec.Versions[i].Schema; s != nil && s.OpenAPIV3Schema != nil {
			eachSchema(s.OpenAPIV3Schema, func(p *apiextensionsv1.JSONSchemaProps) {
				if p.Format != "" && !meansSomething(p.Type, p.Format) {
					out = append(out, p.Format)
				}
			})
		}
	}
	return out
}

// meansSomething reports whether a format is known for values of a type.
func meansSomething(typ, format string) bool {
	switch typ {
	case "", "string":
		return KnownFormat(strings.ReplaceAll(format, "-", "")) || KnownFormat(format)
	case "integer":
		return format == "int32" || format == "int64"
	case "number":
		return format == "float" || format == "double"
	}
	return false
}

// eachSchema visits a schema and all below it, members in the order of their names.
func eachSchema(p *apiextensionsv1.JSONSchemaProps, visit func(*apiextensionsv1.JSONSchemaProps)) {
	if p == nil {
		return
	}
	visit(p)
	if p.Items != nil {
		eachSchema(p.Items.Schema, visit)
		for i := range p.Items.JSONSchemas {
			eachSchema(&p.Items.JSONSchemas[i], visit)
		}
	}
	for _, list := range [][]apiextensionsv1.JSONSchemaProps{p.AllOf, p.AnyOf, p.OneOf} {
		for i := range list {
			eachSchema(&list[i], visit)
		}
	}
	eachSchema(p.Not, visit)
	for _, members := range []map[string]apiextensionsv1.JSONSchemaProps{p.Properties, p.PatternProperties, p.Definitions} {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			member := members[name]
			eachSchema(&member, visit)
		}
	}
	for _, other := range []*apiextensionsv1.JSONSchemaPropsOrBool{p.AdditionalProperties, p.AdditionalItems} {
		if other != nil {
			eachSchema(other.Schema, visit)
		}
	}
}
