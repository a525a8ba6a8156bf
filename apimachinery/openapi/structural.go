package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Structural is a compiled structural schema: it describes every field of a custom object, prunes unknown
// fields, sets defaults and validates. It is immutable and safe for concurrent use.
type Structural struct {
	// Type is object, array, string, integer, number, boolean, or empty for any.
	Type string
	// Format refines Type.
	Format string
	// Nullable allows null.
	Nullable bool
	// IntOrString allows an integer or a string.
	IntOrString bool
	// Embedded marks a whole object with apiVersion, kind and metadata.
	Embedded bool
	// Preserve keeps members that are not described.
	Preserve bool
	// Properties are the described members.
	Properties map[string]*Structural
	// Additional describes all other members; nil means that they are not described.
	Additional *Structural
	// Items describes the items of an array.
	Items *Structural
	// ListType is atomic, set, map, or empty for atomic. ListKeys identify the items of a map list.
	ListType string
	ListKeys []string
	// AtomicMap is true for an object that has one owner as a whole.
	AtomicMap bool
	// Default is used for a missing value if HasDefault is set.
	Default    any
	HasDefault bool

	names   []string // of Properties, sorted
	limits  limits
	rules   []*celRule
	celAt   bool         // rules here or below
	metrics *RuleMetrics // of all rules of the schema; nil without any here or below
	// embeddedAt is set if there are embedded objects here or below.
	embeddedAt bool
	// restrictsIdentity is set if the schema restricts the members that every object has beyond their types.
	restrictsIdentity bool
	validations       []apiextensionsv1.ValidationRule
}

// limits are the keywords that restrict values.
type limits struct {
	required                     []string
	enum                         []any
	minimum, maximum, multipleOf *float64
	exclusiveMin, exclusiveMax   bool
	minLength, maxLength         *int64
	pattern                      *regexp.Regexp
	minItems, maxItems           *int64
	minProperties, maxProperties *int64
	allOf, anyOf, oneOf          []*Structural
	not                          *Structural
}

// CompileSchema returns the Structural of a custom resource's schema. It fails for malformed patterns,
// defaults, enums and rules; [CheckSchema] checks that the schema is structural.
func CompileSchema(p *apiextensionsv1.JSONSchemaProps) (*Structural, error) {
	s, err := compile(p)
	if err != nil {
		return nil, err
	}
	s.attachRules(true)
	return s, nil
}

// compile returns a Structural without its rules. It does not retain p, so that callers can pass a copy of a
// map's value that stays on the stack.
func compile(p *apiextensionsv1.JSONSchemaProps) (*Structural, error) {
	s := &Structural{
		Type: p.Type, Format: p.Format, Nullable: p.Nullable, IntOrString: p.XIntOrString, Embedded: p.XEmbeddedResource,
		Preserve: p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields, ListKeys: p.XListMapKeys, validations: p.XValidations,
	}
	if p.XListType != nil {
		s.ListType = *p.XListType
	}
	s.AtomicMap = p.XMapType != nil && *p.XMapType == "atomic"
	if p.Default != nil && len(p.Default.Raw) > 0 {
		if err := codec.Unmarshal(p.Default.Raw, &s.Default); err != nil {
			return nil, fmt.Errorf("default: %w", err)
		}
		s.HasDefault = true
	}
	if err := s.compileLimits(p); err != nil {
		return nil, err
	}
	err := s.compileChildren(p)
	s.embeddedAt = s.Embedded || s.Additional != nil && s.Additional.embeddedAt || s.Items != nil && s.Items.embeddedAt
	for _, c := range s.Properties {
		s.embeddedAt = s.embeddedAt || c != nil && c.embeddedAt
	}
	return s, err
}

// jsonValue parses a value of a schema; an empty text is null.
func jsonValue(j apiextensionsv1.JSON) (v any, err error) {
	if len(j.Raw) > 0 {
		err = codec.Unmarshal(j.Raw, &v)
	}
	return v, err
}

func (s *Structural) compileLimits(p *apiextensionsv1.JSONSchemaProps) (err error) {
	l := &s.limits
	l.required = p.Required
	l.minimum, l.maximum, l.multipleOf = p.Minimum, p.Maximum, p.MultipleOf
	l.exclusiveMin, l.exclusiveMax = p.ExclusiveMinimum, p.ExclusiveMaximum
	l.minLength, l.maxLength, l.minItems, l.maxItems = p.MinLength, p.MaxLength, p.MinItems, p.MaxItems
	l.minProperties, l.maxProperties = p.MinProperties, p.MaxProperties
	if p.Pattern != "" {
		if l.pattern, err = regexp.Compile(p.Pattern); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
	}
	for _, e := range p.Enum {
		v, err := jsonValue(e)
		if err != nil {
			return fmt.Errorf("enum: %w", err)
		}
		l.enum = append(l.enum, v)
	}
	for _, set := range []struct {
		from []apiextensionsv1.JSONSchemaProps
		to   *[]*Structural
	}{{p.AllOf, &l.allOf}, {p.AnyOf, &l.anyOf}, {p.OneOf, &l.oneOf}} {
		for i := range set.from {
			c, err := compile(&set.from[i])
			if err != nil {
				return err
			}
			*set.to = append(*set.to, c)
		}
	}
	if p.Not != nil {
		l.not, err = compile(p.Not)
	}
	return err
}

func (s *Structural) compileChildren(p *apiextensionsv1.JSONSchemaProps) (err error) {
	var child props // here, not in the loop, so that it stays on the stack: a schema has hundreds
	if len(p.Properties) > 0 {
		s.Properties = make(map[string]*Structural, len(p.Properties))
		for name := range p.Properties {
			child = p.Properties[name]
			if s.Properties[name], err = compile(&child); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		s.names = sortedNames(p.Properties)
		s.restrictsIdentity = slices.ContainsFunc(identityNames, func(name string) bool {
			member, ok := p.Properties[name]
			return ok && !bare(member, map[string]string{"metadata": "object"}[name])
		})
	}
	if a := p.AdditionalProperties; a != nil {
		switch {
		case a.Schema != nil:
			if s.Additional, err = compile(a.Schema); err != nil {
				return err
			}
		case a.Allows:
			s.Additional = &Structural{Preserve: true}
		}
	}
	if p.Items != nil && p.Items.Schema != nil {
		s.Items, err = compile(p.Items.Schema)
	}
	return err
}

// bare reports whether a schema gives only a type: typ, or string if typ is empty.
func bare(p apiextensionsv1.JSONSchemaProps, typ string) bool {
	if p.Type != cmp.Or(typ, "string") {
		return false
	}
	p.Type, p.Description, p.Title = "", "", ""
	return codec.Equal(&p, &apiextensionsv1.JSONSchemaProps{})
}

// child returns the schema of a member, or nil if members of that name are not described.
func (s *Structural) child(name string) *Structural {
	if c, ok := s.Properties[name]; ok {
		return c
	}
	return s.Additional
}

// sortedNames returns the keys of m in order.
func sortedNames[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	names := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(names)
	return names
}

// isMeta reports whether every object has a member of the name.
func isMeta(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }
