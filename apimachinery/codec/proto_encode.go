package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// MarshalProto returns the protobuf message of v: the body, without the
// envelope of [EncodeEnvelope]. A type without a protobuf form gives a
// [*TypeError] wrapping ErrNoProto; other errors come from methods of v or wrap ErrTooDeep.
func MarshalProto(v any) ([]byte, error) { return AppendProto(nil, v) }

// AppendProto appends the protobuf message of v to dst. On error dst is returned as it was.
func AppendProto(dst []byte, v any) ([]byte, error) {
	w := getWriter()
	defer putWriter(w)
	if err := w.root(v); err != nil {
		return dst, err
	}
	return append(dst, w.bytes()...), nil
}

// SizeProto returns the length of the protobuf message of v, in bytes. It costs
// as much as encoding v.
func SizeProto(v any) (int, error) {
	w := getWriter()
	defer putWriter(w)
	if err := w.root(v); err != nil {
		return 0, err
	}
	return len(w.bytes()), nil
}

// A protoWriter writes a message from its end to its start, so that the length of
// a nested message is known when its prefix is due and nothing is measured first.
// Its methods take the offset of the first byte written so far and return the new one.
type protoWriter struct {
	buf     []byte
	start   int // buf[start:] is the result
	tmp     []byte
	pairs   sorter[string]
	amounts sorter[resource.Quantity]
	depth   int
	err     error
}

var writers sync.Pool // *protoWriter

func getWriter() *protoWriter {
	w, ok := writers.Get().(*protoWriter)
	if !ok {
		w = &protoWriter{buf: make([]byte, 4096)}
	}
	w.start = len(w.buf)
	return w
}

func putWriter(w *protoWriter) {
	if w.err != nil || len(w.buf) > maxKept || cap(w.tmp) > maxKept || w.pairs.large() || w.amounts.large() {
		return
	}
	writers.Put(w)
}

func (w *protoWriter) bytes() []byte { return w.buf[w.start:] }

func (w *protoWriter) root(v any) error {
	n, p := pointerOf(v)
	if n == nil {
		return fmt.Errorf("codec: encoding protobuf: nil value: %w", ErrNoProto)
	}
	if err := n.checkProto(); err != nil {
		return err
	}
	if p == nil {
		return fmt.Errorf("codec: encoding protobuf: nil %v", reflect.PointerTo(n.typ))
	}
	w.start = w.message(n, p, len(w.buf))
	return w.err
}

func (w *protoWriter) fail(n *node, err error) {
	if w.err == nil {
		w.err = fmt.Errorf("codec: encoding protobuf: type %v: %w", n.typ, err)
	}
}

// grow makes room for k bytes before at and returns where at is then.
func (w *protoWriter) grow(at, k int) int {
	used := len(w.buf) - at
	next := make([]byte, max(2*len(w.buf), used+k+1024))
	copy(next[len(next)-used:], w.buf[at:])
	w.buf = next
	return len(next) - used
}

func (w *protoWriter) raw(at int, b []byte) int {
	if at < len(b) {
		at = w.grow(at, len(b))
	}
	at -= len(b)
	copy(w.buf[at:], b)
	return at
}

func (w *protoWriter) varint(at int, v uint64) int {
	if at < 10 {
		at = w.grow(at, 10)
	}
	if v < 0x80 {
		at--
		w.buf[at] = byte(v)
		return at
	}
	n := protowire.SizeVarint(v)
	at -= n
	b := w.buf[at : at+n]
	for i := range n - 1 {
		b[i] = byte(v) | 0x80
		v >>= 7
	}
	b[n-1] = byte(v)
	return at
}

// tag writes a field's tag.
func (w *protoWriter) tag(at int, f *protoField) int {
	if at < 10 {
		at = w.grow(at, 10)
	}
	switch f.tagLen {
	case 1:
		at--
		w.buf[at] = f.tag[0]
	case 2:
		at -= 2
		w.buf[at+1] = f.tag[1]
		w.buf[at] = f.tag[0]
	default:
		at -= int(f.tagLen)
		copy(w.buf[at:], f.tagBytes())
	}
	return at
}

// one writes a byte.
func (w *protoWriter) one(at int, b byte) int {
	if at == 0 {
		at = w.grow(at, 32)
	}
	at--
	w.buf[at] = b
	return at
}

// length writes the length of what was written since end bytes were.
func (w *protoWriter) length(at, end int) int {
	n := len(w.buf) - at - end
	if n < 0x80 {
		return w.one(at, byte(n))
	}
	return w.varint(at, uint64(n))
}

// text writes a string and its length. Most strings are short, and for them a call
// costs more than the copy: they are moved by two words that overlap.
func (w *protoWriter) text(at int, s string) int {
	n := len(s)
	if at < n+10 {
		at = w.grow(at, n+10)
	}
	at -= n
	if n > 16 {
		copy(w.buf[at:], s)
		if n >= 0x80 {
			return w.varint(at, uint64(n))
		}
	} else {
		dst, raw := w.buf[at:at+n], mem.Bytes(s)
		switch {
		case n >= 8:
			first, last := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[n-8:])
			binary.LittleEndian.PutUint64(dst, first)
			binary.LittleEndian.PutUint64(dst[n-8:], last)
		case n >= 4:
			first, last := binary.LittleEndian.Uint32(raw), binary.LittleEndian.Uint32(raw[n-4:])
			binary.LittleEndian.PutUint32(dst, first)
			binary.LittleEndian.PutUint32(dst[n-4:], last)
		default:
			for i, c := range raw { //nolint:staticcheck // at most three bytes: copy is a call of memmove
				dst[i] = c
			}
		}
	}
	at--
	w.buf[at] = byte(n)
	return at
}

// message writes the content of the message of type n at p.
func (w *protoWriter) message(n *node, p mem.Pointer, at int) int {
	if n.pb.form != protoFields {
		return w.byMethod(n, p, at)
	}
	if w.depth >= maxNesting {
		w.fail(n, ErrTooDeep)
	}
	if w.err != nil {
		return at
	}
	w.depth++
	for i := len(n.pb.probes) - 1; i >= 0; i-- {
		pr := n.pb.probes[i]
		q := mem.Add(p, pr.off)
		if pr.act == actMaybe {
			if *mem.PointerAt(q) != nil {
				at = w.field(&n.pb.fields[i], q, at)
			}
			continue
		}
		if at < 32 {
			at = w.grow(at, 32)
		}
		switch pr.act {
		case actText:
			if s := *mem.At[string](q); len(s) > 0 {
				at = w.text(at, s)
			} else {
				at--
				w.buf[at] = 0
			}
		case actMessage:
			end := len(w.buf) - at
			at = w.message(n.pb.fields[i].elem, q, at)
			at = w.length(at, end)
		case actBool:
			at--
			w.buf[at] = *mem.At[uint8](q)
		case actInt32:
			at = w.varint(at, uint64(*mem.At[int32](q)))
		case actUint32:
			at = w.varint(at, uint64(*mem.At[uint32](q)))
		case actInt64:
			at = w.varint(at, *mem.At[uint64](q))
		default:
			at = w.field(&n.pb.fields[i], q, at)
			continue
		}
		if pr.tag != 0 && at > 0 {
			at--
			w.buf[at] = pr.tag
			continue
		}
		at = w.tag(at, &n.pb.fields[i])
	}
	w.depth--
	return at
}

// byMethod writes the content of a message that is not made from tags.
func (w *protoWriter) byMethod(n *node, p mem.Pointer, at int) int {
	switch n.pb.form {
	case protoOwn:
		w.tmp = mem.Bind[protoAppender](&n.pb.encIface, p).AppendProto(w.tmp[:0])
		return w.raw(at, w.tmp)
	case protoGogo:
		b, err := mem.Bind[protoStd](&n.pb.encIface, p).Marshal()
		if err != nil {
			w.fail(n, err)
		}
		return w.raw(at, b)
	case protoList:
		s := *mem.At[[]string](p)
		for i := len(s) - 1; i >= 0; i-- {
			at = w.one(w.text(at, s[i]), 1<<3|2)
		}
	}
	return at
}

// field writes the occurrences of a field, tags included.
func (w *protoWriter) field(f *protoField, p mem.Pointer, at int) int {
	switch f.card {
	case cardPtr:
		if q := *mem.PointerAt(p); q != nil {
			at = w.tag(w.value(f, q, at), f)
		}
	case cardList:
		h := mem.SliceAt(p)
		if f.scalar == opStruct {
			return w.messages(f, h, at)
		}
		for k := h.Len - 1; k >= 0; k-- {
			at = w.tag(w.value(f, mem.Index(h.Data, k, f.elem.size), at), f)
		}
	case cardPtrs:
		ps := *mem.At[[]mem.Pointer](p)
		for k := len(ps) - 1; k >= 0; k-- {
			item := ps[k]
			if item == nil {
				item = f.elem.model.Addr().UnsafePointer()
			}
			at = w.tag(w.value(f, item, at), f)
		}
	case cardMap:
		return w.mapping(f, p, at)
	default:
		// Only bytes and named lists have a state of not being there: nil.
		if (f.scalar == opBytes || f.elem.pb.form == protoList) && mem.SliceAt(p).Data == nil {
			return at
		}
		at = w.tag(w.value(f, p, at), f)
	}
	return at
}

// messages writes the messages of a list.
func (w *protoWriter) messages(f *protoField, list *mem.Slice, at int) int {
	for k := list.Len - 1; k >= 0; k-- {
		end := len(w.buf) - at
		at = w.message(f.elem, mem.Index(list.Data, k, f.elem.size), at)
		at = w.tag(w.length(at, end), f)
	}
	return at
}

// value writes one value with its length prefix if it has one.
func (w *protoWriter) value(f *protoField, p mem.Pointer, at int) int {
	switch f.scalar {
	case opStruct:
		end := len(w.buf) - at
		at = w.message(f.elem, p, at)
		return w.length(at, end)
	case opString:
		return w.text(at, *mem.At[string](p))
	case opBytes:
		b := *mem.At[[]byte](p)
		return w.varint(w.raw(at, b), uint64(len(b)))
	case opBool, opUint8:
		return w.varint(at, uint64(*mem.At[uint8](p)))
	case opInt8:
		return w.varint(at, uint64(*mem.At[int8](p)))
	case opInt16:
		return w.varint(at, uint64(*mem.At[int16](p)))
	case opInt32:
		return w.varint(at, uint64(*mem.At[int32](p)))
	case opInt64, opUint64:
		return w.varint(at, *mem.At[uint64](p))
	case opUint16:
		return w.varint(at, uint64(*mem.At[uint16](p)))
	case opUint32:
		return w.varint(at, uint64(*mem.At[uint32](p)))
	case opFloat32:
		return w.raw(at, binary.LittleEndian.AppendUint32(w.tmp[:0], math.Float32bits(*mem.At[float32](p))))
	case opFloat64:
		return w.raw(at, binary.LittleEndian.AppendUint64(w.tmp[:0], math.Float64bits(*mem.At[float64](p))))
	}
	return at
}

// mapping writes the entries of a map in key order.
func (w *protoWriter) mapping(f *protoField, p mem.Pointer, at int) int {
	count := mem.MapLen(p)
	if count == 0 {
		return at
	}
	if f.n.op == opStrMap {
		return w.stringMap(f, *mem.At[map[string]string](p), at)
	}
	if f.n.quantities {
		return w.quantities(f, *mem.At[quantityMap](p), at)
	}
	s := f.n.getScratch(count)
	defer f.n.putScratch(s)
	_ = s.load(f.n, f.n.at(p), nil) // without keyText there is no error
	for i := len(s.entries) - 1; i >= 0; i-- {
		end := len(w.buf) - at
		if q := s.entries[i].Value; f.scalar != opBytes || mem.SliceAt(q).Data != nil {
			at = w.varint(w.value(f, q, at), 2<<3|uint64(f.inner))
		}
		at = w.entry(f, s.entries[i].Key, end, at)
	}
	return at
}

// entry writes the key of a map entry and what comes before it.
func (w *protoWriter) entry(f *protoField, key string, end, at int) int {
	at = w.one(w.text(at, key), 1<<3|2)
	return w.tag(w.length(at, end), f)
}

func (w *protoWriter) stringMap(f *protoField, m map[string]string, at int) int {
	var few mem.SmallMapEntries[string]
	for _, p := range slices.Backward(w.pairs.entries(&few, m)) {
		end := len(w.buf) - at
		at = w.one(w.text(at, p.Value), 2<<3|2)
		at = w.entry(f, p.Key, end, at)
	}
	w.pairs.forget()
	return at
}
