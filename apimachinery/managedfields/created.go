package managedfields

import (
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// createdWriter encodes the fieldsV1 of a newly created object directly from the Go struct. The result is
// that of comparing the object with an empty one.
type createdWriter struct {
	dst   []byte
	reset *Set
	err   error
}

// level is where below an object's root a structure is, for the structures that have fields without owner.
type level uint8

const (
	atRoot level = iota
	inMetadata
	below
)

var rootUntracked = []string{"apiVersion", "kind"}

// skips reports whether the named field is not tracked.
func (l level) skips(name string) bool {
	switch l {
	case atRoot:
		return slices.Contains(rootUntracked, name)
	case inMetadata:
		return slices.Contains(untracked, name)
	}
	return false
}

// createdFields returns the fieldsV1 of what obj sets without the members of reset. ok is false if obj is not
// of the Go type that t was compiled from, or reset has paths below members.
func (t *Type) createdFields(obj metav1.Object, reset *Set) (wire []byte, ok bool, err error) {
	for i := range reset.list() {
		if !reset.items[i].owned {
			return nil, false, nil
		}
	}
	w := &createdWriter{dst: append(make([]byte, 0, 2048), '{'), reset: reset}
	if u, custom := obj.(*metav1.Unstructured); custom {
		meta, known := t.field("metadata")
		if !known || meta.typ.goType != reflect.TypeFor[metav1.ObjectMeta]() {
			return nil, false, nil
		}
		w.unstructured(t, meta, u)
	} else {
		v := reflect.ValueOf(obj)
		if v.Type().Elem() != t.goType {
			return nil, false, nil
		}
		w.structure(t, v.UnsafePointer(), false, atRoot)
	}
	if len(w.dst) > 1 {
		w.dst = w.dst[:len(w.dst)-1]
	}
	return append(w.dst, '}'), true, w.err
}

// unstructured appends the members of a custom object.
func (w *createdWriter) unstructured(t *Type, meta *field, u *metav1.Unstructured) {
	c := &comparer{}
	c.members(t, nil, u.Fields)
	items := c.taken.Without(w.reset).list()
	for len(items) > 0 && items[0].el.text < meta.name {
		w.dst, items = append(items[0].appendJSON(w.dst), ','), items[1:]
	}
	if !w.resets(meta.name) {
		w.inner(meta, mem.Of(&u.ObjectMeta), false, inMetadata)
	}
	for i := range items {
		w.dst = append(items[i].appendJSON(w.dst), ',')
	}
}

// resets reports whether the member of the object is one that the write does not change.
func (w *createdWriter) resets(name string) bool {
	if w.reset == nil {
		return false
	}
	el := Field(name)
	return w.reset.at(&el) != nil
}

// structure appends the members for the struct at p, each with a comma after it. added means that the empty
// object does not have the struct, so that fields which are always written count too.
func (w *createdWriter) structure(t *Type, p mem.Pointer, added bool, l level) {
	for _, i := range t.order {
		f := &t.fields[i]
		if l != below && (l.skips(f.name) || l == atRoot && w.resets(f.name)) {
			continue
		}
		at := mem.Add(p, f.offset)
		if f.descend == inStruct {
			inside := below
			if l == atRoot && f.name == "metadata" {
				inside = inMetadata
			}
			w.inner(f, at, added, inside)
			continue
		}
		unset := f.zeroAt(at) && (!added || f.omitZero || f.omitEmpty && (f.access != otherValue || f.descend == throughPointer))
		if !unset {
			w.field(f, at, added)
		}
	}
}

// name appends the member name of a field.
func (w *createdWriter) name(name string) {
	el := Field(name)
	w.dst = append(el.appendWire(w.dst), ':')
}

// inner appends a struct that every object of its type has.
func (w *createdWriter) inner(f *field, p mem.Pointer, added bool, l level) {
	mark := len(w.dst)
	w.name(f.name)
	open := w.open(added)
	w.structure(f.typ, p, added, l)
	if !w.close(open) && !added {
		w.dst = w.dst[:mark]
	}
}

// open begins the value of an element, and close ends it. owned means that the path to it is in the set.
// Close reports whether there are longer paths.
func (w *createdWriter) open(owned bool) (at int) {
	w.dst = append(w.dst, '{')
	if owned {
		w.dst = append(w.dst, `".":{},`...)
	}
	return len(w.dst)
}

func (w *createdWriter) close(at int) (longer bool) {
	if longer = len(w.dst) > at; !longer {
		if w.dst[at-1] == ',' {
			at -= len(`".":{},`)
		}
		w.dst = append(w.dst[:at], "},"...)
		return false
	}
	w.dst = append(w.dst[:len(w.dst)-1], "},"...)
	return true
}

// field appends a field that the object sets and an empty one does not.
func (w *createdWriter) field(f *field, p mem.Pointer, added bool) {
	// A field that an empty object writes as null is not new.
	owned := added || f.omitEmpty || f.omitZero
	mark := len(w.dst)
	done := true
	w.name(f.name)
	switch {
	case f.typ.shape == leaf:
		if there, known := f.leafAt(p, added); known {
			if there {
				w.dst = append(w.dst, "{},"...)
			} else {
				w.dst = w.dst[:mark]
			}
		} else {
			done = false
		}
	case f.descend == throughPointer:
		p = *mem.PointerAt(p)
		open := w.open(owned && p != nil)
		if p != nil {
			w.structure(f.typ, p, true, below)
		}
		w.close(open)
	case f.access == stringMap:
		open := w.open(owned)
		for _, k := range sortedNames(*mem.At[map[string]string](p)) {
			w.name(k)
			w.dst = append(w.dst, "{},"...)
		}
		w.close(open)
	case f.access == otherValue && f.typ.shape == dictionary && w.quantities(f, p, owned):
	case f.access == structList:
		done = w.list(f, mem.SliceAt(p), owned)
	case f.access == stringList:
		done = w.strings(*mem.At[[]string](p), owned)
	default:
		done = false
	}
	if !done {
		w.dst = w.dst[:mark]
		w.value(f, p, added)
	}
}

// leafAt reports whether the JSON form has a leaf that an empty object has not. known is false if the JSON
// form is needed to decide.
func (f *field) leafAt(p mem.Pointer, added bool) (there, known bool) {
	if f.access != otherValue {
		return true, true
	}
	v := reflect.NewAt(f.goType, p).Elem()
	if f.omits(v) {
		return false, true
	}
	if added || f.omitZero || f.omitEmpty && v.Kind() != reflect.Struct && v.Kind() != reflect.Array {
		return true, true
	}
	if k := v.Kind(); (k == reflect.Slice || k == reflect.Map) && v.Type().Name() == "" {
		return v.Len() > 0, true // an empty object has null, which an empty list or map equals
	}
	return false, false
}

// quantities appends a dictionary of quantities, as the resources of containers are; false if it is something
// else, or empty.
func (w *createdWriter) quantities(f *field, p mem.Pointer, owned bool) bool {
	if f.typ.elem.shape != leaf || !mem.IsMapOf[resource.Quantity](f.goType) {
		return false
	}
	m := *mem.At[map[string]resource.Quantity](p)
	if len(m) == 0 {
		return false
	}
	open := w.open(owned)
	for _, k := range sortedNames(m) {
		w.name(k)
		w.dst = append(w.dst, "{},"...)
	}
	w.close(open)
	return true
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// strings appends a set of strings; false if one occurs twice.
func (w *createdWriter) strings(values []string, owned bool) bool {
	sorted := slices.Sorted(slices.Values(values))
	if len(slices.Compact(sorted)) < len(values) {
		return false
	}
	open := w.open(owned)
	for _, s := range sorted {
		el := Value(s)
		w.dst = append(el.appendWire(w.dst), `:{},`...)
	}
	w.close(open)
	return true
}

// list appends the items of a list; false if their keys do not identify them.
func (w *createdWriter) list(f *field, s *mem.Slice, owned bool) bool {
	type place struct {
		el Element
		p  mem.Pointer
	}
	places := make([]place, s.Len)
	size := f.goType.Elem().Size()
	for i := range places {
		p := s.Index(i, size)
		el, ok := f.typ.elementAt(p)
		if !ok {
			return false
		}
		places[i] = place{el, p}
	}
	order := func(a, b place) int { return compareElements(&a.el, &b.el) }
	if !slices.IsSortedFunc(places, order) {
		slices.SortFunc(places, order)
	}
	for i := 1; i < len(places); i++ {
		if places[i-1].el.text == places[i].el.text {
			return false
		}
	}
	open := w.open(owned)
	for i := range places {
		w.dst = append(places[i].el.appendWire(w.dst), ':')
		item := w.open(true)
		if f.typ.elem.shape == structure {
			w.structure(f.typ.elem, places[i].p, true, below)
		}
		w.close(item)
	}
	w.close(open)
	return true
}

// value appends any other field, through its JSON form.
func (w *createdWriter) value(f *field, p mem.Pointer, added bool) {
	before := absent
	if !added {
		blank := reflect.New(f.goType).UnsafePointer()
		if f.sameAt(blank, p) {
			return
		}
		var err error
		if before, err = fieldValue(f, blank); err != nil {
			w.err = err
			return
		}
	}
	after, err := fieldValue(f, p)
	if err != nil {
		w.err = err
		return
	}
	c := &comparer{path: Path{Field(f.name)}, nested: true}
	c.walk(f.typ, before, after)
	for i := range c.taken.items {
		w.dst = append(c.taken.items[i].appendJSON(w.dst), ',')
	}
}
