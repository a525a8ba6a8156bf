package validation_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// rule is a check as its documentation has it: a pattern and a length.
type rule struct {
	check   func(string) []string
	pattern string
	limit   int
	refused string // a pattern of exceptions that are refused
}

const (
	label     = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	label_    = `_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?`
	caseless  = `[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?`
	qualified = `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
)

var rules = map[string]rule{
	"IsDNS1123Label":                   {validation.IsDNS1123Label, label, 63, ""},
	"IsDNS1123Subdomain":               {validation.IsDNS1123Subdomain, label + `(\.` + label + `)*`, 253, ""},
	"IsDNS1123SubdomainCaseless":       {validation.IsDNS1123SubdomainCaseless, caseless + `(\.` + caseless + `)*`, 253, ""},
	"IsDNS1123SubdomainWithUnderscore": {validation.IsDNS1123SubdomainWithUnderscore, label_ + `(\.` + label_ + `)*`, 253, ""},
	"IsDNS1035Label":                   {validation.IsDNS1035Label, `[a-z]([-a-z0-9]*[a-z0-9])?`, 63, ""},
	"IsWildcardDNS1123Subdomain":       {validation.IsWildcardDNS1123Subdomain, `\*\.` + label + `(\.` + label + `)*`, 253, ""},
	"IsLabelValue":                     {validation.IsLabelValue, `(` + qualified + `)?`, 63, ""},
	"IsCIdentifier":                    {validation.IsCIdentifier, `[A-Za-z_][A-Za-z0-9_]*`, 1 << 20, ""},
	"IsEnvVarName":                     {validation.IsEnvVarName, `[-._a-zA-Z][-._a-zA-Z0-9]*`, 1 << 20, `^(\.$|\.\.)`},
	"IsRelaxedEnvVarName":              {validation.IsRelaxedEnvVarName, `[ -<>-~]+`, 1 << 20, ""},
	"IsConfigMapKey":                   {validation.IsConfigMapKey, `[-._a-zA-Z0-9]+`, 253, `^(\.$|\.\.)`},
	"IsHTTPHeaderName":                 {validation.IsHTTPHeaderName, `[-A-Za-z0-9]+`, 1 << 20, ""},
	"IsPercent":                        {validation.IsPercent, `[0-9]+%`, 1 << 20, ""},
	"IsPortName":                       {validation.IsPortName, `[a-z0-9-]*[a-z][a-z0-9-]*`, 15, `^-|-$|--`},
	"IsPathSegmentName":                {validation.IsPathSegmentName, `(?s).*`, 1 << 20, `^\.\.?$|[/%]`},
	"IsConditionReason":                {validation.IsConditionReason, `[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?`, 1 << 20, ""},
	"IsDecimalInteger":                 {validation.IsDecimalInteger, `0|-?[1-9][0-9]*`, 1 << 20, ""},
}

func TestChecksAgainstTheirPatterns(t *testing.T) {
	parts := []string{"a", "b", "z", "A", "Z", "0", "9", "-", "_", ".", "..", "/", "%", "*.", "=", " ", "é", "\n", "~", ",", ":", "x-1", "example.com", strings.Repeat("a", 31)}
	accepted := map[string]int{}
	all := seeds.Of(t, 20_000)
	for name, rule := range rules {
		pattern := regexp.MustCompile(`^(` + rule.pattern + `)$`)
		refused := regexp.MustCompile(rule.refused)
		for _, seed := range all {
			r := seeds.Rand(seed)
			s := ""
			for range r.IntN(9) {
				s += parts[r.IntN(len(parts))]
			}
			want := pattern.MatchString(s) && len(s) <= rule.limit && (rule.refused == "" || !refused.MatchString(s))
			messages := rule.check(s)
			require.Equal(t, want, messages == nil, "seed %d: %s(%q): %q", seed, name, s, messages)
			for _, message := range messages {
				require.NotEmpty(t, message)
			}
			if want {
				accepted[name]++
			}
		}
		if len(all) >= 20_000 { // fewer, as .ci/explore may have, need not contain one that a rule accepts
			require.NotZero(t, accepted[name], name)
		}
	}
}

func FuzzChecks(f *testing.F) {
	f.Add("example.com/Name")
	f.Fuzz(func(t *testing.T, s string) {
		for name, rule := range rules {
			pattern := regexp.MustCompile(`^(` + rule.pattern + `)$`)
			if rule.check(s) == nil && !pattern.MatchString(s) {
				t.Fatalf("%s accepts %q", name, s)
			}
		}
		validation.IsQualifiedName(s)
		validation.IsIP(s)
		validation.IsCIDR(s)
		validation.CIDRWarning(nil, s)
	})
}
