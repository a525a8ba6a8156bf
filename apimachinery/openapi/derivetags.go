package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
)

// tagOptions holds the options of a tag such as openapi:"minLength=1,nullable" by name. Bare words have no
// value.
type tagOptions map[string]string

// The names of options: words, and those that have a value. The options of items are fewer.
var (
	wordOptions  = []string{"required", "optional", "nullable", "preserve", "embedded", "intOrString", "schemaless", "exclusiveMinimum", "exclusiveMaximum"}
	itemWords    = []string{"nullable", "preserve", "embedded", "intOrString", "exclusiveMinimum", "exclusiveMaximum"}
	valueOptions = []string{
		"enum", "format", "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
	}
)

// optionsOf parses the tag named key, openapi or items. Options that would have no effect are an error.
func optionsOf(tag reflect.StructTag, key string) (tagOptions, error) {
	out, words := tagOptions{}, wordOptions
	if key == "items" {
		words = itemWords
	}
	for option := range strings.SplitSeq(tag.Get(key), ",") {
		name, value, given := strings.Cut(option, "=")
		switch {
		case name == "":
		case slices.Contains(words, name) && !given, slices.Contains(valueOptions, name) && value != "":
			out[name] = value
		case slices.Contains(valueOptions, name):
			return nil, fmt.Errorf("the tag %s gives %q no value", key, name)
		default:
			return nil, fmt.Errorf("the tag %s has no option %q", key, name)
		}
	}
	return out, nil
}

func (o tagOptions) has(name string) bool {
	_, ok := o[name]
	return ok
}

// tagged applies the tags of a field; options are those parsed already.
func tagged(s *props, tag reflect.StructTag, options tagOptions) error {
	if v := tag.Get("listType"); v != "" {
		s.XListType = &v
	}
	if v := tag.Get("listMapKey"); v != "" {
		s.XListMapKeys = strings.Split(v, ",")
	}
	if v := tag.Get("mapType"); v != "" {
		s.XMapType = &v
	}
	s.Title = tag.Get("title") + s.Title
	if err := options.apply(s, tag.Get("pattern")); err != nil {
		return err
	}
	if rule := tag.Get("rule"); rule != "" {
		s.XValidations = append(slices.Clip(s.XValidations), ruleOf(rule, tag))
	}
	if text, ok := tag.Lookup("default"); ok {
		v := literal(s, text)
		s.Default = &v
	}
	if text, ok := tag.Lookup("example"); ok {
		v := literal(s, text)
		s.Example = &v
	}
	return taggedItems(s, tag)
}

// taggedItems applies the tags for the items of a list or the values of a map.
func taggedItems(s *props, tag reflect.StructTag) error {
	options, err := optionsOf(tag, "items")
	if err != nil {
		return err
	}
	pattern := tag.Get("itemPattern")
	if len(options) == 0 && pattern == "" {
		return nil
	}
	switch {
	case s.Items != nil:
		return options.apply(s.Items.Schema, pattern)
	case s.AdditionalProperties != nil:
		return options.apply(s.AdditionalProperties.Schema, pattern)
	}
	return fmt.Errorf("the tag items is for lists and maps")
}

// apply adds the options to a schema.
func (o tagOptions) apply(s *props, pattern string) error {
	if o.has("intOrString") {
		*s = props{XIntOrString: true, AnyOf: []props{{Type: "integer"}, {Type: "string"}}, Description: s.Description, XValidations: s.XValidations}
	}
	if pattern != "" {
		s.Pattern = pattern
	}
	if format, ok := o["format"]; ok {
		s.Format = format
	}
	s.Nullable = s.Nullable || o.has("nullable")
	if o.has("preserve") {
		s.XPreserveUnknownFields = new(true)
	}
	s.XEmbeddedResource = s.XEmbeddedResource || o.has("embedded")
	s.ExclusiveMinimum = s.ExclusiveMinimum || o.has("exclusiveMinimum")
	s.ExclusiveMaximum = s.ExclusiveMaximum || o.has("exclusiveMaximum")
	if enum, ok := o["enum"]; ok {
		target := s
		if s.Type == "array" {
			target = s.Items.Schema
		}
		target.Enum = nil
		for v := range strings.SplitSeq(enum, "|") {
			target.Enum = append(target.Enum, literal(target, v))
		}
	}
	return o.limits(s)
}

func (o tagOptions) limits(s *props) error {
	for name, to := range map[string]**float64{"minimum": &s.Minimum, "maximum": &s.Maximum, "multipleOf": &s.MultipleOf} {
		if text, ok := o[name]; ok {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			*to = &v
		}
	}
	for name, to := range map[string]**int64{
		"minLength": &s.MinLength, "maxLength": &s.MaxLength, "minItems": &s.MinItems, "maxItems": &s.MaxItems,
		"minProperties": &s.MinProperties, "maxProperties": &s.MaxProperties,
	} {
		if text, ok := o[name]; ok {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			*to = &v
		}
	}
	return nil
}

// ruleOf returns the rule of a field's tags.
func ruleOf(rule string, tag reflect.StructTag) apiextensionsv1.ValidationRule {
	r := apiextensionsv1.ValidationRule{
		Rule: rule, Message: tag.Get("message"), MessageExpression: tag.Get("messageExpression"), FieldPath: tag.Get("fieldPath"),
	}
	if reason := apiextensionsv1.FieldValueErrorReason(tag.Get("reason")); reason != "" {
		r.Reason = &reason
	}
	if tag.Get("optionalOldSelf") == "true" {
		r.OptionalOldSelf = new(true)
	}
	return r
}

// literal returns a tag's text as JSON: a string for strings, else as written.
func literal(s *props, text string) apiextensionsv1.JSON {
	if s.Type == "string" || !json.Valid([]byte(text)) {
		b, _ := json.Marshal(text) // a string always has a JSON form
		return apiextensionsv1.JSON{Raw: b}
	}
	return apiextensionsv1.JSON{Raw: []byte(text)}
}
