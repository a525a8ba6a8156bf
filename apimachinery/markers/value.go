package markers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
)

// split splits the text of arguments at sep, but not within quotes and braces.
func split(text string, sep byte) (out []string) {
	for {
		i := index(text, sep)
		if i < 0 {
			return append(out, strings.TrimSpace(text))
		}
		out = append(out, strings.TrimSpace(text[:i]))
		text = text[i+1:]
	}
}

// index returns the index of the first sep that is not within quotes or braces, -1 if there is none.
func index(text string, sep byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '`':
			i = closing(text, i)
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == sep && depth <= 0:
			return i
		}
	}
	return -1
}

// closing returns the index of the quote that ends the string that begins at i; of the end if there is none.
func closing(text string, i int) int {
	quote := text[i]
	for i++; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote:
			return i
		}
	}
	return len(text) - 1
}

// unquote returns the value of a string with or without quotes.
func unquote(text string) (string, error) {
	if text == "" || text[0] != '"' && text[0] != '`' {
		return text, nil
	}
	if len(text) > 1 && text[0] == '`' && text[len(text)-1] == '`' {
		return text[1 : len(text)-1], nil
	}
	out, err := strconv.Unquote(text)
	if err != nil {
		return "", fmt.Errorf("%s is not a quoted string", text)
	}
	return out, nil
}

// listOf returns the values of a;b or {a,b}.
func listOf(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	sep := byte(';')
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		text, sep = text[1:len(text)-1], ','
	}
	out := split(text, sep)
	for i, part := range out {
		var err error
		if out[i], err = unquote(part); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// valueOf returns a value of any type: {} and {a: 1} are objects, {1,2} and 1;2 are lists, what is a number,
// true or false is that, and everything else is a string, which quotes make of anything.
func valueOf(text string) (any, error) {
	switch {
	case text == "":
		return nil, fmt.Errorf("a value is missing")
	case text[0] == '[':
		return nil, fmt.Errorf("a list is written {1,2}")
	case text[0] == '{' && text[len(text)-1] == '}':
		return bracedValue(strings.TrimSpace(text[1 : len(text)-1]))
	case text[0] != '"' && text[0] != '`':
		if parts := split(text, ';'); len(parts) > 1 {
			return valuesOf(parts)
		}
	}
	if text == "true" || text == "false" {
		return text == "true", nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "-0123456789") {
		return json.Number(text), nil
	}
	return unquote(text)
}

func valuesOf(parts []string) (any, error) {
	out := make([]any, len(parts))
	for i, part := range parts {
		var err error
		if out[i], err = valueOf(part); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bracedValue is the value of what is in braces.
func bracedValue(text string) (any, error) {
	out := map[string]any{}
	if text == "" {
		return out, nil
	}
	parts := split(text, ',')
	if index(parts[0], ':') < 0 {
		return valuesOf(parts)
	}
	for _, part := range parts {
		i := index(part, ':')
		if i < 0 {
			return nil, fmt.Errorf("%q has no key", part)
		}
		key, err := unquote(strings.TrimSpace(part[:i]))
		if err != nil {
			return nil, err
		}
		if out[key], err = valueOf(strings.TrimSpace(part[i+1:])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// jsonOf returns the JSON of a value of any type.
func jsonOf(text string) (apiextensionsv1.JSON, error) {
	v, err := valueOf(text)
	if err != nil {
		return apiextensionsv1.JSON{}, err
	}
	raw, err := json.Marshal(v)
	return apiextensionsv1.JSON{Raw: raw}, err
}

// text returns the named argument as a string, "" if it is not given.
func (m mark) text(name string) (string, error) {
	s, err := unquote(m.args[name])
	if err != nil {
		return "", m.errorf("%s: %w", name, err)
	}
	return s, nil
}

// list returns the named argument as a list, nil if it is not given.
func (m mark) list(name string) ([]string, error) {
	l, err := listOf(m.args[name])
	if err != nil {
		return nil, m.errorf("%s: %w", name, err)
	}
	return l, nil
}

// number returns the named argument as an integer, nil if it is not given.
func (m mark) number(name string) (*int32, error) {
	text, ok := m.args[name]
	if !ok {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, m.errorf("%s: %q is not a number", name, text)
	}
	return new(int32(n)), nil
}

// flag returns the named argument, or with an empty name the only one, as a boolean.
func (m mark) flag(name string) (bool, error) {
	text := m.args[name]
	if name == "" {
		if text = m.value; !m.given {
			text = "true"
		}
	}
	switch text {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	}
	return false, m.errorf("%s: %q is not true or false", name, text)
}
