// Package failure has the errors of decoders and encoders, the paths in them, and the limits they report.
// Package codec converts them to its own types, which have the same fields, and has the tests.
package failure

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// The sentinels that package codec exports.
var (
	ErrNoProto  = errors.New("type has no protobuf form")
	ErrTooLarge = errors.New("over the size limit")
	ErrTooDeep  = errors.New("nested too deeply")
)

// MaxDepth bounds the nesting of values that are read, written, copied or compared. It is the limit of
// encoding/json.
const MaxDepth = 10000

// A TypeError is a codec.TypeError.
type TypeError struct {
	Type reflect.Type
	Path string
	Err  error
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

// A DecodeError is a codec.DecodeError.
type DecodeError struct {
	Offset int
	Path   string
	Msg    string
	Err    error
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

// A Segment is one step of a path. The steps of an error are collected from the inside out while the decoder
// returns, so that valid input costs nothing.
type Segment struct {
	name  string // field or key; used if index < 0
	index int
}

// Member returns the step to a field or to the value of a key.
func Member(name string) Segment { return Segment{name, -1} }

// Element returns the step to an element of a list.
func Element(index int) Segment { return Segment{"", index} }

// Path returns the path, such as spec.containers[0].image, of steps that were collected from the inside out.
func Path(inner []Segment) string {
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

// Clip returns the start of b for a message.
func Clip(b []byte) string {
	if len(b) > 40 {
		return string(b[:40]) + "..."
	}
	return string(b)
}
