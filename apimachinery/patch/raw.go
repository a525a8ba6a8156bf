package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// decodeTouched decodes the parts of a JSON object that the patch can change. Every
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
	return touchedMembers(data, patch, false)
}

// touchedMembers is decodeTouched for a valid JSON object without white space
// around it. Of an element of a list, which its merge key may identify, all scalars are read.
func touchedMembers(data []byte, patch map[string]any, element bool) (map[string]any, error) {
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
		key, err := unquote(rest[:end])
		if err != nil {
			return nil, err
		}
		rest = skipSpace(rest[end:])
		rest = skipSpace(rest[1:]) // the colon
		end = valueEnd(rest)
		raw := rest[:end]
		rest = rest[end:]
		if element && !composite(raw) {
			out[key], err = decodeValue(raw)
		} else {
			out[key], err = touchedValue(raw, patch[key], lists[key])
		}
		if err != nil {
			return nil, err
		}
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
	var elements []any
	switch patch := patch.(type) {
	case map[string]any:
		if raw[0] == '{' {
			return touchedMembers(raw, patch, false)
		}
	case []any:
		list, elements = true, patch
	case everything:
		return decodeValue(raw)
	}
	if !list {
		return json.RawMessage(raw), nil
	}
	if raw[0] != '[' {
		return decodeValue(raw)
	}
	return touchedElements(raw, elements)
}

// touchedElements decodes a list. Each element of the patch may refer to any element of the list.
func touchedElements(raw []byte, patch []any) ([]any, error) {
	touched := map[string]any{}
	for _, element := range patch {
		if element, ok := element.(map[string]any); ok {
			touch(touched, element)
		}
	}
	out := []any{}
	for rest := raw[1:]; ; {
		rest = skipSpace(rest)
		if rest[0] == ']' {
			return out, nil
		}
		if rest[0] == ',' {
			rest = rest[1:]
			continue
		}
		end := valueEnd(rest)
		var v any
		var err error
		if rest[0] == '{' {
			v, err = touchedMembers(rest[:end], touched, true)
		} else {
			v, err = decodeValue(rest[:end])
		}
		if err != nil {
			return nil, err
		}
		out, rest = append(out, v), rest[end:]
	}
}

// everything in a patch stands for an arbitrary change.
type everything struct{}

// touch adds what patch touches to touched. Scalars replace any value, so that it need not be read.
func touch(touched, patch map[string]any) {
	for key, value := range patch {
		switch value := value.(type) {
		case map[string]any:
			switch before := touched[key].(type) {
			case nil:
				touched[key] = clone(value)
			case map[string]any:
				touch(before, value)
			default:
				touched[key] = everything{}
			}
		case []any:
			switch before := touched[key].(type) {
			case nil:
				touched[key] = value
			case []any:
				touched[key] = slices.Concat(before, value)
			default:
				touched[key] = everything{}
			}
		}
	}
}

// composite reports whether the value is a JSON object or array.
func composite(raw []byte) bool { return raw[0] == '{' || raw[0] == '[' }

// decodeValue reads a valid JSON value and keeps numbers as they are written.
func decodeValue(raw []byte) (any, error) {
	if composite(raw) {
		v, _, err := decodeComposite(raw)
		return v, err
	}
	switch raw[0] {
	case '"':
		return unquote(raw)
	case 't', 'f':
		return raw[0] == 't', nil
	case 'n':
		return nil, nil
	}
	return json.Number(raw), nil
}

// decodeComposite reads the object or array that valid JSON begins with, and returns what follows it. It
// reads as encoding/json does, whose decoder takes more than twice as long.
func decodeComposite(data []byte) (v any, rest []byte, err error) {
	object, list := map[string]any(nil), []any{}
	closing := byte(']')
	if data[0] == '{' {
		object, closing = map[string]any{}, '}'
	}
	for rest = data[1:]; ; {
		rest = skipSpace(rest)
		switch rest[0] {
		case closing:
			if object != nil {
				return object, rest[1:], nil
			}
			return list, rest[1:], nil
		case ',':
			rest = rest[1:]
			continue
		}
		key := ""
		if object != nil {
			end := valueEnd(rest)
			if key, err = unquote(rest[:end]); err != nil {
				return nil, nil, err
			}
			rest = skipSpace(rest[end:])
			rest = skipSpace(rest[1:]) // the colon
		}
		var value any
		if composite(rest) {
			value, rest, err = decodeComposite(rest)
		} else {
			end := valueEnd(rest)
			value, err = decodeValue(rest[:end])
			rest = rest[end:]
		}
		if err != nil {
			return nil, nil, err
		}
		if object != nil {
			object[key] = value
		} else {
			list = append(list, value)
		}
	}
}

// unquote reads a JSON string, as encoding/json does: what is not UTF-8 becomes U+FFFD.
func unquote(quoted []byte) (string, error) {
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
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
				return i // the end of the enclosing value
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
		var few [16]string
		keys := slices.AppendSeq(few[:0], maps.Keys(v))
		slices.Sort(keys)
		dst = append(dst, '{')
		for i, key := range keys {
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
