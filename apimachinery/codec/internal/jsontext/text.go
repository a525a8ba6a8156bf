package jsontext

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
)

const hexDigits = "0123456789abcdef"

// plain marks the bytes that are not escaped in a JSON string we write.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return t
}()

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// has returns a word whose lowest set high bit marks the first byte of x equal
// to c; bytes above that one may be marked wrongly.
func has(x uint64, c byte) uint64 {
	x ^= ones * uint64(c)
	return (x - ones) &^ x & highs
}

// special marks the bytes of x that are escaped in a JSON string we write; as with has, those above the
// lowest may be marked wrongly.
func special(x uint64) uint64 {
	a := x&^(ones*4) ^ ones*'"' // " and & differ in one bit,
	b := x&^(ones*2) ^ ones*'<' // and so do < and >
	c := x ^ ones*'\\'
	return ((a-ones)&^a | (b-ones)&^b | (c-ones)&^c | (x-ones*0x20)&^x | x) & highs
}

// AppendString appends s as a JSON string, escaped as encoding/json does with
// HTML escaping on: invalid UTF-8 becomes U+FFFD, and <, >, &, U+2028 and
// U+2029 are written as \u escapes.
func AppendString(b []byte, s string) []byte {
	at := len(b)
	if cap(b)-at < len(s)+2 {
		b = slices.Grow(b, len(s)+2)
	}
	out := b[:at+len(s)+2]
	if !copyPlainText(out[at+1:], s) {
		n := plainLen(s)
		return appendEscaped(append(append(b, '"'), s[:n]...), s[n:])
	}
	out[at] = '"'
	out[len(out)-1] = '"'
	return out
}

// copyPlainText copies s to dst if no byte of it is escaped.
func copyPlainText(dst []byte, s string) bool {
	n := len(s)
	raw := mem.Bytes(s)
	dst = dst[:n]
	if n < 8 {
		for i, c := range raw {
			if !plain[c] {
				return false
			}
			dst[i] = c
		}
		return true
	}
	for i := 0; ; i = min(i+8, n-8) { // the last word overlaps the one before it
		x := binary.LittleEndian.Uint64(raw[i:])
		if special(x) != 0 {
			return false
		}
		binary.LittleEndian.PutUint64(dst[i:], x)
		if i+8 == n {
			return true
		}
	}
}

// plainLen returns the length of the prefix of s that needs no escapes.
func plainLen(s string) int {
	raw := mem.Bytes(s)
	i := 0
	if len(raw) < 8 {
		for i < len(raw) && plain[raw[i]] {
			i++
		}
		return i
	}
	for {
		if m := special(binary.LittleEndian.Uint64(raw[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		if i+8 == len(raw) {
			return len(raw)
		}
		i = min(i+8, len(raw)-8)
	}
}

func appendEscaped(b []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain[c] {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(append(b, s[start:i]...), `\ufffd`...)
			i++
			start = i
			continue
		}
		if r == '\u2028' || r == '\u2029' {
			b = append(append(b, s[start:i]...), `\u202`...)
			b = append(b, hexDigits[r&15])
			i += n
			start = i
			continue
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// AppendFloat appends f as encoding/json writes it; f must be finite.
func AppendFloat(b []byte, f float64, size int) []byte {
	abs := math.Abs(f)
	format := byte('f')
	if abs != 0 && (size == 64 && (abs < 1e-6 || abs >= 1e21) ||
		size == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, size)
	if format == 'e' {
		if n := len(b); n >= 4 && b[n-4] == 'e' && (b[n-3] == '-' || b[n-3] == '+') && b[n-2] == '0' {
			b[n-2] = b[n-1]
			b = b[:n-1]
		}
	}
	return b
}

// StringEnd scans for the end of a string whose opening quote is before i. It
// returns the index of the first byte that is a quote, a backslash, a control
// character or not ASCII, or len(b).
func StringEnd(b []byte, i int) int {
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		m := has(x, '"') | has(x, '\\') | (x-ones*0x20)&^x&highs | x&highs
		if m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) {
		if c := b[i]; c == '"' || c == '\\' || c < 0x20 || c >= 0x80 {
			return i
		}
		i++
	}
	return i
}

// SkipSpace returns the index of the first byte at or after i that is not JSON white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// SkipNumber returns the end of the number at i and whether it is an integer;
// the end is -1 if there is no valid number.
func SkipNumber(b []byte, i int) (end int, integer bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return -1, false
	case b[i] == '0':
		i++
	case '1' <= b[i] && b[i] <= '9':
		for i < len(b) && IsDigit(b[i]) {
			i++
		}
	default:
		return -1, false
	}
	integer = true
	if i < len(b) && b[i] == '.' {
		integer = false
		i++
		if i >= len(b) || !IsDigit(b[i]) {
			return -1, false
		}
		for i < len(b) && IsDigit(b[i]) {
			i++
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		integer = false
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i >= len(b) || !IsDigit(b[i]) {
			return -1, false
		}
		for i < len(b) && IsDigit(b[i]) {
			i++
		}
	}
	return i, integer
}

// IsDigit reports whether c is a decimal digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }
