package managedfields

import (
	"bytes"
	"cmp"
	"strings"
)

// compareElements orders fields before items, fields by name, items by their keys' values.
func compareElements(a, b *Element) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	switch a.kind {
	case fieldKind:
		return strings.Compare(a.text, b.text)
	case keyKind:
		if c, ok := compareTexts(a.text, b.text); ok {
			return c
		}
		x, y := a.values().keys, b.values().keys
		for i := range min(len(x), len(y)) {
			if c := cmp.Or(strings.Compare(x[i].name, y[i].name), compareValues(x[i].value, y[i].value)); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(x), len(y))
	}
	if c, ok := compareTexts(a.text, b.text); ok {
		return c
	}
	return compareValues(a.values().value, b.values().value)
}

// compareTexts orders two canonical JSON texts by their bytes where that is the order of their values: when
// they first differ inside a string, and no escapes are around.
func compareTexts(a, b string) (int, bool) {
	if a == b {
		return 0, true
	}
	inside := false
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		switch {
		case x == '\\' || y == '\\':
			return 0, false
		case x == y:
			if x == '"' {
				inside = !inside
			}
		case !inside:
			return 0, false
		case x == '"': // the shorter string comes first
			return -1, true
		case y == '"':
			return 1, true
		default:
			return cmp.Compare(x, y), true
		}
	}
	return 0, false
}

// canonicalKeys reports whether text is known to be the canonical form of one or more keys, sorted, with
// plain strings or integers as values.
func canonicalKeys(text string) bool {
	last, i := "", 1
	if len(text) < 2 || text[0] != '{' {
		return false
	}
	quoted := func() (string, bool) {
		if i >= len(text) || text[i] != '"' {
			return "", false
		}
		end := strings.IndexByte(text[i+1:], '"')
		if end < 0 || !plainString(text[i+1:i+1+end]) {
			return "", false
		}
		s := text[i+1 : i+1+end]
		i += end + 2
		return s, true
	}
	for {
		name, ok := quoted()
		if !ok || name <= last || i >= len(text) || text[i] != ':' {
			return false
		}
		last = name
		i++
		if _, ok := quoted(); !ok {
			digits := i
			for i < len(text) && text[i] >= '0' && text[i] <= '9' {
				i++
			}
			if n := i - digits; n == 0 || n > 18 || n > 1 && text[digits] == '0' {
				return false
			}
		}
		switch {
		case i == len(text)-1 && text[i] == '}':
			return true
		case i < len(text) && text[i] == ',':
			i++
		default:
			return false
		}
	}
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
