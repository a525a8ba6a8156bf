package openapi

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// celList is a list. The items of sets and map lists have no order: such lists are equal whatever it is, and
// joining them keeps one item of a kind.
type celList struct {
	s  *Structural // of the list
	as string      // of the items
	l  []any
}

var _ traits.Lister = (*celList)(nil)

// Type implements ref.Val.
func (v *celList) Type() ref.Type { return types.ListType }

// Value implements ref.Val.
func (v *celList) Value() any { return v.l }

// Size implements traits.Sizer.
func (v *celList) Size() ref.Val { return types.Int(len(v.l)) }

func (v *celList) at(i int) ref.Val { return celValue(v.s.Items, v.as, v.l[i]) }

// Get implements traits.Indexer.
func (v *celList) Get(index ref.Val) ref.Val {
	var i int64
	switch n := index.(type) {
	case types.Int:
		i = int64(n)
	case types.Uint:
		i = int64(n)
	case types.Double:
		if i = int64(n); types.Double(i) != n {
			return types.NewErr("invalid index: %v", n)
		}
	default:
		return types.MaybeNoSuchOverloadErr(index)
	}
	if i < 0 || i >= int64(len(v.l)) {
		return types.NewErr("index out of bounds: %d", i)
	}
	return v.at(int(i))
}

// Contains implements traits.Container.
func (v *celList) Contains(wanted ref.Val) ref.Val {
	if types.IsUnknownOrError(wanted) {
		return wanted
	}
	for i := range v.l {
		if v.at(i).Equal(wanted) == types.True {
			return types.True
		}
	}
	return types.False
}

// values are the items as rules see them.
func (v *celList) values() []ref.Val {
	out := make([]ref.Val, len(v.l))
	for i := range v.l {
		out[i] = v.at(i)
	}
	return out
}

// Iterator implements traits.Iterable.
func (v *celList) Iterator() traits.Iterator {
	return types.DefaultTypeAdapter.NativeToValue(v.values()).(traits.Iterable).Iterator()
}

// Add implements traits.Adder.
func (v *celList) Add(other ref.Val) ref.Val {
	o, ok := other.(*celList)
	if !ok || v.s.ListType != "set" && v.s.ListType != "map" {
		return types.DefaultTypeAdapter.NativeToValue(v.values()).(traits.Adder).Add(other)
	}
	joined := append([]any(nil), v.l...)
	place := map[any]int{}
	for i, it := range joined {
		if key, ok := v.s.itemKey(it); ok {
			place[key] = i
		}
	}
	for _, it := range o.l {
		key, ok := v.s.itemKey(it)
		if i, known := place[key]; ok && known {
			joined[i] = it
			continue
		}
		place[key] = len(joined)
		joined = append(joined, it)
	}
	return &celList{s: v.s, as: v.as, l: joined}
}

// Equal implements ref.Val.
func (v *celList) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok || o.Size() != v.Size() {
		return types.False
	}
	if v.s.ListType == "set" || v.s.ListType == "map" {
		if p, ok := other.(*celList); ok {
			return types.Bool(v.sameItems(p))
		}
		for i := range v.l {
			if o.Contains(v.at(i)) != types.True {
				return types.False
			}
		}
		return types.True
	}
	for i := range v.l {
		if v.at(i).Equal(o.Get(types.Int(i))) != types.True {
			return types.False
		}
	}
	return types.True
}

func (v *celList) sameItems(o *celList) bool {
	place := make(map[any]int, len(o.l))
	for i, it := range o.l {
		if key, ok := v.s.itemKey(it); ok {
			place[key] = i
		}
	}
	for i, it := range v.l {
		key, _ := v.s.itemKey(it)
		j, ok := place[key]
		if !ok || v.at(i).Equal(o.at(j)) != types.True {
			return false
		}
	}
	return true
}

// ConvertToNative implements ref.Val.
func (v *celList) ConvertToNative(t reflect.Type) (any, error) { return convertNative(v.l, t) }

// ConvertToType implements ref.Val.
func (v *celList) ConvertToType(t ref.Type) ref.Val { return convertType(v, t) }
