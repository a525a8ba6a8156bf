package json

import (
	"reflect"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
)

// any writes the value of an interface; the types that decoding JSON gives are tried first.
func (e *Encoder) any(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return jsontext.AppendString(b, v)
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
			if e.Err != nil {
				break
			}
		}
		e.Depth--
		return append(b, ']')
	}
	return e.dynamic(b, reflect.ValueOf(v))
}

// dynamic writes the value in an interface of any type.
func (e *Encoder) dynamic(b []byte, v reflect.Value) []byte {
	if !v.IsValid() {
		return append(b, "null"...)
	}
	if !e.enter() {
		return b
	}
	defer func() { e.Depth-- }()
	n, p := plan.PointerOf(v.Interface())
	if err := n.CheckJSON(); err != nil {
		e.fail(err)
		return b
	}
	if p == nil {
		return append(b, "null"...)
	}
	return e.Value(b, n, p)
}
