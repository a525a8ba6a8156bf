package codec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// protoForm is how a type is encoded in protobuf.
type protoForm uint8

const (
	protoNone   protoForm = iota
	protoScalar           // varint, fixed or bytes, by the shape
	protoFields           // a message, from the struct's tags
	protoOwn              // a message, AppendProto and ParseProto
	protoGogo             // a message, Marshal and Unmarshal
	protoList             // a message {1: repeated string} around a named slice
)

type protoPlan struct {
	form     protoForm
	fields   []protoField // in rising number order
	probes   []protoProbe // of the fields, same order
	byNum    []uint8      // field number -> index + 1, for numbers below 128
	byTag    *[128]uint8  // one-byte tag -> index + 1
	encIface mem.Binder
	decIface mem.Binder
	bad      error
}

// protoCard is how often a field's value occurs.
type protoCard uint8

const (
	cardOne protoCard = iota // always written
	cardPtr                  // written when not nil
	cardList
	cardPtrs // a list of pointers; nil ones are written as zero values
	cardMap
)

// protoAct is how the most frequent kinds of fields are read and written.
type protoAct uint8

const (
	actOther protoAct = iota
	actMaybe          // not written if the first word is nil: pointers, maps, slices
	actText           // a string
	actMessage
	actBool
	actInt32
	actUint32
	actInt64
)

// A protoField is kept small: a message is written and read by walking an array of them.
type protoField struct {
	act    protoAct
	card   protoCard
	scalar op // the shape of elem if it is a scalar, else opStruct
	intern bool
	wire   uint8 // of the field
	inner  uint8 // of one value, which is another for maps
	tagLen uint8
	tag    [5]byte // number and wire type, tagLen bytes
	off    uint32
	elem   *node // the type of one value: of the pointee, element or map value
	n      *node // the field's type
	names  *protoNames
}

// A protoProbe is what the writer needs to pass over a field that is not set, or to write one that is empty;
// see probe.
type protoProbe struct {
	off uint32
	act protoAct
	tag uint8 // 0 if it takes more than a byte
}

// protoNames is the part of a field that is needed only when plans are made and for errors.
type protoNames struct {
	num    protowire.Number
	json   string
	goName string
}

func (f *protoField) tagBytes() []byte { return f.tag[:f.tagLen] }

func (f *protoField) chooseAct() protoAct {
	if f.card != cardOne {
		return actMaybe
	}
	switch f.scalar {
	case opBytes:
		return actMaybe
	case opString:
		return actText
	case opStruct:
		if f.elem.pb.form == protoList {
			return actMaybe
		}
		return actMessage
	case opBool:
		return actBool
	case opInt32:
		return actInt32
	case opUint32:
		return actUint32
	case opInt64, opUint64:
		return actInt64
	}
	return actOther
}

// wireOf is the wire type of a value of n.
func wireOf(n *node) protowire.Type {
	if n.pb.form == protoScalar {
		switch n.op {
		case opString, opBytes:
			return protowire.BytesType
		case opFloat32:
			return protowire.Fixed32Type
		case opFloat64:
			return protowire.Fixed64Type
		}
		return protowire.VarintType
	}
	return protowire.BytesType
}

// protoShape decides how n is encoded and links the fields of messages.
func (b *builder) protoShape(n *node) {
	t := n.typ
	if n.op == opAny || n.op == opIface || n.op == opPtr || n.op == opInvalid {
		return
	}
	zero := reflect.Zero(reflect.PointerTo(t)).Interface()
	if a, ok := zero.(protoAppender); ok && declares(t, appendProtoMethod) {
		if p, ok := zero.(protoParser); ok && declares(t, parseProtoMethod) {
			n.pb.form, n.pb.encIface, n.pb.decIface = protoOwn, mem.BinderOf(a), mem.BinderOf(p)
			return
		}
	}
	switch n.op {
	case opStruct:
		b.protoStruct(n)
		if n.pb.form != protoNone {
			return
		}
		if m, ok := zero.(protoStd); ok && declares(t, marshalMethod) && declares(t, unmarshalMethod) {
			n.pb.form, n.pb.encIface = protoGogo, mem.BinderOf(m)
			return
		}
		if t.NumField() == 0 {
			n.pb.form = protoFields
		}
	case opSlice:
		if t.Name() != "" && t.Elem().Kind() == reflect.String {
			n.pb.form = protoList
		}
	case opBool, opInt8, opInt16, opInt32, opInt64, opUint8, opUint16, opUint32, opUint64, opFloat32, opFloat64, opString, opBytes:
		n.pb.form = protoScalar
	}
}

func (b *builder) protoStruct(n *node) {
	for i := range n.typ.NumField() {
		sf := n.typ.Field(i)
		num, ok := protoNumber(sf.Tag.Get("protobuf"))
		if !ok || !sf.IsExported() {
			continue
		}
		f := protoField{off: uint32(sf.Offset), n: b.node(sf.Type), names: &protoNames{num: num, goName: sf.Name}}
		f.names.json = parseTag(sf.Tag.Get("json")).name
		if f.names.json == "" || f.names.json == "-" {
			f.names.json = sf.Name
		}
		ft := sf.Type
		switch {
		case ft.Kind() == reflect.Pointer:
			f.card, f.elem = cardPtr, b.node(ft.Elem())
		case ft.Kind() == reflect.Map && ft.Key().Kind() == reflect.String:
			f.card, f.elem = cardMap, b.node(ft.Elem())
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Pointer:
			f.card, f.elem = cardPtrs, b.node(ft.Elem().Elem())
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() != reflect.Uint8 && !(ft.Name() != "" && ft.Elem().Kind() == reflect.String):
			f.card, f.elem = cardList, b.node(ft.Elem())
		default:
			f.card, f.elem = cardOne, f.n
		}
		f.intern = f.elem.typ.Kind() == reflect.String && (f.elem.typ != stringType || internedNames[f.names.json])
		n.pb.fields = append(n.pb.fields, f)
	}
	if len(n.pb.fields) == 0 {
		return
	}
	n.pb.form = protoFields
	fs := n.pb.fields
	slices.SortFunc(fs, func(x, y protoField) int { return int(x.names.num) - int(y.names.num) })
	for i := range fs {
		num := fs[i].names.num
		if i > 0 && num == fs[i-1].names.num {
			n.pb.bad = fmt.Errorf("fields %s and %s have the same protobuf number %d", fs[i-1].names.goName, fs[i].names.goName, num)
		}
		if num < 128 && i < 255 {
			for len(n.pb.byNum) <= int(num) {
				n.pb.byNum = append(n.pb.byNum, 0)
			}
			n.pb.byNum[num] = uint8(i + 1)
		}
	}
}

// finishProto computes the tags, for which the wire types of the parts are needed.
func (n *node) finishProto() {
	if n.pb.form == protoFields {
		n.pb.byTag = new([128]uint8)
	}
	for i := range n.pb.fields {
		f := &n.pb.fields[i]
		wire := protowire.BytesType
		f.inner = uint8(wireOf(f.elem))
		if f.card != cardMap {
			wire = wireOf(f.elem)
		}
		f.tagLen = uint8(copy(f.tag[:], protowire.AppendTag(nil, f.names.num, wire)))
		f.wire = uint8(wire)
		if f.names.num < 16 && i < 255 {
			n.pb.byTag[f.tag[0]] = uint8(i + 1)
		}
		f.scalar = opStruct
		if f.elem.pb.form == protoScalar {
			f.scalar = f.elem.op
		}
		f.act = f.chooseAct()
		pr := protoProbe{off: f.off, act: f.act}
		if f.tagLen == 1 {
			pr.tag = f.tag[0]
		}
		n.pb.probes = append(n.pb.probes, pr)
	}
}

// protoNumber reads the field number out of a tag like "bytes,1,opt,name=metadata".
func protoNumber(tag string) (protowire.Number, bool) {
	_, rest, ok := strings.Cut(tag, ",")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, ",")
	k, err := strconv.Atoi(digits)
	num := protowire.Number(k)
	return num, err == nil && num.IsValid()
}

// find returns the index of the field with the number, or -1.
func (p *protoPlan) find(num protowire.Number) int {
	if int(num) < len(p.byNum) {
		return int(p.byNum[num]) - 1
	}
	i, ok := slices.BinarySearchFunc(p.fields, num, func(f protoField, num protowire.Number) int { return int(f.names.num) - int(num) })
	if !ok {
		return -1
	}
	return i
}

// checkProto searches the graph below n for a part without a protobuf form. Only
// messages have one at the root.
func (n *node) checkProto() error {
	n.protoOnce.Do(func() {
		if n.pb.form == protoScalar || n.pb.form == protoList {
			n.protoErr = &TypeError{Type: n.typ, Err: ErrNoProto}
			return
		}
		n.protoErr = n.search(func(m *node) (error, bool) {
			if m.pb.bad != nil {
				return m.pb.bad, false
			}
			switch m.pb.form {
			case protoFields:
				return nil, true
			case protoNone:
				return ErrNoProto, false
			}
			return nil, false
		}, func(m *node, visit func(string, *node)) {
			for i := range m.pb.fields {
				visit(m.pb.fields[i].names.goName, m.pb.fields[i].elem)
			}
		})
	})
	return n.protoErr
}
