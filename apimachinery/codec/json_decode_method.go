package codec

import (
	"encoding"
	"encoding/json"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// byMethod reads a value through a method of its type.
func (d *jsonDecoder) byMethod(n *node, p mem.Pointer, i int) int {
	end := d.skip(i)
	if end < 0 {
		return -1
	}
	raw := d.data[i:end:end]
	var err error
	switch n.dec {
	case opOwn:
		err = mem.Bind[jsonParser](&n.decIface, p).ParseJSON(raw)
	case opStd:
		err = mem.Bind[json.Unmarshaler](&n.decIface, p).UnmarshalJSON(raw)
	case opRawJSON:
		*mem.At[[]byte](p) = append([]byte(nil), raw...)
	case opNumber:
		switch {
		case raw[0] == 'n':
		case raw[0] == '-' || isDigit(raw[0]):
			*mem.At[string](p) = string(raw)
		case raw[0] == '"':
			// encoding/json takes a number in quotes, too.
			text, _ := d.raw(i)
			if stop, _ := skipNumber(text, 0); len(text) == 0 || stop != len(text) {
				return d.mismatch(n, i)
			}
			*mem.At[string](p) = string(text)
		default:
			return d.mismatch(n, i)
		}
	case opText:
		switch raw[0] {
		case 'n':
		case '"':
			text, _ := d.raw(i)
			err = mem.Bind[encoding.TextUnmarshaler](&n.decIface, p).UnmarshalText(text)
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
