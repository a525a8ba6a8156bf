package openapi

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
)

// Texts gives the description of a type (field empty) or of a field by its JSON name. Types are named as in
// documents, such as io.k8s.api.core.v1.Pod. The description of an unknown name is empty.
type Texts func(typeName, field string) string

// typeSchemas makes the schemas of Go types and of the types they refer to.
type typeSchemas struct {
	schemas map[string]*Schema
	texts   Texts
}

// special returns the schema of a type whose wire form differs from its Go form, nil for other types.
func special(name string) *Schema {
	switch name {
	case "io.k8s.apimachinery.pkg.apis.meta.v1.Time", "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime":
		return &Schema{Type: "string", Format: "date-time"}
	case "io.k8s.apimachinery.pkg.apis.meta.v1.Duration":
		return &Schema{Type: "string"}
	case "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "io.k8s.apimachinery.pkg.runtime.RawExtension",
		"io.k8s.apimachinery.pkg.apis.meta.v1.Patch":
		return &Schema{Type: "object"}
	case "io.k8s.apimachinery.pkg.api.resource.Quantity":
		return &Schema{OneOf: []*Schema{{Type: "string"}, {Type: "number"}}}
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
		return &Schema{Format: "int-or-string", OneOf: []*Schema{{Type: "integer"}, {Type: "string"}}}
	case jsonProps + "JSON", jsonProps + "JSONSchemaPropsOrArray", jsonProps + "JSONSchemaPropsOrBool", jsonProps + "JSONSchemaPropsOrStringArray":
		return &Schema{}
	}
	return nil
}

const jsonProps = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

// add makes the schema of a struct type unless it is there, and returns its name.
func (g *typeSchemas) add(t reflect.Type) string {
	name := typefacts.Name(t)
	if _, ok := g.schemas[name]; ok {
		return name
	}
	if s := special(name); s != nil {
		s.Description = g.text(name, "")
		g.schemas[name] = s
		return name
	}
	s := &Schema{Type: "object", Description: g.text(name, ""), Properties: map[string]*Schema{}}
	g.schemas[name] = s // before the fields, which may refer to it
	g.addFields(s, name, t)
	if typefacts.AtomicStruct(name) {
		s.extend("x-kubernetes-map-type", "atomic")
	}
	if u, ok := typefacts.UnionOf(name); ok {
		members := map[string]any{}
		for _, m := range u.Members {
			members[m[0]] = m[1]
		}
		union := map[string]any{"fields-to-discriminateBy": members}
		if u.Discriminator != "" {
			union["discriminator"] = u.Discriminator
		}
		s.extend("x-kubernetes-unions", []any{union})
	}
	return name
}

func (g *typeSchemas) text(typeName, field string) string {
	if g.texts == nil {
		return ""
	}
	return g.texts(typeName, field)
}

func (g *typeSchemas) addFields(s *Schema, owner string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := parseJSONTag(f)
		switch {
		case tag.skip:
			continue
		case tag.inline:
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			// Fields of an inlined struct belong to the outer type; its own texts are the fallback.
			g.addFields(s, typefacts.Name(inner), inner)
			continue
		}
		field := g.value(f.Type)
		field.Description = g.text(owner, tag.name)
		g.applyTags(field, owner, f, tag)
		s.Properties[tag.name] = field
		if openapiTag(f, "required") != "" || isItems(owner, f) {
			s.Required = append(s.Required, tag.name)
		}
	}
}

// isItems reports whether f holds the objects of a list, which is always present.
func isItems(owner string, f reflect.StructField) bool {
	return f.Name == "Items" && strings.HasSuffix(owner, "List")
}

type jsonTag struct {
	name         string
	omitempty    bool
	skip, inline bool
}

func parseJSONTag(f reflect.StructField) jsonTag {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	tag := jsonTag{name: name, omitempty: strings.Contains(options, "omitempty")}
	switch {
	case name == "-" || !f.IsExported() && !f.Anonymous || strings.Contains(options, "unknown"):
		tag.skip = true
	case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
		tag.inline = true
	case name == "":
		tag.name = f.Name
	}
	return tag
}

// openapiTag returns the value of a key of the openapi tag, or the key itself for a bare word.
func openapiTag(f reflect.StructField, key string) string {
	for part := range strings.SplitSeq(f.Tag.Get("openapi"), ",") {
		k, v, has := strings.Cut(part, "=")
		if k == key {
			if !has {
				return k
			}
			return v
		}
	}
	return ""
}

// applyTags applies the tags of a field to its schema.
func (g *typeSchemas) applyTags(s *Schema, owner string, f reflect.StructField, tag jsonTag) {
	for _, ext := range []struct{ tag, key string }{
		{"patchStrategy", "x-kubernetes-patch-strategy"}, {"patchMergeKey", "x-kubernetes-patch-merge-key"},
		{"listType", "x-kubernetes-list-type"}, {"mapType", "x-kubernetes-map-type"},
	} {
		if v := f.Tag.Get(ext.tag); v != "" {
			s.extend(ext.key, v)
		}
	}
	if keys := f.Tag.Get("listMapKey"); keys != "" {
		var list []any
		for k := range strings.SplitSeq(keys, ",") {
			list = append(list, k)
		}
		s.extend("x-kubernetes-list-map-keys", list)
	}
	if format := openapiTag(f, "format"); format != "" {
		s.Format = format
	}
	element := s
	switch {
	case s.Items != nil:
		element = s.Items
	case s.AdditionalProperties != nil:
		element = s.AdditionalProperties
	}
	if enum := openapiTag(f, "enum"); enum != "" {
		for v := range strings.SplitSeq(enum, "|") {
			element.Enum = append(element.Enum, v)
		}
	}
	for _, v := range typefacts.ElementEnum(owner, tag.name) {
		element.Enum = append(element.Enum, v)
	}
	fact, hasFact := typefacts.Default(owner, tag.name)
	switch text, ok := f.Tag.Lookup("default"); {
	case ok:
		s.Default = parseDefault(s, text)
	case hasFact:
		s.Default = fact
	case f.Type.Kind() == reflect.Pointer, tag.omitempty && s.Ref == "" && s.Properties == nil:
	default:
		s.Default = g.zero(s)
	}
}

func parseDefault(s *Schema, text string) any {
	var v any
	if s.Type != "string" && json.Unmarshal([]byte(text), &v) == nil {
		return v
	}
	return text
}

// zero returns the default of a value that is always written: the empty scalar or object. Types that define
// their wire form have none.
func (g *typeSchemas) zero(s *Schema) any {
	switch {
	case s.Ref != "":
		if special(s.Ref) == nil {
			return map[string]any{}
		}
	case s.Properties != nil:
		return map[string]any{}
	case s.Type == "string" && s.Format != "byte":
		return ""
	case s.Type == "integer", s.Type == "number":
		return 0
	case s.Type == "boolean":
		return false
	}
	return nil
}

// value returns the schema of a value of type t, a reference for structs that have a name.
func (g *typeSchemas) value(t reflect.Type) *Schema {
	if t.PkgPath() != "" && special(typefacts.Name(t)) != nil {
		return &Schema{Ref: g.add(t)}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.value(t.Elem())
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Int32, reflect.Int16, reflect.Int8, reflect.Uint16, reflect.Uint8:
		return &Schema{Type: "integer", Format: "int32"}
	case reflect.Int64, reflect.Int, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return &Schema{Type: "integer", Format: "int64"}
	case reflect.Float32:
		return &Schema{Type: "number", Format: "float"}
	case reflect.Float64:
		return &Schema{Type: "number", Format: "double"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &Schema{Type: "string", Format: "byte"}
		}
		return &Schema{Type: "array", Items: g.element(t.Elem())}
	case reflect.Map:
		return &Schema{Type: "object", AdditionalProperties: g.element(t.Elem())}
	case reflect.Struct:
		if t.Name() == "" { // a reference needs a name; a recursive type has one, so this terminates
			s := &Schema{Type: "object", Properties: map[string]*Schema{}}
			g.addFields(s, "", t)
			return s
		}
		return &Schema{Ref: g.add(t)}
	}
	return &Schema{}
}

// element returns the schema of an item or a map's value. These are never omitted, so they have the zero
// default.
func (g *typeSchemas) element(t reflect.Type) *Schema {
	s := g.value(t)
	s.Default = g.zero(s)
	return s
}
