package codec

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// ErrNoProto is wrapped by the error for types that have no protobuf form.
var ErrNoProto = errors.New("type has no protobuf form")

// ErrTooLarge is wrapped by errors for input or frames over a size limit.
var ErrTooLarge = errors.New("over the size limit")

// ErrTooDeep is wrapped by errors for values nested deeper than the limit,
// cyclic values included.
var ErrTooDeep = errors.New("nested too deeply")

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
func (e *TypeError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("codec: %v: %v", e.Type, e.Err)
	}
	return fmt.Sprintf("codec: %v: field %s: %v", e.Type, e.Path, e.Err)
}

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
func (e *DecodeError) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	b.WriteString(" (at byte ")
	b.WriteString(strconv.Itoa(e.Offset))
	b.WriteByte(')')
	return b.String()
}

// Unwrap returns the cause, or nil.
func (e *DecodeError) Unwrap() error { return e.Err }

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
	// Path is the field in wire names, such as spec.containers[0].imag.
	Path string
}

// String returns the message an API server reports: unknown field "spec.foo".
func (i FieldIssue) String() string {
	if i.Kind == DuplicateField {
		return "duplicate field " + strconv.Quote(i.Path)
	}
	return "unknown field " + strconv.Quote(i.Path)
}

// A segment is one step of a path; the steps of an error are gathered from the
// inside out while the decoder returns, so that valid input costs nothing.
type segment struct {
	name  string // field or key; used if index < 0
	index int
}

func joinSegments(inner []segment) string {
	var b strings.Builder
	for i := len(inner) - 1; i >= 0; i-- {
		s := inner[i]
		if s.index >= 0 {
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
	}
	return b.String()
}
