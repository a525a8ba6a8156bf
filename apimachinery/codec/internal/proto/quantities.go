package proto

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/arena"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/plan"
	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

func (w *Writer) quantities(f *plan.ProtoField, m plan.QuantityMap, at int) int {
	var few mem.SmallMapEntries[resource.Quantity]
	for _, a := range slices.Backward(w.amounts.Entries(&few, m)) {
		end := len(w.buf) - at
		w.tmp = a.Value.AppendProto(w.tmp[:0])
		at = w.varint(w.raw(at, w.tmp), uint64(len(w.tmp)))
		at = w.entry(f, a.Key, end, w.one(at, 2<<3|2))
	}
	w.amounts.Forget()
	return at
}

func (r *Reader) quantities(f *plan.ProtoField, p mem.Pointer, i, end int) int {
	m, index := *mem.At[plan.QuantityMap](p), -1
	if m == nil {
		m, index = arena.NewMap[resource.Quantity](r.slab, f.Node.MapKind)
		*mem.At[plan.QuantityMap](p) = m
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
		i = to + int(f.TagLen)
	}
}
