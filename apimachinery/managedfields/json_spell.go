package managedfields

import (
	"bytes"
	"strconv"
	"strings"
)

// spells reports whether text, compact JSON as the codec writes it, is known to have the value v. It is false
// for escapes, and for numbers that are not integers.
func spells(text []byte, v any) bool {
	rest, ok := spelled(text, v)
	return ok && len(rest) == 0
}

// spelled returns what follows the value that text begins with; ok is false unless that value is v.
func spelled(text []byte, v any) (rest []byte, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		return spelledMembers(text, v)
	case []any:
		return spelledItems(text, v)
	case string:
		s, rest, ok := plainText(text)
		return rest, ok && string(s) == v
	case int64:
		var digits [20]byte
		rest, ok := bytes.CutPrefix(text, strconv.AppendInt(digits[:0], v, 10))
		return rest, ok && (len(rest) == 0 || strings.IndexByte(",]}", rest[0]) >= 0)
	case bool:
		var word [5]byte
		return bytes.CutPrefix(text, strconv.AppendBool(word[:0], v))
	}
	return nil, false
}

func spelledMembers(text []byte, m map[string]any) (rest []byte, ok bool) {
	if text, ok = bytes.CutPrefix(text, []byte("{")); !ok {
		return nil, false
	}
	for n := range len(m) {
		if n > 0 {
			if text, ok = bytes.CutPrefix(text, []byte(",")); !ok {
				return nil, false
			}
		}
		name, after, ok := plainText(text)
		if !ok || len(after) == 0 || after[0] != ':' {
			return nil, false
		}
		v, there := m[string(name)]
		if !there {
			return nil, false
		}
		if text, ok = spelled(after[1:], v); !ok {
			return nil, false
		}
	}
	return bytes.CutPrefix(text, []byte("}"))
}

func spelledItems(text []byte, list []any) (rest []byte, ok bool) {
	if text, ok = bytes.CutPrefix(text, []byte("[")); !ok {
		return nil, false
	}
	for i, v := range list {
		if i > 0 {
			if text, ok = bytes.CutPrefix(text, []byte(",")); !ok {
				return nil, false
			}
		}
		if text, ok = spelled(text, v); !ok {
			return nil, false
		}
	}
	return bytes.CutPrefix(text, []byte("]"))
}

// plainText returns the string that text begins with, and what follows; ok is false if it holds an escape.
func plainText(text []byte) (s, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, false
	}
	end := bytes.IndexByte(text[1:], '"') + 1
	if end == 0 || bytes.IndexByte(text[1:end], '\\') >= 0 {
		return nil, nil, false
	}
	return text[1:end], text[end+1:], true
}
