package openapi

import (
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// FromProps returns the schema of a custom resource for documents.
func FromProps(p *apiextensionsv1.JSONSchemaProps) *Schema {
	s := &Schema{
		Description: p.Description, Title: p.Title, Type: p.Type, Format: p.Format, Required: p.Required, Nullable: p.Nullable,
		Default: jsonOf(p.Default), structural: true,
	}
	for i := range p.Enum {
		s.Enum = append(s.Enum, jsonOf(&p.Enum[i]))
	}
	var child props // here, not in the loop, so that it stays on the stack
	if len(p.Properties) > 0 {
		s.Properties = make(map[string]*Schema, len(p.Properties))
		for name := range p.Properties {
			child = p.Properties[name]
			s.Properties[name] = FromProps(&child)
		}
	}
	if a := p.AdditionalProperties; a != nil {
		if a.Schema != nil {
			s.AdditionalProperties = FromProps(a.Schema)
		} else {
			s.AdditionalAllowed = a.Allows
		}
	}
	if p.Items != nil && p.Items.Schema != nil {
		s.Items = FromProps(p.Items.Schema)
	}
	s.AllOf, s.AnyOf, s.OneOf = fromAll(p.AllOf), fromAll(p.AnyOf), fromAll(p.OneOf)
	if p.Not != nil {
		s.Not = FromProps(p.Not)
	}
	s.limits(p)
	s.extensions(p)
	if p.XIntOrString {
		s.sayIntOrString()
	}
	if p.XEmbeddedResource {
		s.embed()
	}
	return s
}

// sayIntOrString adds, for readers that do not support the extension, that the value is an integer or a
// string.
func (s *Schema) sayIntOrString() {
	either := []*Schema{{Type: "integer"}, {Type: "string"}}
	says := func(list []*Schema) bool {
		return len(list) == 2 && list[0].Type == "integer" && list[1].Type == "string"
	}
	switch {
	case says(s.AnyOf), len(s.AllOf) > 0 && says(s.AllOf[0].AnyOf):
	case len(s.AnyOf) == 0:
		s.AnyOf = either
	default:
		s.AllOf = append([]*Schema{{AnyOf: either}}, s.AllOf...)
	}
}

// embed adds the properties that every object has.
func (s *Schema) embed() {
	if s.Properties == nil {
		s.Properties = map[string]*Schema{}
	}
	s.Properties["apiVersion"] = &Schema{Type: "string", Description: apiVersionText, structural: true}
	s.Properties["kind"] = &Schema{Type: "string", Description: kindText, structural: true}
	s.Properties["metadata"] = &Schema{Ref: typefacts.Name(reflect.TypeFor[metav1.ObjectMeta]()), Description: metadataText}
	for _, name := range []string{"kind", "apiVersion"} {
		if !slices.Contains(s.Required, name) {
			s.Required = append(slices.Clip(s.Required), name)
		}
	}
}

func fromAll(list []apiextensionsv1.JSONSchemaProps) []*Schema {
	var out []*Schema
	for i := range list {
		out = append(out, FromProps(&list[i]))
	}
	return out
}

func jsonOf(j *apiextensionsv1.JSON) any {
	if j == nil || len(j.Raw) == 0 {
		return nil
	}
	var v any
	if codec.Unmarshal(j.Raw, &v) != nil {
		return nil
	}
	return v
}

func (s *Schema) limits(p *apiextensionsv1.JSONSchemaProps) {
	limitTo(s, "minimum", p.Minimum)
	limitTo(s, "maximum", p.Maximum)
	limitTo(s, "multipleOf", p.MultipleOf)
	limitTo(s, "minLength", p.MinLength)
	limitTo(s, "maxLength", p.MaxLength)
	limitTo(s, "minItems", p.MinItems)
	limitTo(s, "maxItems", p.MaxItems)
	limitTo(s, "minProperties", p.MinProperties)
	limitTo(s, "maxProperties", p.MaxProperties)
	for _, flag := range [...]struct {
		name string
		set  bool
	}{{"exclusiveMinimum", p.ExclusiveMinimum}, {"exclusiveMaximum", p.ExclusiveMaximum}, {"uniqueItems", p.UniqueItems}} {
		if flag.set {
			s.limit(flag.name, true)
		}
	}
	if p.Pattern != "" {
		s.limit("pattern", p.Pattern)
	}
	if d := p.ExternalDocs; d != nil {
		s.limit("externalDocs", map[string]any{"description": d.Description, "url": d.URL})
	}
	if example := jsonOf(p.Example); example != nil {
		s.limit("example", example)
	}
}

// limitTo sets a keyword to *value, unless value is nil.
func limitTo[T float64 | int64](s *Schema, name string, value *T) {
	if value != nil {
		s.limit(name, *value)
	}
}

func (s *Schema) limit(name string, value any) {
	if s.Limits == nil {
		s.Limits = map[string]any{}
	}
	s.Limits[name] = value
}

func (s *Schema) extensions(p *apiextensionsv1.JSONSchemaProps) {
	if p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields {
		s.extend("x-kubernetes-preserve-unknown-fields", true)
	}
	if p.XEmbeddedResource {
		s.extend("x-kubernetes-embedded-resource", true)
	}
	if p.XIntOrString {
		s.extend("x-kubernetes-int-or-string", true)
	}
	if len(p.XListMapKeys) > 0 {
		s.extend("x-kubernetes-list-map-keys", p.XListMapKeys)
	}
	if p.XListType != nil {
		s.extend("x-kubernetes-list-type", *p.XListType)
	}
	if p.XMapType != nil {
		s.extend("x-kubernetes-map-type", *p.XMapType)
	}
	if len(p.XValidations) > 0 {
		list := make([]any, len(p.XValidations))
		for i := range p.XValidations {
			r := &p.XValidations[i]
			rule := map[string]any{"rule": r.Rule}
			for name, text := range map[string]string{"message": r.Message, "messageExpression": r.MessageExpression, "fieldPath": r.FieldPath} {
				if text != "" {
					rule[name] = text
				}
			}
			if r.Reason != nil {
				rule["reason"] = string(*r.Reason)
			}
			if r.OptionalOldSelf != nil {
				rule["optionalOldSelf"] = *r.OptionalOldSelf
			}
			list[i] = rule
		}
		s.extend("x-kubernetes-validations", list)
	}
}
