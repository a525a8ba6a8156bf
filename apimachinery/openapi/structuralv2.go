package openapi

import "slices"

// structuralV2 reduces m, which is all of s, to what the v2 dialect can express of a custom resource, so that
// clients do not reject valid objects. Combinations are left out, nullable values are not described, and
// neither are the members of objects that keep unknown ones.
func (s *Schema) structuralV2(m map[string]any) map[string]any {
	preserve := s.Extensions["x-kubernetes-preserve-unknown-fields"] == true
	if s.root && preserve { // clients would assume that a described member is the only one
		out := map[string]any{"type": "object"}
		for name, x := range s.Extensions {
			if name != "x-kubernetes-preserve-unknown-fields" {
				out[name] = x
			}
		}
		return out
	}
	for _, key := range []string{"allOf", "oneOf", "anyOf", "not"} {
		delete(m, key)
	}
	if s.Nullable {
		for _, key := range []string{"nullable", "type", "items", "properties"} {
			delete(m, key)
		}
	}
	required := s.Required
	if preserve {
		delete(m, "properties")
		delete(m, "items")
		if m["type"] == "object" {
			delete(m, "type")
		}
		if s.Extensions["x-kubernetes-embedded-resource"] == true {
			required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return name == "kind" || name == "apiVersion" })
		}
	}
	if m["items"] == nil && m["type"] == "array" {
		delete(m, "type") // clients cannot cope with a list of nothing
	}
	required = slices.DeleteFunc(slices.Clone(required), func(name string) bool {
		p := s.Properties[name]
		return p != nil && p.Nullable && m["properties"] != nil
	})
	if s.AdditionalProperties != nil && s.AdditionalProperties.Nullable {
		required = nil
	}
	if m["required"] = required; len(required) == 0 {
		delete(m, "required")
	}
	return m
}
