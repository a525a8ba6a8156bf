package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// byMethod writes a value through a method of its type.
func (e *jsonEncoder) byMethod(b []byte, n *node, p mem.Pointer) []byte {
	start := len(b)
	var err error
	switch n.enc {
	case opOwn:
		if b, err = mem.Bind[jsonAppender](&n.encIface, p).AppendJSON(b); err == nil {
			b, err = settle(b, start)
		}
	case opStd:
		var raw []byte
		if raw, err = mem.Bind[json.Marshaler](&n.encIface, p).MarshalJSON(); err == nil {
			b, err = settle(append(b, raw...), start)
		}
	case opRawJSON:
		raw := *mem.At[[]byte](p)
		if raw == nil {
			return append(b, "null"...)
		}
		b, err = settle(append(b, raw...), start)
	case opText:
		var text []byte
		if text, err = mem.Bind[encoding.TextMarshaler](&n.encIface, p).MarshalText(); err == nil {
			b = appendString(b, string(text))
		}
	case opNumber:
		s := *mem.At[string](p)
		if s == "" {
			s = "0"
		}
		b = append(b, s...)
		if end, _ := skipNumber(b, start); end != len(b) {
			err = fmt.Errorf("invalid number literal %q", s)
		}
	default:
		err = fmt.Errorf("no JSON form")
	}
	if err != nil {
		e.fail(fmt.Errorf("codec: encoding JSON: type %v: %w", n.typ, err))
		return b[:start]
	}
	return b
}

// settle checks that b[start:] is one JSON value and brings it into the form
// encoding/json gives the output of methods: compact, HTML characters escaped.
func settle(b []byte, start int) ([]byte, error) {
	if n := len(b) - start; n >= 2 && b[start] == '"' && b[len(b)-1] == '"' {
		inner := b[start+1 : len(b)-1]
		if plainLen(mem.String(inner)) == len(inner) {
			return b, nil // a plain string, as times and quantities are
		}
	}
	if plainObjects(b[start:]) {
		return b, nil
	}
	s := scanner{data: b, picky: true}
	i := skipSpace(b, start)
	end, err := s.skip(i)
	if err != nil {
		return b, err
	}
	rest := skipSpace(b, end)
	if rest != len(b) {
		return b, &DecodeError{Offset: rest - start, Msg: "more than one JSON value"}
	}
	if !s.loose && i == start && rest == end {
		return b, nil
	}
	raw := slices.Clone(b[i:end])
	return appendCompact(b[:start], raw), nil
}

// appendCompact appends the valid JSON raw without white space and with HTML
// characters escaped.
func appendCompact(b, raw []byte) []byte {
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '<' || c == '>' || c == '&':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c == 0xE2 && i+2 < len(raw) && raw[i+1] == 0x80 && raw[i+2]&^1 == 0xA8:
			b = append(b, '\\', 'u', '2', '0', '2', hexDigits[raw[i+2]&15])
			i += 2
		case c == '"':
			quoted = !quoted
			b = append(b, c)
		case quoted && c == '\\':
			b = append(b, c, raw[i+1])
			i++
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
		default:
			b = append(b, c)
		}
	}
	return b
}
