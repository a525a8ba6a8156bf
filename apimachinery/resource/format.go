package resource

import (
	"math/big"
	"strconv"
)

// bufferSize holds the canonical text of every 64-bit quantity.
const bufferSize = 32

var (
	decimalSuffixes = [...]string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}
	binarySuffixes  = [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
)

// String returns the canonical text. Parse reads it back as the same number.
func (q Quantity) String() string {
	if q.x != nil && q.x.text != "" {
		return q.x.text
	}
	if q.value == 0 && q.x == nil {
		return "0"
	}
	var buf [bufferSize]byte
	return string(q.appendCanonical(buf[:0]))
}

// AppendText appends String() to dst. The error is always nil.
func (q Quantity) AppendText(dst []byte) ([]byte, error) { return q.appendTo(dst), nil }

func (q Quantity) appendTo(dst []byte) []byte {
	if q.x != nil && q.x.text != "" {
		return append(dst, q.x.text...)
	}
	return q.appendCanonical(dst)
}

func (q Quantity) appendCanonical(dst []byte) []byte {
	if q.IsZero() {
		return append(dst, '0')
	}
	switch q.format {
	case codeBinarySI:
		// Below 1Ki and with a fraction there is no binary suffix to use.
		if q.CmpInt64(-1024) > 0 && q.CmpInt64(1024) < 0 {
			return q.appendDecimal(dst, true)
		}
		if n := q; n.RoundUp(0) {
			return n.appendBinary(dst)
		}
		return q.appendDecimal(dst, true)
	case codeDecimalSI:
		return q.appendDecimal(dst, true)
	}
	return q.appendDecimal(dst, false)
}

// appendDecimal prints with the exponent brought to a multiple of 3, as a suffix
// or as e-notation.
func (q Quantity) appendDecimal(dst []byte, si bool) []byte {
	if si {
		q.RoundUp(Nano)
	}
	if q.isBig() {
		return q.appendDecimalBig(dst, si)
	}
	n, zeros := trimZeros(q.value)
	exponent := q.scale + zeros
	target := printExponent(exponent, si)
	n, ok := raise(n, int64(exponent)-int64(target))
	if !ok {
		return q.appendDecimalBig(dst, si)
	}
	return appendDecimalSuffix(strconv.AppendInt(dst, n, 10), target, si)
}

func (q Quantity) appendDecimalBig(dst []byte, si bool) []byte {
	n, exponent := new(big.Int).Set(q.unscaled()), q.scale
	ten, quotient, rest := big.NewInt(10), new(big.Int), new(big.Int)
	for {
		if quotient.QuoRem(n, ten, rest); rest.Sign() != 0 {
			break
		}
		n, quotient = quotient, n
		exponent++
	}
	target := printExponent(exponent, si)
	n = bigRaise(n, int64(exponent)-int64(target))
	return appendDecimalSuffix(n.Append(dst, 10), target, si)
}

// printExponent is the largest multiple of 3 not above exponent that can be
// printed.
func printExponent(exponent int32, si bool) int32 {
	target := exponent - (exponent%3+3)%3
	if si {
		return min(target, int32(Exa))
	}
	return target
}

func appendDecimalSuffix(dst []byte, exponent int32, si bool) []byte {
	if si {
		return append(dst, decimalSuffixes[(exponent-int32(Nano))/3]...)
	}
	if exponent == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), int64(exponent), 10)
}

// appendBinary prints an integer.
func (q Quantity) appendBinary(dst []byte) []byte {
	steps := 0
	if n, ok := q.AsInt64(); ok {
		for n%1024 == 0 && steps < len(binarySuffixes)-1 {
			n /= 1024
			steps++
		}
		return append(strconv.AppendInt(dst, n, 10), binarySuffixes[steps]...)
	}
	n := bigRaise(q.unscaled(), int64(q.scale))
	for n.TrailingZeroBits() >= 10 && steps < len(binarySuffixes)-1 {
		n.Rsh(n, 10)
		steps++
	}
	return append(n.Append(dst, 10), binarySuffixes[steps]...)
}
