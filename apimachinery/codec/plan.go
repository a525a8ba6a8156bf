package codec

import (
	"reflect"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
)

// A Plan is the read-only view of what was compiled for a Go type: the kind of its JSON form and the struct
// tags that patches, field tracking and schemas need. Plans of one type are identical pointers.
type Plan struct {
	// Type is the Go type.
	Type reflect.Type
	// Kind is the kind of the JSON form.
	Kind Kind

	elem   func() *Plan
	fields []Field
	byName map[string]int
}

// Kind is the kind of the JSON form of a type.
type Kind uint8

// Custom is the kind of types whose methods define the form.
const (
	Custom  Kind = iota
	Boolean      // true and false
	Integer
	Number
	String // also []byte, as base64
	Struct // an object with known members
	List
	Map
	Any // any JSON value
)

// A Field is a JSON member of a struct, members of embedded structs included.
type Field struct {
	// Name is the JSON name.
	Name string
	// GoName is the path of Go field names, such as ObjectMeta.Name for an inlined member.
	GoName string
	// Type is the Go type of the field, pointer included.
	Type reflect.Type
	// Offset is the position of the field in the struct, in bytes; -1 if it is reached through an embedded
	// pointer.
	Offset int
	// OmitEmpty and OmitZero are the options of the json tag.
	OmitEmpty, OmitZero bool
	// Pointer is true if the field is a pointer.
	Pointer bool
	// Proto is the protobuf field number, or 0.
	Proto int
	// PatchStrategy, PatchMergeKey, ListType, ListMapKeys, MapType and Default are the values of
	// the tags patchStrategy, patchMergeKey, listType, listMapKey, mapType and default; empty where missing.
	PatchStrategy, PatchMergeKey, ListType, MapType, Default string
	ListMapKeys                                              []string
	// Tag is the whole struct tag, for anything else.
	Tag reflect.StructTag

	plan func() *Plan
}

// PlanOf compiles the plan of t; pointers are followed. The error is a
// [*TypeError] for types that have no JSON form or cannot be copied: those that
// hold channels, functions, locks or hidden pointers, named by field path.
func PlanOf(t reflect.Type) (*Plan, error) {
	for t.Kind() == reflect.Pointer && !plan.PointsToItself(t) {
		t = t.Elem()
	}
	n := plan.Of(t)
	if err := n.CheckJSON(); err != nil {
		return nil, public(err)
	}
	if err := n.CheckCopy(); err != nil {
		return nil, public(err)
	}
	return viewOf(n)(), nil
}

// Elem is the plan of the elements of a List or the values of a Map, else nil.
func (p *Plan) Elem() *Plan {
	if p.Kind != List && p.Kind != Map {
		return nil
	}
	return p.elem()
}

// Fields are the members of a Struct in the order JSON writes them. The
// slice must not be changed.
func (p *Plan) Fields() []Field { return p.fields }

// Field finds a member of a Struct by its JSON name, or nil.
func (p *Plan) Field(name string) *Field {
	i, ok := p.byName[name]
	if !ok {
		return nil
	}
	return &p.fields[i]
}

// Plan is the plan of the field's type, pointers followed.
func (f *Field) Plan() *Plan { return f.plan() }

// views holds a func() *Plan per node that was needed.
var views sync.Map

// viewOf returns the view of a node, pointers followed, which is made at the first call of what is returned.
func viewOf(n *plan.Node) func() *Plan {
	for n.Op == plan.OpPointer {
		n = n.Elem
	}
	if v, ok := views.Load(n); ok {
		return v.(func() *Plan)
	}
	v, _ := views.LoadOrStore(n, sync.OnceValue(func() *Plan { return newView(n) }))
	return v.(func() *Plan)
}

func newView(n *plan.Node) *Plan {
	p := &Plan{Type: n.Type, Kind: kindOf(n)}
	switch p.Kind {
	case List, Map:
		p.elem = viewOf(n.Elem)
	case Struct:
		p.byName = map[string]int{}
		for i := range n.Fields {
			p.fields = append(p.fields, newField(&n.Fields[i]))
			p.byName[n.Fields[i].Name] = i
		}
	}
	return p
}

func kindOf(n *plan.Node) Kind {
	switch {
	case n.Enc == plan.OpRawJSON:
		return Any
	case n.Enc == plan.OpNumber:
		return Number
	case n.Enc != n.Op || n.Dec != n.Op:
		return Custom
	}
	switch n.Op {
	case plan.OpBool:
		return Boolean
	case plan.OpInt8, plan.OpInt16, plan.OpInt32, plan.OpInt64, plan.OpUint8, plan.OpUint16, plan.OpUint32, plan.OpUint64:
		return Integer
	case plan.OpFloat32, plan.OpFloat64:
		return Number
	case plan.OpString, plan.OpBytes:
		return String
	case plan.OpSlice, plan.OpArray:
		return List
	case plan.OpStringMap, plan.OpMap:
		return Map
	case plan.OpAny, plan.OpInterface:
		return Any
	case plan.OpStruct:
		return Struct
	}
	return Custom
}

func newField(f *plan.Field) Field {
	tag := f.Tags
	out := Field{
		Name: f.Name, GoName: f.GoPath, Type: f.Node.Type, Offset: int(f.Off), Tag: tag, plan: viewOf(f.Node),
		OmitEmpty: f.Tag.OmitEmpty, OmitZero: f.Tag.OmitZero, Pointer: f.Node.Op == plan.OpPointer,
		PatchStrategy: tag.Get("patchStrategy"), PatchMergeKey: tag.Get("patchMergeKey"),
		ListType: tag.Get("listType"), MapType: tag.Get("mapType"), Default: tag.Get("default"),
	}
	if f.Indirect {
		out.Offset = -1
	}
	if keys := tag.Get("listMapKey"); keys != "" {
		out.ListMapKeys = strings.Split(keys, ",")
	}
	if num, ok := plan.ProtoNumber(tag.Get("protobuf")); ok {
		out.Proto = int(num)
	}
	return out
}
