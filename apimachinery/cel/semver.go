package cel

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/keelson-dev/keelson/apimachinery/internal/semver"
)

var semverType = cel.ObjectType("kubernetes.Semver")

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

func semverVal(v semver.Version) ref.Val {
	return opaque[semver.Version]{semverType, v, func(a, b semver.Version) bool { return a.Compare(b) == 0 }}
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
		return cel.Function(name, method(name, "semver_"+name, semverType, cel.IntType, func(v semver.Version) ref.Val { return types.Int(v.Core[i]) }))
	}
	compare := func(name string, result *cel.Type, f func(int) ref.Val) cel.EnvOption {
		return cel.Function(name, method2("semver_"+name, semverType, semverType, result, func(a, b semver.Version) ref.Val { return f(a.Compare(b)) }))
	}
	parse := func(s string) (ref.Val, error) {
		v, err := semver.Parse(s)
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
		wellFormed("isSemver", "is_semver_string", func(s string) bool { _, err := semver.Parse(s); return err == nil }),
		cel.Function("isSemver", cel.Overload("is_semver_string_bool", two, cel.BoolType, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			s, ok := text(args)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[0])
			}
			_, err := semver.Parse(s)
			return types.Bool(err == nil)
		}))),
		part("major", 0), part("minor", 1), part("patch", 2),
		compare("isGreaterThan", cel.BoolType, func(c int) ref.Val { return types.Bool(c > 0) }),
		compare("isLessThan", cel.BoolType, func(c int) ref.Val { return types.Bool(c < 0) }),
		compare("compareTo", cel.IntType, func(c int) ref.Val { return types.Int(c) }),
	}
}
