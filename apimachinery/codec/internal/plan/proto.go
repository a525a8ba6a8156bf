package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// ProtoForm is how a type is encoded in protobuf.
type ProtoForm uint8

const (
	ProtoNone    ProtoForm = iota
	ProtoScalar            // varint, fixed or bytes, by the shape
	ProtoFields            // a message, from the struct's tags
	ProtoOwn               // a message, AppendProto and ParseProto
	ProtoMethods           // a message, Marshal and Unmarshal
	ProtoList              // a message {1: repeated string} around a named slice
)

// A Message is how values of a type are encoded in protobuf.
type Message struct {
	Form       ProtoForm
	ByTag      *[128]uint8  // one-byte tag -> index + 1
	Fields     []ProtoField // in rising number order
	ByNumber   []uint8      // field number -> index + 1, for numbers below 128
	Probes     []ProtoProbe // of the fields, same order
	EncMethods mem.Binder
	DecMethods mem.Binder
	bad        error
}

// Cardinality is how many values a field has.
type Cardinality uint8

const (
	One      Cardinality = iota // always written
	Optional                    // written when not nil
	Repeated
	RepeatedPointers // a list of pointers; nil ones are written as zero values
	Mapped
)

// ProtoAct is how the most frequent kinds of fields are read and written.
type ProtoAct uint8

const (
	ActOther ProtoAct = iota
	ActMaybe          // not written if the first word is nil: pointers, maps, slices
	ActText           // a string
	ActMessage
	ActBool
	ActInt32
	ActUint32
	ActInt64
)

// A ProtoField is a field of a message. It is kept small: a message is written and read by walking an array
// of them.
type ProtoField struct {
	Act    ProtoAct
	Card   Cardinality
	Scalar Op    // the shape of Elem if it is a scalar, else OpStruct
	Intern bool  // strings whose values repeat
	Wire   uint8 // of the field
	Inner  uint8 // of one value, which is another for maps
	TagLen uint8
	Tag    [5]byte // number and wire type, TagLen bytes
	Off    uint32
	Elem   *Node // the type of one value: of the pointee, element or map value
	Node   *Node // the field's type
	Names  *ProtoNames
}

// A ProtoProbe holds what the writer reads to skip a field that is not set, or to write an empty one; see
// Probe.
type ProtoProbe struct {
	Off uint32
	Act ProtoAct
	Tag uint8 // 0 if it takes more than a byte
}

// ProtoNames holds the names of a field, which are needed only when plans are made and for errors.
type ProtoNames struct {
	Number protowire.Number
	JSON   string
	GoName string
}

// TagBytes returns the encoded tag.
func (f *ProtoField) TagBytes() []byte { return f.Tag[:f.TagLen] }

func (f *ProtoField) chooseAct() ProtoAct {
	if f.Card != One {
		return ActMaybe
	}
	switch f.Scalar {
	case OpBytes:
		return ActMaybe
	case OpString:
		return ActText
	case OpStruct:
		if f.Elem.Proto.Form == ProtoList {
			return ActMaybe
		}
		return ActMessage
	case OpBool:
		return ActBool
	case OpInt32:
		return ActInt32
	case OpUint32:
		return ActUint32
	case OpInt64, OpUint64:
		return ActInt64
	}
	return ActOther
}

// WireOf returns the wire type of a value of n.
func WireOf(n *Node) protowire.Type {
	if n.Proto.Form == ProtoScalar {
		switch n.Op {
		case OpString, OpBytes:
			return protowire.BytesType
		case OpFloat32:
			return protowire.Fixed32Type
		case OpFloat64:
			return protowire.Fixed64Type
		}
		return protowire.VarintType
	}
	return protowire.BytesType
}

// protoShape decides how n is encoded and links the fields of messages.
func (b *builder) protoShape(n *Node) {
	t := n.Type
	if n.Op == OpAny || n.Op == OpInterface || n.Op == OpPointer || n.Op == OpInvalid {
		return
	}
	zero := reflect.Zero(reflect.PointerTo(t)).Interface()
	if a, ok := zero.(ProtoAppender); ok && declares(t, appendProtoMethod) {
		if p, ok := zero.(ProtoParser); ok && declares(t, parseProtoMethod) {
			n.Proto.Form, n.Proto.EncMethods, n.Proto.DecMethods = ProtoOwn, mem.BinderOf(a), mem.BinderOf(p)
			return
		}
	}
	switch n.Op {
	case OpStruct:
		b.protoStruct(n)
		if n.Proto.Form != ProtoNone {
			return
		}
		if m, ok := zero.(ProtoMarshaler); ok && declares(t, marshalMethod) && declares(t, unmarshalMethod) {
			n.Proto.Form, n.Proto.EncMethods = ProtoMethods, mem.BinderOf(m)
			return
		}
		if t.NumField() == 0 {
			n.Proto.Form = ProtoFields
		}
	case OpSlice:
		if t.Name() != "" && t.Elem().Kind() == reflect.String {
			n.Proto.Form = ProtoList
		}
	case OpBool, OpInt8, OpInt16, OpInt32, OpInt64, OpUint8, OpUint16, OpUint32, OpUint64, OpFloat32, OpFloat64, OpString, OpBytes:
		n.Proto.Form = ProtoScalar
	}
}

func (b *builder) protoStruct(n *Node) {
	for i := range n.Type.NumField() {
		sf := n.Type.Field(i)
		num, ok := ProtoNumber(sf.Tag.Get("protobuf"))
		if !ok || !sf.IsExported() {
			continue
		}
		f := ProtoField{Off: uint32(sf.Offset), Node: b.node(sf.Type), Names: &ProtoNames{Number: num, GoName: sf.Name}}
		f.Names.JSON = parseTag(sf.Tag.Get("json")).Name
		if f.Names.JSON == "" || f.Names.JSON == "-" {
			f.Names.JSON = sf.Name
		}
		ft := sf.Type
		switch {
		case ft.Kind() == reflect.Pointer:
			f.Card, f.Elem = Optional, b.node(ft.Elem())
		case ft.Kind() == reflect.Map && ft.Key().Kind() == reflect.String:
			f.Card, f.Elem = Mapped, b.node(ft.Elem())
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Pointer:
			f.Card, f.Elem = RepeatedPointers, b.node(ft.Elem().Elem())
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() != reflect.Uint8 && !(ft.Name() != "" && ft.Elem().Kind() == reflect.String):
			f.Card, f.Elem = Repeated, b.node(ft.Elem())
		default:
			f.Card, f.Elem = One, f.Node
		}
		f.Intern = f.Elem.Type.Kind() == reflect.String && (f.Elem.Type != stringType || internedNames[f.Names.JSON])
		n.Proto.Fields = append(n.Proto.Fields, f)
	}
	if len(n.Proto.Fields) == 0 {
		return
	}
	n.Proto.Form = ProtoFields
	fs := n.Proto.Fields
	slices.SortFunc(fs, func(x, y ProtoField) int { return int(x.Names.Number) - int(y.Names.Number) })
	for i := range fs {
		num := fs[i].Names.Number
		if i > 0 && num == fs[i-1].Names.Number {
			n.Proto.bad = fmt.Errorf("fields %s and %s have the same protobuf number %d", fs[i-1].Names.GoName, fs[i].Names.GoName, num)
		}
		if num < 128 && i < 255 {
			for len(n.Proto.ByNumber) <= int(num) {
				n.Proto.ByNumber = append(n.Proto.ByNumber, 0)
			}
			n.Proto.ByNumber[num] = uint8(i + 1)
		}
	}
}

// finishProto computes the tags, for which the wire types of the parts are needed.
func (n *Node) finishProto() {
	if n.Proto.Form == ProtoFields {
		n.Proto.ByTag = new([128]uint8)
	}
	for i := range n.Proto.Fields {
		f := &n.Proto.Fields[i]
		wire := protowire.BytesType
		f.Inner = uint8(WireOf(f.Elem))
		if f.Card != Mapped {
			wire = WireOf(f.Elem)
		}
		f.TagLen = uint8(copy(f.Tag[:], protowire.AppendTag(nil, f.Names.Number, wire)))
		f.Wire = uint8(wire)
		if f.Names.Number < 16 && i < 255 {
			n.Proto.ByTag[f.Tag[0]] = uint8(i + 1)
		}
		f.Scalar = OpStruct
		if f.Elem.Proto.Form == ProtoScalar {
			f.Scalar = f.Elem.Op
		}
		f.Act = f.chooseAct()
		pr := ProtoProbe{Off: f.Off, Act: f.Act}
		if f.TagLen == 1 {
			pr.Tag = f.Tag[0]
		}
		n.Proto.Probes = append(n.Proto.Probes, pr)
	}
}

// ProtoNumber returns the field number of a tag such as "bytes,1,opt,name=metadata".
func ProtoNumber(tag string) (protowire.Number, bool) {
	_, rest, ok := strings.Cut(tag, ",")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, ",")
	k, err := strconv.Atoi(digits)
	num := protowire.Number(k)
	return num, err == nil && num.IsValid()
}

// Find returns the index of the field with the number, or -1.
func (p *Message) Find(num protowire.Number) int {
	if int(num) < len(p.ByNumber) {
		return int(p.ByNumber[num]) - 1
	}
	i, ok := slices.BinarySearchFunc(p.Fields, num, func(f ProtoField, num protowire.Number) int { return int(f.Names.Number) - int(num) })
	if !ok {
		return -1
	}
	return i
}

// CheckProto searches the graph below n for a part without a protobuf form. Only
// messages have one at the root.
func (n *Node) CheckProto() error {
	n.protoOnce.Do(func() {
		if n.Proto.Form == ProtoScalar || n.Proto.Form == ProtoList {
			n.protoErr = &failure.TypeError{Type: n.Type, Err: failure.ErrNoProto}
			return
		}
		n.protoErr = n.search(func(m *Node) (error, bool) {
			if m.Proto.bad != nil {
				return m.Proto.bad, false
			}
			switch m.Proto.Form {
			case ProtoFields:
				return nil, true
			case ProtoNone:
				return failure.ErrNoProto, false
			}
			return nil, false
		}, func(m *Node, visit func(string, *Node)) {
			for i := range m.Proto.Fields {
				visit(m.Proto.Fields[i].Names.GoName, m.Proto.Fields[i].Elem)
			}
		})
	})
	return n.protoErr
}
