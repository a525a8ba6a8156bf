package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// decodeTouched reads a JSON object as far as the patch has a say in it. Every
// other value stays a json.RawMessage, which is copied to the result as it is: a
// patch of a few fields does not pay for a whole object.
func decodeTouched(data []byte, patch map[string]any) (map[string]any, error) {
	if !codec.Valid(data) {
		return decode(data, ErrBadDocument) // for its message
	}
	data = bytes.TrimSpace(data)
	if data[0] != '{' {
		return nil, fmt.Errorf("%w: begins with %q", ErrBadDocument, data[0])
	}
	return touchedMembers(data, patch)
}

// touchedMembers is decodeTouched for a valid JSON object without white space
// around it.
func touchedMembers(data []byte, patch map[string]any) (map[string]any, error) {
	lists := listDirectives(patch)
	out := make(map[string]any, 8)
	for rest := data[1:]; ; {
		rest = skipSpace(rest)
		if rest[0] == '}' {
			return out, nil
		}
		if rest[0] == ',' {
			rest = rest[1:]
			continue
		}
		end := valueEnd(rest)
		key, err := memberName(rest[:end])
		if err != nil {
			return nil, err
		}
		rest = skipSpace(rest[end:])
		rest = skipSpace(rest[1:]) // the colon
		end = valueEnd(rest)
		if out[key], err = touchedValue(rest[:end], patch[key], lists[key]); err != nil {
			return nil, err
		}
		rest = rest[end:]
	}
}

// listDirectives are the lists that a patch orders or deletes from.
func listDirectives(patch map[string]any) map[string]bool {
	var out map[string]bool
	for key := range patch {
		if !strings.HasPrefix(key, "$") {
			continue
		}
		for _, prefix := range [...]string{setElementOrder, deletePrimitives} {
			if field, ok := strings.CutPrefix(key, prefix); ok {
				if out == nil {
					out = map[string]bool{}
				}
				out[field] = true
			}
		}
	}
	return out
}

func touchedValue(raw []byte, patch any, list bool) (any, error) {
	switch patch := patch.(type) {
	case map[string]any:
		if raw[0] == '{' {
			return touchedMembers(raw, patch)
		}
	case []any:
		list = true
	}
	if !list {
		return json.RawMessage(raw), nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrBadDocument, err)
	}
	return out, nil
}

func memberName(quoted []byte) (string, error) {
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	var name string
	if err := json.Unmarshal(quoted, &name); err != nil {
		return "", fmt.Errorf("%w: %v", ErrBadDocument, err)
	}
	return name, nil
}

func skipSpace(data []byte) []byte {
	for data[0] == ' ' || data[0] == '\n' || data[0] == '\t' || data[0] == '\r' {
		data = data[1:]
	}
	return data
}

// valueEnd is the length of the value that valid JSON begins with.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			} else if depth < 0 {
				return i // the end of what the value stands in
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
}

// appendValue appends a decoded value; raw parts are copied. Keys are sorted.
func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case json.RawMessage:
		return append(dst, v...), nil
	case json.Number:
		return append(dst, v...), nil
	case string:
		return appendString(dst, v)
	case map[string]any:
		if v == nil {
			return append(dst, "null"...), nil
		}
		var err error
		dst = append(dst, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendString(dst, key); err != nil {
				return nil, err
			}
			if dst, err = appendValue(append(dst, ':'), v[key]); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case []any:
		if v == nil {
			return append(dst, "null"...), nil
		}
		var err error
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, element); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	return appendOther(dst, v)
}

func appendString(dst []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendOther(dst, s)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"'), nil
}

// appendOther appends what encoding/json makes of a value, without escapes for
// HTML.
func appendOther(dst []byte, v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}
