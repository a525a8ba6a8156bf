package validation

import (
	"slices"
	"strings"
)

// ErrorList is the findings of a validation, in the order found. Nil means that there are none.
type ErrorList []*Error

// Err is nil for an empty list, else an error whose text is that of the only
// finding, or of all distinct ones in brackets. errors.As reaches each *Error.
func (l ErrorList) Err() error {
	if len(l) == 0 {
		return nil
	}
	return joined(l)
}

// String is the text of Err, empty for an empty list.
func (l ErrorList) String() string {
	var texts []string
	for _, e := range l {
		if text := e.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	if len(texts) == 0 {
		return ""
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// OfType returns the findings of one type.
func (l ErrorList) OfType(t ErrorType) ErrorList {
	var out ErrorList
	for _, e := range l {
		if e.Type == t {
			out = append(out, e)
		}
	}
	return out
}

// WithOrigin sets the origin of every finding and returns l.
func (l ErrorList) WithOrigin(origin string) ErrorList {
	for _, e := range l {
		e.Origin = origin
	}
	return l
}

// InvalidEach returns one Invalid finding per message of an IsX check; nil if there are none.
func InvalidEach(p *Path, value any, messages []string) ErrorList {
	var out ErrorList
	for _, message := range messages {
		out = append(out, Invalid(p, value, message))
	}
	return out
}

type joined ErrorList

func (j joined) Error() string { return ErrorList(j).String() }

func (j joined) Unwrap() []error {
	errs := make([]error, len(j))
	for i, e := range j {
		errs[i] = e
	}
	return errs
}
