package patch

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Schema defines how the fields of a JSON object merge. Implementations must be
// safe for concurrent use.
type Schema interface {
	// Field is about the value under a key of the object: how it merges, and the
	// schema of the value, or of its elements if it is a list. A nil schema means
	// that nothing is known: maps merge and lists are replaced.
	Field(key string) (Schema, FieldRule)
}

// FieldRule is how one field merges. The zero value is the default: maps merge,
// everything else is replaced.
type FieldRule struct {
	// Merge makes lists merge: maps by MergeKey, scalars as a set.
	Merge bool
	// Replace makes maps be replaced.
	Replace bool
	// RetainKeys makes patches list all keys the map shall have afterwards.
	RetainKeys bool
	// MergeKey is the field that identifies the elements of a list of maps.
	MergeKey string
}

// SchemaOf is the schema of a Go struct type, or of a pointer to one, by its tags
// json, patchStrategy and patchMergeKey. Types with their own MarshalJSON have
// none. It is computed once per type.
func SchemaOf(t reflect.Type) (Schema, error) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%w: strategic merge needs a struct type, not %v", ErrMalformed, t)
	}
	return structs.get(t), nil
}

// structs holds the schemas by type. Types are few and never go away.
var structs = schemaCache{types: map[reflect.Type]*structSchema{}}

type schemaCache struct {
	mu    sync.RWMutex
	types map[reflect.Type]*structSchema
}

func (c *schemaCache) get(t reflect.Type) *structSchema {
	c.mu.RLock()
	s := c.types[t]
	c.mu.RUnlock()
	if s != nil {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.types[t]; s != nil {
		return s
	}
	s = &structSchema{fields: map[string]structField{}}
	addFields(s.fields, t)
	c.types[t] = s
	return s
}

// structSchema is a compiled struct. Field types are resolved when needed,
// so recursive types need no care.
type structSchema struct {
	fields map[string]structField
}

type structField struct {
	value reflect.Type
	rule  FieldRule
}

func (s *structSchema) Field(key string) (Schema, FieldRule) {
	f, ok := s.fields[key]
	if !ok {
		return nil, FieldRule{}
	}
	return schemaOfValue(f.value), f.rule
}

// mapSchema is a map whose values are all of one type.
type mapSchema struct {
	value reflect.Type
}

func (m mapSchema) Field(string) (Schema, FieldRule) { return schemaOfValue(m.value), FieldRule{} }

var marshalerType = reflect.TypeFor[json.Marshaler]()

// schemaOfValue is the schema of a field's value, or of the elements of a list.
func schemaOfValue(t reflect.Type) Schema {
	lists := 0
	for {
		if t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType) {
			return nil
		}
		switch t.Kind() {
		case reflect.Pointer:
			t = t.Elem()
		case reflect.Slice, reflect.Array:
			if lists++; lists > 1 {
				return nil
			}
			t = t.Elem()
		case reflect.Map:
			return mapSchema{t.Elem()}
		case reflect.Struct:
			return structs.get(t)
		default:
			return nil
		}
	}
}

func addFields(fields map[string]structField, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		inline := f.Anonymous && name == "" || strings.Contains(","+options+",", ",inline,")
		if inline {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			if embedded.Kind() == reflect.Struct {
				inner := map[string]structField{}
				addFields(inner, embedded)
				for key, field := range inner {
					if _, ok := fields[key]; !ok {
						fields[key] = field
					}
				}
				continue
			}
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields[name] = structField{value: f.Type, rule: ruleOf(f.Tag)}
	}
}

func ruleOf(tag reflect.StructTag) FieldRule {
	rule := FieldRule{MergeKey: tag.Get("patchMergeKey")}
	for strategy := range strings.SplitSeq(tag.Get("patchStrategy"), ",") {
		switch strategy {
		case "merge":
			rule.Merge = true
		case "replace":
			rule.Replace = true
		case "retainKeys":
			rule.RetainKeys = true
		}
	}
	return rule
}

// fieldOf is Field for a schema that may be nil.
func fieldOf(s Schema, key string) (Schema, FieldRule) {
	if s == nil {
		return nil, FieldRule{}
	}
	return s.Field(key)
}
