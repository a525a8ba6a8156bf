package proto

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Append appends the protobuf message of v to dst. On error dst is returned as it was.
func Append(dst []byte, v any) ([]byte, error) {
	w := GetWriter()
	defer PutWriter(w)
	b, err := w.Write(v)
	return append(dst, b...), err
}

// Size returns the length of the protobuf message of v, in bytes.
func Size(v any) (int, error) {
	w := GetWriter()
	defer PutWriter(w)
	b, err := w.Write(v)
	return len(b), err
}

// A Writer writes a message from its end to its start, so that the length of a nested message is known when
// its prefix is written, and nothing is measured in advance. Its methods take the offset of the first byte
// written so far and return the new one.
type Writer struct {
	buf     []byte
	start   int // buf[start:] is the result
	tmp     []byte
	pairs   plan.Sorter[string]
	amounts plan.Sorter[resource.Quantity]
	depth   int
	err     error
}

var writers sync.Pool // *Writer

// GetWriter returns a writer, for [PutWriter] to take back.
func GetWriter() *Writer {
	w, ok := writers.Get().(*Writer)
	if !ok {
		w = &Writer{buf: make([]byte, 4096)}
	}
	w.start = len(w.buf)
	return w
}

// PutWriter returns a writer to the pool.
func PutWriter(w *Writer) {
	if w.err != nil || len(w.buf) > arena.MaxKept || cap(w.tmp) > arena.MaxKept || w.pairs.Large() || w.amounts.Large() {
		return
	}
	writers.Put(w)
}

// Write returns the message of v, which is valid until the next call of a method or of [PutWriter].
func (w *Writer) Write(v any) ([]byte, error) {
	n, p := plan.PointerOf(v)
	if n == nil {
		return nil, fmt.Errorf("codec: encoding protobuf: nil value: %w", failure.ErrNoProto)
	}
	if err := n.CheckProto(); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fmt.Errorf("codec: encoding protobuf: nil %v", reflect.PointerTo(n.Type))
	}
	w.start = w.message(n, p, len(w.buf))
	if w.err != nil {
		return nil, w.err
	}
	return w.buf[w.start:], nil
}

func (w *Writer) fail(n *plan.Node, err error) {
	if w.err == nil {
		w.err = fmt.Errorf("codec: encoding protobuf: type %v: %w", n.Type, err)
	}
}

// grow adds capacity for k bytes before at and returns the new at.
func (w *Writer) grow(at, k int) int {
	used := len(w.buf) - at
	next := make([]byte, max(2*len(w.buf), used+k+1024))
	copy(next[len(next)-used:], w.buf[at:])
	w.buf = next
	return len(next) - used
}

func (w *Writer) raw(at int, b []byte) int {
	if at < len(b) {
		at = w.grow(at, len(b))
	}
	at -= len(b)
	copy(w.buf[at:], b)
	return at
}

func (w *Writer) varint(at int, v uint64) int {
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
func (w *Writer) tag(at int, f *plan.ProtoField) int {
	if at < 10 {
		at = w.grow(at, 10)
	}
	switch f.TagLen {
	case 1:
		at--
		w.buf[at] = f.Tag[0]
	case 2:
		at -= 2
		w.buf[at+1] = f.Tag[1]
		w.buf[at] = f.Tag[0]
	default:
		at -= int(f.TagLen)
		copy(w.buf[at:], f.TagBytes())
	}
	return at
}

// one writes a byte.
func (w *Writer) one(at int, b byte) int {
	if at == 0 {
		at = w.grow(at, 32)
	}
	at--
	w.buf[at] = b
	return at
}

// length writes the number of bytes written since end bytes had been written.
func (w *Writer) length(at, end int) int {
	n := len(w.buf) - at - end
	if n < 0x80 {
		return w.one(at, byte(n))
	}
	return w.varint(at, uint64(n))
}

// text writes a string and its length. Most strings are short, and for them a call
// costs more than the copy: they are moved by two words that overlap.
func (w *Writer) text(at int, s string) int {
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
func (w *Writer) message(n *plan.Node, p mem.Pointer, at int) int {
	if n.Proto.Form != plan.ProtoFields {
		return w.byMethod(n, p, at)
	}
	if w.depth >= failure.MaxDepth {
		w.fail(n, failure.ErrTooDeep)
	}
	if w.err != nil {
		return at
	}
	w.depth++
	for i := len(n.Proto.Probes) - 1; i >= 0; i-- {
		pr := n.Proto.Probes[i]
		q := mem.Add(p, pr.Off)
		if pr.Act == plan.ActMaybe {
			if *mem.PointerAt(q) != nil {
				at = w.field(&n.Proto.Fields[i], q, at)
			}
			continue
		}
		if at < 32 {
			at = w.grow(at, 32)
		}
		switch pr.Act {
		case plan.ActText:
			if s := *mem.At[string](q); len(s) > 0 {
				at = w.text(at, s)
			} else {
				at--
				w.buf[at] = 0
			}
		case plan.ActMessage:
			end := len(w.buf) - at
			at = w.message(n.Proto.Fields[i].Elem, q, at)
			at = w.length(at, end)
		case plan.ActBool:
			at--
			w.buf[at] = *mem.At[uint8](q)
		case plan.ActInt32:
			at = w.varint(at, uint64(*mem.At[int32](q)))
		case plan.ActUint32:
			at = w.varint(at, uint64(*mem.At[uint32](q)))
		case plan.ActInt64:
			at = w.varint(at, *mem.At[uint64](q))
		default:
			at = w.field(&n.Proto.Fields[i], q, at)
			continue
		}
		if pr.Tag != 0 && at > 0 {
			at--
			w.buf[at] = pr.Tag
			continue
		}
		at = w.tag(at, &n.Proto.Fields[i])
	}
	w.depth--
	return at
}

// byMethod writes the content of a message that is not made from tags.
func (w *Writer) byMethod(n *plan.Node, p mem.Pointer, at int) int {
	switch n.Proto.Form {
	case plan.ProtoOwn:
		w.tmp = mem.Bind[plan.ProtoAppender](&n.Proto.EncMethods, p).AppendProto(w.tmp[:0])
		return w.raw(at, w.tmp)
	case plan.ProtoMethods:
		b, err := mem.Bind[plan.ProtoMarshaler](&n.Proto.EncMethods, p).Marshal()
		if err != nil {
			w.fail(n, err)
		}
		return w.raw(at, b)
	case plan.ProtoList:
		s := *mem.At[[]string](p)
		for i := len(s) - 1; i >= 0; i-- {
			at = w.one(w.text(at, s[i]), 1<<3|2)
		}
	}
	return at
}

// field writes the occurrences of a field, tags included.
func (w *Writer) field(f *plan.ProtoField, p mem.Pointer, at int) int {
	switch f.Card {
	case plan.Optional:
		if q := *mem.PointerAt(p); q != nil {
			at = w.tag(w.value(f, q, at), f)
		}
	case plan.Repeated:
		h := mem.SliceAt(p)
		if f.Scalar == plan.OpStruct {
			return w.messages(f, h, at)
		}
		for k := h.Len - 1; k >= 0; k-- {
			at = w.tag(w.value(f, mem.Index(h.Data, k, f.Elem.Size), at), f)
		}
	case plan.RepeatedPointers:
		ps := *mem.At[[]mem.Pointer](p)
		for k := len(ps) - 1; k >= 0; k-- {
			item := ps[k]
			if item == nil {
				item = f.Elem.Zero()
			}
			at = w.tag(w.value(f, item, at), f)
		}
	case plan.Mapped:
		return w.mapping(f, p, at)
	default:
		// Only bytes and named lists can be absent: nil.
		if (f.Scalar == plan.OpBytes || f.Elem.Proto.Form == plan.ProtoList) && mem.SliceAt(p).Data == nil {
			return at
		}
		at = w.tag(w.value(f, p, at), f)
	}
	return at
}

// messages writes the messages of a list.
func (w *Writer) messages(f *plan.ProtoField, list *mem.Slice, at int) int {
	for k := list.Len - 1; k >= 0; k-- {
		end := len(w.buf) - at
		at = w.message(f.Elem, mem.Index(list.Data, k, f.Elem.Size), at)
		at = w.tag(w.length(at, end), f)
	}
	return at
}

// value writes one value with its length prefix if it has one.
func (w *Writer) value(f *plan.ProtoField, p mem.Pointer, at int) int {
	switch f.Scalar {
	case plan.OpStruct:
		end := len(w.buf) - at
		at = w.message(f.Elem, p, at)
		return w.length(at, end)
	case plan.OpString:
		return w.text(at, *mem.At[string](p))
	case plan.OpBytes:
		b := *mem.At[[]byte](p)
		return w.varint(w.raw(at, b), uint64(len(b)))
	case plan.OpBool, plan.OpUint8:
		return w.varint(at, uint64(*mem.At[uint8](p)))
	case plan.OpInt8:
		return w.varint(at, uint64(*mem.At[int8](p)))
	case plan.OpInt16:
		return w.varint(at, uint64(*mem.At[int16](p)))
	case plan.OpInt32:
		return w.varint(at, uint64(*mem.At[int32](p)))
	case plan.OpInt64, plan.OpUint64:
		return w.varint(at, *mem.At[uint64](p))
	case plan.OpUint16:
		return w.varint(at, uint64(*mem.At[uint16](p)))
	case plan.OpUint32:
		return w.varint(at, uint64(*mem.At[uint32](p)))
	case plan.OpFloat32:
		return w.raw(at, binary.LittleEndian.AppendUint32(w.tmp[:0], math.Float32bits(*mem.At[float32](p))))
	case plan.OpFloat64:
		return w.raw(at, binary.LittleEndian.AppendUint64(w.tmp[:0], math.Float64bits(*mem.At[float64](p))))
	}
	return at
}

// mapping writes the entries of a map in key order.
func (w *Writer) mapping(f *plan.ProtoField, p mem.Pointer, at int) int {
	count := mem.MapLen(p)
	if count == 0 {
		return at
	}
	if f.Node.Op == plan.OpStringMap {
		return w.stringMap(f, *mem.At[map[string]string](p), at)
	}
	if f.Node.Quantities {
		return w.quantities(f, *mem.At[plan.QuantityMap](p), at)
	}
	s := f.Node.GetScratch(count)
	defer f.Node.PutScratch(s)
	_ = s.Load(f.Node, f.Node.At(p), nil) // without keyText there is no error
	for i := len(s.Entries) - 1; i >= 0; i-- {
		end := len(w.buf) - at
		if q := s.Entries[i].Value; f.Scalar != plan.OpBytes || mem.SliceAt(q).Data != nil {
			at = w.varint(w.value(f, q, at), 2<<3|uint64(f.Inner))
		}
		at = w.entry(f, s.Entries[i].Key, end, at)
	}
	return at
}

// entry writes the key of a map entry and what comes before it.
func (w *Writer) entry(f *plan.ProtoField, key string, end, at int) int {
	at = w.one(w.text(at, key), 1<<3|2)
	return w.tag(w.length(at, end), f)
}

func (w *Writer) stringMap(f *plan.ProtoField, m map[string]string, at int) int {
	var few mem.SmallMapEntries[string]
	for _, p := range slices.Backward(w.pairs.Entries(&few, m)) {
		end := len(w.buf) - at
		at = w.one(w.text(at, p.Value), 2<<3|2)
		at = w.entry(f, p.Key, end, at)
	}
	w.pairs.Forget()
	return at
}
