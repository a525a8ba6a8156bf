package json

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// OneOf reads a value by its kind. Like a value that a method reads, it is not decoded strictly:
// kube-apiserver accepts unknown and repeated fields in it.
func (d *decoder) oneOf(n *plan.Node, p mem.Pointer, i int) int {
	part := n.OneOf.Object
	switch c := d.data[i]; c {
	case 'n':
		if i = d.null(i); i >= 0 {
			n.Clear(p)
		}
		return i
	case '[':
		part = n.OneOf.Array
	case 't', 'f':
		part = n.OneOf.Boolean
	case '{':
	default:
		part = nil
	}
	if part == nil {
		return d.mismatch(n, i)
	}
	n.Clear(p)
	if part == n.OneOf.Object && n.OneOf.Boolean != nil {
		*mem.At[bool](mem.Add(p, n.OneOf.Boolean.Off)) = true
	}
	strict := d.strict
	d.strict = false
	i = d.value(part.Node, mem.Add(p, part.Off), i, false)
	d.strict = strict
	return i
}

// OneOf writes whichever part is set.
func (e *Encoder) oneOf(b []byte, n *plan.Node, p mem.Pointer) []byte {
	o := n.OneOf
	if o.Array != nil {
		if q := mem.Add(p, o.Array.Off); mem.SliceAt(q).Len > 0 || o.Object == nil && o.Boolean == nil {
			return e.Value(b, o.Array.Node, q)
		}
	}
	if o.Object != nil {
		if q := mem.Add(p, o.Object.Off); *mem.PointerAt(q) != nil || o.Boolean == nil {
			return e.Value(b, o.Object.Node, q)
		}
	}
	return e.Value(b, o.Boolean.Node, mem.Add(p, o.Boolean.Off))
}
