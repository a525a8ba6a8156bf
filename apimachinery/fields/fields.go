// Package fields selects objects by a few of their fields.
//
// A Selector is a conjunction of field=value, field==value and field!=value terms. In values a backslash
// stands in front of a comma, an equals sign or a backslash. Which fields a kind can be selected by is not
// checked here.
//
// Selectors are immutable and may be used concurrently. Matching does not
// allocate.
package fields

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid is wrapped by every error of Parse.
var ErrInvalid = errors.New("invalid field selector")

// Operator relates a field to a value.
type Operator string

// The operators. "==" is read as Equals.
const (
	Equals    Operator = "="
	NotEquals Operator = "!="
)

// Getter gives the value of a field, empty if it has none.
type Getter interface {
	Get(field string) string
}

// Set is a Getter over a map.
type Set map[string]string

// Get is the value of the field, empty if it is not there.
func (s Set) Get(field string) string { return s[field] }

// GetterFunc is a Getter made of a function.
type GetterFunc func(field string) string

// Get calls f.
func (f GetterFunc) Get(field string) string { return f(field) }

// Requirement is one condition on one field.
type Requirement struct {
	Field    string
	Operator Operator
	Value    string
}

// String is the text form, with the value escaped.
func (r Requirement) String() string { return r.Field + string(r.Operator) + Escape(r.Value) }

// Matches reports whether the value of the field meets the requirement.
func (r Requirement) Matches(value string) bool { return (value == r.Value) == (r.Operator == Equals) }

// Selector is a conjunction of requirements. The zero value selects everything.
// It is immutable and copied by assignment; compare with Equal.
type Selector struct {
	reqs    []Requirement
	nothing bool
}

// Everything selects all objects; it is the zero value.
func Everything() Selector { return Selector{} }

// Nothing selects no object.
func Nothing() Selector { return Selector{nothing: true} }

// NewSelector selects what meets all requirements, kept in the order given.
func NewSelector(reqs ...Requirement) Selector { return Selector{reqs: slices.Clone(reqs)} }

// OneEqual selects what has the value in the field.
func OneEqual(field, value string) Selector {
	return NewSelector(Requirement{field, Equals, value})
}

// OneNotEqual selects what does not have the value in the field.
func OneNotEqual(field, value string) Selector {
	return NewSelector(Requirement{field, NotEquals, value})
}

// SelectorFromSet selects what has all the values; an empty set selects
// everything.
func SelectorFromSet(s Set) Selector {
	reqs := make([]Requirement, 0, len(s))
	for field, value := range s {
		reqs = append(reqs, Requirement{field, Equals, value})
	}
	slices.SortFunc(reqs, func(a, b Requirement) int { return strings.Compare(a.Field, b.Field) })
	return Selector{reqs: reqs}
}

// And selects what all the selectors select.
func And(selectors ...Selector) Selector {
	var out Selector
	for _, s := range selectors {
		if s.nothing {
			return Nothing()
		}
		out.reqs = append(out.reqs, s.reqs...)
	}
	return out
}

// Empty reports whether s selects everything.
func (s Selector) Empty() bool { return !s.nothing && len(s.reqs) == 0 }

// SelectsNothing reports whether s is Nothing.
func (s Selector) SelectsNothing() bool { return s.nothing }

// Matches reports whether the fields meet all requirements.
func (s Selector) Matches(fields Getter) bool {
	for i := range s.reqs {
		if r := &s.reqs[i]; !r.Matches(fields.Get(r.Field)) {
			return false
		}
	}
	return !s.nothing
}

// Requirements are the conditions; the slice is a copy.
func (s Selector) Requirements() []Requirement { return slices.Clone(s.reqs) }

// RequiresExactMatch returns the single value that the selector requires of the field, if there is one, so
// that an index can be used.
func (s Selector) RequiresExactMatch(field string) (value string, found bool) {
	for _, r := range s.reqs {
		if r.Field == field && r.Operator == Equals {
			return r.Value, true
		}
	}
	return "", false
}

// Transform rewrites every requirement: renaming fields between versions,
// refusing fields that cannot be selected by. Giving empty field and value drops
// the requirement. The first error ends it.
func (s Selector) Transform(fn func(field, value string) (newField, newValue string, err error)) (Selector, error) {
	out := Selector{nothing: s.nothing}
	for _, r := range s.reqs {
		field, value, err := fn(r.Field, r.Value)
		if err != nil {
			return Selector{}, err
		}
		if field != "" || value != "" {
			out.reqs = append(out.reqs, Requirement{field, r.Operator, value})
		}
	}
	return out, nil
}

// Equal reports whether both are the same conditions in the same order.
func (s Selector) Equal(other Selector) bool {
	return s.nothing == other.nothing && slices.Equal(s.reqs, other.reqs)
}

// String is the text form; Parse reads it back. It is empty for Everything and
// for Nothing, which has no text form.
func (s Selector) String() string {
	terms := make([]string, len(s.reqs))
	for i, r := range s.reqs {
		terms[i] = r.String()
	}
	return strings.Join(terms, ",")
}

// Parse reads a selector; terms are sorted by their text, empty ones are
// skipped. Errors wrap ErrInvalid.
func Parse(s string) (Selector, error) {
	terms := splitTerms(s)
	slices.Sort(terms)
	var out Selector
	for _, term := range terms {
		if term == "" {
			continue
		}
		field, op, text, ok := splitTerm(term)
		if !ok {
			return Selector{}, fmt.Errorf("%w: '%s'; can't understand '%s'", ErrInvalid, s, term)
		}
		value, err := Unescape(text)
		if err != nil {
			return Selector{}, err
		}
		if field != "" || value != "" {
			out.reqs = append(out.reqs, Requirement{field, op, value})
		}
	}
	return out, nil
}

// MustParse is Parse for constants: it panics on an error.
func MustParse(s string) Selector {
	selector, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return selector
}

// splitTerms cuts at commas without a backslash in front.
func splitTerms(s string) []string {
	var terms []string
	start, escaped := 0, false
	for i := range len(s) {
		switch {
		case escaped:
			escaped = false
		case s[i] == '\\':
			escaped = true
		case s[i] == ',':
			terms = append(terms, s[start:i])
			start = i + 1
		}
	}
	return append(terms, s[start:])
}

// splitTerm cuts at the first operator.
func splitTerm(term string) (field string, op Operator, value string, ok bool) {
	i := strings.IndexByte(term, '=')
	if i < 0 {
		return "", "", "", false
	}
	field, value = term[:i], term[i+1:]
	if strings.HasSuffix(field, "!") {
		return field[:i-1], NotEquals, value, true
	}
	return field, Equals, strings.TrimPrefix(value, "="), true
}

var escaper = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`)

// Escape puts a backslash in front of what has a meaning in a selector.
func Escape(value string) string {
	if !strings.ContainsAny(value, `\,=`) {
		return value
	}
	return escaper.Replace(value)
}

// Unescape is the inverse of Escape. Anything else than a comma, an equals sign
// or a backslash behind a backslash, or one of them without, is an error wrapping
// ErrInvalid.
func Unescape(text string) (string, error) {
	if !strings.ContainsAny(text, `\,=`) {
		return text, nil
	}
	var b strings.Builder
	escaped := false
	for _, c := range text {
		special := c == '\\' || c == ',' || c == '='
		switch {
		case escaped && !special:
			return "", fmt.Errorf("%w: invalid escape sequence: \\%c", ErrInvalid, c)
		case escaped:
			escaped = false
			b.WriteRune(c)
		case c == '\\':
			escaped = true
		case special:
			return "", fmt.Errorf("%w: unescaped character in value: %c", ErrInvalid, c)
		default:
			b.WriteRune(c)
		}
	}
	if escaped {
		return "", fmt.Errorf("%w: invalid escape sequence: \\", ErrInvalid)
	}
	return b.String(), nil
}
