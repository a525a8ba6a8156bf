package codec

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

func (e *jsonEncoder) stringMap(b []byte, m map[string]string) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	var few mem.SmallMapEntries[string]
	for i, p := range e.pairs.entries(&few, m) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, p.Key), ':')
		b = appendString(b, p.Value)
	}
	e.pairs.forget()
	return append(b, '}')
}

// mapping writes a map by reflection, sorted by the text of its keys.
func (e *jsonEncoder) mapping(b []byte, n *node, p mem.Pointer) []byte {
	if n.quantities {
		return e.quantities(b, *mem.At[quantityMap](p))
	}
	v := n.at(p)
	if v.IsNil() {
		return append(b, "null"...)
	}
	if !e.enter() {
		return b
	}
	b = append(b, '{')
	if v.Len() > 0 {
		b = e.entries(b, n, v)
	}
	e.depth--
	return append(b, '}')
}

func (e *jsonEncoder) entries(b []byte, n *node, v reflect.Value) []byte {
	s := n.getScratch(v.Len())
	defer n.putScratch(s)
	var text func() (string, error)
	if n.key.op != opString {
		text = func() (string, error) { return e.keyText(n.key, s.keySlot) }
	}
	if err := s.load(n, v, text); err != nil {
		e.fail(err)
		return b
	}
	for i := range s.entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, s.entries[i].Key), ':')
		b = e.value(b, n.elem, s.entries[i].Value)
		if e.err != nil {
			break
		}
	}
	return b
}

// keyText is the text of a map key, as encoding/json resolves it: strings as
// they are, then the text method, then integers.
func (e *jsonEncoder) keyText(n *node, p mem.Pointer) (string, error) {
	if n.op == opString {
		return *mem.At[string](p), nil
	}
	if n.typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		v := n.at(p)
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return "", nil
		}
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		return string(text), err
	}
	switch v := n.at(p); v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.FormatUint(v.Uint(), 10), nil
	}
	return "", fmt.Errorf("codec: keys of type %v have no JSON form", n.typ)
}

func (e *jsonEncoder) object(b []byte, m map[string]any) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	if !e.enter() {
		return b
	}
	b = append(b, '{')
	base := len(e.keys)
	for k := range m {
		e.keys = append(e.keys, k)
	}
	end := len(e.keys)
	slices.Sort(e.keys[base:end])
	for i := base; i < end; i++ {
		if i > base {
			b = append(b, ',')
		}
		k := e.keys[i]
		b = append(appendString(b, k), ':')
		b = e.any(b, m[k])
		if e.err != nil {
			break
		}
	}
	clear(e.keys[base:])
	e.keys = e.keys[:base]
	e.depth--
	return append(b, '}')
}
