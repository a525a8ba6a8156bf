package admission

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// variables are the named expressions of a policy. Each is evaluated once, on first use.
type variables struct {
	all      map[string]*expression
	evaluate func(*expression) (ref.Val, error)
	values   map[string]ref.Val
	busy     map[string]bool // being evaluated
}

var _ traits.Mapper = (*variables)(nil)

// Find implements traits.Mapper.
func (v *variables) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	if value, ok := v.values[name]; ok {
		return value, true
	}
	x, ok := v.all[name]
	if !ok || v.busy[name] { // a variable that depends on itself does not exist
		return nil, false
	}
	if v.values == nil {
		v.values, v.busy = map[string]ref.Val{}, map[string]bool{}
	}
	v.busy[name] = true
	value, err := v.evaluate(x)
	delete(v.busy, name)
	if err != nil {
		value = types.NewErr("composited variable %q fails to evaluate: %v", name, err)
	}
	v.values[name] = value
	return value, true
}

// Get implements traits.Indexer.
func (v *variables) Get(key ref.Val) ref.Val {
	value, ok := v.Find(key)
	if !ok {
		return types.NewErr("no such key: %v", key.Value())
	}
	return value
}

// Contains implements traits.Container.
func (v *variables) Contains(key ref.Val) ref.Val {
	name, ok := key.Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	_, ok = v.all[name]
	return types.Bool(ok)
}

// Size implements traits.Sizer.
func (v *variables) Size() ref.Val { return types.Int(len(v.all)) }

// Iterator implements traits.Iterable, over the names.
func (v *variables) Iterator() traits.Iterator {
	names := slices.Sorted(maps.Keys(v.all))
	return types.NewStringList(types.DefaultTypeAdapter, names).Iterator()
}

// Type implements ref.Val.
func (v *variables) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (v *variables) Value() any { return v }

// Equal implements ref.Val.
func (v *variables) Equal(other ref.Val) ref.Val { return types.Bool(v == other) }

// ConvertToNative implements ref.Val.
func (v *variables) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("the variables of a policy are no value")
}

// ConvertToType implements ref.Val.
func (v *variables) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("type conversion error from the variables of a policy to '%s'", t.TypeName())
}
