package cel

import (
	"math"
	"slices"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

type (
	sizes = checker.SizeEstimate
	costs = checker.CostEstimate
)

// EstimateSize implements the static estimate.
func (e Estimator) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	if e.Sizes == nil || len(element.Path()) == 0 {
		return nil
	}
	return e.Sizes(element.Path())
}

// EstimateCallCost implements the static estimate.
func (e Estimator) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	first := target
	if first == nil && len(args) > 0 {
		first = &args[0]
	}
	switch kind := prices[function]; {
	case kind == nominal:
		return estimate(costs{Min: 1, Max: 1}, nil)
	case kind == authorizationCheck:
		return estimate(costs{Min: checkCost, Max: checkCost}, nil)
	case kind == unpriced || first == nil:
		return nil
	case kind == selector:
		return estimate(parsingSelector(e.sizeOf(args[len(args)-1])), nil)
	case function == "_==_":
		return e.equality(args)
	case function == "url":
		return e.reading(*first, 1, true)
	case target == nil:
		return e.parsing(function, *first)
	case kind == walkFirst:
		return estimate(e.walking(*target), nil)
	case kind == readFirst:
		return e.reading(*target, 1, true)
	}
	return e.method(function, overload, *target, args)
}

// parsing estimates functions that parse a string.
func (e Estimator) parsing(function string, text checker.AstNode) *checker.CallEstimate {
	if prices[function] == readTwice {
		return e.reading(text, 2, false)
	}
	return e.reading(text, 1, false)
}

func estimate(cost costs, result *sizes) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: cost, ResultSize: result}
}

// reading estimates reading a string the given number of times; sized means that the result is as long as the
// string.
func (e Estimator) reading(text checker.AstNode, times float64, sized bool) *checker.CallEstimate {
	n := e.sizeOf(text)
	cost := n.MultiplyByCostFactor(times * perByte)
	if sized {
		return estimate(cost, &n)
	}
	return estimate(cost, nil)
}

// method estimates member functions with arguments.
func (e Estimator) method(function, overload string, target checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	switch function {
	case "ip":
		return estimate(costs{Min: 1, Max: 1}, nil)
	case "split":
		return e.split(target, args)
	}
	if len(args) == 0 {
		if function == "join" {
			return e.join(target, sizes{})
		}
		return nil
	}
	argument := e.sizeOf(args[0])
	switch function {
	case "replace":
		if len(args) > 1 {
			return e.replace(e.sizeOf(target), argument, e.sizeOf(args[1]))
		}
	case "join":
		return e.join(target, argument)
	case "find", "findAll":
		n := e.sizeOf(target)
		text := n.Add(sizes{Min: 1, Max: 1}).MultiplyByCostFactor(perByte)
		return estimate(text.Multiply(argument.MultiplyByCostFactor(perPatternByte)), &sizes{Max: n.Max})
	case "validate":
		return estimate(argument.MultiplyByCostFactor(perByte).MultiplyByCostFactor(longestPattern*perPatternByte), nil)
	case "containsIP", "containsCIDR":
		return estimate(containing(function, overload, argument), nil)
	}
	return nil
}

// containing estimates the comparison of addresses, which have 4 or 16 bytes.
func containing(function, overload string, argument sizes) costs {
	address := sizes{Min: 4, Max: 16}
	cost := address.Add(address).MultiplyByCostFactor(perByte)
	if function == "containsCIDR" {
		cost = cost.Add(address.MultiplyByCostFactor(perByte)).Add(costs{Min: 1, Max: 1})
	}
	if overload == "cidr_contains_ip_string" || overload == "cidr_contains_cidr_string" {
		cost = cost.Add(argument.MultiplyByCostFactor(perByte))
	}
	return cost
}

// walking estimates reading every item of a list, or every byte of a string.
func (e Estimator) walking(target checker.AstNode) costs {
	items := itemsOf(target)
	if items == nil {
		return e.sizeOf(target).MultiplyByCostFactor(perByte)
	}
	each := costs{Min: 1, Max: 1}
	if k := items.Type().Kind(); k == types.StringKind || k == types.BytesKind {
		each = each.Add(e.sizeOf(items).MultiplyByCostFactor(perByte))
	}
	return e.sizeOf(target).MultiplyByCost(each)
}

// split estimates a list of at most one item per character, or of as many as its limit allows.
func (e Estimator) split(target checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	n := e.sizeOf(target)
	most := n.Max
	if len(args) > 1 {
		if limit := args[1].Expr(); limit != nil && limit.Kind() == ast.LiteralKind {
			if v, ok := limit.AsLiteral().Value().(int64); ok {
				most = uint64(v)
			}
		}
	}
	return estimate(n.MultiplyByCostFactor(2*perByte), &sizes{Max: most})
}

func (e Estimator) join(target checker.AstNode, separator sizes) *checker.CallEstimate {
	n := e.sizeOf(target)
	result := sizes{}
	if items := itemsOf(target); items != nil {
		result = n.Multiply(e.sizeOf(items))
	}
	between := sizes{Min: max(n.Min, 1) - 1, Max: max(n.Max, 1) - 1}
	result = result.Add(separator.Multiply(between))
	return estimate(result.MultiplyByCostFactor(perByte), &result)
}

// replace estimates a replacement. The result is longest when the shortest possible pieces are replaced by
// the longest possible text wherever they fit, and shortest the other way round; an empty piece is found
// around every character.
func (e Estimator) replace(text, piece, by sizes) *checker.CallEstimate {
	var times, kept sizes
	switch {
	case piece.Min == 0:
		times.Max, kept.Max = plusOne(text.Max), text.Max
	case by.Max <= piece.Min:
		kept.Max = text.Max
	default:
		times.Max = uint64(math.Ceil(float64(text.Max) / float64(piece.Min)))
	}
	switch {
	case piece.Max == 0:
		times.Min, kept.Min = plusOne(text.Min), text.Min
	case piece.Max <= by.Min:
		kept.Min = text.Min
	default:
		times.Min = uint64(math.Ceil(float64(text.Min) / float64(piece.Max)))
	}
	result := times.Multiply(by).Add(kept)
	return estimate(text.MultiplyByCostFactor(2*perByte), &result)
}

func plusOne(n uint64) uint64 {
	if n < math.MaxUint64 {
		n++
	}
	return n
}

// equality estimates == of the types of this package.
func (e Estimator) equality(args []checker.AstNode) *checker.CallEstimate {
	if len(args) != 2 || args[0].Type().TypeName() != args[1].Type().TypeName() {
		return nil
	}
	switch args[0].Type().TypeName() {
	case ipType.TypeName(), cidrType.TypeName(), quantityType.TypeName(), semverType.TypeName():
		return estimate(costs{Min: 1, Max: 1}, nil)
	case formatType.TypeName():
		return estimate(sizes{Min: 1, Max: longestFormat}.MultiplyByCostFactor(perByte), nil)
	case urlType.TypeName():
		longest := uint64(1)
		if n := args[1].ComputedSize(); n != nil {
			longest = n.Max
		}
		return estimate(sizes{Min: 1, Max: longest}.MultiplyByCostFactor(perByte), nil)
	}
	return nil
}

func (e Estimator) sizeOf(n checker.AstNode) sizes {
	if l := n.ComputedSize(); l != nil {
		return *l
	}
	if l := e.EstimateSize(n); l != nil {
		return *l
	}
	return sizes{Min: 0, Max: math.MaxUint64}
}

// itemsOf returns a node that represents the items of a list or the keys of a map; nil if it has neither.
func itemsOf(list checker.AstNode) checker.AstNode {
	parameters := list.Type().Parameters()
	if len(parameters) == 0 {
		return nil
	}
	n := itemsNode{of: parameters[0]}
	if path := list.Path(); path != nil {
		n.path = append(slices.Clone(path), "@items")
	}
	return n
}

// itemsNode represents the items of a list, which have no expression of their own.
type itemsNode struct {
	path []string
	of   *types.Type
}

func (n itemsNode) Path() []string                      { return n.path }
func (n itemsNode) Type() *types.Type                   { return n.of }
func (n itemsNode) Expr() ast.Expr                      { return nil }
func (n itemsNode) ComputedSize() *checker.SizeEstimate { return nil }
