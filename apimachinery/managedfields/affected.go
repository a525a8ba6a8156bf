package managedfields

import (
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// part returns the JSON form of the part of live that applying config can change: the fields that config
// sets, and whole those on the paths of gone. Where live has all that config sets, config itself is used as
// the live value, so that the merge has nothing to do there. An object that cannot be read in memory is
// returned whole.
func (t *Type) part(live metav1.Object, config map[string]any, gone *Set) (map[string]any, error) {
	if u, custom := live.(*metav1.Unstructured); custom && t.customMeta() != nil {
		return customRoot(u)
	}
	v := reflect.ValueOf(live)
	if v.Type().Elem() != t.goType {
		return root(live)
	}
	if gone.Empty() {
		return t.partOf(v.UnsafePointer(), config, nil)
	}
	return t.partOf(reflect.ValueOf(withoutManagedFields(live)).UnsafePointer(), config, gone)
}

// partOf is part for the struct at p. Of a struct in which config sets a field, only the fields on the paths
// of gone are needed; other values from which fields are removed must be complete, to decide whether they
// become empty.
func (t *Type) partOf(p mem.Pointer, config map[string]any, gone *Set) (map[string]any, error) {
	out := make(map[string]any, len(config))
	for name, value := range config {
		el := Field(name)
		f, known := t.field(name)
		if !known || gone.at(&el) != nil {
			continue
		}
		part, err := f.part(mem.Add(p, f.offset), value)
		if err != nil {
			return nil, err
		}
		if !isAbsent(part) {
			out[name] = part
		}
	}
	for _, it := range gone.list() {
		f, known := t.field(it.el.text)
		if !known || it.el.kind != fieldKind {
			continue
		}
		at := mem.Add(p, f.offset)
		if kept, ok := config[f.name].(map[string]any); ok && len(kept) > 0 && !it.owned {
			if inside := f.inside(at); inside != nil {
				part, err := f.typ.partOf(inside, kept, it.sub)
				if err != nil {
					return nil, err
				}
				out[f.name] = part
				continue
			}
		}
		if kept, ok := config[f.name].([]any); ok && !it.owned {
			if part, ok, err := f.itemParts(at, kept, it.sub); ok || err != nil {
				if err != nil {
					return nil, err
				}
				out[f.name] = part
				continue
			}
		}
		value, err := fieldValue(f, at)
		if err != nil {
			return nil, err
		}
		if !isAbsent(value) {
			out[f.name] = value
		}
	}
	return out, nil
}

// itemParts is part of each item of a list of structs at p. ok is false if the list and the configured one do
// not have the same items in the same places, or gone removes items.
func (f *field) itemParts(p mem.Pointer, config []any, gone *Set) (parts []any, ok bool, err error) {
	if f.access != structList || f.typ.elem.shape != structure {
		return nil, false, nil
	}
	live, size := mem.SliceAt(p), f.goType.Elem().Size()
	if live.Len == 0 || live.Len != len(config) || slices.ContainsFunc(gone.list(), func(it item) bool { return it.owned }) {
		return nil, false, nil
	}
	for i, c := range config {
		if m, ok := c.(map[string]any); !ok || len(m) == 0 || !f.typ.isItem(live.Index(i, size), m) {
			return nil, false, nil
		}
	}
	parts = make([]any, len(config))
	for i, c := range config {
		at, m := live.Index(i, size), c.(map[string]any)
		var inside *Set
		if len(gone.list()) > 0 {
			el, err := f.typ.element(m)
			if err != nil {
				return nil, false, err
			}
			if it := gone.at(&el); it != nil {
				inside = it.sub
			}
		}
		if parts[i] = c; !inside.Empty() || !f.typ.elem.coversMembers(at, m) {
			if parts[i], err = f.typ.elem.partOf(at, m, inside); err != nil {
				return nil, false, err
			}
		}
	}
	return parts, true, nil
}

func (f *field) part(p mem.Pointer, config any) (any, error) {
	if m, ok := config.(map[string]any); ok {
		if at := f.inside(p); at != nil {
			return f.typ.partOf(at, m, nil)
		}
	}
	if f.covers(p, config) {
		return config, nil
	}
	if list, ok := config.([]any); ok {
		if parts, ok, err := f.itemParts(p, list, nil); ok || err != nil {
			return parts, err
		}
	}
	return fieldValue(f, p)
}

// inside returns where the struct of the field at p is; nil if there is none, or it is not compared by field.
func (f *field) inside(p mem.Pointer) mem.Pointer {
	switch f.descend {
	case inStruct:
		return p
	case throughPointer:
		return *mem.PointerAt(p)
	}
	return nil
}

// covers reports whether the field at p is known to have all that config sets, in the same order.
func (f *field) covers(p mem.Pointer, config any) bool {
	switch f.access {
	case scalarValue, scalarPointer:
		return f.holds(p, config)
	case stringMap:
		m, ok := config.(map[string]any)
		return ok && len(m) > 0 && coversStrings(*mem.At[map[string]string](p), m)
	case stringList:
		list, ok := config.([]any)
		return ok && len(list) > 0 && coversSet(*mem.At[[]string](p), list)
	case structList:
		list, ok := config.([]any)
		return ok && len(list) > 0 && f.typ.elem.shape == structure && f.coversItems(mem.SliceAt(p), list)
	}
	if f.descend != asValue {
		m, ok := config.(map[string]any)
		at := f.inside(p)
		return ok && at != nil && f.typ.coversMembers(at, m)
	}
	if config == nil || f.zeroAt(p) {
		return false
	}
	if v := reflect.NewAt(f.goType, p); f.omitEmpty && isEmpty(v.Elem()) || f.omitZero && isZero(v.Elem()) {
		return false
	}
	text, err := codec.Marshal(reflect.NewAt(f.goType, p).Interface())
	return err == nil && spells(text, config)
}

func (t *Type) coversMembers(p mem.Pointer, config map[string]any) bool {
	for name, v := range config {
		f, known := t.field(name)
		if !known || !f.covers(mem.Add(p, f.offset), v) {
			return false
		}
	}
	return true
}

func coversStrings(live map[string]string, config map[string]any) bool {
	for k, v := range config {
		if s, there := live[k]; !there || v != s {
			return false
		}
	}
	return true
}

func coversSet(live []string, config []any) bool {
	if len(live) > fewItems {
		return false
	}
	next := 0
	for i, s := range live {
		for j := range i {
			if live[j] == s {
				return false
			}
		}
		if next < len(config) && config[next] == s {
			next++
		}
	}
	return next == len(config)
}

// coversItems is covers for a list of structs. Lists for which pairing the items would take long are left to
// the merge.
func (f *field) coversItems(live *mem.Slice, config []any) bool {
	if len(config) > live.Len || len(config)*live.Len > fewItems*fewItems {
		return false
	}
	size, next := f.goType.Elem().Size(), 0
	for _, c := range config {
		m, ok := c.(map[string]any)
		if !ok {
			return false
		}
		found := -1
		for i := range live.Len {
			if !f.typ.isItem(live.Index(i, size), m) {
				continue
			}
			if found >= 0 || i < next {
				return false // it occurs twice, or elsewhere in the order
			}
			found = i
		}
		if found < 0 || !f.typ.elem.coversMembers(live.Index(found, size), m) {
			return false
		}
		next = found + 1
	}
	return true
}

// isItem reports whether the item at p has the keys of a configured item.
func (t *Type) isItem(p mem.Pointer, config map[string]any) bool {
	for _, name := range t.keys {
		f, _ := t.elem.field(name)
		want := config[name]
		if want == nil {
			want = f.zero
		}
		if at := mem.Add(p, f.offset); want == nil || !f.holds(at, want) {
			v, there := f.scalar(at)
			if !there || v == nil {
				v = f.zero
			}
			if v != want {
				return false
			}
		}
	}
	return true
}

// customMeta is the metadata of a type of custom objects, or nil.
func (t *Type) customMeta() *field {
	if f, known := t.field("metadata"); known && f.typ.goType == reflect.TypeFor[metav1.ObjectMeta]() {
		return f
	}
	return nil
}

// customRoot is the JSON form of a custom object without managed fields. It shares the object's values.
func customRoot(u *metav1.Unstructured) (map[string]any, error) {
	bare := withoutManagedFields(u).(*metav1.Unstructured)
	out := make(map[string]any, len(u.Fields)+3)
	for k, v := range u.Fields {
		out[k] = v
	}
	if u.APIVersion != "" {
		out["apiVersion"] = u.APIVersion
	}
	if u.Kind != "" {
		out["kind"] = u.Kind
	}
	meta, err := jsonValue(reflect.ValueOf(&bare.ObjectMeta).Elem())
	out["metadata"] = meta
	return out, err
}

// fromCustomRoot makes the custom object of the JSON form after, which was made of live's, before.
func (t *Type) fromCustomRoot(live *metav1.Unstructured, before, after map[string]any) (*metav1.Unstructured, error) {
	out := &metav1.Unstructured{Fields: make(map[string]any, len(after))}
	codec.DeepCopyInto(&out.ObjectMeta, &live.ObjectMeta)
	for k, v := range after {
		switch k {
		case "apiVersion":
			out.APIVersion, _ = v.(string)
		case "kind":
			out.Kind, _ = v.(string)
		case "metadata":
		default:
			out.Fields[k] = codec.DeepCopyJSON(v)
		}
	}
	old, _ := before["metadata"].(map[string]any)
	meta, _ := after["metadata"].(map[string]any)
	if err := t.customMeta().typ.rewrite(mem.Of(&out.ObjectMeta), old, meta); err != nil {
		return nil, within(err, Field("metadata"))
	}
	return out, nil
}
