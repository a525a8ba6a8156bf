package proto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// list reads an element of a list, and those that follow it directly.
func (r *Reader) list(f *plan.ProtoField, p mem.Pointer, wire protowire.Type, i, end int) int {
	h := mem.SliceAt(p)
	index := -1
	if h.Cap == 0 {
		index = r.slab.Slice(h, f.Elem.Kind)
	}
	object := f.Elem.Object
	for {
		if h.Len == h.Cap {
			f.Node.Grow(p, max(r.count(f, i, end, h.Len), 1))
		}
		h.Len++
		if object != nil {
			r.openItem(object, i, end)
		}
		i = r.Value(f, f.Elem, mem.Index(h.Data, h.Len-1, f.Elem.Size), wire, i, end)
		if object != nil && i >= 0 {
			r.close()
		}
		if i < 0 {
			r.errPath = append(r.errPath, failure.Element(h.Len-1))
			return -1
		}
		if !r.follows(f, i, end) {
			r.slab.SetLen(index, h.Len)
			return i
		}
		i += int(f.TagLen)
	}
}

// follows reports whether the tag of f is at i.
func (r *Reader) follows(f *plan.ProtoField, i, end int) bool {
	k := int(f.TagLen)
	if k == 1 {
		return i < end && r.data[i] == f.Tag[0]
	}
	return end-i >= k && string(r.data[i:i+k]) == string(f.Tag[:k])
}

// count estimates, by reading ahead, how many values of a list follow each other, the one whose tag was read
// included. It costs a step per value.
func (r *Reader) count(f *plan.ProtoField, i, end, have int) int {
	n := 1
	for {
		if plan.WireOf(f.Elem) != protowire.BytesType {
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
		i += int(f.TagLen)
		n++
	}
}

// packed reads a list of numbers in one length-delimited value.
func (r *Reader) packed(f *plan.ProtoField, p mem.Pointer, i, end int) int {
	from, to, ok := r.span(i, end)
	if !ok {
		return -1
	}
	h := mem.SliceAt(p)
	for from < to {
		if h.Len == h.Cap {
			f.Node.Grow(p, max(4, h.Len))
		}
		h.Len++
		from = r.Value(f, f.Elem, mem.Index(h.Data, h.Len-1, f.Elem.Size), plan.WireOf(f.Elem), from, to)
		if from < 0 {
			return -1
		}
	}
	return to
}

// stringList reads the message around a named list of strings.
func (r *Reader) stringList(n *plan.Node, p mem.Pointer, i, end int) bool {
	s := mem.At[[]string](p)
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
