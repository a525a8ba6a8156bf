package json

import (
	"encoding"
	"encoding/json"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// byMethod writes a value through a method of its type.
func (e *Encoder) byMethod(b []byte, n *plan.Node, p mem.Pointer) []byte {
	start := len(b)
	var err error
	switch n.Enc {
	case plan.OpOwn:
		if b, err = mem.Bind[plan.JSONAppender](&n.EncMethods, p).AppendJSON(b); err == nil {
			b, err = jsontext.Settle(b, start)
		}
	case plan.OpStd:
		var raw []byte
		if raw, err = mem.Bind[json.Marshaler](&n.EncMethods, p).MarshalJSON(); err == nil {
			b, err = jsontext.Settle(append(b, raw...), start)
		}
	case plan.OpRawJSON:
		raw := *mem.At[[]byte](p)
		if raw == nil {
			return append(b, "null"...)
		}
		b, err = jsontext.Settle(append(b, raw...), start)
	case plan.OpText:
		var text []byte
		if text, err = mem.Bind[encoding.TextMarshaler](&n.EncMethods, p).MarshalText(); err == nil {
			b = jsontext.AppendString(b, string(text))
		}
	case plan.OpNumber:
		s := *mem.At[string](p)
		if s == "" {
			s = "0"
		}
		b = append(b, s...)
		if end, _ := jsontext.SkipNumber(b, start); end != len(b) {
			err = fmt.Errorf("invalid number literal %q", s)
		}
	default:
		err = fmt.Errorf("no JSON form")
	}
	if err != nil {
		e.fail(fmt.Errorf("codec: encoding JSON: type %v: %w", n.Type, err))
		return b[:start]
	}
	return b
}
