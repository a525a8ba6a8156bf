package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
)

// warnOfFormats returns a warning for each format without meaning in the schemas of a definition, except
// those that are also in old, which is nil for a new definition.
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
			out = appendUnknownFormats(out, s.OpenAPIV3Schema)
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

// appendUnknownFormats appends the formats without meaning in a schema and all below it, members in the order
// of their names.
func appendUnknownFormats(out []string, p *props) []string {
	if p == nil {
		return out
	}
	if p.Format != "" && !meansSomething(p.Type, p.Format) {
		out = append(out, p.Format)
	}
	if p.Items != nil {
		out = appendUnknownFormats(out, p.Items.Schema)
		for i := range p.Items.JSONSchemas {
			out = appendUnknownFormats(out, &p.Items.JSONSchemas[i])
		}
	}
	for _, list := range [][]props{p.AllOf, p.AnyOf, p.OneOf} {
		for i := range list {
			out = appendUnknownFormats(out, &list[i])
		}
	}
	out = appendUnknownFormats(out, p.Not)
	var member props // here, not in the loop, so that it stays on the stack
	for _, members := range []map[string]props{p.Properties, p.PatternProperties, p.Definitions} {
		for _, name := range sortedNames(members) {
			member = members[name]
			out = appendUnknownFormats(out, &member)
		}
	}
	for _, other := range []*apiextensionsv1.JSONSchemaPropsOrBool{p.AdditionalProperties, p.AdditionalItems} {
		if other != nil {
			out = appendUnknownFormats(out, other.Schema)
		}
	}
	return out
}
