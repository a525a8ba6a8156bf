package cel

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Admission returns the environment of expressions about requests: match conditions of webhooks, and
// policies. Variables are object, oldObject, request, params, namespaceObject, variables (of any type) and
// authorizer. It is created once, on first use.
func Admission() (*cel.Env, error) { return admission() }

var admission = sync.OnceValues(func() (*cel.Env, error) {
	base, err := Env()
	if err != nil {
		return nil, err
	}
	options := append(authorizerTypes(), authorizerVariables()...)
	for _, name := range []string{"object", "oldObject", "request", "params", "namespaceObject", "variables"} {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	return base.Extend(options...)
})

// Mutation returns the environment of expressions that change objects: that of [Admission], extended by
// constructors of objects: JSONPatch{...}, Object{...}, and Object.spec{...} and the like for the parts of an
// object at any depth.
func Mutation() (*cel.Env, error) { return mutation() }

var mutation = sync.OnceValues(func() (*cel.Env, error) {
	base, err := Admission()
	if err != nil {
		return nil, err
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	return base.Extend(cel.CustomTypeProvider(&mutationTypes{base.CELTypeProvider()}),
		cel.Function("jsonpatch.escapeKey", cel.Overload("string_jsonpatch_escapeKey_string", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(v ref.Val) ref.Val {
				s, ok := v.Value().(string)
				if !ok {
					return types.MaybeNoSuchOverloadErr(v)
				}
				return types.String(escape.Replace(s))
			}))))
})

const (
	// PatchType is the type of one operation of a JSON patch.
	PatchType = "JSONPatch"
	// ObjectType is the type of an apply configuration.
	ObjectType = "Object"
)

var patchFields = map[string]*cel.Type{"op": cel.StringType, "path": cel.StringType, "from": cel.StringType, "value": cel.DynType}

// mutationTypes adds the types that mutations construct. The parts of an object may have any field; unknown
// ones are an error when the result is merged.
type mutationTypes struct{ types.Provider }

func isMutationType(name string) bool {
	return name == PatchType || name == ObjectType || strings.HasPrefix(name, ObjectType+".")
}

// FindStructType implements types.Provider.
func (t *mutationTypes) FindStructType(name string) (*types.Type, bool) {
	if isMutationType(name) {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return t.Provider.FindStructType(name)
}

// FindIdent implements types.Provider.
func (t *mutationTypes) FindIdent(name string) (ref.Val, bool) {
	if isMutationType(name) {
		return types.NewObjectType(name), true
	}
	return t.Provider.FindIdent(name)
}

// FindStructFieldType implements types.Provider.
func (t *mutationTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if !isMutationType(name) {
		return t.Provider.FindStructFieldType(name, field)
	}
	typ := cel.DynType
	if name == PatchType {
		var ok bool
		if typ, ok = patchFields[field]; !ok {
			return nil, false
		}
	}
	get := func(target any) (any, bool) {
		m, ok := target.(map[string]ref.Val)
		if !ok {
			return nil, false
		}
		v, ok := m[field]
		return v, ok
	}
	return &types.FieldType{
		Type:  typ,
		IsSet: func(target any) bool { _, ok := get(target); return ok },
		GetFrom: func(target any) (any, error) {
			v, ok := get(target)
			if !ok {
				return nil, fmt.Errorf("no such key: %s", field)
			}
			return v, nil
		},
	}, true
}

// NewValue implements types.Provider.
func (t *mutationTypes) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if !isMutationType(name) {
		return t.Provider.NewValue(name, fields)
	}
	return opaque[map[string]ref.Val]{types.NewObjectType(name), fields, func(a, b map[string]ref.Val) bool {
		if len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || v.Equal(w) != types.True {
				return false
			}
		}
		return true
	}}
}

// JSON returns the JSON value of a result: map[string]any, []any, string, bool, int64, float64 or nil.
func JSON(v ref.Val) (any, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if uint64(v) > math.MaxInt64 {
			return float64(v), nil
		}
		return int64(v), nil
	case types.Double:
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), nil
	case types.Timestamp:
		return v.Time.UTC().Format(time.RFC3339Nano), nil
	case types.Duration:
		return v.Duration.String(), nil
	case opaque[map[string]ref.Val]:
		return jsonFields(v.value)
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return JSON(v.GetValue())
	case traits.Mapper:
		return jsonMap(v)
	case traits.Lister:
		out := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := JSON(it.Next())
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
		return out, nil
	case *types.Err:
		return nil, v
	}
	return nil, fmt.Errorf("a value of type %s has no JSON form", v.Type().TypeName())
}

func jsonFields(fields map[string]ref.Val) (any, error) {
	out := make(map[string]any, len(fields))
	for k, v := range fields {
		x, err := JSON(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = x
	}
	return out, nil
}

func jsonMap(m traits.Mapper) (any, error) {
	fields := map[string]ref.Val{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.Value().(string)
		if !ok {
			return nil, fmt.Errorf("a map with a key of type %s has no JSON form", key.Type().TypeName())
		}
		fields[name] = m.Get(key)
	}
	return jsonFields(fields)
}
