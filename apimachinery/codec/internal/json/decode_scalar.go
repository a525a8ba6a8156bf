package json

import (
	"encoding/base64"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

func (d *decoder) word(i int, w string) bool {
	return len(d.data)-i >= len(w) && string(d.data[i:i+len(w)]) == w
}

// text reads the string at i, whose opening quote has been checked.
func (d *decoder) text(i int, interning bool) (string, int) {
	start := i + 1
	end := jsontext.StringEnd(d.data, start)
	var raw []byte
	if end < len(d.data) && d.data[end] == '"' {
		raw = d.data[start:end]
		i = end + 1
	} else if raw, i = d.unescape(start, end); i < 0 {
		return "", -1
	}
	if interning {
		if s, ok := arena.Intern(raw, &d.turn); ok {
			return s, i
		}
	}
	return d.strings.Keep(raw, len(d.data)-i), i
}

// unescape reads the rest of a string that begins at start and is plain up to
// i. The result is valid until the next call.
func (d *decoder) unescape(start, i int) ([]byte, int) {
	b := d.data
	out := append(d.scratch[:0], b[start:i]...)
	for i < len(b) {
		c := b[i]
		switch {
		case c == '"':
			d.scratch = out
			return out, i + 1
		case c == '\\':
			n, ok := jsontext.EscapeLen(b[i:])
			if !ok {
				if n == 0 {
					return nil, d.fail(len(b), jsontext.MsgEOF)
				}
				return nil, d.fail(i, jsontext.MsgEscape)
			}
			if n == 2 {
				out = append(out, shortEscape(b[i+1]))
				i += 2
				continue
			}
			r, _ := jsontext.Hex4(b[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if n, ok := jsontext.EscapeLen(b[i:]); ok && n == 6 && b[i] == '\\' {
					low, _ := jsontext.Hex4(b[i+2:])
					if pair = utf16.DecodeRune(r, low); pair != utf8.RuneError {
						i += 6
					}
				}
				r = pair
			}
			out = utf8.AppendRune(out, r)
		case c < 0x20:
			return nil, d.fail(i, jsontext.MsgString)
		case c < utf8.RuneSelf:
			end := jsontext.StringEnd(b, i)
			out = append(out, b[i:end]...)
			i = end
		default:
			r, n := utf8.DecodeRune(b[i:])
			out = utf8.AppendRune(out, r) // invalid bytes become U+FFFD
			i += n
		}
	}
	return nil, d.fail(i, jsontext.MsgEOF)
}

func shortEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// boolean reads the bool at i, whose first letter has been checked.
func (d *decoder) boolean(n *plan.Node, p mem.Pointer, i int) int {
	switch {
	case d.word(i, "true"):
		*mem.At[bool](p) = true
		return i + 4
	case d.word(i, "false"):
		*mem.At[bool](p) = false
		return i + 5
	}
	return d.mismatch(n, i)
}

func (d *decoder) integer(n *plan.Node, p mem.Pointer, i int) int {
	end, whole := jsontext.SkipNumber(d.data, i)
	if end < 0 {
		return d.fail(i, jsontext.MsgNumber)
	}
	if !whole {
		return d.mismatch(n, i)
	}
	bits := int(n.Size) * 8
	var v int64
	if end-i <= 18 {
		neg := d.data[i] == '-'
		j := i
		if neg {
			j++
		}
		for ; j < end; j++ {
			v = v*10 + int64(d.data[j]-'0')
		}
		if neg {
			v = -v
		}
		if bits < 64 && (v < -1<<(bits-1) || v > 1<<(bits-1)-1) {
			return d.mismatch(n, i)
		}
	} else {
		var err error
		if v, err = strconv.ParseInt(string(d.data[i:end]), 10, bits); err != nil {
			return d.mismatch(n, i)
		}
	}
	switch n.Size {
	case 1:
		*mem.At[int8](p) = int8(v)
	case 2:
		*mem.At[int16](p) = int16(v)
	case 4:
		*mem.At[int32](p) = int32(v)
	default:
		*mem.At[int64](p) = v
	}
	return end
}

func (d *decoder) unsigned(n *plan.Node, p mem.Pointer, i int) int {
	end, _ := jsontext.SkipNumber(d.data, i)
	if end < 0 {
		return d.fail(i, jsontext.MsgNumber)
	}
	v, err := strconv.ParseUint(string(d.data[i:end]), 10, int(n.Size)*8)
	if err != nil {
		return d.mismatch(n, i)
	}
	switch n.Size {
	case 1:
		*mem.At[uint8](p) = uint8(v)
	case 2:
		*mem.At[uint16](p) = uint16(v)
	case 4:
		*mem.At[uint32](p) = uint32(v)
	default:
		*mem.At[uint64](p) = v
	}
	return end
}

func (d *decoder) float(n *plan.Node, p mem.Pointer, i int) int {
	end, _ := jsontext.SkipNumber(d.data, i)
	if end < 0 {
		return d.fail(i, jsontext.MsgNumber)
	}
	v, err := strconv.ParseFloat(string(d.data[i:end]), int(n.Size)*8)
	if err != nil {
		return d.mismatch(n, i)
	}
	if n.Size == 4 {
		*mem.At[float32](p) = float32(v)
	} else {
		*mem.At[float64](p) = v
	}
	return end
}

// quoted reads a field with the tag option "string".
func (d *decoder) quoted(f *plan.Field, p mem.Pointer, i int) int {
	i = d.next(i)
	if i < len(d.data) && d.data[i] == 'n' {
		return d.value(f.Node, p, i, false)
	}
	if i >= len(d.data) || d.data[i] != '"' {
		return d.mismatch(f.Node, i)
	}
	s, end := d.text(i, false)
	if end < 0 {
		return -1
	}
	inner := decoder{data: []byte(s), max: 1}
	if j := inner.value(f.Node, p, 0, false); j != len(s) {
		return d.fail(i, "cannot decode string "+strconv.Quote(failure.Clip([]byte(s)))+" into "+f.Node.Type.String())
	}
	return end
}

func (d *decoder) bytes(n *plan.Node, p mem.Pointer, i int) int {
	s, end := d.raw(i)
	if end < 0 {
		return -1
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(s)))
	k, err := base64.StdEncoding.Decode(out, s)
	if err != nil {
		d.cause = err
		return d.fail(i, "cannot decode string into "+n.Type.String()+": "+err.Error())
	}
	*mem.At[[]byte](p) = out[:k:k]
	return end
}

// raw is like text but makes no string; the result is valid until the next call of unescape.
func (d *decoder) raw(i int) ([]byte, int) {
	start := i + 1
	end := jsontext.StringEnd(d.data, start)
	if end < len(d.data) && d.data[end] == '"' {
		return d.data[start:end], end + 1
	}
	return d.unescape(start, end)
}
