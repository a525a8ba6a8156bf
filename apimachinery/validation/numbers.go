package validation

import (
	"math"
	"strings"
)

// IsInRange checks lo <= n <= hi.
func IsInRange(n, lo, hi int64) []string {
	if lo <= n && n <= hi {
		return nil
	}
	return []string{RangeText(lo, hi)}
}

// IsPortNumber checks 1 to 65535.
func IsPortNumber(n int64) []string { return IsInRange(n, 1, 65535) }

// IsUserID checks 0 to 2^31-1.
func IsUserID(id int64) []string { return IsInRange(id, 0, math.MaxInt32) }

// IsGroupID checks 0 to 2^31-1.
func IsGroupID(id int64) []string { return IsInRange(id, 0, math.MaxInt32) }

// IsPortName checks an IANA service name: at most 15 characters of a-z, 0-9 and
// single hyphens inside, at least one letter.
func IsPortName(s string) []string {
	const limit = 15
	out := tooLongText(s, limit)
	if !each(s, isLabelByte) {
		out = append(out, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
	}
	if !strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") {
		out = append(out, "must contain at least one letter (a-z)")
	}
	if strings.Contains(s, "--") {
		out = append(out, "must not contain consecutive hyphens")
	}
	if s != "" && (s[0] == '-' || s[len(s)-1] == '-') {
		out = append(out, "must not begin or end with a hyphen")
	}
	return out
}

// IsDecimalInteger checks an integer of any size in canonical form: no plus, no
// leading zeros, no "-0".
func IsDecimalInteger(s string) []string {
	if s == "" {
		return []string{EmptyText}
	}
	digits := strings.TrimPrefix(s, "-")
	if s == "0" || each(digits, isDigit) && digits[0] != '0' {
		return nil
	}
	return []string{"must be a valid decimal integer in canonical form"}
}

// NonNegative is a finding if n is less than 0.
func NonNegative(p *Path, n int64) ErrorList {
	if n >= 0 {
		return nil
	}
	return ErrorList{Invalid(p, n, NegativeText).WithOrigin("minimum")}
}
