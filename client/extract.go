package client

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Extract returns the part of obj that manager has applied (server-side apply) to the object itself or, if
// subresource is not empty, through that subresource: its key and the fields the manager owns. Applying the
// result again changes nothing; dropping a field from it and applying releases the field. A manager that owns
// nothing gets an object with only a key. obj must carry its managed fields: an informer drops them unless
// SetOptions.KeepManagedFields says otherwise.
func Extract[T metav1.Object](obj T, manager, subresource string) (T, error) {
	var zero T
	raw, err := codec.Marshal(obj)
	if err != nil {
		return zero, fmt.Errorf("client: extract: %w", err)
	}
	var tree map[string]any
	if err := codec.Unmarshal(raw, &tree); err != nil {
		return zero, fmt.Errorf("client: extract: %w", err)
	}
	owned := map[string]any{}
	for _, mf := range metav1.MetaOf(obj).ManagedFields {
		if mf.Manager != manager || mf.Operation != metav1.ManagedFieldsOperationApply || mf.Subresource != subresource || mf.FieldsV1 == nil {
			continue
		}
		var set map[string]any
		if err := json.Unmarshal(mf.FieldsV1.Raw, &set); err != nil {
			return zero, fmt.Errorf("client: extract: the managed fields of %s: %w", manager, err)
		}
		if part, ok := pick(tree, set).(map[string]any); ok {
			owned = part
		}
	}
	meta, _ := owned["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["name"] = obj.GetName()
	if ns := obj.GetNamespace(); ns != "" {
		meta["namespace"] = ns
	}
	owned["metadata"] = meta
	for _, k := range []string{"apiVersion", "kind"} {
		if v, ok := tree[k]; ok {
			owned[k] = v
		}
	}
	if raw, err = codec.Marshal(owned); err != nil {
		return zero, fmt.Errorf("client: extract: %w", err)
	}
	out := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(T)
	if err := codec.Unmarshal(raw, out); err != nil {
		return zero, fmt.Errorf("client: extract: %w", err)
	}
	return out, nil
}

// pick returns the parts of v that are in set (the JSON form of fieldsV1). An empty set stands for the whole
// value; "." alone for a container that is owned without its content.
func pick(v any, set map[string]any) any {
	if len(set) == 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, sub := range set {
			name, ok := strings.CutPrefix(k, "f:")
			if child, there := v[name]; ok && there {
				subset, _ := sub.(map[string]any)
				out[name] = pick(child, subset)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			for k, sub := range set {
				if selects(k, e) {
					subset, _ := sub.(map[string]any)
					out = append(out, pickElement(e, subset, k))
				}
			}
		}
		return out
	}
	return v
}

// pickElement is pick for a list element, which keeps its key fields in any case.
func pickElement(e any, set map[string]any, key string) any {
	part := pick(e, set)
	if raw, ok := strings.CutPrefix(key, "k:"); ok {
		var keys map[string]any
		if m, isMap := part.(map[string]any); isMap && json.Unmarshal([]byte(raw), &keys) == nil {
			for k := range keys {
				if v, there := e.(map[string]any)[k]; there {
					m[k] = v
				}
			}
		}
	}
	return part
}

// selects reports whether a path element (k:{...} or v:...) names the list element e.
func selects(element string, e any) bool {
	if raw, ok := strings.CutPrefix(element, "k:"); ok {
		var keys map[string]any
		m, isMap := e.(map[string]any)
		if !isMap || json.Unmarshal([]byte(raw), &keys) != nil {
			return false
		}
		for k, want := range keys {
			if got, there := m[k]; there && !sameScalar(got, want) {
				return false
			}
		}
		return true
	}
	if raw, ok := strings.CutPrefix(element, "v:"); ok {
		var want any
		return json.Unmarshal([]byte(raw), &want) == nil && sameScalar(e, want)
	}
	return false
}

func sameScalar(a, b any) bool { return fmt.Sprint(number(a)) == fmt.Sprint(number(b)) }

func number(v any) any {
	if i, ok := v.(int64); ok {
		return float64(i)
	}
	return v
}
