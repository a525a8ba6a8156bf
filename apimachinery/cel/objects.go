package cel

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Objects are types of objects with known fields: by the name of the type, the types of its fields by their
// names. They are for the compiler, which refuses an expression about another field; the values may be maps.
// Fields may be added while no expression is compiled.
type Objects map[string]map[string]*cel.Type

// Over adds the types to those of an environment: see [cel.CustomTypeProvider].
func (o Objects) Over(known types.Provider) types.Provider { return &objectTypes{known, o} }

type objectTypes struct {
	types.Provider
	objects Objects
}

// FindStructType implements types.Provider.
func (t *objectTypes) FindStructType(name string) (*types.Type, bool) {
	if _, ok := t.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return t.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (t *objectTypes) FindStructFieldNames(name string) ([]string, bool) {
	if fields, ok := t.objects[name]; ok {
		return slices.Sorted(maps.Keys(fields)), true
	}
	return t.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (t *objectTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, ok := t.objects[name]
	if !ok {
		return t.Provider.FindStructFieldType(name, field)
	}
	typ, ok := fields[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: typ}, true
}
