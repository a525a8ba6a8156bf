package codec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Part is some members of a Go type, for readers of protobuf that need no others: those are looked through,
// which takes a fraction of the time and no memory, and what is wrong with them is found all the same. It may
// be used by many goroutines at once.
type Part struct {
	node *node
	root *wanted
	// Memory for values that only their own methods can check; per Part, because what it holds is of few
	// types.
	readers sync.Pool
}

// wanted are the fields to read of a message, in the order of its plan: nil ones are looked through, and
// those that are whole are read.
type wanted struct{ fields []*wanted }

var whole, nothing = &wanted{}, &wanted{}

// PartOf returns the part of a struct with these members, named by paths of JSON names such as
// metadata.labels. A path leads through structs and pointers to structs, not into lists and maps. The error
// is a [*TypeError], or says which path leads nowhere.
func PartOf(t reflect.Type, paths ...string) (*Part, error) {
	n := nodeOf(t)
	if err := n.checkProto(); err != nil {
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

func (w *wanted) add(n *node, path []string) error {
	if n.pb.form != protoFields {
		return fmt.Errorf("%v has no members to choose from", n.typ)
	}
	i := slices.IndexFunc(n.pb.fields, func(f protoField) bool { return f.names.json == path[0] })
	if i < 0 {
		return fmt.Errorf("%v has no member %s", n.typ, path[0])
	}
	if w.fields == nil {
		w.fields = make([]*wanted, len(n.pb.fields))
	}
	f := &n.pb.fields[i]
	switch {
	case len(path) == 1 || w.fields[i] == whole:
		w.fields[i] = whole
		return nil
	case f.card != cardOne && f.card != cardPtr:
		return fmt.Errorf("%s is a list or a map", path[0])
	case w.fields[i] == nil:
		w.fields[i] = &wanted{}
	}
	return w.fields[i].add(f.elem, path[1:])
}

// partReader is a protoReader that reads some fields and looks through the others.
type partReader struct {
	*protoReader
	scratch map[*node]unsafe.Pointer
}

// UnmarshalProto is [UnmarshalProto] for the members of the part: it sets them in v, a non-nil pointer to the
// type whose other members it leaves alone, and fails where that would, with v zero.
func (p *Part) UnmarshalProto(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() || rv.Type().Elem() != p.node.typ {
		return fmt.Errorf("codec: decoding a part of %v into %T", p.node.typ, v)
	}
	r, ok := p.readers.Get().(*partReader)
	if !ok {
		r = &partReader{scratch: map[*node]unsafe.Pointer{}}
	}
	r.protoReader = shared.reader()
	r.data = data
	read := r.part(p.node, p.root, rv.UnsafePointer(), 0, len(data))
	shared.read(r.protoReader)
	r.protoReader = nil
	p.readers.Put(r)
	if !read {
		rv.Elem().SetZero()
		return UnmarshalProto(data, v) // which says what is wrong, and where
	}
	return nil
}

// UnmarshalEnvelope is UnmarshalProto for the body of an envelope.
func (p *Part) UnmarshalEnvelope(data []byte, v any) error {
	_, _, raw, err := DecodeEnvelope(data)
	if err != nil {
		return err
	}
	return p.UnmarshalProto(raw, v)
}

// next reads the tag at i. Of an unknown field, which is nil, it goes behind the value. The offset is -1
// after an error.
func (r *partReader) next(plan *protoPlan, i, end int) (f *protoField, wire protowire.Type, _ int) {
	if c := r.data[i]; c < 0x80 {
		if k := plan.byTag[c]; k > 0 {
			f = &plan.fields[k-1]
			return f, protowire.Type(f.wire), i + 1
		}
	}
	tag, i := r.varint(i, end)
	if i < 0 {
		return nil, 0, -1
	}
	num, wire := protowire.DecodeTag(tag)
	if num < protowire.MinValidNumber {
		return nil, 0, -1
	}
	if f = plan.field(num); f != nil {
		return f, wire, i
	}
	k := protowire.ConsumeFieldValue(num, wire, r.data[i:end])
	if k < 0 {
		return nil, 0, -1
	}
	return nil, wire, i + k
}

// part reads what is wanted of the message of type n in data[i:end] to p, which is not touched if that is
// nothing.
func (r *partReader) part(n *node, w *wanted, p unsafe.Pointer, i, end int) bool {
	if r.depth >= maxNesting {
		return false
	}
	r.depth++
	for i < end {
		var f *protoField
		var wire protowire.Type
		if f, wire, i = r.next(&n.pb, i, end); f != nil {
			i = r.partOf(n, w, f, p, wire, i, end)
		}
		if i < 0 {
			return false
		}
	}
	r.depth--
	return true
}

// partOf reads or looks through one occurrence of a field and returns the offset after it or -1.
func (r *partReader) partOf(n *node, w *wanted, f *protoField, p unsafe.Pointer, wire protowire.Type, i, end int) int {
	var of *wanted
	if w.fields != nil {
		// The field's place in the plan is where it lies in the plan's array.
		of = w.fields[(uintptr(unsafe.Pointer(f))-uintptr(unsafe.Pointer(&n.pb.fields[0])))/unsafe.Sizeof(*f)]
	}
	switch of {
	case nil:
		return r.look(f, wire, i, end)
	case whole:
		return r.field(f, unsafe.Add(p, f.off), wire, i, end)
	}
	from, to, ok := r.span(i, end)
	if wire != protowire.BytesType || !ok {
		return -1
	}
	q := unsafe.Add(p, f.off)
	if f.card == cardPtr {
		slot := (*unsafe.Pointer)(q)
		if *slot == nil {
			*slot = f.elem.newValue()
		}
		q = *slot
	}
	if !r.part(f.elem, of, q, from, to) {
		return -1
	}
	return to
}

// look looks through one occurrence of a field as protoReader.field reads it.
func (r *partReader) look(f *protoField, wire protowire.Type, i, end int) int {
	switch {
	case f.card == cardMap:
		from, to, ok := r.span(i, end)
		if wire != protowire.BytesType || !ok || !r.lookEntry(f, from, to) {
			return -1
		}
		return to
	case f.card == cardList && wire == protowire.BytesType && protowire.Type(f.inner) != protowire.BytesType: // packed
		from, to, ok := r.span(i, end)
		for ok && from < to {
			from = r.lookValue(f, protowire.Type(f.inner), from, to)
			ok = from >= 0
		}
		if !ok {
			return -1
		}
		return to
	}
	return r.lookValue(f, wire, i, end)
}

func (r *partReader) lookValue(f *protoField, wire protowire.Type, i, end int) int {
	if wire != protowire.Type(f.inner) {
		return -1
	}
	size := 0
	switch wire {
	case protowire.BytesType:
		from, to, ok := r.span(i, end)
		if !ok || f.scalar != opString && f.scalar != opBytes && !r.lookMessage(f.elem, from, to) {
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

func (r *partReader) lookMessage(n *node, i, end int) bool {
	switch n.pb.form {
	case protoFields:
		return r.part(n, nothing, nil, i, end)
	case protoList:
		return r.lookStrings(i, end)
	}
	// Whatever its own methods find.
	p := r.scratch[n]
	if p == nil {
		p = n.newValue()
		r.scratch[n] = p
	}
	n.clear(p)
	return r.message(n, p, i, end)
}

// lookEntry looks through the entry of a map.
func (r *partReader) lookEntry(f *protoField, i, end int) bool {
	for i < end {
		var tag uint64
		if tag, i = r.varint(i, end); i < 0 {
			return false
		}
		num, wire := protowire.DecodeTag(tag)
		if num == 2 {
			if i = r.lookValue(f, wire, i, end); i < 0 {
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

// lookStrings looks through the message around a named list of strings.
func (r *partReader) lookStrings(i, end int) bool {
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
