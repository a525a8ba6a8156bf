package managedfields

import (
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// missing stands for an absent value, as opposed to null.
type missing struct{}

var absent any = missing{}

func isAbsent(v any) bool {
	_, ok := v.(missing)
	return ok
}

// emptied stands for a map or list whose last member was removed. It counts as null and does not reach the
// result.
type emptied struct{}

// object returns v as a map; null and the absent are empty ones.
func object(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case nil, missing, emptied:
		return nil, true
	}
	return nil, false
}

// array returns v as a list; null and the absent are empty ones.
func array(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case nil, missing, emptied:
		return nil, true
	}
	return nil, false
}

// equalValues compares JSON values; 1 and 1.0 are equal, and so are null and what is emptied.
func equalValues(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		if same(a, b) {
			return true
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !equalValues(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		if same(a, b) {
			return true
		}
		for i := range x {
			if !equalValues(x[i], y[i]) {
				return false
			}
		}
		return true
	case int64, float64:
		switch b.(type) {
		case int64, float64:
			return compareValues(a, b) == 0
		}
		return false
	case nil, emptied:
		return b == nil || b == emptied{}
	}
	if b, ok := b.(emptied); ok {
		return a == b
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// fieldValue is the JSON form of a struct's field, or absent when the tags leave it out.
func fieldValue(f *field, p mem.Pointer) (any, error) {
	v := reflect.NewAt(f.goType, p).Elem()
	if f.omits(v) {
		return absent, nil
	}
	return jsonValue(v)
}

// omits reports whether the tags leave an addressable value of the field out of the JSON form.
func (f *field) omits(v reflect.Value) bool {
	return f.omitEmpty && isEmpty(v) || f.omitZero && isZero(v)
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func isZero(v reflect.Value) bool {
	if z, ok := v.Addr().Interface().(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return v.IsZero()
}

// jsonValue is the JSON form of an addressable value.
func jsonValue(v reflect.Value) (any, error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
	}
	text, err := codec.Marshal(v.Addr().Interface())
	if err != nil {
		return nil, err
	}
	var out any
	if err := codec.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// withoutManagedFields is obj, or a shallow copy of it that has no managed fields.
func withoutManagedFields(obj metav1.Object) metav1.Object {
	if metav1.MetaOf(obj).ManagedFields == nil {
		return obj
	}
	bare := reflect.New(reflect.TypeOf(obj).Elem())
	bare.Elem().Set(reflect.ValueOf(obj).Elem())
	out := bare.Interface().(metav1.Object)
	metav1.MetaOf(out).ManagedFields = nil
	return out
}

// root is the JSON form of a whole object, managed fields left out.
func root(obj metav1.Object) (map[string]any, error) {
	obj = withoutManagedFields(obj)
	text, err := codec.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := codec.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// fromRoot makes an object of the Go type of live from its JSON form: live with what differs between before,
// its own JSON form, and after.
func (t *Type) fromRoot(live metav1.Object, before, after map[string]any) (metav1.Object, error) {
	if u, custom := live.(*metav1.Unstructured); custom && t.customMeta() != nil {
		return t.fromCustomRoot(u, before, after)
	}
	out := reflect.New(reflect.TypeOf(live).Elem())
	if t.goType == nil || out.Type().Elem() != t.goType {
		text, err := codec.Marshal(after)
		if err != nil {
			return nil, err
		}
		if err := codec.Unmarshal(text, out.Interface()); err != nil {
			return nil, err
		}
		return out.Interface().(metav1.Object), nil
	}
	codec.DeepCopyInto(out.Interface(), live)
	for _, name := range []string{"apiVersion", "kind"} {
		// The configuration names them; a live object need not carry them.
		if f, ok := t.field(name); ok {
			if err := f.write(mem.Add(out.UnsafePointer(), f.offset), after[name]); err != nil {
				return nil, err
			}
		}
	}
	return out.Interface().(metav1.Object), t.rewrite(out.UnsafePointer(), before, after)
}

// rewrite gives the struct at p the fields that differ between before, its JSON form, and after.
func (t *Type) rewrite(p mem.Pointer, before, after map[string]any) error {
	for i := range t.fields {
		f := &t.fields[i]
		old, was := before[f.name]
		now, is := after[f.name]
		if was == is && same(old, now) {
			continue
		}
		at := mem.Add(p, f.offset)
		om, oldMap := old.(map[string]any)
		nm, newMap := now.(map[string]any)
		if oldMap && newMap && f.descend != asValue {
			if f.descend == throughPointer {
				at = *mem.PointerAt(at)
			}
			if at != nil {
				if err := f.typ.rewrite(at, om, nm); err != nil {
					return within(err, Field(f.name))
				}
				continue
			}
			at = mem.Add(p, f.offset)
		}
		ol, oldList := old.([]any)
		nl, newList := now.([]any)
		if oldList && newList && f.sameStructs(mem.SliceAt(at), ol, nl) {
			if err := f.rewriteItems(mem.SliceAt(at), ol, nl); err != nil {
				return within(err, Field(f.name))
			}
			continue
		}
		if err := f.write(at, now); err != nil {
			return err
		}
	}
	return nil
}

// sameStructs reports whether two forms of a list are of as many structs as it has.
func (f *field) sameStructs(list *mem.Slice, before, after []any) bool {
	if f.access != structList || f.typ.elem.shape != structure || list.Len != len(before) || list.Len != len(after) {
		return false
	}
	for i := range list.Len {
		_, was := before[i].(map[string]any)
		if _, is := after[i].(map[string]any); !was || !is {
			return false
		}
	}
	return true
}

// rewriteItems is rewrite of each item of a list of structs.
func (f *field) rewriteItems(list *mem.Slice, before, after []any) error {
	for i := range list.Len {
		if same(before[i], after[i]) {
			continue
		}
		now := after[i].(map[string]any)
		if err := f.typ.elem.rewrite(list.Index(i, f.goType.Elem().Size()), before[i].(map[string]any), now); err != nil {
			el, bad := f.typ.element(now)
			if bad != nil {
				el = indexElement(i)
			}
			return within(err, el)
		}
	}
	return nil
}

// write sets a field from its JSON form; nil is the zero value.
func (f *field) write(p mem.Pointer, v any) error {
	field := reflect.NewAt(f.goType, p).Elem()
	field.SetZero()
	if v == nil {
		return nil
	}
	text, err := codec.Marshal(v)
	if err != nil {
		return err
	}
	if err := codec.Unmarshal(text, field.Addr().Interface()); err != nil {
		return &PatchError{Path: Path{Field(f.name)}, Reason: err.Error()}
	}
	return nil
}

// clean drops what became empty by removal. It writes only to what removal made: the rest may be shared.
func clean(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, c := range v {
			if _, gone := c.(emptied); gone {
				delete(v, k)
			} else {
				clean(c)
			}
		}
	case []any:
		for i, c := range v {
			if _, gone := c.(emptied); gone {
				v[i] = nil
			} else {
				clean(c)
			}
		}
	}
}

// element returns the element of a list item. Missing keys have their default, if there is one.
func (t *Type) element(item any) (Element, error) {
	if t.shape == setList {
		switch item.(type) {
		case map[string]any, []any, nil:
			return Element{}, fmt.Errorf("an item of a set must be a scalar")
		}
		return Value(item), nil
	}
	m, ok := item.(map[string]any)
	if !ok {
		return Element{}, fmt.Errorf("an item of a list with keys must be an object")
	}
	b := make([]byte, 0, 64)
	b = append(b, '{')
	for _, name := range t.keys {
		v := m[name]
		if v == nil {
			if f, known := t.elem.field(name); known {
				v = f.zero
			}
		}
		if v != nil {
			b = appendKey(b, name, v)
		}
	}
	if len(b) == 1 {
		return Element{}, fmt.Errorf("the item has none of the keys %v", t.keys)
	}
	return Element{kind: keyKind, text: string(append(b, '}'))}, nil
}
