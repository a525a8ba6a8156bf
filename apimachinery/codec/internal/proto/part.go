package proto

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

// A Part is a subset of the members of a Go type, for readers of protobuf that need no others. The others are
// only checked, which takes a fraction of the time and no memory and finds the same errors. It may be used by
// many goroutines at once.
type Part struct {
	node *plan.Node
	root *wanted
	// Memory for values that only their own methods can check. It is kept per Part, because a Part has few
	// types of them.
	readers sync.Pool
}

// wanted are the fields to read of a message, in the order of its plan: nil ones are only checked, and those
// that are whole are read.
type wanted struct{ fields []*wanted }

var whole, nothing = &wanted{}, &wanted{}

// NewPart returns the part of a struct with these members, named by paths of JSON names such as
// metadata.labels. A path leads through structs and pointers to structs, not into lists and maps.
func NewPart(t reflect.Type, paths ...string) (*Part, error) {
	n := plan.Of(t)
	if err := n.CheckProto(); err != nil {
		return nil, err
	}
	p := &Part{node: n, root: &wanted{}}
	for _, path := range paths {
		if err := p.root.add(n, strings.Split(path, ".")); err != nil {
			return nil, fmt.Errorf("codec: %s of %v: %w", path, t, err)
		}
	}
	return p, nil
}

func (w *wanted) add(n *plan.Node, path []string) error {
	if n.Proto.Form != plan.ProtoFields {
		return fmt.Errorf("%v has no members to choose from", n.Type)
	}
	i := slices.IndexFunc(n.Proto.Fields, func(f plan.ProtoField) bool { return f.Names.JSON == path[0] })
	if i < 0 {
		return fmt.Errorf("%v has no member %s", n.Type, path[0])
	}
	if w.fields == nil {
		w.fields = make([]*wanted, len(n.Proto.Fields))
	}
	f := &n.Proto.Fields[i]
	switch {
	case len(path) == 1 || w.fields[i] == whole:
		w.fields[i] = whole
		return nil
	case f.Card != plan.One && f.Card != plan.Optional:
		return fmt.Errorf("%s is a list or a map", path[0])
	case w.fields[i] == nil:
		w.fields[i] = &wanted{}
	}
	return w.fields[i].add(f.Elem, path[1:])
}

// partReader is a Reader that reads some fields and checks the others.
type partReader struct {
	*Reader
	scratch map[*plan.Node]mem.Pointer
}

// Unmarshal is the function [Unmarshal] for the members of the part: it sets them in v, a non-nil pointer to
// the type whose other members it leaves alone, and fails where that would, with v zero.
func (p *Part) Unmarshal(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() || rv.Type().Elem() != p.node.Type {
		return fmt.Errorf("codec: decoding a part of %v into %T", p.node.Type, v)
	}
	r, ok := p.readers.Get().(*partReader)
	if !ok {
		r = &partReader{scratch: map[*plan.Node]mem.Pointer{}}
	}
	r.Reader = getReader()
	r.data = data
	read := r.part(p.node, p.root, rv.UnsafePointer(), 0, len(data))
	putReader(r.Reader)
	r.Reader = nil
	p.readers.Put(r)
	if !read {
		rv.Elem().SetZero()
		return Unmarshal(data, v) // for the error
	}
	return nil
}

// next reads the tag at i and returns the index of its field in the plan and the offset after the tag, or,
// for an unknown field, -1 and the offset after the value. The offset is -1 after an error.
func (r *partReader) next(m *plan.Message, i, end int) (index int, wire protowire.Type, _ int) {
	if c := r.data[i]; c < 0x80 {
		if k := int(m.ByTag[c]) - 1; k >= 0 {
			return k, protowire.Type(m.Fields[k].Wire), i + 1
		}
	}
	tag, i := r.varint(i, end)
	if i < 0 {
		return -1, 0, -1
	}
	num, wire := protowire.DecodeTag(tag)
	if num < protowire.MinValidNumber {
		return -1, 0, -1
	}
	if index = m.Find(num); index >= 0 {
		return index, wire, i
	}
	k := protowire.ConsumeFieldValue(num, wire, r.data[i:end])
	if k < 0 {
		return -1, 0, -1
	}
	return -1, wire, i + k
}

// part reads the wanted fields of the message of type n in data[i:end] to p, which is not touched if that is
// nothing.
func (r *partReader) part(n *plan.Node, w *wanted, p mem.Pointer, i, end int) bool {
	if r.depth >= failure.MaxDepth {
		return false
	}
	r.depth++
	for i < end {
		var index int
		var wire protowire.Type
		if index, wire, i = r.next(&n.Proto, i, end); index >= 0 {
			i = r.partOf(n, w, index, p, wire, i, end)
		}
		if i < 0 {
			return false
		}
	}
	r.depth--
	return true
}

// partOf reads or checks one occurrence of a field and returns the offset after it or -1.
func (r *partReader) partOf(n *plan.Node, w *wanted, index int, p mem.Pointer, wire protowire.Type, i, end int) int {
	f, of := &n.Proto.Fields[index], (*wanted)(nil)
	if w.fields != nil {
		of = w.fields[index]
	}
	switch of {
	case nil:
		return r.check(f, wire, i, end)
	case whole:
		return r.Field(f, mem.Add(p, f.Off), wire, i, end)
	}
	from, to, ok := r.span(i, end)
	if wire != protowire.BytesType || !ok {
		return -1
	}
	q := mem.Add(p, f.Off)
	if f.Card == plan.Optional {
		slot := mem.PointerAt(q)
		if *slot == nil {
			*slot = f.Elem.New()
		}
		q = *slot
	}
	if !r.part(f.Elem, of, q, from, to) {
		return -1
	}
	return to
}

// check checks one occurrence of a field, accepting what Reader.field accepts.
func (r *partReader) check(f *plan.ProtoField, wire protowire.Type, i, end int) int {
	switch {
	case f.Card == plan.Mapped:
		from, to, ok := r.span(i, end)
		if wire != protowire.BytesType || !ok || !r.checkEntry(f, from, to) {
			return -1
		}
		return to
	case f.Card == plan.Repeated && wire == protowire.BytesType && protowire.Type(f.Inner) != protowire.BytesType:
		// Packed.
		from, to, ok := r.span(i, end)
		for ok && from < to {
			from = r.checkValue(f, protowire.Type(f.Inner), from, to)
			ok = from >= 0
		}
		if !ok {
			return -1
		}
		return to
	}
	return r.checkValue(f, wire, i, end)
}

func (r *partReader) checkValue(f *plan.ProtoField, wire protowire.Type, i, end int) int {
	if wire != protowire.Type(f.Inner) {
		return -1
	}
	size := 0
	switch wire {
	case protowire.BytesType:
		from, to, ok := r.span(i, end)
		if !ok || f.Scalar != plan.OpString && f.Scalar != plan.OpBytes && !r.checkMessage(f.Elem, from, to) {
			return -1
		}
		return to
	case protowire.VarintType:
		_, i = r.varint(i, end)
		return i
	case protowire.Fixed32Type:
		size = 4
	default:
		size = 8
	}
	if end-i < size {
		return -1
	}
	return i + size
}

func (r *partReader) checkMessage(n *plan.Node, i, end int) bool {
	switch n.Proto.Form {
	case plan.ProtoFields:
		return r.part(n, nothing, nil, i, end)
	case plan.ProtoList:
		return r.checkStrings(i, end)
	}
	// Its own methods decide.
	p := r.scratch[n]
	if p == nil {
		p = n.New()
		r.scratch[n] = p
	}
	n.Clear(p)
	return r.message(n, p, i, end)
}

// checkEntry checks the entry of a map.
func (r *partReader) checkEntry(f *plan.ProtoField, i, end int) bool {
	for i < end {
		var tag uint64
		if tag, i = r.varint(i, end); i < 0 {
			return false
		}
		num, wire := protowire.DecodeTag(tag)
		if num == 2 {
			if i = r.checkValue(f, wire, i, end); i < 0 {
				return false
			}
			continue
		}
		k := protowire.ConsumeFieldValue(num, wire, r.data[i:end])
		if num < protowire.MinValidNumber || k < 0 {
			return false
		}
		i += k
	}
	return true
}

// checkStrings checks the message around a named list of strings.
func (r *partReader) checkStrings(i, end int) bool {
	for i < end {
		num, wire, k := protowire.ConsumeTag(r.data[i:end])
		if k < 0 {
			return false
		}
		i += k
		if k = protowire.ConsumeFieldValue(num, wire, r.data[i:end]); k < 0 {
			return false
		}
		i += k
	}
	return true
}
