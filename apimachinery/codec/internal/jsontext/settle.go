package jsontext

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// Settle checks that b[start:] is one JSON value and converts it to the form that encoding/json gives to the
// output of methods: compact, with HTML characters escaped.
func Settle(b []byte, start int) ([]byte, error) {
	if n := len(b) - start; n >= 2 && b[start] == '"' && b[len(b)-1] == '"' {
		inner := b[start+1 : len(b)-1]
		if plainLen(mem.String(inner)) == len(inner) {
			return b, nil // a plain string, such as a time or a quantity
		}
	}
	if plainObjects(b[start:]) {
		return b, nil
	}
	s := Scanner{Data: b, picky: true}
	i := SkipSpace(b, start)
	end, err := s.Skip(i)
	if err != nil {
		return b, err
	}
	rest := SkipSpace(b, end)
	if rest != len(b) {
		return b, &failure.DecodeError{Offset: rest - start, Msg: "more than one JSON value"}
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
