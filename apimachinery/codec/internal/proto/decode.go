package proto

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// Unmarshal reads a protobuf message into v, a non-nil pointer, which is zero after an error.
func Unmarshal(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("codec: decoding into %T, want a non-nil pointer", v)
	}
	n := plan.Of(rv.Type().Elem())
	if err := n.CheckProto(); err != nil {
		return err
	}
	r := getReader()
	defer putReader(r)
	r.data = data
	if n.Object != nil {
		r.open(n.Object, 0, len(data))
	}
	if !r.message(n, rv.UnsafePointer(), 0, len(data)) {
		n.Clear(rv.UnsafePointer())
		return &failure.DecodeError{Offset: r.errAt, Path: failure.Path(r.errPath), Msg: r.errMsg, Err: r.cause}
	}
	if n.Object != nil {
		r.close()
	}
	return nil
}

func (r *Reader) fail(i int, msg string) bool {
	if r.errMsg == "" {
		r.errAt, r.errMsg = i, msg
	}
	return false
}

// varint reads a varint at i that must end by end; the offset is -1 after an error.
func (r *Reader) varint(i, end int) (uint64, int) {
	if i < end && r.data[i] < 0x80 {
		return uint64(r.data[i]), i + 1
	}
	v, n := protowire.ConsumeVarint(r.data[i:end])
	if n < 0 {
		r.fail(i, "protobuf: "+protowire.ParseError(n).Error())
		return 0, -1
	}
	return v, i + n
}

// span reads a length prefix at i and returns where the content begins and ends.
func (r *Reader) span(i, end int) (from, to int, ok bool) {
	l, i := r.varint(i, end)
	if i < 0 {
		return 0, 0, false
	}
	if l > uint64(end-i) {
		return 0, 0, r.fail(i, "protobuf: length is past the end of the message")
	}
	return i, i + int(l), true
}

func (r *Reader) text(from, to int, interning bool) string {
	if from == to {
		return ""
	}
	if at := from - r.from; at >= 0 && to-r.from <= len(r.source) {
		return r.source[at : to-r.from]
	}
	raw := r.data[from:to]
	if interning {
		if s, ok := arena.Intern(raw, &r.turn); ok {
			return s
		}
	}
	return r.strings.Keep(raw, len(r.data)-to)
}

// special reads data[i:end] into a message that has a form of its own.
func (r *Reader) special(n *plan.Node, p mem.Pointer, i, end int) bool {
	var err error
	switch n.Proto.Form {
	case plan.ProtoList:
		return r.stringList(n, p, i, end)
	case plan.ProtoOwn:
		err = mem.Bind[plan.ProtoParser](&n.Proto.DecMethods, p).ParseProto(r.data[i:end:end])
	default:
		err = mem.Bind[plan.ProtoMarshaler](&n.Proto.EncMethods, p).Unmarshal(r.data[i:end:end])
	}
	if err != nil {
		r.cause = err
		return r.fail(i, err.Error())
	}
	return true
}

// message reads data[i:end] into the message of type n at p.
func (r *Reader) message(n *plan.Node, p mem.Pointer, i, end int) bool {
	switch n.Proto.Form {
	case plan.ProtoOwn, plan.ProtoMethods, plan.ProtoList:
		return r.special(n, p, i, end)
	}
	if r.depth >= failure.MaxDepth {
		r.cause = failure.ErrTooDeep
		return r.fail(i, "protobuf message nested too deeply")
	}
	r.depth++
	msg := &n.Proto
	for i < end {
		// Nearly all tags are one or two bytes and of the expected wire type.
		var f *plan.ProtoField
		if c := r.data[i]; c < 0x80 {
			if k := msg.ByTag[c]; k > 0 {
				f = &msg.Fields[k-1]
				i++
			}
		} else if i+1 < end && r.data[i+1] < 0x80 {
			tag := int(c&0x7f) | int(r.data[i+1])<<7
			if num := tag >> 3; num < len(msg.ByNumber) {
				if k := msg.ByNumber[num]; k > 0 && int(msg.Fields[k-1].Wire) == tag&7 {
					f = &msg.Fields[k-1]
					i += 2
				}
			}
		}
		if f == nil {
			if i = r.otherField(n, p, i, end); i < 0 {
				return false
			}
			continue
		}
		q := mem.Add(p, f.Off)
		if i < end && r.data[i] < 0x80 {
			// A one-byte length or number: the most frequent kinds of fields are read here.
			v := r.data[i]
			from := i + 1
			to := from + int(v)
			switch f.Act {
			case plan.ActText:
				if to <= end {
					*mem.At[string](q) = r.text(from, to, f.Intern)
					i = to
					continue
				}
			case plan.ActMessage:
				if to <= end {
					if !r.message(f.Elem, q, from, to) {
						r.errPath = append(r.errPath, failure.Member(f.Names.JSON))
						return false
					}
					i = to
					continue
				}
			case plan.ActBool:
				*mem.At[bool](q) = v != 0
				i = from
				continue
			case plan.ActInt32, plan.ActUint32:
				*mem.At[uint32](q) = uint32(v)
				i = from
				continue
			case plan.ActInt64:
				*mem.At[uint64](q) = uint64(v)
				i = from
				continue
			}
		}
		if i = r.Field(f, q, protowire.Type(f.Wire), i, end); i < 0 {
			r.errPath = append(r.errPath, failure.Member(f.Names.JSON))
			return false
		}
	}
	r.depth--
	return true
}

// otherField reads a field whose tag is unusual or unknown.
func (r *Reader) otherField(n *plan.Node, p mem.Pointer, i, end int) int {
	at := i
	tag, i := r.varint(i, end)
	if i < 0 {
		return -1
	}
	num, wire := protowire.DecodeTag(tag)
	if num < protowire.MinValidNumber {
		r.fail(at, "protobuf: invalid field number")
		return -1
	}
	index := n.Proto.Find(num)
	if index < 0 {
		k := protowire.ConsumeFieldValue(num, wire, r.data[i:end])
		if k < 0 {
			r.fail(i, "protobuf: "+protowire.ParseError(k).Error())
			return -1
		}
		return i + k
	}
	f := &n.Proto.Fields[index]
	if i = r.Field(f, mem.Add(p, f.Off), wire, i, end); i < 0 {
		r.errPath = append(r.errPath, failure.Member(f.Names.JSON))
	}
	return i
}

// Field reads one occurrence of a field and returns the offset after it or -1.
func (r *Reader) Field(f *plan.ProtoField, p mem.Pointer, wire protowire.Type, i, end int) int {
	switch f.Card {
	case plan.One:
		return r.Value(f, f.Elem, p, wire, i, end)
	case plan.Optional:
		slot := mem.PointerAt(p)
		if *slot == nil {
			*slot = r.slab.New(f.Elem.Type, f.Elem.Kind)
		}
		return r.Value(f, f.Elem, *slot, wire, i, end)
	case plan.Repeated:
		if wire == protowire.BytesType && protowire.Type(f.Inner) != protowire.BytesType {
			return r.packed(f, p, i, end)
		}
		return r.list(f, p, wire, i, end)
	case plan.RepeatedPointers:
		h := mem.SliceAt(p)
		if h.Len == h.Cap {
			f.Node.Grow(p, max(r.count(f, i, end, h.Len), 1))
		}
		h.Len++
		if f.Elem.Object != nil {
			r.openItem(f.Elem.Object, i, end)
		}
		q := r.slab.New(f.Elem.Type, f.Elem.Kind)
		*mem.PointerAt(mem.Index(h.Data, h.Len-1, mem.PointerSize)) = q
		if i = r.Value(f, f.Elem, q, wire, i, end); i < 0 {
			r.errPath = append(r.errPath, failure.Element(h.Len-1))
		} else if f.Elem.Object != nil {
			r.close()
		}
		return i
	}
	return r.mapping(f, p, wire, i, end)
}

// Value reads one value of type n at i.
func (r *Reader) Value(f *plan.ProtoField, n *plan.Node, p mem.Pointer, wire protowire.Type, i, end int) int {
	if want := protowire.Type(f.Inner); wire != want {
		r.fail(i, fmt.Sprintf("protobuf: wire type %d, want %d", wire, want))
		return -1
	}
	switch wire {
	case protowire.BytesType:
		from, to, ok := r.span(i, end)
		if !ok {
			return -1
		}
		switch f.Scalar {
		case plan.OpString:
			*mem.At[string](p) = r.text(from, to, f.Intern)
		case plan.OpBytes:
			b := make([]byte, to-from)
			copy(b, r.data[from:to])
			*mem.At[[]byte](p) = b
		default:
			if !r.message(n, p, from, to) {
				return -1
			}
		}
		return to
	case protowire.VarintType:
		v, i := r.varint(i, end)
		if i < 0 {
			return -1
		}
		switch n.Op {
		case plan.OpBool:
			*mem.At[bool](p) = v != 0
		case plan.OpInt8, plan.OpUint8:
			*mem.At[uint8](p) = uint8(v)
		case plan.OpInt16, plan.OpUint16:
			*mem.At[uint16](p) = uint16(v)
		case plan.OpInt32, plan.OpUint32:
			*mem.At[uint32](p) = uint32(v)
		default:
			*mem.At[uint64](p) = v
		}
		return i
	case protowire.Fixed32Type:
		if end-i < 4 {
			r.fail(i, "protobuf: unexpected EOF")
			return -1
		}
		*mem.At[float32](p) = math.Float32frombits(binary.LittleEndian.Uint32(r.data[i:]))
		return i + 4
	default:
		if end-i < 8 {
			r.fail(i, "protobuf: unexpected EOF")
			return -1
		}
		*mem.At[float64](p) = math.Float64frombits(binary.LittleEndian.Uint64(r.data[i:]))
		return i + 8
	}
}
