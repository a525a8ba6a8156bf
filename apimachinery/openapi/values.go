package openapi

import (
	"encoding/json"
)

// sameJSON compares decoded JSON values; 1 and 1.0 are the same.
func sameJSON(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !sameJSON(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameJSON(x[i], y[i]) {
				return false
			}
		}
		return true
	case int64:
		switch y := b.(type) {
		case int64:
			return x == y
		case float64:
			return float64(x) == y
		}
		return false
	case float64:
		switch y := b.(type) {
		case float64:
			return x == y
		case int64:
			return x == float64(y)
		}
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// canonical returns a text, the same for two values if and only if they are equal.
func canonical(v any) string {
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		v = int64(f)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?" // not a JSON value; decoding never gives one
	}
	return string(text)
}
