package openapi

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// celValue is a JSON value as rules see it. as is the name of its object type.
func celValue(s *Structural, as string, v any) ref.Val {
	if v == nil {
		return types.NullValue
	}
	if s.IntOrString {
		return types.DefaultTypeAdapter.NativeToValue(v)
	}
	switch s.Type {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			break
		}
		if s.Additional != nil && len(s.Properties) == 0 {
			return &celMap{s: s.Additional, as: as + ".@elem", m: m}
		}
		return &celStruct{s: s, as: as, m: m}
	case "array":
		if l, ok := v.([]any); ok && s.Items != nil {
			return &celList{s: s, as: as + ".@idx", l: l}
		}
	case "string":
		if text, ok := v.(string); ok {
			return celText(s.Format, text)
		}
	case "number":
		switch n := v.(type) {
		case int64:
			return types.Double(n)
		case float64:
			return types.Double(n)
		}
	case "integer":
		switch n := v.(type) {
		case int64:
			return types.Int(n)
		case float64:
			return types.Int(n)
		}
	case "boolean":
		if b, ok := v.(bool); ok {
			return types.Bool(b)
		}
	}
	return types.NewErr("invalid data, expected a value of type %s", s.typeName())
}

func celText(format, text string) ref.Val {
	switch format {
	case "byte":
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return types.NewErr("invalid byte formatted string %q", text)
		}
		return types.Bytes(b)
	case "duration":
		d, err := time.ParseDuration(text)
		if err != nil {
			return types.NewErr("invalid duration %q", text)
		}
		return types.Duration{Duration: d}
	case "date":
		t, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return types.NewErr("invalid date %q", text)
		}
		return types.Timestamp{Time: t}
	case "date-time", "datetime":
		t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
		if err != nil {
			return types.NewErr("invalid date-time %q", text)
		}
		return types.Timestamp{Time: t}
	}
	return types.String(text)
}

// celStruct is an object with known fields.
type celStruct struct {
	s  *Structural
	as string
	m  map[string]any
}

func (v *celStruct) has(name string) bool { _, ok := v.m[name]; return ok }

// Type implements ref.Val.
func (v *celStruct) Type() ref.Type { return celgo.ObjectType(v.as) }

// Value implements ref.Val: the receiver, which field access gets.
func (v *celStruct) Value() any { return v }

// Equal implements ref.Val.
func (v *celStruct) Equal(other ref.Val) ref.Val {
	o, ok := other.(*celStruct)
	if !ok || len(v.m) != len(o.m) {
		return types.False
	}
	for name, x := range v.m {
		y, ok := o.m[name]
		if !ok {
			return types.False
		}
		if c := v.s.child(name); c == nil {
			if !sameJSON(x, y) {
				return types.False
			}
		} else if celValue(c, v.as+"."+name, x).Equal(celValue(c, v.as+"."+name, y)) != types.True {
			return types.False
		}
	}
	return types.True
}

// ConvertToNative implements ref.Val.
func (v *celStruct) ConvertToNative(t reflect.Type) (any, error) { return convertNative(v.m, t) }

// ConvertToType implements ref.Val.
func (v *celStruct) ConvertToType(t ref.Type) ref.Val { return convertType(v, t) }

func convertNative(v any, t reflect.Type) (any, error) {
	if reflect.TypeOf(v).AssignableTo(t) {
		return v, nil
	}
	return nil, fmt.Errorf("%T cannot be converted to %v", v, t)
}

func convertType(v ref.Val, t ref.Type) ref.Val {
	if t == types.TypeType {
		return v.Type().(ref.Val)
	}
	if t.TypeName() == v.Type().TypeName() {
		return v
	}
	return types.NewErr("type conversion error from '%s' to '%s'", v.Type().TypeName(), t.TypeName())
}

// celMap is a map from strings to values of one schema.
type celMap struct {
	s  *Structural
	as string
	m  map[string]any
}

var _ traits.Mapper = (*celMap)(nil)

// Type implements ref.Val.
func (v *celMap) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (v *celMap) Value() any { return v.m }

// Find implements traits.Mapper.
func (v *celMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	x, ok := v.m[name]
	if !ok {
		return nil, false
	}
	return celValue(v.s, v.as, x), true
}

// Get implements traits.Indexer.
func (v *celMap) Get(key ref.Val) ref.Val {
	x, ok := v.Find(key)
	if !ok {
		return types.NewErr("no such key: %v", key.Value())
	}
	return x
}

// Contains implements traits.Container.
func (v *celMap) Contains(key ref.Val) ref.Val {
	x, ok := v.Find(key)
	if ok && types.IsUnknownOrError(x) {
		return x
	}
	return types.Bool(ok)
}

// Size implements traits.Sizer.
func (v *celMap) Size() ref.Val { return types.Int(len(v.m)) }

// Iterator implements traits.Iterable, over the keys.
func (v *celMap) Iterator() traits.Iterator {
	keys := make([]ref.Val, 0, len(v.m))
	for k := range v.m {
		keys = append(keys, types.String(k))
	}
	return types.DefaultTypeAdapter.NativeToValue(keys).(traits.Iterable).Iterator()
}

// Equal implements ref.Val.
func (v *celMap) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Mapper)
	if !ok || o.Size() != v.Size() {
		return types.False
	}
	for k, x := range v.m {
		y, ok := o.Find(types.String(k))
		if !ok || celValue(v.s, v.as, x).Equal(y) != types.True {
			return types.False
		}
	}
	return types.True
}

// ConvertToNative implements ref.Val.
func (v *celMap) ConvertToNative(t reflect.Type) (any, error) { return convertNative(v.m, t) }

// ConvertToType implements ref.Val.
func (v *celMap) ConvertToType(t ref.Type) ref.Val { return convertType(v, t) }
