package managedfields

import (
	"bytes"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// typed compares two structs of the Go type t was compiled from.
func (c *comparer) typed(t *Type, l, r mem.Pointer) error {
	for i := range t.fields {
		f := &t.fields[i]
		if c.skips(f.name) {
			continue
		}
		if err := c.typedField(f, mem.Add(l, f.offset), mem.Add(r, f.offset)); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparer) typedField(f *field, l, r mem.Pointer) error {
	if f.descend == throughPointer {
		lp, rp := *mem.PointerAt(l), *mem.PointerAt(r)
		if lp == rp {
			return nil
		}
		if lp != nil && rp != nil {
			c.path = append(c.path, Field(f.name))
			err := c.typed(f.typ, lp, rp)
			c.path = c.path[:len(c.path)-1]
			return err
		}
	} else if f.descend == asValue && f.sameAt(l, r) {
		return nil
	}
	c.path = append(c.path, Field(f.name))
	defer func() { c.path = c.path[:len(c.path)-1] }()
	switch {
	case f.descend == inStruct:
		return c.typed(f.typ, l, r)
	case f.access == scalarValue || f.access == scalarPointer:
		c.scalar(f, l, r)
		return nil
	case f.access == stringMap:
		c.strings(f, *mem.At[map[string]string](l), *mem.At[map[string]string](r))
		return nil
	case f.access == structList && f.typ.elem.shape == structure:
		if items := f.sameItems(mem.SliceAt(l), mem.SliceAt(r)); items != nil {
			return c.list(f, items, mem.SliceAt(l), mem.SliceAt(r))
		}
	case f.exact:
		return c.whole(f, l, r)
	}
	return c.values(f, l, r)
}

// scalar records a scalar field that differs. The path leads to it.
func (c *comparer) scalar(f *field, l, r mem.Pointer) {
	if _, there := f.scalar(r); there {
		c.taken.Insert(c.path)
	} else if _, there := f.scalar(l); there {
		c.removed.Insert(c.path)
	}
}

// strings compares two maps that differ. The path leads to them.
func (c *comparer) strings(f *field, l, r map[string]string) {
	optional := f.omitEmpty || f.omitZero
	switch {
	case optional && len(l) == 0:
		c.taken.Insert(c.path)
	case optional && len(r) == 0:
		c.removed.Insert(c.path)
	}
	at := len(c.path)
	c.path = append(c.path, Element{})
	for _, k := range sortedNames(r) {
		if v, ok := l[k]; !ok || v != r[k] {
			c.path[at] = Field(k)
			c.taken.Insert(c.path)
		}
	}
	for _, k := range sortedNames(l) {
		if _, ok := r[k]; !ok {
			c.path[at] = Field(k)
			c.removed.Insert(c.path)
		}
	}
	c.path = c.path[:at]
}

// sameItems returns the elements of two lists that have the same items in the same places, none twice; else
// nil.
func (f *field) sameItems(l, r *mem.Slice) []Element {
	if l.Len != r.Len || l.Len > fewItems {
		return nil
	}
	size := f.goType.Elem().Size()
	items := make([]Element, l.Len)
	for i := range items {
		at := l.Index(i, size)
		if !f.typ.sameKeys(at, r.Index(i, size)) {
			return nil
		}
		var ok bool
		if items[i], ok = f.typ.elementAt(at); !ok {
			return nil
		}
		for j := range i {
			if items[j].text == items[i].text {
				return nil
			}
		}
	}
	return items
}

// list compares two lists of the same items. The path leads to them.
func (c *comparer) list(f *field, items []Element, l, r *mem.Slice) error {
	item := f.goType.Elem()
	for i := range items {
		lp, rp := l.Index(i, item.Size()), r.Index(i, item.Size())
		if codec.Equal(reflect.NewAt(item, lp).Interface(), reflect.NewAt(item, rp).Interface()) {
			continue
		}
		c.path = append(c.path, items[i])
		err := c.typed(f.typ.elem, lp, rp)
		c.path = c.path[:len(c.path)-1]
		if err != nil {
			return err
		}
	}
	return nil
}

// whole compares two fields that are owned as a whole, through their JSON texts. The path leads to them.
func (c *comparer) whole(f *field, l, r mem.Pointer) error {
	lv, rv := reflect.NewAt(f.goType, l).Elem(), reflect.NewAt(f.goType, r).Elem()
	switch lo, ro := f.omits(lv), f.omits(rv); {
	case lo && ro:
	case lo:
		c.taken.Insert(c.path)
	case ro:
		c.removed.Insert(c.path)
	default:
		same, err := sameTexts(lv, rv)
		if err != nil {
			return err
		}
		if !same {
			c.taken.Insert(c.path)
		}
	}
	return nil
}

// sameTexts reports whether two addressable values of one type have the same JSON text. Of lists only the
// items that differ in memory are written, up to the first that differs in its text too.
func sameTexts(l, r reflect.Value) (bool, error) {
	if l.Kind() == reflect.Slice && !l.IsNil() && !r.IsNil() && l.Type().Elem().Kind() != reflect.Uint8 {
		if l.Len() != r.Len() {
			return false, nil
		}
		for i := range l.Len() {
			a, b := l.Index(i).Addr().Interface(), r.Index(i).Addr().Interface()
			if codec.Equal(a, b) {
				continue
			}
			if same, err := equalTexts(a, b); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	}
	return equalTexts(l.Addr().Interface(), r.Addr().Interface())
}

func equalTexts(l, r any) (bool, error) {
	a, err := codec.Marshal(l)
	if err != nil {
		return false, err
	}
	b, err := codec.Marshal(r)
	return bytes.Equal(a, b), err
}

// values compares two fields through their JSON forms. The path leads to them.
func (c *comparer) values(f *field, l, r mem.Pointer) error {
	lv, err := fieldValue(f, l)
	if err != nil {
		return err
	}
	rv, err := fieldValue(f, r)
	if err != nil {
		return err
	}
	c.walk(f.typ, lv, rv)
	return nil
}
