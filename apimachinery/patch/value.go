package patch

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// clone copies maps and lists; scalars are immutable.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = clone(value)
		}
		return out
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = clone(value)
		}
		return out
	}
	return v
}

// equal compares JSON values; numbers compare by value whatever their Go type.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case nil:
		return b == nil
	}
	x, xOK := number(a)
	y, yOK := number(b)
	return xOK && yOK && x == y
}

// numeral is a number in a comparable form: exact for integers of 64 bits, else
// as a float.
type numeral struct {
	isInt bool
	i     int64
	f     float64
}

func number(v any) (numeral, bool) {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return numeral{isInt: true, i: i}, true
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			// Beyond float64: compare as it is written.
			return numeral{}, false
		}
		return fromFloat(f), true
	case int64:
		return numeral{isInt: true, i: v}, true
	case float64:
		return fromFloat(v), true
	}
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
	case r.CanInt():
		return numeral{isInt: true, i: r.Int()}, true
	case r.CanUint():
		if u := r.Uint(); u <= 1<<63-1 {
			return numeral{isInt: true, i: int64(u)}, true
		} else {
			return numeral{f: float64(u)}, true
		}
	case r.CanFloat():
		return fromFloat(r.Float()), true
	}
	return numeral{}, false
}

func fromFloat(f float64) numeral {
	if f == float64(int64(f)) && f >= -1<<53 && f <= 1<<53 {
		return numeral{isInt: true, i: int64(f)}
	}
	return numeral{f: f}
}

// unique keeps the first of equal scalars, in place.
func unique(list []any) []any {
	seen := make(map[any]bool, len(list))
	return slices.DeleteFunc(list, func(v any) bool {
		key := canonical(v)
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

func isScalar(v any) bool {
	switch v := v.(type) {
	case map[string]any, []any:
		return false
	case json.RawMessage:
		return !composite(v)
	}
	return true
}

// shape is what elements of one list have in common.
type shape uint8

const (
	shapeEmpty shape = iota
	shapeScalars
	shapeMaps
)

// shapeOf is the common shape of the elements of merging lists. Mixed lists,
// lists of lists and nulls cannot be merged.
func shapeOf(lists ...[]any) (shape, error) {
	out := shapeEmpty
	for _, list := range lists {
		for _, v := range list {
			this := shapeScalars
			switch v.(type) {
			case map[string]any:
				this = shapeMaps
			case []any:
				return 0, notApplicable("lists of lists cannot be merged")
			case nil:
				return 0, notApplicable("null in a list that merges")
			}
			if out != shapeEmpty && out != this {
				return 0, notApplicable("list elements are not all of one kind")
			}
			out = this
		}
	}
	return out, nil
}
