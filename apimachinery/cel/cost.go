package cel

import (
	"math"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Estimator says what the functions of this package cost, before an expression runs and while it does. Sizes, if set, says how
// big the values of paths can get; without it every variable is taken to be of any size.
type Estimator struct {
	// Sizes estimates the size of the value at the path of an expression such as [self spec names @items]; nil where it is unknown.
	Sizes func(path []string) *checker.SizeEstimate
}

// questionCost is what asking the authorizer costs, so that no evaluation asks it more than twice.
const questionCost = 350_000

// perByte is what looking at one byte of a text costs.
const perByte = 0.1

// CallCost implements the runtime estimate.
func (Estimator) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	switch function {
	case "check":
		if t := args[0].Type(); t == pathCheckType || t == resourceCheckType {
			return new(uint64(questionCost))
		}
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf":
		return new(size(args[0]) + 1)
	case "url", "isURL", "ip", "isIP", "ip.isCanonical", "cidr", "isCIDR", "quantity", "isQuantity", "semver", "isSemver", "validate", "containsIP", "containsCIDR":
		return new(uint64(math.Ceil(float64(size(args[len(args)-1])) * perByte * 2)))
	case "find", "findAll":
		return new(uint64(math.Ceil(float64(size(args[0])+1) * perByte * math.Ceil(float64(size(args[1])+1)*0.25))))
	}
	return nil
}

func size(v ref.Val) uint64 {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return uint64(n)
		}
	}
	return 1
}

// EstimateSize implements the static estimate.
func (e Estimator) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	if e.Sizes == nil || len(element.Path()) == 0 {
		return nil
	}
	return e.Sizes(element.Path())
}

// EstimateCallCost implements the static estimate.
func (e Estimator) EstimateCallCost(function, _ string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	switch function {
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf":
		if target == nil {
			return nil
		}
		n := e.sizeOf(*target)
		return &checker.CallEstimate{CostEstimate: n.MultiplyByCostFactor(1).Add(checker.CostEstimate{Min: 1, Max: 1})}
	case "url", "isURL", "ip", "isIP", "ip.isCanonical", "cidr", "isCIDR", "quantity", "isQuantity", "semver", "isSemver", "validate", "containsIP", "containsCIDR":
		if len(args) == 0 {
			return nil
		}
		n := e.sizeOf(args[len(args)-1])
		return &checker.CallEstimate{CostEstimate: n.MultiplyByCostFactor(perByte * 2)}
	case "find", "findAll":
		if target == nil || len(args) == 0 {
			return nil
		}
		text, pattern := e.sizeOf(*target), e.sizeOf(args[0])
		cost := text.Add(checker.SizeEstimate{Min: 1, Max: 1}).MultiplyByCostFactor(perByte)
		return &checker.CallEstimate{CostEstimate: cost.Multiply(pattern.Add(checker.SizeEstimate{Min: 1, Max: 1}).MultiplyByCostFactor(0.25))}
	}
	return nil
}

func (e Estimator) sizeOf(n checker.AstNode) checker.SizeEstimate {
	if l := n.ComputedSize(); l != nil {
		return *l
	}
	if l := e.EstimateSize(n); l != nil {
		return *l
	}
	return checker.SizeEstimate{Min: 0, Max: math.MaxUint64}
}
