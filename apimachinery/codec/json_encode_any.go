package codec

import (
	"reflect"
	"strconv"
)

// any writes the value of an interface; the types a JSON decode makes come first.
func (e *jsonEncoder) any(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return e.float(b, v, 64)
	case map[string]any:
		return e.object(b, v)
	case []any:
		if v == nil {
			return append(b, "null"...)
		}
		if !e.enter() {
			return b
		}
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.any(b, x)
			if e.err != nil {
				break
			}
		}
		e.depth--
		return append(b, ']')
	}
	return e.dynamic(b, reflect.ValueOf(v))
}

// dynamic writes what an interface of any kind holds.
func (e *jsonEncoder) dynamic(b []byte, v reflect.Value) []byte {
	if !v.IsValid() {
		return append(b, "null"...)
	}
	if !e.enter() {
		return b
	}
	defer func() { e.depth-- }()
	n, p := pointerOf(v.Interface())
	if err := n.checkJSON(); err != nil {
		e.fail(err)
		return b
	}
	if p == nil {
		return append(b, "null"...)
	}
	return e.value(b, n, p)
}
