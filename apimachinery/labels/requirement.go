package labels

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Operator relates a label to the values of a requirement.
type Operator string

// The operators.
const (
	In           Operator = "in"
	NotIn        Operator = "notin"
	Equals       Operator = "="
	DoubleEquals Operator = "=="
	NotEquals    Operator = "!="
	Exists       Operator = "exists"
	DoesNotExist Operator = "!"
	GreaterThan  Operator = "gt"
	LessThan     Operator = "lt"
)

var operators = []Operator{In, NotIn, Equals, DoubleEquals, NotEquals, Exists, GreaterThan, LessThan, DoesNotExist}

// ErrInvalid is wrapped by every error about a selector: its syntax, an invalid key or value, or a number of
// values that the operator does not accept.
var ErrInvalid = errors.New("invalid label selector")

// Requirement is one condition on one label. Make it with NewRequirement.
type Requirement struct {
	key    string
	op     Operator
	values []string // sorted
	bound  int64    // for GreaterThan and LessThan
}

// NewRequirement checks and builds a requirement. In and NotIn need at least one
// value, the equality operators exactly one, Exists and DoesNotExist none,
// GreaterThan and LessThan one integer. Keys and values must be valid for labels.
// Errors wrap ErrInvalid.
func NewRequirement(key string, op Operator, values []string) (*Requirement, error) {
	// Paths are built for errors only: the selector of a request may have very many requirements and values.
	var findings validation.ErrorList
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		findings = validation.InvalidEach(validation.NewPath("key"), key, problems)
	}
	valuesPath := func() *validation.Path { return validation.NewPath("values") }
	r := &Requirement{key: key, op: op, values: slices.Clone(values)}
	switch op {
	case In, NotIn:
		if len(values) == 0 {
			findings = append(findings, validation.Invalid(valuesPath(), values, "for 'in', 'notin' operators, values set can't be empty"))
		}
		slices.Sort(r.values)
		r.values = slices.Compact(r.values)
	case Equals, DoubleEquals, NotEquals:
		if len(values) != 1 {
			findings = append(findings, validation.Invalid(valuesPath(), values, "exact-match compatibility requires one single value"))
		}
	case Exists, DoesNotExist:
		if len(values) != 0 {
			findings = append(findings, validation.Invalid(valuesPath(), values, "values set must be empty for exists and does not exist"))
		}
		r.values = nil
	case GreaterThan, LessThan:
		if len(values) != 1 {
			findings = append(findings, validation.Invalid(valuesPath(), values, "for 'Gt', 'Lt' operators, exactly one value is required"))
		} else if n, err := strconv.ParseInt(values[0], 10, 64); err != nil {
			findings = append(findings, validation.Invalid(valuesPath().Index(0), values[0], "for 'Gt', 'Lt' operators, the value must be an integer"))
		} else {
			r.bound = n
		}
	default:
		findings = append(findings, validation.NotSupported(validation.NewPath("operator"), op, operators))
	}
	for i, value := range values {
		if problems := validation.IsLabelValue(value); len(problems) > 0 {
			findings = append(findings, validation.InvalidEach(valuesPath().Index(i), value, problems)...)
		}
	}
	if len(findings) > 0 {
		return nil, &SelectorError{Findings: findings}
	}
	return r, nil
}

// SelectorError says what is wrong with a selector. It wraps ErrInvalid.
type SelectorError struct {
	// Selector is the text, where there was one.
	Selector string
	// Problem is about the syntax; Findings are about one requirement.
	Problem  string
	Findings validation.ErrorList
}

// Error is the message.
func (e *SelectorError) Error() string {
	problem := e.Problem
	if problem == "" {
		problem = e.Findings.String()
	}
	if e.Selector == "" {
		return problem
	}
	return "unable to parse requirement: " + problem
}

// Unwrap gives ErrInvalid.
func (e *SelectorError) Unwrap() error { return ErrInvalid }

// Key is the label.
func (r Requirement) Key() string { return r.key }

// Operator is the relation.
func (r Requirement) Operator() Operator { return r.op }

// Values are the values, sorted; the slice is a copy.
func (r Requirement) Values() []string { return slices.Clone(r.values) }

// ExactValue is the one value the label must have, if the requirement is for one.
func (r Requirement) ExactValue() (value string, ok bool) {
	switch r.op {
	case Equals, DoubleEquals, In:
		if len(r.values) == 1 {
			return r.values[0], true
		}
	}
	return "", false
}

// Matches reports whether the labels meet the requirement.
func (r Requirement) Matches(labels map[string]string) bool {
	value, ok := labels[r.key]
	return r.matches(value, ok)
}

func (r *Requirement) matches(value string, ok bool) bool {
	switch r.op {
	case Equals, DoubleEquals:
		return ok && value == r.values[0]
	case NotEquals:
		return !ok || value != r.values[0]
	case In:
		return ok && r.has(value)
	case NotIn:
		return !ok || !r.has(value)
	case Exists:
		return ok
	case DoesNotExist:
		return !ok
	case GreaterThan, LessThan:
		if !ok {
			return false
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return false
		}
		if r.op == GreaterThan {
			return n > r.bound
		}
		return n < r.bound
	}
	return false
}

// needsLabel reports whether an object without the label does not meet the requirement.
func (r *Requirement) needsLabel() bool {
	switch r.op {
	case NotEquals, NotIn, DoesNotExist:
		return false
	}
	return true
}

func (r *Requirement) has(value string) bool {
	if len(r.values) <= 8 {
		return slices.Contains(r.values, value)
	}
	_, ok := slices.BinarySearch(r.values, value)
	return ok
}

// Equal reports whether both are the same condition written the same way.
func (r Requirement) Equal(other Requirement) bool {
	return r.key == other.key && r.op == other.op && slices.Equal(r.values, other.values)
}

// String is the text form; Parse reads it back.
func (r Requirement) String() string {
	var b strings.Builder
	r.appendTo(&b)
	return b.String()
}

func (r *Requirement) appendTo(b *strings.Builder) {
	if r.op == DoesNotExist {
		b.WriteByte('!')
	}
	b.WriteString(r.key)
	switch r.op {
	case Equals, DoubleEquals, NotEquals:
		b.WriteString(string(r.op))
		b.WriteString(r.values[0])
	case GreaterThan:
		b.WriteByte('>')
		b.WriteString(r.values[0])
	case LessThan:
		b.WriteByte('<')
		b.WriteString(r.values[0])
	case In, NotIn:
		b.WriteByte(' ')
		b.WriteString(string(r.op))
		b.WriteString(" (")
		b.WriteString(strings.Join(r.values, ","))
		b.WriteByte(')')
	}
}
