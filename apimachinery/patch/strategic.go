package patch

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// The directives of strategic merge patches.
const (
	directive        = "$patch"
	directiveDelete  = "delete"
	directiveReplace = "replace"
	directiveMerge   = "merge"

	retainKeys       = "$retainKeys"
	setElementOrder  = "$setElementOrder/"
	deletePrimitives = "$deleteFromPrimitiveList/"
)

// Strategic applies a strategic merge patch to an object of the Go type t, a
// struct or a pointer to one.
func Strategic(doc, patch []byte, t reflect.Type) ([]byte, error) {
	target, changes, err := decodeBoth(doc, patch)
	if err != nil {
		return nil, err
	}
	out, err := StrategicMap(target, changes, t)
	if err != nil {
		return nil, err
	}
	return encode(out, len(doc)+len(patch))
}

// StrategicMap is Strategic on decoded objects. doc is consumed: the result is
// built from it, and after an error it must not be used. The patch is left alone
// and shares nothing with the result.
func StrategicMap(doc, patch map[string]any, t reflect.Type) (map[string]any, error) {
	schema, err := SchemaOf(t)
	if err != nil {
		return nil, err
	}
	return StrategicSchema(doc, patch, schema)
}

// StrategicSchema is StrategicMap with a given schema instead of that of a Go type.
func StrategicSchema(doc, patch map[string]any, schema Schema) (map[string]any, error) {
	return applyMap(doc, patch, schema)
}

func applyMap(doc, patch map[string]any, schema Schema) (map[string]any, error) {
	if value, ok := patch[directive]; ok {
		switch value {
		case directiveReplace:
			whole := maps.Clone(patch)
			delete(whole, directive)
			out, _ := withoutDirectives(whole)
			return out.(map[string]any), nil
		case directiveDelete:
			return map[string]any{}, nil
		case directiveMerge:
		default:
			return nil, malformed("%s: unknown directive %v", directive, value)
		}
	}
	if doc == nil {
		doc = map[string]any{}
	}
	if err := applyRetainKeys(doc, patch); err != nil {
		return nil, err
	}
	ordered, err := applyElementOrders(doc, patch, schema)
	if err != nil {
		return nil, err
	}
	for key, value := range patch {
		if isDirective(key) || ordered[key] {
			continue
		}
		if err := applyField(doc, key, value, schema); err != nil {
			return nil, err
		}
	}
	// Deletions last: what is both added and deleted is deleted.
	for key, value := range patch {
		field, ok := strings.CutPrefix(key, deletePrimitives)
		if !ok {
			continue
		}
		if err := applyDeletions(doc, field, value); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func isDirective(key string) bool {
	return strings.HasPrefix(key, "$") && (key == directive || key == retainKeys ||
		strings.HasPrefix(key, setElementOrder) || strings.HasPrefix(key, deletePrimitives))
}

// applyField merges one field of the patch.
func applyField(doc map[string]any, key string, value any, schema Schema) error {
	if value == nil {
		delete(doc, key)
		return nil
	}
	sub, rule := fieldOf(schema, key)
	switch value := value.(type) {
	case map[string]any:
		if current, ok := doc[key].(map[string]any); ok {
			if rule.Replace {
				doc[key] = clone(value)
				return nil
			}
			merged, err := applyMap(current, value, sub)
			doc[key] = merged
			return err
		}
	case []any:
		if current, ok := doc[key].([]any); ok {
			if !rule.Merge {
				doc[key] = clone(value)
				return nil
			}
			merged, err := mergeLists(current, value, sub, rule.MergeKey)
			doc[key] = merged
			return err
		}
	}
	// New, or of another type: taken as it is, without nulls and directives.
	if cleaned, ok := withoutDirectives(value); ok {
		doc[key] = cleaned
	} else {
		delete(doc, key)
	}
	return nil
}

// withoutDirectives copies a value that has nothing to merge with. Maps with
// $patch are left out.
func withoutDirectives(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[directive]; ok {
			return nil, false
		}
		out := make(map[string]any, len(v))
		for key, value := range v {
			if value == nil || isDirective(key) {
				continue
			}
			if cleaned, ok := withoutDirectives(value); ok {
				out[key] = cleaned
			}
		}
		return out, true
	case []any:
		out := make([]any, 0, len(v))
		for _, value := range v {
			if cleaned, ok := withoutDirectives(value); ok {
				out = append(out, cleaned)
			}
		}
		return out, true
	}
	return v, true
}

func applyRetainKeys(doc, patch map[string]any) error {
	value, ok := patch[retainKeys]
	if !ok {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		return malformed("%s is not a list", retainKeys)
	}
	keep := make(map[string]bool, len(list))
	for _, key := range list {
		name, ok := key.(string)
		if !ok {
			return malformed("%s has an element that is no string", retainKeys)
		}
		keep[name] = true
	}
	for key, value := range patch {
		if value != nil && !isDirective(key) && !keep[key] {
			return malformed("%s does not have %q, which the patch sets", retainKeys, key)
		}
	}
	maps.DeleteFunc(doc, func(key string, _ any) bool { return !keep[key] })
	return nil
}

func applyDeletions(doc map[string]any, field string, value any) error {
	list, ok := value.([]any)
	if !ok {
		return malformed("%s%s is not a list", deletePrimitives, field)
	}
	if shape, err := shapeOf(list); err != nil || shape == shapeMaps {
		return malformed("%s%s has an element that is not a scalar", deletePrimitives, field)
	}
	current, ok := doc[field].([]any)
	if !ok {
		return nil
	}
	gone := setOf(list)
	doc[field] = slices.DeleteFunc(current, func(v any) bool { return isScalar(v) && gone[canonical(v)] })
	return nil
}
