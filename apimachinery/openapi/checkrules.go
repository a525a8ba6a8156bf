package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/checker"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/jsonpath"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

const (
	// maxRuleCost is the most one rule may cost in the worst case, counted over all values it runs on.
	maxRuleCost = 10_000_000
	// maxSchemaCost is the most all rules of a schema may cost.
	maxSchemaCost = 100_000_000
	// maxRequest is the biggest object there can be, in bytes.
	maxRequest = 3 << 20
)

// ruleChecker compiles and prices the rules of a schema.
type ruleChecker struct {
	*schemaChecker
	total  uint64
	dearly []pricedRule // the most expensive ones, dearest first
}

type pricedRule struct {
	at   *validation.Path
	cost uint64
}

// mostBlamed is how many rules are named when all together cost too much.
const mostBlamed = 4

// rules checks the rules of the schema of a whole object.
func (c *schemaChecker) rules(compiled *Structural, p *validation.Path) {
	if !compiled.celAt {
		return
	}
	r := &ruleChecker{schemaChecker: c}
	r.walk(compiled, p, bound{1, true}, "")
	if r.total > maxSchemaCost {
		for _, rule := range r.dearly {
			c.add(validation.Forbidden(rule.at, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
		}
		c.add(validation.Forbidden(p, fmt.Sprintf("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by %s (%s)", factor(r.total, maxSchemaCost), costAdvice)))
	}
}

const costAdvice = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared"

func factor(cost, limit uint64) string {
	f := float64(cost) / float64(limit)
	switch {
	case f > 100:
		return "factor of more than 100x"
	case f < 1.5:
		return fmt.Sprintf("factor of %fx", f) // 1.0x would look as if it were not exceeded
	}
	return fmt.Sprintf("factor of %.1fx", f)
}

// bound is how many values of a schema an object can have: count, if all lists and maps around it are
// limited. If one is not, only the size of a request limits them.
type bound struct {
	count uint64
	known bool
}

func (b bound) times(most *int64) bound {
	if most == nil {
		return bound{}
	}
	return bound{times(b.count, uint64(max(*most, 0))), b.known}
}

// of is how many values of s there can be.
func (b bound) of(s *Structural) uint64 {
	if b.known {
		return b.count
	}
	return maxRequest / (least(s) + 1)
}

// walk checks the rules at and below s, of which an object has at most count values. unordered names the
// place above in which items have no identity, so that no old value can be found for them.
func (r *ruleChecker) walk(s *Structural, p *validation.Path, count bound, unordered string) {
	if !s.celAt {
		return
	}
	for i, rule := range s.rules {
		r.one(s, rule, p.Child("x-kubernetes-validations").Index(i), count, unordered)
	}
	for _, name := range s.names {
		r.walk(s.Properties[name], p.Child("properties").Key(name), count, unordered)
	}
	if s.Additional != nil {
		r.walk(s.Additional, p.Child("additionalProperties"), count.times(s.limits.maxProperties), unordered)
	}
	if s.Items != nil {
		if s.ListType != "map" && unordered == "" {
			unordered = p.String()
		}
		r.walk(s.Items, p.Child("items"), count.times(s.limits.maxItems), unordered)
	}
}

func times(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}

func (r *ruleChecker) one(s *Structural, rule *celRule, p *validation.Path, count bound, unordered string) {
	text := rule.text
	if strings.TrimSpace(text.Rule) == "" {
		r.add(validation.Required(p.Child("rule"), "rule is not specified"))
		return
	}
	if text.Message != "" && strings.TrimSpace(text.Message) == "" {
		r.add(validation.Invalid(p.Child("message"), text.Message, "must be non-empty if specified"))
	}
	if strings.ContainsAny(strings.TrimSpace(text.Message), "\n\r") {
		r.add(validation.Invalid(p.Child("message"), text.Message, "must not contain line breaks"))
	}
	if strings.ContainsAny(strings.TrimSpace(text.Rule), "\n\r") && text.Message == "" {
		r.add(validation.Required(p.Child("message"), "message must be specified if rule contains line breaks"))
	}
	reasons := []apiextensionsv1.FieldValueErrorReason{apiextensionsv1.FieldValueDuplicate, apiextensionsv1.FieldValueForbidden, apiextensionsv1.FieldValueInvalid, apiextensionsv1.FieldValueRequired}
	if text.Reason != nil && !slices.Contains(reasons, *text.Reason) {
		r.add(validation.NotSupported(p.Child("reason"), *text.Reason, reasons))
	}
	if text.FieldPath != "" && !s.hasPath(text.FieldPath) {
		r.add(validation.Invalid(p.Child("fieldPath"), text.FieldPath, "must be a valid path"))
	}
	if err := rule.ready(); err != nil {
		at, value := p.Child("rule"), text.Rule
		if bad, ok := errors.AsType[*ruleError](err); ok && bad.message {
			at, value = p.Child("messageExpression"), text.MessageExpression
		}
		r.add(validation.Invalid(at, value, err.Error()))
		return
	}
	if rule.usesOld && unordered != "" {
		r.add(validation.Invalid(p.Child("rule"), text.Rule, "oldSelf cannot be used on the uncorrelatable portion of the schema within "+unordered))
	}
	if !rule.usesOld && text.OptionalOldSelf != nil {
		r.add(validation.Invalid(p.Child("optionalOldSelf"), *text.OptionalOldSelf, "may not be set if oldSelf is not used in rule"))
	}
	r.price(s, rule, p, count.of(s))
}

// price adds the worst case of a rule, which runs on count values, to the total; and that of its message,
// which is said once.
func (r *ruleChecker) price(s *Structural, rule *celRule, p *validation.Path, count uint64) {
	env, err := rule.scope.environment(rule.optionalOld())
	if err != nil {
		return
	}
	estimator := cel.Estimator{Sizes: s.sizeAt}
	estimate, err := env.EstimateCost(rule.ast, estimator)
	if err != nil {
		r.add(validation.Invalid(p.Child("rule"), rule.text.Rule, "the cost cannot be estimated: "+err.Error()))
		return
	}
	r.spend(p.Child("rule"), "rule", times(estimate.Max, count))
	if rule.messageAST == nil {
		return
	}
	if estimate, err = env.EstimateCost(rule.messageAST, estimator); err == nil {
		r.spend(p.Child("messageExpression"), "messageExpression", estimate.Max)
	}
}

// spend adds a cost to the total, and refuses one that is too high by itself.
func (r *ruleChecker) spend(p *validation.Path, what string, cost uint64) {
	if cost > maxRuleCost {
		r.add(validation.Forbidden(p, fmt.Sprintf("estimated %s cost exceeds budget by %s (%s)", what, factor(cost, maxRuleCost), costAdvice)))
	}
	if cost >= maxSchemaCost/100 {
		r.dearly = append(r.dearly, pricedRule{p, cost})
	}
	slices.SortStableFunc(r.dearly, func(a, b pricedRule) int { return cmp.Compare(b.cost, a.cost) })
	r.dearly = r.dearly[:min(len(r.dearly), mostBlamed)]
	if r.total += cost; r.total < cost {
		r.total = math.MaxUint64
	}
}

// sizeAt is how big the value at a path from self can get.
func (s *Structural) sizeAt(path []string) *checker.SizeEstimate {
	if len(path) == 0 || path[0] != "self" && path[0] != "oldSelf" {
		return nil
	}
	for _, step := range path[1:] {
		switch step {
		case "@items", "@values":
			if s.Items != nil && s.Type == "array" {
				s = s.Items
			} else {
				s = s.Additional
			}
		case "@keys":
			return &checker.SizeEstimate{Min: 0, Max: maxRequest}
		default:
			next := (*Structural)(nil)
			for name, c := range s.Properties {
				if cel.Escape(name) == step {
					next = c
				}
			}
			if next == nil {
				return &checker.SizeEstimate{Min: 0, Max: maxRequest}
			}
			s = next
		}
		if s == nil {
			return nil
		}
	}
	return s.size()
}

func (s *Structural) size() *checker.SizeEstimate {
	l := &s.limits
	at := func(least *int64, most uint64) *checker.SizeEstimate {
		e := &checker.SizeEstimate{Max: most}
		if least != nil && *least > 0 {
			e.Min = uint64(*least)
		}
		return e
	}
	switch {
	case s.IntOrString:
		return &checker.SizeEstimate{Max: maxRequest}
	case s.Type == "array":
		return at(l.minItems, mostItems(s))
	case s.Type == "object" && s.Additional != nil:
		return at(l.minProperties, mostProperties(s))
	case s.Type == "string":
		return at(l.minLength, mostBytes(s))
	}
	return &checker.SizeEstimate{Min: 1, Max: 1}
}

func mostBytes(s *Structural) uint64 {
	switch {
	case s.limits.maxLength != nil:
		return uint64(max(*s.limits.maxLength, 0))
	case s.Format == "duration", s.Format == "date", s.Format == "date-time", s.Format == "datetime":
		return 30
	case len(s.limits.enum) > 0:
		longest := 0
		for _, e := range s.limits.enum {
			if t, ok := e.(string); ok {
				longest = max(longest, len(t))
			}
		}
		return uint64(longest)
	}
	return maxRequest - 2
}

func mostItems(s *Structural) uint64 {
	if s.limits.maxItems != nil {
		return uint64(max(*s.limits.maxItems, 0))
	}
	return (maxRequest - 2) / (least(s.Items) + 1)
}

func mostProperties(s *Structural) uint64 {
	if s.limits.maxProperties != nil {
		return uint64(max(*s.limits.maxProperties, 0))
	}
	return (maxRequest - 2) / (least(s.Additional) + 6)
}

// least is the length of the shortest JSON text of a value.
func least(s *Structural) uint64 {
	if s == nil {
		return 1
	}
	switch s.Type {
	case "boolean":
		return 4
	case "string", "array":
		return 2
	case "object":
		n := uint64(2)
		for _, name := range s.limits.required {
			if c := s.Properties[name]; c != nil && !c.HasDefault {
				n += uint64(len(name)) + 4 + least(c)
			}
		}
		return n
	}
	return 1
}

// hasPath reports whether a rule's fieldPath leads to a described field.
func (s *Structural) hasPath(text string) bool {
	path, err := jsonpath.Parse(text)
	if err != nil || !strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "[") {
		return false
	}
	names, ok := path.Fields()
	if !ok || len(names) == 0 {
		return false
	}
	for _, n := range names {
		if s = s.child(n); s == nil {
			return false
		}
	}
	return true
}

// Lookup returns the schema of the field at a simple JSON path, such as .spec.size, or nil.
func (s *Structural) Lookup(names ...string) *Structural {
	for _, n := range names {
		if s == nil {
			return nil
		}
		s = s.child(n)
	}
	return s
}

// Names returns the described members in order.
func (s *Structural) Names() []string { return sortedNames(s.Properties) }
