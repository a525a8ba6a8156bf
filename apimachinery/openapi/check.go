package openapi

import (
	"regexp"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type props = apiextensionsv1.JSONSchemaProps

// CheckSchema checks the schema of a custom resource, which is at p: that it is structural, that its keywords
// fit together, that defaults obey it, and that its rules compile and cannot cost too much.
func CheckSchema(s *props, p *validation.Path) validation.ErrorList {
	return checkSchema(s, compileOnce(s), p)
}

// compiledSchema compiles a schema when it is first called.
type compiledSchema func() (*Structural, error)

func compileOnce(s *props) compiledSchema {
	return sync.OnceValues(func() (*Structural, error) { return CompileSchema(s) })
}

func checkSchema(s *props, compiled compiledSchema, p *validation.Path) validation.ErrorList {
	c := &schemaChecker{budget: cel.Budget}
	c.structure(s, p, "at the root", true)
	if s.Type != "" && s.Type != "object" {
		c.add(validation.Invalid(p.Child("type"), s.Type, "must be object at the root"))
	}
	if s.Nullable {
		c.add(validation.Forbidden(p.Child("nullable"), "nullable cannot be true at the root"))
	}
	if len(c.errs) == 0 {
		whole, err := compiled()
		c.defaults(s, whole, p)
		if err != nil {
			c.add(validation.Invalid(p, "", err.Error()))
		} else {
			c.rules(whole, p)
		}
	}
	return c.errs
}

type schemaChecker struct {
	errs validation.ErrorList
	// described says that what the schemas at hand restrict has to be described by the structure: those that
	// are combined at the root, as far down as they go, but not those combined further down.
	described bool
	// budget is what the rules of all defaults together may still cost.
	budget int64
}

func (c *schemaChecker) add(e *validation.Error) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, e)
	}
}

var schemaTypes = []string{"", "array", "boolean", "integer", "number", "object", "string"}

// structure checks s and the schemas in it. where says what s is, in messages.
func (c *schemaChecker) structure(s *props, p *validation.Path, where string, root bool) {
	preserve := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	switch {
	case !slices.Contains(schemaTypes, s.Type):
		c.add(validation.NotSupported(p.Child("type"), s.Type, schemaTypes[1:]))
	case s.Type == "" && !s.XIntOrString && !preserve && (s.Ref == nil || *s.Ref == ""):
		c.add(validation.Required(p.Child("type"), "must not be empty "+where))
	}
	if s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields {
		c.add(validation.Invalid(p.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined"))
	}
	if s.XEmbeddedResource {
		const wrong = "must be object if x-kubernetes-embedded-resource is true"
		if s.Type == "" {
			c.add(validation.Required(p.Child("type"), wrong))
		} else if s.Type != "object" {
			c.add(validation.Invalid(p.Child("type"), s.Type, wrong))
		}
		if len(s.Properties) == 0 && !preserve {
			c.add(validation.Required(p.Child("properties"), "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"))
		}
	}
	if s.AdditionalProperties != nil {
		if root {
			c.add(validation.Forbidden(p.Child("additionalProperties"), "must not be used at the root"))
		}
		if s.XEmbeddedResource {
			c.add(validation.Forbidden(p.Child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set"))
		}
	}
	if s.XIntOrString && preserve {
		c.add(validation.Invalid(p.Child("x-kubernetes-preserve-unknown-fields"), true, "must be false if x-kubernetes-int-or-string is true"))
	}
	if s.XIntOrString && s.XEmbeddedResource {
		c.add(validation.Invalid(p.Child("x-kubernetes-embedded-resource"), true, "must be false if x-kubernetes-int-or-string is true"))
	}
	if root || s.XEmbeddedResource {
		c.metadata(s, p)
	}
	c.forbidden(s, p)
	c.lists(s, p)
	c.keywords(s, p)
	var child props // here, not in the loop, so that it stays on the stack
	for _, name := range sortedNames(s.Properties) {
		child = s.Properties[name]
		c.structure(&child, p.Child("properties").Key(name), "for specified object fields", false)
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		c.structure(a.Schema, p.Child("additionalProperties"), "for specified object fields", false)
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.structure(s.Items.Schema, p.Child("items"), "for specified array items", false)
	}
	c.described = root
	c.junctors(s, s, p, p)
}

// metadata may restrict names only.
func (c *schemaChecker) metadata(s *props, p *validation.Path) {
	for _, name := range []string{"apiVersion", "kind"} {
		if field, ok := s.Properties[name]; ok && field.Type != "string" {
			c.add(validation.Invalid(p.Child("properties").Key(name).Child("type"), field.Type, "must be string"))
		}
	}
	meta, ok := s.Properties["metadata"]
	if !ok {
		return
	}
	at := p.Child("properties").Key("metadata")
	if meta.Type != "object" {
		c.add(validation.Invalid(at.Child("type"), meta.Type, "must be object"))
	}
	bare := props{Type: meta.Type, Description: meta.Description, Title: meta.Title}
	for _, name := range []string{"name", "generateName"} {
		if child, ok := meta.Properties[name]; ok {
			if bare.Properties == nil {
				bare.Properties = map[string]props{}
			}
			bare.Properties[name] = child
		}
	}
	if len(meta.Properties) == 0 {
		bare.Properties = meta.Properties
	}
	if !codec.Equal(bare, meta) {
		c.add(validation.Forbidden(at, "must not specify anything other than name and generateName, but metadata is implicitly specified"))
	}
}

// forbidden rejects keywords that structural schemas do not have.
func (c *schemaChecker) forbidden(s *props, p *validation.Path) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"definitions", len(s.Definitions) > 0}, {"dependencies", len(s.Dependencies) > 0}, {"id", s.ID != ""},
		{"patternProperties", len(s.PatternProperties) > 0}, {"additionalItems", s.AdditionalItems != nil},
		{"$ref", s.Ref != nil && *s.Ref != ""},
	} {
		if f.set {
			c.add(validation.Forbidden(p.Child(f.name), f.name+" is not supported"))
		}
	}
	if s.UniqueItems {
		c.add(validation.Forbidden(p.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"))
	}
	if a := s.AdditionalProperties; a != nil && len(s.Properties) > 0 && (!a.Allows || a.Schema != nil) {
		c.add(validation.Forbidden(p.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive"))
	}
	if s.Items != nil && len(s.Items.JSONSchemas) > 0 {
		c.add(validation.Forbidden(p.Child("items"), "items must be a schema object and not an array"))
	}
}

func (c *schemaChecker) lists(s *props, p *validation.Path) {
	if s.Type == "array" && (s.Items == nil || s.Items.Schema == nil && len(s.Items.JSONSchemas) == 0) {
		c.add(validation.Required(p.Child("items"), "must be specified"))
	}
	if s.XMapType != nil {
		at := p.Child("x-kubernetes-map-type")
		if s.Type != "object" {
			c.add(validation.Invalid(p.Child("type"), s.Type, "must be object if x-kubernetes-map-type is specified"))
		}
		if *s.XMapType != "atomic" && *s.XMapType != "granular" {
			c.add(validation.NotSupported(at, *s.XMapType, []string{"atomic", "granular"}))
		}
	}
	keys := p.Child("x-kubernetes-list-map-keys")
	if s.XListType == nil {
		if len(s.XListMapKeys) > 0 {
			c.add(validation.Required(p.Child("x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty"))
		}
		return
	}
	if s.Type != "array" {
		c.add(validation.Invalid(p.Child("type"), s.Type, "must be array if x-kubernetes-list-type is specified"))
	}
	at := p.Child("x-kubernetes-list-type")
	switch *s.XListType {
	case "atomic":
	case "set":
		if s.Items != nil && s.Items.Schema != nil {
			c.setItem(s.Items.Schema, p.Child("items"))
		}
	case "map":
		if len(s.XListMapKeys) == 0 {
			c.add(validation.Required(keys, "must not be empty if x-kubernetes-list-type is map"))
		}
		if s.Items != nil && s.Items.Schema != nil {
			c.mapItem(s, p)
		}
		return
	default:
		c.add(validation.NotSupported(at, *s.XListType, []string{"atomic", "set", "map"}))
	}
	if len(s.XListMapKeys) > 0 {
		c.add(validation.Invalid(at, *s.XListType, "must be map if x-kubernetes-list-map-keys is non-empty"))
	}
}

// setItem checks that items of a set can be compared as wholes.
func (c *schemaChecker) setItem(s *props, p *validation.Path) {
	if s.Nullable {
		c.add(validation.Forbidden(p.Child("nullable"), "cannot be nullable when x-kubernetes-list-type is set"))
	}
	switch {
	case s.Type == "object" && (s.XMapType == nil || *s.XMapType != "atomic"):
		c.add(validation.Invalid(p.Child("x-kubernetes-map-type"), s.XMapType, "must be atomic as item of a list with x-kubernetes-list-type=set"))
	case s.Type == "array" && s.XListType != nil && *s.XListType != "atomic":
		c.add(validation.Invalid(p.Child("x-kubernetes-list-type"), *s.XListType, "must be atomic as item of a list with x-kubernetes-list-type=set"))
	}
}

// mapItem checks that items of a map list have the keys.
func (c *schemaChecker) mapItem(s *props, p *validation.Path) {
	item := s.Items.Schema
	at := p.Child("items")
	if item.Type != "object" {
		c.add(validation.Invalid(at.Child("type"), item.Type, "must be object if parent array's x-kubernetes-list-type is map"))
	}
	keys := p.Child("x-kubernetes-list-map-keys")
	if n := len(s.XListMapKeys); n != len(slices.Compact(slices.Sorted(slices.Values(s.XListMapKeys)))) {
		c.add(validation.Invalid(keys, s.XListMapKeys, "must not contain duplicate entries"))
	}
	for i, key := range s.XListMapKeys {
		if slices.Contains(s.XListMapKeys[:i], key) {
			continue
		}
		field, ok := item.Properties[key]
		fieldAt := at.Child("properties").Key(key)
		if !ok {
			if item.Type == "object" {
				c.add(validation.Invalid(keys, s.XListMapKeys, "entries must all be names of item properties"))
			}
			continue
		}
		if field.Type == "array" || field.Type == "object" {
			c.add(validation.Invalid(fieldAt.Child("type"), field.Type, "must be a scalar type if parent array's x-kubernetes-list-type is map"))
		}
		if field.Nullable {
			c.add(validation.Forbidden(fieldAt.Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"))
		}
		if field.Default == nil && !slices.Contains(item.Required, key) {
			c.add(validation.Required(fieldAt.Child("default"), "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"))
		}
	}
}

func (c *schemaChecker) keywords(s *props, p *validation.Path) {
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			c.add(validation.Invalid(p.Child("pattern"), s.Pattern, "must be a valid regular expression, but isn't: "+err.Error()))
		}
	}
	for i, e := range s.Enum {
		if _, err := jsonValue(e); err != nil {
			c.add(validation.Invalid(p.Child("enum").Index(i), string(e.Raw), "must be valid JSON"))
		}
	}
}

// junctors checks the schemas that allOf and the like combine: they restrict values of what the structure
// around them, which is at home, already describes, and say nothing else.
func (c *schemaChecker) junctors(structure, s *props, home, p *validation.Path) {
	visit := func(name string, list []props) {
		for i := range list {
			c.restriction(structure, &list[i], home, p.Child(name).Index(i), name)
		}
	}
	visit("allOf", s.AllOf)
	visit("anyOf", s.AnyOf)
	visit("oneOf", s.OneOf)
	if s.Not != nil {
		c.restriction(structure, s.Not, home, p.Child("not"), "not")
	}
}

func (c *schemaChecker) restriction(structure, s *props, home, p *validation.Path, in string) {
	forbid := func(name string, set bool, empty string) {
		if set {
			c.add(validation.Forbidden(p.Child(name), "must be "+empty+" to be structural"))
		}
	}
	intOrString := structure.XIntOrString && (in == "anyOf" || in == "allOf") && (s.Type == "integer" || s.Type == "string" || s.Type == "")
	forbid("type", s.Type != "" && !intOrString, "empty")
	forbid("additionalProperties", s.AdditionalProperties != nil, "undefined")
	forbid("description", s.Description != "", "empty")
	forbid("title", s.Title != "", "empty")
	forbid("default", s.Default != nil, "undefined")
	forbid("nullable", s.Nullable, "false")
	forbid("x-kubernetes-preserve-unknown-fields", s.XPreserveUnknownFields != nil, "false")
	forbid("x-kubernetes-embedded-resource", s.XEmbeddedResource, "false")
	forbid("x-kubernetes-int-or-string", s.XIntOrString, "false")
	forbid("x-kubernetes-list-type", s.XListType != nil, "undefined")
	forbid("x-kubernetes-list-map-keys", len(s.XListMapKeys) > 0, "empty")
	forbid("x-kubernetes-map-type", s.XMapType != nil, "undefined")
	forbid("x-kubernetes-validations", len(s.XValidations) > 0, "empty")
	c.forbidden(s, p)
	c.keywords(s, p)
	for _, name := range sortedNames(s.Properties) {
		child := s.Properties[name]
		at, origin := p.Child("properties").Key(name), home.Child("properties").Key(name)
		described, ok := structure.Properties[name]
		if !ok {
			if a := structure.AdditionalProperties; a != nil && a.Schema != nil {
				described, origin = *a.Schema, home.Child("additionalProperties")
			} else if c.described {
				c.add(validation.Required(origin, "because it is defined in "+at.String()))
				continue
			}
		}
		c.restriction(&described, &child, origin, at, "properties")
	}
	if s.Items != nil && s.Items.Schema != nil {
		at, origin := p.Child("items"), home.Child("items")
		switch {
		case structure.Items != nil && structure.Items.Schema != nil:
			c.restriction(structure.Items.Schema, s.Items.Schema, origin, at, "items")
		case c.described:
			c.add(validation.Required(origin, "because it is defined in "+at.String()))
		default:
			c.restriction(&props{}, s.Items.Schema, origin, at, "items")
		}
	}
	c.junctors(structure, s, home, p)
}

// defaults checks that every default obeys its schema and holds nothing the schema would prune. compiled is s
// with its rules, so that each is compiled once however many defaults it judges; nil if a schema around s
// cannot be compiled.
func (c *schemaChecker) defaults(s *props, compiled *Structural, p *validation.Path) {
	var err error
	if compiled == nil {
		if compiled, err = compile(s); err == nil {
			compiled.attachRules(false)
		} else {
			compiled = nil
		}
	}
	if s.Default != nil && len(s.Default.Raw) > 0 {
		if err != nil {
			c.add(validation.Invalid(p.Child("default"), string(s.Default.Raw), err.Error()))
		} else {
			c.oneDefault(s, compiled, p.Child("default"))
		}
	}
	if compiled == nil {
		compiled = &Structural{} // whose children are to be compiled by themselves
	}
	var child props // here, not in the loop, so that it stays on the stack
	for _, name := range sortedNames(s.Properties) {
		child = s.Properties[name]
		c.defaults(&child, compiled.Properties[name], p.Child("properties").Key(name))
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		c.defaults(a.Schema, compiled.Additional, p.Child("additionalProperties"))
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.defaults(s.Items.Schema, compiled.Items, p.Child("items"))
	}
}

func (c *schemaChecker) oneDefault(s *props, compiled *Structural, p *validation.Path) {
	value := codec.DeepCopyJSON(compiled.Default)
	pruned := pruner{}
	pruned.value(compiled, value)
	if len(pruned.pruned) > 0 {
		c.add(validation.Invalid(p, compiled.Default, "must not have unknown fields"))
	}
	if value == nil && !s.Nullable {
		c.add(validation.Invalid(p, "null", "must not be null"))
		return
	}
	compiled.defaults(value)
	v := validator{anyItems: true}
	v.value(compiled, p, value, oldValue{})
	v.embeddedIn(compiled, p, value)
	if len(v.errs) == 0 {
		v.defaultRules(compiled, p, value, &c.budget)
	}
	for _, e := range v.errs {
		c.add(e)
	}
}
