package managedfields

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Element is one step of a path: a field, a list item told apart by its keys, an item of a set, or an index.
type Element struct {
	kind kind
	// text is the field name, or the canonical JSON of the keys or the value; equal elements have equal text.
	text string
	// keys of an item, sorted by name.
	keys []keyField
	// value of an item of a set, or the index as int64.
	value any
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
	e := Element{kind: keyKind, keys: make([]keyField, 0, len(fields))}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		e.keys = append(e.keys, keyField{name, fields[name]})
	}
	e.text = keysText(e.keys)
	return e
}

// Value is the element of a set item.
func Value(v any) Element {
	return Element{kind: valueKind, value: v, text: string(appendJSON(nil, v))}
}

// Index is the element at a position of a list.
func Index(i int) Element {
	return Element{kind: indexKind, value: int64(i), text: strconv.Itoa(i)}
}

func keysText(keys []keyField) string {
	b := make([]byte, 0, 32)
	for i, k := range keys {
		b = append(b, "{,"[min(i, 1)])
		b = appendJSON(b, k.name)
		b = append(b, ':')
		b = appendJSON(b, k.value)
	}
	if len(keys) == 0 {
		b = append(b, '{')
	}
	return string(append(b, '}'))
}

// appendJSON writes a JSON value as the wire form of sets has it, with <, > and & escaped.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		if plainString(v) {
			b = append(b, '"')
			b = append(b, v...)
			return append(b, '"')
		}
	case int64:
		return strconv.AppendInt(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...) // not a JSON value; nothing decoded from JSON is that
	}
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

// wire is the element as a member name of fieldsV1.
func (e *Element) wire() string { return "fkvi"[e.kind:e.kind+1] + ":" + e.text }

// String is the element as it appears in a printed path.
func (e Element) String() string {
	switch e.kind {
	case fieldKind:
		return "." + e.text
	case keyKind:
		parts := make([]string, len(e.keys))
		for i, k := range e.keys {
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
		var fields map[string]any
		if err := codec.Unmarshal([]byte(text), &fields); err != nil {
			return Element{}, fmt.Errorf("keys %q: %w", text, err)
		}
		if len(fields) == 0 {
			return Element{}, errors.New("an item without keys")
		}
		return Key(fields), nil
	case 'v':
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
		return Index(i), nil
	}
	return Element{}, fmt.Errorf("%q is not a path element", name)
}

// compareElements orders fields before items, fields by name, items by their keys' values.
func compareElements(a, b *Element) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	switch a.kind {
	case fieldKind:
		return strings.Compare(a.text, b.text)
	case keyKind:
		if a.text == b.text {
			return 0
		}
		for i := range min(len(a.keys), len(b.keys)) {
			x, y := &a.keys[i], &b.keys[i]
			if c := cmp.Or(strings.Compare(x.name, y.name), compareValues(x.value, y.value)); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a.keys), len(b.keys))
	}
	if a.text == b.text {
		return 0
	}
	return compareValues(a.value, b.value)
}

// compareValues orders JSON values: numbers, strings, booleans, lists, maps, null.
func compareValues(a, b any) int {
	ra, rb := rank(a), rank(b)
	if ra != rb {
		return cmp.Compare(ra, rb)
	}
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
	case bool:
		switch y := b.(bool); {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	case nil:
		return 0
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	}
	if ra == 0 {
		return cmp.Compare(float(a), float(b))
	}
	return bytes.Compare(appendJSON(nil, a), appendJSON(nil, b))
}

func rank(v any) int {
	switch v.(type) {
	case int64, float64:
		return 0
	case string:
		return 1
	case bool:
		return 2
	case []any:
		return 3
	case map[string]any:
		return 4
	}
	return 5
}

func float(v any) float64 {
	if i, ok := v.(int64); ok {
		return float64(i)
	}
	f, _ := v.(float64)
	return f
}

// Path leads from the root of an object to a value in it.
type Path []Element

// String prints the path as in .spec.containers[name="a"].image.
func (p Path) String() string {
	var b strings.Builder
	for _, e := range p {
		b.WriteString(e.String())
	}
	return b.String()
}
