package openapi

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/jsonpath"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type definitionVersion = apiextensionsv1.CustomResourceDefinitionVersion

// maxSelectableFields is how many fields of a version field selectors can use.
const maxSelectableFields = 8

// parts are what a version says of its objects: all of it, or some.
type parts struct{ schema, subresources, columns, selectable bool }

func (p parts) not() parts { return parts{!p.schema, !p.subresources, !p.columns, !p.selectable} }

// sharedParts are the parts that all versions have the same.
func sharedParts(versions []definitionVersion) parts {
	out := parts{true, true, true, true}
	for i := 1; i < len(versions); i++ {
		a, b := &versions[0], &versions[i]
		out.schema = out.schema && codec.Equal(a.Schema, b.Schema)
		out.subresources = out.subresources && codec.Equal(a.Subresources, b.Subresources)
		out.columns = out.columns && codec.Equal(a.AdditionalPrinterColumns, b.AdditionalPrinterColumns)
		out.selectable = out.selectable && codec.Equal(a.SelectableFields, b.SelectableFields)
	}
	return out
}

// hasSchema reports whether a version has a schema.
func hasSchema(v *definitionVersion) bool { return v.Schema != nil && v.Schema.OpenAPIV3Schema != nil }

func hasDefaults(v definitionVersion) bool {
	var has func(s *props) bool
	has = func(s *props) bool {
		if s == nil {
			return false
		}
		for _, child := range s.Properties {
			if has(&child) {
				return true
			}
		}
		return s.Default != nil || s.AdditionalProperties != nil && has(s.AdditionalProperties.Schema) || s.Items != nil && has(s.Items.Schema)
	}
	return hasSchema(&v) && has(v.Schema.OpenAPIV3Schema)
}

// versions checks what each version has for itself, and that they go together; p is the spec.
func (c *definitionChecker) versions(versions []definitionVersion, p *validation.Path, shared parts) {
	list := p.Child("versions")
	for i := range versions {
		if !hasSchema(&versions[i]) {
			c.required(list.Index(i).Child("schema", "openAPIV3Schema"), "", "")
		}
	}
	names, stored := map[string]bool{}, 0
	for i := range versions {
		v, at := &versions[i], list.Index(i)
		names[v.Name] = true
		if v.Storage {
			stored++
		}
		c.label(at.Child("name"), v.Name)
		c.deprecation(v, at.Child("deprecationWarning"))
		c.version(v, at, at.Child("schema"), shared.not())
	}
	if len(names) < len(versions) {
		c.invalid(list, len(versions), "must contain unique version names")
	}
	if stored != 1 {
		c.invalid(list, len(versions), "must have exactly one version marked as storage version")
	}
	if len(versions) > 0 {
		// The same name, where the first form of the API kept it.
		c.label(p.Child("version"), versions[0].Name)
	}
}

func (c *definitionChecker) deprecation(v *definitionVersion, p *validation.Path) {
	if v.DeprecationWarning == nil {
		return
	}
	text := *v.DeprecationWarning
	if !v.Deprecated {
		c.invalid(p, text, "can only be set for deprecated versions")
		return
	}
	const most = 256
	if len(text) > most {
		c.invalid(p, text, fmt.Sprintf("must be <= %d characters long", most))
	}
	if text == "" {
		c.invalid(p, text, "must not be an empty string")
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		c.invalid(p, text, fmt.Sprintf("must only contain printable UTF-8 characters; non-printable character found at index %d", i))
	}
	if !utf8.ValidString(text) {
		c.invalid(p, text, "must only contain printable UTF-8 characters")
	}
}

// version checks the given parts of a version. at is where they are, and schema where the object that holds
// the schema is.
func (c *definitionChecker) version(v *definitionVersion, at, schema *validation.Path, of parts) {
	var compiled compiledSchema
	if hasSchema(v) {
		compiled = compileOnce(v.Schema.OpenAPIV3Schema)
	}
	if of.schema && hasSchema(v) {
		c.errs = append(c.errs, checkSchema(v.Schema.OpenAPIV3Schema, compiled, schema.Child("openAPIV3Schema"))...)
	}
	if of.subresources && v.Subresources != nil && v.Subresources.Scale != nil {
		c.scale(v.Subresources.Scale, at.Child("subresources", "scale"))
	}
	if of.columns {
		for i := range v.AdditionalPrinterColumns {
			c.column(&v.AdditionalPrinterColumns[i], at.Child("additionalPrinterColumns").Index(i))
		}
	}
	if of.selectable && hasSchema(v) && len(v.SelectableFields) > 0 {
		c.selectable(v, compiled, at.Child("selectableFields"))
	}
}

func (c *definitionChecker) scale(s *apiextensionsv1.CustomResourceSubresourceScale, p *validation.Path) {
	path := func(name, value, roots string, prefixes ...string) {
		at := p.Child(name)
		switch {
		case value == "":
			c.required(at, "", "")
		case value[0] != '.':
			c.invalid(at, value, "must be a simple json path starting with .")
		case !slices.ContainsFunc(prefixes, func(r string) bool { return strings.HasPrefix(value, r) }):
			c.invalid(at, value, "should be a json path under "+roots)
		default:
			if _, err := simplePath(value); err != nil {
				c.invalid(at, value, "should be a json path under "+roots+": "+err.Error())
			}
		}
	}
	path("specReplicasPath", s.SpecReplicasPath, ".spec", ".spec.")
	path("statusReplicasPath", s.StatusReplicasPath, ".status", ".status.")
	if s.LabelSelectorPath != nil && *s.LabelSelectorPath != "" {
		path("labelSelectorPath", *s.LabelSelectorPath, "either .spec or .status", ".spec.", ".status.")
	}
}

// simplePath splits a path of field names only, such as .spec.size, into them.
func simplePath(text string) ([]string, error) {
	path, err := jsonpath.Parse(text)
	if err != nil {
		return nil, err
	}
	names, ok := path.Fields()
	if !ok || len(names) == 0 || text[0] != '.' {
		return nil, fmt.Errorf("is no path of field names")
	}
	return names, nil
}

var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

func (c *definitionChecker) column(x *apiextensionsv1.CustomResourceColumnDefinition, p *validation.Path) {
	c.required(p.Child("name"), x.Name, "")
	c.required(p.Child("type"), x.Type, "must be one of "+strings.Join(columnTypes, ","))
	if x.Type != "" && !slices.Contains(columnTypes, x.Type) {
		c.invalid(p.Child("type"), x.Type, "must be one of "+strings.Join(columnTypes, ","))
	}
	if x.Format != "" && !slices.Contains(columnFormats, x.Format) {
		c.invalid(p.Child("format"), x.Format, "must be one of "+strings.Join(columnFormats, ","))
	}
	at := p.Child("JSONPath")
	if x.JSONPath == "" {
		c.required(at, "", "")
	} else if x.JSONPath[0] != '.' {
		c.invalid(at, x.JSONPath, "must be a simple json path starting with .")
	} else if _, err := jsonpath.Parse(x.JSONPath); err != nil {
		c.invalid(at, x.JSONPath, err.Error())
	}
}

// selectable checks that the fields are single values that the schema describes, outside metadata.
func (c *definitionChecker) selectable(v *definitionVersion, compiled compiledSchema, p *validation.Path) {
	s, err := compiled()
	if err != nil {
		return // and the schema says why
	}
	seen := map[string]bool{}
	for i, f := range v.SelectableFields {
		at := p.Index(i).Child("jsonPath")
		if f.JSONPath == "" {
			c.required(at, "", "")
			continue
		}
		names, err := simplePath(f.JSONPath)
		if err != nil {
			c.invalid(at, f.JSONPath, "is an invalid path: "+err.Error())
			continue
		}
		target := s.Lookup(names...)
		if isMeta(names[0]) {
			c.invalid(at, f.JSONPath, "must not point to fields in metadata")
		} else if target == nil {
			c.invalid(at, f.JSONPath, "is an invalid path: does not refer to a valid field")
			continue
		}
		if target == nil || target.Type != "string" && target.Type != "boolean" && target.Type != "integer" {
			c.invalid(at, f.JSONPath, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.")
		}
		if seen[f.JSONPath] {
			c.errs = append(c.errs, validation.Duplicate(at, f.JSONPath))
		}
		seen[f.JSONPath] = true
	}
	if len(seen) > maxSelectableFields {
		c.errs = append(c.errs, validation.TooMany(p, len(seen), maxSelectableFields))
	}
}
