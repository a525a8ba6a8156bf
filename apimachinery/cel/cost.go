package cel

import (
	"math"
	"net/netip"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Estimator estimates the cost of the functions of this package before an expression runs, and counts it
// while one runs. Sizes, if set, bounds the size of the value at a path; without it the size of every
// variable is taken to be unbounded.
//
// The costs are part of the API: they decide which rules a definition may have, and when the evaluation of a
// rule is aborted.
type Estimator struct {
	// Sizes estimates the size of the value at the path of an expression such as [self spec names @items];
	// nil where it is unknown.
	Sizes func(path []string) *checker.SizeEstimate
}

const (
	// perByte is the cost of reading one byte of a string.
	perByte = 0.1
	// perPatternByte is the cost of one byte of a regular expression for each byte of input.
	perPatternByte = 0.25
	// longestPattern is the length assumed for the pattern of a named format that is not known yet.
	longestPattern = 128
	// longestFormat bounds the text of a named format.
	longestFormat = 64
	// checkCost is the cost of an authorization check; it limits an evaluation to two checks.
	checkCost = 350_000
	// selectorCost is the cost of a selector, perRequirement that of each requirement. A selector has at most
	// one requirement per two bytes.
	selectorCost, perRequirement, requirementsPerByte = common.ListCreateBaseCost, common.ListCreateBaseCost + common.StructCreateBaseCost, 0.5
)

// price is how the cost of a group of functions is computed while an expression runs.
type price int

const (
	unpriced           price = iota // cel-go's own price
	nominal                         // 1
	readFirst                       // reading the first argument
	readTwice                       // reading the first argument, and writing a result as long
	writeResult                     // reading the parts of the result, and writing it
	walkFirst                       // reading every value in the first argument
	search                          // running a regular expression over the first argument
	authorizationCheck              // an authorization check
	selector                        // parsing a selector
	ownPrice                        // see ownCost
)

// prices are the functions whose price is not cel-go's.
var prices = map[string]price{
	"isSorted": walkFirst, "sum": walkFirst, "max": walkFirst, "min": walkFirst, "indexOf": walkFirst, "lastIndexOf": walkFirst,
	"url": readFirst, "lowerAscii": readFirst, "upperAscii": readFirst, "substring": readFirst, "trim": readFirst,
	"cidr": readFirst, "isIP": readFirst, "isCIDR": readFirst, "quantity": readFirst, "isQuantity": readFirst, "semver": readFirst, "isSemver": readFirst,
	"replace": readTwice, "split": readTwice, "ip.isCanonical": readTwice, "join": writeResult,
	"find": search, "findAll": search, "ip": ownPrice, "containsIP": ownPrice, "containsCIDR": ownPrice, "validate": ownPrice, "_==_": ownPrice,
	"masked": nominal, "prefixLength": nominal, "family": nominal, "isUnspecified": nominal, "isLoopback": nominal, "isLinkLocalMulticast": nominal,
	"isLinkLocalUnicast": nominal, "isGlobalUnicast": nominal, "format.named": nominal, "sign": nominal, "asInteger": nominal, "isInteger": nominal,
	"asApproximateFloat": nominal, "isGreaterThan": nominal, "isLessThan": nominal, "compareTo": nominal, "add": nominal, "sub": nominal,
	"major": nominal, "minor": nominal, "patch": nominal, "getScheme": nominal, "getHostname": nominal, "getHost": nominal, "getPort": nominal,
	"getEscapedPath": nominal, "getQuery": nominal,
	"check": authorizationCheck, "fieldSelector": selector, "labelSelector": selector, "serviceAccount": nominal, "path": nominal, "group": nominal,
	"resource": nominal, "subresource": nominal, "namespace": nominal, "name": nominal, "allowed": nominal, "reason": nominal, "error": nominal, "errored": nominal,
}

// CallCost implements the price while an expression runs.
func (Estimator) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if len(args) == 0 {
		return nil
	}
	switch prices[function] {
	case nominal:
		return new(uint64(1))
	case readFirst:
		return new(reading(args[0], 1))
	case readTwice:
		return new(reading(args[0], 2))
	case writeResult:
		return new(reading(result, 2))
	case walkFirst:
		return new(walking(args[0]))
	case search:
		return new(searching(size(args[0]), size(args[1])))
	case authorizationCheck:
		return new(uint64(checkCost))
	case selector:
		n := size(args[len(args)-1])
		return new(parsingSelector(sizes{Min: n, Max: n}).Max)
	case ownPrice:
		return ownCost(function, overload, args)
	}
	return nil
}

func parsingSelector(length sizes) costs {
	requirements := length.MultiplyByCostFactor(requirementsPerByte).MultiplyByCostFactor(perRequirement)
	return costs{Min: selectorCost, Max: selectorCost}.Add(length.MultiplyByCostFactor(perByte)).Add(requirements)
}

func ownCost(function, overload string, args []ref.Val) *uint64 {
	switch function {
	case "ip":
		if overload == "cidr_ip" {
			return new(uint64(1))
		}
		return new(reading(args[0], 1))
	case "containsIP", "containsCIDR":
		cost := reading(args[0], 2)
		if function == "containsCIDR" { // masks one address and compares the lengths too
			cost += reading(args[0], 1) + 1
		}
		if overload == "cidr_contains_ip_string" || overload == "cidr_contains_cidr_string" {
			cost += reading(args[1], 1)
		}
		return &cost
	case "validate":
		if f, ok := args[0].Value().(*format); ok {
			return new(searching(size(args[1]), f.patternSize))
		}
	case "_==_":
		if t, ok := args[0].Type().(*types.Type); ok && ownTypes[t.TypeName()] {
			return new(uint64(1))
		}
	}
	return nil
}

// ownTypes are the types of this package; their values are compared at a nominal price.
var ownTypes = map[string]bool{
	ipType.TypeName(): true, cidrType.TypeName(): true, quantityType.TypeName(): true, semverType.TypeName(): true, urlType.TypeName(): true, formatType.TypeName(): true,
}

// reading returns the cost of reading a string the given number of times.
func reading(v ref.Val, times float64) uint64 {
	return uint64(math.Ceil(float64(size(v)) * times * perByte))
}

func searching(text, pattern uint64) uint64 {
	return uint64(math.Ceil(float64(text+1)*perByte)) * uint64(math.Ceil(float64(pattern)*perPatternByte))
}

// walking returns the cost of reading every value in v.
func walking(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(float64(len(v)) * perByte)
	case types.Bytes:
		return uint64(float64(len(v)) * perByte)
	case traits.Lister:
		cost := uint64(0)
		for it := v.Iterator(); it.HasNext() == types.True; {
			cost += walking(it.Next())
		}
		return cost
	case traits.Mapper:
		cost := uint64(0)
		for it := v.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			cost += walking(k) + walking(v.Get(k))
		}
		return cost
	}
	return 1
}

// size returns how many bytes, characters or items a value has; 1 for a value without a size.
func size(v ref.Val) uint64 {
	switch x := v.Value().(type) {
	case netip.Addr:
		return uint64(x.BitLen()+7) / 8
	case netip.Prefix:
		return uint64(x.Bits()+7) / 8
	}
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return uint64(n)
		}
	}
	return 1
}
