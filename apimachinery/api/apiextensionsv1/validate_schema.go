package apiextensionsv1

import (
	"regexp"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// maxSchemaDepth bounds recursion; no sensible schema comes near.
const maxSchemaDepth = 200

// ValidateSchema checks the root schema of a version at p: only what a server can act on, and
// structural, so that every value's type follows from the schema alone.
func ValidateSchema(s *JSONSchemaProps, p *path) validation.ErrorList {
	var r check.Report
	if s.Nullable {
		r.Forbidden(p.Child("nullable"), "nullable cannot be true at the root")
	}
	c := schemaCheck{}
	c.forbidden(s, p, 0)
	r.Add(c.List())
	if !r.OK() {
		return r.List()
	}
	c = schemaCheck{}
	c.structural(s, p, true)
	r.Add(c.List())
	if !r.OK() {
		return r.List()
	}
	c = schemaCheck{}
	c.defaults(s, p)
	return c.List()
}

type schemaCheck struct{ check.Report }

// forbidden finds what custom resources do not support at all.
func (c *schemaCheck) forbidden(s *JSONSchemaProps, p *path, depth int) {
	if depth > maxSchemaDepth {
		c.Forbidden(p, "is nested too deeply")
		return
	}
	c.ForbidIf(s.UniqueItems, p.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
	c.ForbidIf(s.Ref != nil, p.Child("$ref"), "$ref is not supported")
	c.ForbidIf(s.ID != "", p.Child("id"), "id is not supported")
	c.ForbidIf(s.AdditionalItems != nil, p.Child("additionalItems"), "additionalItems is not supported")
	c.ForbidIf(len(s.PatternProperties) > 0, p.Child("patternProperties"), "patternProperties is not supported")
	c.ForbidIf(len(s.Definitions) > 0, p.Child("definitions"), "definitions is not supported")
	c.ForbidIf(len(s.Dependencies) > 0, p.Child("dependencies"), "dependencies is not supported")
	c.ForbidIf(s.Type == "null", p.Child("type"), "type cannot be set to null, use nullable as an alternative")
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			c.Invalid(p.Child("pattern"), s.Pattern, "must be a valid regular expression, but isn't: "+err.Error())
		}
	}
	if a := s.AdditionalProperties; a != nil {
		c.ForbidIf(len(s.Properties) > 0 && (!a.Allows || a.Schema != nil), p.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive")
		c.ForbidIf(!a.Allows && a.Schema == nil && len(s.Properties) == 0, p.Child("additionalProperties"), "additionalProperties cannot be set to false")
	}
	if s.Items != nil && len(s.Items.JSONSchemas) > 0 {
		c.Forbidden(p.Child("items"), "items must be a schema object and not an array")
	}
	c.lists(s, p)
	for i, v := range s.XValidations {
		q := p.Child("x-kubernetes-validations").Index(i)
		if strings.TrimSpace(v.Rule) == "" {
			c.Required(q.Child("rule"), "rule is not specified")
		}
		c.If(v.Message != "" && strings.TrimSpace(v.Message) == "", q.Child("message"), v.Message, "message must be non-empty if specified")
		c.If(strings.Contains(strings.TrimSpace(v.Message), "\n"), q.Child("message"), v.Message, "message must not contain line breaks")
		if strings.Contains(v.Rule, "\n") && strings.TrimSpace(v.Message) == "" && v.MessageExpression == "" {
			c.Required(q.Child("message"), "message must be specified if rule contains line breaks")
		}
		check.OneOfOpt(&c.Report, q.Child("reason"), v.Reason, FieldValueRequired, FieldValueInvalid, FieldValueForbidden, FieldValueDuplicate)
	}
	c.each(s, p, func(sub *JSONSchemaProps, q *path) { c.forbidden(sub, q, depth+1) })
}

// lists checks the extensions that say how lists and maps are merged.
func (c *schemaCheck) lists(s *JSONSchemaProps, p *path) {
	if s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields {
		c.Invalid(p.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined")
	}
	keys, kind := p.Child("x-kubernetes-list-map-keys"), p.Child("x-kubernetes-list-type")
	isMap := false
	if t := s.XListType; t != nil {
		isMap = *t == "map"
		check.OneOf(&c.Report, kind, *t, "atomic", "set", "map")
		c.If(s.Type != "array", kind, *t, "must be array if x-kubernetes-list-type is specified")
	}
	if t := s.XMapType; t != nil {
		check.OneOf(&c.Report, p.Child("x-kubernetes-map-type"), *t, "atomic", "granular")
		c.If(s.Type != "object", p.Child("type"), s.Type, "must be object if x-kubernetes-map-type is specified")
	}
	if len(s.XListMapKeys) > 0 && !isMap {
		if s.XListType == nil {
			c.Required(kind, "must be map if x-kubernetes-list-map-keys is non-empty")
		} else {
			c.Invalid(kind, *s.XListType, "must be map if x-kubernetes-list-map-keys is non-empty")
		}
	}
	if !isMap {
		return
	}
	if len(s.XListMapKeys) == 0 {
		c.Required(keys, "must not be empty if x-kubernetes-list-type is map")
	}
	if s.Items == nil || s.Items.Schema == nil {
		c.Required(p.Child("items"), "must have a schema if x-kubernetes-list-type is map")
		return
	}
	item := s.Items.Schema
	c.If(item.Type != "object", p.Child("items", "type"), item.Type, "must be object if parent array's x-kubernetes-list-type is map")
	seen := map[string]bool{}
	for i, k := range s.XListMapKeys {
		if !check.Unique(seen, k) {
			c.Duplicate(keys.Index(i), k)
		}
		prop, ok := item.Properties[k]
		c.If(!ok, keys.Index(i), k, "entries must all be names of item properties")
		if !ok {
			continue
		}
		c.ForbidIf(prop.Nullable, p.Child("items", "properties").Key(k).Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable")
		if !slices.Contains(item.Required, k) && prop.Default == nil {
			c.Required(p.Child("items", "properties").Key(k).Child("default"), "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property")
		}
	}
}

// each visits the schemas directly below s.
func (c *schemaCheck) each(s *JSONSchemaProps, p *path, visit func(sub *JSONSchemaProps, q *path)) {
	for _, name := range check.Keys(s.Properties) {
		sub := s.Properties[name]
		visit(&sub, p.Child("properties").Key(name))
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		visit(a.Schema, p.Child("additionalProperties"))
	}
	if s.Items != nil && s.Items.Schema != nil {
		visit(s.Items.Schema, p.Child("items"))
	}
	c.eachLogic(s, p, visit)
}

func (c *schemaCheck) eachLogic(s *JSONSchemaProps, p *path, visit func(sub *JSONSchemaProps, q *path)) {
	for _, f := range []struct {
		name string
		list []JSONSchemaProps
	}{{"allOf", s.AllOf}, {"oneOf", s.OneOf}, {"anyOf", s.AnyOf}} {
		for i := range f.list {
			visit(&f.list[i], p.Child(f.name).Index(i))
		}
	}
	if s.Not != nil {
		visit(s.Not, p.Child("not"))
	}
}

// structural checks that every field, item and value outside logic has a type of its own.
func (c *schemaCheck) structural(s *JSONSchemaProps, p *path, root bool) {
	preserve := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	switch {
	case s.XEmbeddedResource && s.Type != "object":
		if s.Type == "" {
			c.Required(p.Child("type"), "must be object if x-kubernetes-embedded-resource is true")
		} else {
			c.Invalid(p.Child("type"), s.Type, "must be object if x-kubernetes-embedded-resource is true")
		}
	case s.XIntOrString:
		c.ForbidIf(s.Type != "", p.Child("type"), "must be empty if x-kubernetes-int-or-string is true")
	case s.Type == "" && (!preserve || root):
		c.Required(p.Child("type"), "must not be empty for specified object fields, array items and the root")
	case s.Type == "":
	case root && s.Type != "object":
		c.Invalid(p.Child("type"), s.Type, "must be object at the root")
	default:
		check.OneOf(&c.Report, p.Child("type"), s.Type, "array", "boolean", "integer", "number", "object", "string")
	}
	if s.XEmbeddedResource && !preserve && len(s.Properties) == 0 {
		c.Required(p.Child("properties"), "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields")
	}
	c.ForbidIf(s.XEmbeddedResource && s.AdditionalProperties != nil, p.Child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set")
	if s.Type == "array" && (s.Items == nil || s.Items.Schema == nil) {
		c.Required(p.Child("items"), "must be specified")
	}
	if root || s.XEmbeddedResource {
		c.reserved(s, p)
	}
	for _, name := range check.Keys(s.Properties) {
		sub := s.Properties[name]
		c.structural(&sub, p.Child("properties").Key(name), false)
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		c.ForbidIf(root, p.Child("additionalProperties"), "must not be used at the root")
		c.structural(a.Schema, p.Child("additionalProperties"), false)
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.structural(s.Items.Schema, p.Child("items"), false)
	}
	c.eachLogic(s, p, func(sub *JSONSchemaProps, q *path) { c.logic(sub, s, q) })
}

// reserved checks what is said about apiVersion, kind and metadata.
func (c *schemaCheck) reserved(s *JSONSchemaProps, p *path) {
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		sub, ok := s.Properties[name]
		want := "string"
		if name == "metadata" {
			want = "object"
		}
		c.If(ok && sub.Type != want, p.Child("properties").Key(name).Child("type"), sub.Type, "must be "+want)
		if name != "metadata" || !ok {
			continue
		}
		for _, field := range check.Keys(sub.Properties) {
			c.ForbidIf(field != "name" && field != "generateName", p.Child("properties").Key(name),
				"must not specify anything other than name and generateName, but metadata is implicitly specified")
		}
	}
}

// logic checks a schema below allOf and the like: it restricts values, and specifies nothing. around is the
// structural schema it is part of, which must specify the fields it speaks of.
func (c *schemaCheck) logic(s, around *JSONSchemaProps, p *path) {
	const why = "must be empty to be structural"
	intOrString := around != nil && around.XIntOrString && (s.Type == "integer" || s.Type == "string")
	c.ForbidIf(s.Type != "" && !intOrString, p.Child("type"), why)
	c.ForbidIf(s.Description != "", p.Child("description"), why)
	c.ForbidIf(s.Title != "", p.Child("title"), why)
	c.ForbidIf(s.Default != nil, p.Child("default"), why)
	c.ForbidIf(s.Nullable, p.Child("nullable"), "must be false to be structural")
	c.ForbidIf(s.AdditionalProperties != nil, p.Child("additionalProperties"), "must be undefined to be structural")
	c.ForbidIf(s.XEmbeddedResource, p.Child("x-kubernetes-embedded-resource"), "must be false to be structural")
	c.ForbidIf(s.XIntOrString, p.Child("x-kubernetes-int-or-string"), "must be false to be structural")
	c.ForbidIf(s.XPreserveUnknownFields != nil, p.Child("x-kubernetes-preserve-unknown-fields"), "must be undefined to be structural")
	c.ForbidIf(s.XListType != nil || len(s.XListMapKeys) > 0, p.Child("x-kubernetes-list-type"), "must be undefined to be structural")
	for _, name := range check.Keys(s.Properties) {
		sub := s.Properties[name]
		q := p.Child("properties").Key(name)
		var outer *JSONSchemaProps
		if around != nil {
			if o, ok := around.Properties[name]; ok {
				outer = &o
			} else if around.XPreserveUnknownFields == nil && around.AdditionalProperties == nil {
				c.Required(q, "because it is defined in a logical junction, it must also be specified outside")
			}
		}
		c.logic(&sub, outer, q)
	}
	if s.Items != nil && s.Items.Schema != nil {
		var outer *JSONSchemaProps
		if around != nil && around.Items != nil {
			outer = around.Items.Schema
		}
		c.logic(s.Items.Schema, outer, p.Child("items"))
	}
	c.eachLogic(s, p, func(sub *JSONSchemaProps, q *path) { c.logic(sub, around, q) })
}

// EachSchema visits every schema of a definition, nested ones included, with the path by which findings
// about it are reported.
func EachSchema(c *CustomResourceDefinition, visit func(s *JSONSchemaProps, p *path)) {
	var walk func(s *JSONSchemaProps, p *path, depth int)
	walk = func(s *JSONSchemaProps, p *path, depth int) {
		if depth > maxSchemaDepth {
			return
		}
		visit(s, p)
		check := schemaCheck{}
		check.each(s, p, func(sub *JSONSchemaProps, q *path) { walk(sub, q, depth+1) })
	}
	eachVersion(c, at("spec"), func(v *CustomResourceDefinitionVersion) any { return v.Schema }, func(v *CustomResourceDefinitionVersion, q *path, top bool) {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			return
		}
		walk(v.Schema.OpenAPIV3Schema, schemaPath(q, top), 0)
	})
}
