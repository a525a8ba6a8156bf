package openapi

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// limits checks the keywords that restrict x itself.
func (v *validator) limits(s *Structural, p *validation.Path, x any, root bool) {
	l := &s.limits
	if len(l.enum) > 0 && !slices.ContainsFunc(l.enum, func(e any) bool { return sameJSON(e, x) }) {
		texts := make([]string, len(l.enum))
		for i, e := range l.enum {
			if t, ok := e.(string); ok {
				texts[i] = t
			} else {
				texts[i] = canonical(e)
			}
		}
		v.add(validation.NotSupported(p, fmt.Sprint(shown(x)), texts))
	}
	switch x := x.(type) {
	case string:
		v.text(s, p, x)
	case int64:
		v.number(s, p, float64(x), x)
	case float64:
		v.number(s, p, x, x)
	case []any:
		if l.maxItems != nil && int64(len(x)) > *l.maxItems {
			v.add(validation.TooMany(p, len(x), int(*l.maxItems)))
		}
		if l.minItems != nil && int64(len(x)) < *l.minItems {
			v.add(validation.Invalid(p, len(x), inBody(p, "should have at least %d items", *l.minItems)))
		}
	case map[string]any:
		v.object(s, p, x, root)
	}
	v.combinations(s, p, x)
}

func (v *validator) object(s *Structural, p *validation.Path, m map[string]any, root bool) {
	l := &s.limits
	for _, name := range l.required {
		if _, ok := m[name]; !ok && !(root && isMeta(name)) {
			v.add(validation.Required(p.Child(name), ""))
		}
	}
	if l.maxProperties != nil && int64(len(m)) > *l.maxProperties {
		v.add(validation.TooMany(p, len(m), int(*l.maxProperties)))
	}
	if l.minProperties != nil && int64(len(m)) < *l.minProperties {
		v.add(validation.Invalid(p, len(m), inBody(p, "should have at least %d properties", *l.minProperties)))
	}
}

func (v *validator) text(s *Structural, p *validation.Path, x string) {
	if e := s.limits.ofText(p, x); e != nil {
		v.add(e)
	}
	if s.Format != "" && !s.IntOrString && !hasFormat(s.Format, x) {
		v.add(validation.InvalidType(p, x, inBody(p, "must be of type %s: %q", s.Format, x)))
	}
}

// ofText returns the first error of a text: of its length, then of its pattern.
func (l *limits) ofText(p *validation.Path, x string) *validation.Error {
	if l.minLength != nil || l.maxLength != nil {
		n := int64(utf8.RuneCountInString(x))
		if l.maxLength != nil && n > *l.maxLength {
			return validation.TooLongCharacters(p, int(*l.maxLength))
		}
		if l.minLength != nil && n < *l.minLength {
			return validation.Invalid(p, x, inBody(p, "should be at least %d chars long", *l.minLength))
		}
	}
	if l.pattern != nil && !l.pattern.MatchString(x) {
		return validation.Invalid(p, x, inBody(p, "should match '%s'", l.pattern))
	}
	return nil
}

func (v *validator) number(s *Structural, p *validation.Path, f float64, shown any) {
	l := &s.limits
	if l.maximum != nil && (f > *l.maximum || l.exclusiveMax && f == *l.maximum) {
		v.add(validation.Invalid(p, shown, inBody(p, "should be less than%s %v", orEqual(l.exclusiveMax), *l.maximum)))
	}
	if l.minimum != nil && (f < *l.minimum || l.exclusiveMin && f == *l.minimum) {
		v.add(validation.Invalid(p, shown, inBody(p, "should be greater than%s %v", orEqual(l.exclusiveMin), *l.minimum)))
	}
	if l.multipleOf != nil && *l.multipleOf != 0 {
		if q := f / *l.multipleOf; math.Abs(q-math.Round(q)) > 1e-9 {
			v.add(validation.Invalid(p, shown, inBody(p, "should be a multiple of %v", *l.multipleOf)))
		}
	}
	if s.Format == "int32" && (f < math.MinInt32 || f > math.MaxInt32) {
		v.add(validation.Invalid(nil, "", "Checked value must be of type integer with format int32 in "+p.String()))
	}
}

// inBody returns what is wrong with the value at p, in upstream's wording.
func inBody(p *validation.Path, format string, args ...any) string {
	return p.String() + " in body " + fmt.Sprintf(format, args...)
}

func orEqual(exclusive bool) string {
	if exclusive {
		return ""
	}
	return " or equal to"
}

// combinations checks allOf, anyOf, oneOf and not. Schemas in them only restrict values. The error for a
// failed combination has its path in the text, and is followed by the errors of the alternative that fits
// best.
func (v *validator) combinations(s *Structural, p *validation.Path, x any) {
	l := &s.limits
	fail := func(format string, args ...any) {
		v.add(validation.Invalid(nil, "", fmt.Sprintf("%q ", p.String())+fmt.Sprintf(format, args...)))
	}
	trial := func(c *Structural) validation.ErrorList {
		t := validator{blind: v.blind}
		t.value(c, p, x, oldValue{})
		return t.errs
	}
	// fitting counts the alternatives that fit. If none does, it returns the errors of the best one.
	fitting := func(list []*Structural) (n int, best validation.ErrorList) {
		for _, c := range list {
			errs := trial(c)
			switch {
			case len(errs) == 0:
				n++
			case best == nil || len(errs) < len(best):
				best = errs
			}
		}
		if n > 0 {
			best = nil
		}
		return n, best
	}
	if len(l.anyOf) > 0 {
		if n, best := fitting(l.anyOf); n == 0 {
			fail("must validate at least one schema (anyOf)")
			v.addAll(best)
		}
	}
	if len(l.oneOf) > 0 {
		switch n, best := fitting(l.oneOf); n {
		case 1:
		case 0:
			fail("must validate one and only one schema (oneOf). Found none valid")
			v.addAll(best)
		default:
			fail("must validate one and only one schema (oneOf). Found %d valid alternatives", n)
		}
	}
	failed := 0
	for _, c := range l.allOf {
		errs := trial(c)
		v.addAll(errs)
		failed += min(len(errs), 1)
	}
	if failed > 0 {
		none := ""
		if failed == len(l.allOf) {
			none = ". None validated"
		}
		fail("must validate all the schemas (allOf)%s", none)
	}
	if l.not != nil && len(trial(l.not)) == 0 {
		fail("must not validate the schema (not)")
	}
}

func (v *validator) addAll(errs validation.ErrorList) {
	for _, e := range errs {
		v.add(e)
	}
}
