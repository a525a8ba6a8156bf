package jsontext

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// A Scanner walks over JSON without decoding it.
type Scanner struct {
	Data  []byte
	Depth int // of the value
	Max   int // depth allowed; 0 means failure.MaxDepth
	// loose is set when there was white space or, if picky is set, a character that
	// encoding/json escapes in the output of methods.
	loose, picky bool
}

// Skip returns the end of the value that starts at i, which must not be white space.
func (s *Scanner) Skip(i int) (int, error) {
	if s.Max == 0 {
		s.Max = failure.MaxDepth
	}
	end, msg := s.Value(i)
	if msg != "" {
		err := &failure.DecodeError{Offset: end, Msg: msg}
		if msg == MsgDeep {
			err.Err = failure.ErrTooDeep
		}
		return end, err
	}
	return end, nil
}

// Valid reports whether data is one JSON value, as encoding/json's Valid does, several times as fast:
// strings need not be valid UTF-8, names may be repeated, and values nested deeper than 10,000 are not valid.
func Valid(data []byte) bool {
	s := Scanner{Data: data, Max: failure.MaxDepth}
	end, msg := s.Value(SkipSpace(data, 0))
	return msg == "" && SkipSpace(data, end) == len(data)
}

// The messages of malformed JSON.
const (
	MsgEOF    = "unexpected end of JSON input"
	MsgValue  = "expected a JSON value"
	MsgNumber = "invalid number"
	MsgString = "invalid character in string"
	MsgEscape = "invalid escape in string"
	MsgKey    = "expected a string as object key"
	MsgColon  = "expected ':' after object key"
	MsgObject = "expected ',' or '}' after object member"
	MsgArray  = "expected ',' or ']' after array element"
	MsgTail   = "unexpected data after the JSON value"
	MsgDeep   = "JSON nested too deeply"
)

func (s *Scanner) space(i int) int {
	if i < len(s.Data) && s.Data[i] > ' ' {
		return i
	}
	j := SkipSpace(s.Data, i)
	if j != i {
		s.loose = true
	}
	return j
}

// Value returns the end of the value at i, or the offset of an error and its message.
func (s *Scanner) Value(i int) (int, string) {
	if i >= len(s.Data) {
		return i, MsgEOF
	}
	switch c := s.Data[i]; c {
	case '"':
		return s.text(i)
	case '{':
		return s.object(i)
	case '[':
		return s.array(i)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	default:
		if c != '-' && !IsDigit(c) {
			return i, MsgValue
		}
		end, _ := SkipNumber(s.Data, i)
		if end < 0 {
			return i, MsgNumber
		}
		return end, ""
	}
}

func (s *Scanner) word(i int, w string) (int, string) {
	if len(s.Data)-i >= len(w) && string(s.Data[i:i+len(w)]) == w {
		return i + len(w), ""
	}
	if len(s.Data)-i < len(w) && string(s.Data[i:]) == w[:len(s.Data)-i] {
		return len(s.Data), MsgEOF
	}
	return i, MsgValue
}

// text returns the end of the string at i.
func (s *Scanner) text(i int) (int, string) {
	b := s.Data
	i++
	for i < len(b) {
		start := i
		i = StringEnd(b, i)
		if s.picky && plainLen(mem.String(b[start:i])) < i-start {
			s.loose = true
		}
		if i == len(b) {
			break
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, ""
		case c == '\\':
			n, ok := EscapeLen(b[i:])
			if !ok {
				if n == 0 {
					return len(b), MsgEOF
				}
				return i, MsgEscape
			}
			i += n
		case c < 0x20:
			return i, MsgString
		default:
			if c == 0xE2 {
				s.loose = true
			}
			i++
		}
	}
	return i, MsgEOF
}

// EscapeLen returns the length of the escape that b starts with. If it is not ok, 0 means that the input
// ended.
func EscapeLen(b []byte) (n int, ok bool) {
	if len(b) < 2 {
		return 0, false
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, true
	case 'u':
		if len(b) < 6 {
			return 0, false
		}
		_, ok := Hex4(b[2:6])
		return 6, ok
	}
	return 1, false
}

// Hex4 returns the value of four hexadecimal digits.
func Hex4(b []byte) (rune, bool) {
	var r rune
	for _, c := range b[:4] {
		switch {
		case IsDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (s *Scanner) array(i int) (int, string) {
	if s.Depth >= s.Max {
		return i, MsgDeep
	}
	s.Depth++
	i = s.space(i + 1)
	if i < len(s.Data) && s.Data[i] == ']' {
		s.Depth--
		return i + 1, ""
	}
	for {
		var msg string
		if i, msg = s.Value(i); msg != "" {
			return i, msg
		}
		i = s.space(i)
		if i >= len(s.Data) {
			return i, MsgEOF
		}
		switch s.Data[i] {
		case ',':
			i = s.space(i + 1)
		case ']':
			s.Depth--
			return i + 1, ""
		default:
			return i, MsgArray
		}
	}
}

func (s *Scanner) object(i int) (int, string) {
	if s.Depth >= s.Max {
		return i, MsgDeep
	}
	s.Depth++
	i = s.space(i + 1)
	if i < len(s.Data) && s.Data[i] == '}' {
		s.Depth--
		return i + 1, ""
	}
	for {
		var msg string
		if i >= len(s.Data) {
			return i, MsgEOF
		}
		if s.Data[i] != '"' {
			return i, MsgKey
		}
		if i, msg = s.text(i); msg != "" {
			return i, msg
		}
		i = s.space(i)
		if i >= len(s.Data) {
			return i, MsgEOF
		}
		if s.Data[i] != ':' {
			return i, MsgColon
		}
		if i, msg = s.Value(s.space(i + 1)); msg != "" {
			return i, msg
		}
		i = s.space(i)
		if i >= len(s.Data) {
			return i, MsgEOF
		}
		switch s.Data[i] {
		case ',':
			i = s.space(i + 1)
		case '}':
			s.Depth--
			return i + 1, ""
		default:
			return i, MsgObject
		}
	}
}
