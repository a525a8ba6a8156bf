package markers

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
)

type props = apiextensionsv1.JSONSchemaProps

// schemaMarks are the markers that change a schema, by name.
func schemaMarks() map[string]func(*props, mark) error {
	out := map[string]func(*props, mark) error{
		"nullable":                               func(s *props, m mark) error { return m.set(&s.Nullable) },
		"listType":                               func(s *props, m mark) error { return m.word(&s.XListType, "atomic", "set", "map") },
		"listMapKey":                             addMapKey,
		"mapType":                                func(s *props, m mark) error { return m.word(&s.XMapType, "atomic", "granular") },
		"structType":                             func(s *props, m mark) error { return m.word(&s.XMapType, "atomic", "granular") },
		"default":                                setDefault,
		prefix + "default":                       setDefault,
		prefix + "example":                       func(s *props, m mark) error { return m.json(&s.Example) },
		prefix + "title":                         func(s *props, m mark) error { return m.string(&s.Title) },
		prefix + "pruning:PreserveUnknownFields": preserve,
	}
	for name, apply := range map[string]func(*props, mark) error{
		"Title":                  func(s *props, m mark) error { return m.string(&s.Title) },
		"Maximum":                func(s *props, m mark) error { return m.float(&s.Maximum) },
		"Minimum":                func(s *props, m mark) error { return m.float(&s.Minimum) },
		"MultipleOf":             func(s *props, m mark) error { return m.float(&s.MultipleOf) },
		"ExclusiveMaximum":       func(s *props, m mark) error { return m.set(&s.ExclusiveMaximum) },
		"ExclusiveMinimum":       func(s *props, m mark) error { return m.set(&s.ExclusiveMinimum) },
		"MaxLength":              func(s *props, m mark) error { return m.integer(&s.MaxLength) },
		"MinLength":              func(s *props, m mark) error { return m.integer(&s.MinLength) },
		"MaxItems":               func(s *props, m mark) error { return m.integer(&s.MaxItems) },
		"MinItems":               func(s *props, m mark) error { return m.integer(&s.MinItems) },
		"UniqueItems":            func(s *props, m mark) error { return m.set(&s.UniqueItems) },
		"MaxProperties":          func(s *props, m mark) error { return m.integer(&s.MaxProperties) },
		"MinProperties":          func(s *props, m mark) error { return m.integer(&s.MinProperties) },
		"Pattern":                func(s *props, m mark) error { return m.string(&s.Pattern) },
		"Format":                 func(s *props, m mark) error { return m.string(&s.Format) },
		"Enum":                   setEnum,
		"Type":                   setType,
		"EmbeddedResource":       func(s *props, m mark) error { return m.set(&s.XEmbeddedResource) },
		"XEmbeddedResource":      func(s *props, m mark) error { return m.set(&s.XEmbeddedResource) },
		"XIntOrString":           setIntOrString,
		"XPreserveUnknownFields": preserve,
		"XValidation":            addRule,
		"Schemaless":             func(s *props, _ mark) error { *s = props{Description: s.Description}; return nil },
		"ExactlyOneOf":           func(s *props, m mark) error { return addCount(s, m, "exactly one", "must", "== 1") },
		"AtMostOneOf":            func(s *props, m mark) error { return addCount(s, m, "at most one", "may", "<= 1") },
		"AtLeastOneOf":           func(s *props, m mark) error { return addCount(s, m, "at least one", "must", ">= 1") },
	} {
		out[prefix+"validation:"+name] = apply
	}
	return out
}

// set sets a boolean.
func (m mark) set(to *bool) (err error) {
	*to, err = m.flag("")
	return err
}

// word sets one of the words.
func (m mark) word(to **string, words ...string) error {
	if !slices.Contains(words, m.value) {
		return m.errorf("%q is not one of %s", m.value, strings.Join(words, ", "))
	}
	*to = &m.value
	return nil
}

func (m mark) string(to *string) error {
	v, err := unquote(m.value)
	if err != nil || v == "" {
		return m.errorf("%q is not a string", m.value)
	}
	*to = v
	return nil
}

func (m mark) float(to **float64) error {
	v, err := strconv.ParseFloat(m.value, 64)
	if err != nil {
		return m.errorf("%q is not a number", m.value)
	}
	*to = &v
	return nil
}

func (m mark) integer(to **int64) error {
	v, err := strconv.ParseInt(m.value, 10, 64)
	if err != nil || v < 0 {
		return m.errorf("%q is not a number that is at least 0", m.value)
	}
	*to = &v
	return nil
}

func (m mark) json(to **apiextensionsv1.JSON) error {
	v, err := jsonOf(m.value)
	if err != nil {
		return m.errorf("%w", err)
	}
	*to = &v
	return nil
}

func addMapKey(s *props, m mark) error {
	var key string
	if err := m.string(&key); err != nil {
		return err
	}
	s.XListMapKeys = append(s.XListMapKeys, key)
	return nil
}

func setDefault(s *props, m mark) error { return m.json(&s.Default) }

func preserve(s *props, m mark) error {
	on, err := m.flag("")
	if on {
		s.XPreserveUnknownFields = &on
	}
	return err
}

func setEnum(s *props, m mark) error {
	text, sep := m.value, byte(';')
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		text, sep = text[1:len(text)-1], ','
	}
	s.Enum = nil
	for _, part := range split(text, sep) {
		v, err := jsonOf(part)
		if err != nil {
			return m.errorf("%w", err)
		}
		s.Enum = append(s.Enum, v)
	}
	return nil
}

// setType replaces what follows from the Go type, whose JSON has another form.
func setType(s *props, m mark) error {
	var name string
	if err := m.string(&name); err != nil || name == s.Type {
		return err
	}
	s.Type, s.Format, s.Properties, s.Required, s.Items, s.AdditionalProperties = name, "", nil, nil, nil, nil
	return nil
}

func setIntOrString(s *props, _ mark) error {
	s.Type, s.Format, s.XIntOrString = "", "", true
	return nil
}

func addRule(s *props, m mark) error {
	var r apiextensionsv1.ValidationRule
	reason := ""
	for name, to := range map[string]*string{
		"rule": &r.Rule, "message": &r.Message, "messageExpression": &r.MessageExpression, "reason": &reason, "fieldPath": &r.FieldPath,
	} {
		var err error
		if *to, err = m.text(name); err != nil {
			return err
		}
	}
	if r.Rule == "" {
		return m.errorf("the rule is missing")
	}
	if reason != "" {
		r.Reason = new(apiextensionsv1.FieldValueErrorReason(reason))
	}
	if _, ok := m.args["optionalOldSelf"]; ok {
		on, err := m.flag("optionalOldSelf")
		if err != nil {
			return err
		}
		r.OptionalOldSelf = &on
	}
	s.XValidations = append(slices.Clip(s.XValidations), r)
	return nil
}

// addCount adds the rule that so many of the named fields are set.
func addCount(s *props, m mark, words, verb, condition string) error {
	fields, err := listOf(m.value)
	if err != nil || len(fields) == 0 {
		return m.errorf("%q is not a list of fields", m.value)
	}
	has := make([]string, len(fields))
	for i, f := range fields {
		has[i] = "has(self." + f + ")"
	}
	s.XValidations = append(slices.Clip(s.XValidations), apiextensionsv1.ValidationRule{
		Rule:    "[" + strings.Join(has, ",") + "].filter(x,x==true).size() " + condition,
		Message: words + " of the fields in [" + strings.Join(fields, " ") + "] " + verb + " be set",
	})
	return nil
}

// MarkType implements [openapi.Marks].
func (s *Source) MarkType(t reflect.Type, schema *apiextensionsv1.JSONSchemaProps) error {
	c := s.typeOf(t)
	if c == nil {
		return nil
	}
	if c.text != "" {
		schema.Description = c.text
	}
	return c.apply(schema)
}

// Opaque implements [openapi.Marks].
func (s *Source) Opaque(t reflect.Type, f reflect.StructField) bool {
	c := s.typeOf(t)
	return c != nil && len(c.fields[f.Name].find(prefix+"validation:Schemaless")) > 0
}

// MarkField implements [openapi.Marks]. A field of a type in the source is required unless its json tag has
// omitempty or omitzero, or a marker says otherwise.
func (s *Source) MarkField(t reflect.Type, f reflect.StructField, schema *apiextensionsv1.JSONSchemaProps, required bool) (bool, error) {
	c := s.typeOf(t)
	if c == nil {
		return required, nil
	}
	field := c.fields[f.Name]
	if field.text != "" {
		schema.Description = field.text
	}
	if err := field.apply(schema); err != nil {
		return false, err
	}
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	required = !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") && !c.in.optional
	for _, m := range field.marks {
		switch m.name {
		case prefix + "validation:Optional", "optional", "k8s:optional":
			return false, nil
		case prefix + "validation:Required", "required", "k8s:required":
			required = true
		}
	}
	return required, nil
}

// first are the markers that replace what the others refine, in the order in which they are applied.
var first = []string{prefix + "validation:Schemaless", prefix + "validation:Type", prefix + "validation:XIntOrString"}

// apply applies the markers of a comment to a schema.
func (c comment) apply(s *props) error {
	marks := slices.Clone(c.marks)
	slices.SortStableFunc(marks, func(a, b mark) int { return a.order() - b.order() })
	for _, m := range marks {
		if m.def.schema == nil {
			continue
		}
		if err := m.def.schema(s, m); err != nil {
			return err
		}
	}
	return nil
}

func (m mark) order() int {
	if i := slices.Index(first, m.name); i >= 0 {
		return i
	}
	return len(first)
}
