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

// Ruled is a type with validation rules. A rule that concerns one field can be in its tags instead:
// rule:"self > 0" message:"must be positive".
type Ruled interface {
	ValidationRules() []apiextensionsv1.ValidationRule
}

// Refined is a type that adds to its schema what tags cannot express: alternatives, an enumeration that all
// fields of the type share, the form of metadata.name in the schema of a whole object. RefineSchema modifies
// the derived schema. The tags of a field are applied afterwards.
type Refined interface {
	RefineSchema(*apiextensionsv1.JSONSchemaProps)
}

// Marks add to derived schemas what neither the Go types nor their tags say. Package markers reads them from
// the comments of the source.
type Marks interface {
	// MarkType modifies the schema of the values of a named type.
	MarkType(t reflect.Type, s *apiextensionsv1.JSONSchemaProps) error
	// Opaque reports whether a field of the struct type t accepts any value, whatever its Go type.
	Opaque(t reflect.Type, f reflect.StructField) bool
	// MarkField modifies the schema of a field of the struct type t, to which the tags have been applied, and
	// returns whether the field is required. required is what the tags say.
	MarkField(t reflect.Type, f reflect.StructField, s *apiextensionsv1.JSONSchemaProps, required bool) (bool, error)
}

// DeriveOptions refine a derived version. The zero value works.
type DeriveOptions struct {
	// Texts describes types and fields; nil leaves descriptions out.
	Texts Texts
	// Marks are applied after the tags, before the methods of [Ruled] and [Refined]. They are all that is
	// known of the source: unless they are nil, no column Age is added, and Status makes the status
	// subresource.
	Marks Marks
	// Status makes the status subresource. Without Marks a field Status makes it too.
	Status bool
	// Selectable are further fields that field selectors may use, after those of the tags.
	Selectable []apiextensionsv1.SelectableField
	// Scale is the scale subresource, with the paths of the replicas; nil means none.
	Scale *apiextensionsv1.CustomResourceSubresourceScale
	// Columns are further printer columns, after those of the tags.
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

// Derive returns the definition of a custom resource from the Go type of its objects, with one version, which
// is stored. The schema follows from the struct and its tags:
//
//   - json names the field; one without omitempty is required, unless it is a pointer or has a default;
//   - default, listType, listMapKey and mapType as in the built-in types; title and example document;
//   - openapi:"..." holds, separated by commas, required, optional, nullable, enum=A|B, format=F and the
//     limits minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength,
//     minItems, maxItems, minProperties and maxProperties; preserve keeps unknown fields, embedded makes the
//     field an object with kind and metadata of its own, intOrString accepts both, schemaless accepts any
//     value, whatever the Go type;
//   - items:"..." holds the same for the items of a list or the values of a map, and itemPattern their
//     pattern;
//   - pattern is a regular expression; rule is a validation rule of the field, which message,
//     messageExpression, reason, fieldPath and optionalOldSelf:"true" refine; further rules come from
//     the type, by [Ruled];
//   - column:"Name" makes a printer column of the field, column:"Name,wide" one that is shown with -o wide;
//   - selectable:"true" lets field selectors use the field.
//
// A field Status makes the status subresource. A recursive type is an error, because schemas have no
// references; the field that refers back can be schemaless.
//
// A definition that a server would refuse is an error, as in [DeriveVersions], which returns definitions with
// several versions.
func Derive[T metav1.Object](gv schema.GroupVersion, k scheme.Kind, o DeriveOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	return DeriveVersions(gv.Group, k, DefinitionOptions{}, VersionOf[T](gv.Version, o))
}

// version derives one version from a type.
func (o DeriveOptions) version(name string, info *scheme.Info) (definitionVersion, error) {
	d := deriver{texts: o.Texts, marks: o.Marks}
	root, err := d.object(info.Type, "")
	if err != nil {
		return definitionVersion{}, fmt.Errorf("%v: %w", info.Type, err)
	}
	d.columns, d.selectable = append(d.columns, o.Columns...), append(d.selectable, o.Selectable...)
	if o.Marks == nil && len(d.columns) > 0 && !slices.ContainsFunc(o.Columns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool { return c.Name == "Age" }) {
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
	_, hasStatus := root.Properties["status"]
	if status := o.Status || o.Marks == nil && hasStatus; status || o.Scale != nil {
		v.Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: o.Scale}
		if status {
			v.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
		}
	}
	return v, nil
}

// behind is the path of values in a list or map.
const behind = "[]"

type deriver struct {
	texts   Texts
	marks   Marks          // may be nil
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

// object is the schema of a struct. path is its JSON path, "" for the root; printer columns need a path that
// is not behind a list or map.
func (d *deriver) object(t reflect.Type, path string) (*props, error) {
	for _, outer := range d.within {
		if outer == t {
			return nil, errors.New("the type contains itself, which a schema cannot express")
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
	slices.Sort(s.Required)
	if typefacts.Name(t) == metaName+"Condition" {
		limitCondition(s)
	}
	return s, d.refine(s, t)
}

// limitCondition adds the limits of a condition, which hold for every kind and are not in the tags of the
// type.
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

// refine applies the marks and the methods of the type to its schema.
func (d *deriver) refine(s *props, t reflect.Type) error {
	if d.marks != nil {
		if err := d.marks.MarkType(t, s); err != nil {
			return err
		}
	}
	v := reflect.New(t).Interface()
	if r, ok := v.(Ruled); ok {
		s.XValidations = append(s.XValidations, r.ValidationRules()...)
	}
	if r, ok := v.(Refined); ok {
		r.RefineSchema(s)
	}
	return nil
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
			s.Properties[tag.name] = props{Type: kind, Description: d.text(typefacts.Name(t), tag.name)}
			continue
		}
		at := path + "." + tag.name
		options, err := optionsOf(f.Tag, "openapi")
		if err != nil {
			return fmt.Errorf("%s: %w", tag.name, err)
		}
		if strings.HasPrefix(typefacts.Name(t), "io.k8s.") {
			// Fields of Kubernetes' own types get more values with each release, and an enumeration in a
			// definition would allow only those of this release.
			delete(options, "enum")
		}
		field := &props{XPreserveUnknownFields: new(true)}
		if !options.has("schemaless") && (d.marks == nil || !d.marks.Opaque(t, f)) {
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
		required := needed(f, tag)
		if d.marks != nil {
			if required, err = d.marks.MarkField(t, f, field, required); err != nil {
				return fmt.Errorf("%s: %w", tag.name, err)
			}
		}
		s.Properties[tag.name] = *field
		if required {
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
		err = d.refine(s, t)
	}
	return s, err
}

// shape is value without the methods of a type that is not a struct.
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
	if t.Kind() == reflect.Int || t.Kind() == reflect.Uint {
		scalar.Format = "" // how many bits there are depends on the machine
	}
	return &props{Type: scalar.Type, Format: scalar.Format}, nil
}

// wellKnown returns the schema of a type whose wire form differs from its Go form, nil for other types.
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

// column adds the printer column of a field with a column tag.
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
