package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
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
	r := protoReader{data: data}
	if !r.message(n, rv.UnsafePointer(), 0, len(data)) {
		n.clear(rv.UnsafePointer())
		return &DecodeError{Offset: r.errAt, Path: joinSegments(r.errPath), Msg: r.errMsg, Err: r.cause}
	}
	return nil
}

const ptrSize = unsafe.Sizeof(unsafe.Pointer(nil))

// A protoReader is one decode under way. Offsets are into the whole input, so
// that errors can name them.
type protoReader struct {
	data  []byte
	depth int
	turn  uint8

	strings block
	key     string // of the map entry being read
	value1  string // and its value

	errAt   int
	errMsg  string
	cause   error
	errPath []segment
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
	raw := r.data[from:to]
	if interning {
		if s, ok := intern(raw, &r.turn); ok {
			return s
		}
	}
	return r.strings.keep(raw, len(r.data)-to)
}

// message reads data[i:end] into the message of type n at p.
func (r *protoReader) message(n *node, p unsafe.Pointer, i, end int) bool {
	switch n.pb.form {
	case protoFields:
	case protoOwn:
		if err := bind[protoParser](n.pb.decWord, p).ParseProto(r.data[i:end:end]); err != nil {
			r.cause = err
			return r.fail(i, err.Error())
		}
		return true
	case protoGogo:
		if err := bind[protoStd](n.pb.encWord, p).Unmarshal(r.data[i:end:end]); err != nil {
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
		q := unsafe.Add(p, f.off)
		if i < end && r.data[i] < 0x80 {
			// A one-byte length or number: the commonest kinds of fields are read here.
			v := r.data[i]
			from := i + 1
			to := from + int(v)
			switch f.act {
			case actText:
				if to <= end {
					*(*string)(q) = r.text(from, to, f.intern)
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
				*(*bool)(q) = v != 0
				i = from
				continue
			case actInt32:
				*(*uint32)(q) = uint32(v)
				i = from
				continue
			case actInt64:
				*(*uint64)(q) = uint64(v)
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
func (r *protoReader) otherField(n *node, p unsafe.Pointer, i, end int) int {
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
	f := n.pb.field(num)
	if f == nil {
		k := protowire.ConsumeFieldValue(num, wire, r.data[i:end])
		if k < 0 {
			r.fail(i, "protobuf: "+protowire.ParseError(k).Error())
			return -1
		}
		return i + k
	}
	if i = r.field(f, unsafe.Add(p, f.off), wire, i, end); i < 0 {
		r.errPath = append(r.errPath, segment{f.names.json, -1})
	}
	return i
}

// field reads one occurrence of a field and returns the offset after it or -1.
func (r *protoReader) field(f *protoField, p unsafe.Pointer, wire protowire.Type, i, end int) int {
	switch f.card {
	case cardOne:
		return r.value(f, f.elem, p, wire, i, end)
	case cardPtr:
		slot := (*unsafe.Pointer)(p)
		if *slot == nil {
			*slot = f.elem.newValue()
		}
		return r.value(f, f.elem, *slot, wire, i, end)
	case cardList:
		if wire == protowire.BytesType && wireOf(f.elem) != protowire.BytesType {
			return r.packed(f, p, i, end)
		}
		return r.list(f, p, wire, i, end)
	case cardPtrs:
		h := (*sliceHeader)(p)
		if h.len == h.cap {
			f.n.grow(p, max(r.count(f, i, end, h.len), 1))
		}
		h.len++
		q := f.elem.newValue()
		*(*unsafe.Pointer)(unsafe.Add(h.data, uintptr(h.len-1)*ptrSize)) = q
		if i = r.value(f, f.elem, q, wire, i, end); i < 0 {
			r.errPath = append(r.errPath, segment{"", h.len - 1})
		}
		return i
	}
	return r.mapping(f, p, wire, i, end)
}

// list reads an element of a list, and those that follow it directly.
func (r *protoReader) list(f *protoField, p unsafe.Pointer, wire protowire.Type, i, end int) int {
	h := (*sliceHeader)(p)
	for {
		if h.len == h.cap {
			f.n.grow(p, max(r.count(f, i, end, h.len), 1))
		}
		h.len++
		i = r.value(f, f.elem, unsafe.Add(h.data, uintptr(h.len-1)*f.elem.size), wire, i, end)
		if i < 0 {
			r.errPath = append(r.errPath, segment{"", h.len - 1})
			return -1
		}
		if !r.follows(f, i, end) {
			return i
		}
		i += int(f.tagLen)
	}
}

// follows reports whether the tag of f is at i.
func (r *protoReader) follows(f *protoField, i, end int) bool {
	k := int(f.tagLen)
	if k == 1 {
		return i < end && r.data[i] == f.tag[0]
	}
	return end-i >= k && string(r.data[i:i+k]) == string(f.tag[:k])
}

// count looks ahead for how many values of a list follow each other, the one
// whose tag was read included. It is a guess that costs a step per value.
func (r *protoReader) count(f *protoField, i, end, have int) int {
	n := 1
	for {
		if wireOf(f.elem) != protowire.BytesType {
			return max(4, have)
		}
		l, k := protowire.ConsumeVarint(r.data[i:end])
		if k < 0 || l > uint64(end-i-k) {
			return n
		}
		i += k + int(l)
		if !r.follows(f, i, end) {
			return n
		}
		i += int(f.tagLen)
		n++
	}
}

// packed reads a list of numbers in one length-delimited value.
func (r *protoReader) packed(f *protoField, p unsafe.Pointer, i, end int) int {
	from, to, ok := r.span(i, end)
	if !ok {
		return -1
	}
	h := (*sliceHeader)(p)
	for from < to {
		if h.len == h.cap {
			f.n.grow(p, max(4, h.len))
		}
		h.len++
		from = r.value(f, f.elem, unsafe.Add(h.data, uintptr(h.len-1)*f.elem.size), wireOf(f.elem), from, to)
		if from < 0 {
			return -1
		}
	}
	return to
}

// value reads one value of type n at i.
func (r *protoReader) value(f *protoField, n *node, p unsafe.Pointer, wire protowire.Type, i, end int) int {
	if want := wireOf(n); wire != want {
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
			*(*string)(p) = r.text(from, to, f.intern)
		case opBytes:
			b := make([]byte, to-from)
			copy(b, r.data[from:to])
			*(*[]byte)(p) = b
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
			*(*bool)(p) = v != 0
		case opInt8, opUint8:
			*(*uint8)(p) = uint8(v)
		case opInt16, opUint16:
			*(*uint16)(p) = uint16(v)
		case opInt32, opUint32:
			*(*uint32)(p) = uint32(v)
		default:
			*(*uint64)(p) = v
		}
		return i
	case protowire.Fixed32Type:
		if end-i < 4 {
			r.fail(i, "protobuf: unexpected EOF")
			return -1
		}
		*(*float32)(p) = math.Float32frombits(binary.LittleEndian.Uint32(r.data[i:]))
		return i + 4
	default:
		if end-i < 8 {
			r.fail(i, "protobuf: unexpected EOF")
			return -1
		}
		*(*float64)(p) = math.Float64frombits(binary.LittleEndian.Uint64(r.data[i:]))
		return i + 8
	}
}

// stringList reads the message around a named list of strings.
func (r *protoReader) stringList(n *node, p unsafe.Pointer, i, end int) bool {
	s := (*[]string)(p)
	if *s == nil {
		*s = []string{}
	}
	for i < end {
		var tag uint64
		if tag, i = r.varint(i, end); i < 0 {
			return false
		}
		num, wire := protowire.DecodeTag(tag)
		if num == 1 && wire == protowire.BytesType {
			from, to, ok := r.span(i, end)
			if !ok {
				return false
			}
			*s = append(*s, r.text(from, to, true))
			i = to
			continue
		}
		k := protowire.ConsumeFieldValue(num, wire, r.data[i:end])
		if num < protowire.MinValidNumber || k < 0 {
			return r.fail(i, "protobuf: invalid field")
		}
		i += k
	}
	return true
}

// mapping reads a map entry, and those that follow it directly.
func (r *protoReader) mapping(f *protoField, p unsafe.Pointer, wire protowire.Type, i, end int) int {
	if wire != protowire.BytesType {
		r.fail(i, "protobuf: a map entry is not a message")
		return -1
	}
	outer := r.key // the value of an entry may hold maps itself
	if f.n.op == opStrMap {
		i = r.stringMap(f, p, i, end)
	} else {
		i = r.anyMap(f, p, i, end)
	}
	r.key = outer
	return i
}

func (r *protoReader) stringMap(f *protoField, p unsafe.Pointer, i, end int) int {
	m := *(*map[string]string)(p)
	if m == nil {
		m = map[string]string{}
		*(*map[string]string)(p) = m
	}
	for {
		from, to, ok := r.span(i, end)
		r.key, r.value1 = "", ""
		if !ok || !r.entry(f, from, to, unsafe.Pointer(&r.value1)) {
			return -1
		}
		m[r.key] = r.value1
		if !r.follows(f, to, end) {
			return to
		}
		i = to + int(f.tagLen)
	}
}

func (r *protoReader) anyMap(f *protoField, p unsafe.Pointer, i, end int) int {
	m := f.n.at(p)
	if m.IsNil() {
		m.Set(reflect.MakeMap(f.n.typ))
	}
	s := f.n.borrow(1)
	defer f.n.giveBack(s)
	elem := (*sliceHeader)(s.slots).data
	value := f.elem.at(elem)
	for {
		from, to, ok := r.span(i, end)
		if f.scalar == opBytes {
			*(*[]byte)(elem) = []byte{} // an entry without a value has an empty one
		}
		r.key = ""
		if !ok || !r.entry(f, from, to, elem) {
			return -1
		}
		*(*string)(s.keySlot) = r.key
		m.SetMapIndex(s.key, value)
		if !r.follows(f, to, end) {
			return to
		}
		value.SetZero()
		i = to + int(f.tagLen)
	}
}

func (r *protoReader) entry(f *protoField, i, end int, value unsafe.Pointer) bool {
	for i < end {
		var tag uint64
		if tag, i = r.varint(i, end); i < 0 {
			return false
		}
		num, wire := protowire.DecodeTag(tag)
		switch {
		case num == 1 && wire == protowire.BytesType:
			from, to, ok := r.span(i, end)
			if !ok {
				return false
			}
			r.key = r.text(from, to, true)
			i = to
		case num == 2:
			if i = r.value(f, f.elem, value, wire, i, end); i < 0 {
				r.errPath = append(r.errPath, segment{r.key, -1})
				return false
			}
		default:
			k := protowire.ConsumeFieldValue(num, wire, r.data[i:end])
			if num < protowire.MinValidNumber || k < 0 {
				return r.fail(i, "protobuf: invalid field")
			}
			i += k
		}
	}
	return true
}
