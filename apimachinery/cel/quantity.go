package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/keelson-dev/keelson/apimachinery/resource"
)

var quantityType = cel.ObjectType("kubernetes.Quantity")

func quantityVal(q resource.Quantity) ref.Val {
	return opaque[*resource.Quantity]{quantityType, &q, func(a, b *resource.Quantity) bool { return a.Cmp(*b) == 0 }}
}

func quantities() []cel.EnvOption {
	type q = *resource.Quantity
	compare := func(name string, result *cel.Type, f func(int) ref.Val) cel.EnvOption {
		return cel.Function(name, method2("quantity_"+name, quantityType, quantityType, result, func(a, b q) ref.Val { return f(a.Cmp(*b)) }))
	}
	// arithmetic takes a quantity or an integer.
	arithmetic := func(name string, f func(a q, b resource.Quantity)) cel.EnvOption {
		apply := func(a q, b resource.Quantity) ref.Val {
			sum := *a
			f(&sum, b)
			return quantityVal(sum)
		}
		return cel.Function(name,
			method2("quantity_"+name, quantityType, quantityType, quantityType, func(a, b q) ref.Val { return apply(a, *b) }),
			method2("quantity_"+name+"_int", quantityType, cel.IntType, quantityType, func(a q, n int64) ref.Val {
				return apply(a, resource.NewQuantity(n, resource.DecimalSI))
			}))
	}
	return []cel.EnvOption{
		parser("quantity", "string_to_quantity", quantityType, func(s string) (ref.Val, error) {
			v, err := resource.Parse(s)
			return quantityVal(v), err
		}),
		wellFormed("isQuantity", "is_quantity_string", func(s string) bool { _, err := resource.Parse(s); return err == nil }),
		cel.Function("isInteger", method("isInteger", "quantity_is_integer", quantityType, cel.BoolType, func(v q) ref.Val {
			_, ok := v.AsInt64()
			return types.Bool(ok)
		})),
		cel.Function("asInteger", method("asInteger", "quantity_get_int", quantityType, cel.IntType, func(v q) ref.Val {
			n, ok := v.AsInt64()
			if !ok {
				return types.NewErr("cannot convert value to integer")
			}
			return types.Int(n)
		})),
		cel.Function("asApproximateFloat", method("asApproximateFloat", "quantity_get_float", quantityType, cel.DoubleType, func(v q) ref.Val {
			return types.Double(v.AsApproximateFloat64())
		})),
		// The only function of quantities that is not a member function.
		cel.Function("sign", cel.Overload("quantity_sign", []*cel.Type{quantityType}, cel.IntType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			n, ok := v.Value().(q)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			return types.Int(n.Sign())
		}))),
		arithmetic("add", func(a q, b resource.Quantity) { a.Add(b) }),
		arithmetic("sub", func(a q, b resource.Quantity) { a.Sub(b) }),
		compare("isGreaterThan", cel.BoolType, func(c int) ref.Val { return types.Bool(c > 0) }),
		compare("isLessThan", cel.BoolType, func(c int) ref.Val { return types.Bool(c < 0) }),
		compare("compareTo", cel.IntType, func(c int) ref.Val { return types.Int(c) }),
	}
}
