// Package intstr holds IntOrString, the field type for values that may be
// written as a number or as text: ports by number or name, counts or
// percentages.
//
// In JSON it is a number or a string, in protobuf a message with three fields,
// in OpenAPI a string of format int-or-string. Values are comparable and copied
// by assignment.
package intstr

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Type says which of the two values of an IntOrString counts.
type Type int64

// The two types, numbered as on the wire.
const (
	Int    Type = 0
	String Type = 1
)

// IntOrString is an int32 or a string. The zero value is the number 0.
type IntOrString struct {
	Type   Type
	IntVal int32
	StrVal string
}

// OpenAPISchemaType is the JSON type in OpenAPI v2.
func (IntOrString) OpenAPISchemaType() []string { return []string{"string"} }

// OpenAPISchemaFormat is the format in OpenAPI v2 and v3.
func (IntOrString) OpenAPISchemaFormat() string { return "int-or-string" }

// OpenAPIV3OneOfTypes are the JSON types accepted, for OpenAPI v3.
func (IntOrString) OpenAPIV3OneOfTypes() []string { return []string{"integer", "string"} }

var (
	// ErrSyntax is wrapped by the errors for JSON or protobuf that holds no IntOrString.
	ErrSyntax = errors.New("not an integer or a string")
	// ErrRange is wrapped by the errors for numbers outside int32.
	ErrRange = errors.New("integer out of the 32-bit range")
	// ErrNotPercent is wrapped by the errors for strings that are no percentage.
	ErrNotPercent = errors.New("string is not a percentage")
)

// FromInt32 is the number n.
func FromInt32(n int32) IntOrString { return IntOrString{Type: Int, IntVal: n} }

// FromString is the text s, even if it looks like a number.
func FromString(s string) IntOrString { return IntOrString{Type: String, StrVal: s} }

// Parse is the number s stands for, or the text s where it stands for none
// that fits into 32 bits.
func Parse(s string) IntOrString {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil {
		return FromInt32(int32(n))
	}
	return FromString(s)
}

// String is the text, or the number in decimal.
func (v IntOrString) String() string {
	if v.Type == String {
		return v.StrVal
	}
	return strconv.Itoa(int(v.IntVal))
}

// IntValue is the number; for text, the number it stands for or 0.
func (v IntOrString) IntValue() int {
	if v.Type == String {
		n, err := strconv.Atoi(v.StrVal)
		if err != nil {
			return 0
		}
		return n
	}
	return int(v.IntVal)
}

// ScaledValue resolves v against total: a number is itself, a text must be a
// percentage ("25%") and gives that share of total, rounded up or down. Other
// text is an error wrapping ErrNotPercent.
func ScaledValue(v IntOrString, total int, roundUp bool) (int, error) {
	if v.Type == Int {
		return int(v.IntVal), nil
	}
	if v.Type != String {
		return 0, fmt.Errorf("%w: type %d", ErrSyntax, v.Type)
	}
	percent, err := percentOf(v.StrVal)
	if err != nil {
		return 0, err
	}
	share := float64(percent) * float64(total) / 100
	if roundUp {
		return int(math.Ceil(share)), nil
	}
	return int(math.Floor(share)), nil
}

func percentOf(s string) (int, error) {
	digits, ok := strings.CutSuffix(s, "%")
	if !ok {
		return 0, fmt.Errorf("invalid value for IntOrString: %w: %q", ErrNotPercent, s)
	}
	percent, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("invalid value for IntOrString: %w: %q", ErrNotPercent, s)
	}
	return percent, nil
}

// MarshalJSON implements json.Marshaler.
func (v IntOrString) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler.
func (v *IntOrString) UnmarshalJSON(data []byte) error { return v.ParseJSON(data) }

// AppendJSON appends the JSON form: a number or a string. An unknown Type is an
// error.
func (v IntOrString) AppendJSON(dst []byte) ([]byte, error) {
	switch v.Type {
	case Int:
		return strconv.AppendInt(dst, int64(v.IntVal), 10), nil
	case String:
		return appendString(dst, v.StrVal)
	}
	return dst, fmt.Errorf("%w: type %d", ErrSyntax, v.Type)
}

// ParseJSON sets v from a JSON number or string. null leaves v as the number 0.
// A number must be an integer within int32.
func (v *IntOrString) ParseJSON(data []byte) error {
	if len(data) == 0 {
		return fmt.Errorf("%w: empty", ErrSyntax)
	}
	switch c := data[0]; {
	case c == '"':
		s, err := unquote(data)
		if err != nil {
			return err
		}
		*v = FromString(s)
		return nil
	case string(data) == "null":
		*v = IntOrString{}
		return nil
	case c == '-' || c >= '0' && c <= '9':
		n, err := strconv.ParseInt(string(data), 10, 32)
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%w: %s", ErrRange, data)
		}
		if err != nil {
			return fmt.Errorf("%w: number %.40q is not an integer", ErrSyntax, data)
		}
		*v = FromInt32(int32(n))
		return nil
	}
	return fmt.Errorf("%w: %.40q", ErrSyntax, data)
}

// appendString quotes plain text by hand and leaves the rest to encoding/json.
func appendString(dst []byte, s string) ([]byte, error) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			return append(dst, quoted...), err
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"'), nil
}

func unquote(data []byte) (string, error) {
	if n := len(data); n >= 2 && data[n-1] == '"' {
		inner := data[1 : n-1]
		plain := true
		for _, c := range inner {
			if c < ' ' || c > '~' || c == '"' || c == '\\' {
				plain = false
				break
			}
		}
		if plain {
			return string(inner), nil
		}
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return "", fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return s, nil
}
