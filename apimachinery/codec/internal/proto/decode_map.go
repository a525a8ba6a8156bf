package proto

import (
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// mapping reads a map entry, and those that follow it directly.
func (r *Reader) mapping(f *plan.ProtoField, p mem.Pointer, wire protowire.Type, i, end int) int {
	if wire != protowire.BytesType {
		r.fail(i, "protobuf: a map entry is not a message")
		return -1
	}
	outer := r.key // the value of an entry may hold maps, too
	switch {
	case f.Node.Op == plan.OpStringMap:
		i = r.stringMap(f, p, i, end)
	case f.Node.Quantities:
		i = r.quantities(f, p, i, end)
	default:
		i = r.anyMap(f, p, i, end)
	}
	r.key = outer
	return i
}

func (r *Reader) stringMap(f *plan.ProtoField, p mem.Pointer, i, end int) int {
	m, index := *mem.At[map[string]string](p), -1
	if m == nil {
		m, index = arena.NewMap[string](r.slab, f.Node.MapKind)
		*mem.At[map[string]string](p) = m
	}
	for {
		from, to, ok := r.span(i, end)
		r.key, r.value1 = "", ""
		if !ok || !r.entry(f, from, to, mem.Of(&r.value1)) {
			return -1
		}
		m[r.key] = r.value1
		if !r.follows(f, to, end) {
			r.slab.SetMapLen(index, len(m))
			return to
		}
		i = to + int(f.TagLen)
	}
}

func (r *Reader) anyMap(f *plan.ProtoField, p mem.Pointer, i, end int) int {
	m := f.Node.At(p)
	if m.IsNil() {
		m.Set(reflect.MakeMap(f.Node.Type))
	}
	s := f.Node.GetScratch(1)
	defer f.Node.PutScratch(s)
	elem := mem.SliceAt(s.Slots).Data
	value := f.Elem.At(elem)
	for {
		from, to, ok := r.span(i, end)
		if f.Scalar == plan.OpBytes {
			*mem.At[[]byte](elem) = []byte{} // an entry without a value means an empty one
		}
		r.key = ""
		if !ok || !r.entry(f, from, to, elem) {
			return -1
		}
		*mem.At[string](s.KeySlot) = r.key
		m.SetMapIndex(s.Key, value)
		if !r.follows(f, to, end) {
			return to
		}
		value.SetZero()
		i = to + int(f.TagLen)
	}
}

// entry reads the entry in data[i:end]: its key into r.key and its value to where value points.
func (r *Reader) entry(f *plan.ProtoField, i, end int, value mem.Pointer) bool {
	for i < end {
		if r.data[i] == 1<<3|2 && i+1 < end && int(r.data[i+1]) <= min(end-i-2, 0x7f) {
			to := i + 2 + int(r.data[i+1])
			r.key = r.text(i+2, to, true)
			i = to
			continue
		}
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
			if i = r.Value(f, f.Elem, value, wire, i, end); i < 0 {
				r.errPath = append(r.errPath, failure.Member(r.key))
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
