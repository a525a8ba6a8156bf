package json

import (
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/jsontext"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

func (e *Encoder) quantities(b []byte, m plan.QuantityMap) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	var few mem.SmallMapEntries[resource.Quantity]
	for i, a := range e.amounts.Entries(&few, m) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontext.AppendString(b, a.Key), ':')
		b, _ = a.Value.AppendJSON(b) // never fails
	}
	e.amounts.Forget()
	return append(b, '}')
}

func (d *decoder) quantities(n *plan.Node, p mem.Pointer, i int) int {
	if !d.enter(i) {
		return -1
	}
	m, index := *mem.At[plan.QuantityMap](p), -1
	if m == nil {
		m, index = arena.NewMap[resource.Quantity](d.slab, n.MapKind)
		*mem.At[plan.QuantityMap](p) = m
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
				d.duplicate(key)
			}
		}
		if i = d.oneQuantity(n.Elem, d.next(i)); i < 0 {
			d.within(i, 0, failure.Member(key))
			return -1
		}
		m[key] = d.quantity
		if i, more = d.more(i, '}', jsontext.MsgObject); i < 0 {
			return -1
		}
	}
	d.slab.SetMapLen(index, len(m))
	d.depth--
	return i
}

// oneQuantity reads the quantity at i into d.quantity.
func (d *decoder) oneQuantity(n *plan.Node, i int) int {
	if i < len(d.data) && d.data[i] == '"' {
		if end := jsontext.StringEnd(d.data, i+1); end < len(d.data) && d.data[end] == '"' {
			if err := d.quantity.ParseJSON(d.data[i : end+1]); err != nil {
				d.cause = err
				return d.fail(i, err.Error())
			}
			return end + 1
		}
	}
	return d.byMethod(n, mem.Of(&d.quantity), i)
}
