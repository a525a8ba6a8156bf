package validation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// ErrorType classifies a finding. Its string value is the cause type in a
// Status.
type ErrorType string

// The types of findings.
const (
	TypeNotFound     ErrorType = "FieldValueNotFound"
	TypeRequired     ErrorType = "FieldValueRequired"
	TypeDuplicate    ErrorType = "FieldValueDuplicate"
	TypeInvalid      ErrorType = "FieldValueInvalid"
	TypeNotSupported ErrorType = "FieldValueNotSupported"
	TypeForbidden    ErrorType = "FieldValueForbidden"
	TypeTooLong      ErrorType = "FieldValueTooLong"
	TypeTooShort     ErrorType = "FieldValueTooShort"
	TypeTooMany      ErrorType = "FieldValueTooMany"
	TypeTooFew       ErrorType = "FieldValueTooFew"
	TypeTypeInvalid  ErrorType = "FieldValueTypeInvalid"
	TypeInternal     ErrorType = "InternalError"
)

var typeTexts = map[ErrorType]string{
	TypeNotFound:     "Not found",
	TypeRequired:     "Required value",
	TypeDuplicate:    "Duplicate value",
	TypeInvalid:      "Invalid value",
	TypeNotSupported: "Unsupported value",
	TypeForbidden:    "Forbidden",
	TypeTooLong:      "Too long",
	TypeTooShort:     "Too short",
	TypeTooMany:      "Too many",
	TypeTooFew:       "Too few",
	TypeTypeInvalid:  "Invalid value",
	TypeInternal:     "Internal error",
}

// String is the text messages begin with: "Required value", "Invalid value".
func (t ErrorType) String() string {
	if text, ok := typeTexts[t]; ok {
		return text
	}
	return fmt.Sprintf("<unknown error %q>", string(t))
}

// Error is one finding about one field.
type Error struct {
	Type  ErrorType
	Field string
	// BadValue is the offending value, for the message. It is not shown for types
	// that are not about a value (required, forbidden, too long, internal).
	BadValue any
	// Detail is human-readable and may be empty.
	Detail string
	// Origin names the rule that found it, such as "format=ip-strict"; for tests
	// and tools, not part of the message.
	Origin string
}

// omitted stands for a bad value that is not to be shown.
type omitted struct{}

// Error is "field: body".
func (e *Error) Error() string { return e.Field + ": " + e.Body() }

// Body is the message without the field: `Invalid value: "x": must be positive`.
func (e *Error) Body() string {
	text := e.Type.String()
	if e.showsValue() {
		text += ": " + formatValue(e.BadValue)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// WithOrigin sets the origin and returns e.
func (e *Error) WithOrigin(origin string) *Error {
	e.Origin = origin
	return e
}

// WithoutValue leaves the bad value out of the message and returns e.
func (e *Error) WithoutValue() *Error {
	e.BadValue = omitted{}
	return e
}

func (e *Error) showsValue() bool {
	switch e.Type {
	case TypeRequired, TypeForbidden, TypeTooLong, TypeTooShort, TypeInternal:
		return false
	}
	return e.BadValue != omitted{}
}

func formatValue(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case int64, int32, float64, float32, bool:
		return fmt.Sprint(v)
	}
	// JSON formats named strings and pointers to values like the values themselves.
	if data, err := json.Marshal(v); err == nil {
		return string(data)
	}
	if s, ok := v.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%#v", v)
}

// Required reports a value that is missing.
func Required(p *Path, detail string) *Error {
	return &Error{Type: TypeRequired, Field: p.String(), BadValue: "", Detail: detail}
}

// Invalid reports a value that is wrong in itself.
func Invalid(p *Path, value any, detail string) *Error {
	return &Error{Type: TypeInvalid, Field: p.String(), BadValue: value, Detail: detail}
}

// InvalidType reports a value of the wrong JSON type.
func InvalidType(p *Path, value any, detail string) *Error {
	return &Error{Type: TypeTypeInvalid, Field: p.String(), BadValue: value, Detail: detail}
}

// NotSupported reports a value outside a closed set. The valid values are listed
// in the order given.
func NotSupported[T ~string](p *Path, value any, valid []T) *Error {
	e := &Error{Type: TypeNotSupported, Field: p.String(), BadValue: value}
	if len(valid) > 0 {
		quoted := make([]string, len(valid))
		for i, v := range valid {
			quoted[i] = strconv.Quote(string(v))
		}
		e.Detail = "supported values: " + strings.Join(quoted, ", ")
	}
	return e
}

// Forbidden reports a field that must not be set, or not to this value, under the current conditions. The
// value is not shown.
func Forbidden(p *Path, detail string) *Error {
	return &Error{Type: TypeForbidden, Field: p.String(), BadValue: "", Detail: detail}
}

// Duplicate reports a value that must be unique and is not.
func Duplicate(p *Path, value any) *Error {
	return &Error{Type: TypeDuplicate, Field: p.String(), BadValue: value}
}

// NotFound reports a reference to something that does not exist.
func NotFound(p *Path, value any) *Error {
	return &Error{Type: TypeNotFound, Field: p.String(), BadValue: value}
}

// TooLong reports a value of more than maxBytes bytes. A negative limit is not
// mentioned. The value is not shown.
func TooLong(p *Path, maxBytes int) *Error {
	return tooLong(p, maxBytes, "byte")
}

// TooLongCharacters reports a value of more than maxCharacters characters.
func TooLongCharacters(p *Path, maxCharacters int) *Error {
	return tooLong(p, maxCharacters, "character")
}

func tooLong(p *Path, limit int, unit string) *Error {
	detail := "value is too long"
	if limit >= 0 {
		detail = "may not be more than " + plural(limit, unit)
	}
	return &Error{Type: TypeTooLong, Field: p.String(), BadValue: omitted{}, Detail: detail}
}

// TooShort reports a value of fewer than minCharacters characters.
func TooShort(p *Path, value string, minCharacters int) *Error {
	detail := "value is too short"
	if minCharacters >= 0 {
		detail = "must be at least " + plural(minCharacters, "character")
	}
	return &Error{Type: TypeTooShort, Field: p.String(), BadValue: value, Detail: detail}
}

// TooMany reports a list or map with more than limit entries. A negative actual
// or limit is not mentioned.
func TooMany(p *Path, actual, limit int) *Error {
	e := &Error{Type: TypeTooMany, Field: p.String(), BadValue: omitted{}, Detail: "has too many items"}
	if actual >= 0 {
		e.BadValue = actual
	}
	if limit >= 0 {
		e.Detail = "must have at most " + plural(limit, "item")
	}
	return e
}

// TooFew reports a list or map with fewer than limit entries. A negative actual
// or limit is not mentioned.
func TooFew(p *Path, actual, limit int) *Error {
	e := &Error{Type: TypeTooFew, Field: p.String(), BadValue: omitted{}, Detail: "has too few items"}
	if actual >= 0 {
		e.BadValue = actual
	}
	if limit >= 0 {
		e.Detail = "must have at least " + plural(limit, "item")
	}
	return e
}

// Internal reports that checking the field failed for a reason that is not the
// user's.
func Internal(p *Path, err error) *Error {
	return &Error{Type: TypeInternal, Field: p.String(), BadValue: err, Detail: err.Error()}
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}
