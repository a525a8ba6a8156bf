package apiextensionsv1

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// defaults checks that default values fit the schema they are part of.
func (c *schemaCheck) defaults(s *JSONSchemaProps, p *path) {
	if s.Default != nil {
		if v, err := parseValue(s.Default.Raw); err != nil {
			c.Invalid(p.Child("default"), string(s.Default.Raw), "must be JSON")
		} else {
			c.value(v, s, p.Child("default"))
		}
	}
	for _, name := range check.Keys(s.Properties) {
		sub := s.Properties[name]
		c.defaults(&sub, p.Child("properties").Key(name))
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		c.defaults(a.Schema, p.Child("additionalProperties"))
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.defaults(s.Items.Schema, p.Child("items"))
	}
}

func parseValue(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// value checks one JSON value against a schema, as far as types, bounds and required fields go.
func (c *schemaCheck) value(v any, s *JSONSchemaProps, p *path) {
	if v == nil {
		if !s.Nullable {
			c.wrongType(p, v, s.Type)
		}
		return
	}
	if !typeFits(v, s) {
		c.wrongType(p, v, s.Type)
		return
	}
	if len(s.Enum) > 0 {
		fits := slices.ContainsFunc(s.Enum, func(e JSON) bool {
			x, err := parseValue(e.Raw)
			return err == nil && reflect.DeepEqual(x, v)
		})
		if !fits {
			options := make([]string, len(s.Enum))
			for i, e := range s.Enum {
				options[i] = string(e.Raw)
			}
			c.Add(validation.ErrorList{validation.NotSupported(p, v, options)})
		}
	}
	switch v := v.(type) {
	case string:
		c.text(v, s, p)
	case json.Number:
		c.number(v, s, p)
	case []any:
		c.If(s.MinItems != nil && int64(len(v)) < *s.MinItems, p, v, "has too few items")
		if s.MaxItems != nil && int64(len(v)) > *s.MaxItems {
			c.TooMany(p, len(v), int(*s.MaxItems))
		}
		for i, item := range v {
			if s.Items != nil && s.Items.Schema != nil {
				c.value(item, s.Items.Schema, p.Index(i))
			}
		}
	case map[string]any:
		c.object(v, s, p)
	}
}

func (c *schemaCheck) wrongType(p *path, v any, want string) {
	c.Add(validation.ErrorList{validation.InvalidType(p, v, "must be of type "+want)})
}

func typeFits(v any, s *JSONSchemaProps) bool {
	whole := func(n json.Number) bool {
		f, err := n.Float64()
		return err == nil && f == math.Trunc(f)
	}
	if s.XIntOrString {
		if n, ok := v.(json.Number); ok {
			return whole(n)
		}
		_, ok := v.(string)
		return ok
	}
	switch v := v.(type) {
	case bool:
		return s.Type == "boolean" || s.Type == ""
	case string:
		return s.Type == "string" || s.Type == ""
	case json.Number:
		return s.Type == "number" || s.Type == "" || s.Type == "integer" && whole(v)
	case []any:
		return s.Type == "array" || s.Type == ""
	case map[string]any:
		return s.Type == "object" || s.Type == ""
	}
	return false
}

func (c *schemaCheck) text(v string, s *JSONSchemaProps, p *path) {
	n := int64(utf8.RuneCountInString(v))
	c.If(s.MinLength != nil && n < *s.MinLength, p, v, "is too short")
	if s.MaxLength != nil && n > *s.MaxLength {
		c.TooLong(p, int(*s.MaxLength))
	}
	if s.Pattern == "" {
		return
	}
	if re, err := regexp.Compile(s.Pattern); err == nil && !re.MatchString(v) {
		c.Invalid(p, v, "should match '"+s.Pattern+"'")
	}
}

func (c *schemaCheck) number(v json.Number, s *JSONSchemaProps, p *path) {
	f, err := v.Float64()
	if err != nil {
		c.Invalid(p, v.String(), "is out of range")
		return
	}
	if m := s.Minimum; m != nil {
		c.If(f < *m || s.ExclusiveMinimum && f == *m, p, v, "is below the minimum")
	}
	if m := s.Maximum; m != nil {
		c.If(f > *m || s.ExclusiveMaximum && f == *m, p, v, "is above the maximum")
	}
	if m := s.MultipleOf; m != nil && *m != 0 {
		q := f / *m
		c.If(q != math.Trunc(q), p, v, "is not a multiple")
	}
}

func (c *schemaCheck) object(v map[string]any, s *JSONSchemaProps, p *path) {
	c.If(s.MinProperties != nil && int64(len(v)) < *s.MinProperties, p, len(v), "has too few properties")
	if s.MaxProperties != nil && int64(len(v)) > *s.MaxProperties {
		c.TooMany(p, len(v), int(*s.MaxProperties))
	}
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			c.Required(p.Child(name), "")
		}
	}
	for _, name := range check.Keys(v) {
		if sub, ok := s.Properties[name]; ok {
			c.value(v[name], &sub, p.Child(name))
		} else if a := s.AdditionalProperties; a != nil && a.Schema != nil {
			c.value(v[name], a.Schema, p.Key(name))
		} else if a == nil && len(s.Properties) > 0 && s.XPreserveUnknownFields == nil {
			c.Invalid(p.Child(name), v[name], "is not a field of the schema")
		}
	}
}
