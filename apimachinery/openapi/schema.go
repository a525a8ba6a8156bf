package openapi

import (
	"maps"
	"slices"
	"strings"
)

// Schema describes a JSON value, in the vocabulary of OpenAPI v3.0 with Kubernetes' extensions. The zero
// value allows anything.
type Schema struct {
	// Ref is the name of another schema of the document; besides Default and Description the other fields are
	// then empty.
	Ref string
	// Description is human-readable text.
	Description string
	// Title is a short human-readable name.
	Title string
	// Type is object, array, string, integer, number, boolean or empty for any.
	Type string
	// Format refines Type, such as int32, date-time or byte.
	Format string
	// Default is the JSON value used for a missing one; nil means there is none.
	Default any
	// Enum lists the allowed JSON values; empty allows all.
	Enum []any
	// Required names the properties an object must have.
	Required []string
	// Properties are an object's known members.
	Properties map[string]*Schema
	// AdditionalProperties describes an object's other members; nil means that they are not described.
	AdditionalProperties *Schema
	// AdditionalAllowed is true when other members are allowed without a description.
	AdditionalAllowed bool
	// Items describes an array's items.
	Items *Schema
	// AllOf, OneOf, AnyOf and Not combine schemas.
	AllOf, OneOf, AnyOf []*Schema
	Not                 *Schema
	// Nullable allows null beside Type.
	Nullable bool
	// Limits holds numeric and textual keywords (minimum, maxLength, pattern, ...) by their names.
	Limits map[string]any
	// Extensions holds x- keywords by their names.
	Extensions map[string]any

	// structural is set for schemas of custom resources, which the v2 dialect expresses differently, and root
	// for those of whole objects.
	structural, root bool
}

func (s *Schema) extend(key string, value any) {
	if s.Extensions == nil {
		s.Extensions = map[string]any{}
	}
	s.Extensions[key] = value
}

const (
	refV3 = "#/components/schemas/"
	refV2 = "#/definitions/"
)

// treeV3 returns the schema as JSON values in the v3 dialect, where a reference with siblings has to be
// wrapped in allOf.
func (s *Schema) treeV3() map[string]any {
	m := s.tree((*Schema).treeV3)
	switch {
	case s.Ref == "":
	case len(m) == 0:
		m["$ref"] = refV3 + s.Ref
	default:
		m["allOf"] = []any{map[string]any{"$ref": refV3 + s.Ref}}
	}
	return m
}

// tree writes everything but Ref.
func (s *Schema) tree(child func(*Schema) map[string]any) map[string]any {
	m := make(map[string]any, 4)
	maps.Copy(m, s.Limits)
	maps.Copy(m, s.Extensions)
	set := func(key, value string) {
		if value != "" {
			m[key] = value
		}
	}
	set("description", s.Description)
	set("title", s.Title)
	set("type", s.Type)
	set("format", s.Format)
	if s.Default != nil {
		m["default"] = s.Default
	}
	if s.Nullable {
		m["nullable"] = true
	}
	if len(s.Enum) > 0 {
		m["enum"] = s.Enum
	}
	if len(s.Required) > 0 {
		m["required"] = s.Required
	}
	if len(s.Properties) > 0 {
		properties := make(map[string]any, len(s.Properties))
		for name, p := range s.Properties {
			properties[name] = child(p)
		}
		m["properties"] = properties
	}
	if s.AdditionalProperties != nil {
		m["additionalProperties"] = child(s.AdditionalProperties)
	} else if s.AdditionalAllowed {
		m["additionalProperties"] = true
	}
	if s.Items != nil {
		m["items"] = child(s.Items)
	}
	for key, list := range map[string][]*Schema{"allOf": s.AllOf, "oneOf": s.OneOf, "anyOf": s.AnyOf} {
		if len(list) > 0 {
			all := make([]any, len(list))
			for i, c := range list {
				all[i] = child(c)
			}
			m[key] = all
		}
	}
	if s.Not != nil {
		m["not"] = child(s.Not)
	}
	return m
}

// treeV2 returns the schema in the v2 dialect, which has no oneOf, anyOf, not and nullable, and no useful
// defaults.
func (s *Schema) treeV2() map[string]any {
	if s.Ref != "" {
		m := map[string]any{"$ref": refV2 + s.Ref}
		if s.Description != "" {
			m["description"] = s.Description
		}
		return m
	}
	m := s.tree((*Schema).treeV2)
	if s.structural {
		return s.structuralV2(m)
	}
	delete(m, "default")
	delete(m, "enum")
	delete(m, "oneOf")
	delete(m, "anyOf")
	delete(m, "not")
	if s.Nullable {
		// A v2 schema cannot express "or null", so the value is left undescribed for clients that validate.
		delete(m, "nullable")
		for _, key := range []string{"type", "format", "items", "properties", "additionalProperties", "required"} {
			delete(m, key)
		}
	}
	if s.Extensions["x-kubernetes-preserve-unknown-fields"] == true {
		// Clients that validate assume that there are no other members than the described ones.
		delete(m, "properties")
		delete(m, "items")
		delete(m, "required")
	}
	if m["additionalProperties"] == true {
		delete(m, "additionalProperties")
	}
	if s.Format == "int-or-string" || s.Type == "" && len(s.OneOf) > 0 {
		m["type"] = "string"
	}
	return m
}

// FriendlyName returns the schema name of a kind that has no Go type: the group with its labels reversed,
// version and kind.
func FriendlyName(group, version, kind string) string {
	labels := strings.Split(group, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "." + version + "." + kind
}
