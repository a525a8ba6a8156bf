package resource

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// The errors of Parse.
var (
	// ErrFormatWrong is returned for text that is not of the form of a quantity.
	ErrFormatWrong = errors.New("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
	// ErrNumeric is returned for a number without digits where that does not mean 0; see Parse.
	ErrNumeric = errors.New("unable to parse numeric part of quantity")
	// ErrSuffix is returned for an unknown suffix.
	ErrSuffix = errors.New("unable to parse quantity's suffix")
	// ErrTooLong is returned for more than 4096 bytes of text or an exponent above 4096.
	ErrTooLong = errors.New("quantity is too long")
)

// maxDigits bounds text length and exponent: the largest number that can be
// parsed has about twice as many digits.
const maxDigits = 4096

// fastDigits is how many decimal digits always fit into an int64.
const fastDigits = 18

// Parse reads a quantity. It returns ErrFormatWrong, ErrNumeric, ErrSuffix or
// ErrTooLong.
//
// Digits may be missing before or after the point, and both may be missing if there is a sign or a common
// suffix: "Ki" is 0. Kubernetes accepts the same.
func Parse(s string) (Quantity, error) {
	t, err := scan(s)
	if err != nil {
		return Quantity{}, err
	}
	suffix, err := interpretSuffix(t.suffix)
	if err != nil {
		return Quantity{}, err
	}
	if t.empty() && (suffix.exponent < int32(Nano) || suffix.format == codeBinarySI && suffix.exponent > 40) {
		return Quantity{}, ErrNumeric
	}
	if q, ok := t.small(suffix); ok {
		if t.echo(suffix) {
			q = q.withText(s)
		}
		return q, nil
	}
	return t.large(suffix), nil
}

// MustParse is Parse for constants: it panics on an error.
func MustParse(s string) Quantity {
	q, err := Parse(s)
	if err != nil {
		panic(fmt.Errorf("cannot parse quantity %q: %w", s, err))
	}
	return q
}

// withText keeps s if printing the number would give another text.
func (q Quantity) withText(s string) Quantity {
	var buf [bufferSize]byte
	if string(q.appendCanonical(buf[:0])) != s {
		q.x = &extra{text: strings.Clone(s)}
	}
	return q
}

// token holds the parts of a quantity: sign, digits before the point without leading zeros, digits after it,
// suffix.
type token struct {
	negative, plus bool
	zeros          bool // leading zeros were dropped
	point          bool
	num, frac      string
	suffix         string
}

// empty reports whether the number has no digits.
func (t token) empty() bool { return !t.zeros && t.num == "" && t.frac == "" }

func scan(s string) (token, error) {
	var t token
	if s == "" {
		return t, ErrFormatWrong
	}
	if len(s) > maxDigits {
		return t, ErrTooLong
	}
	pos := 0
	switch s[0] {
	case '-':
		t.negative, pos = true, 1
	case '+':
		t.plus, pos = true, 1
	}
	start := pos
	for pos < len(s) && s[pos] == '0' {
		pos++
	}
	t.zeros = pos > start
	t.num = digits(s[pos:])
	pos += len(t.num)
	if pos < len(s) && s[pos] == '.' {
		t.point = true
		t.frac = digits(s[pos+1:])
		pos += 1 + len(t.frac)
	}
	t.suffix = s[pos:]
	for pos < len(s) && isSuffixLetter(s[pos]) {
		pos++
	}
	if pos < len(s) && (s[pos] == '-' || s[pos] == '+') {
		pos++
	}
	if pos += len(digits(s[pos:])); pos != len(s) {
		return t, ErrFormatWrong
	}
	return t, nil
}

func digits(s string) string {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return s[:i]
		}
	}
	return s
}

func isSuffixLetter(c byte) bool {
	switch c {
	case 'e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P':
		return true
	}
	return false
}

// suffixValue is the factor of a suffix: 10^exponent or 2^exponent.
type suffixValue struct {
	exponent int32
	format   formatCode
}

func interpretSuffix(s string) (suffixValue, error) {
	switch s {
	case "":
		return suffixValue{0, codeDecimalSI}, nil
	case "n":
		return suffixValue{-9, codeDecimalSI}, nil
	case "u":
		return suffixValue{-6, codeDecimalSI}, nil
	case "m":
		return suffixValue{-3, codeDecimalSI}, nil
	case "k":
		return suffixValue{3, codeDecimalSI}, nil
	case "M":
		return suffixValue{6, codeDecimalSI}, nil
	case "G":
		return suffixValue{9, codeDecimalSI}, nil
	case "T":
		return suffixValue{12, codeDecimalSI}, nil
	case "P":
		return suffixValue{15, codeDecimalSI}, nil
	case "E":
		return suffixValue{18, codeDecimalSI}, nil
	case "Ki":
		return suffixValue{10, codeBinarySI}, nil
	case "Mi":
		return suffixValue{20, codeBinarySI}, nil
	case "Gi":
		return suffixValue{30, codeBinarySI}, nil
	case "Ti":
		return suffixValue{40, codeBinarySI}, nil
	case "Pi":
		return suffixValue{50, codeBinarySI}, nil
	case "Ei":
		return suffixValue{60, codeBinarySI}, nil
	}
	if s[0] != 'e' && s[0] != 'E' {
		return suffixValue{}, ErrSuffix
	}
	exponent, err := parseExponent(s[1:])
	return suffixValue{exponent, codeDecimalExponent}, err
}

func parseExponent(s string) (int32, error) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	if s == "" || digits(s) != s {
		return 0, ErrSuffix
	}
	var n int32
	for i := range len(s) {
		// Beyond this every digit has been rounded away (or the number refused).
		n = min(n*10+int32(s[i]-'0'), 4*maxDigits)
	}
	if negative {
		return -n, nil
	}
	if n > maxDigits {
		return 0, ErrTooLong
	}
	return n, nil
}

// small returns the quantity if it fits into 64 bits and needs no rounding.
func (t token) small(suffix suffixValue) (Quantity, bool) {
	if len(t.num)+len(t.frac) > fastDigits {
		return Quantity{}, false
	}
	var n int64
	for _, part := range [2]string{t.num, t.frac} {
		for i := range len(part) {
			n = n*10 + int64(part[i]-'0')
		}
	}
	var scale int32
	if suffix.format == codeBinarySI {
		if t.frac != "" {
			return Quantity{}, false
		}
		var ok bool
		if n, ok = mulInt64(n, 1<<suffix.exponent); !ok {
			return Quantity{}, false
		}
	} else if scale = suffix.exponent - int32(len(t.frac)); scale < int32(Nano) {
		return Quantity{}, false
	}
	if t.negative {
		n = -n
	}
	return Quantity{value: n, scale: scale, format: suffix.format}, true
}

// echo reports whether a number read by small may have to be printed as it was written although that is not
// canonical. Upstream skips the canonical form for texts that look canonical already, and texts like "1.500",
// "+5" or "1e+3" are not changed. A server stores the text that it returns, so clients see the difference.
func (t token) echo(suffix suffixValue) bool {
	if !t.plus && !t.zeros && !t.point && suffix.format != codeDecimalExponent {
		return false // a text that looks canonical is canonical
	}
	if suffix.format == codeBinarySI {
		// Upstream's fast path is narrower than ours here.
		room := 15 - int32(len(t.num)) - suffix.exponent*3/10 - 1
		return room >= 0 && t.num != "" && (t.num[len(t.num)-1]-'0'+2*tens(t.num))&7 != 0
	}
	return t.num != "" && (suffix.exponent-int32(len(t.frac)))%3 == 0 &&
		!strings.HasSuffix(t.num+t.frac, "000")
}

// tens returns half of what the two digits before the last one contribute to the number modulo 8: 10 is 2
// modulo 8, and 100 is 4.
func tens(num string) byte {
	var n byte
	if len(num) > 1 {
		n = num[len(num)-2] - '0'
	}
	if len(num) > 2 {
		n += 2 * (num[len(num)-3] - '0')
	}
	return n
}

// large returns the quantities that small does not: of many digits, or of digits that are rounded away.
func (t token) large(suffix suffixValue) Quantity {
	n, ok := new(big.Int).SetString("0"+t.num+t.frac, 10)
	if !ok {
		n = new(big.Int) // cannot happen: only digits
	}
	format, scale := suffix.format, -int32(len(t.frac))
	if format == codeBinarySI {
		n.Lsh(n, uint(suffix.exponent))
	} else {
		scale += suffix.exponent
	}
	if scale < int32(Nano) {
		n, _ = bigLower(n, int64(Nano)-int64(scale))
		scale = int32(Nano)
	}
	if format == codeBinarySI {
		if limit := big.NewInt(math.MaxInt64); bigCmp(n, scale, limit, 0) > 0 {
			n, scale = limit, 0
		}
		if one := big.NewInt(1); n.Sign() > 0 && bigCmp(n, scale, one, 0) < 0 {
			format = codeDecimalSI
		}
	}
	if t.negative {
		n.Neg(n)
	}
	return fromBig(n, scale, format)
}
