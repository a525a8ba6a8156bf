package openapi

import (
	"maps"
	"slices"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/keelson-dev/keelson/apimachinery/cel"
)

// celTypes gives rules the types of a schema, so that a misspelt field is an error when the rule is compiled.
type celTypes struct {
	types.Provider
	objects map[string]*celObject
}

// celObject is an object with known fields.
type celObject struct {
	fields map[string]*celField // by escaped name
}

type celField struct {
	name string // as in JSON
	typ  *celgo.Type
	s    *Structural
	as   string // the name of its object type, if it has one
}

// metaSchema is what rules see of metadata.
var metaSchema = &Structural{Type: "object", Properties: map[string]*Structural{
	"name": {Type: "string"}, "generateName": {Type: "string"},
}, names: []string{"generateName", "name"}}

var textSchema = &Structural{Type: "string"}

// declare returns the type of values of s, or nil if rules cannot look at them. name is that of its object
// type.
func (t *celTypes) declare(s *Structural, name string, whole bool) *celgo.Type {
	if s.IntOrString {
		return celgo.DynType
	}
	switch s.Type {
	case "array":
		if s.Items == nil {
			return nil
		}
		if item := t.declare(s.Items, name+".@idx", s.Items.Embedded); item != nil {
			return celgo.ListType(item)
		}
	case "object":
		if s.Additional != nil && len(s.Properties) == 0 {
			if value := t.declare(s.Additional, name+".@elem", s.Additional.Embedded); value != nil {
				return celgo.MapType(celgo.StringType, value)
			}
			return nil
		}
		return t.object(s, name, whole)
	case "string":
		switch s.Format {
		case "byte":
			return celgo.BytesType
		case "duration":
			return celgo.DurationType
		case "date", "date-time", "datetime":
			return celgo.TimestampType
		}
		return celgo.StringType
	case "boolean":
		return celgo.BoolType
	case "number":
		return celgo.DoubleType
	case "integer":
		return celgo.IntType
	}
	return nil
}

func (t *celTypes) object(s *Structural, name string, whole bool) *celgo.Type {
	o := &celObject{fields: map[string]*celField{}}
	t.objects[name] = o
	add := func(field string, c *Structural) {
		as := name + "." + field
		if typ := t.declare(c, as, c.Embedded); typ != nil {
			o.fields[cel.Escape(field)] = &celField{name: field, typ: typ, s: c, as: as}
		}
	}
	for field, c := range s.Properties {
		add(field, c)
	}
	if whole {
		add("apiVersion", textSchema)
		add("kind", textSchema)
		add("metadata", metaSchema)
	}
	return celgo.ObjectType(name)
}

// FindStructType implements types.Provider.
func (t *celTypes) FindStructType(name string) (*types.Type, bool) {
	if _, ok := t.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return t.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (t *celTypes) FindStructFieldNames(name string) ([]string, bool) {
	if o, ok := t.objects[name]; ok {
		return slices.Sorted(maps.Keys(o.fields)), true
	}
	return t.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (t *celTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	o, ok := t.objects[name]
	if !ok {
		return t.Provider.FindStructFieldType(name, field)
	}
	f, ok := o.fields[field]
	if !ok && cel.Reserved(field) { // after a dot it is a name like others
		f, ok = o.fields[cel.Escape(field)]
	}
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type: f.typ,
		IsSet: func(target any) bool {
			v, ok := target.(*celStruct)
			return ok && v.has(f.name)
		},
		GetFrom: func(target any) (any, error) {
			v, ok := target.(*celStruct)
			if !ok {
				return nil, errNoField(field)
			}
			x, ok := v.m[f.name]
			if !ok {
				return nil, errNoField(field)
			}
			return celValue(f.s, f.as, x), nil
		},
	}, true
}

// NewValue implements types.Provider. Rules cannot make objects.
func (t *celTypes) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := t.objects[name]; ok {
		return types.NewErr("objects of type %s cannot be made in a rule", name)
	}
	return t.Provider.NewValue(name, fields)
}

type errNoField string

func (e errNoField) Error() string { return "no such key: " + string(e) }
