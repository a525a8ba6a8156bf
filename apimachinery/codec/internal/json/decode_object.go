package json

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// keyBytes reads an object key at i and the colon after it. The result is valid
// until the next call of unescape.
func (d *decoder) keyBytes(i int) ([]byte, int) {
	b := d.data
	i = d.next(i)
	if i >= len(b) {
		return nil, d.fail(i, jsontext.MsgEOF)
	}
	if b[i] != '"' {
		return nil, d.fail(i, jsontext.MsgKey)
	}
	start := i + 1
	end := jsontext.StringEnd(b, start)
	var raw []byte
	if end < len(b) && b[end] == '"' {
		raw, i = b[start:end], end+1
	} else if raw, i = d.unescape(start, end); i < 0 {
		return nil, -1
	}
	i = d.next(i)
	if i >= len(b) {
		return nil, d.fail(i, jsontext.MsgEOF)
	}
	if b[i] != ':' {
		return nil, d.fail(i, jsontext.MsgColon)
	}
	return raw, i + 1
}

// more reads the byte after a member or element, and reports whether it is a comma rather than the closing
// byte.
func (d *decoder) more(i int, closing byte, msg string) (int, bool) {
	i = d.next(i)
	if i >= len(d.data) {
		return d.fail(i, jsontext.MsgEOF), false
	}
	switch d.data[i] {
	case ',':
		return i + 1, true
	case closing:
		return i + 1, false
	}
	return d.fail(i, msg), false
}

// empty reports whether the object or array opened before i is empty.
func (d *decoder) empty(i int, closing byte) (int, bool) {
	i = d.next(i)
	if i < len(d.data) && d.data[i] == closing {
		return i + 1, true
	}
	return i, false
}

func (d *decoder) structure(n *plan.Node, p mem.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	i, done := d.empty(i+1, '}')
	if done {
		d.depth--
		return i
	}
	var seen fieldSet
	expected := 0
	for more := true; more; {
		// Encoders write fields in the order of the struct, so the field after the last one is tried first.
		var f *plan.Field
		k := -1
		if expected < len(n.Fields) {
			name := n.Fields[expected].Key[1:]
			if len(d.data)-i > len(name) && string(d.data[i:i+len(name)]) == string(name) {
				k, f = expected, &n.Fields[expected]
				i += len(name)
			}
		}
		if f == nil {
			var name []byte
			if name, i = d.keyBytes(i); i < 0 {
				return -1
			}
			if k = n.Find(name); k < 0 {
				if i = d.unknownMember(n, p, name, i); i < 0 {
					return -1
				}
				i, more = d.more(i, '}', jsontext.MsgObject)
				if more {
					i = d.next(i)
				}
				if i < 0 {
					return -1
				}
				continue
			}
			f = &n.Fields[k]
		}
		expected = k + 1
		if d.strict && !seen.add(k) {
			d.duplicate(f.Name)
		}
		q := mem.Add(p, f.Off)
		if f.Indirect {
			q = f.Reach(p)
		}
		before := len(d.issues)
		if f.Quoted {
			i = d.quoted(f, q, i)
		} else {
			i = d.value(f.Node, q, i, f.Intern)
		}
		if i < 0 || len(d.issues) > before {
			d.within(i, before, failure.Member(f.Name))
			if i < 0 {
				return -1
			}
		}
		if i, more = d.more(i, '}', jsontext.MsgObject); i < 0 {
			return -1
		}
		if more {
			i = d.next(i)
		}
	}
	d.depth--
	return i
}

func (d *decoder) leave() { d.depth-- }

// A fieldSet is the set of fields of a struct that were read.
type fieldSet struct {
	low  uint64
	high map[int]bool
}

// add reports false if k was in the set already.
func (s *fieldSet) add(k int) bool {
	if k < 64 {
		was := s.low
		s.low |= 1 << k
		return s.low != was
	}
	if s.high[k] {
		return false
	}
	if s.high == nil {
		s.high = map[int]bool{}
	}
	s.high[k] = true
	return true
}

// unknownMember reads a member without a field: into the collecting field if there is one.
func (d *decoder) unknownMember(n *plan.Node, p mem.Pointer, name []byte, i int) int {
	if n.Unknown == nil {
		if d.strict {
			d.unknown(string(name))
		}
		return d.skip(i)
	}
	key := string(name)
	m := mem.At[map[string]any](mem.Add(p, n.Unknown.Off))
	if *m == nil {
		*m = map[string]any{}
	} else if d.strict {
		if _, dup := (*m)[key]; dup {
			d.duplicate(key)
		}
	}
	before := len(d.issues)
	v, i := d.any(d.next(i))
	if i < 0 || len(d.issues) > before {
		d.within(i, before, failure.Member(key))
	}
	if i >= 0 {
		(*m)[key] = v
	}
	return i
}

// skip reads over a value.
func (d *decoder) skip(i int) int {
	s := jsontext.Scanner{Data: d.data, Max: d.max, Depth: d.depth}
	end, msg := s.Value(d.next(i))
	if msg != "" {
		if msg == jsontext.MsgDeep {
			d.cause = failure.ErrTooDeep
		}
		return d.fail(end, msg)
	}
	return end
}

func (d *decoder) mapKey(name []byte, i int) string {
	if s, ok := arena.Intern(name, &d.turn); ok {
		return s
	}
	return d.strings.Keep(name, len(d.data)-i)
}

func (d *decoder) stringMap(n *plan.Node, p mem.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	// Maps between types of kind string all have the layout of map[string]string.
	m, index := *mem.At[map[string]string](p), -1
	if m == nil {
		m, index = arena.NewMap[string](d.slab, n.MapKind)
		*mem.At[map[string]string](p) = m
	}
	i, done := d.empty(i+1, '}')
	for more := !done; more; {
		var name []byte
		if name, i = d.keyBytes(i); i < 0 {
			return -1
		}
		key := d.mapKey(name, i)
		if d.strict {
			if _, dup := m[key]; dup {
				d.duplicate(key)
			}
		}
		d.value1 = ""
		if i = d.value(n.Elem, mem.Of(&d.value1), i, n.Elem.Intern); i < 0 {
			d.within(i, 0, failure.Member(key))
			return -1
		}
		m[key] = d.value1
		if i, more = d.more(i, '}', jsontext.MsgObject); i < 0 {
			return -1
		}
	}
	d.slab.SetMapLen(index, len(m))
	return i
}

// mapping reads an object into a map of any type, by reflection.
func (d *decoder) mapping(n *plan.Node, p mem.Pointer, i int) int {
	if n.Quantities {
		return d.quantities(n, p, i)
	}
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	v := n.At(p)
	if v.IsNil() {
		v.Set(reflect.MakeMap(n.Type))
	}
	i, done := d.empty(i+1, '}')
	if done {
		return i
	}
	key, elem := reflect.New(n.Key.Type), reflect.New(n.Elem.Type)
	kp, ep := key.UnsafePointer(), elem.UnsafePointer()
	for more := true; more; {
		at := d.next(i)
		var name []byte
		if name, i = d.keyBytes(i); i < 0 {
			return -1
		}
		text := d.mapKey(name, i)
		if err := setKey(n, kp, text); err != nil {
			d.cause = err
			return d.fail(at, "cannot decode key "+strconv.Quote(failure.Clip([]byte(text)))+" into "+n.Key.Type.String())
		}
		before := len(d.issues)
		if d.strict && v.MapIndex(key.Elem()).IsValid() {
			d.duplicate(text)
			before = len(d.issues)
		}
		i = d.value(n.Elem, ep, i, n.Elem.Intern)
		if i < 0 || len(d.issues) > before {
			d.within(i, before, failure.Member(text))
			if i < 0 {
				return -1
			}
		}
		v.SetMapIndex(key.Elem(), elem.Elem())
		elem.Elem().SetZero()
		if i, more = d.more(i, '}', jsontext.MsgObject); i < 0 {
			return -1
		}
	}
	return i
}

// setKey sets the map key at p from its text.
func setKey(n *plan.Node, p mem.Pointer, text string) error {
	if n.Key.Type != reflect.TypeFor[string]() {
		if u, ok := n.Key.At(p).Addr().Interface().(encoding.TextUnmarshaler); ok {
			return u.UnmarshalText([]byte(text))
		}
	}
	if n.Key.Op == plan.OpString {
		*mem.At[string](p) = text
		return nil
	}
	v := n.Key.At(p)
	if v.CanInt() {
		k, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(k)
		return err
	}
	if v.CanUint() {
		k, err := strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(k)
		return err
	}
	return errors.New("not a key type")
}
