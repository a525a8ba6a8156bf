package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// MarshalProto returns the protobuf message of v: the body, without the
// envelope of [EncodeEnvelope]. A type without a protobuf form gives a
// [*TypeError] wrapping ErrNoProto; other errors come from methods of v or wrap ErrTooDeep.
func MarshalProto(v any) ([]byte, error) { return AppendProto(nil, v) }

// AppendProto appends the protobuf message of v to dst. On error dst is returned as it was.
func AppendProto(dst []byte, v any) ([]byte, error) {
	w := shared.writer()
	defer shared.free(w)
	if err := w.root(v); err != nil {
		return dst, err
	}
	return append(dst, w.bytes()...), nil
}

// SizeProto returns the length of the protobuf message of v, in bytes. It costs
// as much as encoding v.
func SizeProto(v any) (int, error) {
	w := shared.writer()
	defer shared.free(w)
	if err := w.root(v); err != nil {
		return 0, err
	}
	return len(w.bytes()), nil
}

// A protoWriter writes a message from its end to its start, so that the length of
// a nested message is known when its prefix is due and nothing is measured first.
type protoWriter struct {
	buf   []byte
	at    int // buf[at:] is written
	tmp   []byte
	keys  []string
	depth int
	err   error
}

func (c *planCache) writer() *protoWriter {
	w, ok := c.protos.Get().(*protoWriter)
	if !ok {
		w = &protoWriter{buf: make([]byte, 4096)}
	}
	w.at = len(w.buf)
	return w
}

func (c *planCache) free(w *protoWriter) {
	w.err, w.depth = nil, 0
	clear(w.keys[:cap(w.keys)])
	if cap(w.keys) > 1024 {
		w.keys = nil
	}
	w.keys = w.keys[:0]
	if len(w.buf) > maxKept || cap(w.tmp) > maxKept {
		return
	}
	c.protos.Put(w)
}

func (w *protoWriter) bytes() []byte { return w.buf[w.at:] }

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
	w.message(n, p)
	return w.err
}

func (w *protoWriter) fail(n *node, err error) {
	if w.err == nil {
		w.err = fmt.Errorf("codec: encoding protobuf: type %v: %w", n.typ, err)
	}
}

// need makes room for k bytes before at.
func (w *protoWriter) need(k int) {
	if w.at >= k {
		return
	}
	used := len(w.buf) - w.at
	next := make([]byte, max(2*len(w.buf), used+k+1024))
	copy(next[len(next)-used:], w.buf[w.at:])
	w.at = len(next) - used
	w.buf = next
}

func (w *protoWriter) raw(b []byte) {
	w.need(len(b))
	w.at -= len(b)
	copy(w.buf[w.at:], b)
}

func (w *protoWriter) text(s string) {
	w.need(len(s))
	w.at -= len(s)
	copy(w.buf[w.at:], s)
}

func (w *protoWriter) varint(v uint64) {
	if v < 0x80 {
		w.need(1)
		w.at--
		w.buf[w.at] = byte(v)
		return
	}
	n := protowire.SizeVarint(v)
	w.need(n)
	w.at -= n
	b := w.buf[w.at : w.at+n]
	for i := range n - 1 {
		b[i] = byte(v) | 0x80
		v >>= 7
	}
	b[n-1] = byte(v)
}

// tag writes a field's tag.
func (w *protoWriter) tag(t []byte) {
	if len(t) == 1 {
		w.need(1)
		w.at--
		w.buf[w.at] = t[0]
		return
	}
	w.raw(t)
}

// mark is the number of bytes written so far; unlike at it survives growth.
func (w *protoWriter) mark() int { return len(w.buf) - w.at }

// message writes the content of the message of type n at p.
func (w *protoWriter) message(n *node, p unsafe.Pointer) {
	switch n.pb.form {
	case protoFields:
	case protoOwn:
		w.tmp = bind[protoAppender](n.pb.encWord, p).AppendProto(w.tmp[:0])
		w.raw(w.tmp)
		return
	case protoGogo:
		b, err := bind[protoStd](n.pb.encWord, p).Marshal()
		if err != nil {
			w.fail(n, err)
		}
		w.raw(b)
		return
	case protoList:
		s := *(*[]string)(p)
		for i := len(s) - 1; i >= 0; i-- {
			w.text(s[i])
			w.varint(uint64(len(s[i])))
			w.varint(1<<3 | 2)
		}
		return
	}
	if w.depth >= maxNesting {
		w.fail(n, ErrTooDeep)
	}
	if w.err != nil {
		return
	}
	w.depth++
	for i := len(n.pb.fields) - 1; i >= 0; i-- {
		f := &n.pb.fields[i]
		q := unsafe.Add(p, f.off)
		switch f.card {
		case cardOne:
			w.one(f, q)
		case cardPtr:
			if q = *(*unsafe.Pointer)(q); q != nil {
				w.value(f.elem, f.scalar, q)
				w.tag(f.tag)
			}
		case cardList:
			h := (*sliceHeader)(q)
			for k := h.len - 1; k >= 0; k-- {
				w.value(f.elem, f.scalar, unsafe.Add(h.data, uintptr(k)*f.elem.size))
				w.tag(f.tag)
			}
		case cardPtrs:
			ps := *(*[]unsafe.Pointer)(q)
			for k := len(ps) - 1; k >= 0; k-- {
				item := ps[k]
				if item == nil {
					item = f.elem.model.Addr().UnsafePointer()
				}
				w.value(f.elem, f.scalar, item)
				w.tag(f.tag)
			}
		case cardMap:
			w.mapping(f, q)
		}
	}
	w.depth--
}

// one writes a field that is not a pointer, list or map. Only bytes and named
// lists have a state of not being there: nil.
func (w *protoWriter) one(f *protoField, p unsafe.Pointer) {
	switch {
	case f.scalar == opBytes, f.elem.pb.form == protoList:
		if (*sliceHeader)(p).data == nil {
			return
		}
	case f.scalar == opString:
		s := *(*string)(p)
		if len(s) < 0x80 {
			w.shortText(f, s)
			return
		}
		w.text(s)
		w.varint(uint64(len(s)))
		w.tag(f.tag)
		return
	}
	w.value(f.elem, f.scalar, p)
	w.tag(f.tag)
}

// shortText writes a string field of less than 128 bytes, the commonest kind.
func (w *protoWriter) shortText(f *protoField, s string) {
	n := len(s) + 1 + len(f.tag)
	w.need(n)
	w.at -= n
	b := w.buf[w.at : w.at+n]
	k := len(f.tag)
	if k == 1 {
		b[0] = f.tag[0]
	} else {
		copy(b, f.tag)
	}
	b[k] = byte(len(s))
	copy(b[k+1:], s)
}

// value writes one value with its length prefix if it has one.
func (w *protoWriter) value(n *node, scalar op, p unsafe.Pointer) {
	switch scalar {
	case opStruct:
		start := w.mark()
		w.message(n, p)
		w.varint(uint64(w.mark() - start))
	case opString:
		s := *(*string)(p)
		w.text(s)
		w.varint(uint64(len(s)))
	case opBytes:
		b := *(*[]byte)(p)
		w.raw(b)
		w.varint(uint64(len(b)))
	case opBool, opUint8:
		w.varint(uint64(*(*uint8)(p)))
	case opInt8:
		w.varint(uint64(*(*int8)(p)))
	case opInt16:
		w.varint(uint64(*(*int16)(p)))
	case opInt32:
		w.varint(uint64(*(*int32)(p)))
	case opInt64, opUint64:
		w.varint(*(*uint64)(p))
	case opUint16:
		w.varint(uint64(*(*uint16)(p)))
	case opUint32:
		w.varint(uint64(*(*uint32)(p)))
	case opFloat32:
		w.need(4)
		w.at -= 4
		binary.LittleEndian.PutUint32(w.buf[w.at:], math.Float32bits(*(*float32)(p)))
	case opFloat64:
		w.need(8)
		w.at -= 8
		binary.LittleEndian.PutUint64(w.buf[w.at:], math.Float64bits(*(*float64)(p)))
	}
}

// mapping writes the entries of a map in key order.
func (w *protoWriter) mapping(f *protoField, p unsafe.Pointer) {
	count := mapLen(p)
	if count == 0 {
		return
	}
	if f.n.op == opStrMap {
		w.stringMap(f, *(*map[string]string)(p))
		return
	}
	s := f.n.borrow(count)
	defer f.n.giveBack(s)
	s.load(f.n, f.n.at(p), nil) // without keyText there is no error
	for i := len(s.entries) - 1; i >= 0; i-- {
		end := w.mark()
		if q := s.entries[i].value; f.scalar != opBytes || (*sliceHeader)(q).data != nil {
			w.value(f.elem, f.scalar, q)
			w.varint(2<<3 | uint64(wireOf(f.elem)))
		}
		w.text(s.entries[i].key)
		w.varint(uint64(len(s.entries[i].key)))
		w.varint(1<<3 | 2)
		w.varint(uint64(w.mark() - end))
		w.tag(f.tag)
	}
}

func (w *protoWriter) stringMap(f *protoField, m map[string]string) {
	base := len(w.keys)
	for k := range m {
		w.keys = append(w.keys, k)
	}
	keys := w.keys[base:]
	if len(keys) > 1 {
		slices.Sort(keys)
	}
	for i := len(keys) - 1; i >= 0; i-- {
		k, v := keys[i], m[keys[i]]
		end := w.mark()
		w.text(v)
		w.varint(uint64(len(v)))
		w.varint(2<<3 | 2)
		w.text(k)
		w.varint(uint64(len(k)))
		w.varint(1<<3 | 2)
		w.varint(uint64(w.mark() - end))
		w.tag(f.tag)
	}
	w.keys = w.keys[:base]
}
