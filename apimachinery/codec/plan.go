package codec

import (
	"reflect"
	"strings"
)

// A Plan is the read-only view of what was compiled for a Go type: the kind of its JSON form and the struct
// tags that patches, field tracking and schemas need. Plans of one type are identical pointers.
type Plan struct {
	// Type is the Go type.
	Type reflect.Type
	// Kind is the kind of the JSON form.
	Kind Kind

	node   *node
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

	n *node
}

// PlanOf compiles the plan of t; pointers are followed. The error is a
// [*TypeError] for types that have no JSON form or cannot be copied: those that
// hold channels, functions, locks or hidden pointers, named by field path.
func PlanOf(t reflect.Type) (*Plan, error) {
	for t.Kind() == reflect.Pointer && !pointsToItself(t) {
		t = t.Elem()
	}
	n := nodeOf(t)
	if err := n.checkJSON(); err != nil {
		return nil, err
	}
	if err := n.checkCopy(); err != nil {
		return nil, err
	}
	return n.plan(), nil
}

// Elem is the plan of the elements of a List or the values of a Map, else nil.
func (p *Plan) Elem() *Plan {
	if p.Kind != List && p.Kind != Map {
		return nil
	}
	return p.node.elem.plan()
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
func (f *Field) Plan() *Plan { return f.n.plan() }

func (n *node) plan() *Plan {
	for n.op == opPtr {
		n = n.elem
	}
	n.introOnce.Do(func() { n.intro = n.introspect() })
	return n.intro
}

func (n *node) introspect() *Plan {
	p := &Plan{Type: n.typ, node: n}
	if n.enc != n.op || n.dec != n.op {
		if n.enc == opRawJSON {
			p.Kind = Any
		}
		if n.enc == opNumber {
			p.Kind = Number
		}
		return p
	}
	switch n.op {
	case opBool:
		p.Kind = Boolean
	case opInt8, opInt16, opInt32, opInt64, opUint8, opUint16, opUint32, opUint64:
		p.Kind = Integer
	case opFloat32, opFloat64:
		p.Kind = Number
	case opString, opBytes:
		p.Kind = String
	case opSlice, opArray:
		p.Kind = List
	case opStrMap, opMap:
		p.Kind = Map
	case opAny, opIface:
		p.Kind = Any
	case opStruct:
		p.Kind = Struct
		p.byName = map[string]int{}
		for i := range n.fields {
			p.fields = append(p.fields, n.fields[i].introspect())
			p.byName[n.fields[i].name] = i
		}
	}
	return p
}

func (f *field) introspect() Field {
	tag := f.sf.Tag
	ft := parseTag(tag.Get("json"))
	out := Field{
		Name: f.name, GoName: f.goPath, Type: f.n.typ, Offset: int(f.off), Tag: tag, n: f.n,
		OmitEmpty: ft.omitEmpty, OmitZero: ft.omitZero, Pointer: f.n.op == opPtr,
		PatchStrategy: tag.Get("patchStrategy"), PatchMergeKey: tag.Get("patchMergeKey"),
		ListType: tag.Get("listType"), MapType: tag.Get("mapType"), Default: tag.Get("default"),
	}
	if f.indirect {
		out.Offset = -1
	}
	if keys := tag.Get("listMapKey"); keys != "" {
		out.ListMapKeys = strings.Split(keys, ",")
	}
	if num, ok := protoNumber(tag.Get("protobuf")); ok {
		out.Proto = int(num)
	}
	return out
}
