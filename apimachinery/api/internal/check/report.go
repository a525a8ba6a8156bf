// Package check holds what the validations of all API groups share: a report that collects findings,
// and checks of values that several kinds have.
package check

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Path is where a field is.
type Path = validation.Path

// Report collects findings. The zero value is empty and ready.
type Report struct{ list validation.ErrorList }

// List returns what was found, nil if nothing.
func (r *Report) List() validation.ErrorList { return r.list }

// OK reports whether nothing was found so far.
func (r *Report) OK() bool { return len(r.list) == 0 }

// Add appends findings of another check.
func (r *Report) Add(errs validation.ErrorList) { r.list = append(r.list, errs...) }

// Required reports a missing value.
func (r *Report) Required(p *Path, detail string) {
	r.list = append(r.list, validation.Required(p, detail))
}

// Invalid reports a wrong value.
func (r *Report) Invalid(p *Path, value any, detail string) {
	r.list = append(r.list, validation.Invalid(p, value, detail))
}

// Forbidden reports a value that may not be set.
func (r *Report) Forbidden(p *Path, detail string) {
	r.list = append(r.list, validation.Forbidden(p, detail))
}

// Duplicate reports a value that occurs twice.
func (r *Report) Duplicate(p *Path, value any) {
	r.list = append(r.list, validation.Duplicate(p, value))
}

// NotFound reports a reference to nothing.
func (r *Report) NotFound(p *Path, value any) { r.list = append(r.list, validation.NotFound(p, value)) }

// TooLong reports a value of more than limit bytes.
func (r *Report) TooLong(p *Path, limit int) { r.list = append(r.list, validation.TooLong(p, limit)) }

// TooMany reports a list of more than limit entries.
func (r *Report) TooMany(p *Path, actual, limit int) {
	r.list = append(r.list, validation.TooMany(p, actual, limit))
}

// Each reports one invalid value per message.
func (r *Report) Each(p *Path, value any, messages []string) {
	r.Add(validation.InvalidEach(p, value, messages))
}

// If reports p as invalid when bad is true.
func (r *Report) If(bad bool, p *Path, value any, detail string) {
	if bad {
		r.Invalid(p, value, detail)
	}
}

// ForbidIf reports p as forbidden when bad is true.
func (r *Report) ForbidIf(bad bool, p *Path, detail string) {
	if bad {
		r.Forbidden(p, detail)
	}
}

// Name reports an empty name as missing and a malformed one as invalid.
func (r *Report) Name(p *Path, name string, rule validation.NameFunc) {
	if name == "" {
		r.Required(p, "")
		return
	}
	r.Each(p, name, rule(name, false))
}

// NonEmpty reports an empty string as missing.
func (r *Report) NonEmpty(p *Path, s string) {
	if s == "" {
		r.Required(p, "")
	}
}

// Number is an integer of the API.
type Number interface{ ~int32 | ~int64 }

// NonNegative reports a number below zero.
func NonNegative[N Number](r *Report, p *Path, n N) {
	r.Add(validation.NonNegative(p, int64(n)))
}

// NonNegativeOpt is NonNegative for an optional number.
func NonNegativeOpt[N Number](r *Report, p *Path, n *N) {
	if n != nil {
		NonNegative(r, p, *n)
	}
}

// Between reports a number outside lo to hi.
func Between[N Number](r *Report, p *Path, n N, lo, hi int64) {
	r.Each(p, n, validation.IsInRange(int64(n), lo, hi))
}

// OneOf reports a value outside a closed set.
func OneOf[T ~string](r *Report, p *Path, v T, valid ...T) {
	if !slices.Contains(valid, v) {
		r.list = append(r.list, validation.NotSupported(p, v, valid))
	}
}

// Chosen is OneOf for a value that is also required.
func Chosen[T ~string](r *Report, p *Path, v T, valid ...T) {
	if v == "" {
		r.Required(p, "")
		return
	}
	OneOf(r, p, v, valid...)
}

// OneOfOpt is OneOf for an optional value.
func OneOfOpt[T ~string](r *Report, p *Path, v *T, valid ...T) {
	if v != nil {
		OneOf(r, p, *v, valid...)
	}
}

// Immutable reports a value that is not semantically the one before.
func Immutable(r *Report, p *Path, now, before any) {
	if !Same(now, before) {
		r.Invalid(p, now, validation.ImmutableText)
	}
}

// Unique reports whether v is new to seen, and remembers it.
func Unique[K comparable](seen map[K]bool, v K) bool {
	old := seen[v]
	seen[v] = true
	return !old
}

// OnUpdate returns a check of a change that checks the new object as if it were created.
func OnUpdate[T any](validate func(T) validation.ErrorList) func(obj, old T) validation.ErrorList {
	return func(obj, _ T) validation.ErrorList { return validate(obj) }
}
