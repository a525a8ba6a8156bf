package codec

import (
	"encoding"
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Maps of quantities (limits, requests, capacities) are the commonest maps that do not hold strings. They are
// accessed as a quantityMap, whose layout they share because their key types differ in name only; reflection
// would cost several times as much.
type quantityMap = map[string]resource.Quantity

var textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()

// holdsQuantities recognises the map types that may be treated as quantityMap.
func holdsQuantities(t reflect.Type) bool {
	return mem.IsMapOf[resource.Quantity](t) && !reflect.PointerTo(t.Key()).Implements(textUnmarshalerType)
}

func (e *jsonEncoder) quantities(b []byte, m quantityMap) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	var few mem.SmallMapEntries[resource.Quantity]
	for i, a := range e.amounts.entries(&few, m) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, a.Key), ':')
		b, _ = a.Value.AppendJSON(b) // never fails
	}
	e.amounts.forget()
	return append(b, '}')
}

func (d *jsonDecoder) quantities(n *node, p mem.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	m, index := *mem.At[quantityMap](p), -1
	if m == nil {
		m, index = arena.NewMap[resource.Quantity](d.slab, n.mapKind)
		*mem.At[quantityMap](p) = m
	}
	i, done := d.empty(i+1, '}')
	for more := !done; more; {
		var name []byte
		if name, i = d.keyBytes(i); i < 0 {
			return -1
		}
		key := d.mapKey(name, i)
		if d.strict {
			if _, dup := m[key]; dup {
				d.object(DuplicateField, key)
			}
		}
		if i = d.oneQuantity(n.elem, d.next(i)); i < 0 {
			d.within(i, 0, segment{key, -1})
			return -1
		}
		m[key] = d.quantity
		if i, more = d.more(i, '}', msgObject); i < 0 {
			return -1
		}
	}
	d.slab.SetMapLen(index, len(m))
	d.depth--
	return i
}

// oneQuantity reads the quantity at i into d.quantity.
func (d *jsonDecoder) oneQuantity(n *node, i int) int {
	if i < len(d.data) && d.data[i] == '"' {
		if end := stringEnd(d.data, i+1); end < len(d.data) && d.data[end] == '"' {
			if err := d.quantity.ParseJSON(d.data[i : end+1]); err != nil {
				d.cause = err
				return d.fail(i, err.Error())
			}
			return end + 1
		}
	}
	return d.byMethod(n, mem.Of(&d.quantity), i)
}

func (w *protoWriter) quantities(f *protoField, m quantityMap, at int) int {
	var few mem.SmallMapEntries[resource.Quantity]
	for _, a := range slices.Backward(w.amounts.entries(&few, m)) {
		end := len(w.buf) - at
		w.tmp = a.Value.AppendProto(w.tmp[:0])
		at = w.varint(w.raw(at, w.tmp), uint64(len(w.tmp)))
		at = w.entry(f, a.Key, end, w.one(at, 2<<3|2))
	}
	w.amounts.forget()
	return at
}

func (r *protoReader) quantities(f *protoField, p mem.Pointer, i, end int) int {
	m, index := *mem.At[quantityMap](p), -1
	if m == nil {
		m, index = arena.NewMap[resource.Quantity](r.slab, f.n.mapKind)
		*mem.At[quantityMap](p) = m
	}
	for {
		from, to, ok := r.span(i, end)
		r.key, r.quantity = "", resource.Quantity{}
		if !ok || !r.entry(f, from, to, mem.Of(&r.quantity)) {
			return -1
		}
		m[r.key] = r.quantity
		if !r.follows(f, to, end) {
			r.slab.SetMapLen(index, len(m))
			return to
		}
		i = to + int(f.tagLen)
	}
}
