package codec

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// keyBytes reads an object key at i and the colon after it. The result is valid
// until the next call of unescape.
func (d *jsonDecoder) keyBytes(i int) ([]byte, int) {
	b := d.data
	i = d.next(i)
	if i >= len(b) {
		return nil, d.fail(i, msgEOF)
	}
	if b[i] != '"' {
		return nil, d.fail(i, msgKey)
	}
	start := i + 1
	end := stringEnd(b, start)
	var raw []byte
	if end < len(b) && b[end] == '"' {
		raw, i = b[start:end], end+1
	} else if raw, i = d.unescape(start, end); i < 0 {
		return nil, -1
	}
	i = d.next(i)
	if i >= len(b) {
		return nil, d.fail(i, msgEOF)
	}
	if b[i] != ':' {
		return nil, d.fail(i, msgColon)
	}
	return raw, i + 1
}

// more reads what follows a member or element: a comma (true) or the closing byte.
func (d *jsonDecoder) more(i int, closing byte, msg string) (int, bool) {
	i = d.next(i)
	if i >= len(d.data) {
		return d.fail(i, msgEOF), false
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
func (d *jsonDecoder) empty(i int, closing byte) (int, bool) {
	i = d.next(i)
	if i < len(d.data) && d.data[i] == closing {
		return i + 1, true
	}
	return i, false
}

func (d *jsonDecoder) structure(n *node, p mem.Pointer, i int) int {
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
		// Writers keep the order of the struct, so the field after the last one is tried first.
		var f *field
		k := -1
		if expected < len(n.fields) {
			name := n.fields[expected].comma[1:]
			if len(d.data)-i > len(name) && string(d.data[i:i+len(name)]) == string(name) {
				k, f = expected, &n.fields[expected]
				i += len(name)
			}
		}
		if f == nil {
			var name []byte
			if name, i = d.keyBytes(i); i < 0 {
				return -1
			}
			if k = n.find(name); k < 0 {
				if i = d.unknownMember(n, p, name, i); i < 0 {
					return -1
				}
				i, more = d.more(i, '}', msgObject)
				if more {
					i = d.next(i)
				}
				if i < 0 {
					return -1
				}
				continue
			}
			f = &n.fields[k]
		}
		expected = k + 1
		if d.strict && !seen.add(k) {
			d.object(DuplicateField, f.name)
		}
		q := mem.Add(p, f.off)
		if f.indirect {
			q = f.reach(p)
		}
		before := len(d.issues)
		if f.quoted {
			i = d.quoted(f, q, i)
		} else {
			i = d.value(f.n, q, i, f.intern)
		}
		if i < 0 || len(d.issues) > before {
			d.within(i, before, segment{f.name, -1})
			if i < 0 {
				return -1
			}
		}
		if i, more = d.more(i, '}', msgObject); i < 0 {
			return -1
		}
		if more {
			i = d.next(i)
		}
	}
	d.depth--
	return i
}

func (d *jsonDecoder) leave() { d.depth-- }

// fieldSet remembers which fields of a struct were read.
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
func (d *jsonDecoder) unknownMember(n *node, p mem.Pointer, name []byte, i int) int {
	if n.unknown == nil {
		if d.strict {
			d.object(UnknownField, string(name))
		}
		return d.skip(i)
	}
	key := string(name)
	m := mem.At[map[string]any](mem.Add(p, n.unknown.off))
	if *m == nil {
		*m = map[string]any{}
	} else if d.strict {
		if _, dup := (*m)[key]; dup {
			d.object(DuplicateField, key)
		}
	}
	before := len(d.issues)
	v, i := d.any(d.next(i))
	if i < 0 || len(d.issues) > before {
		d.within(i, before, segment{key, -1})
	}
	if i >= 0 {
		(*m)[key] = v
	}
	return i
}

// skip reads over a value.
func (d *jsonDecoder) skip(i int) int {
	s := scanner{data: d.data, max: d.max, depth: d.depth}
	end, msg := s.value(d.next(i))
	if msg != "" {
		if msg == msgDeep {
			d.cause = ErrTooDeep
		}
		return d.fail(end, msg)
	}
	return end
}

func (d *jsonDecoder) mapKey(name []byte, i int) string {
	if s, ok := intern(name, &d.turn); ok {
		return s
	}
	return d.strings.keep(name, len(d.data)-i)
}

func (d *jsonDecoder) stringMap(n *node, p mem.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	// Maps between types of kind string all have the layout of map[string]string.
	m, index := *mem.At[map[string]string](p), -1
	if m == nil {
		m, index = arena.NewMap[string](d.slab, n.mapKind)
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
				d.object(DuplicateField, key)
			}
		}
		d.value1 = ""
		if i = d.value(n.elem, mem.Of(&d.value1), i, n.elem.intern); i < 0 {
			d.within(i, 0, segment{key, -1})
			return -1
		}
		m[key] = d.value1
		if i, more = d.more(i, '}', msgObject); i < 0 {
			return -1
		}
	}
	d.slab.SetMapLen(index, len(m))
	return i
}

// mapping reads an object into a map of any type, by reflection.
func (d *jsonDecoder) mapping(n *node, p mem.Pointer, i int) int {
	if n.quantities {
		return d.quantities(n, p, i)
	}
	if !d.enter(i) {
		return -1
	}
	defer d.leave()
	v := n.at(p)
	if v.IsNil() {
		v.Set(reflect.MakeMap(n.typ))
	}
	i, done := d.empty(i+1, '}')
	if done {
		return i
	}
	key, elem := reflect.New(n.key.typ), reflect.New(n.elem.typ)
	kp, ep := key.UnsafePointer(), elem.UnsafePointer()
	for more := true; more; {
		at := d.next(i)
		var name []byte
		if name, i = d.keyBytes(i); i < 0 {
			return -1
		}
		text := d.mapKey(name, i)
		if err := n.setKey(kp, text); err != nil {
			d.cause = err
			return d.fail(at, "cannot decode key "+strconv.Quote(clip([]byte(text)))+" into "+n.key.typ.String())
		}
		before := len(d.issues)
		if d.strict && v.MapIndex(key.Elem()).IsValid() {
			d.object(DuplicateField, text)
			before = len(d.issues)
		}
		i = d.value(n.elem, ep, i, n.elem.intern)
		if i < 0 || len(d.issues) > before {
			d.within(i, before, segment{text, -1})
			if i < 0 {
				return -1
			}
		}
		v.SetMapIndex(key.Elem(), elem.Elem())
		elem.Elem().SetZero()
		if i, more = d.more(i, '}', msgObject); i < 0 {
			return -1
		}
	}
	return i
}

// setKey sets the map key at p from its text.
func (n *node) setKey(p mem.Pointer, text string) error {
	if n.key.typ != stringType {
		if u, ok := n.key.at(p).Addr().Interface().(encoding.TextUnmarshaler); ok {
			return u.UnmarshalText([]byte(text))
		}
	}
	if n.key.op == opString {
		*mem.At[string](p) = text
		return nil
	}
	v := n.key.at(p)
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
