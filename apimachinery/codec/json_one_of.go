package codec

import (
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// oneOf is the JSON form of a struct that stands for values of several kinds, such as a schema or a list of
// schemas. The fields tagged codec:"object", codec:"array" and codec:"bool" are the value, whichever of them
// is set: reading goes by the kind of the value, writing takes the list unless it is empty, then the object
// unless it is nil, then the boolean. The boolean is true beside an object that was read.
//
// A method of the type could do the same, but it would have to find the end of the value first, at each of
// the levels that such types nest in: time that grows with the square of the depth.
type oneOf struct {
	object, array, boolean *oneOfPart
}

type oneOfPart struct {
	off uintptr
	n   *node
}

// oneOfShape fills the plan of a struct with such tags.
func (b *builder) oneOfShape(n *node) {
	for i := range n.typ.NumField() {
		f := n.typ.Field(i)
		tag, tagged := f.Tag.Lookup("codec")
		if !tagged {
			continue
		}
		if n.oneOf == nil {
			n.oneOf = &oneOf{}
		}
		part := &oneOfPart{off: f.Offset, n: b.node(f.Type)}
		kind := f.Type.Kind()
		switch {
		case tag == "object" && kind == reflect.Pointer:
			n.oneOf.object = part
		case tag == "array" && kind == reflect.Slice:
			n.oneOf.array = part
		case tag == "bool" && kind == reflect.Bool:
			n.oneOf.boolean = part
		default:
			n.bad = fmt.Errorf("field %s: a %v cannot be tagged codec:%q", f.Name, f.Type, tag)
		}
	}
	if n.oneOf != nil {
		n.enc, n.dec = opOneOf, opOneOf
	}
}

// oneOf reads a value by its kind. What lies inside is not decoded strictly, as it is not where a method
// reads it: kube-apiserver accepts unknown and repeated fields there.
func (d *jsonDecoder) oneOf(n *node, p mem.Pointer, i int) int {
	part := n.oneOf.object
	switch c := d.data[i]; c {
	case 'n':
		if i = d.null(i); i >= 0 {
			n.clear(p)
		}
		return i
	case '[':
		part = n.oneOf.array
	case 't', 'f':
		part = n.oneOf.boolean
	case '{':
	default:
		part = nil
	}
	if part == nil {
		return d.mismatch(n, i)
	}
	n.clear(p)
	if part == n.oneOf.object && n.oneOf.boolean != nil {
		*mem.At[bool](mem.Add(p, n.oneOf.boolean.off)) = true
	}
	strict := d.strict
	d.strict = false
	i = d.value(part.n, mem.Add(p, part.off), i, false)
	d.strict = strict
	return i
}

// oneOf writes whichever part is set.
func (e *jsonEncoder) oneOf(b []byte, n *node, p mem.Pointer) []byte {
	o := n.oneOf
	if o.array != nil {
		if q := mem.Add(p, o.array.off); mem.SliceAt(q).Len > 0 || o.object == nil && o.boolean == nil {
			return e.value(b, o.array.n, q)
		}
	}
	if o.object != nil {
		if q := mem.Add(p, o.object.off); *mem.PointerAt(q) != nil || o.boolean == nil {
			return e.value(b, o.object.n, q)
		}
	}
	return e.value(b, o.boolean.n, mem.Add(p, o.boolean.off))
}
