package validation

import (
	"fmt"
	"strings"
)

// Texts that several checks and their callers share.
const (
	// NegativeText is the detail for a number that must not be negative.
	NegativeText = "must be greater than or equal to 0"
	// ImmutableText is the detail for a field that cannot be changed.
	ImmutableText = "field is immutable"
	// EmptyText is the detail for a value that must not be empty.
	EmptyText = "must be non-empty"
)

// MaxLengthText says that a value may have at most n characters.
func MaxLengthText(n int) string { return fmt.Sprintf("must be no more than %d characters", n) }

// maxBytesText is MaxLengthText for a limit in bytes.
func maxBytesText(n int) string { return fmt.Sprintf("must be no more than %d bytes", n) }

// RangeText says that a number must be between lo and hi, both allowed.
func RangeText(lo, hi int64) string {
	return fmt.Sprintf("must be between %d and %d, inclusive", lo, hi)
}

// PatternText returns a message about a pattern: the requirement, examples, and the equivalent regular
// expression.
func PatternText(message, pattern string, examples ...string) string {
	if len(examples) == 0 {
		return message + " (regex used for validation is '" + pattern + "')"
	}
	// The comma before "or" matches upstream's message.
	return message + " (e.g. '" + strings.Join(examples, "',  or '") + "', regex used for validation is '" + pattern + "')"
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLowerAlnum(c byte) bool { return isLower(c) || isDigit(c) }
func isAlnum(c byte) bool      { return isLower(c) || isUpper(c) || isDigit(c) }

// each reports whether s is not empty and allowed accepts all its bytes.
func each(s string, allowed func(byte) bool) bool {
	for i := range len(s) {
		if !allowed(s[i]) {
			return false
		}
	}
	return s != ""
}

// framed reports whether s is not empty, begins and ends with bytes of the edge
// set, and has only bytes of the inner set between.
func framed(s string, edge, inner func(byte) bool) bool {
	if s == "" || !edge(s[0]) || !edge(s[len(s)-1]) {
		return false
	}
	for i := 1; i < len(s)-1; i++ {
		if !inner(s[i]) {
			return false
		}
	}
	return true
}

// dotted reports whether part accepts every part of s between dots.
func dotted(s string, part func(string) bool) bool {
	for {
		head, tail, more := strings.Cut(s, ".")
		if !part(head) {
			return false
		}
		if !more {
			return true
		}
		s = tail
	}
}
