package cel

import (
	"net/url"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

func regexes() []cel.EnvOption {
	two := []*cel.Type{cel.StringType, cel.StringType}
	return []cel.EnvOption{
		cel.Function("find", cel.MemberOverload("string_find_string", two, cel.StringType, cel.BinaryBinding(func(text, pattern ref.Val) ref.Val {
			return matches(text, pattern, func(re *regexp.Regexp, s string) ref.Val { return types.String(re.FindString(s)) })
		}))),
		cel.Function("findAll",
			cel.MemberOverload("string_find_all_string", two, cel.ListType(cel.StringType), cel.BinaryBinding(func(text, pattern ref.Val) ref.Val {
				return findAll(text, pattern, -1)
			})),
			cel.MemberOverload("string_find_all_string_int", append(two, cel.IntType), cel.ListType(cel.StringType), cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				n, ok := args[2].Value().(int64)
				if !ok {
					return types.MaybeNoSuchOverloadErr(args[2])
				}
				return findAll(args[0], args[1], int(n))
			}))),
	}
}

// literalPatterns are the functions of regular expressions that are compiled once if they are literals.
func literalPatterns() cel.ProgramOption {
	return cel.OptimizeRegex(
		literalPattern("find", "string_find_string", func(re *regexp.Regexp, s string, _ int) ref.Val { return types.String(re.FindString(s)) }),
		literalPattern("findAll", "string_find_all_string", allMatches),
		literalPattern("findAll", "string_find_all_string_int", allMatches))
}

// literalPattern compiles a pattern that is a literal together with its expression, so that an invalid one is
// an error of the compilation.
func literalPattern(function, overload string, use func(re *regexp.Regexp, s string, most int) ref.Val) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{Function: function, OverloadID: overload, RegexIndex: 1, Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
			s, ok := args[0].Value().(string)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[0])
			}
			most := int64(-1)
			if len(args) > 2 {
				if most, ok = args[2].Value().(int64); !ok {
					return types.MaybeNoSuchOverloadErr(args[2])
				}
			}
			return use(re, s, int(most))
		}), nil
	}}
}

func allMatches(re *regexp.Regexp, s string, most int) ref.Val {
	return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(s, most))
}

func findAll(text, pattern ref.Val, most int) ref.Val {
	return matches(text, pattern, func(re *regexp.Regexp, s string) ref.Val {
		return allMatches(re, s, most)
	})
}

func matches(text, pattern ref.Val, use func(*regexp.Regexp, string) ref.Val) ref.Val {
	s, ok := text.Value().(string)
	p, ok2 := pattern.Value().(string)
	if !ok || !ok2 {
		return types.MaybeNoSuchOverloadErr(text)
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return types.NewErr("illegal regex: %v", err)
	}
	return use(re, s)
}

// opaque is a value of a Kubernetes type: same compares two of them, text formats one.
type opaque[T any] struct {
	typ   *cel.Type
	value T
	same  func(a, b T) bool
}

func (o opaque[T]) Type() ref.Type { return o.typ }
func (o opaque[T]) Value() any     { return o.value }

func (o opaque[T]) Equal(other ref.Val) ref.Val {
	v, ok := other.Value().(T)
	if !ok || other.Type() != o.Type() {
		return types.False
	}
	return types.Bool(o.same(o.value, v))
}

func (o opaque[T]) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case o.typ:
		return o
	case types.TypeType:
		return o.typ
	}
	return types.NewErr("type conversion error from '%s' to '%s'", o.typ, t)
}

func (o opaque[T]) ConvertToNative(t nativeType) (any, error) { return nativeOf(o.value, t) }

var urlType = cel.ObjectType("kubernetes.URL")

func parseURL(s string) (*url.URL, error) {
	u, err := url.ParseRequestURI(s)
	if err != nil {
		return nil, err
	}
	return u, nil
}

func urls() []cel.EnvOption {
	get := func(name string, f func(*url.URL) ref.Val, result *cel.Type) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("url_"+name, []*cel.Type{urlType}, result, cel.UnaryBinding(func(v ref.Val) ref.Val {
			u, ok := v.Value().(*url.URL)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			return f(u)
		})))
	}
	text := func(f func(*url.URL) string) func(*url.URL) ref.Val {
		return func(u *url.URL) ref.Val { return types.String(f(u)) }
	}
	return []cel.EnvOption{
		parser("url", "string_to_url", urlType, func(s string) (ref.Val, error) {
			u, err := parseURL(s)
			return opaque[*url.URL]{urlType, u, func(a, b *url.URL) bool { return a.String() == b.String() }}, err
		}),
		wellFormed("isURL", "is_url_string", func(s string) bool { _, err := parseURL(s); return err == nil }),
		get("getScheme", text(func(u *url.URL) string { return u.Scheme }), cel.StringType),
		get("getHost", text(func(u *url.URL) string { return u.Host }), cel.StringType),
		get("getHostname", text((*url.URL).Hostname), cel.StringType),
		get("getPort", text((*url.URL).Port), cel.StringType),
		get("getEscapedPath", text((*url.URL).EscapedPath), cel.StringType),
		get("getQuery", func(u *url.URL) ref.Val {
			return types.DefaultTypeAdapter.NativeToValue(map[string][]string(u.Query()))
		}, cel.MapType(cel.StringType, cel.ListType(cel.StringType))),
	}
}

// parser declares a function that parses a string into a value.
func parser(name, id string, t *cel.Type, parse func(string) (ref.Val, error)) cel.EnvOption {
	return cel.Function(name, parserOverload(id, t, parse))
}

func parserOverload(id string, t *cel.Type, parse func(string) (ref.Val, error)) cel.FunctionOpt {
	return cel.Overload(id, []*cel.Type{cel.StringType}, t, cel.UnaryBinding(func(v ref.Val) ref.Val {
		s, ok := v.Value().(string)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		r, err := parse(s)
		if err != nil {
			return types.NewErr("%s", err.Error())
		}
		return r
	}))
}

// wellFormed declares a function that reports whether a string is well-formed.
func wellFormed(name, id string, check func(string) bool) cel.EnvOption {
	return cel.Function(name, cel.Overload(id, []*cel.Type{cel.StringType}, cel.BoolType, cel.UnaryBinding(func(v ref.Val) ref.Val {
		s, ok := v.Value().(string)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		return types.Bool(check(s))
	})))
}

// method declares a member function without arguments.
func method[T any](name, id string, on, result *cel.Type, f func(T) ref.Val) cel.FunctionOpt {
	return cel.MemberOverload(id, []*cel.Type{on}, result, cel.UnaryBinding(func(v ref.Val) ref.Val {
		t, ok := v.Value().(T)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		return f(t)
	}))
}

// method2 declares a member function with one argument.
func method2[T, U any](id string, on, arg, result *cel.Type, f func(T, U) ref.Val) cel.FunctionOpt {
	return cel.MemberOverload(id, []*cel.Type{on, arg}, result, cel.BinaryBinding(func(v, w ref.Val) ref.Val {
		t, ok := v.Value().(T)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		u, ok := w.Value().(U)
		if !ok {
			return types.MaybeNoSuchOverloadErr(w)
		}
		return f(t, u)
	}))
}
