package codec

import "github.com/keelson-dev/keelson/apimachinery/internal/mem"

// A scanner walks over JSON without decoding it.
type scanner struct {
	data []byte
	max  int // depth; 0 means maxNesting
	// loose is set when there was white space or, if picky is set, a character that
	// encoding/json escapes in the output of methods.
	loose, picky bool

	depth int
}

// skip returns the end of the value that starts at i, which must not be white space.
func (s *scanner) skip(i int) (int, error) {
	if s.max == 0 {
		s.max = maxNesting
	}
	end, msg := s.value(i)
	if msg != "" {
		err := &DecodeError{Offset: end, Msg: msg}
		if msg == msgDeep {
			err.Err = ErrTooDeep
		}
		return end, err
	}
	return end, nil
}

// Valid reports whether data is one JSON value, as encoding/json's Valid does, several times as fast:
// strings need not be valid UTF-8, names may be repeated, and values nested deeper than 10,000 are not valid.
func Valid(data []byte) bool {
	s := scanner{data: data, max: maxNesting}
	end, msg := s.value(skipSpace(data, 0))
	return msg == "" && skipSpace(data, end) == len(data)
}

const (
	msgEOF    = "unexpected end of JSON input"
	msgValue  = "expected a JSON value"
	msgNumber = "invalid number"
	msgString = "invalid character in string"
	msgEscape = "invalid escape in string"
	msgKey    = "expected a string as object key"
	msgColon  = "expected ':' after object key"
	msgObject = "expected ',' or '}' after object member"
	msgArray  = "expected ',' or ']' after array element"
	msgTail   = "unexpected data after the JSON value"
	msgDeep   = "JSON nested too deeply"
)

func (s *scanner) space(i int) int {
	if i < len(s.data) && s.data[i] > ' ' {
		return i
	}
	j := skipSpace(s.data, i)
	if j != i {
		s.loose = true
	}
	return j
}

// value returns the end of the value at i, or the offset of an error and its message.
func (s *scanner) value(i int) (int, string) {
	if i >= len(s.data) {
		return i, msgEOF
	}
	switch c := s.data[i]; c {
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
		if c != '-' && !isDigit(c) {
			return i, msgValue
		}
		end, _ := skipNumber(s.data, i)
		if end < 0 {
			return i, msgNumber
		}
		return end, ""
	}
}

func (s *scanner) word(i int, w string) (int, string) {
	if len(s.data)-i >= len(w) && string(s.data[i:i+len(w)]) == w {
		return i + len(w), ""
	}
	if len(s.data)-i < len(w) && string(s.data[i:]) == w[:len(s.data)-i] {
		return len(s.data), msgEOF
	}
	return i, msgValue
}

// text returns the end of the string at i.
func (s *scanner) text(i int) (int, string) {
	b := s.data
	i++
	for i < len(b) {
		start := i
		i = stringEnd(b, i)
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
			n, ok := escapeLen(b[i:])
			if !ok {
				if n == 0 {
					return len(b), msgEOF
				}
				return i, msgEscape
			}
			i += n
		case c < 0x20:
			return i, msgString
		default:
			if c == 0xE2 {
				s.loose = true
			}
			i++
		}
	}
	return i, msgEOF
}

// escapeLen is the length of the escape b starts with. If it is not ok, 0 means that the input ended.
func escapeLen(b []byte) (n int, ok bool) {
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
		_, ok := hex4(b[2:6])
		return 6, ok
	}
	return 1, false
}

func hex4(b []byte) (rune, bool) {
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
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

func (s *scanner) array(i int) (int, string) {
	if s.depth >= s.max {
		return i, msgDeep
	}
	s.depth++
	i = s.space(i + 1)
	if i < len(s.data) && s.data[i] == ']' {
		s.depth--
		return i + 1, ""
	}
	for {
		var msg string
		if i, msg = s.value(i); msg != "" {
			return i, msg
		}
		i = s.space(i)
		if i >= len(s.data) {
			return i, msgEOF
		}
		switch s.data[i] {
		case ',':
			i = s.space(i + 1)
		case ']':
			s.depth--
			return i + 1, ""
		default:
			return i, msgArray
		}
	}
}

func (s *scanner) object(i int) (int, string) {
	if s.depth >= s.max {
		return i, msgDeep
	}
	s.depth++
	i = s.space(i + 1)
	if i < len(s.data) && s.data[i] == '}' {
		s.depth--
		return i + 1, ""
	}
	for {
		var msg string
		if i >= len(s.data) {
			return i, msgEOF
		}
		if s.data[i] != '"' {
			return i, msgKey
		}
		if i, msg = s.text(i); msg != "" {
			return i, msg
		}
		i = s.space(i)
		if i >= len(s.data) {
			return i, msgEOF
		}
		if s.data[i] != ':' {
			return i, msgColon
		}
		if i, msg = s.value(s.space(i + 1)); msg != "" {
			return i, msg
		}
		i = s.space(i)
		if i >= len(s.data) {
			return i, msgEOF
		}
		switch s.data[i] {
		case ',':
			i = s.space(i + 1)
		case '}':
			s.depth--
			return i + 1, ""
		default:
			return i, msgObject
		}
	}
}
