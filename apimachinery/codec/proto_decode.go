package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// UnmarshalProto reads a protobuf message (a body, no envelope) into v, a
// non-nil pointer. Unknown fields are skipped, a message that occurs twice is
// merged, of a scalar the last occurrence counts, elements add up. The error is a
// [*DecodeError], or a [*TypeError] wrapping ErrNoProto; after an error v is zero.
func UnmarshalProto(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("codec: decoding into %T, want a non-nil pointer", v)
	}
	n := nodeOf(rv.Type().Elem())
	if err := n.checkProto(); err != nil {
		return err
	}
	r := getReader()
	defer putReader(r)
	r.data = data
	if n.object != nil {
		r.open(n.object, 0, len(data))
	}
	if !r.message(n, rv.UnsafePointer(), 0, len(data)) {
		n.clear(rv.UnsafePointer())
		return &DecodeError{Offset: r.errAt, Path: joinSegments(r.errPath), Msg: r.errMsg, Err: r.cause}
	}
	if n.object != nil {
		r.close()
	}
	return nil
}

func (r *protoReader) fail(i int, msg string) bool {
	if r.errMsg == "" {
		r.errAt, r.errMsg = i, msg
	}
	return false
}

// varint reads a varint at i that must end by end; the offset is -1 after an error.
func (r *protoReader) varint(i, end int) (uint64, int) {
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
func (r *protoReader) span(i, end int) (from, to int, ok bool) {
	l, i := r.varint(i, end)
	if i < 0 {
		return 0, 0, false
	}
	if l > uint64(end-i) {
		return 0, 0, r.fail(i, "protobuf: length is past the end of the message")
	}
	return i, i + int(l), true
}

func (r *protoReader) text(from, to int, interning bool) string {
	if from == to {
		return ""
	}
	if at := from - r.from; at >= 0 && to-r.from <= len(r.source) {
		return r.source[at : to-r.from]
	}
	raw := r.data[from:to]
	if interning {
		if s, ok := intern(raw, &r.turn); ok {
			return s
		}
	}
	return r.strings.keep(raw, len(r.data)-to)
}

// message reads data[i:end] into the message of type n at p.
func (r *protoReader) message(n *node, p mem.Pointer, i, end int) bool {
	switch n.pb.form {
	case protoFields:
	case protoOwn:
		if err := mem.Bind[protoParser](&n.pb.decIface, p).ParseProto(r.data[i:end:end]); err != nil {
			r.cause = err
			return r.fail(i, err.Error())
		}
		return true
	case protoGogo:
		if err := mem.Bind[protoStd](&n.pb.encIface, p).Unmarshal(r.data[i:end:end]); err != nil {
			r.cause = err
			return r.fail(i, err.Error())
		}
		return true
	case protoList:
		return r.stringList(n, p, i, end)
	}
	if r.depth >= maxNesting {
		r.cause = ErrTooDeep
		return r.fail(i, "protobuf message nested too deeply")
	}
	r.depth++
	plan := &n.pb
	for i < end {
		// Nearly all tags are one or two bytes and of the expected wire type.
		var f *protoField
		if c := r.data[i]; c < 0x80 {
			if k := plan.byTag[c]; k > 0 {
				f = &plan.fields[k-1]
				i++
			}
		} else if i+1 < end && r.data[i+1] < 0x80 {
			tag := int(c&0x7f) | int(r.data[i+1])<<7
			if num := tag >> 3; num < len(plan.byNum) {
				if k := plan.byNum[num]; k > 0 && int(plan.fields[k-1].wire) == tag&7 {
					f = &plan.fields[k-1]
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
		q := mem.Add(p, f.off)
		if i < end && r.data[i] < 0x80 {
			// A one-byte length or number: the commonest kinds of fields are read here.
			v := r.data[i]
			from := i + 1
			to := from + int(v)
			switch f.act {
			case actText:
				if to <= end {
					*mem.At[string](q) = r.text(from, to, f.intern)
					i = to
					continue
				}
			case actMessage:
				if to <= end {
					if !r.message(f.elem, q, from, to) {
						r.errPath = append(r.errPath, segment{f.names.json, -1})
						return false
					}
					i = to
					continue
				}
			case actBool:
				*mem.At[bool](q) = v != 0
				i = from
				continue
			case actInt32, actUint32:
				*mem.At[uint32](q) = uint32(v)
				i = from
				continue
			case actInt64:
				*mem.At[uint64](q) = uint64(v)
				i = from
				continue
			}
		}
		if i = r.field(f, q, protowire.Type(f.wire), i, end); i < 0 {
			r.errPath = append(r.errPath, segment{f.names.json, -1})
			return false
		}
	}
	r.depth--
	return true
}

// otherField reads a field whose tag is unusual or unknown.
func (r *protoReader) otherField(n *node, p mem.Pointer, i, end int) int {
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
	index := n.pb.find(num)
	if index < 0 {
		k := protowire.ConsumeFieldValue(num, wire, r.data[i:end])
		if k < 0 {
			r.fail(i, "protobuf: "+protowire.ParseError(k).Error())
			return -1
		}
		return i + k
	}
	f := &n.pb.fields[index]
	if i = r.field(f, mem.Add(p, f.off), wire, i, end); i < 0 {
		r.errPath = append(r.errPath, segment{f.names.json, -1})
	}
	return i
}

// field reads one occurrence of a field and returns the offset after it or -1.
func (r *protoReader) field(f *protoField, p mem.Pointer, wire protowire.Type, i, end int) int {
	switch f.card {
	case cardOne:
		return r.value(f, f.elem, p, wire, i, end)
	case cardPtr:
		slot := mem.PointerAt(p)
		if *slot == nil {
			*slot = r.slab.New(f.elem.typ, f.elem.kind)
		}
		return r.value(f, f.elem, *slot, wire, i, end)
	case cardList:
		if wire == protowire.BytesType && protowire.Type(f.inner) != protowire.BytesType {
			return r.packed(f, p, i, end)
		}
		return r.list(f, p, wire, i, end)
	case cardPtrs:
		h := mem.SliceAt(p)
		if h.Len == h.Cap {
			f.n.grow(p, max(r.count(f, i, end, h.Len), 1))
		}
		h.Len++
		if f.elem.object != nil {
			r.openItem(f.elem.object, i, end)
		}
		q := r.slab.New(f.elem.typ, f.elem.kind)
		*mem.PointerAt(mem.Index(h.Data, h.Len-1, mem.PointerSize)) = q
		if i = r.value(f, f.elem, q, wire, i, end); i < 0 {
			r.errPath = append(r.errPath, segment{"", h.Len - 1})
		} else if f.elem.object != nil {
			r.close()
		}
		return i
	}
	return r.mapping(f, p, wire, i, end)
}

// value reads one value of type n at i.
func (r *protoReader) value(f *protoField, n *node, p mem.Pointer, wire protowire.Type, i, end int) int {
	if want := protowire.Type(f.inner); wire != want {
		r.fail(i, fmt.Sprintf("protobuf: wire type %d, want %d", wire, want))
		return -1
	}
	switch wire {
	case protowire.BytesType:
		from, to, ok := r.span(i, end)
		if !ok {
			return -1
		}
		switch f.scalar {
		case opString:
			*mem.At[string](p) = r.text(from, to, f.intern)
		case opBytes:
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
		switch n.op {
		case opBool:
			*mem.At[bool](p) = v != 0
		case opInt8, opUint8:
			*mem.At[uint8](p) = uint8(v)
		case opInt16, opUint16:
			*mem.At[uint16](p) = uint16(v)
		case opInt32, opUint32:
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
