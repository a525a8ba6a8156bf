// Package semver parses and compares semantic versions.
package semver

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Version is a semantic version: MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD].
type Version struct {
	Core [3]uint64 // major, minor, patch
	pre  []string
}

// Parse reads a version, which has all three numbers and no prefix.
func Parse(s string) (Version, error) {
	var v Version
	bad := func(why string) (Version, error) { return v, fmt.Errorf("%q is not a semantic version: %s", s, why) }
	rest, build, hasBuild := strings.Cut(s, "+")
	if hasBuild && !identifiers(build, false) {
		return bad("malformed build metadata")
	}
	core, pre, hasPre := strings.Cut(rest, "-")
	if hasPre {
		if !identifiers(pre, true) {
			return bad("malformed pre-release")
		}
		v.pre = strings.Split(pre, ".")
	}
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return bad("it needs three numbers")
	}
	for i, p := range parts {
		n, err := number(p)
		if err != nil {
			return bad(err.Error())
		}
		v.Core[i] = n
	}
	return v, nil
}

func number(p string) (uint64, error) {
	if len(p) > 1 && p[0] == '0' {
		return 0, errors.New("a number begins with 0")
	}
	if p == "" || strings.Trim(p, "0123456789") != "" {
		return 0, errors.New("a number is malformed")
	}
	return strconv.ParseUint(p, 10, 64)
}

func identifiers(s string, numeric bool) bool {
	for id := range strings.SplitSeq(s, ".") {
		if id == "" || strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") != "" {
			return false
		}
		if numeric && len(id) > 1 && id[0] == '0' && strings.Trim(id, "0123456789") == "" {
			return false
		}
	}
	return true
}

// Compare returns a negative number if v is older than w, 0 if both are equal, and a positive number if it is
// newer. Build metadata does not count.
func (v Version) Compare(w Version) int {
	for i := range v.Core {
		if c := cmp.Compare(v.Core[i], w.Core[i]); c != 0 {
			return c
		}
	}
	switch {
	case len(v.pre) == 0 || len(w.pre) == 0:
		return cmp.Compare(len(w.pre), len(v.pre)) // a version without a pre-release is newer
	}
	for i := range min(len(v.pre), len(w.pre)) {
		if c := comparePre(v.pre[i], w.pre[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(v.pre), len(w.pre))
}

func comparePre(a, b string) int {
	m, errA := strconv.ParseUint(a, 10, 64)
	n, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(m, n)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}
