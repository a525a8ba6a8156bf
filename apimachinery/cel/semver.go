package cel

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var semverType = cel.ObjectType("kubernetes.Semver")

// semver is a semantic version: MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD].
type semver struct {
	core [3]uint64
	pre  []string
}

func parseSemver(s string) (semver, error) {
	var v semver
	bad := func(why string) (semver, error) { return v, fmt.Errorf("%q is not a semantic version: %s", s, why) }
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
		v.core[i] = n
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

// normalized turns lenient spellings into a version: a leading v, missing numbers, leading zeros.
func normalized(s string) string {
	s = strings.TrimPrefix(s, "v")
	end := strings.IndexAny(s, "-+")
	if end < 0 {
		end = len(s)
	}
	parts := strings.Split(s[:end], ".")
	for i, p := range parts {
		if len(p) > 1 {
			if p = strings.TrimLeft(p, "0"); p == "" {
				p = "0"
			}
			parts[i] = p
		}
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return strings.Join(parts, ".") + s[end:]
}

func (v semver) compare(w semver) int {
	for i := range v.core {
		if c := cmp.Compare(v.core[i], w.core[i]); c != 0 {
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

func semverVal(v semver) ref.Val {
	return opaque[semver]{semverType, v, func(a, b semver) bool { return a.compare(b) == 0 }}
}

func versions() []cel.EnvOption {
	val := semverVal
	two := []*cel.Type{cel.StringType, cel.BoolType}
	text := func(args []ref.Val) (string, bool) {
		s, ok := args[0].Value().(string)
		normalize, ok2 := args[1].Value().(bool)
		if normalize {
			s = normalized(s)
		}
		return s, ok && ok2
	}
	part := func(name string, i int) cel.EnvOption {
		return cel.Function(name, method(name, "semver_"+name, semverType, cel.IntType, func(v semver) ref.Val { return types.Int(v.core[i]) }))
	}
	compare := func(name string, result *cel.Type, f func(int) ref.Val) cel.EnvOption {
		return cel.Function(name, method2("semver_"+name, semverType, semverType, result, func(a, b semver) ref.Val { return f(a.compare(b)) }))
	}
	parse := func(s string) (ref.Val, error) {
		v, err := parseSemver(s)
		return val(v), err
	}
	return []cel.EnvOption{
		cel.Function("semver", parserOverload("string_to_semver", semverType, parse),
			cel.Overload("string_bool_to_semver", two, semverType, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				s, ok := text(args)
				if !ok {
					return types.MaybeNoSuchOverloadErr(args[0])
				}
				v, err := parse(s)
				if err != nil {
					return types.NewErr("%s", err.Error())
				}
				return v
			}))),
		wellFormed("isSemver", "is_semver_string", func(s string) bool { _, err := parseSemver(s); return err == nil }),
		cel.Function("isSemver", cel.Overload("is_semver_string_bool", two, cel.BoolType, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			s, ok := text(args)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[0])
			}
			_, err := parseSemver(s)
			return types.Bool(err == nil)
		}))),
		part("major", 0), part("minor", 1), part("patch", 2),
		compare("isGreaterThan", cel.BoolType, func(c int) ref.Val { return types.Bool(c > 0) }),
		compare("isLessThan", cel.BoolType, func(c int) ref.Val { return types.Bool(c < 0) }),
		compare("compareTo", cel.IntType, func(c int) ref.Val { return types.Int(c) }),
	}
}
