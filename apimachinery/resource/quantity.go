package resource

import (
	"cmp"
	"math"
	"math/big"
)

// Format is the family of suffixes a quantity is printed in.
type Format string

// The formats. A quantity without one (the zero value) takes the format of the
// first quantity added to it.
const (
	DecimalExponent Format = "DecimalExponent"
	BinarySI        Format = "BinarySI"
	DecimalSI       Format = "DecimalSI"
)

type formatCode uint8

const (
	codeUnset formatCode = iota
	codeDecimalExponent
	codeBinarySI
	codeDecimalSI
)

func codeOf(f Format) formatCode {
	switch f {
	case DecimalSI:
		return codeDecimalSI
	case BinarySI:
		return codeBinarySI
	case DecimalExponent:
		return codeDecimalExponent
	}
	return codeUnset
}

// Quantity is an exact decimal number with a preferred suffix family. The zero
// value is the number 0. It is copied by plain assignment. Methods with a
// pointer receiver change the quantity and must not run at the same time as
// others; the rest may be called concurrently.
type Quantity struct {
	// The number is value * 10^scale, or x.big * 10^scale if x.big is set.
	value  int64
	x      *extra
	scale  int32
	format formatCode
}

// extra holds what few quantities need. It does not change once a Quantity refers to it, so copies are
// independent.
type extra struct {
	big  *big.Int
	text string // as parsed, where upstream prints it unchanged although it is not canonical
}

// NewQuantity returns value in the given format.
func NewQuantity(value int64, format Format) Quantity {
	return Quantity{value: value, format: codeOf(format)}
}

// NewMilliQuantity returns value thousandths in the given format.
func NewMilliQuantity(value int64, format Format) Quantity {
	return Quantity{value: value, scale: int32(Milli), format: codeOf(format)}
}

// NewScaledQuantity returns value * 10^scale in DecimalSI.
func NewScaledQuantity(value int64, scale Scale) Quantity {
	return Quantity{value: value, scale: int32(scale), format: codeDecimalSI}
}

// fromBig takes ownership of n and falls back to 64 bits where it fits.
func fromBig(n *big.Int, scale int32, format formatCode) Quantity {
	if n.IsInt64() {
		return Quantity{value: n.Int64(), scale: scale, format: format}
	}
	return Quantity{x: &extra{big: n}, scale: scale, format: format}
}

func (q Quantity) isBig() bool { return q.x != nil && q.x.big != nil }

// unscaled returns the number without its scale; the result must not be changed.
func (q Quantity) unscaled() *big.Int {
	if q.isBig() {
		return q.x.big
	}
	return big.NewInt(q.value)
}

// plain returns q without its original text.
func (q Quantity) plain() Quantity {
	if !q.isBig() {
		q.x = nil
	}
	return q
}

// Format returns the suffix family that the quantity is printed in; empty if it has none yet.
func (q Quantity) Format() Format {
	switch q.format {
	case codeDecimalSI:
		return DecimalSI
	case codeBinarySI:
		return BinarySI
	case codeDecimalExponent:
		return DecimalExponent
	}
	return ""
}

// WithFormat returns the same number, printed in another suffix family.
func (q Quantity) WithFormat(format Format) Quantity {
	q = q.plain()
	q.format = codeOf(format)
	return q
}

// DeepCopy returns q: assignment copies.
func (q Quantity) DeepCopy() Quantity { return q }

// AssignmentCopies marks the type for package codec: assignment copies it, without a call of DeepCopyInto.
func (Quantity) AssignmentCopies() {}

// DeepCopyInto assigns q to out.
func (q *Quantity) DeepCopyInto(out *Quantity) { *out = *q }

// Sign returns -1, 0 or 1.
func (q Quantity) Sign() int {
	if q.isBig() {
		return q.x.big.Sign()
	}
	return cmp.Compare(q.value, 0)
}

// IsZero reports whether the number is 0, whatever the format.
func (q Quantity) IsZero() bool { return q.value == 0 && !q.isBig() }

// Cmp returns -1, 0 or 1 if q is less than, equal to or greater than y.
func (q Quantity) Cmp(y Quantity) int {
	if !q.isBig() && !y.isBig() {
		if q.scale == y.scale || q.value == 0 || y.value == 0 {
			return cmp.Compare(q.value, y.value)
		}
		if a, b, _, ok := align(q, y); ok {
			return cmp.Compare(a, b)
		}
	}
	return bigCmp(q.unscaled(), q.scale, y.unscaled(), y.scale)
}

// CmpInt64 returns -1, 0 or 1 if q is less than, equal to or greater than y.
func (q Quantity) CmpInt64(y int64) int { return q.Cmp(Quantity{value: y}) }

// Equal reports whether both are the same number, whatever their formats.
func (q Quantity) Equal(y Quantity) bool { return q.Cmp(y) == 0 }

// align converts two 64-bit quantities to the smaller of their scales.
func align(q, y Quantity) (a, b int64, scale int32, ok bool) {
	switch {
	case q.scale > y.scale:
		a, ok = raise(q.value, int64(q.scale)-int64(y.scale))
		return a, y.value, y.scale, ok
	default:
		b, ok = raise(y.value, int64(y.scale)-int64(q.scale))
		return q.value, b, q.scale, ok
	}
}

// Add adds y. A zero q takes over the format of y.
func (q *Quantity) Add(y Quantity) {
	if q.IsZero() {
		*q = Quantity{value: y.value, x: y.plain().x, scale: y.scale, format: y.format}
		return
	}
	*q = q.plain()
	if y.IsZero() {
		return
	}
	if !q.isBig() && !y.isBig() {
		if a, b, scale, ok := align(*q, y); ok {
			if sum, ok := addInt64(a, b); ok {
				q.value, q.scale = sum, scale
				return
			}
		}
	}
	*q = addBig(*q, y)
}

func addBig(q, y Quantity) Quantity {
	a, b, scale := q.unscaled(), y.unscaled(), q.scale
	switch {
	case q.scale > y.scale:
		a, scale = bigRaise(a, int64(q.scale)-int64(y.scale)), y.scale
	case y.scale > q.scale:
		b = bigRaise(b, int64(y.scale)-int64(q.scale))
	}
	return fromBig(new(big.Int).Add(a, b), scale, q.format)
}

// Sub subtracts y. A zero q takes over the format of y.
func (q *Quantity) Sub(y Quantity) {
	y.Neg()
	q.Add(y)
}

// Neg negates the number.
func (q *Quantity) Neg() {
	*q = q.plain()
	if q.isBig() {
		*q = fromBig(new(big.Int).Neg(q.x.big), q.scale, q.format)
		return
	}
	if q.value == math.MinInt64 {
		*q = fromBig(new(big.Int).Neg(big.NewInt(q.value)), q.scale, q.format)
		return
	}
	q.value = -q.value
}

// Mul multiplies by y and reports whether the result fits into 64 bits. The result is exact in both cases.
func (q *Quantity) Mul(y int64) bool {
	*q = q.plain()
	if !q.isBig() {
		if product, ok := mulInt64(q.value, y); ok {
			q.value = product
			return true
		}
	}
	*q = fromBig(new(big.Int).Mul(q.unscaled(), big.NewInt(y)), q.scale, q.format)
	return !q.isBig()
}

// RoundUp rounds away from zero to a multiple of 10^scale and reports whether
// the number already was one.
func (q *Quantity) RoundUp(scale Scale) bool {
	if Scale(q.scale) >= scale {
		return true
	}
	*q = q.plain()
	by := int64(scale) - int64(q.scale)
	if q.isBig() {
		n, exact := bigLower(q.x.big, by)
		*q = fromBig(n, int32(scale), q.format)
		return exact
	}
	n, exact := lower(q.value, by)
	q.value, q.scale = n, int32(scale)
	return exact
}

// Set sets the number to value and keeps the format.
func (q *Quantity) Set(value int64) { q.SetScaled(value, 0) }

// SetMilli sets the number to value thousandths and keeps the format.
func (q *Quantity) SetMilli(value int64) { q.SetScaled(value, Milli) }

// SetScaled sets the number to value * 10^scale and keeps the format.
func (q *Quantity) SetScaled(value int64, scale Scale) {
	*q = Quantity{value: value, scale: int32(scale), format: q.format}
}

// Value returns the number rounded away from zero to an integer. A number out of range gives the nearest
// int64.
func (q Quantity) Value() int64 { return q.ScaledValue(0) }

// MilliValue returns the number in thousandths, rounded away from zero. A number out of range gives the
// nearest int64.
func (q Quantity) MilliValue() int64 { return q.ScaledValue(Milli) }

// ScaledValue returns q / 10^scale rounded away from zero. A number out of range gives the nearest int64.
func (q Quantity) ScaledValue(scale Scale) int64 {
	by := int64(q.scale) - int64(scale)
	if !q.isBig() {
		if by < 0 {
			n, _ := lower(q.value, -by)
			return n
		}
		if n, ok := raise(q.value, by); ok {
			return n
		}
	} else if by < 0 {
		if n, _ := bigLower(q.x.big, -by); n.IsInt64() {
			return n.Int64()
		}
	}
	if q.Sign() < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// AsInt64 returns the number as an int64, and whether an int64 holds it exactly.
func (q Quantity) AsInt64() (int64, bool) {
	if q.isBig() {
		if q.scale < 0 {
			n, exact := bigLower(q.x.big, -int64(q.scale))
			if exact && n.IsInt64() {
				return n.Int64(), true
			}
		}
		return 0, false
	}
	if q.scale >= 0 {
		return raise(q.value, int64(q.scale))
	}
	n, exact := lower(q.value, -int64(q.scale))
	if !exact {
		return 0, false
	}
	return n, true
}

// AsApproximateFloat64 returns the number as a float, whose last digits may be inexact. Numbers out of range
// become infinities.
func (q Quantity) AsApproximateFloat64() float64 {
	base := float64(q.value)
	if q.isBig() {
		base, _ = new(big.Float).SetInt(q.x.big).Float64()
	}
	if q.scale == 0 {
		return base
	}
	return base * math.Pow10(int(q.scale))
}
