package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Ruled is a type with validation rules of its own. A rule that concerns one field can be in its tags
// instead: rule:"self > 0" message:"must be positive".
type Ruled interface {
	ValidationRules() []apiextensionsv1.ValidationRule
}

// Refined is a type that says of its schema what no tag says: alternatives, an enumeration that all fields of
// the type share, the form of metadata.name in the schema of a whole object. RefineSchema gets the schema
// that was derived, and changes it. What the tags of a field say is added afterwards.
type Refined interface {
	RefineSchema(*apiextensionsv1.JSONSchemaProps)
}

// DeriveOptions refine a derived version. The zero value works.
type DeriveOptions struct {
	// Texts describes types and fields; nil leaves descriptions out.
	Texts Texts
	// Scale says where the replicas are; nil leaves the subresource out.
	Scale *apiextensionsv1.CustomResourceSubresourceScale
	// Columns are printer columns beside those of the tags, and come after them.
	Columns []apiextensionsv1.CustomResourceColumnDefinition
	// Stored marks the version that objects are stored in; see [DeriveVersions].
	Stored bool
	// Unserved leaves the version out of the API. Objects may still be stored in it.
	Unserved bool
	// Deprecated makes requests for the version return a warning: the server's, or DeprecationWarning, which
	// implies Deprecated.
	Deprecated         bool
	DeprecationWarning string
}

// Derive makes the definition of a custom resource from the Go type of its objects, with one version, which
// is stored. Everything comes from the struct and its tags:
//
//   - json names the field; one without omitempty is required, unless it is a pointer or has a default;
//   - default, listType, listMapKey and mapType as in the built-in types; title and example document;
//   - openapi:"..." holds, separated by commas, required, optional, nullable, enum=A|B, format=F and the
//     limits minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength,
//     minItems, maxItems, minProperties and maxProperties; preserve keeps unknown fields, embedded makes the
//     field an object with kind and metadata of its own, intOrString takes both, schemaless takes anything
//     and does not look at the type;
//   - items:"..." holds the same for the items of a list or the values of a map, and itemPattern their
//     pattern;
//   - pattern is a regular expression; rule is a validation rule of the field, which message,
//     messageExpression, reason, fieldPath and optionalOldSelf:"true" refine; more rules than one come from
//     the type, by [Ruled];
//   - column:"Name" makes a printer column of the field, column:"Name,wide" one that shows with -o wide;
//   - selectable:"true" lets field selectors use the field.
//
// A field Status makes the status subresource. A recursive type is an error, because schemas have no
// references; the field that closes the circle can be schemaless.
//
// A definition that a server would refuse is an error, as at [DeriveVersions], which makes definitions with
// several versions.
func Derive[T metav1.Object](gv schema.GroupVersion, k scheme.Kind, o DeriveOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	return DeriveVersions(gv.Group, k, DefinitionOptions{}, VersionOf[T](gv.Version, o))
}

// version derives one version from a type.
func (o DeriveOptions) version(name string, info *scheme.Info) (definitionVersion, error) {
	d := deriver{texts: o.Texts}
	root, err := d.object(info.Type, "")
	if err != nil {
		return definitionVersion{}, fmt.Errorf("%v: %w", info.Type, err)
	}
	d.columns = append(d.columns, o.Columns...)
	if len(d.columns) > 0 && !slices.ContainsFunc(o.Columns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool { return c.Name == "Age" }) {
		d.columns = append(d.columns, apiextensionsv1.CustomResourceColumnDefinition{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"})
	}
	v := definitionVersion{
		Name: name, Served: !o.Unserved, Storage: o.Stored, Deprecated: o.Deprecated || o.DeprecationWarning != "",
		AdditionalPrinterColumns: d.columns, SelectableFields: d.selectable,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root},
	}
	if o.DeprecationWarning != "" {
		v.DeprecationWarning = &o.DeprecationWarning
	}
	if _, ok := root.Properties["status"]; ok || o.Scale != nil {
		v.Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: o.Scale}
		if ok {
			v.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
		}
	}
	return v, nil
}

// behind is the path of what is in a list or map.
const behind = "[]"

type deriver struct {
	texts   Texts
	within  []reflect.Type // structs on the way, to find cycles
	columns []apiextensionsv1.CustomResourceColumnDefinition
	// selectable fields, in the order of the struct.
	selectable []apiextensionsv1.SelectableField
}

func (d *deriver) text(typeName, field string) string {
	if d.texts == nil {
		return ""
	}
	return d.texts(typeName, field)
}

// object is the schema of a struct. path is its JSON path, "" for the root; columns are made while it
// is simple, and it is behind behind a list or map.
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
	if err := d.fields(s, t, path); err != nil {
		return nil, err
	}
	if typefacts.Name(t) == metaName+"Condition" {
		limitCondition(s)
	}
	refine(s, t)
	return s, nil
}

// limitCondition adds the limits of a condition, which every kind keeps and no tag of the type says.
func limitCondition(s *props) {
	limit := func(name string, set func(*props)) {
		field := s.Properties[name]
		set(&field)
		s.Properties[name] = field
	}
	limit("type", func(s *props) {
		s.MaxLength = new(int64(316))
		s.Pattern = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	})
	limit("status", func(s *props) {
		s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"True"`)}, {Raw: []byte(`"False"`)}, {Raw: []byte(`"Unknown"`)}}
	})
	limit("reason", func(s *props) {
		s.MinLength, s.MaxLength, s.Pattern = new(int64(1)), new(int64(1024)), `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`
	})
	limit("message", func(s *props) { s.MaxLength = new(int64(32768)) })
	limit("observedGeneration", func(s *props) { s.Minimum = new(float64(0)) })
}

// refine adds what the type says by itself.
func refine(s *props, t reflect.Type) {
	v := reflect.New(t).Interface()
	if r, ok := v.(Ruled); ok {
		s.XValidations = r.ValidationRules()
	}
	if r, ok := v.(Refined); ok {
		r.RefineSchema(s)
	}
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
			kind := "string"
			if tag.name == "metadata" {
				kind = "object"
			}
			s.Properties[tag.name] = props{Type: kind}
			continue
		}
		at := path + "." + tag.name
		options, err := optionsOf(f.Tag, "openapi")
		if err != nil {
			return fmt.Errorf("%s: %w", tag.name, err)
		}
		if strings.HasPrefix(typefacts.Name(t), "io.k8s.") {
			// What Kubernetes' own fields may be is more in each release: an enumeration in a definition
			// would hold on to this one's.
			delete(options, "enum")
		}
		field := &props{XPreserveUnknownFields: new(true)}
		if !options.has("schemaless") {
			if field, err = d.value(f.Type, at); err != nil {
				return fmt.Errorf("%s: %w", tag.name, err)
			}
		}
		if text := d.text(typefacts.Name(t), tag.name); text != "" {
			field.Description = text
		}
		if err := tagged(field, f.Tag, options); err != nil {
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
		if f.Tag.Get("selectable") == "true" {
			if !strings.HasPrefix(at, ".") {
				return fmt.Errorf("%s: a field in a list or map cannot be selectable", tag.name)
			}
			d.selectable = append(d.selectable, apiextensionsv1.SelectableField{JSONPath: at})
		}
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
	s, err := d.shape(t, path)
	if err == nil && t.PkgPath() != "" && t.Kind() != reflect.Struct {
		refine(s, t)
	}
	return s, err
}

// shape is value without what a type that is no struct says by itself.
func (d *deriver) shape(t reflect.Type, path string) (*props, error) {
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
		elem, err := d.value(t.Elem(), behind)
		return &props{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: elem}}, err
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &props{Type: "string", Format: "byte"}, nil
		}
		elem, err := d.value(t.Elem(), behind)
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

// column makes a printer column of a field with a column tag.
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
