package json

import (
	"encoding"
	"encoding/json"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// byMethod reads a value through a method of its type.
func (d *decoder) byMethod(n *plan.Node, p mem.Pointer, i int) int {
	end := d.skip(i)
	if end < 0 {
		return -1
	}
	raw := d.data[i:end:end]
	var err error
	switch n.Dec {
	case plan.OpOwn:
		err = mem.Bind[plan.JSONParser](&n.DecMethods, p).ParseJSON(raw)
	case plan.OpStd:
		err = mem.Bind[json.Unmarshaler](&n.DecMethods, p).UnmarshalJSON(raw)
	case plan.OpRawJSON:
		*mem.At[[]byte](p) = append([]byte(nil), raw...)
	case plan.OpNumber:
		switch {
		case raw[0] == 'n':
		case raw[0] == '-' || jsontext.IsDigit(raw[0]):
			*mem.At[string](p) = string(raw)
		case raw[0] == '"':
			// encoding/json accepts a number in quotes, too.
			text, _ := d.raw(i)
			if stop, _ := jsontext.SkipNumber(text, 0); len(text) == 0 || stop != len(text) {
				return d.mismatch(n, i)
			}
			*mem.At[string](p) = string(text)
		default:
			return d.mismatch(n, i)
		}
	case plan.OpText:
		switch raw[0] {
		case 'n':
		case '"':
			text, _ := d.raw(i)
			err = mem.Bind[encoding.TextUnmarshaler](&n.DecMethods, p).UnmarshalText(text)
		default:
			return d.mismatch(n, i)
		}
	default:
		return d.mismatch(n, i)
	}
	if err != nil {
		d.cause = err
		return d.fail(i, err.Error())
	}
	return end
}
