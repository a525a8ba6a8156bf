package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Ruled is a type with validation rules of its own. A rule that concerns one field can be in its tags instead:
// rule:"self > 0" message:"must be positive".
type Ruled interface {
	ValidationRules() []apiextensionsv1.ValidationRule
}

// DeriveOptions refine a derived definition. The zero value works.
type DeriveOptions struct {
	// Texts describes types and fields; nil leaves descriptions out.
	Texts Texts
	// Scale says where the replicas are; nil leaves the subresource out.
	Scale *apiextensionsv1.CustomResourceSubresourceScale
}

// Derive makes the definition of a custom resource from the Go type of its objects, with one version, which is stored. Everything
// comes from the struct and its tags:
//
//   - json names the field; one without omitempty is required, unless it is a pointer or has a default;
//   - default, listType, listMapKey and mapType as in the built-in types;
//   - openapi:"..." holds, separated by commas, required, optional, nullable, enum=A|B, format=F and the limits minimum, maximum,
//     exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, minItems, maxItems, minProperties and maxProperties; preserve
//     keeps unknown fields, embedded makes the field an object with kind and metadata of its own;
//   - pattern is a regular expression; rule is a validation rule of the field, which message, messageExpression, reason, fieldPath and
//     optionalOldSelf:"true" refine;
//   - column:"Name" makes a printer column of the field, column:"Name,wide" one that shows with -o wide.
//
// A field Status makes the status subresource. A recursive type is an error, because schemas have no references.
func Derive[T metav1.Object](gv schema.GroupVersion, k scheme.Kind, o DeriveOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	s := scheme.New()
	if err := scheme.Add[T](s, gv, k); err != nil {
		return nil, err
	}
	info, err := scheme.InfoFor[T](s)
	if err != nil {
		return nil, err
	}
	d := deriver{texts: o.Texts}
	root, err := d.object(info.Type, "")
	if err != nil {
		return nil, fmt.Errorf("openapi: %v: %w", info.Type, err)
	}
	delete(root.Properties, "apiVersion")
	delete(root.Properties, "kind")
	delete(root.Properties, "metadata")
	if len(d.columns) > 0 {
		d.columns = append(d.columns, apiextensionsv1.CustomResourceColumnDefinition{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"})
	}
	v := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: gv.Version, Served: true, Storage: true, AdditionalPrinterColumns: d.columns,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root},
	}
	if _, ok := root.Properties["status"]; ok || o.Scale != nil {
		v.Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: o.Scale}
		if ok {
			v.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
		}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.SetGroupVersionKind(apiextensionsv1.GroupVersion.WithKind("CustomResourceDefinition"))
	crd.Name = info.GVR.Resource + "." + gv.Group
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: gv.Group, Scope: apiextensionsv1.ClusterScoped, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{v},
		Names: apiextensionsv1.CustomResourceDefinitionNames{
			Plural: info.GVR.Resource, Singular: info.Singular, Kind: info.GVK.Kind, ListKind: info.GVK.Kind + "List",
			ShortNames: info.ShortNames, Categories: info.Categories,
		},
	}
	if info.Namespaced {
		crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	}
	return crd, nil
}

type deriver struct {
	texts   Texts
	within  []reflect.Type // structs on the way, to find cycles
	columns []apiextensionsv1.CustomResourceColumnDefinition
}

func (d *deriver) text(typeName, field string) string {
	if d.texts == nil {
		return ""
	}
	return d.texts(typeName, field)
}

// object is the schema of a struct. path is its JSON path; columns are made while it is simple, and empty behind a list or map.
func (d *deriver) object(t reflect.Type, path string) (*props, error) {
	for _, outer := range d.within {
		if outer == t {
			return nil, errors.New("the type contains itself, which a schema cannot say")
		}
	}
	d.within = append(d.within, t)
	defer func() { d.within = d.within[:len(d.within)-1] }()
	s := &props{Type: "object", Description: d.text(typefacts.Name(t), ""), Properties: map[string]props{}}
	if typefacts.AtomicStruct(typefacts.Name(t)) {
		s.XMapType = new("atomic")
	}
	if r, ok := reflect.New(t).Interface().(Ruled); ok {
		s.XValidations = r.ValidationRules()
	}
	return s, d.fields(s, t, path)
}

func (d *deriver) fields(s *props, t reflect.Type, path string) error {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := parseJSONTag(f)
		if tag.skip {
			continue
		}
		if tag.inline {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if err := d.fields(s, inner, path); err != nil {
				return err
			}
			continue
		}
		if path == "" && len(d.within) == 1 && isMeta(tag.name) {
			continue
		}
		at := path + "." + tag.name
		field, err := d.value(f.Type, at)
		if err != nil {
			return fmt.Errorf("%s: %w", tag.name, err)
		}
		if text := d.text(typefacts.Name(t), tag.name); text != "" {
			field.Description = text
		}
		if err := d.tags(field, f); err != nil {
			return fmt.Errorf("%s: %w", tag.name, err)
		}
		if v, ok := typefacts.Default(typefacts.Name(t), tag.name); ok && field.Default == nil {
			text, _ := json.Marshal(v) // a scalar
			field.Default = &apiextensionsv1.JSON{Raw: text}
		}
		s.Properties[tag.name] = *field
		if needed(f, tag) {
			s.Required = append(s.Required, tag.name)
		}
		d.column(field, f, at)
	}
	return nil
}

func needed(f reflect.StructField, tag jsonTag) bool {
	switch {
	case openapiTag(f, "required") != "":
		return true
	case openapiTag(f, "optional") != "", tag.omitempty, f.Type.Kind() == reflect.Pointer, strings.Contains(f.Tag.Get("json"), "omitzero"):
		return false
	}
	_, hasDefault := f.Tag.Lookup("default")
	return !hasDefault
}

// value is the schema of values of type t.
func (d *deriver) value(t reflect.Type, path string) (*props, error) {
	if t.PkgPath() != "" {
		if s := wellKnown(typefacts.Name(t)); s != nil {
			return s, nil
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.value(t.Elem(), path)
	case reflect.Struct:
		return d.object(t, path)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("a map's keys must be strings, not %v", t.Key())
		}
		elem, err := d.value(t.Elem(), "")
		return &props{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: elem}}, err
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &props{Type: "string", Format: "byte"}, nil
		}
		elem, err := d.value(t.Elem(), "")
		return &props{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: elem}}, err
	case reflect.Interface:
		return &props{XPreserveUnknownFields: new(true)}, nil
	}
	scalar := (&typeSchemas{}).value(t)
	if scalar.Type == "" {
		return nil, fmt.Errorf("%v has no JSON form", t)
	}
	return &props{Type: scalar.Type, Format: scalar.Format}, nil
}

// wellKnown are the types whose wire form is not their Go form.
func wellKnown(name string) *props {
	either := func(pattern string) *props {
		return &props{XIntOrString: true, AnyOf: []props{{Type: "integer"}, {Type: "string"}}, Pattern: pattern}
	}
	switch name {
	case metaName + "Time", metaName + "MicroTime":
		return &props{Type: "string", Format: "date-time"}
	case metaName + "Duration":
		return &props{Type: "string", Format: "duration"}
	case metaName + "FieldsV1", "io.k8s.apimachinery.pkg.runtime.RawExtension", metaName + "ObjectMeta":
		return &props{Type: "object", XPreserveUnknownFields: new(true)}
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
		return either("")
	case "io.k8s.apimachinery.pkg.api.resource.Quantity":
		return either(`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`)
	case jsonProps + "JSON":
		return &props{XPreserveUnknownFields: new(true)}
	}
	return nil
}

// tags adds what the field's tags say.
func (d *deriver) tags(s *props, f reflect.StructField) error {
	if err := checkOptions(f); err != nil {
		return err
	}
	if v := f.Tag.Get("listType"); v != "" {
		s.XListType = &v
	}
	if v := f.Tag.Get("listMapKey"); v != "" {
		s.XListMapKeys = strings.Split(v, ",")
	}
	if v := f.Tag.Get("mapType"); v != "" {
		s.XMapType = &v
	}
	s.Pattern = f.Tag.Get("pattern") + s.Pattern
	if v := openapiTag(f, "format"); v != "" {
		s.Format = v
	}
	s.Nullable = openapiTag(f, "nullable") != ""
	if openapiTag(f, "preserve") != "" {
		s.XPreserveUnknownFields = new(true)
	}
	s.XEmbeddedResource = s.XEmbeddedResource || openapiTag(f, "embedded") != ""
	if rule := f.Tag.Get("rule"); rule != "" {
		s.XValidations = append(s.XValidations, ruleOf(rule, f.Tag))
	}
	if enum := openapiTag(f, "enum"); enum != "" {
		target := s
		if s.Type == "array" {
			target = s.Items.Schema
		}
		for v := range strings.SplitSeq(enum, "|") {
			target.Enum = append(target.Enum, literal(target, v))
		}
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		v := literal(s, text)
		s.Default = &v
	}
	return limitTags(s, f)
}

// ruleOf is the rule of a field's tags.
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

// options are what the tag openapi can say.
var options = []string{
	"required", "optional", "nullable", "enum", "format", "preserve", "embedded", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
}

// checkOptions refuses options that would otherwise have no effect.
func checkOptions(f reflect.StructField) error {
	for option := range strings.SplitSeq(f.Tag.Get("openapi"), ",") {
		if name, _, _ := strings.Cut(option, "="); name != "" && !slices.Contains(options, name) {
			return fmt.Errorf("the tag openapi does not know %q", name)
		}
	}
	return nil
}

// literal is a tag's text as JSON: a string for strings, else as written.
func literal(s *props, text string) apiextensionsv1.JSON {
	if s.Type == "string" || !json.Valid([]byte(text)) {
		b, _ := json.Marshal(text) // a string always has a JSON form
		return apiextensionsv1.JSON{Raw: b}
	}
	return apiextensionsv1.JSON{Raw: []byte(text)}
}

func limitTags(s *props, f reflect.StructField) error {
	for name, to := range map[string]**float64{"minimum": &s.Minimum, "maximum": &s.Maximum, "multipleOf": &s.MultipleOf} {
		if text := openapiTag(f, name); text != "" {
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
		if text := openapiTag(f, name); text != "" {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			*to = &v
		}
	}
	s.ExclusiveMinimum = openapiTag(f, "exclusiveMinimum") != ""
	s.ExclusiveMaximum = openapiTag(f, "exclusiveMaximum") != ""
	return nil
}

// column makes a printer column of a field that asks for one.
func (d *deriver) column(s *props, f reflect.StructField, path string) {
	name, option, _ := strings.Cut(f.Tag.Get("column"), ",")
	if name == "" || !strings.HasPrefix(path, ".") {
		return
	}
	c := apiextensionsv1.CustomResourceColumnDefinition{Name: name, Type: s.Type, JSONPath: path, Description: s.Description}
	switch {
	case s.Format == "date-time":
		c.Type = "date"
	case s.Type != "integer" && s.Type != "number" && s.Type != "boolean":
		c.Type = "string"
	}
	if option == "wide" {
		c.Priority = 1
	}
	d.columns = append(d.columns, c)
}
