package codec

import (
	"encoding"
	"reflect"
	"slices"
	"unsafe"

	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Maps of quantities (limits, requests, capacities) are the commonest maps
// that do not hold strings. They are gone through as what they are, which
// reflection does at several times the cost. Their key types differ in name only,
// so that all of them have the layout of a quantityMap.
type quantityMap = map[string]resource.Quantity

var (
	quantityType        = reflect.TypeFor[resource.Quantity]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// holdsQuantities recognises the map types that may be treated as quantityMap.
func holdsQuantities(t reflect.Type) bool {
	return t.Kind() == reflect.Map && t.Elem() == quantityType && t.Key().Kind() == reflect.String &&
		!reflect.PointerTo(t.Key()).Implements(textUnmarshalerType)
}

func (e *jsonEncoder) quantities(b []byte, m quantityMap) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	var few shortList[resource.Quantity]
	for i, a := range e.amounts.entries(&few, m) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, a.key), ':')
		b, _ = a.value.AppendJSON(b) // never fails
	}
	e.amounts.forget()
	return append(b, '}')
}

func (d *jsonDecoder) quantities(n *node, p unsafe.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	m, ticket := *(*quantityMap)(p), -1
	if m == nil {
		m, ticket = newMap[resource.Quantity](d.slab, n)
		*(*quantityMap)(p) = m
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
	d.slab.filled(ticket, len(m))
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
	return d.byMethod(n, unsafe.Pointer(&d.quantity), i)
}

func (w *protoWriter) quantities(f *protoField, m quantityMap, at int) int {
	var few shortList[resource.Quantity]
	for _, a := range slices.Backward(w.amounts.entries(&few, m)) {
		end := len(w.buf) - at
		w.tmp = a.value.AppendProto(w.tmp[:0])
		at = w.varint(w.raw(at, w.tmp), uint64(len(w.tmp)))
		at = w.entry(f, a.key, end, w.one(at, 2<<3|2))
	}
	w.amounts.forget()
	return at
}

func (r *protoReader) quantities(f *protoField, p unsafe.Pointer, i, end int) int {
	m, ticket := *(*quantityMap)(p), -1
	if m == nil {
		m, ticket = newMap[resource.Quantity](r.slab, f.n)
		*(*quantityMap)(p) = m
	}
	for {
		from, to, ok := r.span(i, end)
		r.key, r.quantity = "", resource.Quantity{}
		if !ok || !r.entry(f, from, to, unsafe.Pointer(&r.quantity)) {
			return -1
		}
		m[r.key] = r.quantity
		if !r.follows(f, to, end) {
			r.slab.filled(ticket, len(m))
			return to
		}
		i = to + int(f.tagLen)
	}
}
