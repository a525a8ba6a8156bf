package plan

import (
	"fmt"
	"reflect"
)

// OneOf is the JSON form of a struct that stands for values of several kinds, such as a schema or a list of
// schemas. The fields tagged codec:"object", codec:"array" and codec:"bool" are the value, whichever of them
// is set: reading goes by the kind of the value, writing takes the list unless it is empty, then the object
// unless it is nil, then the boolean. The boolean is true beside an object that was read.
//
// A method of the type could do the same, but it would need the end of the value first, at every level of
// nesting, which takes time quadratic in the depth.
type OneOf struct {
	Object, Array, Boolean *OneOfPart
}

// A OneOfPart is one of the fields.
type OneOfPart struct {
	Off  uintptr
	Node *Node
}

// oneOfShape fills the plan of a struct with such tags.
func (b *builder) oneOfShape(n *Node) {
	for i := range n.Type.NumField() {
		f := n.Type.Field(i)
		tag, tagged := f.Tag.Lookup("codec")
		if !tagged {
			continue
		}
		if n.OneOf == nil {
			n.OneOf = &OneOf{}
		}
		part := &OneOfPart{Off: f.Offset, Node: b.node(f.Type)}
		kind := f.Type.Kind()
		switch {
		case tag == "object" && kind == reflect.Pointer:
			n.OneOf.Object = part
		case tag == "array" && kind == reflect.Slice:
			n.OneOf.Array = part
		case tag == "bool" && kind == reflect.Bool:
			n.OneOf.Boolean = part
		default:
			n.bad = fmt.Errorf("field %s: a %v cannot be tagged codec:%q", f.Name, f.Type, tag)
		}
	}
	if n.OneOf != nil {
		n.Enc, n.Dec = OpOneOf, OpOneOf
	}
}
