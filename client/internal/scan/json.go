package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

func malformed(what string, at int) error {
	return fmt.Errorf("%w: %s at byte %d", ErrMalformed, what, at)
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at b[i] == '"', or -1.
func skipString(b []byte, i int) int {
	i++
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		end := i + n
		back := end
		for back > i && b[back-1] == '\\' {
			back--
		}
		if (end-back)%2 == 0 {
			return end + 1
		}
		i = end + 1
	}
}

// skipValue returns the index after the value that starts at b[i], or -1. Brackets are only counted: errors
// are left to a decoder.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				if i = skipString(b, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	start := i
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			if i == start {
				return -1
			}
			return i
		}
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// Members calls f for every member of the JSON object b with the raw key (without quotes), the
// value, and the range of the whole member. f returns false to stop.
func Members(b []byte, f func(key, value []byte, from, to int) bool) error {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return malformed("want an object", i)
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return nil
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return malformed("want a member", i)
		}
		from := i
		end := skipString(b, i)
		if end < 0 {
			return malformed("unfinished string", i)
		}
		key := b[i+1 : end-1]
		i = space(b, end)
		if i >= len(b) || b[i] != ':' {
			return malformed("want a colon", i)
		}
		i = space(b, i+1)
		end = skipValue(b, i)
		if end < 0 {
			return malformed("unfinished value", i)
		}
		if !f(key, b[i:end], from, end) {
			return nil
		}
		i = space(b, end)
		if i >= len(b) {
			return malformed("unfinished object", i)
		}
		if b[i] == '}' {
			return nil
		}
		if b[i] != ',' {
			return malformed("want a comma", i)
		}
		i = space(b, i+1)
	}
}

// Elements calls f for every element of the JSON array b; null has none.
func Elements(b []byte, f func(value []byte) bool) error {
	i := space(b, 0)
	if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		return nil
	}
	if i >= len(b) || b[i] != '[' {
		return malformed("want an array", i)
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return nil
	}
	for {
		end := skipValue(b, i)
		if end < 0 {
			return malformed("unfinished value", i)
		}
		if !f(b[i:end]) {
			return nil
		}
		i = space(b, end)
		if i >= len(b) {
			return malformed("unfinished array", i)
		}
		if b[i] == ']' {
			return nil
		}
		if b[i] != ',' {
			return malformed("want a comma", i)
		}
		i = space(b, i+1)
	}
}

// Text is the string a JSON value holds: aliased if it has no escapes; "" for anything else.
func Text(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return str(v[1 : len(v)-1])
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// JSONMeta reads the metadata of a JSON object.
func JSONMeta(b []byte) (Meta, error) {
	var m Meta
	var metaErr error
	err := Members(b, func(key, value []byte, _, _ int) bool {
		switch string(key) {
		case "apiVersion":
			m.APIVersion = Text(value)
		case "kind":
			m.Kind = Text(value)
		case "metadata":
			metaErr = m.readJSON(value)
		}
		return true
	})
	if err == nil {
		err = metaErr
	}
	return m, err
}

func (m *Meta) readJSON(meta []byte) error {
	if len(meta) > 0 && meta[0] == 'n' {
		return nil
	}
	var inner error
	err := Members(meta, func(key, value []byte, _, _ int) bool {
		switch string(key) {
		case "name":
			m.Name = Text(value)
		case "namespace":
			m.Namespace = Text(value)
		case "uid":
			m.UID = Text(value)
		case "resourceVersion":
			m.ResourceVersion = Text(value)
		case "generation":
			m.Generation, _ = strconv.ParseInt(str(value), 10, 64)
		case "deletionTimestamp":
			m.Terminating = len(value) > 0 && value[0] == '"'
		case "finalizers":
			inner = Elements(value, func([]byte) bool { m.Finalizers++; return true })
		case "labels":
			if len(value) > 0 && value[0] == '{' {
				inner = Members(value, func(k, v []byte, _, _ int) bool {
					m.Labels = append(m.Labels, Pair{quoted(k), Text(v)})
					return true
				})
			}
		case "annotations":
			if bytes.Contains(value, []byte(initialEventsEnd)) {
				inner = Members(value, func(k, v []byte, _, _ int) bool {
					if string(k) == initialEventsEnd && Text(v) == "true" {
						m.InitialEventsEnd = true
						return false
					}
					return true
				})
			}
		}
		return inner == nil
	})
	if err == nil {
		err = inner
	}
	return err
}

// quoted is the text of a raw key.
func quoted(k []byte) string {
	if bytes.IndexByte(k, '\\') < 0 {
		return str(k)
	}
	var s string
	if json.Unmarshal([]byte(`"`+string(k)+`"`), &s) != nil {
		return ""
	}
	return s
}

// JSONList reads a list: its version, its continue token, its items. TypeMeta of items may be absent.
func JSONList(b []byte, item func(raw []byte)) (version, cont string, remaining int64, err error) {
	var inner error
	err = Members(b, func(key, value []byte, _, _ int) bool {
		switch string(key) {
		case "metadata":
			inner = Members(value, func(k, v []byte, _, _ int) bool {
				switch string(k) {
				case "resourceVersion":
					version = string(append([]byte(nil), Text(v)...))
				case "continue":
					cont = string(append([]byte(nil), Text(v)...))
				case "remainingItemCount":
					remaining, _ = strconv.ParseInt(string(v), 10, 64)
				}
				return true
			})
		case "items":
			inner = Elements(value, func(v []byte) bool { item(v); return true })
		}
		return inner == nil
	})
	if err == nil {
		err = inner
	}
	return version, cont, remaining, err
}

// JSONWithoutManaged returns a copy of the object without metadata.managedFields, of exactly the needed size.
func JSONWithoutManaged(b []byte) []byte {
	from, to := -1, -1
	_ = Members(b, func(key, value []byte, _, end int) bool {
		if string(key) != "metadata" {
			return true
		}
		base := end - len(value)
		_ = Members(value, func(k, _ []byte, f, t int) bool {
			if string(k) == "managedFields" {
				from, to = base+f, base+t
				return false
			}
			return true
		})
		return false
	})
	if from < 0 {
		return bytes.Clone(b)
	}
	// One of the commas around the member is removed with it.
	if next := space(b, to); next < len(b) && b[next] == ',' {
		to = next + 1
	} else {
		for prev := from - 1; prev >= 0; prev-- {
			if b[prev] == ',' {
				from = prev
				break
			}
			if b[prev] == '{' {
				break
			}
		}
	}
	out := make([]byte, len(b)-(to-from))
	copy(out[copy(out, b[:from]):], b[to:])
	return out
}
