package cel

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

var formatType = cel.ObjectType("kubernetes.NamedFormat")

// format is a named format of strings. validate returns what is wrong with a string; none if it is valid.
type format struct {
	name     string
	validate func(string) []string
	// patternSize is the length of a pattern for the format, which determines the cost of a check.
	patternSize uint64
}

var uuidPattern = regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func simple(ok func(string) bool, problem string) func(string) []string {
	return func(s string) []string {
		if ok(s) {
			return nil
		}
		return []string{problem}
	}
}

func prefixed(rule validation.NameFunc) func(string) []string {
	return func(s string) []string { return rule(s, true) }
}

var namedFormats = []format{
	{"dns1123Label", validation.IsDNS1123Label, 30},
	{"dns1123Subdomain", validation.IsDNS1123Subdomain, 60},
	{"dns1035Label", validation.IsDNS1035Label, 30},
	{"qualifiedName", validation.IsQualifiedName, 60},
	{"dns1123LabelPrefix", prefixed(validation.NameIsLabel), 30},
	{"dns1123SubdomainPrefix", prefixed(validation.NameIsSubdomain), 60},
	{"dns1035LabelPrefix", prefixed(validation.NameIsLabel1035), 30},
	{"labelValue", validation.IsLabelValue, 40},
	{"uri", simple(func(s string) bool { _, err := url.ParseRequestURI(s); return err == nil }, "invalid URI"), 1103},
	{"uuid", simple(uuidPattern.MatchString, "does not match the UUID format"), 70},
	{"byte", simple(func(s string) bool { _, err := base64.StdEncoding.DecodeString(s); return err == nil }, "invalid base64"), 84},
	{"date", simple(func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }, "invalid date"), 71},
	{"datetime", simple(func(s string) bool { _, err := time.Parse(time.RFC3339Nano, s); return err == nil }, "invalid datetime"), 71},
}

func named() []cel.EnvOption {
	val := func(f *format) ref.Val {
		return opaque[*format]{formatType, f, func(a, b *format) bool { return a == b }}
	}
	options := []cel.EnvOption{
		cel.Function("format.named", cel.Overload("format-named", []*cel.Type{cel.StringType}, cel.OptionalType(formatType), cel.UnaryBinding(func(v ref.Val) ref.Val {
			s, ok := v.Value().(string)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			for i := range namedFormats {
				if namedFormats[i].name == s {
					return types.OptionalOf(val(&namedFormats[i]))
				}
			}
			return types.OptionalNone
		}))),
		cel.Function("validate", method2("format-validate", formatType, cel.StringType, cel.OptionalType(cel.ListType(cel.StringType)), func(f *format, s string) ref.Val {
			problems := f.validate(s)
			if len(problems) == 0 {
				return types.OptionalNone
			}
			return types.OptionalOf(types.NewStringList(types.DefaultTypeAdapter, problems))
		})),
	}
	for i := range namedFormats {
		f := &namedFormats[i]
		options = append(options, cel.Function("format."+f.name, cel.Overload("format-"+f.name, nil, formatType, cel.FunctionBinding(func(...ref.Val) ref.Val { return val(f) }))))
	}
	return options
}
