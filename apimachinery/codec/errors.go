package codec

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/codec/internal/failure"
)

// ErrNoProto is wrapped by the error for types that have no protobuf form.
var ErrNoProto = failure.ErrNoProto

// ErrTooLarge is wrapped by errors for input or frames over a size limit.
var ErrTooLarge = failure.ErrTooLarge

// ErrTooDeep is wrapped by errors for values nested deeper than the limit,
// cyclic values included.
var ErrTooDeep = failure.ErrTooDeep

// A TypeError reports why a Go type cannot be encoded, decoded or copied.
type TypeError struct {
	// Type is the type whose plan was compiled.
	Type reflect.Type
	// Path leads from Type to the offending part in Go field names, "[]" standing for
	// an element: "Spec.Hooks[]".
	Path string
	// Err is the reason; it may be ErrNoProto.
	Err error
}

// Error implements error. The text has the type, the path and the reason.
func (e *TypeError) Error() string { return (*failure.TypeError)(e).Error() }

// Unwrap returns the reason.
func (e *TypeError) Unwrap() error { return e.Err }

// A DecodeError describes malformed input and its position.
type DecodeError struct {
	// Offset is the position in the input, in bytes.
	Offset int
	// Path is the place in wire names, such as spec.containers[0].image; empty at the root.
	Path string
	// Msg describes the problem.
	Msg string
	// Err is the cause, if another function reported it or it is one of this package's sentinels.
	Err error
}

// Error implements error. The text has the path if there is one, the message and the offset.
func (e *DecodeError) Error() string { return (*failure.DecodeError)(e).Error() }

// Unwrap returns the cause, or nil.
func (e *DecodeError) Unwrap() error { return e.Err }

// public returns an error of the internal packages as the type this package exports for it.
func public(err error) error {
	switch err := err.(type) { //nolint:errorlint // internal packages do not wrap these
	case *failure.TypeError:
		return (*TypeError)(err)
	case *failure.DecodeError:
		return (*DecodeError)(err)
	}
	return err
}

// IssueKind distinguishes unknown from duplicate fields.
type IssueKind uint8

// The kinds of issues a strict decode reports.
const (
	UnknownField IssueKind = iota
	DuplicateField
)

// A FieldIssue is a field that a strict decode reports. The input is otherwise valid and has been decoded.
type FieldIssue struct {
	Kind IssueKind
	// Path is the field in wire names, such as spec.containers[0].imag; a key of YAML that occurs twice is
	// the key itself.
	Path string
	// Line is that of YAML with the second of two keys, from 1; otherwise 0.
	Line int
}

// String returns the message an API server reports: unknown field "spec.foo"; line 3: key "foo" already set
// in map.
func (i FieldIssue) String() string {
	if i.Line > 0 {
		return fmt.Sprintf("line %d: key %q already set in map", i.Line, i.Path)
	}
	if i.Kind == DuplicateField {
		return "duplicate field " + strconv.Quote(i.Path)
	}
	return "unknown field " + strconv.Quote(i.Path)
}
