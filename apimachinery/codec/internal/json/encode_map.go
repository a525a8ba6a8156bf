package json

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

func (e *Encoder) stringMap(b []byte, m map[string]string) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	var few mem.SmallMapEntries[string]
	for i, p := range e.pairs.Entries(&few, m) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontext.AppendString(b, p.Key), ':')
		b = jsontext.AppendString(b, p.Value)
	}
	e.pairs.Forget()
	return append(b, '}')
}

// mapping writes a map by reflection, sorted by the text of its keys.
func (e *Encoder) mapping(b []byte, n *plan.Node, p mem.Pointer) []byte {
	if n.Quantities {
		return e.quantities(b, *mem.At[plan.QuantityMap](p))
	}
	v := n.At(p)
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
	e.Depth--
	return append(b, '}')
}

func (e *Encoder) entries(b []byte, n *plan.Node, v reflect.Value) []byte {
	s := n.GetScratch(v.Len())
	defer n.PutScratch(s)
	var text func() (string, error)
	if n.Key.Op != plan.OpString {
		text = func() (string, error) { return e.keyText(n.Key, s.KeySlot) }
	}
	if err := s.Load(n, v, text); err != nil {
		e.fail(err)
		return b
	}
	for i := range s.Entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontext.AppendString(b, s.Entries[i].Key), ':')
		b = e.Value(b, n.Elem, s.Entries[i].Value)
		if e.Err != nil {
			break
		}
	}
	return b
}

// keyText returns the text of a map key as encoding/json does: strings as they are, then the text method,
// then integers.
func (e *Encoder) keyText(n *plan.Node, p mem.Pointer) (string, error) {
	if n.Op == plan.OpString {
		return *mem.At[string](p), nil
	}
	if n.Type.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		v := n.At(p)
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return "", nil
		}
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		return string(text), err
	}
	switch v := n.At(p); v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.FormatUint(v.Uint(), 10), nil
	}
	return "", fmt.Errorf("codec: keys of type %v have no JSON form", n.Type)
}

func (e *Encoder) object(b []byte, m map[string]any) []byte {
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
		b = append(jsontext.AppendString(b, k), ':')
		b = e.any(b, m[k])
		if e.Err != nil {
			break
		}
	}
	clear(e.keys[base:])
	e.keys = e.keys[:base]
	e.Depth--
	return append(b, '}')
}
