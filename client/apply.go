package client

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// ApplyBody encodes an object for server-side apply: apiVersion and kind of gvk, and exactly the fields
// that are set. A field is set when its Go value is not zero, a struct when one of its fields is;
// pointers, maps and slices are set when not nil, even if empty. List elements and map values are always
// sent, their own unset fields left out. explicit names fields, as JSON paths without list indexes such as
// "spec.maxReplicas", that are sent even if zero.
func ApplyBody(obj metav1.Object, gvk schema.GroupVersionKind, explicit ...string) ([]byte, error) {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("client: cannot apply a %T", obj)
	}
	w := setFields{explicit: explicit}
	b, err := w.members([]byte(`{"apiVersion":`+quote(gvk.APIVersion())+`,"kind":`+quote(gvk.Kind)), v.Elem(), "", 2)
	if err != nil {
		return nil, fmt.Errorf("client: encode %s for apply: %w", gvk.Kind, err)
	}
	return append(b, '}'), nil
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// setFields writes the fields of a value that are set.
type setFields struct{ explicit []string }

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// opaque reports whether a type writes its own JSON.
func opaque(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	if _, ok := p.MethodByName("AppendJSON"); ok {
		return true
	}
	return p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}

// members appends the set fields of a struct to an object that has had n members.
func (w *setFields) members(b []byte, v reflect.Value, path string, n int) ([]byte, error) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _ := f.Tag.Lookup("json")
		name, opts, _ := strings.Cut(tag, ",")
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		fv := v.Field(i)
		if path == "" && f.Name == "TypeMeta" && f.Anonymous {
			continue
		}
		if f.Anonymous && name == "" || opts == "inline" {
			if fv.Kind() == reflect.Struct {
				var err error
				before := len(b)
				if b, err = w.members(b, fv, path, n); err != nil {
					return nil, err
				}
				if len(b) > before {
					n++
				}
				continue
			}
		}
		if strings.Contains(opts, "unknown") && fv.Kind() == reflect.Map {
			for _, k := range sortedKeys(fv) {
				raw, err := codec.Marshal(fv.MapIndex(k).Interface())
				if err != nil {
					return nil, err
				}
				b, n = append(member(b, k.String(), n), raw...), n+1
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		start := len(b)
		b = member(b, name, n)
		mark := len(b)
		out, err := w.field(b, fv, at, slices.Contains(w.explicit, at))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if len(out) == mark {
			b = b[:start]
			continue
		}
		b, n = out, n+1
	}
	return b, nil
}

func member(b []byte, name string, n int) []byte {
	if n > 0 {
		b = append(b, ',')
	}
	return append(append(b, quote(name)...), ':')
}

// field appends a field's value, or nothing if it is not set.
func (w *setFields) field(b []byte, v reflect.Value, path string, force bool) ([]byte, error) {
	switch {
	case opaque(v.Type()):
		if !force && isUnset(v) {
			return b, nil
		}
	case v.Kind() == reflect.Struct:
		out, err := w.value(b, v, path)
		if err == nil && !force && len(out) == len(b)+len("{}") {
			return b, nil
		}
		return out, err
	case v.IsZero() && !force:
		return b, nil
	}
	return w.value(b, v, path)
}

func isUnset(v reflect.Value) bool {
	if v.CanAddr() {
		if z, ok := v.Addr().Interface().(interface{ IsZero() bool }); ok {
			return z.IsZero()
		}
	}
	return v.IsZero()
}

// value appends a value in full, structs without their unset fields.
func (w *setFields) value(b []byte, v reflect.Value, path string) ([]byte, error) {
	if !opaque(v.Type()) {
		switch v.Kind() {
		case reflect.Struct:
			out, err := w.members(append(b, '{'), v, path, 0)
			if err != nil {
				return nil, err
			}
			return append(out, '}'), nil
		case reflect.Pointer:
			if !v.IsNil() {
				return w.value(b, v.Elem(), path)
			}
		case reflect.Slice:
			if !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
				b = append(b, '[')
				for i := range v.Len() {
					if i > 0 {
						b = append(b, ',')
					}
					var err error
					if b, err = w.value(b, v.Index(i), path); err != nil {
						return nil, err
					}
				}
				return append(b, ']'), nil
			}
		case reflect.Map:
			if !v.IsNil() && v.Type().Key().Kind() == reflect.String {
				b = append(b, '{')
				for i, k := range sortedKeys(v) {
					// Map values cannot be addressed; a copy can.
					e := reflect.New(v.Type().Elem()).Elem()
					e.Set(v.MapIndex(k))
					var err error
					if b, err = w.value(member(b, k.String(), i), e, path+"."+k.String()); err != nil {
						return nil, err
					}
				}
				return append(b, '}'), nil
			}
		}
	}
	x := v
	if v.CanAddr() && v.Kind() == reflect.Struct {
		x = v.Addr()
	}
	raw, err := codec.Marshal(x.Interface())
	if err != nil {
		return nil, err
	}
	return append(b, raw...), nil
}

func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}
