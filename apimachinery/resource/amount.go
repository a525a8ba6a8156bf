package resource

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
)

// Scale is a power of ten.
type Scale int32

// The scales that have a suffix.
const (
	Nano  Scale = -9
	Micro Scale = -6
	Milli Scale = -3
	Kilo  Scale = 3
	Mega  Scale = 6
	Giga  Scale = 9
	Tera  Scale = 12
	Peta  Scale = 15
	Exa   Scale = 18
)

// pow10 are the powers of ten an int64 holds.
var pow10 = [19]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

func addInt64(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func mulInt64(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if (a < 0) != (b < 0) {
		return int64(-lo), hi == 0 && lo <= 1<<63
	}
	return int64(lo), hi == 0 && lo <= math.MaxInt64
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// raise returns n * 10^by, by >= 0, if that fits.
func raise(n int64, by int64) (int64, bool) {
	switch {
	case by == 0 || n == 0:
		return n, true
	case by >= int64(len(pow10)):
		return 0, false
	}
	return mulInt64(n, pow10[by])
}

// lower returns n / 10^by, by >= 0, rounded away from zero.
func lower(n int64, by int64) (result int64, exact bool) {
	switch {
	case by == 0 || n == 0:
		return n, true
	case by >= int64(len(pow10)):
		// The smallest divisor beyond the table exceeds every int64 but 10^19 > 2^63.
		if n < 0 {
			return -1, false
		}
		return 1, false
	}
	result = n / pow10[by]
	switch rest := n % pow10[by]; {
	case rest > 0:
		return result + 1, false
	case rest < 0:
		return result - 1, false
	}
	return result, true
}

// trimZeros removes the factors of ten.
func trimZeros(n int64) (result int64, zeros int32) {
	if n == 0 {
		return 0, 0
	}
	for n%1000 == 0 {
		n /= 1000
		zeros += 3
	}
	for n%10 == 0 {
		n /= 10
		zeros++
	}
	return n, zeros
}

func bigPow10(by int64) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(by), nil)
}

// bigRaise returns n * 10^by as a new number.
func bigRaise(n *big.Int, by int64) *big.Int {
	return new(big.Int).Mul(n, bigPow10(by))
}

// bigLower returns n / 10^by rounded away from zero, as a new number.
func bigLower(n *big.Int, by int64) (result *big.Int, exact bool) {
	// A number with fewer digits than the divisor needs no division, and the divisor may be too large to
	// compute.
	if int64(n.BitLen()) < by*3 {
		return big.NewInt(int64(n.Sign())), n.Sign() == 0
	}
	result, rest := new(big.Int).QuoRem(n, bigPow10(by), new(big.Int))
	if sign := rest.Sign(); sign != 0 {
		return result.Add(result, big.NewInt(int64(sign))), false
	}
	return result, true
}

// bigCmp compares a*10^as with b*10^bs without expanding numbers whose
// magnitudes already differ.
func bigCmp(a *big.Int, as int32, b *big.Int, bs int32) int {
	if c := cmp.Compare(a.Sign(), b.Sign()); c != 0 || a.Sign() == 0 {
		return c
	}
	// log10 of both, to within one digit.
	da := float64(a.BitLen())*math.Log10(2) + float64(as)
	db := float64(b.BitLen())*math.Log10(2) + float64(bs)
	if math.Abs(da-db) > 2 {
		return cmp.Compare(da, db) * a.Sign()
	}
	switch {
	case as > bs:
		a = bigRaise(a, int64(as)-int64(bs))
	case bs > as:
		b = bigRaise(b, int64(bs)-int64(as))
	}
	return a.Cmp(b)
}
