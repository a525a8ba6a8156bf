package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// element is a type of list items that has overloads. The overload used for an empty list depends on their
// order.
type element struct {
	name string
	as   *cel.Type
	zero ref.Val // of types that can be summed, else nil
}

var elements = []element{
	{"int", cel.IntType, types.IntZero}, {"uint", cel.UintType, types.Uint(0)}, {"double", cel.DoubleType, types.Double(0)}, {"bool", cel.BoolType, nil},
	{"duration", cel.DurationType, types.Duration{}}, {"timestamp", cel.TimestampType, nil}, {"string", cel.StringType, nil}, {"bytes", cel.BytesType, nil},
}

func lists() []cel.EnvOption {
	var sorted, sum, smallest, largest []cel.FunctionOpt
	for _, e := range elements {
		name, t, list := e.name, e.as, []*cel.Type{cel.ListType(e.as)}
		sorted = append(sorted, cel.MemberOverload("list_"+name+"_is_sorted_bool", list, cel.BoolType, cel.UnaryBinding(isSorted)))
		smallest = append(smallest, cel.MemberOverload("list_"+name+"_min_"+name, list, t, cel.UnaryBinding(func(v ref.Val) ref.Val { return extreme(v, types.IntNegOne) })))
		largest = append(largest, cel.MemberOverload("list_"+name+"_max_"+name, list, t, cel.UnaryBinding(func(v ref.Val) ref.Val { return extreme(v, types.IntOne) })))
		if e.zero != nil {
			sum = append(sum, cel.MemberOverload("list_"+name+"_sum_"+name, list, t, cel.UnaryBinding(func(v ref.Val) ref.Val { return total(v, e.zero) })))
		}
	}
	item := cel.TypeParamType("T")
	search := []*cel.Type{cel.ListType(item), item}
	return []cel.EnvOption{
		cel.Function("isSorted", sorted...), cel.Function("sum", sum...), cel.Function("min", smallest...), cel.Function("max", largest...),
		cel.Function("indexOf", cel.MemberOverload("list_a_index_of_int", search, cel.IntType, cel.BinaryBinding(indexOf))),
		cel.Function("lastIndexOf", cel.MemberOverload("list_a_last_index_of_int", search, cel.IntType, cel.BinaryBinding(lastIndexOf))),
	}
}

// each visits the items until visit returns a value, and returns that.
func each(v ref.Val, visit func(i int64, item ref.Val) ref.Val) ref.Val {
	list, ok := v.(traits.Iterable)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	i := int64(0)
	for it := list.Iterator(); it.HasNext() == types.True; i++ {
		if r := visit(i, it.Next()); r != nil {
			return r
		}
	}
	return nil
}

func isSorted(v ref.Val) ref.Val {
	var last traits.Comparer
	if r := each(v, func(_ int64, item ref.Val) ref.Val {
		next, ok := item.(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(item)
		}
		if last != nil {
			switch c := last.Compare(item); {
			case types.IsUnknownOrError(c):
				return c
			case c == types.IntOne:
				return types.False
			}
		}
		last = next
		return nil
	}); r != nil {
		return r
	}
	return types.True
}

func total(v, zero ref.Val) ref.Val {
	sum := zero
	if r := each(v, func(_ int64, item ref.Val) ref.Val {
		adder, ok := sum.(traits.Adder)
		if !ok {
			return types.MaybeNoSuchOverloadErr(item)
		}
		if sum = adder.Add(item); types.IsUnknownOrError(sum) {
			return sum
		}
		return nil
	}); r != nil {
		return r
	}
	return sum
}

// extreme returns the item for which compare(item, other) is want or 0 for all others: the minimum or
// maximum.
func extreme(v ref.Val, want types.Int) ref.Val {
	var best ref.Val
	if r := each(v, func(_ int64, item ref.Val) ref.Val {
		c, ok := item.(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(item)
		}
		if best == nil {
			best = item
			return nil
		}
		switch got := c.Compare(best); {
		case types.IsUnknownOrError(got):
			return got
		case got == want:
			best = item
		}
		return nil
	}); r != nil {
		return r
	}
	if best == nil {
		return types.NewErr("min and max need at least one item")
	}
	return best
}

func indexOf(v, wanted ref.Val) ref.Val {
	if r := each(v, func(i int64, item ref.Val) ref.Val {
		if item.Equal(wanted) == types.True {
			return types.Int(i)
		}
		return nil
	}); r != nil {
		return r
	}
	return types.IntNegOne
}

func lastIndexOf(v, wanted ref.Val) ref.Val {
	last := types.IntNegOne
	if r := each(v, func(i int64, item ref.Val) ref.Val {
		if item.Equal(wanted) == types.True {
			last = types.Int(i)
		}
		return nil
	}); r != nil {
		return r
	}
	return last
}
