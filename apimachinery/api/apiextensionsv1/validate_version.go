package apiextensionsv1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// validateVersions checks what each version has.
func validateVersions(c *CustomResourceDefinition, p *path) validation.ErrorList {
	var r check.Report
	type version = CustomResourceDefinitionVersion
	eachVersion(c, p, func(v *version) any { return v.Schema }, func(v *version, q *path, top bool) {
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			r.Add(ValidateSchema(v.Schema.OpenAPIV3Schema, schemaPath(q, top)))
		}
	})
	eachVersion(c, p, func(v *version) any { return v.Subresources }, func(v *version, q *path, _ bool) {
		r.Add(validateSubresources(v.Subresources, q.Child("subresources")))
	})
	eachVersion(c, p, func(v *version) any { return v.AdditionalPrinterColumns }, func(v *version, q *path, _ bool) {
		for i := range v.AdditionalPrinterColumns {
			r.Add(validateColumn(&v.AdditionalPrinterColumns[i], q.Child("additionalPrinterColumns").Index(i)))
		}
	})
	eachVersion(c, p, func(v *version) any { return v.SelectableFields }, func(v *version, q *path, _ bool) {
		r.Add(validateSelectable(v, q.Child("selectableFields")))
	})
	return r.List()
}

// eachVersion visits every version, or if all agree in part only the first, as top and with the path of
// the spec itself: what is the same in all versions is reported where definitions had it before they had versions.
func eachVersion(c *CustomResourceDefinition, p *path, part func(*CustomResourceDefinitionVersion) any, visit func(v *CustomResourceDefinitionVersion, q *path, top bool)) {
	versions := c.Spec.Versions
	for i := range versions {
		if !check.Same(part(&versions[i]), part(&versions[0])) {
			for j := range versions {
				visit(&versions[j], p.Child("versions").Index(j), false)
			}
			return
		}
	}
	if len(versions) > 0 {
		visit(&versions[0], p, true)
	}
}

func schemaPath(p *path, top bool) *path {
	if top {
		return p.Child("validation", "openAPIV3Schema")
	}
	return p.Child("schema", "openAPIV3Schema")
}

func validateSubresources(s *CustomResourceSubresources, p *path) validation.ErrorList {
	var r check.Report
	if s == nil || s.Scale == nil {
		return nil
	}
	q := p.Child("scale")
	one := func(field, v string, prefixes ...string) {
		f := q.Child(field)
		if v == "" {
			r.Required(f, "")
		} else if !simplePath(v) {
			r.Invalid(f, v, "must be a json path without the array notation")
		} else {
			fits := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(v, prefix) })
			r.If(!fits, f, v, "should be a json path under "+strings.Join(prefixes, " or "))
		}
	}
	one("specReplicasPath", s.Scale.SpecReplicasPath, ".spec.")
	one("statusReplicasPath", s.Scale.StatusReplicasPath, ".status.")
	if l := s.Scale.LabelSelectorPath; l != nil && *l != "" {
		one("labelSelectorPath", *l, ".spec.", ".status.")
	}
	return r.List()
}

// simplePath reports whether text names one field through others: .a.b or .a['b/c'].
func simplePath(text string) bool {
	if !strings.HasPrefix(text, ".") {
		return false
	}
	_, ok := pathSteps(text)
	return ok
}

// pathSteps splits .a.b['c/d'] into a, b and c/d.
func pathSteps(text string) ([]string, bool) {
	var steps []string
	for text != "" {
		switch {
		case strings.HasPrefix(text, "['"):
			name, rest, ok := strings.Cut(text[2:], "']")
			if !ok || name == "" {
				return nil, false
			}
			steps, text = append(steps, name), rest
		case text[0] == '.':
			text = text[1:]
			n := strings.IndexAny(text, ".[")
			if n < 0 {
				n = len(text)
			}
			name := text[:n]
			if name == "" || strings.ContainsAny(name, "]'\"*?()@$, {}") {
				return nil, false
			}
			steps, text = append(steps, name), text[n:]
		default:
			return nil, false
		}
	}
	return steps, len(steps) > 0
}

func validateColumn(c *CustomResourceColumnDefinition, p *path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("name"), c.Name)
	types := []string{"integer", "number", "string", "boolean", "date"}
	if c.Type == "" {
		r.Required(p.Child("type"), "must be one of "+strings.Join(types, ", "))
	} else {
		r.If(!slices.Contains(types, c.Type), p.Child("type"), c.Type, "must be one of "+strings.Join(types, ", "))
	}
	formats := []string{"int32", "int64", "float", "double", "byte", "date", "date-time", "password"}
	r.If(c.Format != "" && !slices.Contains(formats, c.Format), p.Child("format"), c.Format, "must be one of "+strings.Join(formats, ", "))
	if c.JSONPath == "" {
		r.Required(p.Child("JSONPath"), "")
	} else {
		r.If(!balanced(c.JSONPath), p.Child("JSONPath"), c.JSONPath, "is an invalid jsonpath")
	}
	return r.List()
}

// balanced reports whether a JSON path begins like one and closes its brackets.
func balanced(text string) bool {
	if text[0] != '.' && text[0] != '[' && text[0] != '{' && text[0] != '$' {
		return false
	}
	var open []rune
	quote := rune(0)
	for _, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '[' || c == '(' || c == '{':
			open = append(open, c)
		case c == ']' || c == ')' || c == '}':
			want := map[rune]rune{']': '[', ')': '(', '}': '{'}[c]
			if len(open) == 0 || open[len(open)-1] != want {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0 && quote == 0
}

// validateSelectable checks that selectable fields are single values of the schema outside metadata.
func validateSelectable(v *CustomResourceDefinitionVersion, p *path) validation.ErrorList {
	const limit = 8
	var r check.Report
	if n := len(v.SelectableFields); n > limit {
		r.TooMany(p, n, limit)
	}
	seen := map[string]bool{}
	for i, f := range v.SelectableFields {
		q := p.Index(i).Child("jsonPath")
		if f.JSONPath == "" {
			r.Required(q, "")
			continue
		}
		steps, ok := pathSteps(f.JSONPath)
		switch {
		case !ok:
			r.Invalid(q, f.JSONPath, "is an invalid path: must be a simple JSON path")
			continue
		case steps[0] == "metadata" || steps[0] == "apiVersion" || steps[0] == "kind":
			r.Invalid(q, f.JSONPath, "must not point to fields in metadata")
		}
		var schema *JSONSchemaProps
		if v.Schema != nil {
			schema = v.Schema.OpenAPIV3Schema
		}
		for _, step := range steps {
			if schema == nil {
				break
			}
			next, found := schema.Properties[step]
			if schema = nil; found {
				schema = &next
			}
		}
		switch {
		case schema == nil:
			r.Invalid(q, f.JSONPath, "does not exist")
		case schema.Type != "string" && schema.Type != "boolean" && schema.Type != "integer":
			r.Invalid(q, f.JSONPath, "must point to a field of type string, boolean or integer")
		}
		if !check.Unique(seen, strings.Join(steps, "\x00")) {
			r.Duplicate(q, f.JSONPath)
		}
	}
	return r.List()
}
