package managedfields

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Element is one step of a path: a field, a list item identified by its keys, an item of a set, or an index.
type Element struct {
	kind kind
	// text is the field name, or the canonical JSON of the keys or the value; equal elements have equal text.
	text string
	// parsed holds the keys or the value in text; nil until it is needed.
	parsed *keyValues
}

type keyValues struct {
	keys  []keyField // of an item, sorted by name
	value any        // of an item of a set, or the index as int64
}

type kind uint8

// The order is that of paths in a set.
const (
	fieldKind kind = iota
	keyKind
	valueKind
	indexKind
)

type keyField struct {
	name  string
	value any
}

// Field is the element of the named field.
func Field(name string) Element { return Element{text: name} }

// Key is the element of the list item whose fields have the given scalar values.
func Key(fields map[string]any) Element {
	keys := make([]keyField, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		keys = append(keys, keyField{name, fields[name]})
	}
	return Element{kind: keyKind, text: keysText(keys), parsed: &keyValues{keys: keys}}
}

// Value is the element of a set item.
func Value(v any) Element {
	return Element{kind: valueKind, text: string(appendJSON(nil, v)), parsed: &keyValues{value: v}}
}

// indexElement is the element at a position of a list.
func indexElement(i int) Element {
	return Element{kind: indexKind, text: strconv.Itoa(i), parsed: &keyValues{value: int64(i)}}
}

func keysText(keys []keyField) string {
	b := make([]byte, 0, 64)
	b = append(b, '{')
	for _, k := range keys {
		b = appendKey(b, k.name, k.value)
	}
	return string(append(b, '}'))
}

// appendKey writes one key of an item after the brace or the keys before it.
func appendKey(b []byte, name string, v any) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	b = append(appendString(b, name), ':')
	return appendJSON(b, v)
}

// appendJSON writes a JSON value as the wire form of sets has it, with <, > and & escaped.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendString(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...) // not a JSON value, which no decoded JSON contains
	}
	return append(b, text...)
}

func appendString(b []byte, s string) []byte {
	if plainString(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	text, _ := json.Marshal(s) // a string always has a JSON form
	return append(b, text...)
}

func plainString(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// appendWire writes the element as a member name of fieldsV1, quotes included.
func (e *Element) appendWire(b []byte) []byte {
	b = append(b, '"', "fkvi"[e.kind], ':')
	switch {
	case e.kind != fieldKind:
		// The text is JSON already, so only quotes and backslashes can need an escape.
		for i := range len(e.text) {
			if c := e.text[i]; c == '"' || c == '\\' {
				b = append(b, '\\')
			}
			b = append(b, e.text[i])
		}
	case plainString(e.text):
		b = append(b, e.text...)
	default:
		text, _ := json.Marshal(e.text) // a string always has a JSON form
		b = append(b, text[1:len(text)-1]...)
	}
	return append(b, '"')
}

// values reads the text of an item or value that came from the wire.
func (e *Element) values() *keyValues {
	if e.parsed != nil {
		return e.parsed
	}
	v := &keyValues{}
	switch e.kind {
	case keyKind:
		var fields map[string]any
		_ = codec.Unmarshal([]byte(e.text), &fields) // was read before
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			v.keys = append(v.keys, keyField{name, fields[name]})
		}
	default:
		_ = codec.Unmarshal([]byte(e.text), &v.value)
	}
	return v
}

// String is the element as it appears in a printed path.
func (e Element) String() string {
	switch e.kind {
	case fieldKind:
		return "." + e.text
	case keyKind:
		keys := e.values().keys
		parts := make([]string, len(keys))
		for i, k := range keys {
			parts[i] = k.name + "=" + string(appendJSON(nil, k.value))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case valueKind:
		return "[=" + e.text + "]"
	}
	return "[" + e.text + "]"
}

// parseElement reads a member name of fieldsV1.
func parseElement(name string) (Element, error) {
	if len(name) < 2 || name[1] != ':' {
		return Element{}, fmt.Errorf("%q is not a path element", name)
	}
	text := name[2:]
	switch name[0] {
	case 'f':
		return Field(text), nil
	case 'k':
		if canonicalKeys(text) {
			return Element{kind: keyKind, text: text}, nil
		}
		var fields map[string]any
		if err := codec.Unmarshal([]byte(text), &fields); err != nil {
			return Element{}, fmt.Errorf("keys %q: %w", text, err)
		}
		if len(fields) == 0 {
			return Element{}, errors.New("an item without keys")
		}
		return Key(fields), nil
	case 'v':
		if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' && plainString(text[1:len(text)-1]) {
			return Element{kind: valueKind, text: text}, nil
		}
		var v any
		if err := codec.Unmarshal([]byte(text), &v); err != nil {
			return Element{}, fmt.Errorf("value %q: %w", text, err)
		}
		return Value(v), nil
	case 'i':
		i, err := strconv.Atoi(text)
		if err != nil {
			return Element{}, fmt.Errorf("index %q: %w", text, err)
		}
		return indexElement(i), nil
	}
	return Element{}, fmt.Errorf("%q is not a path element", name)
}
